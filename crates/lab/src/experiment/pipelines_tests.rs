//! Tests of `pipelines.rs`.

use super::*;
use crate::experiment::tests::{kind_of, rows_of};

fn runs(more: &str) -> Result<Pipelines, String> {
    let text = format!("testbed = 'ring12'\nboards = ['telosb', 'opal']\nhops = [1, 3]\n{more}");
    kind_of(&text)
}

#[test]
fn every_combination_is_a_row_and_seeds_repeat() {
    let p = runs("packets = 30").unwrap();
    assert_eq!(p.parts(), 8);
    let go = || rows_of(&p, &[1, 2]);
    let rows = go().unwrap();
    assert_eq!(rows.len(), 16);
    assert_eq!(rows, go().unwrap());
    for row in &rows {
        let share = row.number("of_bound").unwrap();
        // Crystals are off by a few times ten ppm.
        assert!((0.6..=1.0 + 1e-4).contains(&share), "{row:?}");
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for (more, key) in [
        ("packets = 0", "packets"),
        ("payload = [119]", "payload"),
        ("payload = []", "payload"),
        ("protocols = []", "protocols"),
    ] {
        let error = runs(more).unwrap_err();
        assert!(error.starts_with(&format!("run.{key}")), "{error}");
    }
    for (from, to, key) in [("[1, 3]", "[12]", "hops"), ("'opal'", "'none'", "boards")] {
        let text = "testbed = 'ring12'\nboards = ['telosb', 'opal']\nhops = [1, 3]";
        let error = kind_of::<Pipelines>(&text.replace(from, to)).unwrap_err();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn a_site_that_does_not_fit_is_an_error_of_the_input() {
    let mut p = runs("packets = 10").unwrap();
    p.testbed = "pair".into();
    assert!(rows_of(&p, &[1]).unwrap_err().is_input());
}
