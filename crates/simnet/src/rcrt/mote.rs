//! The program above a node's stack: a base station, an RCRT source, or an application without a transport.
//! Tests: `crates/lab/src/experiment/rcrt/tests.rs`.

use thalweg_protocols::rcrt::source::{Event as SourceEvent, Order, Ready, Source, Supply};
use thalweg_protocols::rcrt::{Base, Handed, Send};
use thalweg_protocols::seals::SessionSeals;
use thalweg_protocols::stack::{Gone, Packet, Readings, Room, Schedule, Upper};
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::Flow;
use thalweg_wire::seal::SoftwareAes;
use thalweg_wire::tree::Direction;
use thalweg_wire::{FrameBuf, WireError, Writer};

/// Flows of a node: one for each of the applications that any experiment has.
pub(super) const FLOWS: usize = 4;

/// Packets made on the spot, always the same bytes: a flash buffer of so many packets.
#[derive(Debug)]
pub(super) struct Synthetic {
    id: NodeId,
    /// Packets of each flow, by the flow's sink.
    packets: [u32; FLOWS],
    bytes: usize,
    room: u16,
}

impl Synthetic {
    /// Flows to sink k have `packets[k]` packets of `bytes` each; `room` may be unacknowledged.
    pub(super) const fn new(id: NodeId, packets: [u32; FLOWS], bytes: usize, room: u16) -> Self {
        Self {
            id,
            packets,
            bytes,
            room,
        }
    }
    /// Byte `k` of packet `sequence`.
    const fn byte(id: NodeId, flow: Flow, sequence: u32, k: usize) -> u8 {
        let number = match k {
            0..4 => (sequence >> (8 * k)) as u8,
            _ => (sequence as u8).wrapping_mul(31) ^ k as u8,
        };
        number ^ flow.sink ^ id.get() as u8
    }
    /// Whether `payload` is packet `sequence` of `id`.
    pub(super) fn is(id: NodeId, flow: Flow, sequence: u64, payload: &[u8]) -> bool {
        let byte = |k| Self::byte(id, flow, sequence as u32, k);
        let mut bytes = payload.iter().enumerate();
        !payload.is_empty() && bytes.all(|(k, received)| *received == byte(k))
    }
}

impl Supply for Synthetic {
    fn room(&self) -> u16 {
        self.room
    }
    fn poll(&mut self, _now: Instant, flow: Flow, sequence: u32) -> Ready {
        let packets = self.packets.get(usize::from(flow.sink)).copied();
        match packets.is_some_and(|packets| sequence < packets) {
            true => Ready::Packet,
            false => Ready::End,
        }
    }
    fn read(&mut self, flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        for k in 0..self.bytes {
            w.u8(Self::byte(self.id, flow, sequence, k))?;
        }
        Ok(())
    }
}

/// The program above a node's stack.
#[derive(Debug)]
pub(super) enum Program<S> {
    /// A base station.
    Base(Box<Base>),
    /// RCRT.
    Source(Box<Source<S, FLOWS, Option<Seals>>>),
    /// An application that sends without a transport.
    Readings(Readings),
}

/// A node's seals in a session.
pub(super) type Seals = SessionSeals<SoftwareAes>;

/// Orders to a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramOrder {
    /// To a base station.
    Send(Send),
    /// To a source.
    Source(Order),
    /// To an application.
    Readings(Schedule),
}

/// Events of a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramEvent {
    /// Of a base station.
    Base(Handed),
    /// Of a source.
    Source(SourceEvent),
    /// Of an application; its readings are known beforehand.
    Readings,
}

impl<S: Supply> Upper for Program<S> {
    type Command = ProgramOrder;
    type Event = ProgramEvent;

    fn handle_command(&mut self, now: Instant, order: ProgramOrder) {
        match (self, order) {
            (Self::Base(base), ProgramOrder::Send(send)) => base.handle_command(now, send),
            (Self::Source(source), ProgramOrder::Source(order)) => {
                source.handle_command(now, order);
            }
            (Self::Readings(it), ProgramOrder::Readings(schedule)) => {
                it.handle_command(now, schedule);
            }
            // Not its kind of order.
            _ => {}
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Base(base) => base.poll_timeout(),
            Self::Source(source) => source.poll_timeout(),
            Self::Readings(readings) => readings.poll_timeout(),
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Base(base) => base.handle_timeout(now),
            Self::Source(source) => source.handle_timeout(now),
            Self::Readings(readings) => readings.handle_timeout(now),
        }
    }
    fn poll_event(&mut self) -> Option<ProgramEvent> {
        match self {
            Self::Base(base) => base.poll_event().map(ProgramEvent::Base),
            Self::Source(source) => source.poll_event().map(ProgramEvent::Source),
            Self::Readings(readings) => readings.poll_event().map(|_| ProgramEvent::Readings),
        }
    }
    fn next(
        &mut self,
        now: Instant,
        room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        match self {
            Self::Base(base) => base.next(now, room),
            Self::Source(source) => source.next(now, room),
            Self::Readings(readings) => readings.next(now, room),
        }
    }
    fn arrived(&mut self, now: Instant, packet: &Packet) {
        match self {
            Self::Base(base) => base.arrived(now, packet),
            Self::Source(source) => source.arrived(now, packet),
            Self::Readings(readings) => readings.arrived(now, packet),
        }
    }
    fn gone(&mut self, now: Instant, packet: &Packet, how: Gone) {
        if let Self::Readings(readings) = self {
            readings.gone(now, packet, how);
        }
    }
    fn stop(&mut self) {
        match self {
            Self::Base(base) => base.stop(),
            Self::Source(source) => source.stop(),
            Self::Readings(readings) => readings.stop(),
        }
    }
}
