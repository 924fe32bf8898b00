//! Streams: objects along paths or stages of nodes with two radios, whatever carries them. One job orders,
//! follows, rests, orders again what is missing, meters and takes; a family is a function that makes a [`Way`].
//!
//! Time base: field time. Invariants: nothing is waited for beyond [`Terms::deadline`]; an object is handed out
//! only where length and digest are those that were known beforehand, since no stream's frame has them.
//! Where the source is no station, nobody tells that it begins: then the first packet at the sink is the
//! beginning. Tests: `tests/flaky.rs`, `crates/lab/tests/streams/`.

mod job;
mod log;

pub use job::Fetch;
pub use log::{arrived, LinkReport, Stream};

use crate::job::{Failure, Retry};
use crate::object::digest;
use std::fmt;
use thalweg_engine::Engine;
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::fastforward::Config;
use thalweg_protocols::object::ObjectInfo;
use thalweg_units::{Duration, NodeId, Tuning};

/// The failure of what cannot be called.
pub(super) const UNFIT: &str = "the stages do not fit a call";
/// A stream that ended at its sink may still be ending at other nodes: those leave it when it is silent for
/// a second.
const REST: Duration = Duration::from_millis(1500);

/// On what terms streams run, whatever carries them.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
    /// The constants of FastForward's nodes; the others take queue and wake-ups from them.
    pub config: Config,
    /// How often FastForward's packets that did not arrive are called again.
    pub repairs: u32,
    /// From the first call on; nothing is waited for beyond.
    pub deadline: Duration,
}

impl Default for Terms {
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

/// One object's way.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Its nodes, stage by stage.
    pub stages: Vec<Vec<NodeId>>,
    /// On what each stage but the last sends.
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

impl Lane {
    /// That of `object` in packets of `payload_bytes` over `plan`, of nodes called `ids`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where it does not begin with one source and end with one sink, or makes too many
    /// packets.
    pub fn new(
        plan: &StagePlan,
        ids: &[NodeId],
        object: &[u8],
        payload_bytes: u8,
    ) -> Result<Self, Failure> {
        let named =
            |stage: &Vec<usize>| stage.iter().filter_map(|n| ids.get(*n).copied()).collect();
        let stages: Vec<Vec<NodeId>> = plan.stages.iter().map(named).collect();
        let ends = (
            stages.first().map(Vec::as_slice),
            stages.last().map(Vec::as_slice),
        );
        let (Some(&[source]), Some(&[sink])) = ends else {
            let why = "stages begin with one source and end with one sink";
            return Err(Failure::Unfit(why.to_owned()));
        };
        let packets = object.len().div_ceil(usize::from(payload_bytes.max(1)));
        let packets = u16::try_from(packets);
        Ok(Self {
            stages,
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
    /// All who take part, with their stages.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, usize)> + Clone + '_ {
        let stages = self.stages.iter().enumerate();
        stages.flat_map(|(stage, nodes)| nodes.iter().map(move |node| (*node, stage)))
    }
}

/// How a family carries `lanes`, at the same time.
pub struct Way<E: Engine> {
    /// The engine of a node.
    pub node: Box<dyn Fn(NodeId) -> E>,
    /// The streams, which events call by their places here.
    pub lanes: Vec<Lane>,
    /// On what terms.
    pub terms: Terms,
    /// Orders that set nodes up, and how long before the first call.
    pub set_up: (Vec<(NodeId, E::Command)>, Duration),
    /// Who is ordered what for call number .1, from 0, of stream .0, of whose packets .2 are there. A source
    /// that is ordered itself begins at once.
    #[allow(clippy::type_complexity)]
    pub call: Box<dyn Fn(usize, u32, &[bool]) -> (NodeId, E::Command)>,
    /// The order that frees the sink of a stream, if there is one.
    pub close: fn(usize) -> Option<E::Command>,
    /// How often what is missing is called.
    pub retry: Retry,
    /// Who tells that a call is over.
    pub over: Over,
    /// Of which stream an event is, and what it means.
    pub heard: fn(&E::Event) -> (usize, Heard),
}

/// Who tells that a call is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The sink, as it ends.
    Sink,
    /// The sink, as its radios sleep again.
    Left,
    /// The source, as it ends.
    Source,
    /// Nobody: all is there, or nothing came for so long.
    Silence(Duration),
}

/// What an event means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Heard {
    /// The source begins.
    Begun,
    /// A packet is there, in this round, from 0; where none is told, calls are rounds.
    Arrived(u16, Option<u8>),
    /// A round is over at the sink, which has so much of all, 0 to 1.
    RoundOver(f64),
    /// The stream ended at this node.
    Ended(End),
    /// This node's radios sleep again.
    Left,
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
    /// It was told to leave.
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
