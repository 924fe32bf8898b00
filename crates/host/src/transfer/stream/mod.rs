//! Streams: objects along paths of nodes with two radios, whatever carries them. One job orders,
//! follows, rests, orders again what is missing, meters and takes; a family is a function that makes a [`StreamSetup`].
//!
//! Time base: network time. Invariants: no wait goes beyond [`StreamTerms::deadline`]; an object is returned
//! only where length and digest are those that were known beforehand, since no stream's frame has them.
//! Where the source is no station and cannot report its start, the first packet at the sink is the start.
//! Tests: `tests/all/flaky.rs`, `crates/simnet/tests/all/streams/`.

mod job;
mod log;

pub use job::Fetch;
pub use log::{arrived, LinkReport, Stream};

use crate::job::{Failure, Retry};
use crate::object::digest;
use std::fmt;
use thalweg_engine::Engine;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::fastforward::Config;
use thalweg_protocols::object::ObjectInfo;
use thalweg_units::{Duration, NodeId, Tuning};

/// The failure of what cannot be called.
pub(super) const UNFIT: &str = "the path does not fit a call";
/// A stream that ended at its sink may still be ending at other nodes: those leave it when it is silent for
/// a second.
const REST: Duration = Duration::from_millis(1500);

/// On what terms streams run, whatever carries them.
#[derive(Debug, Clone, Copy)]
pub struct StreamTerms {
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
    /// The constants of FastForward's nodes; the others take queue and wake-ups from them.
    pub config: Config,
    /// How often FastForward's packets that did not arrive are called again.
    pub repairs: u32,
    /// From the first call on; nothing is waited for beyond.
    pub deadline: Duration,
}

impl Default for StreamTerms {
    /// 100 bytes a packet, as FastForward's evaluation; no repairs; two minutes.
    fn default() -> Self {
        Self {
            payload_bytes: 100,
            config: Config::default(),
            repairs: 0,
            deadline: Duration::from_secs(120),
        }
    }
}

/// The path of one object.
#[derive(Debug, Clone)]
pub struct StreamPath {
    /// Its nodes, from the source on.
    pub nodes: Vec<NodeId>,
    /// On what each node but the last sends.
    pub links: Vec<Tuning>,
    /// Who has the object.
    pub source: NodeId,
    /// The base station.
    pub sink: NodeId,
    /// The object, as its source has it.
    pub object: ObjectInfo,
    /// Packets that it makes.
    pub packets: u16,
    /// Sinks call streams of a lower number first.
    pub turn: u8,
}

impl StreamPath {
    /// That of `object` in packets of `payload_bytes` over `plan`, of nodes called `ids`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where it has no nodes, or makes too many packets.
    pub fn new(
        plan: &StreamPlan,
        ids: &[NodeId],
        object: &[u8],
        payload_bytes: u8,
    ) -> Result<Self, Failure> {
        let named = plan.nodes.iter().filter_map(|n| ids.get(*n).copied());
        let nodes: Vec<NodeId> = named.collect();
        let (Some(&source), Some(&sink)) = (nodes.first(), nodes.last()) else {
            return Err(Failure::Unfit("a path without nodes".to_owned()));
        };
        let packets = object.len().div_ceil(usize::from(payload_bytes.max(1)));
        let packets = u16::try_from(packets);
        Ok(Self {
            nodes,
            links: plan.links.clone(),
            source,
            sink,
            object: ObjectInfo {
                len: object.len() as u32,
                digest: digest(object),
            },
            packets: packets.map_err(|_| Failure::Unfit("too many packets".to_owned()))?,
            turn: 0,
        })
    }
}

/// How a family carries `paths`, at the same time.
pub struct StreamSetup<E: Engine> {
    /// The engine of a node.
    pub node: Box<dyn Fn(NodeId) -> E>,
    /// The streams, which events call by their places here.
    pub paths: Vec<StreamPath>,
    /// On what terms.
    pub terms: StreamTerms,
    /// Orders that set nodes up, and how long before the first call.
    pub set_up: (Vec<(NodeId, E::Command)>, Duration),
    /// The station and order for call number .1, from 0, of stream .0, of which packets .2 have arrived. A source that
    /// gets the order itself begins at once.
    #[allow(clippy::type_complexity)]
    pub call: Box<dyn Fn(usize, u32, &[bool]) -> (NodeId, E::Command)>,
    /// The order that frees the sink of a stream, if there is one.
    pub close: fn(usize) -> Option<E::Command>,
    /// How often to call what is missing.
    pub retry: Retry,
    /// What ends a call.
    pub call_end: CallEnd,
    /// The stream of an event, and its meaning.
    pub classify: fn(&E::Event) -> (usize, EventKind),
}

/// What ends a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// The sink reports its end.
    Sink,
    /// No report: the call ends when everything has arrived, or when nothing has for this long.
    Silence(Duration),
}

/// What an event means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventKind {
    /// The source begins.
    Begun,
    /// A packet is there.
    Arrived(u16),
    /// The stream ended at this node.
    Ended(End),
    /// The call does not fit.
    Refused,
    /// Nothing to the host.
    Nothing,
}

/// How a stream ended at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All that was sent was passed on, or arrived.
    Complete,
    /// Nothing came any more.
    Silent,
    /// The next node does not acknowledge, or does not answer the call.
    Broken(NodeId),
    /// It was ordered to leave.
    Closed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Silent => f.write_str("silent"),
            Self::Broken(neighbour) => write!(f, "node {neighbour} does not answer"),
            Self::Closed => f.write_str("closed"),
        }
    }
}
