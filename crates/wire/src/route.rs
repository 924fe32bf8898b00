//! The wake-up message: what every node of a transfer must know before it begins (P3, section
//! IV-D: "node identity, hop-length, and reception channel for every node").
//!
//! A [`Route`] of up to [`MAX_MEMBERS`] relays is cut into at most [`MAX_SEGMENTS`] contents of
//! floods by [`Route::segment`] and put together again by an [`Assembler`]. Each segment tells
//! when the transfer begins after the reference time of *its* flood, so any of them will do as
//! the time base. Tests: at the end of this file.

use crate::pipeline::{Format, Group, MAX_HOPS, MAX_PAYLOAD};
use crate::{Reader, WireError, Writer};
use thalweg_units::{Channel, Duration, NodeId};

/// The most relays of a route.
pub const MAX_MEMBERS: usize = 120;
/// The most segments of a route.
pub const MAX_SEGMENTS: usize = 3;
/// The longest segment: content of a flood.
pub const MAX_SEGMENT_BYTES: usize = 110;
/// First byte of every segment, to tell it from other contents of floods.
pub const SEGMENT_KIND: u8 = 0x10;

const SEGMENT_HEADER_BYTES: usize = 6;
/// Place of the scheme for P3 that deviates from what was published: a byte of options follows.
const WITH_OPTIONS: u8 = 0x30;
const SLIM_BIT: u8 = 0x01;
const FOUNTAIN_BIT: u8 = 0x02;
const LEARNING_BIT: u8 = 0x04;
const CHUNK: usize = MAX_SEGMENT_BYTES - SEGMENT_HEADER_BYTES;
const MAX_ENCODED: usize = CHUNK * MAX_SEGMENTS;
const MAX_STAGES: usize = MAX_HOPS as usize + 1;

/// Bytes of payload in each packet: 1..=118, or up to 121 with slim headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadSize(u8);

impl PayloadSize {
    /// The largest, P3's default (P3, Fig. 7).
    pub const MAX: Self = Self(MAX_PAYLOAD as u8);

    /// `bytes` of payload; `None` outside 1..=118.
    pub const fn new(bytes: u8) -> Option<Self> {
        if bytes >= 1 && bytes as usize <= MAX_PAYLOAD {
            Some(Self(bytes))
        } else {
            None
        }
    }
    /// `bytes` of payload in frames of `format`; `None` for 0 and for more than a frame holds.
    pub const fn of_format(bytes: u8, format: Format) -> Option<Self> {
        if bytes >= 1 && bytes <= format.max_payload() {
            Some(Self(bytes))
        } else {
            None
        }
    }
    /// The largest of `format`.
    pub const fn max_of(format: Format) -> Self {
        Self(format.max_payload())
    }
    /// How many bytes.
    pub const fn bytes(self) -> u8 {
        self.0
    }
}

/// What makes up for lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// What is missing is told packet by packet and sent again, round after round (P3, section IV-F).
    #[default]
    Rounds,
    /// Packets are symbols of a fountain code, and any as many as the object has, or a few more,
    /// will do; only how many are missing is told.
    Fountain {
        /// Symbols sent at once beyond the object's own, in percent of them.
        spare: Percent,
    },
}

/// Whether a transfer learns who does best while it runs (P3, section VI leaves that to the future).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Learning {
    /// No.
    #[default]
    Off,
    /// The destination hears each relay of the last but one stage alone, and says who is to speak.
    LastSpeakers,
}

/// The reception channel of each stage, C_0 (source) to C_H (destination).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    list: [Channel; MAX_STAGES],
    hops: u8,
}

impl Channels {
    /// The channels of stages 0 to H; `None` unless 1 <= H <= 10.
    pub fn new(channels: &[Channel]) -> Option<Self> {
        let hops = u8::try_from(channels.len().checked_sub(1)?).ok()?;
        if hops == 0 || hops > MAX_HOPS {
            return None;
        }
        let mut list = [Channel::LAST; MAX_STAGES];
        list[..channels.len()].copy_from_slice(channels);
        Some(Self { list, hops })
    }
    /// H.
    pub const fn hops(&self) -> u8 {
        self.hops
    }
    /// C_stage; stages beyond H have that of H.
    pub fn of(&self, stage: u8) -> Channel {
        self.list[usize::from(stage.min(self.hops))]
    }
    /// C_0 to C_H.
    pub fn as_slice(&self) -> &[Channel] {
        &self.list[..=usize::from(self.hops)]
    }
}

