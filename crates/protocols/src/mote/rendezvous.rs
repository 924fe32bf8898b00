//! When nodes outside of a transfer listen: around each *rendezvous*. Regular ones follow the wake-up at a fixed period
//! until the transfer's deadline, so a sleeper can be woken even if it missed the end. *Stretches* of closer ones lie where
//! something may follow: after a bad start, and from the expected end on.
//!
//! Time base: the node's clock. Invariants: all nodes that heard a wake-up know the same rendezvous, whichever segment
//! they heard. A wake-up at a close rendezvous announces its phase and leaves the regular ones where they are, so nodes
//! that missed it still listen with the others. Tests: at the end of this file.

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
/// How long a node listens after a rendezvous when clocks agree, if any sink may call: a flood's frames reach ten hops away.
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
    /// Until when a node listens that leaves a transfer after a bad start: it may have missed the call for another path,
    /// which has other rendezvous. `None` before the first early rendezvous and after the last.
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
    /// From when to when to listen for so long after a rendezvous: the first such time that ends after `now`. `None` from
    /// when on everyone listens always.
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
mod tests {
    use super::*;
    use crate::thalweg::Early;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const FIRST: Instant = Instant::from_nanos(123_456_789);
    const EARLY_ONES: Early = Early {
        first: Duration::from_micros(141_234),
        each: Duration::from_micros(97_123),
    };

    fn times(phase: u8) -> RendezvousTimes {
        let follow_ups = FollowUps {
            early: Some(EARLY_ONES),
            late: Some(Duration::from_micros(2_341_567)),
        };
        let phase = Phase::new(phase).unwrap();
        RendezvousTimes::new(FIRST, phase, FIRST + MS(31), Some(follow_ups))
    }
    const LISTENING: Listening = Listening {
        whole: LISTEN,
        near: Duration::from_millis(17),
    };
    fn schedule(deadline: Duration) -> Schedule {
        Schedule::new(times(0), FIRST + deadline, None)
    }

    #[test]
    fn regular_rendezvous_are_whole_periods_apart_and_never_before_now() {
        let schedule = schedule(MS(10_000));
        for us in (0..12_000_000).step_by(3_331) {
            let now = FIRST + Duration::from_micros(us);
            let at = schedule.rendezvous_after(now, Which::Regular);
            assert!(at >= now && at.since(now) <= PERIOD);
            if now < schedule.until {
                assert_eq!(at.since(FIRST).as_nanos() % PERIOD.as_nanos(), 0);
            }
            let any = schedule.rendezvous_after(now, Which::All);
            assert!(any >= now && any <= at);
        }
    }

    #[test]
    fn an_order_waits_little_where_something_may_have_to_follow() {
        let schedule = schedule(MS(10_000));
        let wait = |after: u64| {
            let now = FIRST + Duration::from_micros(after);
            schedule.rendezvous_after(now, Which::All).since(now)
        };
        for looks in 0..EARLY {
            let over = 31_000 + 141_234 + looks * 97_123;
            assert!(wait(over) <= EARLY_ONES.each && wait(over + looks * 877) <= Phase::STEP);
        }
        assert!(wait(31_000 + 2_341_567) <= Phase::STEP);
        for later in (0..400_000).step_by(7_001) {
            assert!(wait(2_372_567 + later) <= CLOSE, "{later} us");
        }
        assert!(wait(1_001_000) > CLOSE);
    }

    #[test]
    fn a_node_that_may_have_missed_another_path_listens_through_the_early_stretch() {
        let schedule = schedule(MS(10_000));
        let (first, apart) = schedule.times.early.unwrap();
        let apart = Phase::STEP * u64::from(apart.get());
        let last = schedule.times.at(first) + apart * (EARLY - 1);
        let end = last + LISTENING.near;
        let missed = schedule.times.at(first) + MS(1);
        for now in [missed, last, end.saturating_sub(MS(1))] {
            assert_eq!(schedule.begins_again_by(now, LISTENING), Some(end));
        }
        assert_eq!(schedule.begins_again_by(end, LISTENING), None);
        assert_eq!(schedule.begins_again_by(FIRST, LISTENING), None);
        assert_eq!(
            schedule.begun_well().begins_again_by(missed, LISTENING),
            None
        );
    }

    #[test]
    fn of_a_long_transfer_that_burst_after_burst_prolongs_the_end_meets_soon() {
        let late = Duration::from_secs(68);
        let follow_ups = FollowUps {
            early: None,
            late: Some(late),
        };
        let times = RendezvousTimes::new(FIRST, Phase::REGULAR, FIRST, Some(follow_ups));
        let schedule = Schedule::new(times, FIRST + MS(600_000), None);
        for later in (0..late.as_nanos() / LONGER).step_by(7_000_001) {
            let now = FIRST + late + Duration::from_nanos(later);
            assert!(schedule.rendezvous_after(now, Which::All).since(now) <= CLOSE);
        }
    }

