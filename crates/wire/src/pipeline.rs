//! Frames of the packet pipeline (P3 and PIP): data, requests for a report, and NACKs.
//!
//! All begin with the same seven bytes (P3, section V: "7-bytes application header"): MAC header,
//! dispatch, a byte of hop, group and tag, and a number. [`Format::Slim`] says the same in four. A
//! relay changes only the hop, so all relays of a stage send the same bytes.
//! Tests: `pipeline_tests.rs`.

use crate::{dispatch, mac, Reader, WireError, Writer};
pub use report::{set_count, Counts, Nack, Purpose, Request};

/// Bytes of [`Header`], the MAC header included.
pub const HEADER_BYTES: usize = 7;
/// The most payload that a frame carries.
pub const MAX_PAYLOAD: usize = crate::phy::MAX_MPDU - HEADER_BYTES;
/// Bytes of [`Header`] in [`Format::Slim`].
pub const SLIM_HEADER_BYTES: usize = 4;
/// The most payload that a frame of [`Format::Slim`] carries.
pub const MAX_SLIM_PAYLOAD: usize = crate::phy::MAX_MPDU - SLIM_HEADER_BYTES;
/// The most packets of a transfer.
pub const MAX_PACKETS: u16 = 16_384;
/// The most hops of a route: the longest path that is compared (FastForward, figure 4).
pub const MAX_HOPS: u8 = 11;
/// How many bytes of a frame decide whether it is meant for a node: up to hop, group and tag.
pub const HEAD_BYTES: u8 = 5;
/// Bytes of an emitted [`Request`] after the header.
pub const REQUEST_BODY_BYTES: usize = 15;
/// Bytes of an emitted [`Nack`] before its bit vector, without header.
pub const NACK_BODY_BYTES: usize = 5;

const HOP_AT: usize = 4;
const HOP_BITS: u8 = 0x0f;
const EVEN_BIT: u8 = 0x10;
const TAG_SHIFT: u32 = 5;
/// In the last byte of a request: what it is for. Both together are nothing.
const RELEASE_BIT: u8 = 0x80;
const COUNT_BIT: u8 = 0x40;
const FOLLOWING_BITS: u8 = 0x3f;
/// First byte of a slim frame: the one-byte frame control of a multipurpose frame without
/// addresses (IEEE 802.15.4-2015, 7.3.5: type 101, all else 0); its sequence number follows.
const MULTIPURPOSE: u8 = 0x05;
const SLIM_HOP_AT: usize = 2;
const SLIM_KIND_SHIFT: u32 = 6;
const SLIM_HIGH_BITS: u8 = 0x3f;
const SLIM_HIGH_AT: usize = 3;
/// The kind of data that calls alternate relays: see [`call`].
const SLIM_CALLING: u8 = 3;

/// How a frame of a pipeline begins. The frame says so itself: readers need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Seven bytes, as P3's: a data frame, a dispatch byte, and a number of its own beside the MAC's.
    #[default]
    Full,
    /// Four bytes: a multipurpose frame, whose sequence number is the low byte of the number; hop,
    /// group and tag; kind and the rest of the number.
    Slim,
}

impl Format {
    /// Bytes of [`Header`].
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Full => HEADER_BYTES,
            Self::Slim => SLIM_HEADER_BYTES,
        }
    }
    /// How many bytes of a frame decide whether it is meant for a node.
    pub const fn head_bytes(self) -> u8 {
        match self {
            Self::Full => HEAD_BYTES,
            Self::Slim => SLIM_HEADER_BYTES as u8,
        }
    }
    /// The most payload of a frame.
    pub const fn max_payload(self) -> u8 {
        (crate::phy::MAX_MPDU - self.header_bytes()) as u8
    }
    /// The format of the frame that begins with `bytes`, if it is any.
    fn of(bytes: &[u8]) -> Option<Self> {
        match *bytes.first()? {
            MULTIPURPOSE => Some(Self::Slim),
            first if first == crate::mac::FRAME_CONTROL.to_le_bytes()[0] => Some(Self::Full),
            _ => None,
        }
    }
}

/// Which subgroup of each stage carries a packet: that of the odd-numbered cycles of the source,
/// counted from one, or of the even-numbered (P3, section IV-B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Handles packets that the source sends in its 1st, 3rd, 5th ... cycle.
    Odd,
    /// Handles the others.
    Even,
}

