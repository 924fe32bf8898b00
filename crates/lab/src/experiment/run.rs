//! Runs: a kind with its keys, as an experiment's file says them and flags overwrite them.
//!
//! A flag overwrites the key that a kind has for it, and the whole is read and checked again; a kind without
//! such a key refuses it. Tests: `run_tests.rs`.

use super::keys::{make_lists, read, set, Key, Keyed, Shape};
use super::kind::Kind;
use super::KINDS;
use crate::results::Column;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use thalweg_units::Channel;
use toml::{Table, Value};

/// A kind as files name it.
#[derive(Debug)]
pub struct Entry {
    /// The value of `kind`.
    pub name: &'static str,
    /// What a run of the kind does.
    pub about: &'static str,
    /// What can be said of it.
    pub keys: &'static [Key],
    /// Every column that its rows may have.
    pub columns: fn() -> Vec<Column>,
    parse: fn(Table) -> Result<Arc<dyn Kind>, String>,
}

impl Entry {
    pub(super) const fn of<K: Kind + Keyed + DeserializeOwned + 'static>() -> Self {
        Self {
            name: K::NAME,
            about: K::ABOUT,
            keys: K::KEYS,
            columns: K::columns,
            parse: |keys| Ok(Arc::new(read_kind::<K>(keys)?)),
        }
    }
}

/// The kind that the keys of a `[run]` table say.
///
/// # Errors
/// The key and what was expected, on one line.
pub(super) fn read_kind<K: Kind + Keyed + DeserializeOwned>(keys: Table) -> Result<K, String> {
    let kind: K = read(keys, K::KEYS, "run")?;
    kind.check()?;
    Ok(kind)
}

/// What an experiment runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Table")]
pub struct Run {
    entry: &'static Entry,
    keys: Table,
    kind: Arc<dyn Kind>,
}

impl PartialEq for Run {
    /// Files that say the same run the same.
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name && self.keys == other.keys
    }
}

impl Deref for Run {
    type Target = dyn Kind;

    fn deref(&self) -> &Self::Target {
        &*self.kind
    }
}

impl TryFrom<Table> for Run {
    type Error = String;

    /// The run that a `[run]` table says.
    ///
    /// # Errors
    /// The key and what was expected, on one line.
    fn try_from(mut keys: Table) -> Result<Self, String> {
        let names = || {
            let names: Vec<&str> = KINDS.iter().map(|entry| entry.name).collect();
            names.join(", ")
        };
        let name = match keys.remove("kind") {
            Some(Value::String(name)) => name,
            _ => return Err(format!("run.kind: expected one of {}", names())),
        };
        let entry = KINDS.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("run.kind: {name:?} is none of {}", names()))?;
        make_lists(&mut keys, entry.keys);
        let kind = (entry.parse)(keys.clone())?;
        Ok(Self { entry, keys, kind })
    }
}

const CONTROL_CHANNEL: &str = "control_channel";

/// An option that changes what a run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOption {
    /// How many nodes a benchmark has.
    Nodes,
    /// So many routes (or links, or sources) per seed.
    Routes(u32),
    /// The network, by name or file.
    Testbed(String),
    /// Where floods go.
    ControlChannel(Channel),
    /// Losses on links.
    Loss,
    /// Where packets were lost.
    Explain,
    /// The frames of the first run, in a file.
    Pcap,
    /// Rows, results and figures, in a folder.
    Out,
}

impl fmt::Display for RunOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nodes => "nodes",
            Self::Routes(_) => "routes",
            Self::Testbed(_) => "testbed",
            Self::ControlChannel(_) => "control-channel",
            Self::Loss => "loss",
            Self::Explain => "explain",
            Self::Pcap => "pcap",
            Self::Out => "out",
        })
    }
}

/// A run and an option that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The run has no use for it.
    #[error("{0} is not for experiments of this kind")]
    NotUsed(RunOption),
    /// The run cannot be with its value.
    #[error("{0}: {1}")]
    Value(RunOption, String),
}

