//! Results beside each other: one line a metric, one column for each of what is compared, and ranks.
//! What is compared is told apart by names (protocols, strategies), else by numbers. Tests: below.

use super::claims::Judged;
use super::metric::{sort_key, Measured, MetricSpec};
use super::row::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Results of one or more metrics, laid out by the values of a column.
#[derive(Debug, Clone)]
pub struct Pivot<'a> {
    /// The column.
    pub column: String,
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
    /// The metric, with its other columns.
    pub label: String,
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
        let mut lines: Vec<Line<'a>> = Vec::new();
        let mut rest = Vec::new();
        for &result in results {
            let place = of(result).map(|value| sort_key(&value));
            let place = place.and_then(|key| places.iter().position(|p| **p == key));
            let Some(place) = place else {
                rest.push(result);
                continue;
            };
            let label = without(&result.measured, column).label();
            let known = lines.iter().position(|line| line.label == label);
            let known = known.unwrap_or_else(|| {
                lines.push(Line {
                    label,
                    unit: &result.measured.unit,
                    cells: vec![None; places.len()],
                });
                lines.len() - 1
            });
            lines[known].cells[place] = Some(result);
        }
        (names.len() > 1).then(|| Self {
            column: column.to_owned(),
            names: names.into_values().collect(),
            lines,
            rest,
        })
    }
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

/// The places of `results` among what each of `metrics` compares, from 1, by their means; equal means share
/// one. None for a metric that does not say which is best.
pub fn ranks(metrics: &[MetricSpec], results: &[Judged]) -> Vec<Option<usize>> {
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
            *rank = (rivals.count() > 1).then(|| 1 + better.count());
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Vec<MetricSpec> {
        let text = "name='g'\nof='x'\nstat='mean'\nbest='most'\nby=['protocol','load']";
        let one = "name='h'\nof='x'\nstat='mean'";
        [text, one].map(|t| toml::from_str(t).unwrap()).to_vec()
    }

    fn result(metric: &str, at: &[(&str, Value)], value: f64) -> Judged {
        let at = at.iter().map(|(c, v)| ((*c).to_owned(), v.clone()));
        Judged {
            id: "e".into(),
            paper: None,
            measured: Measured {
                metric: metric.into(),
                at: at.collect(),
                value,
                ci95: None,
                ci99: None,
                n: 1,
                unit: String::new(),
            },
            reference: None,
            band: None,
            within: None,
            exception: None,
        }
    }

    fn results() -> Vec<Judged> {
        let at = |p: &str, load: u64| [("protocol", Value::from(p)), ("load", Value::from(load))];
        vec![
            result("g", &at("a", 2), 5.0),
            result("g", &at("b", 2), 7.0),
            result("g", &at("a", 10), 5.0),
            result("g", &at("b", 10), 5.0),
            result("h", &[], 1.0),
        ]
    }

    #[test]
    fn names_are_compared_and_numbers_make_lines() {
        let (metrics, results) = (metrics(), results());
        let all: Vec<&Judged> = results.iter().collect();
        assert_eq!(columns(&metrics, &all), ["protocol", "load"]);
        let pivot = Pivot::by("protocol", &all).unwrap();
        let labels: Vec<&str> = pivot.lines.iter().map(|l| l.label.as_str()).collect();
        assert_eq!(labels, ["g (load 2)", "g (load 10)"]);
        assert_eq!(
            (pivot.names, pivot.rest.len()),
            (vec!["a".into(), "b".into()], 1)
        );
        assert_eq!(pivot.lines[0].cells[1].unwrap().measured.value, 7.0);
        assert!(Pivot::by("none", &all).is_none());
    }

    #[test]
    fn ranks_are_among_rivals_at_the_same_place() {
        let (metrics, results) = (metrics(), results());
        let expected = [Some(2), Some(1), Some(1), Some(1), None];
        assert_eq!(ranks(&metrics, &results), expected);
    }
}
