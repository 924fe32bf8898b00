//! What a node of dual-radio P3 is told and tells.

use thalweg_units::{Duration, NodeId, Tuning};

/// The most packets of an object: a sink remembers which it has.
pub const MAX_PACKETS: usize = 10_048;

/// A node's place in the pipeline. Stage 0 is the source, the last the sink; all nodes of a stage have
/// the same configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The stream's name.
    pub stream: u8,
    /// Who began it: the address in all its frames, so that those of a stage's relays are the same.
    pub source: NodeId,
    /// Which stage the node is in.
    pub stage: u8,
    /// On what packets come in; none at the source.
    pub inward: Option<Tuning>,
    /// On what they go on, in the other band; none at the sink.
    pub outward: Option<Tuning>,
    /// How many links there are from source to sink.
    pub hops: u8,
    /// Payload bytes of every packet.
    pub payload_bytes: u8,
    /// From one packet of the source to its next.
    pub cycle: Duration,
    /// From the last byte in to the first preamble symbol out, at every relay.
    pub gap: Duration,
}

/// Orders to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Take this place.
    Join(Config),
    /// Take this place again, in a stream that broke off: a sink keeps what it has.
    Rejoin(Config),
    /// This node is the source: ask which of so many packets are missing, and send those.
    Ask(u16),
    /// This node is the source: send so many packets of what the store holds.
    Send(u16),
    /// Leave the pipeline; both radios sleep.
    Leave,
}

/// How a stream ended at its source or sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All packets are at the sink.
    Complete,
    /// The source asked again and again what is missing, and nothing came.
    Silent,
}

/// What a node tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The sink was given a packet that it had not.
    Received {
        /// The packet.
        number: u16,
        /// In which round, 0 being the first.
        round: u8,
    },
    /// The sink heard that a round is over.
    RoundOver {
        /// Which.
        round: u8,
        /// Packets that it has.
        have: u16,
        /// Of how many.
        packets: u16,
    },
    /// It is over.
    Ended(End),
}

/// What happened at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that came in, first or again.
    pub heard: u32,
    /// Data packets sent, each round's counted.
    pub sent: u32,
    /// Frames that could not be sent in time.
    pub late: u32,
}
