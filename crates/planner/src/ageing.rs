//! How links may have changed since a single survey, which cannot show it: it measures both directions within seconds.
//!
//! The law of changes is that of traces of other networks (`docs/radio-model.md`): a few links change by far more than most.
//! Changes are sudden: half of the links are taken to have changed after half a minute, for which there is no trace;
//! simulated worlds assume the same. And a network has more weak links than strong ones: of links that look strong, more
//! are weaker than they look than are stronger. Where several surveys show how links change, that counts
//! instead. Not modelled: the surroundings of the network. Tests: `ageing_tests.rs`.

use rand::Rng;
use thalweg_units::{Db, Duration};

/// What links change by in a quarter of an hour, as shares of them with their standard deviations: a Student law of three degrees of
/// freedom and 2.2 dB, the root mean square of an orchard's, an office's and a marina's 1.6, 2.4 and 2.5 dB. Its median is .44 of that, and
/// its 99th percentile 3.4; Grenoble's changes have .05 to .2, and 4.0 to 4.2 (`docs/radio-model.md`, "What changes in time").
const CHANGES: [(f64, f64); 3] = [(0.7015, 1.270), (0.2490, 2.496), (0.0495, 6.410)];
/// Seconds after which half of the links have changed, and all.
pub(crate) const HALF_S: f64 = 30.0;
pub(crate) const HALF: Duration = Duration::from_secs(30);
pub(crate) const WHOLE_S: f64 = 900.0;
/// Two bands of margins in which links are counted, in decibels: from where a sweep misses few, and as wide as four of the steps of 3 dB
/// in which sweeps tell levels, so that none has a step more than the other.
const BAND_DB: f64 = 12.0;
const BANDS_FROM_DB: f64 = 9.0;
/// Fewer links than this say nothing of the slope.
const ENOUGH: usize = 40;

/// How links may have changed since they were measured, beyond the measurement's own error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ageing {
    /// Share of the links that have changed.
    changed: f64,
    /// By how much there are more links a decibel weaker: the logarithm of the ratio.
    slope: f64,
}

impl Ageing {
    /// No change, or a link's own uncertainty includes it.
    pub const NONE: Self = Self {
        changed: 0.0,
        slope: 0.0,
    };

    /// Of links with these margins over the floor, in decibels, that were measured `age` ago, both directions so long `apart`:
    /// changes within that time show in the difference of the directions.
    pub(crate) fn since(
        age: Duration,
        apart: Duration,
        margins: impl Iterator<Item = f64>,
    ) -> Self {
        if age <= apart {
            return Self::NONE;
        }
        Self {
            changed: changed_share(age) - changed_share(apart),
            slope: slope(margins),
        }
    }
    /// Shares of links, with the deviation of each where that of the measurement is `unknown`.
    pub(crate) fn deviations(&self, unknown: Db) -> [(f64, Db); 4] {
        let [most, some, few] =
            CHANGES.map(|(share, by)| (share * self.changed, Db(libm::hypot(unknown.0, by))));
        [(1.0 - self.changed, unknown), most, some, few]
    }
    /// How many more links there are `by` so much away from any level.
    pub(crate) fn weight(&self, by: Db) -> f64 {
        libm::exp(-self.slope * by.0)
    }
}

/// The share of links that have changed by an age.
pub(crate) fn changed_share(age: Duration) -> f64 {
    let age_s = age.as_secs_f64();
    0.5 * (age_s / HALF_S).min(1.0) + 0.5 * (age_s / WHOLE_S).min(1.0)
}

/// By how much a link has changed that has, drawn.
pub(crate) fn change(rng: &mut impl Rng) -> Db {
    let mut drawn = rng.random::<f64>();
    for (share, deviation) in CHANGES {
        if drawn < share {
            return Db(deviation * normal(rng));
        }
        drawn -= share;
    }
    Db(0.0)
}

/// A standard normal number, drawn.
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    // Box and Muller's transformation.
    let [far, turn] = [rng.random::<f64>(), rng.random::<f64>()];
    (-2.0 * libm::log(1.0 - far)).sqrt() * libm::cos(core::f64::consts::TAU * turn)
}

/// By how much there are more links a decibel weaker, among those that a survey cannot miss.
fn slope(margins: impl Iterator<Item = f64>) -> f64 {
    let [mut weaker, mut stronger] = [0usize; 2];
    for margin in margins {
        let over = margin - BANDS_FROM_DB;
        weaker += usize::from((0.0..BAND_DB).contains(&over));
        stronger += usize::from((BAND_DB..2.0 * BAND_DB).contains(&over));
    }
    match weaker.min(stronger) >= ENOUGH {
        true => (libm::log(weaker as f64 / stronger as f64) / BAND_DB).max(0.0),
        false => 0.0,
    }
}

#[cfg(test)]
#[path = "ageing_tests.rs"]
mod tests;
