//! What every change on the air touches of an ear, and nothing else: one line of cache each.
//!
//! The sum of all power there, in whole [`Grains`], and the hazard of the frame that it receives,
//! summed piecewise between changes. Most changes find nothing to sum: the ear receives nothing, or
//! all interference together does no harm, or the frame is lost already. One comparison of whole
//! numbers with [`Tally::quiet`] decides. Time base: nanoseconds of true time. Tests: `tally_tests.rs`, `tests.rs`.

use crate::chip::Modem;
use crate::modem::{Demodulator, Harmless};

/// Power in units of 1e-18 mW: what is added up at an ear. 9 mW is the most that fits.
pub(super) type Grains = i64;
const GRAINS_PER_MW: f64 = 1e18;

pub(super) fn grains(mw: f64) -> Grains {
    (mw * GRAINS_PER_MW + 0.5) as Grains
}
pub(super) fn milliwatts(power: Grains) -> f64 {
    power as f64 * (1.0 / GRAINS_PER_MW)
}

/// An ear's sums.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Tally {
    /// All that it hears, its own frame not among it.
    pub(super) total: Grains,
    /// Up to this total there is nothing to sum.
    quiet: Grains,
    /// Up to when hazard is summed; where that is to come yet, from when on symbols must be right.
    since: u64,
    /// Of the frame that it receives.
    pub(super) power: Grains,
    /// The end of that frame's header.
    pub(super) header_end: u64,
    /// What the frame has suffered, and its header.
    pub(super) hazard: f64,
    pub(super) header_hazard: f64,
    /// Hazard from which on more of it changes nothing.
    enough: f64,
}

const NOTHING_TO_SUM: Grains = Grains::MAX;

impl Tally {
    const IDLE: Self = Self {
        total: 0,
        quiet: NOTHING_TO_SUM,
        since: 0,
        power: 0,
        header_end: 0,
        hazard: 0.0,
        header_hazard: 0.0,
        enough: 0.0,
    };
}

/// A frame that an ear is to receive.
pub(super) struct Admission {
    /// From when on symbols must be right.
    pub(super) since: u64,
    pub(super) header_end: u64,
    pub(super) power: Grains,
    /// Hazard from which on more of it changes nothing; none where it is summed by cause to the end.
    pub(super) enough: Option<f64>,
}

/// All ears' sums.
#[derive(Debug)]
pub(super) struct Tallies {
    all: Vec<Tally>,
    /// Effective noise of each ear, milliwatts.
    noise: Vec<f64>,
    demodulator: Demodulator,
    harmless: Harmless,
    modem: Modem,
    symbols_per_ns: f64,
}

impl Tallies {
    pub(super) fn new(noise: Vec<f64>, modem: Modem, symbols_per_ns: f64) -> Self {
        Self {
            all: vec![Tally::IDLE; noise.len()],
            noise,
            demodulator: Demodulator::default(),
            harmless: Demodulator::harmless(modem),
            modem,
            symbols_per_ns,
        }
    }
    #[inline]
    pub(super) fn get(&self, e: usize) -> Option<&Tally> {
        self.all.get(e)
    }
    /// What interference and noise is there beside `level`, in milliwatts.
    pub(super) fn beside(&self, e: usize, level: Grains) -> f64 {
        let total = self.all.get(e).map_or(0, |tally| tally.total);
        milliwatts(total - level) + self.noise_of(e)
    }
    /// What interference there is at ear `e`, in milliwatts.
    pub(super) fn others(&self, e: usize) -> f64 {
        milliwatts(self.all.get(e).map_or(0, |tally| tally.total))
    }
    pub(super) fn noise_of(&self, e: usize) -> f64 {
        self.noise.get(e).copied().unwrap_or(f64::INFINITY)
    }
    /// What a signal of `power` suffers in `length` nanoseconds at ear `e` of interference of so
    /// many milliwatts.
    pub(super) fn hazard(&self, e: usize, power: Grains, interference: f64, length: u64) -> f64 {
        let noise = self.noise_of(e);
        let of_symbol =
            (self.demodulator).hazard_beside(self.modem, milliwatts(power), noise, interference);
        of_symbol * (length as i64 as f64 * self.symbols_per_ns)
    }

    /// Ear `e` begins to receive.
    #[inline]
    pub(super) fn admit(&mut self, e: usize, frame: &Admission) {
        let (signal, noise) = (milliwatts(frame.power), self.noise_of(e));
        let harmless = self.harmless.beside(signal, noise);
        if let Some(tally) = self.all.get_mut(e) {
            *tally = Tally {
                total: tally.total,
                // Where there is no such interference, noise itself is a hazard.
                quiet: if harmless > 0.0 {
                    frame.power + (harmless * GRAINS_PER_MW) as Grains
                } else {
                    0
                },
                since: frame.since,
                power: frame.power,
                header_end: frame.header_end,
                hazard: 0.0,
                header_hazard: 0.0,
                enough: frame.enough.unwrap_or(f64::INFINITY),
            };
        }
    }
    /// Ear `e` receives nothing any more.
    pub(super) fn dismiss(&mut self, e: usize) {
        if let Some(tally) = self.all.get_mut(e) {
            tally.quiet = NOTHING_TO_SUM;
        }
    }

    /// The power at ear `e` changes by `by`: sums what its frame suffers up to `now`. Gives how long
    /// that was where losses are summed by cause.
    #[inline]
    pub(super) fn shift(&mut self, now: u64, e: usize, by: Grains) -> Option<u64> {
        let tally = self.all.get_mut(e)?;
        let before = tally.total;
        tally.total = before + by;
        if before <= tally.quiet {
            tally.since = tally.since.max(now);
            return None;
        }
        self.sum(now, e, before)
    }

    /// Adds what the frame that ear `e` receives suffered of `total` up to `now`.
    fn sum(&mut self, now: u64, e: usize, total: Grains) -> Option<u64> {
        let (tally, &noise) = (self.all.get_mut(e)?, self.noise.get(e)?);
        if now <= tally.since {
            return None;
        }
        let length = now - tally.since;
        let disturbance = milliwatts((total - tally.power).max(0));
        let power = milliwatts(tally.power);
        let hazard = (self.demodulator).hazard_beside(self.modem, power, noise, disturbance);
        if hazard > 0.0 {
            tally.hazard += hazard * length as i64 as f64 * self.symbols_per_ns;
            if tally.since < tally.header_end {
                let part = now.min(tally.header_end) - tally.since;
                tally.header_hazard += hazard * part as i64 as f64 * self.symbols_per_ns;
            }
        }
        tally.since = now;
        if tally.hazard >= tally.enough
            && (tally.header_hazard >= tally.enough || now >= tally.header_end)
        {
            tally.quiet = NOTHING_TO_SUM;
        }
        (tally.enough == f64::INFINITY && tally.hazard > 0.0).then_some(length)
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
