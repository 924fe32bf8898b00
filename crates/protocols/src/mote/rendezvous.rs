//! When nodes outside of a transfer listen: around each *rendezvous*. Regular ones follow the wake-up at a fixed period
//! until the transfer's deadline, so a sleeper can be woken even if it missed the end. *Stretches* of closer ones lie
//! where something may follow: after a bad start, and from the expected end on.
//!
//! Time base: the node's clock. Invariants: all nodes that heard a wake-up know the same rendezvous, whichever segment
//! they heard. A wake-up at a close rendezvous announces its phase and leaves the regular ones where they are, so nodes
//! that missed it still listen with the others. Tests: `rendezvous_tests.rs`.

use crate::thalweg::{FollowUps, EARLY};
use core::num::NonZeroU16;
use thalweg_units::{Duration, Instant};
use thalweg_wire::route::Phase;

/// From one regular rendezvous to the next.
pub const PERIOD: Duration = Duration::from_millis(500);
/// The same within a stretch.
pub const CLOSE: Duration = Duration::from_millis(100);
/// Rendezvous after the expected end of a short transfer.
const LATE: u64 = 12;
/// Bursts make a long transfer up to one part in so many longer: the stretch is as much longer.
const LONGER: u64 = 32;
/// How long a node listens after a rendezvous when clocks agree, if any sink may call: a flood's frames reach ten hops
/// away.
pub const LISTEN: Duration = Duration::from_millis(60);
/// One in so many regular rendezvous is for any sink; at the others those call whose distance all nodes know.
pub const WHOLE: u64 = 4;
/// For a sink whose distance is known a node listens for so many slots more than its last floods took: one loses a
/// frame, and comes two slots later with the next, or takes another way.
pub(super) const MARGIN: u64 = 3;
/// How long it listens before a rendezvous: the error of the wake-up's time stamps.
pub const GUARD: Duration = Duration::from_millis(2);
/// Two clocks drift apart by one part in so many, 2 x 40 ppm.
const DRIFT: u64 = 12_500;
/// Segments give the start in steps of this.
const START_STEP: Duration = Duration::from_millis(1);

/// Which rendezvous an order may begin at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// The regular ones at which nodes listen for any sink.
    Whole,
    /// The regular ones: the order does not announce its phase.
    Regular,
    /// Any.
    All,
}

/// How long to listen after a rendezvous when clocks agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listening {
    /// For any sink.
    pub(super) whole: Duration,
    /// For those whose distance is known; no longer than that.
    pub(super) near: Duration,
}

/// The rendezvous that a wake-up sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RendezvousTimes {
    /// The wake-up's first frame. Clocks drift apart from then on.
    origin: Instant,
    /// How long after a regular rendezvous that was.
    phase: Phase,
    /// The first rendezvous of the stretches, in steps of the phase after that frame; from one early one to the next.
    early: Option<(NonZeroU16, NonZeroU16)>,
    late: Option<NonZeroU16>,
}

impl RendezvousTimes {
    /// By a wake-up whose first frame was at `origin`, and in `phase`; `follows` is what may have to follow a transfer
    /// that begins at `start`.
    pub(super) fn new(
        origin: Instant,
        phase: Phase,
        start: Instant,
        follow_ups: Option<FollowUps>,
    ) -> Self {
        // Nodes that heard another segment's time are off by less than half a millisecond.
        let start = START_STEP * ((start.since(origin) + START_STEP / 2) / START_STEP);
        // Whole steps of the phase from a regular rendezvous, so that a wake-up there can tell its own.
        // None beyond two minutes, which no transfer takes.
        let steps = |time: Duration| {
            let steps = time.as_nanos().div_ceil(Phase::STEP.as_nanos());
            NonZeroU16::new(u16::try_from(steps).ok()?)
        };
        let early = follow_ups.and_then(|follow_ups| follow_ups.early);
        let late = follow_ups.and_then(|follow_ups| follow_ups.late);
        Self {
            origin,
            phase,
            early: early.and_then(|early| steps(start + early.first).zip(steps(early.each))),
            late: late.and_then(|late| steps(start + late)),
        }
    }
}

impl RendezvousTimes {
    fn at(&self, steps: NonZeroU16) -> Instant {
        self.origin + Phase::STEP * u64::from(steps.get())
    }
    /// How many late rendezvous there are.
    fn late_ones(&self) -> u64 {
        let after = self.late.map_or(0, |steps| u64::from(steps.get()));
        LATE + Phase::STEP * after / (CLOSE * LONGER)
    }
}

/// The rendezvous of the last transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    times: RendezvousTimes,
    /// From then on all nodes listen all the time.
    until: Instant,
}

