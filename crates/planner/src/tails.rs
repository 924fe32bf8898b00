//! How what is not known of links differs from link to link: of most it is little, of a few it is much. Tests: below.

use crate::root;
use std::f64::consts::SQRT_2;
use thalweg_units::Db;

/// Standard normal quantile.
const QUANTILE_90: f64 = 1.282;
/// Degrees of freedom that count as infinitely many.
pub(crate) const MANY: f64 = 200.0;
/// Of links, the shares that [`Tails`] tells apart.
const SHARES: [f64; 3] = [0.70, 0.25, 0.05];

/// The law of what is not known of links: normal, with a deviation that differs from link to link. So many shares of them,
/// each with what its links' deviation is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails(pub(crate) [(f64, f64); 3]);

impl Tails {
    /// None: all links have the same deviation.
    pub const NORMAL: Self = Self([(1.0, 1.0), (0.0, 1.0), (0.0, 1.0)]);

    /// A Student law of so many `degrees` of freedom as shares of normal ones, each with what its deviation is a multiple of.
    pub(crate) fn student(degrees: f64) -> Self {
        if degrees >= MANY {
            return Self::NORMAL;
        }
        // The variance of a link is `degrees` over a chi-square variable: its law in steps of that one's logarithm.
        const STEPS: i32 = 400;
        let half = 0.5 * degrees;
        let of_step = |step: i32| {
            let log = f64::from(step) * 8.0 / f64::from(STEPS);
            let chi = degrees * libm::exp(-log);
            (libm::exp(half * libm::log(chi) - 0.5 * chi), degrees / chi)
        };
        let steps: Vec<(f64, f64)> = (-STEPS / 2..=STEPS).map(of_step).collect();
        let all: f64 = steps.iter().map(|(density, _)| density).sum();
        let mut found = [(0.0, 0.0); 3];
        let (mut at, mut most) = (0, SHARES[0]);
        let mut before = 0.0;
        for (density, variance) in steps {
            if before > most && at + 1 < SHARES.len() {
                at += 1;
                most += SHARES[at];
            }
            let weight = density / all;
            before += weight;
            found[at].0 += weight;
            found[at].1 += weight * variance;
        }
        Self(found.map(|(share, sum)| (share, (sum / share.max(f64::MIN_POSITIVE)).sqrt())))
    }
    /// Share and multiple, of those that there are.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.0.iter().copied().filter(|(share, _)| *share > 0.0)
    }
    /// The mean of `of` over links whose deviation is `deviation` in the middle.
    pub(crate) fn mean(&self, deviation: Db, of: impl Fn(Db) -> f64) -> f64 {
        let each = self
            .shares()
            .map(|(share, times)| share * of(Db(deviation.0 * times)));
        each.sum()
    }
    /// The multiple of a deviation below which nine of ten links have not become weaker.
    pub(crate) fn quantile_90(&self) -> f64 {
        if *self == Self::NORMAL {
            return QUANTILE_90;
        }
        let within = |x: f64| {
            let each = self
                .shares()
                .map(|(share, times)| share * 0.5 * libm::erfc(-x / times / SQRT_2));
            each.sum::<f64>()
        };
        root::last(0.0, 20.0, |x| within(x) < 0.9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_student_law_have_its_variance() {
        for degrees in [4.0, 8.0, 30.0] {
            let Tails(shares) = Tails::student(degrees);
            let all: f64 = shares.iter().map(|(share, _)| share).sum();
            let variance: f64 = shares
                .iter()
                .map(|(share, times)| share * times * times)
                .sum();
            assert!((all - 1.0).abs() < 1e-9);
            assert!(
                (variance / (degrees / (degrees - 2.0)) - 1.0).abs() < 0.1,
                "{variance}"
            );
            assert!(shares[2].1 > shares[0].1);
        }
        assert_eq!(Tails::student(MANY), Tails::NORMAL);
    }
}
