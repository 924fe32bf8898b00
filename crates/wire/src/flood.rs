//! A Glossy flood's frame: header, and the tag that says what the flood carries.
//!
//! Layout after the MAC header (whose sequence number is the flood's): dispatch, initiator (2),
//! one byte with N_tx (3 bits, high; 0 of a flood that goes inwards) and relay counter (5 bits, low), then the
//! content, whose first byte is its [`Kind`]. Only the relay counter changes from one transmission to the next,
//! so all nodes that send in one slot send the same bytes. Tests: `flood_tests.rs`.

use crate::buf::{FrameBuf, Reader, WireError, Writer};
use crate::{dispatch, mac, phy};
use thalweg_units::NodeId;

/// Bytes in front of the content, MAC header included.
pub const HEADER_BYTES: usize = mac::HEADER_BYTES + 4;
/// The longest content of one flood, its first byte included.
pub const MAX_CONTENT: usize = phy::MAX_MPDU - HEADER_BYTES;
/// Bytes that follow a sealed content: its initiator's number (4) and a tag (8), both of [`crate::seal::frame`].
pub const TRAILER_BYTES: usize = 12;
/// The highest relay counter that fits.
pub const MAX_RELAY: u8 = 31;
/// The highest N_tx that fits.
pub const MAX_N_TX: u8 = 7;

const RELAY_AT: usize = HEADER_BYTES - 1;
/// In the first byte of a content: it is sealed ([`crate::seal::frame`]). Nodes without keys know no such kind.
const SEALED_BIT: u8 = 0x08;
const KIND_BITS: u8 = 0x07;

/// How often each node sends a flood's frame: N_tx, 1..=7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ntx(u8);

impl Ntx {
    /// Once: no repetition.
    pub const ONE: Self = Self(1);
    /// Twice.
    pub const TWO: Self = Self(2);
    /// Three times, Glossy's usual choice.
    pub const THREE: Self = Self(3);
    /// Four times, for long ways over lossy links.
    pub const FOUR: Self = Self(4);

    /// `n` times; `None` outside 1..=7.
    pub fn new(n: u8) -> Option<Self> {
        (1..=MAX_N_TX).contains(&n).then_some(Self(n))
    }
    /// How many times.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Where a flood goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// To all: each node sends it so often.
    Outwards(Ntx),
    /// To the one node from which all others know how many hops away they are: each node sends it once, those that are
    /// as close as its sender or farther away not at all.
    Inwards,
}

impl Course {
    /// How often each node sends it.
    pub const fn times(self) -> u8 {
        match self {
            Self::Outwards(n_tx) => n_tx.get(),
            Self::Inwards => 1,
        }
    }
    const fn code(self) -> u8 {
        match self {
            Self::Outwards(n_tx) => n_tx.get(),
            Self::Inwards => 0,
        }
    }
}

/// A flood's frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    /// The flood's number among its initiator's, modulo 256.
    pub sequence: u8,
    /// Who began the flood.
    pub initiator: NodeId,
    /// Where it goes, and how often each node sends it.
    pub course: Course,
    /// How many slots after the flood's first this frame is sent, 0..=31. Of one that goes inwards the first slot is
    /// that of the nodes farthest away.
    pub relay: u8,
    /// What is flooded.
    pub content: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Reads a whole frame.
    ///
    /// # Errors
    /// [`WireError`], also for one that is longer than a frame can be.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        // What no frame holds cannot be sent on.
        if mpdu.len() > phy::MAX_MPDU {
            return Err(WireError::Malformed);
        }
        let mut r = Reader::new(mpdu);
        let sequence = mac::parse(&mut r)?;
        r.expect(dispatch::FLOOD)?;
        let initiator = r.node()?;
        let counts = r.u8()?;
        Ok(Self {
            sequence,
            initiator,
            course: Ntx::new(counts >> 5).map_or(Course::Inwards, Course::Outwards),
            relay: counts & MAX_RELAY,
            content: r.rest(),
        })
    }
    /// Writes the frame.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a relay counter beyond [`MAX_RELAY`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        if self.relay > MAX_RELAY {
            return Err(WireError::Malformed);
        }
        mac::emit(self.sequence, w)?;
        w.u8(dispatch::FLOOD)?.u16(self.initiator.get())?;
        w.u8(self.course.code() << 5 | self.relay)?
            .bytes(self.content)?;
        Ok(())
    }
}

