//! What any protocol on carrier sense and a tree stands on: one queue, one frame at a time.
//!
//! [`Node`] is the engine of a whole mote: a [`Stack`] of medium access, routes, queue and
//! [`Discipline`], and on top what makes the node's own packets, [`Upper`]. Hop-by-hop schemes and
//! end-to-end transports vary apart. Time base: the node's clock. Invariants: a packet that was taken
//! is delivered, dropped with a reason, or waits; the queue never exceeds its limit. Does not model:
//! several queues (a packet that is held holds those behind it). Tests: `tests.rs`.

mod discipline;
mod lower;
mod node;
mod readings;
mod recent;
#[cfg(test)]
mod tests;
mod upper;

pub use discipline::{ChannelState, Discipline, Fill, Gate, Hop, Open, Overheard};
pub use lower::Stack;
pub use node::{Command, Event, Node};
pub use readings::{Application, Reading, Readings, Schedule};
pub use recent::Sighting;
pub use upper::{Room, Upper};

use crate::csma;
use crate::tree::{Role, Routing};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// The most packets that a queue can be set to hold, where a node's type does not say otherwise.
pub const MAX_QUEUE: usize = 16;

/// How many packets a queue takes; as many as the node's type has room for at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// While fewer are in it, it takes any; none counts as one.
    pub packets: u8,
    /// The node's own are taken beyond that, while fewer than so many more are in it.
    pub own: u8,
}

impl Queue {
    /// One that takes so many, whoever made them.
    pub const fn of(packets: u8) -> Self {
        Self { packets, own: 0 }
    }
    const fn transit(self) -> usize {
        if self.packets == 0 {
            return 1;
        }
        self.packets as usize
    }
    const fn room(self) -> usize {
        self.transit() + self.own as usize
    }
}

/// What a node is, whatever holds back its queue and stands on top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Its address.
    pub id: NodeId,
    /// The channel.
    pub channel: Channel,
    /// Its medium access.
    pub mac: csma::Config,
    /// What it does in the tree.
    pub role: Role,
    /// How the tree is found.
    pub routing: Routing,
    /// Packets that its queue holds.
    pub queue: Queue,
    /// Of backoffs and jitter.
    pub seed: u64,
}

/// A packet at a node.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Which way it goes.
    pub direction: Direction,
    /// Who made it.
    pub origin: NodeId,
    /// Its number there.
    pub number: u16,
    /// Links that it has crossed.
    pub hops: u8,
    /// What it carries.
    pub payload: FrameBuf,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drop {
    /// The queue was full.
    Buffer,
    /// No transmission of it was acknowledged.
    Retries,
    /// The channel was busy for too long.
    ChannelBusy,
    /// It went round in circles.
    Hops,
}

/// How a packet left a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// The next hop acknowledged it.
    Passed,
    /// It was dropped.
    Dropped(Drop),
}
