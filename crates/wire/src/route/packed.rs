//! The bytes of a route of Thalweg. Many nodes have a part in one, and each byte lengthens every slot of its wake-up's
//! floods by 32 us: so the encoding counts bits, and leaves out what is mostly the same.
//!
//! Invariant: one route has one encoding. Tests: `tests.rs`.

use super::encoding::{places, HOP_BITS, THALWEG, THRESHOLD_BIT};
use super::*;
use crate::bits::{BitReader, BitWriter};
use crate::Reader;
use thalweg_units::Channel;

/// Earlier packets count.
const KEPT_BIT: u8 = 0x80;
/// The first packets are a probe.
const PROBE_BIT: u8 = 0x40;
/// A range follows: it is not of the whole object.
const RANGE_BIT: u8 = 0x20;
/// The sink's channel for the even group follows those of the stages.
const LAST_EVEN_BIT: u8 = 0x10;
/// Bits of a node's address, less one.
const WIDTH_BITS: u8 = 0x0f;

/// Bytes of flags, payload, deadline, phase, expected packets and options.
const TERMS_BYTES: usize = 8;
const RANGE_BYTES: usize = 8;
const CHANNEL_BITS: u32 = 4;

/// No route takes fewer: its parameters, two channels, and two addresses of a bit.
pub(super) const LEAST_BYTES: usize = TERMS_BYTES + 2;

fn next_node(bits: &mut BitReader<'_>, width: u32) -> Result<NodeId, WireError> {
    NodeId::new(bits.bits(width)?).map_err(|_| WireError::Malformed)
}
fn next_channel(bits: &mut BitReader<'_>) -> Result<Channel, WireError> {
    let at = usize::from(bits.bits(CHANNEL_BITS)?);
    Ok(Channel::from_index(at))
}

impl Route {
    /// Bits of the longest address.
    fn width(&self) -> u32 {
        let all = self.members().iter().chain(self.backups_and_alternates());
        let all = all
            .map(|member| member.node)
            .chain([self.source, self.sink]);
        let longest = all.fold(0, |longest, node| longest | node.get());
        (u16::BITS - longest.leading_zeros()).max(1)
    }

    pub(super) fn packed_len(&self) -> usize {
        let hops = u32::from(self.channels.hops());
        let nodes = self.members().len() + self.backups_and_alternates().len();
        let channels = hops + 1 + u32::from(self.last_even.is_some());
        // Of each place the end of three counts.
        let counts = nodes as u32 + 3 * 2 * (hops - 1);
        let bits = channels * CHANNEL_BITS + counts + (nodes as u32 + 2) * self.width();
        let range = match self.range == ObjectRange::ALL {
            true => 0,
            false => RANGE_BYTES,
        };
        TERMS_BYTES + usize::from(self.threshold.is_some()) + range + bits.div_ceil(8) as usize
    }

    /// Relays, backup relays, alternate relays.
    fn by_role(&self) -> [&[Member]; 3] {
        [self.members(), self.backup_relays(), self.alternates()]
    }

    /// Writes the route, after the segment's header:
    ///
    /// | bytes | what |
    /// |---|---|
    /// | 1 | bits 0 to 3: H; bits 4 to 6: scheme 6; bit 7: a threshold follows |
    /// | 1, 2 | payload bytes of a packet; deadline in seconds |
    /// | 1 | how long after a regular rendezvous it is, in steps of 2 ms, 0 to 249 |
    /// | 2 | packets expected; 0 if unknown |
    /// | 1 | bits 0 to 3: w - 1, w being the bits of the longest address; bits 4 to 7: as the constants above |
    /// | 1, 8 | the threshold; the range, offset and length; each only where its bit is set |
    ///
    /// Then bits, the lowest of each byte first, and zeros up to a whole byte:
    ///
    /// | bits | what |
    /// |---|---|
    /// | 4 each | channels of stages 0 to H, less 11; the sink's for the even group, where it has another |
    /// | w each | sink, source |
    /// | per stage and group, odd first | three numbers, each as so many ones and a zero: relays, backup relays, alternate relays |
    /// | w each | relays by stage and group, then backup relays, then alternate ones |
    ///
    /// Six relays and twelve others over four hops take 35 bytes where addresses are below 256.
    pub(super) fn pack(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let hops = self.channels.hops();
        let limited = self.threshold.map_or(0, |_| THRESHOLD_BIT);
        w.u8(hops | THALWEG | limited)?.u8(self.payload.bytes())?;
        w.u16(self.deadline_s)?;
        w.u8(self.phase.steps())?;
        w.u16(self.expected.map_or(0, NonZeroU16::get))?;
        let is_partial = self.range != ObjectRange::ALL;
        let width = self.width();
        let options = [
            (self.progress == Progress::Kept, KEPT_BIT),
            (self.probe == Probe::First, PROBE_BIT),
            (is_partial, RANGE_BIT),
            (self.last_even.is_some(), LAST_EVEN_BIT),
        ];
        let flags = options.iter().filter(|(is_set, _)| *is_set);
        w.u8(flags.fold((width - 1) as u8, |all, (_, bit)| all | bit))?;
        if let Some(threshold) = self.threshold {
            w.u8(threshold.get())?;
        }
        if is_partial {
            w.u32(self.range.offset)?.u32(self.range.len)?;
        }
        let mut bits = BitWriter::new(w);
        for channel in self.channels.as_slice().iter().chain(&self.last_even) {
            bits.bits(channel.index() as u16, CHANNEL_BITS)?;
        }
        for end in [self.sink, self.source] {
            bits.bits(end.get(), width)?;
        }
        for place in places(hops) {
            for part in self.by_role() {
                let here = part.iter().filter(|m| (m.stage, m.group) == place);
                bits.ones(here.count())?;
            }
        }
        for member in self.by_role().into_iter().flatten() {
            bits.bits(member.node.get(), width)?;
        }
        bits.end()
    }

