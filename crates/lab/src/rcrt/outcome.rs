//! What came of a run: when each flow's packets arrived, what rates it was given, how the tree changed.
//!
//! Times are seconds after routes have settled. Invariant: a packet counts once, and only with the bytes
//! that its source sent.

use super::mote::{Heard, Synthetic};
use super::setup::{Flow, Setup};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_protocols::rcrt::sink::{Event as SinkEvent, Sink};
use thalweg_protocols::rcrt::source::{Message, Told};
use thalweg_protocols::stack::{Drop, Event, Gone};
use thalweg_sim::Aired;
use thalweg_units::{Instant, NodeId, SimTime};
use thalweg_wire::rcrt::{Says, Up};

/// What came of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowOutcome {
    /// What was asked.
    pub flow: Flow,
    /// When the sink accepted it.
    pub opened: Option<f64>,
    /// When it was closed with everything delivered.
    pub ended: Option<f64>,
    /// When each packet was given to the application, in order; without a transport when it came in.
    pub delivered: Vec<f64>,
    /// When each packet came in first, and its number.
    pub arrived: Vec<(f64, u32)>,
    /// Packets whose first copy at the sink was an end-to-end retransmission.
    pub repaired: u32,
    /// Feedbacks sent to it.
    pub feedbacks: u32,
    /// Packets given to the application out of order, twice, or with other bytes: none, ever.
    pub wrong: u32,
    /// Its rate, each time that it changed.
    pub rates: Vec<(f64, f64)>,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Of each flow.
    pub flows: Vec<FlowOutcome>,
    /// Each node's parents, and since when.
    pub parents: Vec<Vec<(f64, Option<NodeId>)>>,
    /// Data frames sent over single links, and those of them that did not arrive.
    pub frames: (u64, u64),
    /// Packets dropped on their way, by cause.
    pub dropped: BTreeMap<Drop, u64>,
    /// Frames on the air.
    pub air_frames: u64,
    /// How long it took.
    pub lasted: f64,
    begins: SimTime,
    ids: Vec<NodeId>,
    index: BTreeMap<(NodeId, u8), usize>,
    /// Numbers of packets that a node's stack took, until it is known what is in them.
    taken: BTreeMap<usize, VecDeque<u16>>,
    /// Packets that are end-to-end retransmissions.
    again: BTreeSet<(NodeId, u16)>,
    /// Packets that came in: without a transport by the stack's number.
    seen: BTreeSet<(usize, u32)>,
    best_effort: bool,
}
