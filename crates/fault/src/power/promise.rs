//! The lines that a workload tells, each of what must be there from then on; and the record of its objects.

use std::fmt;
use thalweg_host::outcome::Summary;
use thalweg_units::NodeId;

/// The network of all records.
pub(super) const NETWORK: &str = "power";

/// What a workload tells, a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Promise {
    /// A job was accepted.
    Job(i64),
    /// So many bytes of a job's object are safe.
    Part(i64, u32),
    /// An object is safe, by its digest.
    Kept(i64, String),
    /// A job is done.
    Done(i64),
    /// An object is about to be deleted.
    Deleting(i64),
    /// It was.
    Deleted(i64),
    /// A message waits.
    Message(i64),
    /// A message is about to be removed.
    Acknowledging(i64),
    /// A job is about to end.
    Ending(i64),
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(id) => write!(f, "job {id}"),
            Self::Part(id, bytes) => write!(f, "part {id} {bytes}"),
            Self::Kept(id, digest) => write!(f, "kept {id} {digest}"),
            Self::Done(id) => write!(f, "done {id}"),
            Self::Deleting(id) => write!(f, "deleting {id}"),
            Self::Deleted(id) => write!(f, "deleted {id}"),
            Self::Message(id) => write!(f, "message {id}"),
            Self::Acknowledging(id) => write!(f, "acknowledging {id}"),
            Self::Ending(id) => write!(f, "ending {id}"),
        }
    }
}

impl Promise {
    /// Reads a line; none where it is not one of these.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (what, id) = (words.next()?, words.next()?.parse().ok()?);
        Some(match what {
            "job" => Self::Job(id),
            "part" => Self::Part(id, words.next()?.parse().ok()?),
            "kept" => Self::Kept(id, words.next()?.to_owned()),
            "done" => Self::Done(id),
            "deleting" => Self::Deleting(id),
            "deleted" => Self::Deleted(id),
            "message" => Self::Message(id),
            "acknowledging" => Self::Acknowledging(id),
            "ending" => Self::Ending(id),
            _ => return None,
        })
    }
}

/// The record of an object of `bytes` bytes from node `source`.
pub(super) fn record(source: NodeId, bytes: u64) -> Summary {
    Summary {
        protocol: "thalweg".into(),
        testbed: NETWORK.into(),
        source,
        sink: NodeId::new(1).unwrap_or(NodeId::MAX),
        bytes,
        verified: true,
        sealed: false,
        goodput_kbps: 200.0,
        utilisation: None,
        rounds: 1,
        first_round_reliability: None,
        active_nodes: 3,
        hops: 2,
        paths: 1,
        energy_j: None,
        network_energy_j: None,
        cold: None,
        waited_s: 0.0,
        duration_s: 1.0,
        attempts: 1,
        failure: None,
        seed: 1,
    }
}
