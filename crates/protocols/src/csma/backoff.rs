//! Backoffs: how long, since when, and what suspends them.
//!
//! B-MAC counts down only while its radio receives nothing (CC1000RadioIntM). TinyOS 1.x on the CC2420 draws again
//! after each frame received (CC2420RadioM). The standard's waits. Time base: the node's clock. Tests: `tests.rs`.

use super::{BMac, Mac, Outcome, Priority, Reason, Scheme, State, TinyOs, Wanted};
use thalweg_units::{Duration, Instant};

impl Mac {
    pub(super) fn found_busy(&mut self, now: Instant) -> Option<Outcome> {
        self.busy = self.busy.saturating_add(1);
        match self.config.scheme {
            Scheme::Unslotted(u) if self.busy > u.max_backoffs => {
                self.state = State::Idle;
                return Some(Outcome::ChannelBusy);
            }
            Scheme::TinyOs(t) if self.busy >= t.samples => {
                self.busy = 0;
                (self.state, self.wanted) = (State::Loading, Wanted::Load);
                return None;
            }
            _ => {}
        }
        self.back_off(now, Reason::Congestion);
        None
    }

    pub(super) fn back_off(&mut self, now: Instant, reason: Reason) {
        let wait = self.window(reason);
        self.count_down(now, wait);
    }

    pub(super) fn count_down(&mut self, now: Instant, wait: Duration) {
        self.state = State::Backoff {
            since: now,
            until: now + wait.max(Duration::from_nanos(1)),
        };
    }

    /// A good frame was received: a backoff under way is drawn again.
    pub(super) fn redraw(&mut self, now: Instant) {
        let Scheme::TinyOs(t) = self.config.scheme else {
            return;
        };
        if matches!(self.state, State::Backoff { since, .. } if since <= now) {
            let wait = self.window(Reason::Congestion) + t.clearance;
            self.count_down(now, wait);
        }
    }
    /// How much later than another attempt a retransmission begins.
    pub(super) fn again(&mut self) -> Duration {
        let Scheme::TinyOs(TinyOs { again, .. }) = self.config.scheme else {
            return Duration::ZERO;
        };
        let span = again.1.saturating_sub(again.0).as_micros();
        let span = u32::try_from(span).unwrap_or(u32::MAX);
        again.0 + Duration::from_micros(u64::from(self.rng.below(span)))
    }

    /// A reception has ended whose frame's header ended at `sfd`: what was counted down since its
    /// preamble does not count.
    pub(super) fn received(&mut self, now: Instant, sfd: Instant) {
        let Scheme::BMac(b) = self.config.scheme else {
            return;
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
