//! Tests of `run.rs`.

use super::*;
use crate::experiment::{Experiment, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use thalweg_units::Channel;

/// One built-in experiment of each kind, and of those that simulate nothing.
const USES: [(&str, &str); 15] = [
    ("p3.fig5", "routes testbed control-channel loss explain out"),
    ("p3.table1", "routes testbed control-channel loss out"),
    ("p3.table2", "testbed loss out"),
    ("p3.overhead", "routes testbed control-channel loss out"),
    ("p3.asym", "routes testbed control-channel loss out"),
    ("p3.control", "routes testbed control-channel loss out"),
    ("p3.network", "routes testbed control-channel loss out"),
    ("cit.fig4", "testbed loss out"),
    ("cit.bounds", "out"),
    ("cit.pip", "testbed out"),
    ("fusion.fig5_2", "testbed pcap out"),
    ("fusion.fig2_5", "testbed out"),
    ("ff.fig5", "testbed loss out"),
    ("ff.bounds", "out"),
    ("rcrt.fig3", "testbed pcap out"),
];

#[test]
fn every_kind_takes_what_changes_its_run_and_refuses_the_rest() {
    let all = [
        RunOption::Nodes,
        RunOption::Routes(9_999),
        RunOption::Testbed("nowhere".to_owned()),
        RunOption::ControlChannel(Channel::LAST),
        RunOption::Loss,
        RunOption::Explain,
        RunOption::Pcap,
        RunOption::Out,
    ];
    let mut kinds: BTreeMap<String, Run> = BTreeMap::new();
    for experiment in Experiment::built_in().unwrap() {
        kinds.insert(experiment.id.clone(), experiment.run);
    }
    let tried: BTreeSet<&str> = USES.iter().map(|(id, _)| kinds[*id].entry.name).collect();
    let all_kinds: BTreeSet<&str> = KINDS.iter().map(|entry| entry.name).collect();
    assert_eq!(tried, all_kinds);
    for (id, uses) in USES {
        let mut used = Vec::new();
        for option in &all {
            let mut run = kinds[id].clone();
            let taken = run.take(option.clone());
            use RunOption::{ControlChannel, Routes, Testbed};
            let keeps = matches!(option, Routes(_) | Testbed(_) | ControlChannel(_));
            assert_eq!(run != kinds[id], keeps && taken.is_ok(), "{id} {option}");
            match taken {
                Ok(()) => used.push(option.to_string()),
                Err(why) => assert!(why.to_string().starts_with(&option.to_string())),
            }
        }
        assert_eq!(used.join(" "), uses, "{id}");
    }
}

/// A row for each of `keys`, and for those of its table.
fn write_keys(text: &mut String, path: &str, keys: &[Key]) {
    for key in keys {
        let default = key
            .default
            .filter(|default| !["[]", "{}", "\"\""].contains(default));
        let default = default
            .map(|default| format!(" `{default}`"))
            .unwrap_or_default();
        let range = key.range.map(|[least, most]| format!(" {least} to {most}"));
        let (shape, about) = (key.shape, key.about.trim());
        let range = range.unwrap_or_default();
        let _ = writeln!(
            text,
            "| `{path}{}` | {shape} |{default} |{range} | {about} |",
            key.name
        );
        let mut below = key.shape;
        while let Shape::List(of) | Shape::Maybe(of) = below {
            below = *of;
        }
        match below {
            // The keys of transfers are listed once.
            Shape::Table(keys) if key.name != "transfers" => {
                write_keys(text, &format!("{path}{}.", key.name), keys);
            }
            _ => {}
        }
    }
}

#[test]
fn the_readme_lists_every_kind_with_its_keys() {
    let mut kinds = String::new();
    let mut told: Vec<Column> = Vec::new();
    for entry in KINDS {
        let _ = write!(kinds, "### `{}`\n{}\n\n", entry.name, entry.about.trim());
        kinds.push_str("| key | value | default | range | what it says |\n|---|---|---|---|---|\n");
        write_keys(&mut kinds, "", entry.keys);
        let columns = (entry.columns)();
        let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
        let _ = write!(kinds, "\nColumns: `{}`.\n\n", names.join("` `"));
        kinds.push_str("| column | value | unit | what it says |\n|---|---|---|---|\n");
        for column in columns.iter().filter(|c| !told.contains(c)) {
            let &Column {
                name,
                kind,
                unit,
                about,
            } = column;
            let unit = unit
                .map(|unit| format!(" {unit} |"))
                .unwrap_or(" |".to_owned());
            let _ = writeln!(kinds, "| `{name}` | {kind} |{unit} {about} |");
        }
        kinds.push('\n');
        told.extend(columns);
    }
    let readme = include_str!("../../../../experiments/README.md");
    assert!(
        readme.contains(&kinds),
        "experiments/README.md lacks:\n{kinds}"
    );
}

#[test]
fn values_are_set_by_the_paths_of_their_keys_and_read_as_a_file_is() {
    let run = Experiment::load("p3.fig5").unwrap().run;
    let other = run.with([("payload", 40.into()), ("route.max_hops", 3.into())]);
    let other = other.unwrap();
    let text = |run: &Run| run.keys().1.to_string();
    assert!(text(&other).contains("payload = [40]"), "{}", text(&other));
    assert!(text(&other).contains("max_hops = 3"));
    assert_eq!(other.keys().0, run.keys().0);
    assert_eq!(run.with([]).unwrap(), run);
    let wrong = |path, value| run.with([(path, value)]).unwrap_err();
    assert_eq!(
        wrong("payload", 119.into()),
        "run.payload: expected 1 to 118"
    );
    let below = wrong("testbed.floors", 3.into());
    assert_eq!(below, "run.testbed.floors: expected a key in a table");
    let shapes = [
        "payload",
        "route.max_hops",
        "testbed",
        "nope",
        "testbed.nope",
    ];
    let shapes = shapes.map(|path| run.shape(path).map(|shape| shape.to_string()));
    let shapes: Vec<&str> = shapes.iter().map(|s| s.as_deref().unwrap_or("-")).collect();
    assert_eq!(shapes, ["[whole]", "whole", "text", "-", "-"]);
}