impl Group {
    /// The other group.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Odd => Self::Even,
            Self::Even => Self::Odd,
        }
    }
    /// Its place where both are kept beside each other: 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A packet of the object, towards the destination.
    Data,
    /// Asks the destination what it misses, or releases everyone; towards the destination.
    Request,
    /// Says what is missing; towards the source.
    Nack,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Data, Self::Request, Self::Nack];

    const fn dispatch(self) -> u8 {
        match self {
            Self::Data => dispatch::PIPE_DATA,
            Self::Request => dispatch::PIPE_REQUEST,
            Self::Nack => dispatch::PIPE_NACK,
        }
    }
}

/// Three bits of a transfer's id, which keep frames of another transfer out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u8);

impl Tag {
    /// The tag of transfer `id`.
    pub const fn of(id: u16) -> Self {
        Self((id & 7) as u8)
    }
}

/// The content of the first [`HEAD_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What the frame is.
    pub kind: Kind,
    /// The transfer's tag.
    pub tag: Tag,
    /// The stage that sent it, 0 (source) to [`MAX_HOPS`].
    pub hop: u8,
    /// The group that it is for.
    pub group: Group,
}

impl Head {
    /// Reads the beginning of a frame: [`HEAD_BYTES`] bytes or more.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        if Format::of(bytes) == Some(Format::Slim) {
            r.u8()?;
            return Ok(Self::parse_slim(&mut r)?.0);
        }
        mac::parse(&mut r)?;
        Self::parse_after_mac(&mut r)
    }

    /// The head and the number of a slim frame, after its first byte.
    fn parse_slim(r: &mut Reader<'_>) -> Result<(Self, u16), WireError> {
        let [low, place, high] = r.array()?;
        let kind = match high >> SLIM_KIND_SHIFT {
            SLIM_CALLING => Kind::Data,
            kind => *Kind::ALL
                .get(usize::from(kind))
                .ok_or(WireError::Malformed)?,
        };
        let number = u16::from_le_bytes([low, high & SLIM_HIGH_BITS]);
        Ok((Self::of(kind, place)?, number))
    }

    fn parse_after_mac(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let byte = r.u8()?;
        let kind = Kind::ALL.into_iter().find(|k| k.dispatch() == byte);
        Self::of(kind.ok_or(WireError::Malformed)?, r.u8()?)
    }

    fn of(kind: Kind, byte: u8) -> Result<Self, WireError> {
        let hop = byte & HOP_BITS;
        if hop > MAX_HOPS {
            return Err(WireError::Malformed);
        }
        Ok(Self {
            kind,
            tag: Tag(byte >> TAG_SHIFT),
            hop,
            group: match byte & EVEN_BIT {
                0 => Group::Odd,
                _ => Group::Even,
            },
        })
    }

    /// Where a frame of `format` has hop, group and tag, and what stands there in a frame with
    /// this head, whatever its kind.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a hop beyond [`MAX_HOPS`].
    pub fn origin(self, format: Format) -> Result<(u8, [u8; 1]), WireError> {
        let at = match format {
            Format::Full => HOP_AT,
            Format::Slim => SLIM_HOP_AT,
        };
        Ok((at as u8, [self.place()?]))
    }

    /// Hop, group and tag in a byte.
    fn place(self) -> Result<u8, WireError> {
        if self.hop > MAX_HOPS {
            return Err(WireError::Malformed);
        }
        let even = self.group as u8 * EVEN_BIT;
        Ok(self.hop | even | self.tag.0 << TAG_SHIFT)
    }
}

/// The header of every frame of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What, whose, from which hop and for which group.
    pub head: Head,
    /// Data: the packet's number, below [`MAX_PACKETS`]. Request and NACK: the round.
    pub number: u16,
}

