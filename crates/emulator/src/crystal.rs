//! A mote's clock against true time: off by a constant, since its power-on.

use thalweg_units::{Duration, SimTime};

/// Femtoseconds of a cycle of 64 MHz.
const CYCLE_FS: i64 = 15_625_000;
const FS_PER_NS: u128 = 1_000_000;

/// The crystal of one mote. Positive drift is a fast one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crystal {
    boot: SimTime,
    cycle_fs: u64,
}

impl Crystal {
    /// Power comes on at `boot`; the crystal is fast by `ppb` parts in 10^9, at most a tenth.
    pub fn new(boot: SimTime, ppb: i32) -> Self {
        let ppb = i64::from(ppb.clamp(-100_000_000, 100_000_000));
        Self {
            boot,
            cycle_fs: (CYCLE_FS - CYCLE_FS * ppb / 1_000_000_000).unsigned_abs(),
        }
    }
    /// The cycle that begins last before a true time; the first before power-on.
    pub fn cycle(&self, at: SimTime) -> u64 {
        let since = at.saturating_sub(self.boot.since(SimTime::ZERO));
        (u128::from(since.as_nanos()) * FS_PER_NS / u128::from(self.cycle_fs)) as u64
    }
    /// When a cycle begins, in true time; the end of time where it never does.
    pub fn time(&self, cycle: u64) -> SimTime {
        let ns = u128::from(cycle) * u128::from(self.cycle_fs) / FS_PER_NS;
        match u64::try_from(ns) {
            Ok(ns) if ns < u64::MAX / 2 => self.boot + Duration::from_nanos(ns),
            _ => SimTime::MAX,
        }
    }
    /// How long so many cycles take.
    pub fn length(&self, cycles: u64) -> Duration {
        self.time(cycles).since(self.boot)
    }
}
