//! A scenario's file: what happens to nodes while their files are fetched.
//!
//! `[[incident]]` with `at` ("500 s" after routes have settled), `what` (`dies` or `starts`) and `node`. A node whose
//! first incident is that it starts was off until then: it joins. Tests: `tests.rs`.

use crate::rcrt::{Happens, Incident};
use serde::Deserialize;
use thalweg_units::{Duration, NodeId};

/// What happens to nodes, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scenario(Vec<(Duration, NodeId, Incident)>);

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// It is no such TOML.
    #[error("{0}")]
    Toml(String),
    /// A time that is none.
    #[error("incident {0}: `at` is seconds after routes have settled, as \"500 s\"")]
    At(usize),
    /// A number that no node has.
    #[error("incident {0}: a node's number is from 0 to 65533")]
    Node(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    incident: Vec<Happens>,
}

impl Scenario {
    /// The scenario in a file.
    ///
    /// # Errors
    /// [`ScenarioError`].
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: File = toml::from_str(text).map_err(|e| ScenarioError::Toml(e.to_string()))?;
        let incident = |(k, happens): (usize, &Happens)| {
            let at = happens.at().ok_or(ScenarioError::At(k + 1))?;
            let node = NodeId::new(happens.node).map_err(|_| ScenarioError::Node(k + 1))?;
            Ok((at, node, happens.what))
        };
        let all = file.incident.iter().enumerate().map(incident);
        let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
        all.sort_by_key(|(at, ..)| *at);
        Ok(Self(all))
    }
    /// The nodes that it names.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().map(|(_, node, _)| *node)
    }
    /// When `node` joins, if it is off at first.
    pub(super) fn joins(&self, node: NodeId) -> Option<Duration> {
        let (at, _, what) = self.0.iter().find(|(_, who, _)| *who == node)?;
        (*what == Incident::Starts).then_some(*at)
    }
    /// Everything that happens, with the nodes that are off at first.
    pub(super) fn incidents(&self) -> impl Iterator<Item = (Duration, NodeId, Incident)> + '_ {
        let first = |(k, (_, node, _)): &(usize, &(Duration, NodeId, Incident))| {
            self.0.iter().position(|(_, who, _)| who == node) == Some(*k)
        };
        let joins = self.0.iter().enumerate().filter(first);
        let joins = joins.filter(|(_, (_, _, what))| *what == Incident::Starts);
        let off = joins.map(|(_, (_, node, _))| (Duration::ZERO, *node, Incident::Dies));
        off.chain(self.0.iter().copied())
    }
}
