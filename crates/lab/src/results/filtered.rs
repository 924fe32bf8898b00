//! How many of an experiment's rows a metric uses, and why a metric has no result. Tests: `filtered_tests.rs`.

use super::metric::{sort_key, Measured, MetricSpec};
use super::row::{Row, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that are of some rows only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// Which rows, as `protocol p3`, or `with r1` where others lack that column.
    pub rows: String,
    /// How many these are.
    pub count: usize,
    /// The metrics' names.
    pub metrics: Vec<String>,
}

/// The metrics that leave rows out, because of `where` or since rows lack a column; those alike together.
pub fn filtered(metrics: &[MetricSpec], rows: &[Row]) -> Vec<Filtered> {
    let mut all: Vec<Filtered> = Vec::new();
    for metric in metrics {
        let count = rows.iter().filter(|row| metric.takes(row)).count();
        if count == rows.len() {
            continue;
        }
        let rows = which(metric, rows);
        let alike = |f: &&mut Filtered| f.rows == rows && f.count == count;
        if let Some(filter) = all.iter_mut().find(alike) {
            filter.metrics.push(metric.name.clone());
            continue;
        }
        all.push(Filtered {
            rows,
            count,
            metrics: vec![metric.name.clone()],
        });
    }
    all
}

/// Which rows `metric` takes: by its `where`, and by the columns that some of those lack.
fn which(metric: &MetricSpec, rows: &[Row]) -> String {
    let of_it = || rows.iter().filter(|row| row.has(&metric.only));
    let columns: BTreeSet<&str> = metric.columns().into_iter().map(|(_, c)| c).collect();
    let lacking = |c: &&str| of_it().any(|row| !row.0.contains_key(*c));
    let lacking: Vec<&str> = columns.into_iter().filter(lacking).collect();
    match (words(&metric.only).as_str(), lacking.join(", ").as_str()) {
        ("", "") => "with numbers in its columns".to_owned(),
        (only, "") => only.to_owned(),
        ("", lacking) => format!("with {lacking}"),
        (only, lacking) => format!("{only}, with {lacking}"),
    }
}

/// How many seeds each of `metrics` is of, where some of its results lack seeds: fewest and most of `seeds`. A ratio over
/// nothing has no value, and a seed may have no row of a kind.
pub fn of_some_seeds(results: &[Measured], seeds: usize) -> Vec<(String, [usize; 2])> {
    let mut all: Vec<(String, [usize; 2])> = Vec::new();
    for result in results {
        match all.iter_mut().find(|(metric, _)| *metric == result.metric) {
            Some((_, [least, most])) => {
                (*least, *most) = ((*least).min(result.n), (*most).max(result.n));
            }
            None => all.push((result.metric.clone(), [result.n; 2])),
        }
    }
    all.retain(|(_, [least, _])| *least < seeds);
    all
}

/// Why `metric` has no result of `rows`, on one line.
pub fn why_nothing(metric: &MetricSpec, rows: &[Row]) -> String {
    let values = |column: &str| -> String {
        let values = rows.iter().filter_map(|row| row.0.get(column));
        let values: BTreeMap<String, String> = values
            .map(|value| (sort_key(value), value.to_string()))
            .collect();
        match values.is_empty() {
            true => format!("no row of this run has {column}"),
            false => {
                let values: Vec<String> = values.into_values().collect();
                format!("{column} is {}", values.join(", "))
            }
        }
    };
    let alone = |(c, v): &(&String, &Value)| !rows.iter().any(|row| row.0.get(*c) == Some(*v));
    let against = metric.against.iter().chain(&metric.minus).flatten();
    if let Some((column, value)) = metric.only.iter().chain(against).find(alone) {
        return format!("no row has {column} {value}; {}", values(column));
    }
    let columns: BTreeSet<&str> = metric.columns().into_iter().map(|(_, c)| c).collect();
    let missing = |c: &&str| !rows.iter().any(|row| row.0.contains_key(*c));
    match columns.into_iter().find(missing) {
        Some(column) => values(column),
        None => "no rows have numbers in all of its columns".to_owned(),
    }
}

/// Columns with their values, in words.
pub(super) fn words(only: &BTreeMap<String, Value>) -> String {
    let words: Vec<String> = only.iter().map(|(c, v)| format!("{c} {v}")).collect();
    words.join(", ")
}

#[cfg(test)]
#[path = "filtered_tests.rs"]
mod tests;
