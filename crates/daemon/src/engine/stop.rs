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
    /// The disk has no room for what it brought: it waits in the queue until there is some.
    Full(StoreError),
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
        match why.is_full() {
            true => Self::Full(why),
            false => Self::Failed(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_full_disk_ends_no_job_and_a_broken_one_does() {
        let stop = |kind: ErrorKind| {
            Stop::from(StoreError::Io {
                action: "write",
                path: "object".into(),
                source: Error::from(kind),
            })
        };
        assert!(matches!(stop(ErrorKind::StorageFull), Stop::Full(_)));
        assert!(matches!(stop(ErrorKind::PermissionDenied), Stop::Failed(_)));
    }
}
