//! Results beside each other: one line a metric, one column for each of what is compared, and ranks.
//! Columns are split by names (protocols, strategies), else by numbers. Tests: `pivot_tests.rs`.

use super::filtered::words;
use super::metric::{sort_key, Measured, MetricSpec};
use super::row::Value;
use super::verdict::Judged;
use std::collections::{BTreeMap, BTreeSet};

/// Results of one or more metrics, laid out by the values of a column.
#[derive(Debug, Clone)]
pub struct Pivot<'a> {
    /// The column.
    pub column: String,
    /// Other columns that are the same everywhere, as `mode middle`; labels do not repeat them.
    pub fixed: String,
    /// Its values, in order.
    pub names: Vec<String>,
    /// One for each metric and each combination of its other columns.
    pub lines: Vec<Line<'a>>,
    /// Results without the column.
    pub rest: Vec<&'a Judged>,
}

/// A metric's results beside each other.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The metric.
    pub metric: &'a str,
    /// Its other columns with their values; empty where there are none.
    pub at: String,
    /// The unit.
    pub unit: &'a str,
    /// The result of each name, where there is one.
    pub cells: Vec<Option<&'a Judged>>,
}

impl<'a> Pivot<'a> {
    /// `results` laid out by `column`; none where fewer than two stand beside each other.
    pub fn by(column: &str, results: &[&'a Judged]) -> Option<Self> {
        let of = |r: &Judged| r.measured.at.get(column).cloned();
        let names: BTreeMap<String, String> = (results.iter().filter_map(|r| of(r)))
            .map(|value| (sort_key(&value), value.to_string()))
            .collect();
        let places: Vec<&String> = names.keys().collect();
        let fixed = fixed(column, results);
        let mut lines: Vec<Line<'a>> = Vec::new();
        let mut rest = Vec::new();
        for &result in results {
            let place = of(result).map(|value| sort_key(&value));
            let place = place.and_then(|key| places.iter().position(|p| **p == key));
            let Some(place) = place else {
                rest.push(result);
                continue;
            };
            let mut measured = without(&result.measured, column);
            measured.at.retain(|column, _| !fixed.contains_key(column));
            let (metric, at) = (result.measured.metric.as_str(), words(&measured.at));
            let line = lines.iter().position(|l| l.metric == metric && l.at == at);
            let line = line.unwrap_or_else(|| {
                lines.push(Line {
                    metric,
                    at,
                    unit: &result.measured.unit,
                    cells: vec![None; places.len()],
                });
                lines.len() - 1
            });
            lines[line].cells[place] = Some(result);
        }
        (names.len() > 1).then(|| Self {
            column: column.to_owned(),
            fixed: words(&fixed),
            names: names.into_values().collect(),
            lines,
            rest,
        })
    }
}

/// The columns but `column` that have one value in all of `results` that have `column`.
fn fixed(column: &str, results: &[&Judged]) -> BTreeMap<String, Value> {
    let split = |r: &&&Judged| r.measured.at.contains_key(column);
    let mut all = results.iter().filter(split).map(|r| &r.measured.at);
    let mut fixed = all.next().cloned().unwrap_or_default();
    fixed.remove(column);
    for at in all {
        fixed.retain(|column, value| at.get(column) == Some(value));
    }
    fixed
}

/// The columns by which `results` of `metrics` may be laid out, the best first.
pub fn columns<'a>(metrics: &'a [MetricSpec], results: &[&Judged]) -> Vec<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<&str> = Vec::new();
    for metric in metrics {
        let of_it = results.iter().filter(|r| r.measured.metric == metric.name);
        let of_it: Vec<&Measured> = of_it.map(|r| &r.measured).collect();
        if let Some(column) = compared(metric, &of_it) {
            *counts.entry(column).or_default() += of_it.len();
        }
        for column in &metric.by {
            if !all.contains(&column.as_str()) {
                all.push(column);
            }
        }
    }
    // Stable: of equals the first in the file.
    all.sort_by_key(|column| std::cmp::Reverse(counts.get(column).copied().unwrap_or(0)));
    all
}

/// What `metric` compares: the last of its columns whose values are names, else the last that has several.
fn compared<'a>(metric: &'a MetricSpec, results: &[&Measured]) -> Option<&'a str> {
    let several = |column: &&String| {
        let values = results.iter().filter_map(|m| m.at.get(*column));
        values.map(sort_key).collect::<BTreeSet<_>>().len() > 1
    };
    let is_named = |column: &&String| {
        let mut values = results.iter().filter_map(|m| m.at.get(*column));
        values.all(|value| matches!(value, Value::Text(_)))
    };
    let candidates = || metric.by.iter().rev().filter(several);
    let column = candidates().find(is_named).or_else(|| candidates().next());
    column.map(String::as_str)
}

/// `measured` as if it were not split by `column`.
fn without(measured: &Measured, column: &str) -> Measured {
    let mut measured = measured.clone();
    measured.at.remove(column);
    measured
}

/// A result's place among those that it is compared to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// From 1, the best; equal means share one.
    pub place: usize,
    /// How many are compared.
    pub of: usize,
}

/// The places of `results` among what each of `metrics` compares, by their means. None for a metric that does
/// not say which is best, and where all are equal.
pub fn ranks(metrics: &[MetricSpec], results: &[Judged]) -> Vec<Option<Rank>> {
    let mut ranks = vec![None; results.len()];
    for metric in metrics {
        let of_it = |r: &&Judged| r.measured.metric == metric.name;
        let measured: Vec<&Measured> = (results.iter().filter(of_it))
            .map(|r| &r.measured)
            .collect();
        let (Some(best), Some(column)) = (metric.best, compared(metric, &measured)) else {
            continue;
        };
        for (rank, result) in ranks.iter_mut().zip(results) {
            if !of_it(&result) {
                continue;
            }
            let at = without(&result.measured, column).at;
            let rivals = measured.iter().filter(|m| without(m, column).at == at);
            let better = rivals
                .clone()
                .filter(|m| best.is_ahead(m.value, result.measured.value));
            let differ = rivals.clone().any(|m| m.value != result.measured.value);
            *rank = differ.then(|| Rank {
                place: 1 + better.count(),
                of: rivals.count(),
            });
        }
    }
    ranks
}

#[cfg(test)]
#[path = "pivot_tests.rs"]
mod tests;
