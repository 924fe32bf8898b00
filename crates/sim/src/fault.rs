//! Faults that experiments inject: a node that dies or restarts, a receiver that goes deaf, everywhere or on a
//! channel. What they do is in `rules/fault.rs`, a start in `rules/start.rs`.

use thalweg_units::{Channel, SimTime};

/// What is wrong with a node from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Neither engine nor radio runs: nothing is heard, sent, handled or timed. Events and
    /// time-outs that come due meanwhile are given at once when it is healthy again.
    Dead,
    /// Its power fails, and with it goes what only RAM held: the engine's state, the radio's settings, operations and
    /// time-outs. All is off until it has booted; then its clock counts from zero and a new engine starts, which
    /// [`crate::Network::restart_with`] makes. A dead node boots once it is healthy. Deafness is around the node, and stays.
    Reboot {
        /// When it has booted.
        until: SimTime,
    },
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
    /// Nothing, but for a boot under way. The engine goes on from the state it had, the radio in the mode it had.
    Healthy,
}

/// Whether a node runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Power {
    /// It does.
    #[default]
    On,
    /// Dead: it goes on where it stopped.
    Held,
    /// It has lost its state, and boots until then.
    Booting(SimTime),
    /// It has lost its state, and is dead.
    Lost,
}
