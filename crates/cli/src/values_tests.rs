//! Tests of `values.rs`.

use super::*;

#[test]
fn channels_are_listed_in_the_order_given() {
    let numbers = |text| channels(text).map(|l| l.0.iter().map(|c| c.number()).collect::<Vec<_>>());
    assert_eq!(numbers("26,15"), Ok(vec![26, 15]));
    assert_eq!(numbers("11-13, 26"), Ok(vec![11, 12, 13, 26]));
    for bad in [
        "", "10", "27", "15,,20", "15,15", "14-12", "11-13,12", "x", "-11", "11-",
    ] {
        assert!(numbers(bad).is_err(), "{bad}");
    }
}

#[test]
fn lengths_have_units() {
    assert_eq!(bytes("59000"), Ok(59_000));
    assert_eq!(bytes("64k"), Ok(64_000));
    assert_eq!(bytes("64 KiB"), Ok(65_536));
    assert_eq!(bytes("1M"), Ok(1_000_000));
    let long = "99999999999";
    for bad in [
        "", "0", "-1", "1.5k", "k", "5000M", long, "NaN", "12x", "\u{663}",
    ] {
        assert!(bytes(bad).is_err(), "{bad}");
    }
}

#[test]
fn seeds_include_both_ends() {
    assert_eq!(seeds("1..10"), Ok(Seeds { first: 1, last: 10 }));
    assert_eq!(seeds("7"), Ok(Seeds { first: 7, last: 7 }));
    for bad in ["", "..", "1..", "10..1", "a..b", "-1..2"] {
        assert!(seeds(bad).is_err(), "{bad}");
    }
}

#[test]
fn nodes_and_payloads_are_bounded() {
    assert_eq!(node("65533").map(NodeId::get), Ok(65_533));
    assert!(node("65534").is_err() && node("x").is_err() && node("-1").is_err());
    assert_eq!(payload("118"), Ok(118));
    assert!(payload("0").is_err() && payload("119").is_err() && payload("300").is_err());
}
