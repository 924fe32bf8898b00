//! Orders to a base station and events from it, whatever its program: a mote's orders and events
//! ([`crate::mote::host`]), and those of a session of RCRT. `docs/line.md` lists them.
//!
//! Invariants: one order has one encoding, and so has one event; a session names each source once, in order of
//! addresses. Tests: at the end, `mote/tests/on_line.rs`.

use crate::mote::{self, host, Command};
use crate::rcrt::{Handed, Send};
use thalweg_units::NodeId;
use thalweg_wire::phy::MAX_MPDU;
use thalweg_wire::rcrt::Rate;
use thalweg_wire::{FrameBuf, Reader, WireError, Writer};

const SESSION: u8 = 7;
const SEND: u8 = 8;

const HANDED: u8 = 0x40;
const NO_ROOM: u8 = 0x41;
const BEGUN: u8 = 0x42;
const NOT_BEGUN: u8 = 0x43;
/// Numbers of reasons are their places in this list.
const REASONS: [NotBegun; 2] = [NotBegun::NoSuchNode, NotBegun::NotCarried];

/// Bytes of a source: its address, and the rate that it wants.
const SOURCE_BYTES: usize = 4;
/// The most bytes of an event.
pub const MAX_EVENT_BYTES: usize = 6 + MAX_MPDU;

/// The most bytes of an order that names `nodes` nodes at most.
pub const fn max_order_bytes(nodes: usize) -> usize {
    let (of_motes, session) = (host::max_order_bytes(nodes), 3 + SOURCE_BYTES * nodes);
    if of_motes > session {
        of_motes
    } else {
        session
    }
}

/// An order to a base station. All but [`Order::Send`] end a session that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub enum Order<'a, const NODES: usize> {
    /// To its node as a mote.
    Mote(Command<NODES>),
    /// These nodes are to send, until another order comes.
    Session(Sources<'a>),
    /// A message of the sink beside it, to a source.
    Send(Send),
}

/// The sources of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources<'a>(&'a [u8]);

/// Why a session does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotBegun {
    /// A source is no node of the network, or the base station.
    NoSuchNode,
    /// Its nodes do not carry sessions.
    NotCarried,
}

/// Events of a base station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// As a mote.
    Mote(mote::Event),
    /// The session that was ordered runs.
    Begun,
    /// It does not.
    NotBegun(NotBegun),
    /// In a session.
    Handed(Handed),
}

impl<'a> Sources<'a> {
    /// Writes the order for a session of `sources`, with the rates that they want.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] where there is none, or they are not in order of addresses.
    pub fn order(sources: &[(NodeId, Rate)], w: &mut Writer<'_>) -> Result<(), WireError> {
        let rising = sources.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let count = u16::try_from(sources.len()).ok();
        let count = count.filter(|count| *count > 0 && rising);
        w.u8(SESSION)?.u16(count.ok_or(WireError::Malformed)?)?;
        for (node, rate) in sources {
            w.u16(node.get())?.u16(rate.to_wire())?;
        }
        Ok(())
    }
    fn parse(r: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = usize::from(r.u16()?);
        let sources = Self(r.bytes(SOURCE_BYTES * count)?);
        let mut before = None;
        let mut all = Reader::new(sources.0);
        while all.remaining() > 0 {
            let (node, _) = (all.node()?, all.u16()?);
            if before.is_some_and(|before| before >= node) {
                return Err(WireError::Malformed);
            }
            before = Some(node);
        }
        match before {
            None => Err(WireError::Malformed),
            Some(_) => Ok(sources),
        }
    }
    /// The sources, and the rates that they want.
    pub fn iter(self) -> impl Iterator<Item = (NodeId, Rate)> + 'a {
        let each = self.0.chunks_exact(SOURCE_BYTES);
        each.filter_map(|bytes| {
            let mut r = Reader::new(bytes);
            Some((r.node().ok()?, Rate::from_wire(r.u16().ok()?)))
        })
    }
}

