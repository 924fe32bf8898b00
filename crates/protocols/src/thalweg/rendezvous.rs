//! When a node of a broken transfer is free for another path. The release does not reach all nodes, so one that hears
//! nothing for longer than an undisturbed transfer is ever silent leaves before the next early rendezvous.
//!
//! Time base: the node's clock. Tests: `../pipeline/tests/follow.rs`.

use super::duration32::Short;
use super::followups::Early;
use super::{EARLY, FREE};
use crate::pipeline::Beat;
use thalweg_units::{Duration, Instant};

/// The early rendezvous of a transfer that may still need another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendezvous {
    /// The longest of an undisturbed exchange.
    silence: Short,
    /// How many are left; none once a NACK settles that none is needed.
    left: u8,
    /// The first that a node silent from now on can meet, and the distance to the next.
    next: Instant,
    apart: Short,
}

impl Rendezvous {
    /// Those of a transfer on the schedule `beat`; none without `early` ones.
    pub fn new(beat: &Beat, early: Option<Early>) -> Self {
        let mut rendezvous = Self {
            silence: beat.silence.into(),
            left: early.map_or(0, |_| EARLY as u8),
            next: early.map_or(beat.start, |early| beat.start + early.first),
            apart: early.map_or(Duration::ZERO, |early| early.each).into(),
        };
        rendezvous.hold_until(beat.start);
        rendezvous
    }

    /// The longest silence of an undisturbed transfer.
    pub(super) fn silence(&self) -> Duration {
        self.silence.into()
    }
    /// The transfer was heard at `at`, or will be silent until then.
    pub(super) fn hold_until(&mut self, at: Instant) {
        let silent = at + self.silence() + FREE;
        while self.left > 0 && self.next < silent {
            self.next += Duration::from(self.apart);
            self.left -= 1;
        }
    }
    /// No other path will be called.
    pub(super) fn settle(&mut self) {
        self.left = 0;
    }
    /// Whether that is so.
    pub(super) const fn is_settled(&self) -> bool {
        self.left == 0
    }
    /// When to leave if nothing more is heard: before the first of them after a silence that no undisturbed transfer
    /// has, since another path may be called there.
    pub(super) fn free_by(&self) -> Option<Instant> {
        (self.left > 0).then(|| self.next.saturating_sub(FREE))
    }
}
