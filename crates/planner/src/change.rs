//! How links change, as several surveys of one network tell it.
//!
//! The semivariance of levels (half of the mean square of what two readings of a link differ by) is measured at each time
//! between two surveys. It is taken from the median of changes, since a few links change by far more than all others.
//! Which pairs of nodes those are is told by their own changes on all channels: variances of pairs are spread around a common
//! one as an inverse chi-square law, whose degrees of freedom follow from how far the logarithms scatter (Smyth, Stat. Appl.
//! Genet. Mol. Biol. 3, 2004, section 6). Nothing is assumed of a site. Tests: below, and in `picture`.

use crate::root;
use crate::tails::{Tails, MANY};
use std::collections::BTreeMap;

/// Median of the absolute value of a standard normal variable.
const NORMAL_MEDIAN: f64 = 0.6745;
/// Lags that differ by less than this factor are one.
const ONE_LAG: f64 = 2.0;
/// A pair's changes tell of its variance from so many on.
const TELLING: usize = 3;
/// The least that a pair's mean square counts as, of the common one: levels are read in whole decibels, and none is nil.
const LEAST: f64 = 0.05;
/// The fewest degrees of freedom, below which the law has no variance, and the most.
const DEGREES: (f64, f64) = (2.5, MANY);
/// Of fewer changes or pairs nothing is learned.
pub(crate) const ENOUGH: usize = 40;

/// A change between two surveys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// Both nodes, the lower first.
    pub(crate) pair: (usize, usize),
    /// Time between both surveys, in seconds.
    pub(crate) lag_s: f64,
    /// In decibels.
    pub(crate) by: f64,
    /// Whether the surveys follow one another.
    pub(crate) is_next: bool,
}

/// How links of a network change.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    /// Variance of a reading where nothing changed, in square decibels.
    nugget: f64,
    /// Semivariances in square decibels, by lag in seconds.
    points: Vec<(f64, f64)>,
    /// Variances of pairs as multiples of the common one.
    scales: BTreeMap<(usize, usize), f64>,
    /// That of a pair of which nothing is known.
    usual: f64,
    tails: Tails,
}

impl Changes {
    /// Of links of which readings alone are off, by a variance of `nugget`.
    pub(crate) fn none(nugget: f64) -> Self {
        Self {
            nugget,
            points: Vec::new(),
            scales: BTreeMap::new(),
            usual: 1.0,
            tails: Tails::NORMAL,
        }
    }

    /// What `seen` tells, where readings of a link that did not change are off by a variance of `nugget`.
    pub(crate) fn of(mut seen: Vec<Change>, nugget: f64) -> Self {
        seen.sort_by(|a, b| a.lag_s.total_cmp(&b.lag_s));
        let mut points: Vec<(f64, f64)> = Vec::new();
        let of_one_lag = |a: &Change, b: &Change| b.lag_s <= a.lag_s.max(1.0) * ONE_LAG;
        let mut rest = seen.as_slice();
        while let Some(first) = rest.first() {
            let count = rest.partition_point(|change| of_one_lag(first, change));
            let (here, later) = rest.split_at(count);
            if here.len() >= ENOUGH {
                let lag_s = here.iter().map(|c| c.lag_s).sum::<f64>() / count as f64;
                let core = median(here.iter().map(|c| c.by.abs())) / NORMAL_MEDIAN;
                points.push((lag_s, 0.5 * core * core));
            }
            rest = later;
        }
        let Some(least) = points.iter().map(|p| p.1).reduce(f64::min) else {
            return Self::none(nugget);
        };
        // Links that stand still may be read better than the survey thought; not even then are they read without error.
        let nugget = nugget.min(least).max(1e-3);
        let mut changes = Self {
            points: (points.into_iter())
                .map(|(lag, semi)| (lag, semi.max(nugget)))
                .collect(),
            ..Self::none(nugget)
        };
        changes.tell_pairs_apart(&seen);
        changes
    }

    /// What two readings so far apart differ by: half of the variance, in square decibels, of a pair like most. Between
    /// lags that were measured it goes with the logarithm of time, as links' changes do; nearer than the first it counts
    /// as if it were that one.
    pub(crate) fn semivariance(&self, lag_s: f64) -> f64 {
        let after = self.points.partition_point(|(at, _)| *at < lag_s);
        match (after.checked_sub(1), self.points.get(after)) {
            (None, None) => self.nugget,
            (None, Some((_, first))) => *first,
            (Some(before), None) => self.points[before].1,
            (Some(before), Some((end, there))) => {
                let (begin, here) = self.points[before];
                let share = libm::log(lag_s / begin) / libm::log(end / begin);
                here + share * (there - here)
            }
        }
    }
    /// Variance of a reading where nothing changed, in square decibels.
    pub(crate) fn nugget(&self) -> f64 {
        self.nugget
    }
    /// The variance of what a pair changes by, as a multiple of the common one.
    pub(crate) fn scale(&self, a: usize, b: usize) -> f64 {
        let own = self.scales.get(&(a.min(b), a.max(b)));
        own.copied().unwrap_or(self.usual)
    }
    /// How links that are alike for all that is known differ all the same.
    pub(crate) fn tails(&self) -> Tails {
        self.tails
    }

