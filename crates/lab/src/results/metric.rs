//! Metrics: from rows to one number per seed, and from seeds to a mean with its 95 % interval.
//!
//! A metric is declared in the experiment's file: a column, a statistic over the rows of one seed,
//! and the columns that split them. The statistic is taken within each seed and then averaged over
//! the seeds, so that a seed (one random building) is the unit of the interval. A pooled ratio divides
//! the sums of all seeds.

use super::interval::{mean_and_interval, median, Confidence, Range};
use super::row::{Row, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The column that names the seed of a row.
pub const SEED: &str = "seed";

/// A statistic over the rows of one seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The middle value.
    Median,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The value that this share of the values does not exceed, 0..=1.
    Quantile(f64),
    /// The sum.
    Sum,
    /// How many rows have the column.
    Count,
    /// The share of values that are zero, 0..=1.
    ShareZero,
    /// The share of values below this, 0..=1.
    ShareBelow(f64),
    /// The share of values from this to that, 0..=1.
    ShareBetween(f64, f64),
    /// Not of the values but of this other column: its value where the mean over seeds is largest.
    BestOf(String),
}

/// One declared metric.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Its stable name.
    pub name: String,
    /// The column it is taken of.
    pub of: String,
    /// Divided by the same statistic of this column, over the rows that have both: a ratio of means
    /// or sums, not a mean of ratios.
    pub over: Option<String>,
    /// How that ratio is taken of several seeds.
    #[serde(default)]
    pub ratio: Ratio,
    /// Divided by the same metric of the rows in which these columns have these values instead, seed
    /// by seed.
    pub against: Option<BTreeMap<String, Value>>,
    /// In place of `against`: less the same metric of those rows, seed by seed. For orders between quantities that may
    /// be zero.
    pub minus: Option<BTreeMap<String, Value>>,
    /// The statistic over the rows of one seed.
    pub stat: Statistic,
    /// What every value is multiplied by, to come out in `unit`.
    #[serde(default = "one")]
    pub scale: f64,
    /// Its unit, as printed.
    #[serde(default)]
    pub unit: String,
    /// Which interval is given beside the 95 % one.
    pub confidence: Option<Confidence>,
    /// Which value is best, where what is compared has ranks.
    pub best: Option<Best>,
    /// Columns that split the rows: one result for each combination of their values.
    #[serde(default)]
    pub by: Vec<String>,
    /// Not the mean itself but, of the values of a column, the share whose means lie in a span.
    pub most: Option<MostSpec>,
    /// Only rows in which these columns have these values.
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, Value>,
}

const fn one() -> f64 {
    1.0
}

/// How a ratio is taken of several seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ratio {
    /// Of each seed, then the mean of these.
    #[default]
    OfEach,
    /// Of the sums of all seeds: where single seeds have little to divide by, the mean of their ratios is too large.
    Pooled,
}

/// Of the values of a column, as of all channels, the share whose results lie in a span: what "most of them" is
/// judged by.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MostSpec {
    /// The column.
    pub of: String,
    /// Lowest and highest mean over the seeds.
    pub between: [f64; 2],
}

/// Which value is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Best {
    /// The largest, as of goodput.
    Most,
    /// The smallest, as of energy.
    Least,
}

impl Best {
    /// Whether `a` is better than `b`.
    pub(super) fn is_ahead(self, a: f64, b: f64) -> bool {
        match self {
            Self::Most => a > b,
            Self::Least => a < b,
        }
    }
}

/// A metric's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The metric's name.
    pub metric: String,
    /// The values of its `by` columns.
    pub at: BTreeMap<String, Value>,
    /// The mean over the seeds.
    pub value: f64,
    /// The mean's 95 % interval (Student's t), within the quantity's range; none with fewer than three seeds.
    pub ci95: Option<[f64; 2]>,
    /// The mean's 99 % interval, where the metric asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci99: Option<[f64; 2]>,
    /// How many seeds.
    pub n: usize,
    /// The unit.
    pub unit: String,
}

