//! What is above the stack in a session: a mote's source, or a base station's mote.

use crate::object::{Lends, ObjectInfo, ObjectStore};
use crate::rcrt::source::{self, Order, Ready, Source, Supply};
use crate::rcrt::{Base, Handed, Send};
use crate::stack::Upper;
use crate::tree::Role;
use core::fmt;
use thalweg_units::Instant;
use thalweg_wire::rcrt::{Flow, Proof, Rate, PAPER_PAYLOAD_BYTES};
use thalweg_wire::{WireError, Writer};

/// The one flow of a source.
pub const FLOW: Flow = Flow { sink: 0, number: 0 };
/// Packets that may be unacknowledged: a sink's window.
const WINDOW: u16 = 1_024;

/// A place above the stack, at a node whose objects are in `S`.
pub trait Seat<S>: Upper<Event: fmt::Debug> {
    /// What the node does in the tree.
    const ROLE: Role;
    /// Takes the place.
    fn take(store: &S) -> Self;
    /// The order for a source that wants this rate, where it is one.
    fn begin(rate: Rate) -> Option<Self::Command>;
    /// The order to send a message down, where it is a base station's.
    fn send(send: Send) -> Option<Self::Command>;
    /// What it hands up.
    fn told(event: Self::Event) -> Option<Handed>;
}

impl<S: Lends> Seat<S> for Source<Packets<S::Loan>> {
    const ROLE: Role = Role::Router;

    fn take(store: &S) -> Self {
        Self::new(source::Config::PAPER, Packets::of(store.lend()))
    }
    fn begin(demand: Rate) -> Option<Order> {
        // The sink is as new as the session, and knows no other connection.
        let (flow, connection) = (FLOW, 1);
        Some(Order::Open {
            flow,
            connection,
            demand,
        })
    }
    fn send(_send: Send) -> Option<Order> {
        None
    }
    fn told(_event: source::Event) -> Option<Handed> {
        None
    }
}

impl<S> Seat<S> for Base {
    const ROLE: Role = Role::Sink;

    fn take(_store: &S) -> Self {
        Self::new()
    }
    fn begin(_rate: Rate) -> Option<Send> {
        None
    }
    fn send(send: Send) -> Option<Send> {
        Some(send)
    }
    fn told(event: Handed) -> Option<Handed> {
        Some(event)
    }
}

/// A node's object as the packets of its flow, which stay where the object is.
#[derive(Debug)]
pub struct Packets<S> {
    store: S,
    info: ObjectInfo,
}

impl<S: ObjectStore> Packets<S> {
    const BYTES: u32 = PAPER_PAYLOAD_BYTES as u32;

    /// Of what `store` has now.
    pub fn of(store: S) -> Self {
        let info = store.info();
        Self { store, info }
    }
}

impl<S: ObjectStore> Supply for Packets<S> {
    fn room(&self) -> u16 {
        WINDOW
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, sequence: u32) -> Ready {
        match sequence < self.info.len.div_ceil(Self::BYTES) {
            true => Ready::Packet,
            false => Ready::End,
        }
    }
    fn read(&mut self, _flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        let offset = sequence.saturating_mul(Self::BYTES);
        let left = self.info.len.saturating_sub(offset).min(Self::BYTES);
        let mut room = [0; PAPER_PAYLOAD_BYTES];
        let bytes = room.get_mut(..left as usize).unwrap_or_default();
        self.store.read(offset, bytes);
        w.bytes(bytes).map(|_| ())
    }
    fn proof(&self, _flow: Flow) -> Option<Proof> {
        let ObjectInfo { len, digest } = self.info;
        Some(Proof { len, digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_wire::FrameBuf;

    /// Byte n is n.
    struct Numbers;

    impl ObjectStore for Numbers {
        fn info(&self) -> ObjectInfo {
            ObjectInfo {
                len: 130,
                digest: [7; 8],
            }
        }
        fn read(&self, offset: u32, into: &mut [u8]) {
            for (n, byte) in (offset..).zip(into) {
                *byte = n as u8;
            }
        }
        fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), crate::object::NoRoom> {
            Err(crate::object::NoRoom)
        }
    }

    #[test]
    fn an_object_is_cut_into_packets_and_proved() {
        let mut packets = Packets::of(Numbers);
        let ready = [0, 2, 3].map(|n| packets.poll(Instant::ZERO, FLOW, n));
        assert_eq!(ready, [Ready::Packet, Ready::Packet, Ready::End]);
        let lengths = [0, 1, 2].map(|n| {
            let packet = FrameBuf::build(|w| packets.read(FLOW, n, w)).unwrap();
            assert_eq!(u32::from(packet[0]), 64 * n);
            packet.len()
        });
        assert_eq!(lengths, [64, 64, 2]);
        assert_eq!(packets.proof(FLOW).map(|proof| proof.len), Some(130));
    }
}
