//! Why a job of the daemon ends without a result.

use crate::limits::Blocked;
use thalweg_host::job::Failure;
use thalweg_host::link_state::PlanRequestError;
use thalweg_host::network::NetworkFault;
use thalweg_host::store::StoreError;

/// Why a job ended without a result.
pub(super) enum Stop {
    /// It was cancelled, or the daemon stops.
    Interrupted,
    /// The line to the base station is lost.
    Lost(NetworkFault),
    /// Limits spare a node that it needs: it waits in the queue.
    Blocked(Blocked),
    /// It failed for good.
    Failed(String),
}

impl From<Failure> for Stop {
    fn from(why: Failure) -> Self {
        match why {
            Failure::Cancelled => Self::Interrupted,
            Failure::Network(why) => Self::Lost(why),
            Failure::Silent(_) | Failure::Restarted(_) => lost(&why),
            why => Self::Failed(why.to_string()),
        }
    }
}
/// The base station is out of reach, for the reason `why`.
pub(super) fn lost(why: &Failure) -> Stop {
    Stop::Lost(NetworkFault::Broken(why.to_string().into()))
}

impl From<PlanRequestError> for Stop {
    fn from(why: PlanRequestError) -> Self {
        Self::Failed(why.to_string())
    }
}
impl From<StoreError> for Stop {
    fn from(why: StoreError) -> Self {
        Self::Failed(why.to_string())
    }
}
