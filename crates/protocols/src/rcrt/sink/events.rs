//! A sink's events, counts of what it refused, views of its flows, and what a store keeps of them.

use super::adapt::Why;
use thalweg_units::NodeId;
use thalweg_wire::rcrt::{Flow, Proof};
use thalweg_wire::FrameBuf;

/// Events of a sink.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A connection stands.
    Opened {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// Which of the flow's connections.
        connection: u8,
        /// The rate that it wants.
        demand: f64,
    },
    /// The next packet of a flow.
    Delivered {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// Which of the flow's connections.
        connection: u8,
        /// Its number. The connection's first is 0, or what the source said where this sink had forgotten the
        /// connection.
        sequence: u64,
        /// What it carries.
        payload: FrameBuf,
    },
    /// The total rate has changed, and with it those of all flows.
    Assigned {
        /// Packets per second, R.
        total: f64,
        /// What for.
        why: Why,
    },
    /// Everything of a connection was delivered, and the source has nothing more.
    Finished {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// Which of the flow's connections.
        connection: u8,
        /// What it was, where its source said that it was an object.
        proof: Option<Proof>,
    },
    /// A connection has given way to another of its flow before everything was delivered: its source restarted.
    Closed {
        /// The source.
        origin: NodeId,
        /// Its flow.
        flow: Flow,
        /// The connection that is gone.
        connection: u8,
    },
}

/// Input that was refused, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// No message of a source.
    pub malformed: u64,
    /// Of a connection that is not there.
    pub unknown: u64,
    /// Asks for the connection before the one that the flow has: it was long on its way.
    pub outdated: u64,
    /// A demand that is none.
    pub demands: u64,
    /// A flow beyond those that there is room for.
    pub flows: u64,
    /// A sequence number that no source sends which keeps to its window.
    pub sequences: u64,
    /// In a secured network: not sealed with its origin's keys.
    pub forged: u64,
}

/// What a store has kept of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saved {
    /// The source.
    pub origin: NodeId,
    /// Its flow.
    pub flow: Flow,
    /// The connection.
    pub connection: u8,
    /// The rate that it wants.
    pub demand: f64,
    /// Everything before it was delivered.
    pub next: u64,
    /// Whether that was everything.
    pub completion: Completion,
}

/// Whether a flow has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// It has not.
    Open,
    /// Everything was delivered.
    Complete,
}

/// A flow as others see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The source.
    pub origin: NodeId,
    /// Its flow.
    pub flow: Flow,
    /// Which of the flow's connections.
    pub connection: u8,
    /// The rate that it wants, d, packets per second.
    pub demand: f64,
    /// The rate that it has, r.
    pub rate: f64,
    /// Its congestion level, C.
    pub congestion: f64,
    /// Share of its packets that need no repair, p.
    pub delivery: f64,
    /// Its mean round trip, seconds.
    pub rtt_s: f64,
    /// Packets delivered.
    pub next: u64,
    /// Packets that were missing before they came: repaired end to end, or overtaken on the way.
    pub repaired: u64,
    /// Feedbacks sent to it.
    pub feedbacks: u64,
}
