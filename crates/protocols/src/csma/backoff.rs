//! Backoffs: how long, since when, and what holds them up.
//!
//! B-MAC counts down only while its radio receives nothing (CC1000RadioIntM); the others wait. Time
//! base: the node's clock. Tests: `tests.rs`.

use super::{BMac, Mac, Outcome, Priority, Reason, Scheme, State, TinyOs};
use thalweg_units::{Duration, Instant};

impl Mac {
    pub(super) fn found_busy(&mut self, now: Instant) -> Option<Outcome> {
        self.busy = self.busy.saturating_add(1);
        if let Scheme::Unslotted(u) = self.config.scheme {
            if self.busy > u.max_backoffs {
                self.state = State::Idle;
                return Some(Outcome::ChannelBusy);
            }
        }
        self.back_off(now, Reason::Congestion);
        None
    }

    pub(super) fn back_off(&mut self, now: Instant, reason: Reason) {
        let pause = match reason {
            Reason::Initial => self.pause(),
            Reason::Congestion => Duration::ZERO,
        };
        let wait = pause + self.window(reason);
        self.count_down(now, wait);
    }

    /// What TinyOS' microcontroller and its authors' retransmissions add to a backoff.
    pub(super) fn pause(&mut self) -> Duration {
        match (self.config.scheme, self.retries) {
            (Scheme::TinyOs(t), 0) => t.task,
            (Scheme::TinyOs(t), _) => {
                let (least, most) = t.again;
                let micros = most.saturating_sub(least).as_micros() as u32;
                least + Duration::from_micros(u64::from(self.rng.below(micros + 1)))
            }
            _ => Duration::ZERO,
        }
    }

    pub(super) fn count_down(&mut self, now: Instant, wait: Duration) {
        self.state = State::Backoff {
            since: now,
            until: now + wait.max(Duration::from_nanos(1)),
        };
    }

    /// A reception has ended whose frame's header ended at `sfd`: what was counted down since its
    /// preamble does not count.
    pub(super) fn received(&mut self, now: Instant, sfd: Instant) {
        let b = match self.config.scheme {
            Scheme::BMac(b) => b,
            Scheme::TinyOs(t) => {
                if let State::Backoff { .. } = self.state {
                    let wait = t.heard + self.window(Reason::Congestion);
                    self.count_down(now, wait);
                }
                return;
            }
            Scheme::Unslotted(_) => return,
        };
        match self.state {
            State::Backoff { since, until } if until > now => {
                let began = since.max(sfd.saturating_sub(b.preamble)).min(now);
                let until = until + now.since(began);
                self.state = State::Backoff { since, until };
            }
            State::Frozen { left, .. } => self.count_down(now, left),
            _ => {}
        }
    }

    pub(super) fn window(&mut self, reason: Reason) -> Duration {
        let (unit, first, slots) = match self.config.scheme {
            Scheme::BMac(BMac { windows, .. }) | Scheme::TinyOs(TinyOs { windows, .. }) => {
                match reason {
                    Reason::Initial => (windows.unit, 1, windows.initial),
                    Reason::Congestion => (windows.unit, 1, windows.congestion),
                }
            }
            Scheme::Unslotted(u) => {
                let exponent = (u.min_be + self.busy).min(u.max_be).min(15);
                (u.unit, 0, 1 << exponent)
            }
        };
        let slots = match self.priority {
            Priority::Normal => slots,
            Priority::High => (slots / 4).max(1),
        };
        // Never none at all: a time-out is later than what it was asked for in.
        (unit * u64::from(first + self.rng.below(u32::from(slots)))).max(Duration::from_nanos(1))
    }
}
