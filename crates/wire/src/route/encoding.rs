//! The bytes of a route: its parameters, then its nodes. Invariant: one route has one encoding.
//!
//! P3 as published lists every node by itself: identity, hop-length with group, reception channel (P3,
//! section IV-D2). All else lists channels and members stage by stage, in two bytes a relay. So does
//! a P3 route whose nodes do not fit [`super::MAX_SEGMENTS`], or that has a stage without relays, whose channel
//! no node would carry. Thalweg's are [packed](super::packed). Tests: `tests.rs`.

use super::*;
use crate::Reader;
use thalweg_units::Channel;

/// Places of the schemes. P3 has three: by stage, with a byte of options, and by node.
const P3_BY_STAGE: u8 = 0;
const PIP: u8 = 0x10;
const PIP_HOPPING: u8 = 0x20;
const P3_WITH_OPTIONS: u8 = 0x30;
const PIP_CIT: u8 = 0x40;
const P3_BY_NODE: u8 = 0x50;
pub(super) const THALWEG: u8 = 0x60;
const SCHEME_BITS: u8 = 0x70;
pub(super) const HOP_BITS: u8 = 0x0f;
/// A byte of threshold follows the parameters.
pub(super) const THRESHOLD_BIT: u8 = 0x80;
/// The one option; the other bits are reserved.
const SLIM_BIT: u8 = 0x01;
/// Beside a node's stage: its group is [`Group::Even`].
const EVEN_BIT: u8 = 0x10;

/// Bytes of flags, payload, deadline and range.
const TERMS_BYTES: usize = 12;
/// Bytes of a node that is listed by itself: id, stage and group, channel.
const NODE_BYTES: usize = 4;

/// How a route lists its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    ByNode,
    ByStage,
}

impl Route {
    fn listing(&self) -> Listing {
        let has = |stage: u8| self.members().iter().any(|m| m.stage == stage);
        let is_p3 = (self.scheme, self.control()) == (Scheme::P3, Control::Published);
        let fits = self.bytes_listed(Listing::ByNode) <= MAX_ENCODED;
        match is_p3 && fits && (1..self.channels.hops()).all(has) {
            true => Listing::ByNode,
            false => Listing::ByStage,
        }
    }

    pub(super) fn encoded_len(&self) -> usize {
        match self.scheme {
            Scheme::Thalweg => self.packed_len(),
            _ => self.bytes_listed(self.listing()),
        }
    }
    fn bytes_listed(&self, listing: Listing) -> usize {
        let (hops, members) = (usize::from(self.channels.hops()), self.members().len());
        let nodes = match listing {
            Listing::ByNode => NODE_BYTES * (2 + members),
            Listing::ByStage => 4 + hops + 1 + 2 * (hops - 1) + 2 * members,
        };
        TERMS_BYTES + usize::from(self.threshold.is_some()) + usize::from(self.is_slim_p3()) + nodes
    }

    /// Whether a byte says how it deviates from P3 as published.
    fn is_slim_p3(&self) -> bool {
        (self.scheme, self.format) == (Scheme::P3, Format::Slim)
    }

    pub(super) fn encode(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let (hops, listing) = (self.channels.hops(), self.listing());
        if self.payload.bytes() > self.format.max_payload() {
            return Err(WireError::Malformed);
        }
        let scheme = match (self.scheme, listing) {
            (Scheme::P3, Listing::ByNode) => P3_BY_NODE,
            (Scheme::P3, Listing::ByStage) if self.is_slim_p3() => P3_WITH_OPTIONS,
            (Scheme::P3, Listing::ByStage) => P3_BY_STAGE,
            (Scheme::Pip(Hopping::Fixed), _) => PIP,
            (Scheme::Pip(Hopping::EveryCyclePair), _) => PIP_HOPPING,
            (Scheme::PipCit, _) => PIP_CIT,
            (Scheme::Thalweg, _) => return self.pack(w),
            (Scheme::HopByHop, _) => return Err(WireError::Malformed),
        };
        let limited = self.threshold.map_or(0, |_| THRESHOLD_BIT);
        w.u8(hops | scheme | limited)?.u8(self.payload.bytes())?;
        w.u16(self.deadline_s)?;
        w.u32(self.range.offset)?.u32(self.range.len)?;
        if let Some(threshold) = self.threshold {
            w.u8(threshold.get())?;
        }
        if scheme == P3_WITH_OPTIONS {
            w.u8(SLIM_BIT)?;
        }
        match listing {
            Listing::ByNode => self.encode_nodes(w),
            Listing::ByStage => self.encode_stages(w),
        }
    }

    fn encode_nodes(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let mut list = |node: NodeId, stage: u8, group: Group| {
            let channel = self.channels.of(stage);
            let entry = NodeEntry {
                node,
                stage,
                group,
                channel,
            };
            entry.emit(w)
        };
        list(self.source, 0, Group::Odd)?;
        list(self.sink, self.channels.hops(), Group::Odd)?;
        let mut members = self.members().iter();
        members.try_for_each(|m| list(m.node, m.stage, m.group))
    }

    fn encode_stages(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u16(self.sink.get())?.u16(self.source.get())?;
        for channel in self.channels.as_slice() {
            w.u8(channel.number())?;
        }
        for (stage, group) in places(self.channels.hops()) {
            let here = |m: &&Member| (m.stage, m.group) == (stage, group);
            w.u8(self.members().iter().filter(here).count() as u8)?;
        }
        for member in self.members() {
            w.u16(member.node.get())?;
        }
        Ok(())
    }

