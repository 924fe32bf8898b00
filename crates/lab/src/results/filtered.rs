//! How many of an experiment's rows a metric is of, and why a metric has no result. Tests: below.

use super::metric::{sort_key, MetricSpec};
use super::row::{Row, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that are of some rows only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// Which rows, as `protocol p3`.
    pub rows: String,
    /// How many these are.
    pub count: usize,
    /// The metrics' names.
    pub metrics: Vec<String>,
}

/// The metrics that `where` restricts, those alike together.
pub fn filtered(metrics: &[MetricSpec], rows: &[Row]) -> Vec<Filtered> {
    let mut all: Vec<Filtered> = Vec::new();
    for metric in metrics.iter().filter(|m| !m.only.is_empty()) {
        let which = words(&metric.only);
        if let Some(known) = all.iter_mut().find(|f| f.rows == which) {
            known.metrics.push(metric.name.clone());
            continue;
        }
        all.push(Filtered {
            rows: which,
            count: rows.iter().filter(|row| row.has(&metric.only)).count(),
            metrics: vec![metric.name.clone()],
        });
    }
    all
}

/// Why `metric` has no result of `rows`, on one line.
pub fn why_nothing(metric: &MetricSpec, rows: &[Row]) -> String {
    let known = |column: &str| -> String {
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
        return format!("no row has {column} {value}; {}", known(column));
    }
    let columns: BTreeSet<&str> = metric.columns().into_iter().map(|(_, c)| c).collect();
    let missing = |c: &&str| !rows.iter().any(|row| row.0.contains_key(*c));
    match columns.into_iter().find(missing) {
        Some(column) => known(column),
        None => "no rows have numbers in all of its columns".to_owned(),
    }
}

/// Columns with their values, in words.
pub(super) fn words(only: &BTreeMap<String, Value>) -> String {
    let words: Vec<String> = only.iter().map(|(c, v)| format!("{c} {v}")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_some_rows_say_of_how_many_and_why_of_none() {
        let rows = ["p3", "p3", "pip"].map(|p| Row::new().with("protocol", p).with("x", 1.0));
        let metric = |text: &str| -> MetricSpec {
            toml::from_str(&format!("name='m'\nof='x'\nstat='mean'\n{text}")).unwrap()
        };
        let of_p3 = metric("where={protocol='p3'}");
        let found = filtered(&[metric(""), of_p3.clone(), of_p3], &rows);
        assert_eq!(
            (found.len(), found[0].count, found[0].metrics.len()),
            (1, 2, 2)
        );
        assert_eq!(found[0].rows, "protocol p3");
        let why = |text: &str| why_nothing(&metric(text), &rows);
        let expected = "no row has protocol p5; protocol is p3, pip";
        assert_eq!(why("where={protocol='p5'}"), expected);
        assert_eq!(why("by=['hops']"), "no row of this run has hops");
        assert!(why("over='protocol'").starts_with("no rows have numbers"));
    }
}
