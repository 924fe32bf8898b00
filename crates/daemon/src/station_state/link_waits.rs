//! Jobs that found no way to their node: each waits in the queue until links are measured again, by itself or for another
//! job.
//!
//! Invariants: pauses and surveys use up a job's patience, other jobs and closed windows do not; bytes that arrive begin it
//! again. It is in memory only, so a restart of the daemon begins it again, too. Time base: the wall's clock, which never
//! goes back. Tests: `link_waits_tests.rs`, `crates/daemon/tests/all/waiting.rs`.

use std::time::Instant;

use super::StationState;
use crate::limits::{Blocked, NoWay};
use thalweg_host::collector::{Patience, Search};
use thalweg_host::job::wait_text;
use thalweg_host::store::JobId;
use thalweg_planner::LinkQualities;
use thalweg_units::Duration;

/// An attempt that found no way, or that no way served.
pub(crate) struct Attempt<'a> {
    /// The node's index.
    pub(crate) node: usize,
    /// Why it failed.
    pub(crate) why: String,
    /// The links that it went by.
    pub(crate) links: &'a LinkQualities,
    /// How long these took to measure, in seconds.
    pub(crate) survey_s: f64,
    /// The bytes of the object that are there.
    pub(crate) arrived: u64,
}

/// The wait of one job.
#[derive(Debug)]
pub(super) struct LinkWait {
    search: Search,
    node: usize,
    why: String,
    arrived: u64,
    /// How often links had been measured when it began.
    surveys: u64,
    since: Instant,
    /// After so long it has links measured by itself.
    pause: Duration,
    /// How often it failed.
    times: u32,
}

impl LinkWait {
    /// Of a job that never failed so far, with so much `patience`.
    fn new(patience: Patience, attempt: &Attempt<'_>, now: Instant) -> Self {
        Self {
            search: Search::new(patience, attempt.links),
            node: attempt.node,
            why: String::new(),
            arrived: attempt.arrived,
            surveys: 0,
            since: now,
            pause: Duration::ZERO,
            times: 0,
        }
    }
    /// Notes an `attempt` that failed at `now`, when links had been measured so often. Whether the job goes on waiting.
    fn fail(&mut self, attempt: &Attempt<'_>, surveys: u64, now: Instant) -> bool {
        if self.times > 0 {
            let since = Duration::from_secs_f64(now.duration_since(self.since).as_secs_f64());
            let counts = self.pause + Duration::from_secs_f64(attempt.survey_s);
            self.search.note(attempt.links, since.min(counts));
        }
        if attempt.arrived > self.arrived {
            self.search.restart();
        }
        self.times += 1;
        // What was measured last was in vain: there is a pause before the first survey, too, so that jobs share it.
        self.search.fail();
        self.pause = self.search.pause();
        self.why.clone_from(&attempt.why);
        (self.arrived, self.surveys, self.since) = (attempt.arrived, surveys, now);
        !self.search.is_over(self.node)
    }
    /// Whether the job may be tried at `now`, when links have been measured so often.
    fn is_due(&self, surveys: u64, now: Instant) -> bool {
        surveys > self.surveys || self.left(now).is_zero()
    }
    /// The rest of its pause.
    fn left(&self, now: Instant) -> Duration {
        let over = Duration::from_secs_f64(now.duration_since(self.since).as_secs_f64());
        self.pause.saturating_sub(over)
    }
    /// Why the job waits at `now`.
    fn blocked(&self, now: Instant) -> Blocked {
        Blocked::Links(NoWay {
            why: self.why.clone(),
            next: self.left(now),
            waited: self.search.waited(),
            patience: self.search.limit(self.node),
            times: self.times,
        })
    }
}

impl StationState {
    /// The `attempt` of job `id` failed: it waits for other links, or has no patience left and fails for the reason that is
    /// returned.
    pub(crate) fn wait_for_links(
        &self,
        id: JobId,
        attempt: &Attempt<'_>,
    ) -> Result<Blocked, String> {
        let now = Instant::now();
        let mut live = self.live();
        let surveys = live.surveys;
        let wait = live.waiting.entry(id);
        let wait = wait.or_insert_with(|| LinkWait::new(self.transfers.patience, attempt, now));
        if wait.fail(attempt, surveys, now) {
            return Ok(wait.blocked(now));
        }
        let (why, waited) = (&attempt.why, wait.search.waited());
        Err(match waited.is_zero() {
            true => why.clone(),
            false => format!(
                "{why}; links were measured again for {} in vain",
                wait_text(waited)
            ),
        })
    }
    /// Whether job `id` waits for links.
    pub(crate) fn waits_for_links(&self, id: JobId) -> bool {
        self.live().waiting.contains_key(&id)
    }
    /// Whether job `id` waits for links, and they were not measured since.
    pub(crate) fn wants_links(&self, id: JobId) -> bool {
        let live = self.live();
        let wait = live.waiting.get(&id);
        wait.is_some_and(|wait| wait.surveys == live.surveys)
    }
    /// Job `id` waits no longer.
    pub(crate) fn leave_links(&self, id: JobId) {
        self.live().waiting.remove(&id);
    }
    /// The jobs that wait for links now, and why.
    pub(super) fn waiting(&self) -> Vec<(JobId, Blocked)> {
        let (live, now) = (self.live(), Instant::now());
        let waiting = live.waiting.iter();
        let waiting = waiting.filter(|(_, wait)| !wait.is_due(live.surveys, now));
        waiting.map(|(id, wait)| (*id, wait.blocked(now))).collect()
    }
}

#[cfg(test)]
#[path = "link_waits_tests.rs"]
mod tests;