/// Whether the stages' channels change during a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hopping {
    /// They stay.
    Fixed,
    /// All advance by one place of the channel list every two cycles.
    EveryCyclePair,
}

/// Which protocol the transfer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Several paths, two groups, a packet every cycle.
    P3,
    /// One path, a packet every other cycle.
    Pip(Hopping),
}

/// A reception ratio in percent, 0..=100 (P3, section IV-E).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// `percent`; `None` above 100.
    pub const fn new(percent: u8) -> Option<Self> {
        if percent <= 100 {
            Some(Self(percent))
        } else {
            None
        }
    }
    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Which bytes of the source's object are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectRange {
    /// Of the first byte.
    pub offset: u32,
    /// At most this many; fewer where the object ends before.
    pub len: u32,
}

impl ObjectRange {
    /// All of it.
    pub const ALL: Self = Self {
        offset: 0,
        len: u32::MAX,
    };

    /// How many bytes of an object of `object_len` bytes lie in the range.
    pub const fn within(self, object_len: u32) -> u32 {
        let left = object_len.saturating_sub(self.offset);
        if left < self.len {
            left
        } else {
            self.len
        }
    }
}

/// A relay of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub node: NodeId,
    /// At which stage, 1..H.
    pub stage: u8,
    /// In which group.
    pub group: Group,
}

/// A node's part in a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Has the object: stage 0.
    Source,
    /// Forwards.
    Relay {
        /// 1..H.
        stage: u8,
        /// Whose packets.
        group: Group,
    },
    /// Wants the object: stage H.
    Destination,
}

/// How many groups the stages are divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// One: the source sends in alternate cycles, every relay forwards every packet.
    One,
    /// Two: the source sends in every cycle (P3, section IV-B).
    Two,
}

/// A transfer's route and terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The transfer's id.
    pub transfer: u16,
    /// Who wants the object.
    pub sink: NodeId,
    /// Who has it.
    pub source: NodeId,
    /// The protocol.
    pub scheme: Scheme,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// The stages' reception channels, which also tell H.
    pub channels: Channels,
    /// Below which reception ratio a relay of the last but one stage is silent; `None` for never.
    pub threshold: Option<Percent>,
    /// After how many seconds from its beginning the transfer is given up.
    pub deadline_s: u16,
    /// Which part of the object.
    pub range: ObjectRange,
    /// How frames begin. Only [`Scheme::P3`] tells it, and the next two.
    pub format: Format,
    /// What makes up for lost packets.
    pub recovery: Recovery,
    /// Whether it learns.
    pub learning: Learning,
    members: [Member; MAX_MEMBERS],
    count: u8,
}

const NOBODY: Member = Member {
    node: NodeId::MAX,
    stage: 0,
    group: Group::Odd,
};

impl Route {
    /// A route without relays yet, for a whole object in packets of the largest size, without
    /// threshold, to be given up after ten minutes.
    pub const fn new(
        transfer: u16,
        source: NodeId,
        sink: NodeId,
        scheme: Scheme,
        channels: Channels,
    ) -> Self {
        Self {
            transfer,
            sink,
            source,
            scheme,
            payload: PayloadSize::MAX,
            channels,
            threshold: None,
            deadline_s: 600,
            range: ObjectRange::ALL,
            format: Format::Full,
            recovery: Recovery::Rounds,
            learning: Learning::Off,
            members: [NOBODY; MAX_MEMBERS],
            count: 0,
        }
    }