    pub(super) fn unpack(
        (transfer, sealing): (u16, Sealing),
        bytes: &[u8],
    ) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let mut r = Reader::new(bytes);
        let (flags, payload, deadline_s) = (r.u8()?, r.u8()?, r.u16()?);
        let phase = Phase::new(r.u8()?).ok_or(bad)?;
        let (expected, options) = (NonZeroU16::new(r.u16()?), r.u8()?);
        let threshold = match flags & THRESHOLD_BIT {
            0 => None,
            _ => Some(Percent::new(r.u8()?).ok_or(bad)?),
        };
        let range = match options & RANGE_BIT {
            0 => ObjectRange::ALL,
            _ => ObjectRange {
                offset: r.u32()?,
                len: r.u32()?,
            },
        };
        let (hops, width) = (flags & HOP_BITS, u32::from(options & WIDTH_BITS) + 1);
        if hops == 0 || hops > MAX_HOPS {
            return Err(bad);
        }
        let mut bits = BitReader::new(r);
        let mut list = [Channel::LAST; MAX_STAGES];
        for channel in &mut list[..=usize::from(hops)] {
            *channel = next_channel(&mut bits)?;
        }
        let last_even = match options & LAST_EVEN_BIT {
            0 => None,
            _ => Some(next_channel(&mut bits)?),
        };
        let (sink, source) = (next_node(&mut bits, width)?, next_node(&mut bits, width)?);
        let channels = Channels { list, hops };
        let mut route = Self::new(transfer, source, sink, Scheme::Thalweg, channels);
        route.unpack_members(bits, width)?;
        (route.format, route.sealing) = (Format::Slim, sealing);
        route.payload = PayloadSize::of_format(payload, Format::Slim).ok_or(bad)?;
        (route.deadline_s, route.threshold, route.range) = (deadline_s, threshold, range);
        (route.phase, route.expected, route.last_even) = (phase, expected, last_even);
        route.progress = match options & KEPT_BIT {
            0 => Progress::Fresh,
            _ => Progress::Kept,
        };
        route.probe = match options & PROBE_BIT {
            0 => Probe::None,
            _ => Probe::First,
        };
        // One route has one encoding, and one hop has no groups that could differ.
        let is_idle = last_even.is_some_and(|last| hops < 2 || last == route.channels.of(hops));
        let is_canonical = sink != source
            && !is_idle
            && route.width() == width
            && (options & RANGE_BIT == 0) == (range == ObjectRange::ALL);
        match is_canonical {
            true => Ok(route),
            false => Err(bad),
        }
    }

    /// All but its ends: how many there are at each place, and then who they are.
    fn unpack_members(&mut self, mut bits: BitReader<'_>, width: u32) -> Result<(), WireError> {
        let hops = self.channels.hops();
        let mut counts = [[0; 3]; 2 * MAX_STAGES];
        for count in places(hops).zip(&mut counts).flat_map(|(_, counts)| counts) {
            *count = bits.ones()?;
        }
        let adds = [Self::add, Self::add_backup, Self::add_alternate];
        for (part, add) in adds.iter().enumerate() {
            for ((stage, group), counts) in places(hops).zip(&counts) {
                for _ in 0..counts[part] {
                    let node = next_node(&mut bits, width)?;
                    add(self, Member { node, stage, group })?;
                }
            }
        }
        bits.end()
    }
}