impl Run {
    /// Every column that its rows may have.
    pub fn columns(&self) -> Vec<Column> {
        (self.entry.columns)()
    }

    /// Its kind's name, and its keys as options have overwritten them.
    pub(super) fn keys(&self) -> (&'static str, &Table) {
        (self.entry.name, &self.keys)
    }

    /// What the value of the key at this path below `[run]` is; none where there is no such key.
    pub fn shape(&self, path: &str) -> Option<Shape> {
        let mut shape = Shape::Table(self.entry.keys);
        for name in path.split('.') {
            let keys = loop {
                match shape {
                    Shape::Table(keys) => break keys,
                    Shape::Maybe(of) | Shape::List(of) => shape = *of,
                    _ => return None,
                }
            };
            shape = keys.iter().find(|key| key.name == name)?.shape;
        }
        Some(shape)
    }

    /// The network that it names, where it has one.
    pub fn testbed(&self) -> Option<&str> {
        let path = self.testbed_key()?;
        let value = match path.split_once('.') {
            Some((table, key)) => self.keys.get(table)?.get(key),
            None => self.keys.get(path),
        };
        value.and_then(Value::as_str)
    }

    /// Does what `option` asks for from now on.
    ///
    /// # Errors
    /// [`Refused::NotUsed`] where that would change nothing; [`Refused::Value`].
    pub fn take(&mut self, option: RunOption) -> Result<(), Refused> {
        let used = match &option {
            RunOption::Routes(routes) => {
                return self.overwrite(self.routes_key(), i64::from(*routes).into(), option)
            }
            RunOption::Testbed(name) => {
                return self.overwrite(self.testbed_key(), name.as_str().into(), option)
            }
            RunOption::ControlChannel(channel) if self.routes_key().is_some() => {
                // No kind reads it: it is the network's, and told beside the keys.
                let key = CONTROL_CHANNEL.to_owned();
                self.keys.insert(key, i64::from(channel.number()).into());
                return Ok(());
            }
            RunOption::ControlChannel(_) => false,
            RunOption::Loss => self.lossy_frame_bytes().is_some(),
            RunOption::Explain => self.explains().is_some(),
            RunOption::Pcap => self.captures().is_some(),
            RunOption::Out => true,
            RunOption::Nodes => false,
        };
        match used {
            true => Ok(()),
            false => Err(Refused::NotUsed(option)),
        }
    }

    /// The same with other values of the keys at these paths below `[run]`, such as `payload` or `route.max_hops`.
    ///
    /// # Errors
    /// The key and what was expected, on one line.
    pub fn with<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self, String> {
        let mut keys = self.keys.clone();
        for (path, value) in values {
            set(&mut keys, path, value)
                .ok_or_else(|| format!("run.{path}: expected a key in a table"))?;
        }
        keys.entry("kind").or_insert_with(|| self.entry.name.into());
        Self::try_from(keys)
    }

    fn overwrite(
        &mut self,
        key: Option<&str>,
        value: Value,
        option: RunOption,
    ) -> Result<(), Refused> {
        let Some(path) = key else {
            return Err(Refused::NotUsed(option));
        };
        let mut keys = self.keys.clone();
        let (table, key) = match path.split_once('.') {
            Some((table, key)) => (keys.get_mut(table).and_then(Value::as_table_mut), key),
            None => (Some(&mut keys), path),
        };
        // A run that was read has the tables of its kind.
        table.map(|table| table.insert(key.to_owned(), value));
        keys.insert("kind".to_owned(), self.entry.name.into());
        let control = keys.remove(CONTROL_CHANNEL);
        *self = Self::try_from(keys).map_err(|why| Refused::Value(option, why))?;
        (self.keys).extend(control.map(|control| (CONTROL_CHANNEL.to_owned(), control)));
        Ok(())
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
