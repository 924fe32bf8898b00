//! Tests of `filtered.rs`.

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
