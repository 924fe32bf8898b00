//! How received power varies around a link's mean: from packet to packet, and from run to run.
//!
//! Both are normal in decibels. The draws are taken from a table of quantiles as linear factors,
//! so that a draw costs one look-up and no exponential. Tests: here.

use crate::random::{self, derive, nth};
use crate::EarId;
use thalweg_units::{Channel, Db};

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

/// Power variation of this run.
#[derive(Debug)]
pub(crate) struct Draws {
    packet_key: u64,
    run_key: u64,
    packet: Factors,
    run: Factors,
    run_varies: bool,
    /// More than any factor that is drawn.
    pub(crate) most: f64,
}

impl Draws {
    pub(crate) fn new(variation: Variation, seed: u64) -> Self {
        Self {
            packet_key: derive(seed, "packets", &[]),
            run_key: derive(seed, "run", &[]),
            packet: Factors::new(variation.packet),
            run: Factors::new(variation.run),
            run_varies: variation.run.0 > 0.0,
            // Factors end at 3.3 standard deviations.
            most: Db(3.5 * (variation.packet.0 + variation.run.0)).factor(),
        }
    }
    /// The key of what transmission `number` draws.
    #[inline]
    pub(crate) fn key(&self, number: u64) -> u64 {
        nth(self.packet_key, number)
    }
    #[inline]
    pub(crate) fn factor(&self, word: u64, from: EarId, to: EarId, channel: Channel) -> f64 {
        let mut factor = f64::from(self.packet.pick(word));
        if self.run_varies {
            let (low, high) = (from.min(to), from.max(to));
            let pair = u64::from(low.0) << 36 | u64::from(high.0) << 4 | channel.index() as u64;
            factor *= f64::from(self.run.pick(nth(self.run_key, pair)));
        }
        factor
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
