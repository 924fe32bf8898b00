//! Tests of `pivot.rs`.

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
        judged: None,
        within: None,
        fitted: None,
        excuse: None,
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
    let labels: Vec<&str> = pivot.lines.iter().map(|l| l.at.as_str()).collect();
    assert_eq!(labels, ["load 2", "load 10"]);
    assert_eq!(
        (pivot.names, pivot.rest.len()),
        (vec!["a".into(), "b".into()], 1)
    );
    assert_eq!(pivot.lines[0].cells[1].unwrap().measured.value, 7.0);
    assert!(Pivot::by("none", &all).is_none());
    // What is the same everywhere is said once.
    let pivot = Pivot::by("protocol", &all[..2]).unwrap();
    assert_eq!(
        (pivot.fixed.as_str(), pivot.lines[0].at.as_str()),
        ("load 2", "")
    );
}

#[test]
fn ranks_are_among_rivals_at_the_same_place() {
    let (metrics, results) = (metrics(), results());
    let rank = |place: usize| Some(Rank { place, of: 2 });
    let expected = [rank(2), rank(1), None, None, None];
    assert_eq!(ranks(&metrics, &results), expected);
}
