//! Frames of a transfer hop by hop: calls along the route, blocks of data, polls and acknowledgements.
//!
//! Every node of a route has a position, 0 at the source and H at the sink; a frame names its sender by it. Layout
//! after the MAC header, whose sequence number is the low byte of the number: dispatch, transfer (2), position (1), then
//! the fields of the kind. Packet 0 of a transfer describes the object; the others carry its bytes. Addresses of a route
//! of more than 32 nodes are counted from the lowest, in as many bits as the farthest needs, so that a call holds them.
//! Calls of a sealed route have room for a trailer at their end, which [`crate::seal::frame`] writes; it also puts a MIC
//! behind every other frame. Tests: `hop_tests.rs`.

use crate::flood::TRAILER_BYTES;
use crate::seal::frame::MIC_BYTES;
use crate::{dispatch, mac, phy, FrameBuf, Reader, WireError, Writer};
pub use route::HopRoute;

/// Bytes in front of the payload of a data frame.
pub const HEADER_BYTES: usize = mac::HEADER_BYTES + 6;
/// The longest payload.
pub const MAX_PAYLOAD: u8 = (phy::MAX_MPDU - HEADER_BYTES) as u8;
/// The longest payload in a sealed transfer, where a MIC follows.
pub const MAX_SEALED_PAYLOAD: u8 = MAX_PAYLOAD - MIC_BYTES;
/// The most hops of a route: of 60 where no two addresses are more than 511 apart, of 48 up to 8,191, of 41 any. Of a
/// sealed one 56, 42 and 36.
pub const MAX_HOPS: u8 = 60;
/// The most packets of a block: what a relay stores.
pub const BLOCK: u8 = 16;
/// Bytes of a poll, and of an acknowledgement.
pub const CONTROL_BYTES: usize = mac::HEADER_BYTES + 8;
/// Beside the number of nodes: the source's report is wanted.
const REPORT_BIT: u8 = 0x80;
/// The same: calls go on all channels.
const EVERYWHERE_BIT: u8 = 0x40;
/// Beside the payload: the transfer is sealed. Nodes without keys know no such payload.
const SEALED_BIT: u8 = 0x80;
const _: () = assert!(MAX_PAYLOAD < SEALED_BIT);
const MAX_NODES: usize = MAX_HOPS as usize + 1;
/// The most nodes whose addresses are written as they are.
const PLAIN_NODES: usize = 32;
/// Bits of a channel.
const CHANNEL_BITS: u32 = 4;
/// Bytes of a call in front of its nodes.
const CALL_BYTES: usize = mac::HEADER_BYTES + 14;
/// Bytes of the lowest address, and of how many bits an address has above it.
const PACKING_BYTES: usize = 3;

/// What a source is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Its object, or the range of it that the route names.
    Object,
    /// Its report of the last sweep, as packet 0: the flood of that did not reach the sink.
    Report,
}

/// Where a node is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// On the control channel.
    Control,
    /// On the channel of the hop and on all others by turns: some hop has links on other channels alone.
    Everywhere,
}

/// Bytes of `nodes` addresses of `width` bits, with a channel each.
const fn packed_bytes(nodes: usize, width: u32) -> usize {
    (nodes * (width + CHANNEL_BITS) as usize).div_ceil(8)
}

/// Whether blocks follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// They do.
    Within,
    /// It is the last.
    Last,
}

/// A block of packets that a node has for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The number of its first packet.
    pub base: u16,
    /// How many it has, 1 to [`BLOCK`].
    pub count: u8,
    /// Whether it is the last.
    pub place: Place,
}

impl Block {
    fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (base, count) = (r.u16()?, r.u8()?);
        let place = match r.u8()? {
            0 => Place::Within,
            1 => Place::Last,
            _ => return Err(WireError::Malformed),
        };
        match (1..=BLOCK).contains(&count) {
            true => Ok(Self { base, count, place }),
            false => Err(WireError::Malformed),
        }
    }

    /// A bit for each of its packets.
    pub const fn all(&self) -> u16 {
        ((1u32 << self.count) - 1) as u16
    }
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// To the node at `to`: take your place, and call the node before you. Of a sealed route it is written with room for
    /// its trailer, and read without a look at that.
    Call {
        /// Its position.
        to: u8,
        /// The route.
        route: HopRoute,
    },
    /// The node at `by` was called.
    Called {
        /// The transfer.
        transfer: u16,
        /// Its position.
        by: u8,
    },
    /// A packet.
    Data {
        /// The transfer.
        transfer: u16,
        /// The sender's position.
        by: u8,
        /// The packet's number.
        number: u16,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// The sender has this block: which of its packets are there?
    Poll {
        /// The transfer.
        transfer: u16,
        /// The sender's position.
        by: u8,
        /// The block.
        block: Block,
    },
    /// The answer to a poll.
    Ack {
        /// The transfer.
        transfer: u16,
        /// The receiver's position.
        by: u8,
        /// The number of the block's first packet.
        base: u16,
        /// A bit for each packet that is there, the first the lowest.
        here: u16,
    },
}

