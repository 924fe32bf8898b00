//! Means over seeds with their intervals (Student's t), and the range that a quantity cannot leave. An interval is
//! cut off at the ends of its quantity's range, and over fewer than [`ENOUGH`] seeds there is none.
//! Tests: `interval_tests.rs`.

use serde::{Deserialize, Serialize};

/// An interval is given over at least so many values: of two, Student's t says 12.7 times the spread.
const ENOUGH: usize = 3;

/// An interval that some papers give instead of the 95 % one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confidence {
    /// 99 %.
    #[serde(rename = "99%")]
    NinetyNine,
}

impl Confidence {
    /// Its interval of a mean over `n` values, of which `ci95` is the 95 % one.
    pub(super) fn of(self, mean: f64, ci95: [f64; 2], n: usize) -> [f64; 2] {
        let Self::NinetyNine = self;
        let [narrow, wide] = student_t(n.saturating_sub(1));
        ci95.map(|end| mean + (end - mean) * (wide / narrow))
    }
}

/// Which values a quantity can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// A share of a whole, 0 to 1.
    Share,
    /// A share of a whole in percent, 0 to 100.
    Percent,
    /// A coefficient of correlation, -1 to 1.
    Correlation,
    /// An amount, a rate, a time: nothing below 0.
    Amount,
    /// A difference, or a level in decibels: anything.
    Signed,
}

/// Columns, beside those that end in `_share`, that are shares of a whole.
const SHARES: &[&str] = &[
    "below_tenth",
    "buffer_drops",
    "channel_loss",
    "coverage",
    "efficiency",
    "end_to_end_drop",
    "exact",
    "fairness",
    "first_round_reliability",
    "frame_loss",
    "prr",
    "r1",
    "reliability",
    "reliability_least",
    "retransmitted",
    "share_collision",
    "share_deaf",
    "share_hidden",
    "share_noise_floor",
    "share_weak_link",
    "utilisation",
    "utilisation_without_overhead",
    "verified",
];
/// Columns in percent of a whole.
const PERCENTS: &[&str] = &["first_round_pct", "utilisation_pct", "yield_pct"];
/// Columns whose values may lie below 0.
const SIGNED: &[&str] = &["extra_ms", "extra_rounds", "power_dbm"];

impl Range {
    /// That of a column, by its name.
    pub(super) fn of_column(column: &str) -> Self {
        match column {
            "correlation" => Self::Correlation,
            _ if SIGNED.contains(&column) => Self::Signed,
            _ if PERCENTS.contains(&column) => Self::Percent,
            _ if SHARES.contains(&column) => Self::Share,
            _ if column.ends_with("_share") => Self::Share,
            _ => Self::Amount,
        }
    }

    /// That of a sum of its values, of their multiple, or of a ratio of two: no whole limits it any more.
    pub(super) fn summed(self) -> Self {
        match self {
            Self::Share | Self::Percent | Self::Amount => Self::Amount,
            Self::Correlation | Self::Signed => Self::Signed,
        }
    }

    /// `interval` as far as it lies within the range.
    pub(super) fn cut(self, interval: [f64; 2]) -> [f64; 2] {
        let (least, most) = match self {
            Self::Share => (0.0, 1.0),
            Self::Percent => (0.0, 100.0),
            Self::Correlation => (-1.0, 1.0),
            Self::Amount => (0.0, f64::INFINITY),
            Self::Signed => (f64::NEG_INFINITY, f64::INFINITY),
        };
        // Sums of shares that are 1 each may be 1 and a rounding error.
        let [low, high] = interval;
        [low.max(least).min(high), high.min(most).max(low)]
    }
}

/// The middle of `sorted` values, or the mean of the two there; none of no values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}

/// The mean of `values` and its 95 % interval; none of fewer than three values.
pub fn mean_and_interval(values: &[f64]) -> (f64, Option<[f64; 2]>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < ENOUGH {
        return (mean, None);
    }
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let half = student_t(values.len() - 1)[0] * (variance / n).sqrt();
    (mean, Some([mean - half, mean + half]))
}

/// The 97.5 % and the 99.5 % point of Student's t with `degrees` of freedom (standard tables to three
/// decimals).
fn student_t(degrees: usize) -> [f64; 2] {
    const TABLE: [[f64; 30]; 2] = [
        [
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
            2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
            2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
        ],
        [
            63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055,
            3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797,
            2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
        ],
    ];
    match degrees {
        0 => [f64::INFINITY; 2],
        d if d <= 30 => TABLE.map(|column| column[d - 1]),
        // Upper 30 the points are within 0.5 % of these expansions about the normal's.
        d => [1.960 + 2.4 / d as f64, 2.576 + 5.2 / d as f64],
    }
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
