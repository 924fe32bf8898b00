//! The schema has every key that is read, and no other. `.ci/schema.py` holds all files against it.
#![allow(clippy::unwrap_used)]

use super::keys::{names_of, Key, Shape};
use super::{schema, Experiment, Quick, KINDS};
use crate::results::{Axis, FigureSpec, MetricSpec, MostSpec, ReferenceSpec, Statistic};
use serde_json::Value;
use std::collections::BTreeSet;
use thalweg_simnet::rcrt::{Happens, Wanted};

#[test]
fn it_has_the_keys_that_are_read() {
    let schema = schema();
    let at = |path: &str| schema.pointer(path).unwrap();
    for (path, mut names) in [
        ("", names_of::<Experiment>()),
        ("/properties/quick", names_of::<Quick>()),
        ("/properties/metric/items", names_of::<MetricSpec>()),
        (
            "/properties/metric/items/properties/most",
            names_of::<MostSpec>(),
        ),
        ("/properties/figure/items", names_of::<FigureSpec>()),
        ("/properties/figure/items/properties/x", names_of::<Axis>()),
        (
            "/properties/figure/items/properties/reference/items",
            names_of::<ReferenceSpec>(),
        ),
    ] {
        names.sort_unstable();
        let keys: Vec<&String> = at(path)["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, names, "{path}");
    }
    let statistics = at("/properties/metric/items/properties/stat/anyOf").as_array();
    let said = statistics.unwrap().iter().flat_map(|of| match &of["enum"] {
        Value::Array(names) => names.clone(),
        _ => of["required"].as_array().unwrap().clone(),
    });
    let said: BTreeSet<String> = said.map(|name| name.as_str().unwrap().to_owned()).collect();
    let known: BTreeSet<String> = names_of::<Statistic>()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(said, known);
}

#[test]
fn tables_of_other_crates_have_the_keys_that_are_told() {
    let rcrt = KINDS.iter().find(|entry| entry.name == "rcrt").unwrap();
    for (name, wanted) in [
        ("incidents", names_of::<Happens>()),
        ("tree", names_of::<Wanted>()),
    ] {
        let key = rcrt.keys.iter().find(|key| key.name == name).unwrap();
        let (Shape::List(Shape::Table(keys)) | Shape::Maybe(Shape::Table(keys))) = key.shape else {
            panic!("{key:?}");
        };
        let told: Vec<&str> = keys.iter().map(|key: &Key| key.name).collect();
        assert_eq!(told, wanted);
    }
}

/// A default that could not be read would be an error of every file.
#[test]
fn defaults_are_read_and_lie_in_their_ranges() {
    fn check(keys: &[Key]) {
        for key in keys {
            if let Some(default) = key.default {
                let value: toml::Value = default.parse().unwrap();
                let numbers = value.as_array().cloned().unwrap_or(vec![value]);
                let numbers = numbers.iter();
                let mut numbers =
                    numbers.filter_map(|v| v.as_float().or(v.as_integer().map(|n| n as f64)));
                let [least, most] = key.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                assert!(numbers.all(|x| (least..=most).contains(&x)), "{key:?}");
            }
            if let Shape::Table(keys) = key.shape {
                check(keys);
            }
        }
    }
    KINDS.iter().for_each(|entry| check(entry.keys));
}
