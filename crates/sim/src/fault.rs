//! Faults that experiments inject: a node that dies, a receiver that goes deaf, everywhere or on a
//! channel. What they do is in `rules/fault.rs`.

use thalweg_units::{Channel, SimTime};

/// What is wrong with a node from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Neither engine nor radio runs: nothing is heard, sent, handled or timed. Events and
    /// time-outs that come due meanwhile are given at once when it is healthy again.
    Dead,
    /// The receiver is on and hears nothing; all else works.
    Deaf {
        /// Until when.
        until: SimTime,
    },
    /// Something near the node drowns a channel: the receiver hears nothing there, and all else works.
    Jammed {
        /// Which.
        channel: Channel,
    },
    /// Nothing. The engine goes on from the state it had, the radio in the mode it had.
    Healthy,
}
