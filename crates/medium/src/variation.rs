//! How received power varies around a link's mean: from packet to packet, and from run to run.
//!
//! Both are normal in decibels. The draws are taken from a table of quantiles as linear factors,
//! so that a draw costs one look-up and no exponential. Tests: here.

use crate::random;
use thalweg_units::Db;

/// Standard deviations of received power around a link's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    /// Per packet and link, each direction on its own.
    pub packet: Db,
    /// Per run, link and channel; the same in both directions.
    pub run: Db,
}

impl Variation {
    /// None at all: ideal networks.
    pub const NONE: Self = Self {
        packet: Db(0.0),
        run: Db(0.0),
    };
    /// A run of some seconds: 1.5 dB from packet to packet, 1 dB from run to run.
    pub const SHORT_RUN: Self = Self {
        packet: Db(1.5),
        run: Db(1.0),
    };
    /// A measurement campaign of minutes, in which what is constant within a short run moves too:
    /// 2 dB from packet to packet.
    pub const CAMPAIGN: Self = Self {
        packet: Db(2.0),
        run: Db(0.0),
    };

    /// Standard deviation over runs and packets together.
    pub fn total(&self) -> Db {
        Db((self.packet.0 * self.packet.0 + self.run.0 * self.run.0).sqrt())
    }
}

impl Default for Variation {
    fn default() -> Self {
        Self::SHORT_RUN
    }
}

/// Quantiles kept: beyond 3.3 standard deviations nothing is drawn.
const QUANTILES: usize = 1024;

/// Factors on power, normal in decibels, by equally likely quantiles.
#[derive(Debug, Clone)]
pub(crate) struct Factors(Vec<f32>);

impl Factors {
    pub(crate) fn new(sigma: Db) -> Self {
        Self(
            (0..QUANTILES)
                .map(|k| {
                    let p = (k as f64 + 0.5) / QUANTILES as f64;
                    Db(sigma.0 * random::normal_quantile(p)).factor() as f32
                })
                .collect(),
        )
    }
    /// The factor that the low bits of `word` pick.
    #[inline]
    pub(crate) fn pick(&self, word: u64) -> f32 {
        self.0
            .get(word as usize % QUANTILES)
            .copied()
            .unwrap_or(1.0)
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
}