impl MetricSpec {
    /// This metric of `rows`, one result for each combination of its `by` columns. Combinations
    /// without any value have none.
    pub fn measure(&self, rows: &[Row]) -> Vec<Measured> {
        match &self.most {
            None => self.each(rows),
            Some(most) => self.share_of(most, rows),
        }
    }

    /// The share of the values of a column whose results lie in a span.
    fn share_of(&self, most: &MostSpec, rows: &[Row]) -> Vec<Measured> {
        let mut split = self.clone();
        split.most = None;
        split.by.push(most.of.clone());
        let mut shares: Vec<(Measured, Vec<f64>)> = Vec::new();
        for mut measured in split.each(rows) {
            measured.at.remove(&most.of);
            let value = measured.value;
            match shares.iter_mut().find(|(known, _)| known.at == measured.at) {
                Some((_, values)) => values.push(value),
                None => shares.push((measured, vec![value])),
            }
        }
        let [least, highest] = most.between;
        let share = |(measured, values): (Measured, Vec<f64>)| Measured {
            value: Statistic::ShareBetween(least, highest).of(values),
            ci95: None,
            ci99: None,
            ..measured
        };
        shares.into_iter().map(share).collect()
    }

    fn each(&self, rows: &[Row]) -> Vec<Measured> {
        let mut groups = self.groups(rows, &self.only);
        let mut others = match self.against.as_ref().or(self.minus.as_ref()) {
            None => Groups::new(),
            Some(other) => {
                let mut only = self.only.clone();
                only.extend(other.iter().map(|(c, v)| (c.clone(), v.clone())));
                self.groups(rows, &only)
            }
        };
        let mut results = Vec::new();
        while let Some((key, group)) = groups.pop_first() {
            let other = others.remove(&key);
            results.extend(self.measured(group, other));
        }
        results
    }

    /// The rows that have the values of `only`, by their `by` columns. Keys as text sort and compare
    /// exactly; the values themselves are kept for printing.
    fn groups(&self, rows: &[Row], only: &BTreeMap<String, Value>) -> Groups {
        let mut groups = Groups::new();
        for row in rows {
            let fits = row.has(only);
            let column = |c: &String| Some((c.clone(), row.0.get(c)?.clone()));
            let at: Option<BTreeMap<String, Value>> = self.by.iter().map(column).collect();
            let (true, Some(at), Some(value)) = (fits, at, self.value_of(row)) else {
                continue;
            };
            let key = at.values().map(sort_key).collect();
            let (_, seeds) = groups.entry(key).or_insert((at, BTreeMap::new()));
            let seed = row.0.get(SEED).map(sort_key).unwrap_or_default();
            seeds.entry(seed).or_default().push(value);
        }
        groups
    }

    /// Whether the metric is of `row`: it has the values of `where`, and every column that is used.
    pub(super) fn takes(&self, row: &Row) -> bool {
        let split = self.by.iter().chain(self.most.iter().map(|most| &most.of));
        let has_all = || split.into_iter().all(|column| row.0.contains_key(column));
        row.has(&self.only) && self.value_of(row).is_some() && has_all()
    }

    /// The range that its values cannot leave.
    fn range(&self) -> Range {
        let range = match &self.stat {
            Statistic::ShareZero | Statistic::ShareBelow(_) | Statistic::ShareBetween(..) => {
                Range::Share
            }
            Statistic::Count => Range::Amount,
            Statistic::Sum => Range::of_column(&self.of).summed(),
            _ => Range::of_column(&self.of),
        };
        if self.minus.is_some() {
            return Range::Signed;
        }
        match self.over.is_some() || self.against.is_some() || self.scale != 1.0 {
            true => range.summed(),
            false => range,
        }
    }

