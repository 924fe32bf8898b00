//! What a base station does besides: it sends no packets, so its rate grows by time, and notices carry it to its
//! children (IFRC).
//!
//! Time base: the node's clock. Invariant: nothing is due before the first child was heard. Tests: `tests.rs`.

use crate::timer::sooner;
use thalweg_units::{Duration, Instant};

/// From notice to notice pass so many packets of the fastest child.
const NOTICE_EVERY: f32 = 3.0;
/// Notices of a change.
const ON_CHANGE: u8 = 2;

#[derive(Debug, Clone, Copy)]
struct Due {
    grow: Instant,
    notice: Instant,
}

#[derive(Debug)]
pub(super) struct Base {
    due: Option<Due>,
    owed: u8,
}

/// What is due at a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// Its rate grows, as by one packet sent.
    Grow,
    /// Its rate stays.
    Stay,
}

/// Time for `packets` at `rate` per second.
pub(super) fn time_of(packets: f32, rate: f32) -> Duration {
    Duration::from_micros((packets / rate * 1e6) as u64)
}

impl Base {
    pub(super) const NEW: Self = Self { due: None, owed: 0 };

    /// A child was heard.
    pub(super) fn heard_child(&mut self, now: Instant, rate: f32) {
        let first = Due {
            grow: now + time_of(1.0, rate),
            notice: now,
        };
        self.due.get_or_insert(first);
    }
    /// The rate was lowered.
    pub(super) fn changed(&mut self) {
        self.owed = self.owed.max(ON_CHANGE);
    }
    /// Whether a notice is owed, which is one less then.
    pub(super) fn poll_notice(&mut self) -> bool {
        let is_owed = self.owed > 0;
        self.owed = self.owed.saturating_sub(1);
        is_owed
    }
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = self.due?;
        sooner(Some(due.grow), Some(due.notice))
    }
    /// Plans what comes next at the base's own `rate` and the `largest` of its children's.
    pub(super) fn handle_timeout(&mut self, now: Instant, rate: f32, largest: f32) -> Growth {
        let Some(due) = &mut self.due else {
            return Growth::Stay;
        };
        if due.notice <= now {
            due.notice = now + time_of(NOTICE_EVERY, largest);
            self.owed = self.owed.max(1);
        }
        if due.grow > now {
            return Growth::Stay;
        }
        due.grow = now + time_of(1.0, rate);
        Growth::Grow
    }
}
