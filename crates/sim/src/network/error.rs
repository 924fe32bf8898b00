//! Why there is no network, and why a run ended before its time.

use crate::capture::CaptureError;
use thalweg_engine::{Livelock, Misfit};
use thalweg_units::SimTime;

/// A network could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Neither one board for all nodes nor one for each.
    #[error("{boards} boards for {nodes} nodes: give one for all, or one for each")]
    Boards {
        /// How many boards were given.
        boards: usize,
        /// How many engines were given.
        nodes: usize,
    },
    /// The air has another number of radios.
    #[error("the air has {ears} radios, which does not suit {nodes} engines on their boards")]
    Ears {
        /// Radios in the air.
        ears: usize,
        /// How many engines were given.
        nodes: usize,
    },
    /// A board carries another chip than the radio in the air.
    #[error("node {node}: the board has a {board}, the air a {ear}")]
    Chip {
        /// Which node.
        node: usize,
        /// The board's chip.
        board: &'static str,
        /// The air's.
        ear: &'static str,
    },
    /// An engine wants what its node's radios do not do.
    #[error("node {node}: {what}")]
    Misfit {
        /// Which node.
        node: usize,
        /// Which radio, and what it lacks.
        what: Misfit,
    },
}

/// A simulation could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// An engine keeps its node busy for ever.
    #[error("node {node}: {how}")]
    Livelock {
        /// Which.
        node: usize,
        /// What it does without end.
        how: Livelock,
    },
    /// Engines keep each other busy without time going on.
    #[error("at {at}: events without end at one instant")]
    StandingStill {
        /// When.
        at: SimTime,
    },
    /// A node has booted, and [`Network::restart_with`](super::Network::restart_with) was not called.
    #[error("node {node} restarts, and no engine was given for it")]
    NoEngine {
        /// Which.
        node: usize,
    },
    /// The engine of a restarted node wants what its radios do not do.
    #[error("node {node}: {what}")]
    Misfit {
        /// Which node.
        node: usize,
        /// Which radio, and what it lacks.
        what: Misfit,
    },
    /// The packet capture failed; it is taken off.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}
