//! The layer on top of a node's stack: an application, or a transport with its applications.

use super::{Gone, Packet};
use thalweg_units::Instant;
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// Whether the stack takes a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It does.
    Free,
    /// Its queue is full, or its discipline holds the node's own packets back.
    Taken,
}

/// The layer above a [`Stack`](super::Stack). Time base: the node's clock. Drained as engines are:
/// after every call, [`Upper::next`] and [`Upper::poll_event`] until they give nothing.
pub trait Upper {
    /// What its own layer above orders.
    type Command;
    /// Its events.
    type Event;

    /// Takes an order.
    fn handle_command(&mut self, now: Instant, command: Self::Command);
    /// When it wants [`Upper::handle_timeout`].
    fn poll_timeout(&self) -> Option<Instant>;
    /// The instant that [`Upper::poll_timeout`] named may have come.
    fn handle_timeout(&mut self, now: Instant);
    /// The next event, until `None`.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// Its next packet, and which way it goes. `room` says whether the stack takes one that goes so:
    /// to be asked only about a packet that is there, since a discipline may count from then on. One that is handed
    /// over without room is dropped, with its reason.
    fn next(
        &mut self,
        now: Instant,
        room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)>;
    /// A packet that ends at this node.
    fn arrived(&mut self, _now: Instant, _packet: &Packet) {}
    /// A packet of its own has left this node, or was dropped there.
    fn gone(&mut self, _now: Instant, _packet: &Packet, _how: Gone) {}
    /// Until when it has nothing to send; none where it has something, or does not know.
    fn idle_until(&self) -> Option<Instant> {
        None
    }
    /// The node is switched off for good: nothing is due any more.
    fn stop(&mut self);
}
