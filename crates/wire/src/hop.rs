//! Frames of a transfer hop by hop: calls along the route, blocks of data, polls and acknowledgements.
//!
//! Every node of a route has a position, 0 at the source and H at the sink; a frame names its sender by it. Layout
//! after the MAC header, whose sequence number is the low byte of the number: dispatch, transfer (2), position (1), then
//! the fields of the kind. Packet 0 of a transfer describes the object; the others carry its bytes. Addresses of a route
//! of more than 32 nodes are counted from the lowest, in as many bits as the farthest needs, so that a call holds them.
//! Calls of a sealed route have room for a trailer at their end, which [`crate::seal::frame`] writes; it also puts a MIC
//! behind every other frame. Tests: `hop_tests.rs`.

use crate::bits::{BitReader, BitWriter};
use crate::flood::TRAILER_BYTES;
use crate::route::ObjectRange;
use crate::seal::frame::{Sealing, MIC_BYTES};
use crate::{dispatch, mac, phy, FrameBuf, Reader, WireError, Writer};
use thalweg_units::{Channel, NodeId};

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

/// Who carries which bytes of an object, and on which channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopRoute {
    /// The number of the transfer.
    pub transfer: u16,
    /// What is wanted.
    pub subject: Subject,
    /// Where its nodes are called.
    pub calls: Calls,
    /// Of an object, these bytes.
    pub range: ObjectRange,
    /// Payload of a packet, 1 to [`MAX_PAYLOAD`].
    payload: u8,
    sealing: Sealing,
    nodes: [NodeId; MAX_NODES],
    /// Two to a byte, the first in its low bits.
    channels: [u8; MAX_NODES.div_ceil(2)],
    /// H + 1.
    count: u8,
}

impl HopRoute {
    /// The route over `nodes`, source first, each with the channel on which it receives data (the source's is not
    /// used), in packets of `payload` bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`] unless there are 1 to [`MAX_HOPS`] hops, no node comes twice, a call holds all addresses,
    /// and the payload is 1 to [`MAX_PAYLOAD`].
    pub fn new(
        transfer: u16,
        nodes: &[(NodeId, Channel)],
        range: ObjectRange,
        payload: u8,
    ) -> Result<Self, WireError> {
        let twice = |at: usize| nodes[..at].iter().any(|(node, _)| *node == nodes[at].0);
        let is_route = (2..=MAX_NODES).contains(&nodes.len()) && !(1..nodes.len()).any(twice);
        if !is_route || !(1..=MAX_PAYLOAD).contains(&payload) {
            return Err(WireError::Malformed);
        }
        let mut route = Self {
            transfer,
            subject: Subject::Object,
            calls: Calls::Control,
            range,
            payload,
            sealing: Sealing::Open,
            nodes: [NodeId::MAX; MAX_NODES],
            channels: [0; MAX_NODES.div_ceil(2)],
            count: nodes.len() as u8,
        };
        for (at, (node, channel)) in nodes.iter().enumerate() {
            route.nodes[at] = *node;
            route.channels[at / 2] |= (channel.index() as u8) << (CHANNEL_BITS * (at as u32 % 2));
        }
        match route.call_bytes() <= phy::MAX_MPDU {
            true => Ok(route),
            false => Err(WireError::Malformed),
        }
    }
    /// The same for a transfer that is sealed, or open, as `sealing` says.
    ///
    /// # Errors
    /// [`WireError::Malformed`] where a call, or a packet, has no room for what seals it.
    pub fn secured(self, sealing: Sealing) -> Result<Self, WireError> {
        let route = Self { sealing, ..self };
        let most = MAX_PAYLOAD - sealing.mic_bytes();
        match route.payload <= most && route.call_bytes() <= phy::MAX_MPDU {
            true => Ok(route),
            false => Err(WireError::Malformed),
        }
    }
    /// Whether its frames are sealed.
    pub const fn sealing(&self) -> Sealing {
        self.sealing
    }
    /// Bytes of a call, or more than a frame holds.
    fn call_bytes(&self) -> usize {
        let nodes = usize::from(self.count);
        let listed = match nodes <= PLAIN_NODES {
            true => 2 * nodes + nodes.div_ceil(2),
            false => PACKING_BYTES + packed_bytes(nodes, self.packing().1),
        };
        CALL_BYTES + listed + self.sealing.trailer_bytes()
    }
    /// Its lowest address, and the bits of the farthest one above that.
    fn packing(&self) -> (u16, u32) {
        let all = || self.nodes().iter().map(|node| node.get());
        let lowest = all().min().unwrap_or(0);
        let span = all().max().unwrap_or(0) - lowest;
        (lowest, u16::BITS - span.leading_zeros())
    }
    /// H.
    pub const fn hops(&self) -> u8 {
        self.count - 1
    }
    /// Bytes of a packet's payload.
    pub const fn payload(&self) -> u8 {
        self.payload
    }
    /// Its nodes, source first.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes[..usize::from(self.count)]
    }
    /// The channel on which the node at `position` receives; the sink's beyond it.
    pub fn channel(&self, position: u8) -> Channel {
        let at = u32::from(position.min(self.hops()));
        let pair = self.channels[at as usize / 2];
        Channel::from_index(usize::from(pair >> (CHANNEL_BITS * (at % 2)) & 0x0f))
    }
    /// The node that has the object.
    pub fn source(&self) -> NodeId {
        self.nodes[0]
    }
    /// The node that wants the object.
    pub fn sink(&self) -> NodeId {
        self.nodes[usize::from(self.hops())]
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let subject = match self.subject {
            Subject::Object => 0,
            Subject::Report => REPORT_BIT,
        };
        let calls = match self.calls {
            Calls::Control => 0,
            Calls::Everywhere => EVERYWHERE_BIT,
        };
        let sealed = match self.sealing {
            Sealing::Open => 0,
            Sealing::Sealed => SEALED_BIT,
        };
        w.u16(self.transfer)?
            .u8(self.count | subject | calls)?
            .u8(self.payload | sealed)?;
        w.u32(self.range.offset)?.u32(self.range.len)?;
        match usize::from(self.count) > PLAIN_NODES {
            true => self.emit_packed(w),
            false => self.emit_plain(w),
        }
    }
    fn emit_packed(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let (lowest, width) = self.packing();
        let mut bits = BitWriter::new(w.u16(lowest)?.u8(width as u8)?);
        for (node, at) in self.nodes().iter().zip(0..) {
            bits.bits(node.get() - lowest, width)?;
            bits.bits(self.channel(at).index() as u16, CHANNEL_BITS)?;
        }
        bits.end()
    }
    fn emit_plain(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        for node in self.nodes() {
            w.u16(node.get())?;
        }
        let pairs = usize::from(self.count).div_ceil(2);
        w.bytes(&self.channels[..pairs]).map(drop)
    }
    /// Reads it.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (transfer, flags, payload) = (r.u16()?, r.u8()?, r.u8()?);
        let count = usize::from(flags & !(REPORT_BIT | EVERYWHERE_BIT));
        let subject = match flags & REPORT_BIT {
            0 => Subject::Object,
            _ => Subject::Report,
        };
        let calls = match flags & EVERYWHERE_BIT {
            0 => Calls::Control,
            _ => Calls::Everywhere,
        };
        let sealing = match payload & SEALED_BIT {
            0 => Sealing::Open,
            _ => Sealing::Sealed,
        };
        let (offset, len) = (r.u32()?, r.u32()?);
        let range = ObjectRange { offset, len };
        let mut nodes = [(NodeId::MAX, Channel::LAST); MAX_NODES];
        let nodes = nodes.get_mut(..count).ok_or(WireError::Malformed)?;
        match count > PLAIN_NODES {
            true => parse_packed(r, nodes)?,
            false => parse_plain(r, nodes)?,
        }
        let route = Self::new(transfer, nodes, range, payload & !SEALED_BIT)?;
        let route = route.secured(sealing)?;
        Ok(Self {
            subject,
            calls,
            ..route
        })
    }
}

