//! What a folder of rows is of: enough to run it again, and to see that other rows are of something else.
//!
//! Nothing in it depends on when or where it was run. Tests: below, `crates/cli/tests/all/experiments.rs`.

use super::journal::{files_of, hex};
use super::spec::Experiment;
use crate::results::{columns, Column, Row};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_testbeds::Losses;

/// The manifest of a folder of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What wrote it.
    pub generator: String,
    /// Which version.
    pub version: String,
    /// The experiment's id.
    pub experiment: String,
    /// Its kind.
    pub kind: String,
    /// Its keys, options applied.
    pub keys: BTreeMap<String, serde_json::Value>,
    /// Losses on links, by option.
    pub losses: Vec<String>,
    /// The command and its options.
    pub command: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// SHA-256 of the experiment's text and of every file that it names, and that these name.
    pub inputs: BTreeMap<String, String>,
    /// The rows' columns with their units; empty for names and pure numbers.
    pub columns: BTreeMap<String, String>,
}

/// Columns of every row that is written, besides those of its kind.
const EXPERIMENT: &str = "experiment";
const TESTBED: &str = "testbed";

impl Manifest {
    /// That of `experiment` with `seeds` and `losses`, as `command` asks for it; its rows have `columns`.
    pub fn of(
        experiment: &Experiment,
        seeds: &[u64],
        losses: &Losses,
        command: Vec<String>,
        columns: BTreeSet<String>,
    ) -> Self {
        let (kind, keys) = experiment.run.keys();
        let files = files_of(keys).into_iter();
        let files = files.map(|(path, digest)| (path.display().to_string(), digest));
        let own = hex(Sha256::new_with_prefix(&experiment.text));
        let json = |value: &toml::Value| serde_json::to_value(value).unwrap_or_default();
        Self {
            generator: "thalweg".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: experiment.id.clone(),
            kind: kind.to_owned(),
            keys: (keys.iter().map(|(key, value)| (key.clone(), json(value)))).collect(),
            losses: losses.links.iter().map(ToString::to_string).collect(),
            command,
            seeds: seeds.to_vec(),
            inputs: files
                .chain([(format!("experiment {}", experiment.id), own)])
                .collect(),
            columns: (labelled_columns(experiment).iter())
                .filter(|column| columns.contains(column.name))
                .map(|column| {
                    (
                        column.name.to_owned(),
                        column.unit.unwrap_or_default().to_owned(),
                    )
                })
                .collect(),
        }
    }

    /// How the rows of `other` are of something else, in a few words; none where they are of the same with other seeds,
    /// by another version, or from files that have changed.
    pub fn differs(&self, other: &Self) -> Option<String> {
        if self.experiment != other.experiment {
            return Some(format!("of the experiment {:?}", self.experiment));
        }
        if self.kind != other.kind {
            return Some(format!("of the kind {:?}", self.kind));
        }
        let names: BTreeSet<&String> = self.keys.keys().chain(other.keys.keys()).collect();
        let key = names
            .into_iter()
            .find(|key| self.keys.get(*key) != other.keys.get(*key));
        if let Some(key) = key {
            return Some(match self.keys.get(key) {
                Some(value) => format!("of {key} = {value}"),
                None => format!("without the key {key}"),
            });
        }
        let losses = |of: &Self| match of.losses.is_empty() {
            true => "without losses".to_owned(),
            false => format!("with --loss {}", of.losses.join(" --loss ")),
        };
        (self.losses != other.losses).then(|| losses(self))
    }
}

/// `rows` with the experiment and the testbed that they are of.
pub(super) fn labelled(experiment: &Experiment, rows: &[Row]) -> Vec<Row> {
    let testbed = experiment.run.testbed();
    let label = |row: &Row| {
        let mut row = row.clone();
        row.set(EXPERIMENT, experiment.id.as_str());
        if !row.0.contains_key(TESTBED) {
            row.set_some(TESTBED, testbed);
        }
        row
    };
    rows.iter().map(label).collect()
}

/// The columns of what [`labelled`] makes of the experiment's rows.
pub(super) fn labelled_columns(experiment: &Experiment) -> Vec<Column> {
    let labels: &[Column] = columns! {
        experiment: Text, "Id of the experiment.";
        testbed: Text, "Testbed, by name or file.";
    };
    let own = experiment.run.columns();
    let is_label = |c: &&Column| !own.iter().any(|own| own.name == c.name);
    let labels = labels.iter().filter(is_label).copied();
    labels.chain(own.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn manifest(text: &str) -> Manifest {
        let experiment = Experiment::parse(Path::new("e.toml"), text).unwrap();
        let columns = ["goodput_kbps", "hops", "source"].map(str::to_owned);
        let command = Vec::new();
        Manifest::of(
            &experiment,
            &[1],
            &Losses::default(),
            command,
            columns.into(),
        )
    }

    #[test]
    fn it_tells_what_other_rows_are_of_and_takes_one_value_for_a_list() {
        let text = |id: &str, more: &str| {
            format!("id = \"{id}\"\ntitle = \"t\"\n[run]\nkind = \"transfers\"\ntestbed = \"line5\"\nprotocols = [\"p3\"]\n{more}")
        };
        let one = manifest(&text("a", "bytes = 59000"));
        assert_eq!(one.columns["goodput_kbps"], "kbit/s");
        assert_eq!(one.columns["hops"], "");
        assert_eq!(one.differs(&manifest(&text("a", "bytes = [59000]"))), None);
        let differs = |id, more| one.differs(&manifest(&text(id, more))).unwrap();
        assert_eq!(differs("b", "bytes = 59000"), "of the experiment \"a\"");
        assert_eq!(differs("a", "bytes = 500"), "of bytes = [59000]");
        assert_eq!(
            differs("a", "bytes = 59000\nsweeps = 3"),
            "without the key sweeps"
        );
        assert_eq!(one.inputs["experiment a"].len(), 64);
    }
}
