//! The keyword arguments of a call, each taken out by its name. A value that does not do is an [`InputError`], never a
//! TypeError that names a Rust type.
//!
//! [`InputError`]: crate::errors

use crate::errors::input;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use thalweg::Testbed;
use thalweg_testbeds::Loss;
use thalweg_units::{Channel, Duration, NodeId};

/// The keyword arguments of a call; None stands for one that is not given.
pub(crate) struct Ask<'py>(Bound<'py, PyDict>);

/// What a seed is.
const SEED: &str = "a whole number from 0 to 18446744073709551615";

impl<'py> Ask<'py> {
    pub(crate) const fn new(arguments: Bound<'py, PyDict>) -> Self {
        Self(arguments)
    }
    /// The argument as it is.
    pub(crate) fn any(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }
    /// The argument, which is to be what `expected` says.
    ///
    /// # Errors
    /// One line that names both.
    pub(crate) fn get<T: FromPyObjectOwned<'py>>(
        &self,
        name: &str,
        expected: &str,
    ) -> PyResult<Option<T>> {
        let extracted = |value: Bound<'py, PyAny>| {
            let taken = value.extract::<T>();
            taken.map_err(|_| unfit(name, expected, &value))
        };
        self.any(name)?.map(extracted).transpose()
    }
    /// Whether the argument is true.
    pub(crate) fn is(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name, "True or False")?.unwrap_or(false))
    }
    /// A seed.
    pub(crate) fn seed(&self, name: &str) -> PyResult<Option<u64>> {
        self.get(name, SEED)
    }
    /// Seeds, each once: a run that counts twice makes intervals too narrow.
    pub(crate) fn seeds(&self) -> PyResult<Option<Vec<u64>>> {
        let seeds: Option<Vec<u64>> = self.get("seeds", "seeds from 0 on, such as range(1, 31)")?;
        let mut known = BTreeSet::new();
        let mut twice = seeds.iter().flatten().filter(|seed| !known.insert(**seed));
        match twice.next() {
            Some(seed) => Err(input("seeds", &format!("seeds: {seed} stands there twice"))),
            None => Ok(seeds),
        }
    }
    /// A time in seconds.
    pub(crate) fn seconds(&self, name: &str) -> PyResult<Option<Duration>> {
        const EXPECTED: &str = "seconds from 0 on, at most 1e9";
        let Some(seconds) = self.get::<f64>(name, EXPECTED)? else {
            return Ok(None);
        };
        match (0.0..=1e9).contains(&seconds) {
            true => Ok(Some(Duration::from_secs_f64(seconds))),
            false => Err(input(
                name,
                &format!("{name}: expected {EXPECTED}, got {seconds}"),
            )),
        }
    }
    /// A node, by its number or its label in `testbed`.
    pub(crate) fn node(&self, name: &str, testbed: &Testbed) -> PyResult<Option<NodeId>> {
        let value = self.any(name)?;
        value.map(|value| node(name, &value, testbed)).transpose()
    }
    /// Nodes; none where none are named.
    pub(crate) fn nodes(&self, name: &str, testbed: &Testbed) -> PyResult<Vec<NodeId>> {
        let list = self.get::<Vec<Bound<'py, PyAny>>>(name, "a list of nodes")?;
        let list = list.unwrap_or_default();
        let nodes = list.iter().map(|value| node(name, value, testbed));
        nodes.collect()
    }
    /// Lists of nodes.
    pub(crate) fn node_lists(&self, name: &str, testbed: &Testbed) -> PyResult<Vec<Vec<NodeId>>> {
        let lists = self.get::<Vec<Vec<Bound<'py, PyAny>>>>(name, "lists of nodes")?;
        let nodes = |list: &Vec<Bound<'py, PyAny>>| {
            list.iter()
                .map(|value| node(name, value, testbed))
                .collect()
        };
        lists.unwrap_or_default().iter().map(nodes).collect()
    }
    /// A channel of 2.4 GHz.
    pub(crate) fn channel(&self, name: &str) -> PyResult<Option<Channel>> {
        self.any(name)?
            .map(|value| channel(name, &value))
            .transpose()
    }
    /// Channels of 2.4 GHz, as they are listed, each once.
    pub(crate) fn channels(&self, name: &str) -> PyResult<Option<Vec<Channel>>> {
        let Some(list) = self.get::<Vec<Bound<'py, PyAny>>>(name, "a list of channels")? else {
            return Ok(None);
        };
        let mut channels = Vec::new();
        for value in &list {
            let next = channel(name, value)?;
            if channels.contains(&next) {
                let why = format!("{name}: channel {next} stands there twice");
                return Err(input(name, &why));
            }
            channels.push(next);
        }
        Ok(Some(channels))
    }
    /// Links that lose a share of their frames, as the command line writes them: `2-1:0.5`.
    pub(crate) fn losses(&self) -> PyResult<Vec<Loss>> {
        let texts = self.get::<Vec<String>>("losses", "a list of losses such as \"2-1:0.5\"")?;
        let loss = |text: String| {
            let parsed = text.parse::<Loss>();
            parsed.map_err(|why| input("losses", &format!("losses: {why}")))
        };
        texts.unwrap_or_default().into_iter().map(loss).collect()
    }
}

/// The seed `value`; 1 where there is none.
pub(crate) fn seed(value: Option<Bound<'_, PyAny>>) -> PyResult<u64> {
    let seed = |value: Bound<'_, PyAny>| value.extract().map_err(|_| unfit("seed", SEED, &value));
    value.map_or(Ok(1), seed)
}

fn node(name: &str, value: &Bound<'_, PyAny>, testbed: &Testbed) -> PyResult<NodeId> {
    if let Ok(label) = value.extract::<String>() {
        let unknown = |why| input(name, &format!("{name} {label:?}: {why}"));
        return testbed.called(&label).map_err(unknown);
    }
    let node = value.extract().ok().and_then(|id| NodeId::new(id).ok());
    node.ok_or_else(|| unfit(name, "a node's number or label", value))
}

fn channel(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Channel> {
    let number = value.extract::<u8>().ok();
    let channel = number.and_then(|number| Channel::new(number).ok());
    channel.ok_or_else(|| unfit(name, "a channel from 11 to 26", value))
}

/// Argument `name` is not what was `expected`, but `value`.
pub(crate) fn unfit(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let got = value
        .repr()
        .map_or_else(|_| "something else".to_owned(), |r| r.to_string());
    let got: String = got.chars().take(80).collect();
    input(name, &format!("{name}: expected {expected}, got {got}"))
}
