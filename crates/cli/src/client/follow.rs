//! Progress of a gateway's jobs: its events, and polls where events may have been missed.
//!
//! A gateway that goes away is polled again for a while: jobs outlive its restart. Time base: wall clock.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::events::{self, Event};
use super::http::{Answered, Client, Trouble};
use super::model::{Job, State};
use crate::interrupt::Interrupt;
use crate::progress::Reporter;

/// How often it checks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);
/// A gateway that is gone for longer is given up.
const AWAY: Duration = Duration::from_secs(120);
/// From one try to reach it to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// What is new.
#[derive(Debug)]
pub(super) enum News {
    /// A job's new state: the JSON, and its parsed form.
    Job(Value, Box<Job>),
    /// Events may have been missed: poll again.
    Missed,
    /// Nothing for a moment.
    Nothing,
}

/// Follows a gateway's jobs.
pub(super) struct Follower<'a> {
    client: &'a Client,
    events: Option<Receiver<Event>>,
    away: Option<Instant>,
}

impl<'a> Follower<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            events: None,
            away: None,
        }
    }

    /// What comes next, within a moment.
    ///
    /// # Errors
    /// [`Trouble`], where the gateway does not want to, or was away for too long.
    pub(super) fn next(&mut self) -> Answered<News> {
        let Some(events) = &self.events else {
            return self.open();
        };
        let event = match events.recv_timeout(LOOK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return Ok(News::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                self.events = None;
                return Ok(News::Nothing);
            }
        };
        match event.name.as_str() {
            "lagged" => Ok(News::Missed),
            "job" => {
                let json: Option<Value> = serde_json::from_str(&event.data).ok();
                let json = json.unwrap_or(Value::Null);
                let job = self.client.understood(json.clone())?;
                Ok(News::Job(json, Box::new(job)))
            }
            _ => Ok(News::Nothing),
        }
    }

    fn open(&mut self) -> Answered<News> {
        match events::listen(self.client) {
            Ok(events) => {
                self.events = Some(events);
                self.away = None;
                Ok(News::Missed)
            }
            Err(why) => {
                self.retry_after(why)?;
                Ok(News::Nothing)
            }
        }
    }

    /// Waits a moment where `why` may pass.
    fn retry_after(&mut self, why: Trouble) -> Answered<()> {
        let passes = match &why {
            Trouble::Gone(_) => true,
            // It ends or begins, or too many watch.
            Trouble::Refused(status, _) => status.is_server_error(),
            Trouble::Strange(_) => false,
        };
        let since = *self.away.get_or_insert_with(Instant::now);
        if !passes || since.elapsed() > AWAY {
            return Err(why);
        }
        thread::sleep(PAUSE);
        Ok(())
    }

    /// The answer to `request`, repeated as long as the gateway is away; none where the user wants to stop.
    pub(super) fn patiently<T>(
        &mut self,
        interrupt: &Interrupt,
        mut request: impl FnMut(&Client) -> Answered<T>,
    ) -> Answered<Option<T>> {
        loop {
            match request(self.client) {
                Ok(answer) => {
                    self.away = None;
                    return Ok(Some(answer));
                }
                Err(why) => self.retry_after(why)?,
            }
            if interrupt.is_set() {
                return Ok(None);
            }
        }
    }
}

/// Shows how far `job` is.
pub(super) fn show(reporter: &mut Reporter, job: &Job) {
    if job.state == State::Queued {
        let why = crate::failure::one_line(job.waits.as_deref().unwrap_or("waits in the queue"));
        reporter.step(&format!("job {}: {why}", job.id), "");
        return;
    }
    let phase = job.phase.as_deref().unwrap_or_default();
    let phase = crate::failure::one_line(phase);
    let (step, detail) = phase.split_once(": ").unwrap_or((&phase, ""));
    let counts = (job.round, job.received.zip(job.packets));
    match counts {
        (Some(_), Some((received, packets))) => {
            let rate = job.rate_kbps.unwrap_or_default();
            let left = match job.left_s {
                Some(left) => format!(", {left:.0} s left"),
                None => String::new(),
            };
            let detail = format!("packets, {rate:.1} kbit/s{left}");
            reporter.counted(step, &detail, u64::from(received), u64::from(packets));
        }
        _ => match counted(detail) {
            Some((what, done, of)) => reporter.counted(step, what, done, of),
            None if step.is_empty() => reporter.step("runs", ""),
            None => reporter.step(step, detail),
        },
    }
}

/// What is counted in "node 5 of 139" or "3 of 139", how many are done, and of how many.
fn counted(detail: &str) -> Option<(&str, u64, u64)> {
    let (done, of) = detail.split_once(" of ")?;
    let (what, done) = done.rsplit_once(' ').unwrap_or(("tables", done));
    Some((what, done.parse().ok()?, of.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_phase_may_have_a_count() {
        assert_eq!(counted("node 5 of 139"), Some(("node", 5, 139)));
        assert_eq!(counted("3 of 21"), Some(("tables", 3, 21)));
        for none in ["", "5", "a of b", "3 of 21 packets"] {
            assert_eq!(counted(none), None, "{none}");
        }
    }
}
