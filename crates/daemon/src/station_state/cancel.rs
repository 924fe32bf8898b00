//! Cancelling jobs: one that waits, one that runs, a group. Tests: `crates/daemon/tests/all/`.

use thalweg_host::store::{JobId, JobState, StoreError};

use super::{Cancel, JobEnd, StationState};

impl StationState {
    /// Cancels a queued job, or asks the running one to end.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn cancel(&self, id: JobId) -> Result<Cancel, StoreError> {
        let was_queued = self.store().cancel_queued(id)?;
        if was_queued {
            self.live().cut_off.remove(&id);
            self.leave_links(id);
            self.emit_job(id);
            return Ok(Cancel::Done);
        }
        // Its row tells of an end a moment before its worker lets go of it.
        let has_ended = self.store().job(id)?.is_some_and(|job| job.state.is_end());
        if has_ended {
            return Ok(Cancel::TooLate);
        }
        let mut live = self.live();
        match live.running.iter_mut().find(|running| running.id == id) {
            Some(running) => {
                running.cancelled = true;
                running.phase = "is being cancelled".to_owned();
                Ok(Cancel::Requested)
            }
            None => {
                // It ended, and the store does not know yet; or its row is all that is left of it.
                let is_known = live.ends.iter().any(|end| end.id == id);
                drop(live);
                self.cancel_left(id, is_known)
            }
        }
    }
    /// Cancels those of group `id` that wait, and those that run. Says how many were cancelled, or will be.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn cancel_group(&self, id: JobId) -> Result<usize, StoreError> {
        let queued = self.store().cancel_queued_of(id)?;
        {
            let mut live = self.live();
            live.cut_off.retain(|job, _| !queued.contains(job));
            live.waiting.retain(|job, _| !queued.contains(job));
        }
        for job in &queued {
            self.emit_job(*job);
        }
        let mut cancelled = queued.len();
        for running in self.running() {
            let job = self.store().job(running.id)?;
            if job.is_some_and(|job| job.group == Some(id)) {
                let done = self.cancel(running.id)?;
                cancelled += usize::from(matches!(done, Cancel::Done | Cancel::Requested));
            }
        }
        Ok(cancelled)
    }
    /// Ends a job whose row says that it runs, while no worker runs it.
    fn cancel_left(&self, id: JobId, is_known: bool) -> Result<Cancel, StoreError> {
        let job = self.store().job(id)?;
        if is_known || job.is_none_or(|job| job.state != JobState::Running) {
            return Ok(Cancel::TooLate);
        }
        self.end_job(JobEnd {
            id,
            state: JobState::Cancelled,
            why: None,
        });
        self.emit_job(id);
        Ok(Cancel::Done)
    }
}