    /// Adds a relay.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a stage outside 1..H, or a node that has a part already;
    /// [`WireError::NoRoom`] beyond [`MAX_MEMBERS`].
    pub fn add(&mut self, member: Member) -> Result<(), WireError> {
        let between = member.stage >= 1 && member.stage < self.channels.hops();
        if !between || self.place_of(member.node).is_some() {
            return Err(WireError::Malformed);
        }
        let count = usize::from(self.count);
        if count == MAX_MEMBERS {
            return Err(WireError::NoRoom);
        }
        // Kept in order of stage and group, as they are on the wire.
        let at = self
            .members()
            .partition_point(|m| (m.stage, m.group) <= (member.stage, member.group));
        self.members.copy_within(at..count, at + 1);
        self.members[at] = member;
        self.count += 1;
        Ok(())
    }

    /// The relays, in order of stage and group.
    pub fn members(&self) -> &[Member] {
        &self.members[..usize::from(self.count)]
    }

    /// What `node` has to do.
    pub fn place_of(&self, node: NodeId) -> Option<Place> {
        if node == self.source {
            return Some(Place::Source);
        }
        if node == self.sink {
            return Some(Place::Destination);
        }
        let member = self.members().iter().find(|m| m.node == node)?;
        Some(Place::Relay {
            stage: member.stage,
            group: member.group,
        })
    }

    /// Two where P3 has relays of both groups at every stage, else one: a group with a gap would
    /// carry nothing, and together they are still a path (P3, section IV-C: "no worse than PIP").
    pub fn groups(&self) -> Groups {
        let both = |stage: u8| {
            let has = |g| {
                self.members()
                    .iter()
                    .any(|m| m.stage == stage && m.group == g)
            };
            has(Group::Odd) && has(Group::Even)
        };
        match self.scheme {
            Scheme::P3 if (1..self.channels.hops()).all(both) => Groups::Two,
            Scheme::P3 | Scheme::Pip(_) => Groups::One,
        }
    }

    /// Into how many segments the route is cut, 1..=3.
    pub fn segments(&self) -> usize {
        self.encoded_len().div_ceil(CHUNK)
    }

    /// Bytes of its longest segment. All are equally long, give or take a byte: floods of shorter
    /// frames travel faster, and one that follows another must not catch up with it.
    pub fn segment_bytes(&self) -> usize {
        SEGMENT_HEADER_BYTES + self.chunk_bytes()
    }

    fn chunk_bytes(&self) -> usize {
        self.encoded_len().div_ceil(self.segments())
    }

    fn encoded_len(&self) -> usize {
        let hops = usize::from(self.channels.hops());
        let threshold = usize::from(self.threshold.is_some());
        16 + threshold + self.option_bytes() + hops + 1 + 2 * (hops - 1) + 2 * self.members().len()
    }

    /// Bytes that say how it deviates from P3 as published; none where it does not.
    fn option_bytes(&self) -> usize {
        match (self.scheme, self.options()) {
            (Scheme::Pip(_), _) | (Scheme::P3, 0) => 0,
            (Scheme::P3, options) if options & FOUNTAIN_BIT != 0 => 2,
            (Scheme::P3, _) => 1,
        }
    }

    fn options(&self) -> u8 {
        let slim = match self.format {
            Format::Full => 0,
            Format::Slim => SLIM_BIT,
        };
        let fountain = match self.recovery {
            Recovery::Rounds => 0,
            Recovery::Fountain { .. } => FOUNTAIN_BIT,
        };
        let learning = match self.learning {
            Learning::Off => 0,
            Learning::LastSpeakers => LEARNING_BIT,
        };
        slim | fountain | learning
    }

    /// Writes segment `index` of a wake-up in its `turn`, whose flood's reference time is
    /// `until_start` before the first packet (rounded up to a millisecond).
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a segment that there is not, a start more than 65 s ahead, or
    /// a source that is the sink; [`WireError::NoRoom`].
    pub fn segment(
        &self,
        index: usize,
        turn: Turn,
        until_start: Duration,
        w: &mut Writer<'_>,
    ) -> Result<(), WireError> {
        if self.source == self.sink || self.segments() > MAX_SEGMENTS {
            return Err(WireError::Malformed);
        }
        let count = self.segments();
        if index >= count {
            return Err(WireError::Malformed);
        }
        let ms = until_start.as_nanos().div_ceil(1_000_000);
        let ms = u16::try_from(ms).map_err(|_| WireError::Malformed)?;
        let mut bytes = [0; MAX_ENCODED];
        let mut all = Writer::new(&mut bytes);
        self.encode(&mut all)?;
        let len = all.len();
        let chunk = bytes[..len]
            .chunks(self.chunk_bytes())
            .nth(index)
            .ok_or(WireError::Malformed)?;
        w.u8(SEGMENT_KIND)?.u16(self.transfer)?;
        let turn = match turn {
            Turn::First => 0,
            Turn::Later => LATER_BIT,
        };
        w.u8((index as u8) << 4 | turn | count as u8)?
            .u16(ms)?
            .bytes(chunk)?;
        Ok(())
    }

