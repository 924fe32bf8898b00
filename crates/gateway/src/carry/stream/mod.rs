//! Streams: objects along paths or stages of nodes with two radios, whatever carries them. One job orders,
//! follows, rests, orders again what is missing, meters and takes; a family is a [`Way`].
//!
//! Time base: field time. Invariants: nothing is waited for beyond [`Rules::deadline`]; an object is handed out
//! only where length and digest are those that were known beforehand, since no stream's frame has them.
//! Where the source is no station, nobody tells that it begins: then the first packet at the sink is the
//! beginning. Tests: `tests/flaky.rs`, `crates/lab/tests/streams/`.

mod job;
mod log;

pub use job::Fetch;
pub use log::{arrived, LinkReport, Stream};

use crate::job::{Failure, Retry};
use crate::object::Holds;
use std::fmt;
use thalweg_engine::Engine;
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::fastforward::Config;
use thalweg_protocols::object::ObjectInfo;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::{phy, stream};

/// A stream that ended at its sink may still be ending at other nodes: those leave it when it is silent for
/// a second.
pub const REST: Duration = Duration::from_millis(1500);

/// An order to a way's nodes.
pub type OrderOf<W> = <<W as Way>::Node as Engine>::Command;
/// What they tell.
pub type EventOf<W> = <<W as Way>::Node as Engine>::Event;

/// What a family of streams has of its own.
pub trait Way {
    /// The engine of every node.
    type Node: Engine + Holds;

    /// The engine of node `id`.
    fn node(&self, id: NodeId) -> Self::Node;
    /// When its streams begin and are over.
    fn rules(&self) -> Rules;
    /// Orders that set nodes up before the first call.
    fn set_up(&self) -> Vec<(NodeId, OrderOf<Self>)> {
        Vec::new()
    }
    /// Sinks call the streams of a lower number first.
    fn turn(&self, _which: usize) -> u8 {
        0
    }
    /// Call number `call`, from 0, of stream `which`, and who is ordered to make it; packets are there that
    /// `have` has. A source that is ordered itself begins at once.
    fn call(&self, which: usize, call: u32, have: &[bool]) -> (NodeId, OrderOf<Self>);
    /// The order that frees the sink of stream `which`.
    fn close(&self, _which: usize) -> Option<OrderOf<Self>> {
        None
    }
    /// Which stream an event is of.
    fn stream_of(_event: &EventOf<Self>) -> usize {
        0
    }
    /// What it means that a node in this role tells `event`.
    fn heard(by: Role, event: &EventOf<Self>) -> Heard;
}

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

/// When streams begin and are over.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// From the orders that set nodes up to the first call.
    pub settling: Duration,
    /// Nobody tells the end: a stream is over when all is there, or nothing came for so long.
    pub silence: Option<Duration>,
    /// After all are over, until what is missing is called again.
    pub rest: Duration,
    /// How often.
    pub retry: Retry,
    /// From the first call on.
    pub deadline: Duration,
}

/// A node's place in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has the object.
    Source,
    /// It is to have it.
    Sink,
    /// It forwards.
    Relay,
}

/// What an event means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Heard {
    /// The source begins.
    Begun,
    /// A packet is at the sink, in this round, from 0; where none is told, calls are rounds.
    Arrived(u16, Option<u8>),
    /// A round is over at the sink, which has so much of all, 0 to 1.
    RoundOver(f64),
    /// The stream ended at this node.
    Ended(End),
    /// It is over, so far as anybody will tell, and ended here so.
    Over(Option<End>),
    /// What was ordered cannot be done.
    Refused(&'static str),
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
    /// It was told to leave, or did not take the call.
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

/// The nodes of `plan`, one of each stage, by their names: the path, where each stage has one.
pub(super) fn path<'a>(
    plan: &'a StagePlan,
    ids: &'a [NodeId],
) -> impl Iterator<Item = NodeId> + 'a {
    let stages = plan.stages.iter();
    stages.filter_map(|stage| ids.get(*stage.first()?).copied())
}

/// One object's way.
#[derive(Debug, Clone)]
pub struct Lane {
    /// All who take part, stage by stage.
    pub nodes: Vec<NodeId>,
    /// Who has the object.
    pub source: NodeId,
    /// The base station.
    pub sink: NodeId,
    /// The object, as its source has it.
    pub object: ObjectInfo,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
}

impl Lane {
    /// That of `object` over `plan`, of nodes called `ids`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where it does not begin with one source and end with one sink.
    pub fn new(
        plan: &StagePlan,
        ids: &[NodeId],
        object: ObjectInfo,
        payload_bytes: u8,
    ) -> Result<Self, Failure> {
        let of = |n: usize| ids.get(n).copied();
        let ends = (plan.stages.first(), plan.stages.last());
        let ends = match ends {
            (Some(one), Some(last)) if one.len() == 1 && last.len() == 1 => {
                (of(one[0]), of(last[0]))
            }
            _ => (None, None),
        };
        let (Some(source), Some(sink)) = ends else {
            let why = "stages begin with one source and end with one sink";
            return Err(Failure::Unfit(why.to_owned()));
        };
        Ok(Self {
            nodes: plan.stages.concat().into_iter().filter_map(of).collect(),
            source,
            sink,
            object,
            payload_bytes,
        })
    }
    /// Packets that the object makes.
    pub fn packets(&self) -> u32 {
        self.object
            .len
            .div_ceil(u32::from(self.payload_bytes.max(1)))
    }
    /// The place of `node`.
    pub fn role(&self, node: NodeId) -> Role {
        match node {
            node if node == self.sink => Role::Sink,
            node if node == self.source => Role::Source,
            _ => Role::Relay,
        }
    }
    /// Bytes of a full packet on the air, preamble and headers included.
    pub fn air_bytes(&self) -> u32 {
        let mpdu = stream::HEADER_BYTES + usize::from(self.payload_bytes);
        (phy::air_time(mpdu).as_nanos() / phy::BYTE.as_nanos()) as u32
    }
}
