//! How received power varies around a link's mean: from packet to packet, within a second, and over
//! minutes, hours and days.
//!
//! All parts are normal in decibels; those slower than a second are normal with a scale that is
//! itself drawn, so that most links hardly change while some change a lot. What is slower than a
//! packet is the same in both directions (`drift.rs` plays it). Draws are taken from tables of
//! quantiles. Tests: here.

use crate::random;
use thalweg_units::Db;

/// How much a link's mean differs between two visits: the standard deviation of the change of its mean power over
/// 100 packets, in decibels, where one visit is so much later than the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// A quarter of an hour later.
    pub after_15_min: Db,
    /// Two hours later.
    pub after_2_h: Db,
    /// A day later, and ever after.
    pub after_1_day: Db,
}

impl Change {
    /// None.
    pub const NONE: Self = Self {
        after_15_min: Db(0.0),
        after_2_h: Db(0.0),
        after_1_day: Db(0.0),
    };
}

/// Standard deviations of received power around a link's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    /// From packet to packet, each direction on its own.
    pub packet: Db,
    /// What holds for half a second: losses are correlated over shorter times and independent over
    /// longer ones (Srinivasan et al., "The beta-factor", SenSys 2008, and SING-06-00).
    pub burst: Db,
    /// What holds longer.
    pub change: Change,
}

impl Variation {
    /// None at all: ideal networks.
    pub const NONE: Self = Self {
        packet: Db(0.0),
        burst: Db(0.0),
        change: Change::NONE,
    };
    /// Links that stay as they are, but for 1.5 dB within a minute, most of it in bursts. No trace says so.
    pub const STILL: Self = Self {
        packet: Db(0.75),
        burst: Db(1.3),
        change: Change::NONE,
    };
    /// A laboratory, nights included. Two visits of 100 packets within a quarter of an hour differ by 0.07 to 0.45 dB in the
    /// traces of Strasbourg and Lille, which leaves this much within a minute; 0.9 dB after 2.7 hours and 1.2 dB after a
    /// day in the trace of 50 nodes in Grenoble (6TiSCH simulator).
    pub const LABORATORY: Self = Self {
        packet: Db(0.3),
        burst: Db(0.2),
        change: Change {
            after_15_min: Db(0.3),
            after_2_h: Db(0.9),
            after_1_day: Db(1.2),
        },
    };
    /// A building with people: 2.4 dB after a quarter of an hour on an office floor (SmartMesh trace); beyond, what two
    /// hours and a day add in Grenoble, as a ratio. Within a minute as [`Self::STILL`].
    pub const BUILDING: Self = Self {
        change: Change {
            after_15_min: Db(2.4),
            after_2_h: Db(2.7),
            after_1_day: Db(3.4),
        },
        ..Self::STILL
    };
    /// Outdoors: between a peach orchard (1.6, 1.5 dB) and a marina (2.5, 2.9, 3.3 to 4.3 dB; SmartMesh traces). Within a
    /// minute as [`Self::STILL`].
    pub const OUTDOORS: Self = Self {
        change: Change {
            after_15_min: Db(2.0),
            after_2_h: Db(2.3),
            after_1_day: Db(3.3),
        },
        ..Self::STILL
    };

    /// Standard deviation over all times together: half of what two days differ by is each day's.
    pub fn total(&self) -> Db {
        let (packet, burst, change) = (self.packet.0, self.burst.0, self.change.after_1_day.0);
        Db((packet * packet + burst * burst + 0.5 * change * change).sqrt())
    }
    /// Standard deviation within a measurement of some seconds.
    pub fn within_seconds(&self) -> Db {
        Db((self.packet.0 * self.packet.0 + self.burst.0 * self.burst.0).sqrt())
    }
    /// More than power is ever raised by.
    pub(crate) fn most(&self) -> Db {
        Db(3.5 * self.total().0)
    }
}

impl Default for Variation {
    /// A building with people.
    fn default() -> Self {
        Self::BUILDING
    }
}

/// Quantiles kept: beyond 3.3 standard deviations nothing is drawn.
const QUANTILES: usize = 1024;

/// The quantiles of a law, equally likely, each as `of` makes it of the standard normal's.
pub(crate) fn quantiles(of: impl Fn(f64) -> f64) -> Vec<f32> {
    let p = |k: usize| (k as f64 + 0.5) / QUANTILES as f64;
    let all = (0..QUANTILES).map(|k| of(random::normal_quantile(p(k))) as f32);
    all.collect()
}

/// The quantile that the low bits of `word` pick.
#[inline]
pub(crate) fn pick(quantiles: &[f32], word: u64) -> Option<f32> {
    quantiles.get(word as usize % QUANTILES).copied()
}

/// Factors on power, normal in decibels, by equally likely quantiles.
#[derive(Debug, Clone)]
pub(crate) struct Factors(Vec<f32>);

impl Factors {
    pub(crate) fn new(sigma: Db) -> Self {
        Self(quantiles(|z| Db(sigma.0 * z).factor()))
    }
    /// The factor that the low bits of `word` pick.
    #[inline]
    pub(crate) fn pick(&self, word: u64) -> f32 {
        pick(&self.0, word).unwrap_or(1.0)
    }
    /// Every `step`th factor: an even sample of the law.
    pub(crate) fn sample(&self, step: usize) -> impl Iterator<Item = f64> + '_ {
        self.0
            .iter()
            .skip(step / 2)
            .step_by(step)
            .map(|f| f64::from(*f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_spread_asked_for() {
        let factors = Factors::new(Db(1.5));
        let mut square = 0.0;
        for word in 0..1024 {
            let db = Db::from_factor(f64::from(factors.pick(word))).0;
            square += db * db / 1024.0;
        }
        assert!((square.sqrt() - 1.5).abs() < 0.01);
        assert_eq!(Factors::new(Db(0.0)).pick(17), 1.0);
    }

    #[test]
    fn places_change_more_the_longer_one_waits() {
        for Variation { change, .. } in [
            Variation::LABORATORY,
            Variation::BUILDING,
            Variation::OUTDOORS,
        ] {
            assert!(change.after_15_min.0 <= change.after_2_h.0);
            assert!(change.after_2_h.0 <= change.after_1_day.0);
        }
        assert_eq!(Variation::NONE.total(), Db(0.0));
        assert!((Variation::STILL.total().0 - 1.5).abs() < 0.01);
    }
}
