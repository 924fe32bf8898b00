//! Rows are what their columns declare, and columns are what their names say.
#![allow(clippy::unwrap_used)]

use super::tests::{experiment, rows};
use super::{Experiment, KINDS};
use crate::results::{Column, ColumnKind, Value};
use std::collections::BTreeSet;

/// Experiments that take milliseconds; `tests.rs` and the kinds' own tests hold the rows of others.
const CHEAP: [&str; 8] = [
    "cit.bounds",
    "cit.fig6",
    "ff.bounds",
    "ff.twostreams",
    "fusion.fig2_5",
    "p3.pip",
    "rcrt.single",
    "rcrt.fig2",
];

const EDGES: &str =
    "kind = 'convergecast'\ntestbed = 'line5'\nstrategies = ['none']\noffered = [0.5, 1]\n\
    settle_s = 30\nduration_s = 30\ndetail = 'edges'";
const OVERHEAD: &str =
    "kind = 'overhead'\ntestbed = 'line5'\nrouting_channel = 26\norder_ms = 100\n\
    bytes = 2000\nprotocols = ['p3', 'thalweg']";

#[test]
fn rows_are_as_their_columns_are_declared() {
    for id in CHEAP {
        assert!(!rows(&Experiment::load(id).unwrap(), &[1]).is_empty());
    }
    for run in [EDGES, OVERHEAD] {
        let e = experiment(&format!("id = 't'\ntitle = 't'\n[run]\n{run}"));
        assert!(!rows(&e, &[1]).is_empty());
    }
}

#[test]
fn a_column_takes_what_it_declares() {
    let of = |kind| Column {
        name: "c",
        kind,
        unit: None,
        about: "",
    };
    let values = [
        Value::from(1u32),
        Value::from(2u32),
        Value::from(0.5),
        Value::from("a"),
    ];
    for (kind, wanted) in [
        (ColumnKind::YesNo, [true, false, false, false]),
        (ColumnKind::Whole, [true, true, false, false]),
        (ColumnKind::Number, [true, true, true, false]),
        (ColumnKind::Text, [false, false, false, true]),
    ] {
        let column = of(kind);
        let taken: Vec<bool> = values.iter().map(|value| column.takes(value)).collect();
        assert_eq!(taken, wanted, "{kind}");
    }
}

/// The unit that a name's last words say.
fn unit_of(name: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 15] = [
        ("per_byte_uj", "uJ/byte"),
        ("uj_per_bit", "uJ/bit"),
        ("bits_per_joule", "bit/J"),
        ("joules_per_packet", "J/packet"),
        ("kbps", "kbit/s"),
        ("kbyteps", "kbyte/s"),
        ("bytes", "byte"),
        ("dbm", "dBm"),
        ("db", "dB"),
        ("pct", "%"),
        ("ms", "ms"),
        ("us", "us"),
        ("s", "s"),
        ("j", "J"),
        ("throughput", "packet/s"),
    ];
    let ends = |unit: &str| name == unit || name.ends_with(&format!("_{unit}"));
    UNITS.iter().find(|(word, _)| ends(word)).map(|(_, of)| *of)
}

#[test]
fn columns_are_told_apart_and_have_the_units_of_their_names() {
    for entry in KINDS {
        let mut names = BTreeSet::new();
        for column in (entry.columns)() {
            assert!(names.insert(column.name), "{} {column:?}", entry.name);
            assert!(column.about.ends_with('.'), "{} {column:?}", entry.name);
            if let Some(unit) = unit_of(column.name) {
                assert_eq!(column.unit, Some(unit), "{} {column:?}", entry.name);
            }
        }
    }
}
