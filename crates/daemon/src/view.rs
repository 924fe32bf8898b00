//! Jobs, objects and nodes as the API shows them. Keys are stable; `api.json` describes them.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::Value;

use thalweg_planner::{LinkQualities, Place};
use thalweg_units::NodeId;

use super::limits::Health;
use super::running::Running;
use thalweg_host::connector::Facts;
use thalweg_host::store::{JobId, JobState, StoredJob, StoredTransfer, TransferId, Work};
use thalweg_host::transfer::session::SourceStatus;

/// A job.
#[derive(Debug, Serialize)]
pub(super) struct Job<'a> {
    #[serde(flatten)]
    job: &'a StoredJob,
    /// What its node is called, where it has a name.
    from_name: Option<&'a str>,
    /// 0 to 1.
    progress: f64,
    /// What it is at.
    phase: Option<String>,
    /// Why it is still queued, where limits are to blame.
    waits: Option<String>,
    /// Packets that are there.
    received: Option<u32>,
    /// Of how many.
    packets: Option<u32>,
    /// Of the running transfer.
    round: Option<u32>,
    /// So far.
    rate_kbps: Option<f64>,
    /// Until all is there, in seconds.
    left_s: Option<f64>,
    expected: Option<Box<RawValue>>,
    outcome: Option<Box<RawValue>>,
    /// The number of the object that it brought.
    object: Option<i64>,
}

/// `job`, with the progress of the running job, and why it `waits`.
pub(super) fn job<'a>(job: &'a StoredJob, running: &[Running], waits: Option<String>) -> Job<'a> {
    // A row may be older than what runs.
    let is_it = |running: &&Running| running.id == job.id && job.state != JobState::Queued;
    let running = running.iter().find(is_it);
    let moving = running.filter(|running| running.received > 0);
    let raw = |text: &Option<String>| text.clone().and_then(|t| RawValue::from_string(t).ok());
    Job {
        job,
        from_name: None,
        progress: match (running, job.state.is_end()) {
            (Some(running), false) => (running.progress * 1e4).round() / 1e4,
            (_, true) if job.error.is_none() && job.state == JobState::Done => 1.0,
            _ => 0.0,
        },
        phase: running.map(|running| running.phase.clone()),
        waits,
        received: moving.map(|running| running.received),
        packets: moving.map(|running| running.packets),
        round: moving.map(|running| running.round),
        rate_kbps: moving.map(|running| (running.rate_kbps * 10.0).round() / 10.0),
        left_s: moving.and_then(Running::left_s),
        expected: raw(&job.expected),
        outcome: raw(&job.outcome),
        object: job.transfer.map(|id| id.0),
    }
}

/// What node `id` is called, where it has a name.
fn label(facts: &Facts, id: NodeId) -> Option<&str> {
    facts.network.place.labels.get(&id).map(String::as_str)
}

impl<'a> Job<'a> {
    /// With the name that its node has in the network of `facts`.
    pub(super) fn named(mut self, facts: &'a Facts) -> Self {
        self.from_name = match self.job.work {
            Work::Fetch { from } | Work::Plan { from } => label(facts, from),
            Work::Survey | Work::Session(_) => None,
        };
        self
    }
}

/// How the sources of a session fare.
#[derive(Debug, Serialize)]
pub(super) struct Rates {
    job: i64,
    at_s: f64,
    sources: Vec<Rate>,
}

#[derive(Debug, Serialize)]
struct Rate {
    node: u16,
    /// Packets per second; none while it has no connection.
    rate: Option<f64>,
    packets: u64,
    bytes: u64,
    repaired: u64,
}

/// How the sources of session `job` fare `at_s` seconds after it began.
pub(super) fn rates(job: JobId, at_s: f64, sources: &[SourceStatus]) -> Rates {
    let one = |s: &SourceStatus| Rate {
        node: s.source.get(),
        rate: s.rate.map(|rate| (rate * 1e3).round() / 1e3),
        packets: s.packets,
        bytes: s.bytes,
        repaired: s.repaired,
    };
    Rates {
        job: job.0,
        at_s: at_s.floor(),
        sources: sources.iter().map(one).collect(),
    }
}

/// An object.
#[derive(Debug, Serialize)]
pub(super) struct Object<'a> {
    id: i64,
    network: &'a str,
    from: u16,
    /// What that node is called, where it has a name.
    from_name: Option<&'a str>,
    bytes: u64,
    /// SHA-256 in hexadecimal.
    sha256: Option<&'a str>,
    stored_at: &'a str,
    /// The name of the file that was sent, where it was one.
    file: Option<&'a str>,
    protocol: &'a str,
    /// Whether it travelled encrypted, with its node's tag or, in a session, a MIC for each packet.
    sealed: bool,
    goodput_kbps: f64,
    duration_s: Option<f64>,
    rounds: u32,
    hops: u32,
    paths: u32,
    energy_j: Option<f64>,
}

