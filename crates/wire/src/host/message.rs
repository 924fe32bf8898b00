//! The messages between host and base station, in frames. How orders and events of an engine are written is
//! the engine's (`thalweg_protocols::mote`); here they are bytes. Tests: `message_tests.rs`.

use super::frame::MAX_MESSAGE;
use crate::{Reader, WireError, Writer};
use thalweg_units::Instant;

const ORDER: u8 = 1;
const UNREAD: u8 = 2;
const EVENT: u8 = 3;
const BEGIN: u8 = 4;
const OBJECT: u8 = 5;
const CREDIT: u8 = 6;
const TIME_ASKED: u8 = 7;
const TIME_TOLD: u8 = 8;
const MORE: u8 = 0;
const LAST: u8 = 1;

/// The most bytes of one part of an order.
pub const MAX_ORDER_PART: usize = MAX_MESSAGE - 4;
/// The most bytes of an object in one message.
pub const MAX_OBJECT_BYTES: usize = MAX_MESSAGE - 5;

/// Whether an order goes on in the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderPart {
    /// It does.
    More,
    /// It is complete.
    Last,
}

/// Why an order did not reach the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than the station has room for.
    TooLong,
    /// Its bytes are no order.
    Malformed,
}

/// A message. Orders and credit come from the host, all else but [`Message::TimeAsked`] from the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An order to the station's engine, or a part of one.
    Order {
        /// Its number, the same in all parts.
        number: u16,
        /// Whether this is all of it.
        part: OrderPart,
        /// At most [`MAX_ORDER_PART`] bytes.
        bytes: &'a [u8],
    },
    /// An order was not understood.
    Unread {
        /// Its number.
        number: u16,
        /// Why.
        why: Unread,
    },
    /// An event of the engine.
    Event {
        /// When, by the station's clock.
        at: Instant,
        /// The event.
        bytes: &'a [u8],
    },
    /// A transfer to the station begins: object bytes sent before are of no use any more.
    Begin,
    /// Bytes of the object that the station receives.
    Object {
        /// Where they are in the object.
        offset: u32,
        /// At most [`MAX_OBJECT_BYTES`] bytes.
        bytes: &'a [u8],
    },
    /// How many object bytes the station may have sent in all in this session, modulo 2^32.
    Credit {
        /// The sum.
        until: u32,
    },
    /// A note: what does the station's clock read?
    TimeAsked {
        /// When the host asks, by a clock of its own, in nanoseconds.
        asked: u64,
    },
    /// A note: the answer.
    TimeTold {
        /// As the host said.
        asked: u64,
        /// When the question was read, by the station's clock.
        heard: Instant,
        /// When the answer was written, by the same.
        told: Instant,
    },
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            ORDER => {
                let number = r.u16()?;
                let part = match r.u8()? {
                    MORE => OrderPart::More,
                    LAST => OrderPart::Last,
                    _ => return Err(WireError::Malformed),
                };
                let bytes = r.bytes(r.remaining())?;
                Self::Order {
                    number,
                    part,
                    bytes,
                }
            }
            UNREAD => Self::Unread {
                number: r.u16()?,
                why: match r.u8()? {
                    0 => Unread::TooLong,
                    1 => Unread::Malformed,
                    _ => return Err(WireError::Malformed),
                },
            },
            EVENT => Self::Event {
                at: instant(&mut r)?,
                bytes: r.bytes(r.remaining())?,
            },
            BEGIN => Self::Begin,
            OBJECT => Self::Object {
                offset: r.u32()?,
                bytes: r.bytes(r.remaining())?,
            },
            CREDIT => Self::Credit { until: r.u32()? },
            TIME_ASKED => Self::TimeAsked { asked: r.u64()? },
            TIME_TOLD => Self::TimeTold {
                asked: r.u64()?,
                heard: instant(&mut r)?,
                told: instant(&mut r)?,
            },
            _ => return Err(WireError::Malformed),
        };
        r.end()?;
        Ok(message)
    }

    /// Writes the message.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match *self {
            Self::Order {
                number,
                part,
                bytes,
            } => {
                let part = match part {
                    OrderPart::More => MORE,
                    OrderPart::Last => LAST,
                };
                w.u8(ORDER)?.u16(number)?.u8(part)?.bytes(bytes)?;
            }
            Self::Unread { number, why } => {
                let why = match why {
                    Unread::TooLong => 0,
                    Unread::Malformed => 1,
                };
                w.u8(UNREAD)?.u16(number)?.u8(why)?;
            }
            Self::Event { at, bytes } => {
                w.u8(EVENT)?.u64(at.as_nanos())?.bytes(bytes)?;
            }
            Self::Begin => {
                w.u8(BEGIN)?;
            }
            Self::Object { offset, bytes } => {
                w.u8(OBJECT)?.u32(offset)?.bytes(bytes)?;
            }
            Self::Credit { until } => {
                w.u8(CREDIT)?.u32(until)?;
            }
            Self::TimeAsked { asked } => {
                w.u8(TIME_ASKED)?.u64(asked)?;
            }
            Self::TimeTold { asked, heard, told } => {
                w.u8(TIME_TOLD)?.u64(asked)?;
                w.u64(heard.as_nanos())?.u64(told.as_nanos())?;
            }
        }
        Ok(())
    }
}

fn instant(r: &mut Reader<'_>) -> Result<Instant, WireError> {
    r.u64().map(Instant::from_nanos)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
