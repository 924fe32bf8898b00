//! Orders to a base station and events from it, whatever its program: a mote's orders and events
//! ([`crate::mote::host`]), and those of a session of RCRT. `docs/line.md` lists them.
//!
//! Invariants: one order has one encoding, and so has one event; a session names each source once, in order of
//! addresses. Tests: `station_tests.rs`, `mote/tests/on_line.rs`.

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
const REASONS: [NotBegun; 4] = [
    NotBegun::NoSuchNode,
    NotBegun::NotCarried,
    NotBegun::TooMany,
    NotBegun::NotCalled,
];

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
    /// The base station cannot call so many sources.
    TooMany,
    /// Its call did not go out.
    NotCalled,
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
    /// As a muster has them.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where they do not fit.
    pub fn mustered(self) -> Result<FrameBuf, WireError> {
        FrameBuf::from_slice(self.0)
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
#[path = "station_tests.rs"]
mod tests;
