//! The wake-up message: what every node of a transfer must know before it begins (P3, section
//! IV-D: "node identity, hop-length, and reception channel for every node").
//!
//! A [`Route`] of up to [`MAX_MEMBERS`] relays is cut into at most [`MAX_SEGMENTS`] contents of
//! floods by [`Route::segment`] and put together again by an [`Assembler`]. Each segment has the
//! time from the reference of *its* flood to the start of the transfer, so any of them will do as
//! the time base. Tests: `tests.rs`.

mod assembler;
mod encoding;
mod packed;
mod parameters;

use assembler::LATER_BIT;
pub use assembler::{Assembler, Segment, WakeUpTurn};
pub use parameters::*;

use crate::flood::{self, TRAILER_BYTES};
use crate::pipeline::{Format, Group, MAX_HOPS};
use crate::seal::frame::Sealing;
use crate::{WireError, Writer};
use core::num::NonZeroU16;
use core::ops::Range;
use thalweg_units::{Channel, Duration, NodeId};

/// The most relays of a route, backup and alternate relays included.
pub const MAX_MEMBERS: usize = 112;
/// The most backup and alternate relays of a [`Route`].
pub const MAX_BACKUPS: u8 = 63;
/// The most segments of a route.
pub const MAX_SEGMENTS: usize = 3;
/// The longest segment: content of a flood.
pub const MAX_SEGMENT_BYTES: usize = 110;
/// First byte of every segment, which distinguishes it from other contents of floods.
pub const SEGMENT_KIND: u8 = 0x10;
/// The same of a segment whose transfer is sealed.
pub const SEALED_SEGMENT_KIND: u8 = 0x12;

const SEGMENT_HEADER_BYTES: usize = 6;
/// No segment is shorter: of a wake-up over one hop.
pub const LEAST_SEGMENT_BYTES: usize = SEGMENT_HEADER_BYTES + packed::LEAST_BYTES;
const CHUNK: usize = MAX_SEGMENT_BYTES - SEGMENT_HEADER_BYTES;
const MAX_ENCODED: usize = CHUNK * MAX_SEGMENTS;
/// The same of a sealed segment, whose trailer needs room.
const SEALED_CHUNK: usize = flood::MAX_CONTENT - 1 - TRAILER_BYTES - SEGMENT_HEADER_BYTES;
const MAX_STAGES: usize = MAX_HOPS as usize + 1;

/// A transfer's route and parameters.
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
    /// The stages' reception channels, and with them H.
    pub channels: Channels,
    /// Below which reception ratio a relay of the last but one stage is silent; `None` for never.
    pub threshold: Option<Percent>,
    /// After how many seconds from its beginning the transfer is given up.
    pub deadline_s: u16,
    /// Which part of the object.
    pub range: ObjectRange,
    /// How frames begin. Only in wake-ups of [`Scheme::P3`].
    pub format: Format,
    /// What becomes of earlier packets. This and all that follows only in wake-ups of [`Scheme::Thalweg`].
    pub progress: Progress,
    /// Whether the first packets are a probe.
    pub probe: Probe,
    /// How long after a regular rendezvous the wake-up begins.
    pub phase: Phase,
    /// The sink's channel for the even group, if that is not C_H; for routes of two hops or more.
    pub last_even: Option<Channel>,
    /// How many packets the transfer is expected to bring, if that is known: from it all nodes compute its expected
    /// end.
    pub expected: Option<NonZeroU16>,
    /// Whether its wake-up, requests and NACKs are sealed. Only of [`Scheme::Thalweg`].
    pub sealing: Sealing,
    /// The relays, then backup relays, then alternate relays.
    members: [Member; MAX_MEMBERS],
    relay_count: u8,
    backup_count: u8,
    alternate_count: u8,
}

