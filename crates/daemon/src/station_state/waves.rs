//! Fetches that begin together. Tests: `crates/daemon/tests/all/waves.rs`.

use std::time::Instant;

use super::StationState;
use crate::concurrency::Entry;
use thalweg_host::store::{JobId, JobState, StoreError, StoredJob, Work};

impl StationState {
    /// The fetches that are next in the queue, of one priority, and may begin now; none where another job comes before them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn next_fetches(&self) -> Result<Vec<StoredJob>, StoreError> {
        if self.is_stopping() || self.limits().is_none() || self.shared.disk_state().low().is_some()
        {
            return Ok(Vec::new());
        }
        let eligibility = self.eligibility()?;
        let mut open = self.store().open_jobs(self.network())?;
        open.retain(|job| job.state == JobState::Queued && eligibility.blocked_by(job).is_none());
        let Some(priority) = open.first().map(|job| job.priority) else {
            return Ok(Vec::new());
        };
        let is_meant =
            |job: &StoredJob| matches!(job.work, Work::Fetch { .. }) && job.priority == priority;
        Ok(open.into_iter().take_while(is_meant).collect())
    }

    /// Begins those of `jobs` that are still queued; none where too many other stations are at work.
    ///
    /// # Errors
    /// [`StoreError`]; then none has begun.
    pub(crate) fn begin_together(&self, jobs: &[JobId]) -> Result<Vec<StoredJob>, StoreError> {
        let most = self.limits().and_then(|limits| limits.at_most);
        let place = (&self.building, self.network());
        if self.shared.concurrency.enter(place, most, Instant::now()) == Entry::Full {
            return Ok(Vec::new());
        }
        let mut begun = Vec::with_capacity(jobs.len());
        for id in jobs {
            match self.begin_job(*id) {
                Ok(job) => begun.extend(job),
                Err(why) if begun.is_empty() => {
                    self.leave();
                    return Err(why);
                }
                // What has begun goes on; the others wait.
                Err(why) => self.note_store_fault(&why),
            }
        }
        if begun.is_empty() {
            self.leave();
        }
        Ok(begun)
    }
}