impl<'a, const NODES: usize> Order<'a, NODES> {
    /// Reads an order.
    ///
    /// # Errors
    /// [`WireError`], as [`Command::parse`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        match r.u8()? {
            SESSION => {
                let sources = Sources::parse(&mut r)?;
                r.end().map(|()| Self::Session(sources))
            }
            SEND => Ok(Self::Send(Send {
                to: r.node()?,
                message: FrameBuf::from_slice(r.rest())?,
            })),
            _ => Command::parse(bytes).map(Self::Mote),
        }
    }

    /// Writes the order.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], and as [`Command::emit`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Mote(command) => command.emit(w),
            Self::Session(Sources(bytes)) => {
                let count = (bytes.len() / SOURCE_BYTES) as u16;
                w.u8(SESSION)?.u16(count)?.bytes(bytes).map(|_| ())
            }
            Self::Send(Send { to, message }) => {
                w.u8(SEND)?.u16(to.get())?.bytes(message).map(|_| ())
            }
        }
    }
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let event = match r.u8()? {
            HANDED => {
                return Ok(Self::Handed(Handed::Packet {
                    origin: r.node()?,
                    number: r.u16()?,
                    hops: r.u8()?,
                    message: FrameBuf::from_slice(r.rest())?,
                }))
            }
            NO_ROOM => Self::Handed(Handed::NoRoom { to: r.node()? }),
            BEGUN => Self::Begun,
            NOT_BEGUN => {
                let why = REASONS.get(usize::from(r.u8()?));
                Self::NotBegun(*why.ok_or(WireError::Malformed)?)
            }
            _ => return mote::Event::parse(bytes).map(Self::Mote),
        };
        r.end()?;
        Ok(event)
    }

    /// Writes the event, at most [`MAX_EVENT_BYTES`].
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Mote(event) => event.emit(w),
            Self::Begun => w.u8(BEGUN).map(|_| ()),
            Self::NotBegun(why) => {
                let place = REASONS.iter().position(|reason| reason == why);
                let place = place.ok_or(WireError::Malformed)?;
                w.u8(NOT_BEGUN)?.u8(place as u8).map(|_| ())
            }
            Self::Handed(Handed::Packet {
                origin,
                number,
                hops,
                message,
            }) => {
                w.u8(HANDED)?.u16(origin.get())?.u16(*number)?;
                w.u8(*hops)?.bytes(message).map(|_| ())
            }
            Self::Handed(Handed::NoRoom { to }) => w.u8(NO_ROOM)?.u16(to.get()).map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn written(write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>) -> Vec<u8> {
        let mut room = [0; 1024];
        let mut w = Writer::new(&mut room);
        write(&mut w).unwrap();
        let len = w.len();
        room[..len].to_vec()
    }
    fn id(node: u16) -> NodeId {
        NodeId::new(node).unwrap()
    }

    proptest! {
        #[test]
        fn orders_and_events_of_sessions_round_trip(
            sources in proptest::collection::btree_map(0..=NodeId::MAX.get(), any::<u16>(), 1..=64),
            (node, number, hops) in (0..=NodeId::MAX.get(), any::<u16>(), any::<u8>()),
            message in proptest::collection::vec(any::<u8>(), 0..=MAX_MPDU),
        ) {
            let each = sources.iter().map(|(node, rate)| (id(*node), Rate::from_wire(*rate)));
            let each: Vec<_> = each.collect();
            let bytes = written(|w| Sources::order(&each, w));
            prop_assert!(bytes.len() <= max_order_bytes(64));
            let order = Order::<64>::parse(&bytes).unwrap();
            prop_assert_eq!(&written(|w| order.emit(w)), &bytes);
            let Order::Session(told) = order else { panic!("{order:?}") };
            prop_assert_eq!(told.iter().collect::<Vec<_>>(), each);
            prop_assert!(Order::<64>::parse(&bytes[..bytes.len() - 1]).is_err());

            let message = FrameBuf::from_slice(&message).unwrap();
            let order = Order::<64>::Send(Send { to: id(node), message });
            let bytes = written(|w| order.emit(w));
            prop_assert_eq!(Order::parse(&bytes), Ok(order));
            let origin = id(node);
            for event in [
                Event::Handed(Handed::Packet { origin, number, hops, message }),
                Event::Handed(Handed::NoRoom { to: origin }),
                Event::Begun,
                Event::NotBegun(NotBegun::NoSuchNode),
                Event::NotBegun(NotBegun::NotCarried),
                Event::Mote(mote::Event::Joined),
            ] {
                let bytes = written(|w| event.emit(w));
                prop_assert!(bytes.len() <= MAX_EVENT_BYTES);
                prop_assert_eq!(Event::parse(&bytes), Ok(event));
            }
        }

        #[test]
        fn any_bytes_are_an_order_or_an_event_or_refused(
            bytes in proptest::collection::vec(prop_oneof![0u8..9, 0x40u8..0x45, any::<u8>()], 0..200),
        ) {
            if let Ok(event) = Event::parse(&bytes) {
                prop_assert_eq!(&written(|w| event.emit(w)), &bytes);
            }
            if let Ok(order @ (Order::Session(_) | Order::Send(_))) = Order::<64>::parse(&bytes) {
                prop_assert_eq!(&written(|w| order.emit(w)), &bytes);
            }
        }
    }

    #[test]
    fn sessions_of_nobody_or_of_a_node_twice_are_refused() {
        let mut room = [0; 64];
        let mut refused = |sources: &[(NodeId, Rate)]| {
            Sources::order(sources, &mut Writer::new(&mut room)).unwrap_err()
        };
        assert_eq!(refused(&[]), WireError::Malformed);
        let twice = [(id(3), Rate::MAX), (id(3), Rate::MAX)];
        assert_eq!(refused(&twice), WireError::Malformed);
        for bytes in [&[7, 0, 0][..], &[7, 2, 0, 3, 0, 1, 0, 3, 0, 1, 0]] {
            let read = Order::<64>::parse(bytes);
            assert_eq!(read, Err(WireError::Malformed));
        }
    }
}
