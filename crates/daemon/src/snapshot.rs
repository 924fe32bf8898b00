//! The links of a station as the last survey measured them. Time base: wall clock.

use thalweg_host::link_state::LinkState;
use thalweg_units::{BatteryLevel, NodeId, Restarts};

use super::clock::now;

/// A clock that is set anew may go back by so many seconds, and nobody minds.
const CLOCK_SLACK_S: i64 = 60;

/// The links by the last survey and the transfers since.
#[derive(Debug)]
pub(super) struct LinkSnapshot {
    pub(super) link_state: LinkState,
    /// When they were measured, in seconds since 1970.
    pub(super) at: i64,
    pub(super) took_s: f64,
    pub(super) missing: Vec<NodeId>,
    /// The batteries that were reported.
    pub(super) batteries: Vec<(NodeId, BatteryLevel)>,
    /// The nodes that have restarted since power came.
    pub(super) restarts: Vec<(NodeId, Restarts)>,
}

impl LinkSnapshot {
    /// How old it is, in seconds.
    pub(super) fn age_s(&self) -> i64 {
        (now() - self.at).max(0)
    }
    /// Whether it is dated ahead of the clock, which was ahead itself then: nobody knows how old it is.
    pub(super) fn is_ahead(&self) -> bool {
        self.at > now() + CLOCK_SLACK_S
    }
}
