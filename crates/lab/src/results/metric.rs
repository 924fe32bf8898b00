//! Metrics: from rows to one number per seed, and from seeds to a mean with its 95 % interval.
//!
//! A metric is declared in the experiment's file: a column, a statistic over the rows of one seed,
//! and the columns that split them. The statistic is taken within each seed and then averaged over
//! the seeds, so that a seed (one random building) is the unit of the interval.

use super::row::{Row, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The column that names the seed of a row.
pub const SEED: &str = "seed";

/// A statistic over the rows of one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Its stable name.
    pub name: String,
    /// The column it is taken of.
    pub of: String,
    /// Divided by the same statistic of this column, over the rows that have both: a ratio of means
    /// or sums, not a mean of ratios.
    #[serde(default)]
    pub over: Option<String>,
    /// Divided by the same metric of the rows in which these columns have these values instead, seed
    /// by seed.
    pub against: Option<BTreeMap<String, Value>>,
    /// In place of `against`: less the same metric of those rows, seed by seed. For orders between quantities that may
    /// be zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Which value is best, where what is compared has ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// Columns that split the rows: one result for each combination of their values.
    #[serde(default)]
    pub by: Vec<String>,
    /// Only rows in which these columns have these values.
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, Value>,
}

const fn one() -> f64 {
    1.0
}

/// Which value is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// A metric's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The metric's name.
    pub metric: String,
    /// The values of its `by` columns.
    pub at: BTreeMap<String, Value>,
    /// The mean over the seeds.
    pub value: f64,
    /// The mean's 95 % interval (Student's t); none with fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
    /// The mean's 99 % interval, where the metric asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
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
            // A ratio over nothing says nothing.
            let per_seed: Vec<f64> = values.filter(|value| value.is_finite()).collect();
            if per_seed.is_empty() {
                return None;
            }
            let (mean, interval) = mean_and_interval(&per_seed);
            let n = per_seed.len();
            let wider = self.confidence.zip(interval);
            (mean, interval, wider.map(|(c, ci)| c.of(mean, ci, n)), n)
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

impl Measured {
    /// Half the 95 % interval, which lies about the mean; 0 where it is too small to be told from none.
    pub fn plus_minus(&self) -> Option<f64> {
        let half = self.ci95.map(|[low, high]| (high - low) / 2.0)?;
        Some(if half < EXACT * self.value.abs() {
            0.0
        } else {
            half
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

/// What a metric takes of one row.
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

/// The middle of `sorted` values, or the mean of the two there; none of no values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}

/// The mean of `values` and its 95 % interval.
pub fn mean_and_interval(values: &[f64]) -> (f64, Option<[f64; 2]>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
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
        // Above 30 the points are within 0.5 % of these expansions about the normal's.
        d => [1.960 + 2.4 / d as f64, 2.576 + 5.2 / d as f64],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row; 5] {
        let p3 = [(1u64, "p3", 10.0), (1, "p3", 30.0), (2, "p3", 40.0)];
        let cases = [p3[0], p3[1], p3[2], (1, "pip", 0.0), (2, "pip", 6.0)];
        cases.map(|(seed, p, x)| Row::new().with(SEED, seed).with("protocol", p).with("x", x))
    }
    fn spec(stat: Statistic, by: &[&str]) -> MetricSpec {
        MetricSpec {
            name: "m".into(),
            of: "x".into(),
            over: None,
            against: None,
            minus: None,
            stat,
            scale: 1.0,
            unit: String::new(),
            confidence: None,
            best: None,
            by: by.iter().map(|s| (*s).to_owned()).collect(),
            only: BTreeMap::new(),
        }
    }

    #[test]
    fn a_seed_counts_once_however_many_rows_it_has() {
        let m = spec(Statistic::Mean, &["protocol"]).measure(&rows());
        assert_eq!(m.len(), 2);
        assert_eq!((m[0].value, m[0].n), (30.0, 2)); // mean of 20 and 40
        assert_eq!((m[1].value, m[1].n), (3.0, 2));
    }

    #[test]
    fn shares_and_extremes() {
        let zero = spec(Statistic::ShareZero, &["protocol"]).measure(&rows());
        assert_eq!((zero[0].value, zero[1].value), (0.0, 0.5));
        assert_eq!(spec(Statistic::Max, &[]).measure(&rows())[0].value, 35.0);
    }

    #[test]
    fn the_interval_is_students() {
        let (mean, ci) = mean_and_interval(&[1.0, 2.0, 3.0]);
        let [lo, hi] = ci.unwrap();
        assert!((mean - 2.0).abs() < 1e-12);
        assert!((hi - mean - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert!((mean - lo - (hi - mean)).abs() < 1e-9);
        assert_eq!(mean_and_interval(&[5.0]).1, None);
    }

    #[test]
    fn filters_and_missing_columns_leave_rows_out() {
        let mut m = spec(Statistic::Count, &[]);
        m.only.insert("protocol".into(), Value::from("pip"));
        assert_eq!(m.measure(&rows())[0].value, 1.0);
        m.of = "absent".into();
        assert!(m.measure(&rows()).is_empty());
    }

    #[test]
    fn ratios_are_of_sums_and_the_best_is_of_means() {
        let mut ratio = spec(Statistic::Sum, &[]);
        ratio.over = Some("seed".into());
        // Seed 1: 10 + 30 + 0 over 3; seed 2: 46 over 4.
        let expected = (40.0 / 3.0 + 46.0 / 4.0) / 2.0;
        assert!((ratio.measure(&rows())[0].value - expected).abs() < 1e-12);
        ratio.scale = 1e3;
        assert!((ratio.measure(&rows())[0].value - 1e3 * expected).abs() < 1e-9);
        ratio.over = Some("absent".into());
        assert!(ratio.measure(&rows()).is_empty());
        let cases = [
            (1u64, 40.0, 5.0),
            (1, 118.0, 9.0),
            (2, 40.0, 8.0),
            (2, 118.0, 7.0),
        ];
        let row = |(seed, p, x)| Row::new().with(SEED, seed).with("payload", p).with("x", x);
        let rows = cases.map(row);
        let best = spec(Statistic::BestOf("payload".into()), &[]).measure(&rows);
        assert_eq!(best[0].value, 118.0);
        let between = spec(Statistic::ShareBetween(5.0, 8.0), &[]).measure(&rows);
        assert_eq!(between[0].value, 0.75);
    }

    #[test]
    fn one_protocol_against_another_seed_by_seed() {
        let mut m = spec(Statistic::Mean, &[]);
        m.only.insert("protocol".into(), Value::from("p3"));
        m.against = Some([("protocol".to_owned(), Value::from("pip"))].into());
        // Seed 1: 20 over 0, which says nothing; seed 2: 40 over 6.
        let ratio = m.measure(&rows());
        assert_eq!((ratio[0].n, ratio[0].value), (1, 40.0 / 6.0));
        m.against = Some([("protocol".to_owned(), Value::from("none"))].into());
        assert!(m.measure(&rows()).is_empty());
        // A difference counts where there is nothing: 20 less 0, 40 less 6.
        m.against = None;
        m.minus = Some([("protocol".to_owned(), Value::from("pip"))].into());
        let less = m.measure(&rows());
        assert_eq!((less[0].n, less[0].value), (2, 27.0));
    }
}
