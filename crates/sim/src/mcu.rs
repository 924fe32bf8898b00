//! The microcontroller of a node: the work that waits for it, and what it does.
//!
//! Holds the state; `rules/software.rs` says what comes first and what follows. Only boards whose
//! software does one thing at a time use all of it.

use crate::hooks::Activity;
use crate::radio::{Deferred, Loading};
use std::collections::VecDeque;
use thalweg_engine::OpId;
use thalweg_units::{Duration, SimTime};
use thalweg_wire::{addressed, FrameBuf};

/// Which work comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Interrupt,
    Task,
    Background,
}

/// The effect of a piece of work, when its time has passed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Job {
    /// Nothing: it was time that something took.
    Pass,
    /// A run of background work is done.
    Background,
    /// A reception was looked at; it met the condition of that number.
    Judged {
        met: Option<u32>,
    },
    /// The conditional transmission of that number goes out.
    Fire(u32),
    /// The radio turns back to its mode's channel.
    TurnBack,
    Loaded(Loading, FrameBuf),
    /// A reception was read out; the operating system passes it up.
    Read {
        notice: u32,
        pass_up: Duration,
    },
    Notify {
        notice: u32,
    },
    Do(OpId, Deferred),
    /// An acknowledgement goes out.
    Acknowledge(addressed::Ack),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// For which radio.
    pub(crate) radio: usize,
    pub(crate) job: Job,
    pub(crate) activity: Activity,
    pub(crate) total: Duration,
    pub(crate) left: Duration,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) work: Work,
    pub(crate) level: Level,
    pub(crate) since: SimTime,
}

/// What became of a node's background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackgroundRuns {
    /// Runs that were finished.
    pub done: u32,
    /// Runs that fell due when two were not finished, and were left out.
    pub missed: u32,
    /// How often interrupts and tasks stopped one.
    pub stopped: u32,
}

/// A microcontroller, and the receive buffer that it empties.
#[derive(Debug, Default)]
pub(crate) struct Mcu {
    pub(crate) queues: [VecDeque<Work>; 3],
    pub(crate) running: Option<Running>,
    /// What became of background work.
    pub(crate) background: BackgroundRuns,
    /// Counts what was begun, to recognise stale events.
    pub(crate) begun: u32,
}

impl Mcu {
    /// Bytes in the receive buffer of radio `r` at `now`, of those in `received`.
    pub(crate) fn unread(&self, r: usize, received: &VecDeque<u32>, now: SimTime) -> u64 {
        let all: u64 = received.iter().map(|b| u64::from(*b)).sum();
        let front = u64::from(received.front().copied().unwrap_or(0));
        let is_read = |w: &&Work| matches!(w.job, Job::Read { .. }) && w.radio == r;
        let running = self.running.as_ref();
        let in_progress = running
            .filter(|r| is_read(&&r.work))
            .map(|r| (r.work.left.saturating_sub(now.since(r.since)), r.work.total));
        let stopped = self.queues[Level::Task as usize].front().filter(is_read);
        let (left, total) = match (in_progress, stopped) {
            (Some(times), _) => times,
            (None, Some(w)) => (w.left, w.total),
            (None, None) => return all,
        };
        if total.is_zero() {
            return all;
        }
        all - front
            + (front * left.as_nanos())
                .div_ceil(total.as_nanos())
                .min(front)
    }
    /// Whether two runs of background work are not done yet.
    pub(crate) fn is_behind(&self) -> bool {
        let running = self.running.iter().map(|r| &r.work);
        let waiting = &self.queues[Level::Background as usize];
        let runs = waiting.iter().chain(running);
        runs.filter(|w| matches!(w.job, Job::Background)).count() >= 2
    }
    /// Whether background work waits.
    pub(crate) fn has_background(&self) -> bool {
        !self.queues[Level::Background as usize].is_empty()
    }
}
