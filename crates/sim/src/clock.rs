//! A node's own clock: offset, constant drift, tick; conversions both ways.
//!
//! Invariants: readings never decrease with true time, from one start of the node to the next; a time-out set for a local instant fires at
//! the first nanosecond of true time at which the clock reads that instant or later. All in
//! integers, so that no conversion depends on a machine's rounding. Does not model a drift that
//! changes (temperature). Tests: at the end of this file.

use thalweg_medium::random;
use thalweg_units::{Duration, Instant, SimTime};

/// The clocks of a kind of board, of which each node draws its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockModel {
    /// Readings at the beginning are spread evenly from zero to this: nodes are not switched on
    /// together.
    pub max_offset: Duration,
    /// Standard deviation of the rate error, in parts per million, drawn once per node.
    pub drift_sigma_ppm: f64,
    /// What one count of the clock is; readings are rounded down to it. Zero for none.
    pub tick: Duration,
}

impl ClockModel {
    /// All nodes read true time, to the nanosecond.
    pub const PERFECT: Self = Self {
        max_offset: Duration::ZERO,
        drift_sigma_ppm: 0.0,
        tick: Duration::ZERO,
    };

    /// Node `node`'s clock in the run of `seed`.
    pub(crate) fn draw(&self, seed: u64, node: u64) -> Clock {
        let mut rng = random::stream(seed, "sim.clock", &[node]);
        let offset = (random::uniform(&mut rng) * self.max_offset.as_nanos() as f64) as u64;
        let drift_ppm = self.drift_sigma_ppm * random::normal(&mut rng);
        Clock::new(offset, drift_ppm, self.tick)
    }

    /// What becomes of `clock` of node `node` when the node starts for the time number `start`, from 0, at `at`: the
    /// crystal stays, its count begins at zero.
    pub(crate) fn draw_anew(
        &self,
        clock: Clock,
        (seed, node, start): (u64, u64, u32),
        at: SimTime,
    ) -> Clock {
        let mut rng = random::stream(seed, "sim.clock", &[node, u64::from(start)]);
        let reads = (random::uniform(&mut rng) * self.max_offset.as_nanos() as f64) as u64;
        clock.set(at, reads)
    }
}

/// Rate errors are held in units of 2^-40.
const RATE_BITS: u32 = 40;
/// No oscillator on a board is worse than this; it bounds the search in [`Clock::when`].
const MAX_DRIFT_PPM: f64 = 1_000.0;

/// One node's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// What it would have read at time zero, before rounding.
    offset: i64,
    rate: i64,
    tick: u64,
}

impl Clock {
    pub(crate) fn new(offset_ns: u64, drift_ppm: f64, tick: Duration) -> Self {
        let ppm = drift_ppm.clamp(-MAX_DRIFT_PPM, MAX_DRIFT_PPM);
        let rate = (ppm * 1e-6 * (1u64 << RATE_BITS) as f64) as i64;
        Self {
            offset: i64::try_from(offset_ns).unwrap_or(i64::MAX),
            rate,
            tick: tick.as_nanos().max(1),
        }
    }
    /// Whether it reads true time, which spares the arithmetic.
    #[inline]
    const fn is_perfect(&self) -> bool {
        self.offset.unsigned_abs() | self.rate.unsigned_abs() | (self.tick - 1) == 0
    }
    /// The same clock set to read `reads` nanoseconds at `at`.
    fn set(self, at: SimTime, reads: u64) -> Self {
        let unset = Self { offset: 0, ..self };
        let offset = i128::from(reads) - unset.value(i128::from(at.as_nanos()));
        let offset = offset.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Self { offset, ..self }
    }
    /// The clock's value at `at`, before rounding to its tick.
    fn value(&self, at: i128) -> i128 {
        i128::from(self.offset) + at + ((at * i128::from(self.rate)) >> RATE_BITS)
    }
    /// What the clock reads at `at`.
    #[inline]
    pub(crate) fn read(&self, at: SimTime) -> Instant {
        if self.is_perfect() {
            return Instant::from_nanos(at.as_nanos());
        }
        let value = saturate(self.value(i128::from(at.as_nanos())));
        Instant::from_nanos(value - value % self.tick)
    }
    /// The first nanosecond at which the clock reads `local` or later.
    #[inline]
    pub(crate) fn when(&self, local: Instant) -> SimTime {
        if self.is_perfect() {
            return SimTime::from_nanos(local.as_nanos());
        }
        let counts = local.as_nanos().div_ceil(self.tick);
        self.solve(i128::from(counts) * i128::from(self.tick))
    }
    /// The first nanosecond by which, counted from `from`, the clock has advanced by `gap`: what a
    /// compare register armed at a captured instant does, without rounding to the tick, since the
    /// board's `sync_jitter` holds that rounding.
    pub(crate) fn after(&self, from: SimTime, gap: Duration) -> SimTime {
        self.solve(self.value(i128::from(from.as_nanos())) + i128::from(gap.as_nanos()))
    }
    /// The smallest `t >= 0` whose value is at least `wanted`.
    fn solve(&self, wanted: i128) -> SimTime {
        // The slope is within 1e-3 of one, so each step leaves a thousandth of the error: seven
        // steps bring the whole range of a u64 to the last nanoseconds.
        let mut t = (wanted - i128::from(self.offset)).max(0);
        for _ in 0..7 {
            let error = wanted - self.value(t);
            if error.abs() <= 1 {
                break;
            }
            t = (t + error).max(0);
        }
        while t > 0 && self.value(t - 1) >= wanted {
            t -= 1;
        }
        while self.value(t) < wanted {
            t += 1;
        }
        SimTime::from_nanos(saturate(t))
    }
}