    fn encode(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let hops = self.channels.hops();
        let with_options = self.option_bytes() > 0;
        if self.payload.0 > self.format.max_payload() {
            return Err(WireError::Malformed);
        }
        let scheme = match self.scheme {
            Scheme::P3 if with_options => WITH_OPTIONS,
            Scheme::P3 => 0,
            Scheme::Pip(Hopping::Fixed) => 0x10,
            Scheme::Pip(Hopping::EveryCyclePair) => 0x20,
        };
        let limited = if self.threshold.is_some() { 0x80 } else { 0 };
        w.u16(self.sink.get())?
            .u16(self.source.get())?
            .u8(hops | scheme | limited)?;
        w.u8(self.payload.0)?.u16(self.deadline_s)?;
        w.u32(self.range.offset)?.u32(self.range.len)?;
        if let Some(threshold) = self.threshold {
            w.u8(threshold.0)?;
        }
        if with_options {
            w.u8(self.options())?;
            if let Recovery::Fountain { spare } = self.recovery {
                w.u8(spare.0)?;
            }
        }
        for channel in self.channels.as_slice() {
            w.u8(channel.number())?;
        }
        for (stage, group) in places(hops) {
            let here = self
                .members()
                .iter()
                .filter(|m| (m.stage, m.group) == (stage, group));
            w.u8(here.count() as u8)?;
        }
        for member in self.members() {
            w.u16(member.node.get())?;
        }
        Ok(())
    }

    fn decode(transfer: u16, bytes: &[u8]) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let mut r = Reader::new(bytes);
        let node = |r: &mut Reader<'_>| NodeId::new(r.u16()?).map_err(|_| bad);
        let (sink, source, flags) = (node(&mut r)?, node(&mut r)?, r.u8()?);
        let scheme = match flags & 0x70 {
            0 | WITH_OPTIONS => Scheme::P3,
            0x10 => Scheme::Pip(Hopping::Fixed),
            0x20 => Scheme::Pip(Hopping::EveryCyclePair),
            _ => return Err(bad),
        };
        let payload = r.u8()?;
        let deadline_s = r.u16()?;
        let range = ObjectRange {
            offset: r.u32()?,
            len: r.u32()?,
        };
        let threshold = match flags & 0x80 {
            0 => None,
            _ => Some(Percent::new(r.u8()?).ok_or(bad)?),
        };
        let (mut format, mut recovery) = (Format::Full, Recovery::Rounds);
        let mut learning = Learning::Off;
        if flags & 0x70 == WITH_OPTIONS {
            let options = r.u8()?;
            // What does not deviate is not said this way: one route has one encoding.
            if options == 0 || options & !(SLIM_BIT | FOUNTAIN_BIT | LEARNING_BIT) != 0 {
                return Err(bad);
            }
            if options & SLIM_BIT != 0 {
                format = Format::Slim;
            }
            if options & LEARNING_BIT != 0 {
                learning = Learning::LastSpeakers;
            }
            if options & FOUNTAIN_BIT != 0 {
                let spare = Percent::new(r.u8()?).ok_or(bad)?;
                recovery = Recovery::Fountain { spare };
            }
        }
        let payload = PayloadSize::of_format(payload, format).ok_or(bad)?;
        let hops = flags & 0x0f;
        if hops == 0 || hops > MAX_HOPS || sink == source {
            return Err(bad);
        }
        let mut list = [Channel::LAST; MAX_STAGES];
        for channel in &mut list[..=usize::from(hops)] {
            *channel = Channel::new(r.u8()?).map_err(|_| bad)?;
        }
        let channels = Channels { list, hops };
        let mut route = Self::new(transfer, source, sink, scheme, channels);
        (route.payload, route.deadline_s, route.range) = (payload, deadline_s, range);
        (route.threshold, route.format) = (threshold, format);
        (route.recovery, route.learning) = (recovery, learning);
        let mut counts = r.clone();
        r.bytes(2 * usize::from(hops - 1))?;
        for (stage, group) in places(hops) {
            for _ in 0..counts.u8()? {
                route.add(Member {
                    node: node(&mut r)?,
                    stage,
                    group,
                })?;
            }
        }
        if r.remaining() == 0 {
            Ok(route)
        } else {
            Err(bad)
        }
    }
}

