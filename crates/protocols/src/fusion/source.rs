//! The application of a node: makes readings at its times and hands them down when the stack takes
//! them (Fusion, section 4.6).

use thalweg_units::{Duration, Instant};

/// What the application does when the stack does not take a packet (thesis, section 4.6). Except
/// where it insists, it has one packet in the stack at a time, as TinyOS applications with one
/// message buffer do (figure 2-2), so that it cannot fill the queue that transit traffic needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Application {
    /// It skips the reading and tries again with the next, at its own time.
    #[default]
    Skips,
    /// It waits until the stack is ready, and sends as fast as that allows; what still waits when
    /// the next reading comes is skipped.
    Waits,
    /// It hands down readings as long as the queue has room and the limiter tokens, and waits
    /// otherwise; what still waits when the next reading comes is skipped.
    Fills,
    /// It hands down every reading at once; what finds the queue full is dropped there.
    Insists,
}

/// When readings are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The first.
    pub first: Instant,
    /// Between two.
    pub period: Duration,
    /// No reading comes at or after this.
    pub until: Instant,
    /// Packets in each reading.
    pub burst: u16,
}

/// The application's state.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) application: Application,
    schedule: Option<Schedule>,
    next: Option<Instant>,
    /// Packets that were made and not taken by the stack.
    pub(super) waiting: u16,
    /// A packet of its own is in the stack.
    pub(super) outstanding: bool,
    /// Number of the last packet taken.
    pub(super) number: u16,
}

impl Source {
    pub(super) const fn new(application: Application) -> Self {
        Self {
            application,
            schedule: None,
            next: None,
            waiting: 0,
            outstanding: false,
            number: 0,
        }
    }
    pub(super) fn begin(&mut self, schedule: Schedule) {
        self.next = (schedule.first < schedule.until).then_some(schedule.first);
        self.schedule = Some(schedule);
    }
    pub(super) fn stop(&mut self) {
        self.next = None;
    }
    #[inline]
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
    /// Makes the reading that is due at `now`: how many packets, and how many of them are skipped
    /// because the application keeps no more than one reading's waiting.
    pub(super) fn make(&mut self, now: Instant) -> Option<(u16, u16)> {
        let (schedule, due) = (self.schedule?, self.next?);
        if due > now {
            return None;
        }
        let next = due + schedule.period;
        self.next = (next < schedule.until).then_some(next);
        let waiting = self.waiting.saturating_add(schedule.burst);
        let kept = match self.application {
            Application::Skips | Application::Waits | Application::Fills => {
                waiting.min(schedule.burst)
            }
            Application::Insists => waiting,
        };
        let skipped = waiting - kept;
        self.waiting = kept;
        Some((schedule.burst, skipped))
    }
}
