//! Tests of `forwarding.rs`.

use super::*;
use crate::experiment::tests::{kind_of, rows_of};

fn runs(text: &str) -> ForwardingRuns {
    kind_of(text).unwrap()
}

#[test]
fn every_combination_is_a_row_and_seeds_repeat() {
    let text = "testbed='ring12'\nhops=[1,2]\nforwarding=['copying','conditional']\npackets=20\nos=[true,false]";
    let r = runs(text);
    assert_eq!(r.parts(), 8);
    let go = || rows_of(&r, &[1, 2]);
    let rows = go().unwrap();
    assert_eq!(rows.len(), 16);
    assert_eq!(rows, go().unwrap());
    assert!(rows
        .iter()
        .all(|r| r.number("raw_kbps").is_some_and(|x| x > 30.0)));
}

#[test]
fn values_out_of_range_are_refused() {
    let good = "testbed='ring12'\nhops=[2]\nforwarding=['copying']\n";
    for (more, key) in [
        ("packets=9", "packets"),
        ("payload=[118]", "payload"),
        ("routes=[3]", "routes"),
        ("board='none'", "board"),
        ("measure='latency'\nroutes=[2]", "routes"),
    ] {
        let error = kind_of::<ForwardingRuns>(&format!("{good}{more}")).unwrap_err();
        assert!(error.starts_with(&format!("run.{key}")), "{error}");
    }
}

#[test]
fn another_board_than_the_testbeds_forwards_with_its_first_radio() {
    let r = runs("testbed='ring12'\nhops=[2]\nforwarding=['copying']\nboard='opal'\npackets=20");
    let rows = rows_of(&r, &[1]).unwrap();
    // A tenth of the air time each for read and write, instead of half as much again.
    assert!(
        rows[0].number("raw_kbps").is_some_and(|x| x > 95.0),
        "{rows:?}"
    );
}

#[test]
fn a_site_that_is_too_small_is_an_error_of_the_input() {
    let r = runs("testbed='pair'\nhops=[2]\nforwarding=['copying']");
    assert!(rows_of(&r, &[1]).unwrap_err().is_input());
}