fn saturate(ns: i128) -> u64 {
    u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_perfect_clock_reads_true_time() {
        let clock = ClockModel::PERFECT.draw(1, 2);
        for ns in [0, 1, 12_345, u64::MAX / 2] {
            assert_eq!(clock.read(SimTime::from_nanos(ns)), Instant::from_nanos(ns));
            assert_eq!(clock.when(Instant::from_nanos(ns)), SimTime::from_nanos(ns));
        }
    }

    #[test]
    fn ten_ppm_are_ten_microseconds_a_second() {
        let clock = Clock::new(500, 10.0, Duration::ZERO);
        let read = clock.read(SimTime::from_nanos(1_000_000_000)).as_nanos();
        assert!(read.abs_diff(1_000_010_500) <= 1, "{read}");
        let gap = clock.after(SimTime::from_nanos(77), Duration::from_millis(100));
        assert!(
            gap.as_nanos().abs_diff(77 + 100_000_000 - 1_000) <= 1,
            "{gap:?}"
        );
    }

    #[test]
    fn instants_before_the_beginning_have_come() {
        let clock = Clock::new(1_000_000, -20.0, Duration::from_nanos(250));
        assert_eq!(clock.when(Instant::from_nanos(999_999)), SimTime::ZERO);
        assert_eq!(clock.when(Instant::MAX).as_nanos(), u64::MAX);
    }

    #[test]
    fn nodes_draw_their_own() {
        let model = ClockModel {
            max_offset: Duration::from_secs(1),
            drift_sigma_ppm: 10.0,
            ..ClockModel::PERFECT
        };
        let (a, b, again) = (model.draw(3, 0), model.draw(3, 1), model.draw(3, 0));
        assert_ne!((a.offset, a.rate), (b.offset, b.rate));
        assert_eq!((a.offset, a.rate), (again.offset, again.rate));
    }

    #[test]
    fn a_node_that_restarts_counts_from_zero_with_the_same_crystal() {
        let model = ClockModel {
            max_offset: Duration::from_millis(5),
            drift_sigma_ppm: 10.0,
            tick: Duration::from_nanos(250),
        };
        let (at, second) = (SimTime::from_nanos(70_000_000_123), Duration::from_secs(1));
        let first = model.draw(3, 7);
        let again = |start| model.draw_anew(first, (3, 7, start), at);
        let (one, two) = (again(1), again(2));
        assert!(one.read(at) < Instant::from_nanos(5_000_000));
        assert_ne!(one.read(at), two.read(at));
        assert_eq!((one.rate, one.tick), (first.rate, first.tick));
        assert_eq!(
            one.value(i128::from((at + second).as_nanos())) - one.value(i128::from(at.as_nanos())),
            first.value(i128::from((at + second).as_nanos()))
                - first.value(i128::from(at.as_nanos()))
        );
        let due = one.read(at) + second;
        assert!(one.read(one.when(due)) >= due && one.when(due) > at);
    }

    proptest! {
        #[test]
        fn a_timeout_fires_at_the_first_nanosecond_that_reads_it(
            offset in 0..2_000_000_000u64,
            ppm in -100.0..100.0f64,
            tick in 0..40_000u64,
            local in 0..1_000_000_000_000_000u64,
        ) {
            let clock = Clock::new(offset, ppm, Duration::from_nanos(tick));
            let local = Instant::from_nanos(local);
            let t = clock.when(local);
            prop_assert!(clock.read(t) >= local);
            if t > SimTime::ZERO {
                prop_assert!(clock.read(t.saturating_sub(Duration::from_nanos(1))) < local);
            }
        }

        #[test]
        fn readings_never_go_back(
            ppm in -1000.0..1000.0f64, tick in 0..1000u64, t in 0..u64::MAX / 2, step in 0..1000u64,
        ) {
            let clock = Clock::new(5, ppm, Duration::from_nanos(tick));
            let (a, b) = (SimTime::from_nanos(t), SimTime::from_nanos(t + step));
            prop_assert!(clock.read(a) <= clock.read(b));
        }
    }
}
