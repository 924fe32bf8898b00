//! Jobs, objects and nodes as the API tells them. Keys are stable; `api.json` describes them.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::Value;

use super::running::Running;
use crate::store::{JobState, StoredJob, StoredTransfer};

/// A job.
#[derive(Debug, Serialize)]
pub(super) struct Job<'a> {
    #[serde(flatten)]
    job: &'a StoredJob,
    /// 0 to 1.
    progress: f64,
    /// What it is at.
    phase: Option<String>,
    /// Packets that are there.
    received: Option<u32>,
    /// Of how many.
    packets: Option<u32>,
    /// Of the transfer that is under way.
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

/// `job`; what runs tells how far it is.
pub(super) fn job<'a>(job: &'a StoredJob, running: &[Running]) -> Job<'a> {
    let running = running.iter().find(|running| running.id == job.id);
    let moving = running.filter(|running| running.received > 0);
    let raw = |text: &Option<String>| text.clone().and_then(|t| RawValue::from_string(t).ok());
    Job {
        job,
        progress: match (running, job.state.is_end()) {
            (Some(running), false) => (running.progress * 1e4).round() / 1e4,
            (_, true) if job.error.is_none() && job.state == JobState::Done => 1.0,
            _ => 0.0,
        },
        phase: running.map(|running| running.phase.clone()),
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

/// An object.
#[derive(Debug, Serialize)]
pub(super) struct Object<'a> {
    id: i64,
    network: &'a str,
    from: u16,
    bytes: u64,
    /// SHA-256 in hexadecimal.
    sha256: Option<&'a str>,
    stored_at: &'a str,
    /// The name of the file that was sent, where it was one.
    file: Option<&'a str>,
    protocol: &'a str,
    goodput_kbps: f64,
    duration_s: Option<f64>,
    rounds: u32,
    hops: u32,
    paths: u32,
    energy_j: Option<f64>,
}

/// The object that `transfer` brought.
pub(super) fn object(transfer: &StoredTransfer) -> Object<'_> {
    let core = &transfer.record;
    Object {
        id: transfer.id.0,
        network: &core.testbed,
        from: core.source.get(),
        bytes: core.bytes,
        sha256: transfer.digest.as_deref(),
        stored_at: &transfer.stored_at,
        file: transfer.file.as_deref(),
        protocol: &core.protocol,
        goodput_kbps: core.goodput_kbps,
        duration_s: Some(core.duration_s).filter(|s| s.is_finite()),
        rounds: core.rounds,
        hops: core.hops,
        paths: core.paths,
        energy_j: core.energy_j,
    }
}

/// A number of the JSON that a job's `expected` or `outcome` is.
pub(super) fn number(json: Option<&String>, key: &str) -> Option<f64> {
    let value: Value = serde_json::from_str(json?).ok()?;
    value.get(key)?.as_f64()
}

#[cfg(test)]
pub(super) fn examples() -> (Value, Value) {
    use crate::store::{JobId, NewTransfer, Store, Work};
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let from = thalweg_units::NodeId::new(3).unwrap();
    let core: crate::outcome::Core = crate::outcome::Core {
        protocol: "p3".into(),
        testbed: "a".into(),
        source: from,
        sink: from,
        bytes: 3,
        verified: true,
        goodput_kbps: 1.0,
        utilisation: None,
        rounds: 1,
        first_round_reliability: None,
        active_nodes: 2,
        hops: 1,
        paths: 1,
        energy_j: None,
        network_energy_j: None,
        cold: None,
        waited_s: 0.0,
        duration_s: 1.0,
        attempts: 1,
        failure: None,
        seed: 1,
    };
    let new = NewTransfer {
        record: &core,
        baseline: None,
        report: "{}",
        campaign: None,
        job: None,
        file: None,
    };
    let kept = store.keep(&new, b"abc").unwrap();
    let transfer = store.transfer(kept.transfer).unwrap().unwrap();
    let row = StoredJob {
        id: JobId(1),
        station: "a".into(),
        work: Work::Fetch { from },
        state: JobState::Done,
        priority: 0,
        asked_at: String::new(),
        begun_at: None,
        ended_at: None,
        expected: Some("{}".into()),
        outcome: None,
        transfer: Some(kept.transfer),
        error: None,
    };
    let job = serde_json::to_value(job(&row, &[])).unwrap();
    (job, serde_json::to_value(object(&transfer)).unwrap())
}