impl Header {
    /// Reads the header; the body is left in `r`.
    ///
    /// # Errors
    /// [`WireError`] where it is no frame of a pipeline, or a packet's number is too high.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut slim = r.clone();
        if slim.u8()? == MULTIPURPOSE {
            let (head, number) = Head::parse_slim(&mut slim)?;
            *r = slim;
            return Ok(Self { head, number });
        }
        let low = mac::parse(r)?;
        let head = Head::parse_after_mac(r)?;
        let number = r.u16()?;
        let too_high = head.kind == Kind::Data && number >= MAX_PACKETS;
        if too_high || low != number.to_le_bytes()[0] {
            return Err(WireError::Malformed);
        }
        Ok(Self { head, number })
    }

    /// Writes the header in [`Format::Full`].
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a hop beyond [`MAX_HOPS`].
    pub fn emit(self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.emit_as(Format::Full, w)
    }

    /// Writes the header.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a hop beyond [`MAX_HOPS`], and in
    /// [`Format::Slim`] for a number of [`MAX_PACKETS`] or more.
    pub fn emit_as(self, format: Format, w: &mut Writer<'_>) -> Result<(), WireError> {
        let place = self.head.place()?;
        let [low, high] = self.number.to_le_bytes();
        match format {
            Format::Full => {
                mac::emit(low, w)?;
                w.u8(self.head.kind.dispatch())?;
                w.u8(place)?.u16(self.number)?;
            }
            Format::Slim => {
                if self.number >= MAX_PACKETS {
                    return Err(WireError::Malformed);
                }
                let kind = (self.head.kind as u8) << SLIM_KIND_SHIFT;
                w.u8(MULTIPURPOSE)?.u8(low)?;
                w.u8(place)?.u8(kind | high)?;
            }
        }
        Ok(())
    }
}

/// Writes another hop into an emitted frame, all that a relay changes.
///
/// # Errors
/// [`WireError::Truncated`] where `mpdu` is too short; [`WireError::Malformed`] for a hop beyond
/// [`MAX_HOPS`].
pub fn set_hop(mpdu: &mut [u8], hop: u8) -> Result<(), WireError> {
    if hop > MAX_HOPS {
        return Err(WireError::Malformed);
    }
    let at = match Format::of(mpdu) {
        Some(Format::Slim) => SLIM_HOP_AT,
        Some(Format::Full) | None => HOP_AT,
    };
    let byte = mpdu.get_mut(at).ok_or(WireError::Truncated)?;
    *byte = *byte & !HOP_BITS | hop;
    Ok(())
}

/// What a MIC of an emitted request or NACK is over: its header without the hop, filled up with zeros, and its body up to
/// where relays write.
///
/// # Errors
/// [`WireError`] where `mpdu` is no such frame.
pub(crate) fn sealed_part(mpdu: &[u8]) -> Result<([u8; HEADER_BYTES], &[u8]), WireError> {
    let format = Format::of(mpdu).ok_or(WireError::Malformed)?;
    let kind = Head::parse(mpdu)?.kind;
    let (head, mut body) =
        (mpdu.split_at_checked(format.header_bytes())).ok_or(WireError::Truncated)?;
    let mut header = [0; HEADER_BYTES];
    header[..head.len()].copy_from_slice(head);
    set_hop(&mut header, 0)?;
    match kind {
        Kind::Request => body = body.get(..REQUEST_BODY_BYTES).ok_or(WireError::Truncated)?,
        Kind::Nack => {}
        Kind::Data => return Err(WireError::Malformed),
    }
    Ok((header, body))
}

/// Has an emitted slim data frame call its group's alternate relays, which send it on beside the others. Other frames
/// stay as they are.
pub fn call(mpdu: &mut [u8]) {
    let is_slim = Format::of(mpdu) == Some(Format::Slim);
    if let Some(high) = mpdu.get_mut(SLIM_HIGH_AT).filter(|_| is_slim) {
        if *high >> SLIM_KIND_SHIFT == Kind::Data as u8 {
            *high |= SLIM_CALLING << SLIM_KIND_SHIFT;
        }
    }
}

/// Whether the frame that begins with `mpdu` is data that calls alternate relays.
pub fn calls(mpdu: &[u8]) -> bool {
    let high = mpdu.get(SLIM_HIGH_AT);
    let is_slim = Format::of(mpdu) == Some(Format::Slim);
    is_slim && high.is_some_and(|high| high >> SLIM_KIND_SHIFT == SLIM_CALLING)
}

mod report;
#[cfg(test)]
#[path = "pipeline_tests.rs"]
mod tests;
