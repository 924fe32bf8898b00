//! Why nothing was surveyed, planned or fetched.

use crate::forwarding::ChainError;
use crate::motes::RunError;
use thalweg_host::job::{wait_text, Failure};
use thalweg_host::link_state::PlanRequestError;
use thalweg_planner::streams::StreamError;
use thalweg_sim::BoardError;
use thalweg_testbeds::SiteError;
use thalweg_units::Duration;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The request cannot be planned.
    #[error(transparent)]
    PlanRequest(#[from] PlanRequestError),
    /// Nor could it be on links that were measured again.
    #[error("{why}; links were measured again for {} of the network's time in vain", wait_text(*.waited))]
    Unreached {
        /// Why not.
        why: PlanRequestError,
        /// Pauses and surveys.
        waited: Duration,
    },
    /// The testbed cannot carry it.
    #[error("{testbed}: {why}")]
    Unfit {
        /// The testbed.
        testbed: String,
        /// Why not.
        why: String,
    },
    /// The testbed cannot be such a site.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The protocol collects from many nodes at once, and one was requested.
    #[error("{0} brings objects of many nodes at once: ask `gather`")]
    Many(&'static str),
    /// There is no plan for a stream.
    #[error(transparent)]
    Plan(#[from] StreamError),
    /// The path is none, or could not be run.
    #[error(transparent)]
    Chain(ChainError),
    /// A board's file.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The network did not do what it should.
    #[error(transparent)]
    Run(RunError),
    /// The capture file failed.
    #[error("capture: {0}")]
    Capture(#[from] thalweg_sim::CaptureError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl CollectError {
    /// Whether the input is to blame, not the run.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Run(why) => why.is_input(),
            Self::Chain(why) => matches!(why, ChainError::Hops { .. }),
            Self::Capture(_) | Self::Stopped | Self::Unreached { .. } => false,
            _ => true,
        }
    }
}

impl CollectError {
    /// `why` there is no route, where links were measured again for so long, or not at all.
    pub(super) const fn no_route(why: PlanRequestError, waited: Duration) -> Self {
        match waited.as_nanos() {
            0 => Self::PlanRequest(why),
            _ => Self::Unreached { why, waited },
        }
    }
}

impl From<RunError> for CollectError {
    fn from(error: RunError) -> Self {
        match error {
            error if error.is_stop() => Self::Stopped,
            error => Self::Run(error),
        }
    }
}

impl From<Failure> for CollectError {
    fn from(error: Failure) -> Self {
        RunError::from(error).into()
    }
}

impl From<ChainError> for CollectError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Stopped => Self::Stopped,
            error => Self::Chain(error),
        }
    }
}
