//! The route of a transfer hop by hop, as a call carries it.

use super::{
    packed_bytes, Calls, Subject, CALL_BYTES, CHANNEL_BITS, EVERYWHERE_BIT, MAX_NODES, MAX_PAYLOAD,
    PACKING_BYTES, PLAIN_NODES, REPORT_BIT, SEALED_BIT,
};
use crate::bits::{BitReader, BitWriter};
use crate::route::ObjectRange;
use crate::seal::frame::Sealing;
use crate::{phy, Reader, WireError, Writer};
use thalweg_units::{Channel, NodeId};

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
    pub(super) payload: u8,
    pub(super) sealing: Sealing,
    pub(super) nodes: [NodeId; MAX_NODES],
    /// Two to a byte, the first in its low bits.
    pub(super) channels: [u8; MAX_NODES.div_ceil(2)],
    /// H + 1.
    pub(super) count: u8,
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