/// Bytes of `nodes` addresses of `width` bits, with a channel each.
const fn packed_bytes(nodes: usize, width: u32) -> usize {
    (nodes * (width + CHANNEL_BITS) as usize).div_ceil(8)
}

fn parse_packed(r: &mut Reader<'_>, nodes: &mut [(NodeId, Channel)]) -> Result<(), WireError> {
    let (lowest, width) = (r.u16()?, u32::from(r.u8()?));
    if width > u16::BITS {
        return Err(WireError::Malformed);
    }
    let mut bits = BitReader::new(Reader::new(r.bytes(packed_bytes(nodes.len(), width))?));
    for (node, channel) in nodes {
        let address = lowest.checked_add(bits.bits(width)?);
        let address = address.and_then(|address| NodeId::new(address).ok());
        *node = address.ok_or(WireError::Malformed)?;
        *channel = Channel::from_index(bits.bits(CHANNEL_BITS)?.into());
    }
    bits.end()
}

fn parse_plain(r: &mut Reader<'_>, nodes: &mut [(NodeId, Channel)]) -> Result<(), WireError> {
    for (node, _) in nodes.iter_mut() {
        *node = r.node()?;
    }
    for pair in nodes.chunks_mut(2) {
        let both = r.u8()?;
        for (at, (_, channel)) in pair.iter_mut().enumerate() {
            let place = usize::from(both >> (4 * at) & 0x0f);
            *channel = Channel::from_index(place);
        }
        if pair.len() == 1 && both > 0x0f {
            return Err(WireError::Malformed);
        }
    }
    Ok(())
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
            r.bytes(route.sealing.trailer_bytes())?;
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
                w.bytes(&trailer[..route.sealing.trailer_bytes()])?;
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

#[cfg(test)]
#[path = "hop_tests.rs"]
mod tests;
