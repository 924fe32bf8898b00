//! A base station's mote: hands up every packet that ends at it, and sends down what its computer gives it
//! (RCRT, section 4.1: the sink's functions run on a PC).
//!
//! Time base: the node's clock. Invariant: what does not fit is refused and reported. Tests: `source/tests.rs`.

use crate::ring::Fifo;
use crate::stack::{Packet, Room, Upper};
use thalweg_units::{Instant, NodeId};
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// Messages that wait for the stack. One per node that is answered is what a network's sink needs at most.
const MAX_WAITING: usize = 64;
/// Packets that wait to be handed up: the computer gets each at once.
const MAX_HANDED: usize = 4;

/// A message on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// The node that it is for.
    pub to: NodeId,
    /// What it says.
    pub message: FrameBuf,
}

/// What is handed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// A packet came in.
    Packet {
        /// Who made it.
        origin: NodeId,
        /// Its number there.
        number: u16,
        /// Links that it crossed.
        hops: u8,
        /// What it carries.
        message: FrameBuf,
    },
    /// There was no room for a message to this node.
    NoRoom {
        /// The node.
        to: NodeId,
    },
}

/// The mote.
#[derive(Debug)]
pub struct Base {
    waiting: Fifo<Send, MAX_WAITING>,
    handed: Fifo<Handed, MAX_HANDED>,
}

impl Base {
    /// With nothing to send.
    pub fn new() -> Self {
        // Made in place: a constant of 8 kB would be in an image's flash.
        Self {
            waiting: Fifo::new(MAX_WAITING),
            handed: Fifo::new(MAX_HANDED),
        }
    }
}
impl Default for Base {
    fn default() -> Self {
        Self::new()
    }
}

impl Upper for Base {
    type Command = Send;
    type Event = Handed;

    fn handle_command(&mut self, _now: Instant, send: Send) {
        if let Err(Send { to, .. }) = self.waiting.push(send) {
            self.handed.remember(Handed::NoRoom { to });
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_event(&mut self) -> Option<Handed> {
        self.handed.pop()
    }
    fn next(
        &mut self,
        _now: Instant,
        mut room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        let direction = Direction::Down {
            to: self.waiting.front()?.to,
        };
        if room(direction) == Room::Taken {
            return None;
        }
        self.waiting.pop().map(|send| (direction, send.message))
    }
    fn arrived(&mut self, _now: Instant, packet: &Packet) {
        self.handed.remember(Handed::Packet {
            origin: packet.origin,
            number: packet.number,
            hops: packet.hops,
            message: packet.payload,
        });
    }
    fn stop(&mut self) {
        self.waiting.clear();
    }
}
