//! How many of an experiment's rows a metric is of, and why a metric has no result. Tests: below.

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
        if let Some(known) = all.iter_mut().find(alike) {
            known.metrics.push(metric.name.clone());
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
    fn results_of_fewer_seeds_than_were_run_are_told() {
        let rows = [(1u64, 2.0), (2, 0.0)].map(|(seed, x)| {
            let row = Row::new().with("seed", seed);
            [
                row.clone().with("p", "a").with("x", 1.0),
                row.with("p", "b").with("x", x),
            ]
        });
        let text = "name='m'\nof='x'\nstat='mean'\nwhere={p='a'}\nagainst={p='b'}";
        let metric: MetricSpec = toml::from_str(text).unwrap();
        let measured = metric.measure(&rows.concat());
        assert_eq!(of_some_seeds(&measured, 2), [("m".to_owned(), [1, 1])]);
        assert!(of_some_seeds(&measured, 1).is_empty());
    }

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
        // A row without energy is left out of its metric, which says so.
        let some = [rows[0].clone().with("energy", 2.0), rows[1].clone()];
        let energy: MetricSpec = toml::from_str("name='e'\nof='energy'\nstat='mean'").unwrap();
        let found = filtered(&[energy], &some);
        assert_eq!((found[0].rows.as_str(), found[0].count), ("with energy", 1));
        let why = |text: &str| why_nothing(&metric(text), &rows);
        let expected = "no row has protocol p5; protocol is p3, pip";
        assert_eq!(why("where={protocol='p5'}"), expected);
        assert_eq!(why("by=['hops']"), "no row of this run has hops");
        assert!(why("over='protocol'").starts_with("no rows have numbers"));
    }
}
