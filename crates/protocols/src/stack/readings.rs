//! An application that makes readings at its times, periodically or at events, and sends them up as
//! the stack takes them (Fusion, section 4.6). What comes down to it is ignored.

use super::{Gone, Packet, Room, Upper};
use thalweg_units::{Duration, Instant};
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// What the application does when the stack does not take a packet (Fusion, section 4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// It has one packet in the stack at a time, as TinyOS applications with one message buffer do (Fusion, figure
    /// 2-2), so that it cannot fill the queue that transit traffic needs. It waits until the stack is ready, and sends
    /// as fast as that allows; what still waits when the next reading comes is skipped.
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

impl Schedule {
    /// The last reading at `now` or before; the first where there was none yet.
    pub fn latest(&self, now: Instant) -> Instant {
        let since = now.since(self.first).as_nanos();
        let over = since.checked_rem(self.period.as_nanos()).unwrap_or(since);
        self.first + Duration::from_nanos(since - over)
    }
}

/// Packets of readings that were made, and of those, or of earlier ones, that the application gave up
/// because the stack did not take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Made.
    pub made: u16,
    /// Given up.
    pub skipped: u16,
}

/// The application.
#[derive(Debug)]
pub struct Readings {
    application: Application,
    payload_bytes: usize,
    schedule: Option<Schedule>,
    next: Option<Instant>,
    /// Packets that were made and not taken by the stack.
    waiting: u16,
    /// A packet of its own is in the stack.
    outstanding: bool,
    /// Number of the last packet taken.
    number: u16,
    untold: Reading,
}

impl Readings {
    /// An application without orders. Its packets carry `payload_bytes`, which say their number.
    pub fn new(application: Application, payload_bytes: usize) -> Self {
        Self {
            application,
            payload_bytes,
            schedule: None,
            next: None,
            waiting: 0,
            outstanding: false,
            number: 0,
            untold: Reading::default(),
        }
    }
    /// Packets that were made and not taken by the stack.
    pub const fn waiting(&self) -> u16 {
        self.waiting
    }

    fn make(&mut self, schedule: &Schedule) {
        let waiting = self.waiting.saturating_add(schedule.burst);
        self.waiting = match self.application {
            Application::Insists => waiting,
            _ => waiting.min(schedule.burst),
        };
        self.untold.made = self.untold.made.saturating_add(schedule.burst);
        self.untold.skipped = self.untold.skipped.saturating_add(waiting - self.waiting);
    }
}

impl Upper for Readings {
    type Command = Schedule;
    type Event = Reading;

    fn handle_command(&mut self, _now: Instant, schedule: Schedule) {
        self.next = (schedule.first < schedule.until).then_some(schedule.first);
        self.schedule = Some(schedule);
    }
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
    /// Makes the readings that are due: several where the node's clock is ahead of the schedule. The application keeps no more
    /// than one reading's packets waiting, unless it insists.
    fn handle_timeout(&mut self, now: Instant) {
        let Some(schedule) = self.schedule else {
            return;
        };
        while let Some(due) = self.next.filter(|due| *due <= now) {
            let next = due + schedule.period;
            self.next = (due < next && next < schedule.until).then_some(next);
            self.make(&schedule);
        }
    }
    fn poll_event(&mut self) -> Option<Reading> {
        let told = core::mem::take(&mut self.untold);
        (told != Reading::default()).then_some(told)
    }
    #[inline]
    fn next(
        &mut self,
        _now: Instant,
        mut room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        if self.waiting == 0 {
            return None;
        }
        let is_held = match self.application {
            Application::Insists => false,
            Application::Fills => room(Direction::Up) == Room::Taken,
            Application::Waits => self.outstanding || room(Direction::Up) == Room::Taken,
        };
        if is_held {
            return None;
        }
        self.waiting -= 1;
        self.number = self.number.wrapping_add(1);
        self.outstanding = true;
        let payload = FrameBuf::build(|w| {
            for k in 0..self.payload_bytes {
                w.u8(self.number as u8 ^ k as u8)?;
            }
            Ok(())
        });
        Some((Direction::Up, payload.unwrap_or(FrameBuf::EMPTY)))
    }
    fn gone(&mut self, _now: Instant, _packet: &Packet, _how: Gone) {
        self.outstanding = false;
    }
    fn idle_until(&self) -> Option<Instant> {
        self.next.filter(|_| self.waiting == 0)
    }
    fn stop(&mut self) {
        self.next = None;
    }
}