const NO_MEMBER: Member = Member {
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
            progress: Progress::Fresh,
            probe: Probe::None,
            phase: Phase::REGULAR,
            last_even: None,
            expected: None,
            sealing: Sealing::Open,
            members: [NO_MEMBER; MAX_MEMBERS],
            relay_count: 0,
            backup_count: 0,
            alternate_count: 0,
        }
    }

    /// Adds a relay.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a stage outside 1..H, or a node that has a part already;
    /// [`WireError::NoRoom`] beyond [`MAX_MEMBERS`].
    pub fn add(&mut self, member: Member) -> Result<(), WireError> {
        let taken = self.fits(member)?;
        self.insert(member, 0..usize::from(self.relay_count), taken);
        self.relay_count += 1;
        Ok(())
    }

    /// Inserts `member` `among` the `taken` ones in order of stage and group, as they are on the wire.
    fn insert(&mut self, member: Member, among: Range<usize>, taken: usize) {
        let place = |m: &Member| (m.stage, m.group);
        let before = self.members[among.clone()].partition_point(|m| place(m) <= place(&member));
        let at = among.start + before;
        self.members.copy_within(at..taken, at + 1);
        self.members[at] = member;
    }

    /// How many there are, where `member` may be added.
    fn fits(&self, member: Member) -> Result<usize, WireError> {
        let between = member.stage >= 1 && member.stage < self.channels.hops();
        if !between || self.role_of(member.node).is_some() {
            return Err(WireError::Malformed);
        }
        let taken =
            usize::from(self.relay_count) + usize::from(self.backup_count + self.alternate_count);
        match taken < MAX_MEMBERS {
            true => Ok(taken),
            false => Err(WireError::NoRoom),
        }
    }

    /// Adds a backup relay.
    ///
    /// # Errors
    /// As [`Route::add`]; [`WireError::NoRoom`] beyond [`MAX_BACKUPS`].
    pub fn add_backup(&mut self, member: Member) -> Result<(), WireError> {
        let taken = self.fits_backup(member)?;
        let first = usize::from(self.relay_count);
        self.insert(member, first..first + usize::from(self.backup_count), taken);
        self.backup_count += 1;
        Ok(())
    }

    /// Adds an alternate relay.
    ///
    /// # Errors
    /// As [`Route::add`]; [`WireError::NoRoom`] beyond [`MAX_BACKUPS`].
    pub fn add_alternate(&mut self, member: Member) -> Result<(), WireError> {
        let taken = self.fits_backup(member)?;
        let first = usize::from(self.relay_count + self.backup_count);
        self.insert(member, first..taken, taken);
        self.alternate_count += 1;
        Ok(())
    }

    fn fits_backup(&self, member: Member) -> Result<usize, WireError> {
        match self.backup_count + self.alternate_count < MAX_BACKUPS {
            true => self.fits(member),
            false => Err(WireError::NoRoom),
        }
    }

    /// The backup relays, in order of stage and group.
    pub fn backup_relays(&self) -> &[Member] {
        let backups = self
            .backups_and_alternates()
            .get(..usize::from(self.backup_count));
        backups.unwrap_or_default()
    }
    /// The alternate relays, in order of stage and group.
    pub fn alternates(&self) -> &[Member] {
        let alternates = self
            .backups_and_alternates()
            .get(usize::from(self.backup_count)..);
        alternates.unwrap_or_default()
    }
    /// The backup relays, then the alternate relays.
    fn backups_and_alternates(&self) -> &[Member] {
        let others = self.members.get(usize::from(self.relay_count)..);
        let count = usize::from(self.backup_count + self.alternate_count);
        others
            .and_then(|others| others.get(..count))
            .unwrap_or_default()
    }
    /// Whether `group` has an alternate relay at every stage.
    pub fn has_alternate(&self, group: Group) -> bool {
        let mut between = 1..self.channels.hops();
        let at =
            |stage: u8| (self.alternates().iter()).any(|m| (m.stage, m.group) == (stage, group));
        !between.is_empty() && between.all(at)
    }

    /// Whether there is one relay of each group at every stage.
    pub fn is_lean(&self) -> bool {
        let relays = 2 * usize::from(self.channels.hops().saturating_sub(1));
        self.groups() == Groups::Two && self.members().len() == relays
    }

    /// The relays, in order of stage and group.
    pub fn members(&self) -> &[Member] {
        &self.members[..usize::from(self.relay_count)]
    }

    /// The role of `node`; `None` if it is not part of the route.
    pub fn role_of(&self, node: NodeId) -> Option<Role> {
        if node == self.source {
            return Some(Role::Source);
        }
        if node == self.sink {
            return Some(Role::Destination);
        }
        let of = |members: &[Member]| members.iter().find(|m| m.node == node).copied();
        let role = |Member { stage, group, .. }| Role::Relay { stage, group };
        let backup = |Member { stage, group, .. }| Role::Backup { stage, group };
        let alternate = |Member { stage, group, .. }| Role::Alternate { stage, group };
        let relay = of(self.members()).map(role);
        let relay = relay.or_else(|| of(self.backup_relays()).map(backup));
        relay.or_else(|| of(self.alternates()).map(alternate))
    }

    /// Two where P3, or what was made of it, has relays of both groups at every stage, else one: a group with a gap
    /// would carry nothing, and together they are still a path (P3, section IV-C: "no worse than PIP").
    pub fn groups(&self) -> Groups {
        let both = |stage: u8| {
            let has = |g| (self.members().iter()).any(|m| (m.stage, m.group) == (stage, g));
            has(Group::Odd) && has(Group::Even)
        };
        match self.scheme {
            Scheme::P3 | Scheme::Thalweg if (1..self.channels.hops()).all(both) => Groups::Two,
            _ => Groups::One,
        }
    }

    /// How its wake-up, requests and NACKs are made. P3 is as published unless its frames begin
    /// otherwise.
    pub fn control(&self) -> Control {
        match self.scheme {
            Scheme::P3 if self.format == Format::Full => Control::Published,
            Scheme::Pip(_) => Control::Published,
            Scheme::P3 | Scheme::Thalweg | Scheme::PipCit | Scheme::HopByHop => Control::Compact,
        }
    }

    /// The stages' reception channels for `group`.
    pub fn channels_of(&self, group: Group) -> Channels {
        match (group, self.last_even) {
            (Group::Even, Some(last)) => self.channels.ending_on(last),
            _ => self.channels,
        }
    }

    /// Whether its wake-up announces its [`Phase`], and so may begin at any rendezvous.
    pub fn has_phase(&self) -> bool {
        self.scheme == Scheme::Thalweg
    }

    /// Into how many segments the route is cut, 1..=3.
    pub fn segments(&self) -> usize {
        let chunk = match self.sealing {
            Sealing::Open => CHUNK,
            Sealing::Sealed => SEALED_CHUNK,
        };
        self.encoded_len().div_ceil(chunk)
    }
    /// Bytes of the longest frame of its wake-up, without FCS.
    pub fn wake_up_bytes(&self) -> usize {
        flood::HEADER_BYTES + 1 + self.segment_bytes() + self.sealing.trailer_bytes()
    }

    /// Bytes of its longest segment. All are equally long, give or take a byte: floods of shorter
    /// frames travel faster, and one that follows another must not catch up with it.
    pub fn segment_bytes(&self) -> usize {
        SEGMENT_HEADER_BYTES + self.chunk_bytes()
    }

    fn chunk_bytes(&self) -> usize {
        self.encoded_len().div_ceil(self.segments())
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
        turn: WakeUpTurn,
        until_start: Duration,
        w: &mut Writer<'_>,
    ) -> Result<(), WireError> {
        let count = self.segments();
        let is_sealed = self.sealing == Sealing::Sealed;
        let is_unfit = is_sealed && self.scheme != Scheme::Thalweg;
        if self.source == self.sink || count > MAX_SEGMENTS || index >= count || is_unfit {
            return Err(WireError::Malformed);
        }
        let ms = until_start.as_nanos().div_ceil(1_000_000);
        let ms = u16::try_from(ms).map_err(|_| WireError::Malformed)?;
        let mut bytes = [0; MAX_ENCODED];
        let mut all = Writer::new(&mut bytes);
        self.encode(&mut all)?;
        let len = all.len();
        let chunk = bytes[..len].chunks(self.chunk_bytes()).nth(index);
        let turn = match turn {
            WakeUpTurn::First => 0,
            WakeUpTurn::Later => LATER_BIT,
        };
        let kind = match self.sealing {
            Sealing::Open => SEGMENT_KIND,
            Sealing::Sealed => SEALED_SEGMENT_KIND,
        };
        w.u8(kind)?.u16(self.transfer)?;
        w.u8((index as u8) << 4 | turn | count as u8)?.u16(ms)?;
        w.bytes(chunk.ok_or(WireError::Malformed)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