/// The object that `transfer` brought.
pub(super) fn object(transfer: &StoredTransfer) -> Object<'_> {
    let summary = &transfer.record;
    Object {
        id: transfer.id.0,
        network: &summary.testbed,
        from: summary.source.get(),
        from_name: None,
        bytes: summary.bytes,
        sha256: transfer.digest.as_deref(),
        stored_at: &transfer.stored_at,
        file: transfer.file.as_deref(),
        protocol: &summary.protocol,
        sealed: summary.sealed,
        goodput_kbps: summary.goodput_kbps,
        duration_s: Some(summary.duration_s).filter(|s| s.is_finite()),
        rounds: summary.rounds,
        hops: summary.hops,
        paths: summary.paths,
        energy_j: summary.energy_j,
    }
}

impl<'a> Object<'a> {
    /// With the name that its node has in the network of `facts`.
    pub(super) fn named(mut self, facts: &'a Facts) -> Self {
        let id = NodeId::new(self.from).ok();
        self.from_name = id.and_then(|id| label(facts, id));
        self
    }
}

/// A node.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    id: u16,
    /// What it is called, where it has a name.
    name: Option<String>,
    station: String,
    is_sink: bool,
    place: Option<Place>,
    /// When it last delivered an object.
    delivered_at: Option<String>,
    /// The object that it delivered then.
    object: Option<i64>,
}

/// Node number `index` of a station; `last` is when it last delivered an object, and which.
pub(super) fn node(facts: &Facts, index: usize, last: Option<(&str, TransferId)>) -> Node {
    let id = facts
        .network
        .place
        .ids
        .get(index)
        .copied()
        .unwrap_or(facts.network.sink);
    Node {
        id: id.get(),
        name: label(facts, id).map(str::to_owned),
        station: facts.network.place.name.clone(),
        is_sink: facts.network.is_station(id),
        place: facts
            .network
            .positions
            .as_ref()
            .and_then(|s| s.get(index).copied()),
        delivered_at: last.map(|(at, _)| at.to_owned()),
        object: last.map(|(_, transfer)| transfer.0),
    }
}

/// How a node is at present.
#[derive(Debug, Serialize)]
pub(super) struct NodeHealth {
    /// When it was last heard of.
    seen_at: Option<String>,
    /// In volts; none of a node that has reported no battery.
    battery_v: Option<f64>,
    /// When it reported that.
    battery_at: Option<String>,
    /// What it has spent since midnight, UTC; none without a meter.
    energy_today_j: Option<f64>,
    /// Why limits leave it alone, where they do.
    left_alone: Option<String>,
}

/// A node among others.
#[derive(Debug, Serialize)]
pub(super) struct NodeNow {
    #[serde(flatten)]
    pub(super) node: Node,
    pub(super) health: NodeHealth,
}

/// `node`, which is as `health` says and was last in a survey at `surveyed`, in seconds since 1970.
pub(super) fn node_now(node: Node, health: &Health, surveyed: Option<i64>) -> NodeNow {
    let health = NodeHealth {
        // Such times sort as text.
        seen_at: surveyed.map(utc).max(node.delivered_at.clone()),
        battery_v: health.battery.map(|(level, _)| level.volts()),
        battery_at: health.battery.map(|(_, at)| utc(at)),
        energy_today_j: health.spent_j.map(|joules| (joules * 1e3).round() / 1e3),
        left_alone: health.left_alone.map(|why| why.to_string()),
    };
    NodeNow { node, health }
}

/// A link of a node, and back.
#[derive(Debug, Serialize)]
pub(super) struct Link {
    pub(super) channel: u8,
    #[serde(rename = "in")]
    pub(super) back: f64,
    pub(super) node: u16,
    pub(super) out: f64,
}

/// The links of node number `index` among `links`, channel by channel.
pub(super) fn links(facts: &Facts, links: &LinkQualities, index: usize) -> Vec<Link> {
    let ids = &facts.network.place.ids;
    let mut rows = Vec::new();
    for channel in links.channels().iter() {
        for (other, to) in ids.iter().enumerate().take(links.nodes()) {
            let out = links.prr(index, other, channel);
            let back = links.prr(other, index, channel);
            if out > 0.0 || back > 0.0 {
                rows.push(Link {
                    channel: channel.number(),
                    back,
                    node: to.get(),
                    out,
                });
            }
        }
    }
    rows
}

/// A number of the JSON that a job's `expected` or `outcome` is.
pub(super) fn number(json: Option<&String>, key: &str) -> Option<f64> {
    let value: Value = serde_json::from_str(json?).ok()?;
    value.get(key)?.as_f64()
}

/// `seconds` since 1970, as the store writes times.
pub(super) fn utc(seconds: i64) -> String {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    // A clock that is beyond the year 9999 is none.
    let since = since.min(Duration::from_secs(253_402_300_799));
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
#[path = "view_tests.rs"]
pub(super) mod tests;
