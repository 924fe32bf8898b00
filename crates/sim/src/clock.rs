//! A node's own clock: offset, constant drift, tick; conversions both ways.
//!
//! Invariants: readings never decrease with true time, from one start of the node to the next; a time-out set for a local instant fires at
//! the first nanosecond of true time at which the clock reads that instant or later. All in
//! integers, so that no conversion depends on a machine's rounding. Does not model a drift that
//! changes (temperature). Tests: `clock_tests.rs`.

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
    pub(crate) fn draw_again(
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
#[path = "clock_tests.rs"]
mod tests;