    fn tell_pairs_apart(&mut self, seen: &[Change]) {
        let mut pairs: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
        for change in seen.iter().filter(|change| change.is_next) {
            let square = change.by * change.by / (2.0 * self.semivariance(change.lag_s));
            let of = pairs.entry(change.pair).or_default();
            *of = (of.0 + square, of.1 + 1);
        }
        pairs.retain(|_, (_, count)| *count >= TELLING);
        if pairs.len() < ENOUGH {
            return;
        }
        // Both directions change alike: what they tell counts once.
        let freedom = |count: usize| (count as f64 / 2.0).max(1.0);
        let half = |degrees: f64| digamma(0.5 * degrees) - libm::log(0.5 * degrees);
        let logs: Vec<f64> = (pairs.values())
            .map(|(sum, count)| {
                let mean = (sum / *count as f64).max(LEAST);
                libm::log(mean) - half(freedom(*count))
            })
            .collect();
        let of = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / of;
        let scatter = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (of - 1.0);
        let counts = pairs.values().map(|(_, count)| *count);
        let by_chance = counts.map(|n| trigamma(0.5 * freedom(n))).sum::<f64>() / of;
        let prior = 2.0 * inverse_trigamma(scatter - by_chance);
        let prior = prior.clamp(DEGREES.0, DEGREES.1);
        let common = libm::exp(mean + half(prior));
        let mut most = 0.0;
        for (pair, (sum, count)) in pairs {
            let own = freedom(count);
            most = f64::max(most, own);
            let scale = (prior * common + own * sum / count as f64) / (prior + own);
            self.scales.insert(pair, scale);
        }
        let after = (prior + most).min(DEGREES.1);
        self.tails = Tails::student(after);
        // Of a pair of which nothing is known the tails are wider.
        let widening = |degrees: f64| degrees / (degrees - 2.0);
        self.usual = common * widening(prior) / widening(after);
    }
}

/// The middle of `values`; zero of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    let middle = values.len() / 2;
    match values.is_empty() {
        true => 0.0,
        false => *values.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}

/// Derivative of the logarithm of the gamma function, of positive numbers (Abramowitz and Stegun, 6.3.5 and 6.3.18).
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 8.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0));
    sum + libm::log(x) - 0.5 / x - series
}

/// Its derivative (6.4.6 and 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    sum + (1.0 + 0.5 / x + series) / x
}

/// Where the trigamma function has this value; half of the most degrees of freedom where it is below what those have.
fn inverse_trigamma(value: f64) -> f64 {
    let most = 0.5 * DEGREES.1;
    if value <= trigamma(most) {
        return most;
    }
    root::last(0.05, most, |x| trigamma(x) > value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_values_of_tables() {
        // Abramowitz and Stegun, table 6.1.
        assert!((digamma(1.0) + 0.577_215_664_9).abs() < 1e-9);
        assert!((trigamma(1.0) - 1.644_934_066_8).abs() < 1e-9);
        assert!((inverse_trigamma(trigamma(3.0)) - 3.0).abs() < 1e-6);
        assert_eq!(inverse_trigamma(-1.0), 0.5 * DEGREES.1);
    }

    #[test]
    fn ages_between_those_that_were_measured_lie_between_them() {
        let at = |lag_s: f64, by: f64| Change {
            pair: (0, 1),
            lag_s,
            by,
            is_next: false,
        };
        let mut seen = vec![at(3_600.0, 2.0); ENOUGH];
        seen.extend(vec![at(86_400.0, 4.0); ENOUGH]);
        let changes = Changes::of(seen, 0.5);
        let [early, hour, between, day, late] =
            [1.0, 3_600.0, 20_000.0, 86_400.0, 1e6].map(|lag| changes.semivariance(lag));
        assert!(early == hour && hour < between && between < day && day == late);
        assert!((day / hour - 4.0).abs() < 1e-9);
        assert_eq!(
            Changes::of(vec![at(60.0, 9.0); 3], 0.5).semivariance(60.0),
            0.5
        );
    }
}