    #[test]
    fn whatever_the_clocks_do_a_rendezvous_lies_in_a_window() {
        let schedule = schedule(Duration::from_secs(600));
        let regular = (1..1_200).map(|k| FIRST + PERIOD * k);
        let (first, apart) = schedule.times.early.unwrap();
        let apart = Phase::STEP * u64::from(apart.get());
        let early = (0..EARLY).map(|k| schedule.times.at(first) + apart * k);
        let late = (0..LATE).map(|k| schedule.times.at(schedule.times.late.unwrap()) + CLOSE * k);
        for expected in regular.chain(early).chain(late) {
            for ppm in [-80_i64, -13, 0, 80] {
                // The sink's rendezvous by a clock that runs so much faster.
                let since = expected.since(FIRST).as_nanos() as i64;
                let at = FIRST + Duration::from_nanos((since + since * ppm / 1_000_000) as u64);
                for before in [1, 30, 300] {
                    let mut now = at.saturating_sub(MS(before)).max(FIRST + MS(1));
                    // Windows follow one another without a gap where they meet.
                    let mut opened = None;
                    loop {
                        let Some((opens, closes)) = schedule.window_after(now, LISTENING) else {
                            assert!(at + MS(400) > schedule.until);
                            break;
                        };
                        assert!(closes.since(opens) < MS(170) && closes > now);
                        opened = opened.filter(|_| opens <= now).or(Some(opens.max(now)));
                        now = closes;
                        let is_whole =
                            expected.since(FIRST).as_nanos() % (PERIOD * WHOLE).as_nanos() == 0;
                        let heard = if is_whole { MS(45) } else { LISTENING.near };
                        if closes >= at + heard {
                            assert!(opened <= Some(at), "{expected:?}, {ppm} ppm, {before} ms");
                            break;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_window_that_is_open_is_not_left_out() {
        let schedule = schedule(MS(10_000));
        let rendezvous = FIRST + PERIOD * 4;
        let (opens, closes) = schedule
            .window_after(rendezvous + MS(10), LISTENING)
            .unwrap();
        assert!(opens < rendezvous && closes > rendezvous + MS(10));
        let (opens, _) = schedule.window_after(closes, LISTENING).unwrap();
        assert!(opens > closes);
    }

    #[test]
    fn the_next_grid_is_in_step_wherever_it_begins_and_does_not_end_before_the_last() {
        let old = schedule(MS(10_000));
        for after in [234, 2_380, 2_500, 2_777] {
            let first = old.rendezvous_after(FIRST + MS(after), Which::All);
            let (phase, until) = (old.phase_at(first), first + MS(1_000));
            let times = RendezvousTimes::new(first, phase, first + MS(31), None);
            let new = Schedule::new(times, until, Some(old));
            assert_eq!(new.until, old.until);
            let late = first + MS(4_321);
            let of = |schedule: &Schedule| schedule.rendezvous_after(late, Which::Regular);
            assert_eq!(of(&new), of(&old), "{after} ms");
        }
        assert_eq!(old.phase_at(old.until), Phase::REGULAR);
    }

    #[test]
    fn whichever_segment_a_node_heard_it_knows_the_same_rendezvous() {
        for late in (0..1_000).step_by(37) {
            // The later segment's time is off by up to half a millisecond.
            let start = FIRST + MS(30) + Duration::from_micros(501 + late % 998);
            let follow_ups = FollowUps {
                early: Some(EARLY_ONES),
                late: None,
            };
            let heard = RendezvousTimes::new(FIRST, Phase::REGULAR, start, Some(follow_ups));
            let other =
                RendezvousTimes::new(FIRST, Phase::REGULAR, FIRST + MS(31), Some(follow_ups));
            assert_eq!(heard, other);
        }
    }

    #[test]
    fn a_grid_without_end_has_windows_that_meet() {
        let times = RendezvousTimes::new(Instant::ZERO, Phase::REGULAR, Instant::ZERO, None);
        let schedule = Schedule::new(times, Instant::MAX, None);
        let late = Instant::ZERO + Duration::from_secs(100_000);
        let (opens, closes) = schedule.window_after(late, LISTENING).unwrap();
        assert!(opens <= late && closes > late);
        assert!(schedule.window_after(Instant::MAX, LISTENING).is_none());
    }
}