/// Every place of a relay, in the order in which members are written.
fn places(hops: u8) -> impl Iterator<Item = (u8, Group)> {
    (1..hops).flat_map(|stage| [(stage, Group::Odd), (stage, Group::Even)])
}

/// Which of the wake-ups of transfers that begin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The first, or the only one: it begins when everyone listens.
    First,
    /// Another one: it follows as soon as the one before it has died down.
    Later,
}

const LATER_BIT: u8 = 0x08;
const COUNT_BITS: u8 = 0x07;

/// What an [`Assembler`] makes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Of which transfer.
    pub transfer: u16,
    /// Its place among the route's segments, from 0.
    pub index: u8,
    /// Whether it is of the first wake-up.
    pub turn: Turn,
    /// From the reference time of the flood that brought it to the first packet.
    pub until_start: Duration,
}

/// Collects the segments of a route. Segments of another transfer put away those of the last.
#[derive(Debug, Clone)]
pub struct Assembler {
    transfer: u16,
    chunks: [[u8; CHUNK]; MAX_SEGMENTS],
    lens: [Option<u8>; MAX_SEGMENTS],
    count: u8,
}

impl Default for Assembler {
    fn default() -> Self {
        Self::new()
    }
}

impl Assembler {
    /// With nothing collected.
    pub const fn new() -> Self {
        Self {
            transfer: 0,
            chunks: [[0; CHUNK]; MAX_SEGMENTS],
            lens: [None; MAX_SEGMENTS],
            count: 0,
        }
    }

    /// Takes a segment, in any order, any number of times.
    ///
    /// # Errors
    /// [`WireError`] where `content` is no segment of a route; nothing changes then.
    pub fn push(&mut self, content: &[u8]) -> Result<Segment, WireError> {
        let mut r = Reader::new(content);
        if r.u8()? != SEGMENT_KIND {
            return Err(WireError::Malformed);
        }
        let (transfer, place, ms) = (r.u16()?, r.u8()?, r.u16()?);
        let (index, count) = (usize::from(place >> 4), place & COUNT_BITS);
        let turn = match place & LATER_BIT {
            0 => Turn::First,
            _ => Turn::Later,
        };
        let chunk = r.rest();
        if usize::from(count) > MAX_SEGMENTS || index >= usize::from(count) || chunk.len() > CHUNK {
            return Err(WireError::Malformed);
        }
        if transfer != self.transfer || count != self.count {
            (self.transfer, self.count, self.lens) = (transfer, count, [None; MAX_SEGMENTS]);
        }
        self.chunks[index][..chunk.len()].copy_from_slice(chunk);
        self.lens[index] = u8::try_from(chunk.len()).ok();
        Ok(Segment {
            transfer,
            index: place >> 4,
            turn,
            until_start: Duration::from_millis(u64::from(ms)),
        })
    }

    /// The route, once all its segments are there and make sense.
    pub fn route(&self) -> Option<Route> {
        let mut bytes = [0; MAX_ENCODED];
        let mut w = Writer::new(&mut bytes);
        for (chunk, len) in self
            .chunks
            .iter()
            .zip(self.lens)
            .take(usize::from(self.count))
        {
            w.bytes(&chunk[..usize::from(len?)]).ok()?;
        }
        let len = w.len();
        Route::decode(self.transfer, &bytes[..len]).ok()
    }
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