/// Sets the relay counter of a flood's frame, the one byte that a relay patches; counters beyond
/// [`MAX_RELAY`] are cut off there. A frame too short to have one stays as it is.
pub fn patch_relay(frame: &mut FrameBuf, relay: u8) {
    if let Some(byte) = frame.get_mut(RELAY_AT) {
        *byte = *byte & !MAX_RELAY | relay.min(MAX_RELAY);
    }
}

/// Whether a flood's `content` says that it is sealed.
pub fn is_sealed(content: &[u8]) -> bool {
    content.first().is_some_and(|first| first & SEALED_BIT != 0)
}
/// Has a `content` say so.
pub(crate) fn mark_sealed(content: &mut FrameBuf) -> Result<(), WireError> {
    let first = content.first_mut().ok_or(WireError::Truncated)?;
    *first |= SEALED_BIT;
    Ok(())
}
/// A flood's `content` without what seals it.
pub fn opened_content(content: &[u8]) -> &[u8] {
    match is_sealed(content) {
        true => {
            let len = content.len().saturating_sub(TRAILER_BYTES);
            content.get(..len).unwrap_or_default()
        }
        false => content,
    }
}

/// What a flood carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the layer above.
    Application,
    /// Whose turn it is to send beacons: [`crate::beacon::Announce`].
    Announce,
    /// Who reports in which slot: [`crate::report::Schedule`].
    Schedule,
    /// A part of one node's link table: [`crate::report::Report`].
    Report,
    /// When each node beacons in a slot of its own: [`crate::sweep::Announcement`].
    Sweep,
    /// What one node received in a sweep: [`crate::levels::Levels`].
    Levels,
    /// In a secured network, a [`Kind::Sweep`] that another node than its sink repeats ([`crate::seal::survey`]).
    Repeat,
}

/// Which measurement something belongs to: counts modulo 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Campaign(u8);

impl Campaign {
    /// Campaign `number` modulo 16.
    pub const fn new(number: u8) -> Self {
        Self(number & 0x0f)
    }
    /// Its number, 0..=15.
    pub const fn number(self) -> u8 {
        self.0
    }
    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
}

/// The first byte of a flood's content has campaign (high four bits; 0 of [`Kind::Application`]), whether it is
/// sealed, and kind (low three bits).
impl Kind {
    const ALL: [Self; 7] = [
        Self::Application,
        Self::Announce,
        Self::Schedule,
        Self::Report,
        Self::Sweep,
        Self::Levels,
        Self::Repeat,
    ];

    /// Reads that byte.
    pub fn parse_tag(r: &mut Reader<'_>) -> Result<(Self, Campaign), WireError> {
        let byte = r.u8()?;
        let kind = Self::ALL.get(usize::from(byte & KIND_BITS));
        let kind = *kind.ok_or(WireError::Malformed)?;
        Ok((kind, Campaign::new(byte >> 4)))
    }
    /// The campaign, if the byte is of this kind.
    pub(crate) fn parse(self, r: &mut Reader<'_>) -> Result<Campaign, WireError> {
        match Self::parse_tag(r)? {
            (kind, campaign) if kind == self => Ok(campaign),
            _ => Err(WireError::Malformed),
        }
    }
    /// Writes it.
    pub fn emit(self, campaign: Campaign, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u8(campaign.number() << 4 | self as u8).map(|_| ())
    }
}

#[cfg(test)]
#[path = "flood_tests.rs"]
mod tests;
