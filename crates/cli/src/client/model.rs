//! Jobs and objects in a gateway's JSON; only the keys that are used here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::one_line;
use crate::table::number;

pub(super) use thalweg_host::store::JobState as State;

/// A job.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Job {
    pub(super) id: i64,
    pub(super) kind: String,
    /// A node, or several.
    pub(super) from: Option<Value>,
    pub(super) state: State,
    pub(super) priority: i8,
    /// The first of those that were asked for with it.
    pub(super) group: Option<i64>,
    pub(super) asked_at: String,
    pub(super) begun_at: Option<String>,
    pub(super) ended_at: Option<String>,
    /// 0 to 1.
    pub(super) progress: f64,
    pub(super) phase: Option<String>,
    /// Why it is still queued, where the gateway's limits are to blame.
    pub(super) waits: Option<String>,
    /// Whose node it is of.
    pub(super) station: Option<String>,
    pub(super) received: Option<u32>,
    pub(super) packets: Option<u32>,
    pub(super) round: Option<u32>,
    /// Kilobits a second.
    pub(super) rate_kbps: Option<f64>,
    /// Seconds.
    pub(super) left_s: Option<f64>,
    pub(super) expected: Option<Value>,
    pub(super) outcome: Option<Value>,
    pub(super) object: Option<i64>,
    pub(super) error: Option<String>,
}

impl Job {
    /// Of which node, or nodes.
    pub(super) fn node(&self) -> String {
        match &self.from {
            None | Some(Value::Null) => "-".to_owned(),
            Some(Value::Array(nodes)) => {
                let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
                one_line(&nodes.join(","))
            }
            Some(node) => one_line(&node.to_string()),
        }
    }
    /// What it is, such as "job 7: fetch from node 3".
    pub(super) fn name(&self) -> String {
        let kind = one_line(&self.kind);
        match &self.from {
            None | Some(Value::Null) => format!("job {}: {kind}", self.id),
            Some(_) => format!("job {}: {kind} from node {}", self.id, self.node()),
        }
    }
    /// How far it is, or how it ended.
    pub(super) fn note(&self) -> String {
        match (self.state, &self.error, self.object) {
            (_, Some(why), _) => one_line(why),
            (State::Done, None, Some(object)) => {
                let rate = number(self.measured("goodput_kbps"), 1.0, 1);
                format!("object {object}, {rate} kbit/s")
            }
            (State::Running, ..) => one_line(self.phase.as_deref().unwrap_or_default()),
            (State::Queued, ..) => one_line(self.waits.as_deref().unwrap_or_default()),
            _ => String::new(),
        }
    }
    /// A number of its outcome.
    pub(super) fn measured(&self, key: &str) -> Option<f64> {
        self.outcome.as_ref()?.get(key)?.as_f64()
    }
    /// A number of what was expected.
    pub(super) fn expected(&self, key: &str) -> Option<f64> {
        self.expected.as_ref()?.get(key)?.as_f64()
    }
}

/// An object.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Object {
    pub(super) id: i64,
    pub(super) network: String,
    pub(super) from: u16,
    pub(super) bytes: u64,
    pub(super) sha256: Option<String>,
    pub(super) stored_at: String,
    pub(super) file: Option<String>,
    pub(super) protocol: String,
    #[serde(default)]
    pub(super) sealed: bool,
    pub(super) goodput_kbps: f64,
    pub(super) duration_s: Option<f64>,
}

/// A group of jobs.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    pub(super) group: i64,
    /// How many of its jobs are in each state.
    pub(super) states: BTreeMap<String, u64>,
}

/// A list of jobs.
#[derive(Debug, Deserialize)]
pub(super) struct Jobs {
    pub(super) jobs: Vec<Value>,
}

/// All stations of a gateway.
#[derive(Debug, Deserialize)]
pub(super) struct Stations {
    pub(super) stations: Vec<Network>,
}

/// A station's network, as far as it is of use here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Network {
    pub(super) name: String,
    pub(super) sink: u16,
}