impl Schedule {
    /// The grid of a wake-up that told what `told` is, and whose transfer ends at `until`, by a node that has kept to
    /// `before`.
    pub(super) fn new(times: RendezvousTimes, until: Instant, before: Option<Self>) -> Self {
        // A node that missed this wake-up keeps to the longer one.
        let until = before.map_or(until, |schedule| schedule.until.max(until));
        Self { times, until }
    }
    /// The same rendezvous until the end of a transfer whose wake-up sets none.
    pub(super) fn prolonged(self, until: Instant) -> Self {
        Self::new(self.times, until, Some(self))
    }
    /// The same after a NACK that the transfer began well: nothing follows its start.
    pub(super) fn begun_well(mut self) -> Self {
        self.times.early = None;
        self
    }
    /// Until when a node listens that leaves a transfer after a bad start: it may have missed the call for another
    /// path, which has other rendezvous. `None` before the first early rendezvous and after the last.
    pub(super) fn begins_again_by(&self, now: Instant, listening: Listening) -> Option<Instant> {
        let (first, apart) = self.times.early?;
        let last = self.times.at(first) + Phase::STEP * u64::from(apart.get()) * (EARLY - 1);
        let until = last + listening.near;
        (self.times.at(first) < now && now < until).then_some(until)
    }
    /// Whether all nodes listen all the time.
    pub(super) fn is_done(&self, now: Instant) -> bool {
        now >= self.until
    }
    /// When a sink may begin floods, at `now` or later, so that all nodes hear them.
    pub(super) fn rendezvous_after(&self, now: Instant, which: Which) -> Instant {
        if self.is_done(now) {
            return now;
        }
        let regular = self.regular_after(now, 1);
        match which {
            Which::Whole => self.regular_after(now, WHOLE),
            Which::Regular => regular,
            Which::All => self
                .close_after(now)
                .map_or(regular, |close| close.min(regular)),
        }
    }
    /// The phase of a wake-up at `at`.
    pub(super) fn phase_at(&self, at: Instant) -> Phase {
        match self.is_done(at) {
            true => Phase::REGULAR,
            false => Phase::after(at.since(self.times.origin) + self.times.phase.time()),
        }
    }
    /// The first of every so many regular rendezvous from `now` on. They count from the one at, or before, the wake-up.
    fn regular_after(&self, now: Instant, every: u64) -> Instant {
        let RendezvousTimes { origin, phase, .. } = self.times;
        let since = now.since(origin) + phase.time();
        let period = PERIOD * every;
        let steps = since.as_nanos().div_ceil(period.as_nanos());
        origin + (period * steps).saturating_sub(phase.time())
    }
    /// The first rendezvous of a stretch from `now` on.
    fn close_after(&self, now: Instant) -> Option<Instant> {
        let after = |first: NonZeroU16, count: u64, apart: Duration| {
            let first = self.times.at(first);
            let steps = now.since(first).as_nanos().div_ceil(apart.as_nanos());
            (steps < count).then_some(first + apart * steps)
        };
        let times = &self.times;
        let early = times.early.and_then(|(first, apart)| {
            let apart = Phase::STEP * u64::from(apart.get());
            after(first, EARLY, apart)
        });
        let late = (times.late).and_then(|first| after(first, times.late_ones(), CLOSE));
        early.into_iter().chain(late).min()
    }
    /// From when to when to listen for so long after a rendezvous: the first such time that ends after `now`. `None`
    /// from when on everyone listens always.
    pub(super) fn window_after(
        &self,
        now: Instant,
        listening: Listening,
    ) -> Option<(Instant, Instant)> {
        let end = self.until.saturating_sub(self.slack(self.until));
        if now >= end {
            return None;
        }
        // A window that is open still belongs to a rendezvous that has been, but none to the wake-up itself.
        let origin = self.times.origin;
        let open = (now.max(origin)).saturating_sub(listening.whole + self.slack(now));
        let open = open.max(origin + Phase::STEP);
        let next = |from: Instant| {
            let rendezvous = self.rendezvous_after(from, Which::All);
            let listen = match rendezvous == self.regular_after(from, WHOLE) {
                true => listening.whole,
                false => listening.near,
            };
            (rendezvous, listen)
        };
        let (mut rendezvous, mut listen) = next(open);
        while rendezvous + listen + self.slack(rendezvous) <= now {
            (rendezvous, listen) = next(rendezvous + Phase::STEP);
        }
        let slack = self.slack(rendezvous);
        let opens = rendezvous.saturating_sub(slack).min(end);
        Some((opens, rendezvous + listen + slack))
    }
    /// How far another node's clock may be off at `at`.
    fn slack(&self, at: Instant) -> Duration {
        GUARD + at.since(self.times.origin) / DRIFT
    }
}

#[cfg(test)]
#[path = "rendezvous_tests.rs"]
mod tests;
