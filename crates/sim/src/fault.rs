//! Faults that experiments inject: a node that dies, a receiver that goes deaf.
//!
//! Does not model a half-sent frame: what is on the air when its sender dies goes on to its end.
//! Tests: with the network's.

use thalweg_units::SimTime;

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
    /// Nothing. The engine goes on from the state it had, the radio in the mode it had.
    Healthy,
}