    pub(super) fn decode(
        (transfer, sealing): (u16, Sealing),
        bytes: &[u8],
    ) -> Result<Self, WireError> {
        match (bytes.first().map(|flags| flags & SCHEME_BITS), sealing) {
            (Some(THALWEG), _) => Self::unpack((transfer, sealing), bytes),
            (_, Sealing::Open) => Self::decode_listed(transfer, bytes),
            // No other scheme has anything sealed.
            (_, Sealing::Sealed) => Err(WireError::Malformed),
        }
    }

    /// The other schemes', which take more of the stack.
    #[inline(never)]
    fn decode_listed(transfer: u16, bytes: &[u8]) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let mut r = Reader::new(bytes);
        let flags = r.u8()?;
        let scheme = match flags & SCHEME_BITS {
            P3_BY_STAGE | P3_WITH_OPTIONS | P3_BY_NODE => Scheme::P3,
            PIP => Scheme::Pip(Hopping::Fixed),
            PIP_HOPPING => Scheme::Pip(Hopping::EveryCyclePair),
            PIP_CIT => Scheme::PipCit,
            _ => return Err(bad),
        };
        let (payload, deadline_s) = (r.u8()?, r.u16()?);
        let (offset, len) = (r.u32()?, r.u32()?);
        let threshold = match flags & THRESHOLD_BIT {
            0 => None,
            _ => Some(Percent::new(r.u8()?).ok_or(bad)?),
        };
        let format = match flags & SCHEME_BITS {
            // What does not deviate is not said this way: one route has one encoding.
            P3_WITH_OPTIONS if r.u8()? != SLIM_BIT => return Err(bad),
            P3_WITH_OPTIONS => Format::Slim,
            _ => Format::Full,
        };
        let payload = PayloadSize::of_format(payload, format).ok_or(bad)?;
        let hops = flags & HOP_BITS;
        if hops == 0 || hops > MAX_HOPS {
            return Err(bad);
        }
        let mut route = match flags & SCHEME_BITS {
            P3_BY_NODE => Self::decode_nodes(transfer, hops, &mut r)?,
            _ => Self::decode_stages((transfer, scheme), hops, &mut r)?,
        };
        r.end()?;
        (route.payload, route.deadline_s) = (payload, deadline_s);
        route.range = ObjectRange { offset, len };
        (route.threshold, route.format) = (threshold, format);
        let is_canonical =
            (flags & SCHEME_BITS == P3_BY_NODE) == (route.listing() == Listing::ByNode);
        match is_canonical {
            true => Ok(route),
            false => Err(bad),
        }
    }

    fn decode_nodes(transfer: u16, hops: u8, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let (source, sink) = (NodeEntry::parse(r)?, NodeEntry::parse(r)?);
        let ends = [source, sink].map(|end| (end.stage, end.group));
        if ends != [(0, Group::Odd), (hops, Group::Odd)] || source.node == sink.node {
            return Err(bad);
        }
        let mut list = [Channel::LAST; MAX_STAGES];
        (list[0], list[usize::from(hops)]) = (source.channel, sink.channel);
        let channels = Channels { list, hops };
        let mut route = Self::new(transfer, source.node, sink.node, Scheme::P3, channels);
        while r.remaining() > 0 {
            let NodeEntry {
                node,
                stage,
                group,
                channel,
            } = NodeEntry::parse(r)?;
            let is_first = route.members().iter().all(|m| m.stage != stage);
            route.add(Member { node, stage, group })?;
            let told = &mut route.channels.list[usize::from(stage)];
            match is_first {
                true => *told = channel,
                false if *told != channel => return Err(bad),
                false => {}
            }
        }
        Ok(route)
    }

    fn decode_stages(
        (transfer, scheme): (u16, Scheme),
        hops: u8,
        r: &mut Reader<'_>,
    ) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let (sink, source) = (r.node()?, r.node()?);
        if sink == source {
            return Err(bad);
        }
        let mut list = [Channel::LAST; MAX_STAGES];
        for channel in &mut list[..=usize::from(hops)] {
            *channel = Channel::new(r.u8()?).map_err(|_| bad)?;
        }
        let mut route = Self::new(transfer, source, sink, scheme, Channels { list, hops });
        let mut counts = r.clone();
        r.bytes(2 * usize::from(hops - 1))?;
        for (stage, group) in places(hops) {
            for _ in 0..counts.u8()? {
                route.add(Member {
                    node: r.node()?,
                    stage,
                    group,
                })?;
            }
        }
        Ok(route)
    }
}

/// A node that is listed by itself.
#[derive(Debug, Clone, Copy)]
struct NodeEntry {
    node: NodeId,
    stage: u8,
    group: Group,
    /// On which it receives.
    channel: Channel,
}

impl NodeEntry {
    fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u16(self.node.get())?;
        w.u8(self.stage | even_bit(self.group))?;
        w.u8(self.channel.number()).map(|_| ())
    }
    fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (node, place) = (r.node()?, r.u8()?);
        let group = group_of(place);
        let channel = Channel::new(r.u8()?).map_err(|_| WireError::Malformed)?;
        Ok(Self {
            node,
            stage: place & !EVEN_BIT,
            group,
            channel,
        })
    }
}

/// Beside a node's stage: its group.
const fn even_bit(group: Group) -> u8 {
    match group {
        Group::Odd => 0,
        Group::Even => EVEN_BIT,
    }
}
const fn group_of(place: u8) -> Group {
    match place & EVEN_BIT {
        0 => Group::Odd,
        _ => Group::Even,
    }
}

/// Every place of a relay, in the order in which members are written.
pub(super) fn places(hops: u8) -> impl Iterator<Item = (u8, Group)> {
    (1..hops).flat_map(|stage| [(stage, Group::Odd), (stage, Group::Even)])
}