    /// What the metric takes of a row; none where the row lacks a column.
    fn value_of(&self, row: &Row) -> Option<Observed> {
        Some(Observed {
            value: row.number(&self.of)?,
            over: match &self.over {
                Some(column) => Some(row.number(column)?),
                None => None,
            },
            choice: match &self.stat {
                Statistic::BestOf(column) => Some(row.number(column)?),
                _ => None,
            },
        })
    }

    /// The error in its ratio, on one line.
    pub(crate) fn unfit_ratio(&self) -> Option<&'static str> {
        let is_compared = self.against.is_some() || self.minus.is_some();
        let is_of_sums = self.over.is_some() && self.stat == Statistic::Sum && !is_compared;
        (self.ratio == Ratio::Pooled && !is_of_sums)
            .then_some("a pooled ratio is one of sums: of `stat = \"sum\"` and `over`, without `against` and `minus`")
    }

    /// The ratio of all sums, as the mean of what each seed adds: how far its sum is from that ratio of what it is divided by.
    /// Their spread is that of the ratio (Cochran, Sampling Techniques, section 6.3).
    fn pooled(&self, seeds: &BTreeMap<String, Vec<Observed>>) -> Vec<f64> {
        let sums = |rows: &Vec<Observed>| {
            let value = rows.iter().map(|o| o.value).sum::<f64>();
            [value, rows.iter().filter_map(|o| o.over).sum()]
        };
        let sums: Vec<[f64; 2]> = seeds.values().map(sums).collect();
        let all = [0, 1].map(|n| sums.iter().map(|sums| sums[n]).sum::<f64>());
        let (ratio, each) = (all[0] / all[1], all[1] / sums.len() as f64);
        let added = |[value, over]: &[f64; 2]| self.scale * (ratio + (value - ratio * over) / each);
        sums.iter().map(added).collect()
    }

    fn measured(&self, (at, seeds): Group, other: Option<Group>) -> Option<Measured> {
        let (value, ci95, ci99, n) = if matches!(self.stat, Statistic::BestOf(_)) {
            (best_choice(&seeds)?, None, None, seeds.len())
        } else {
            let value = |rows: &Vec<Observed>| self.of_seed(rows);
            let of_other = |seed| Some(value(other.as_ref()?.1.get(seed)?));
            let values =
                seeds
                    .iter()
                    .filter_map(|(seed, rows)| match (&self.against, &self.minus) {
                        (None, None) => Some(value(rows)),
                        (Some(_), _) => Some(value(rows) / of_other(seed)?),
                        (None, Some(_)) => Some(value(rows) - of_other(seed)?),
                    });
            let per_seed: Vec<f64> = match self.ratio {
                Ratio::OfEach => values.collect(),
                Ratio::Pooled => self.pooled(&seeds),
            };
            // A ratio over nothing says nothing.
            let per_seed: Vec<f64> = (per_seed.into_iter())
                .filter(|value| value.is_finite())
                .collect();
            if per_seed.is_empty() {
                return None;
            }
            let (mean, interval) = mean_and_interval(&per_seed);
            let n = per_seed.len();
            let wider = self.confidence.zip(interval);
            let wider = wider.map(|(c, ci)| c.of(mean, ci, n));
            let cut = |interval: Option<[f64; 2]>| interval.map(|ci| self.range().cut(ci));
            (mean, cut(interval), cut(wider), n)
        };
        Some(Measured {
            metric: self.name.clone(),
            at,
            value,
            ci95,
            ci99,
            n,
            unit: self.unit.clone(),
        })
    }

    /// The statistic of one seed's rows, divided by that of the `over` column if there is one.
    fn of_seed(&self, rows: &[Observed]) -> f64 {
        let value = self.stat.of(rows.iter().map(|o| o.value).collect());
        if self.over.is_none() {
            return value * self.scale;
        }
        self.scale * value / self.stat.of(rows.iter().filter_map(|o| o.over).collect())
    }
}