impl<'a> Frame<'a> {
    /// Whether `mpdu` is a call, by its first bytes.
    pub fn is_call(mpdu: &[u8]) -> bool {
        mac::dispatch(mpdu) == Ok(dispatch::HOP_CALL)
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`WireError`], also for frames of other protocols.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        mac::parse(&mut r)?;
        let kind = r.u8()?;
        if kind == dispatch::HOP_CALL {
            let to = r.u8()?;
            let route = HopRoute::parse(&mut r)?;
            r.bytes(route.sealing().trailer_bytes())?;
            r.end()?;
            return match to < route.hops() {
                true => Ok(Self::Call { to, route }),
                false => Err(WireError::Malformed),
            };
        }
        let (transfer, by) = (r.u16()?, r.u8()?);
        if by > MAX_HOPS {
            return Err(WireError::Malformed);
        }
        let frame = match kind {
            dispatch::HOP_CALLED => Self::Called { transfer, by },
            dispatch::HOP_DATA => {
                let (number, payload) = (r.u16()?, r.rest());
                // No frame holds more.
                return match payload.len() <= usize::from(MAX_PAYLOAD) {
                    true => Ok(Self::Data {
                        transfer,
                        by,
                        number,
                        payload,
                    }),
                    false => Err(WireError::Malformed),
                };
            }
            dispatch::HOP_POLL => Self::Poll {
                transfer,
                by,
                block: Block::parse(&mut r)?,
            },
            dispatch::HOP_ACK => Self::Ack {
                transfer,
                by,
                base: r.u16()?,
                here: r.u16()?,
            },
            _ => return Err(WireError::Malformed),
        };
        r.end()?;
        Ok(frame)
    }

    /// The frame.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where the payload is longer than [`MAX_PAYLOAD`].
    pub fn frame(&self) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| self.emit(w))
    }
    /// Writes the frame.
    ///
    /// # Errors
    /// As of [`Self::frame`]; [`WireError::NoRoom`] beyond the end.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match *self {
            Self::Call { to, route } => {
                mac::emit(to, w)?;
                w.u8(dispatch::HOP_CALL)?.u8(to)?;
                route.emit(w)?;
                let trailer = [0; TRAILER_BYTES];
                w.bytes(&trailer[..route.sealing().trailer_bytes()])?;
                Ok(())
            }
            Self::Called { transfer, by } => {
                mac::emit(by, w)?;
                w.u8(dispatch::HOP_CALLED)?.u16(transfer)?.u8(by)?;
                Ok(())
            }
            Self::Data {
                transfer,
                by,
                number,
                payload,
            } => {
                mac::emit(number.to_le_bytes()[0], w)?;
                w.u8(dispatch::HOP_DATA)?.u16(transfer)?.u8(by)?;
                w.u16(number)?.bytes(payload)?;
                Ok(())
            }
            Self::Poll {
                transfer,
                by,
                block: Block { base, count, place },
            } => {
                mac::emit(base.to_le_bytes()[0], w)?;
                w.u8(dispatch::HOP_POLL)?.u16(transfer)?.u8(by)?;
                w.u16(base)?.u8(count)?.u8(u8::from(place == Place::Last))?;
                Ok(())
            }
            Self::Ack {
                transfer,
                by,
                base,
                here,
            } => {
                mac::emit(base.to_le_bytes()[0], w)?;
                w.u8(dispatch::HOP_ACK)?.u16(transfer)?.u8(by)?;
                w.u16(base)?.u16(here)?;
                Ok(())
            }
        }
    }
}

mod route;
#[cfg(test)]
#[path = "hop_tests.rs"]
mod tests;