/// A half of an interval that is less than this share of its mean is none to a reader.
const EXACT: f64 = 1e-4;

/// A 95 % interval as a reader takes it in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// So far on either side of the mean; 0 where it is too small to matter.
    About(f64),
    /// From here to there: an end of the quantity's range cuts one side off.
    Between([f64; 2]),
}

impl Measured {
    /// Its 95 % interval; none over fewer than three seeds.
    pub fn spread(&self) -> Option<Spread> {
        let [low, high] = self.ci95?;
        let (below, above) = (self.value - low, high - self.value);
        let half = above.max(below);
        Some(if half < EXACT * self.value.abs() || half == 0.0 {
            Spread::About(0.0)
        } else if (above - below).abs() < EXACT * half {
            Spread::About(half)
        } else {
            Spread::Between([low, high])
        })
    }

    /// Its name with where it was taken, as `goodput_mean (protocol pip)`.
    pub fn label(&self) -> String {
        if self.at.is_empty() {
            return self.metric.clone();
        }
        let at: Vec<String> = self.at.iter().map(|(c, v)| format!("{c} {v}")).collect();
        format!("{} ({})", self.metric, at.join(", "))
    }
}

/// What a metric reads from one row.
struct Observed {
    value: f64,
    over: Option<f64>,
    choice: Option<f64>,
}

/// Rows by their `by` columns.
type Groups = BTreeMap<Vec<String>, Group>;

/// Rows that agree in the `by` columns: the values of these, and what is taken of the rows by seed.
type Group = (BTreeMap<String, Value>, BTreeMap<String, Vec<Observed>>);

/// The choice with the largest mean over seeds of its means within a seed; the first of equals.
fn best_choice(seeds: &BTreeMap<String, Vec<Observed>>) -> Option<f64> {
    let mut choices: Vec<f64> = seeds.values().flatten().filter_map(|o| o.choice).collect();
    choices.sort_by(f64::total_cmp);
    choices.dedup();
    let mean_of = |choice: f64| {
        let means: Vec<f64> = (seeds.values())
            .filter_map(|rows| {
                let of = rows.iter().filter(|o| o.choice == Some(choice));
                let of: Vec<f64> = of.map(|o| o.value).collect();
                (!of.is_empty()).then(|| mean_and_interval(&of).0)
            })
            .collect();
        mean_and_interval(&means).0
    };
    // Of equals the first, which `max_by` finds last.
    let means = choices.into_iter().map(|choice| (choice, mean_of(choice)));
    let best = means.rev().max_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(choice, _)| choice)
}

/// Numbers sort as numbers, names as names.
pub(super) fn sort_key(value: &Value) -> String {
    match value.number() {
        Some(x) => format!("{x:+030.9}"),
        None => value.to_string(),
    }
}

impl Statistic {
    /// The statistic of `values`, which are not empty.
    fn of(&self, mut values: Vec<f64>) -> f64 {
        let n = values.len() as f64;
        let share =
            |holds: &dyn Fn(f64) -> bool| values.iter().filter(|x| holds(**x)).count() as f64 / n;
        match self {
            Self::Mean | Self::BestOf(_) => values.iter().sum::<f64>() / n,
            Self::Sum => values.iter().sum(),
            Self::Count => n,
            Self::ShareZero => share(&|x| x == 0.0),
            Self::ShareBelow(limit) => share(&|x| x < *limit),
            Self::ShareBetween(low, high) => share(&|x| (*low..=*high).contains(&x)),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Quantile(share) => {
                values.sort_by(f64::total_cmp);
                let place = (share * n).ceil() as usize;
                values[place.clamp(1, values.len()) - 1]
            }
            Self::Median => {
                values.sort_by(f64::total_cmp);
                median(&values).unwrap_or(f64::NAN)
            }
        }
    }
}

#[cfg(test)]
#[path = "metric_tests.rs"]
mod tests;
