//! What a destination has and lacks: requests for a report, what relays counted, and NACKs.

use super::{
    Format, COUNT_BIT, FOLLOWING_BITS, MAX_HOPS, MAX_PACKETS, RELEASE_BIT, REQUEST_BODY_BYTES,
};
use crate::{Reader, WireError, Writer};

/// What a [`Request`] is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The destination shall send a NACK.
    Report,
    /// The same, and each stage of the request's group writes how many packets it had ([`Counts`]).
    Count,
    /// A report, asked for again: relays pass this request on, and its answer, whichever group's they are.
    Across,
    /// The transfer is over for the source: everyone may leave.
    Release,
}

/// The body of a request, sent after the last packet of a round (P3, section IV-F).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// How many packets the transfer has.
    pub packets: u16,
    /// Bytes of the whole object at the source.
    pub object_len: u32,
    /// Digest of the whole object, mixed with the source's address.
    pub digest: [u8; 8],
    /// How many copies of this request follow this one, each one cycle of a request later; to 63.
    pub following: u8,
    /// What for.
    pub purpose: Purpose,
}

impl Request {
    /// Reads the body; counts or padding come after it.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let packets = r.u16()?;
        let object_len = r.u32()?;
        let mut digest = [0; 8];
        digest.copy_from_slice(r.bytes(8)?);
        let last = r.u8()?;
        if packets > MAX_PACKETS {
            return Err(WireError::Malformed);
        }
        let purpose = match last & !FOLLOWING_BITS {
            0 => Purpose::Report,
            COUNT_BIT => Purpose::Count,
            RELEASE_BIT => Purpose::Release,
            _ => Purpose::Across,
        };
        Ok(Self {
            packets,
            object_len,
            digest,
            following: last & FOLLOWING_BITS,
            purpose,
        })
    }

    /// Writes the body.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a field out of its range.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        if self.packets > MAX_PACKETS || self.following > FOLLOWING_BITS {
            return Err(WireError::Malformed);
        }
        let purpose = match self.purpose {
            Purpose::Report => 0,
            Purpose::Count => COUNT_BIT,
            Purpose::Release => RELEASE_BIT,
            Purpose::Across => COUNT_BIT | RELEASE_BIT,
        };
        w.u16(self.packets)?.u32(self.object_len)?;
        w.bytes(&self.digest)?.u8(self.following | purpose)?;
        Ok(())
    }
}

/// How many packets of a group each stage of its chain had since it was last asked: the source sent so many, relays and
/// the destination received them. Each is at most 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    list: [u8; MAX_HOPS as usize + 1],
    /// H; there are counts of stages 0..=H.
    hops: u8,
}

impl Counts {
    /// The counts of stages 0..=H.
    ///
    /// # Errors
    /// [`WireError::Malformed`] where they are not two to [`MAX_HOPS`] + 1.
    pub fn new(counts: &[u8]) -> Result<Self, WireError> {
        let mut list = [0; MAX_HOPS as usize + 1];
        let places = list.get_mut(..counts.len()).ok_or(WireError::Malformed)?;
        places.copy_from_slice(counts);
        let hops = counts.len().checked_sub(1).filter(|hops| *hops > 0);
        let hops = hops.ok_or(WireError::Malformed)? as u8;
        Ok(Self { list, hops })
    }
    /// What stages 0..H wrote into a request, after its body, and what the destination had.
    ///
    /// # Errors
    /// [`WireError::Truncated`] where some are not there.
    pub fn parse(r: &mut Reader<'_>, hops: u8, here: u8) -> Result<Self, WireError> {
        let written = r.bytes(usize::from(hops))?;
        let mut all = [0; MAX_HOPS as usize + 1];
        let counts = all.get_mut(..=written.len()).ok_or(WireError::Malformed)?;
        let (last, before) = counts.split_last_mut().ok_or(WireError::Malformed)?;
        (*last, _) = (here, before.copy_from_slice(written));
        Self::new(counts)
    }
    /// Of stages 0..=H.
    pub fn stages(&self) -> &[u8] {
        self.list.get(..=usize::from(self.hops)).unwrap_or_default()
    }
}

/// Writes into an emitted request the count of `stage`, one before the destination.
///
/// # Errors
/// [`WireError::Truncated`] where it has no room for that.
pub fn set_count(mpdu: &mut [u8], stage: u8, count: u8) -> Result<(), WireError> {
    let header_bytes = Format::of(mpdu).unwrap_or_default().header_bytes();
    let at = header_bytes + REQUEST_BODY_BYTES + usize::from(stage);
    *mpdu.get_mut(at).ok_or(WireError::Truncated)? = count;
    Ok(())
}

/// The body of a NACK: a part of those packets that are missing (P3, section IV-F).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// Number of the packet of the first bit.
    pub first: u16,
    /// How many packets are missing in all; none missing means complete.
    pub missing: u16,
    /// How many frames of this NACK follow this one.
    pub following: u8,
    /// Bit `i % 8` of byte `i / 8` is set where packet `first + i` is missing.
    pub vector: &'a [u8],
}

impl<'a> Nack<'a> {
    /// Reads the body, the vector to the end of the frame.
    pub fn parse(mut r: Reader<'a>) -> Result<Self, WireError> {
        let nack = Self {
            first: r.u16()?,
            missing: r.u16()?,
            following: r.u8()?,
            vector: r.rest(),
        };
        nack.check().map(|()| nack)
    }
    fn check(&self) -> Result<(), WireError> {
        match self.first < MAX_PACKETS && self.missing <= MAX_PACKETS {
            true => Ok(()),
            false => Err(WireError::Malformed),
        }
    }

    /// Writes the body.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a number that is too high.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.check()?;
        w.u16(self.first)?.u16(self.missing)?;
        w.u8(self.following)?.bytes(self.vector)?;
        Ok(())
    }

    /// The numbers of the packets that this part says are missing.
    pub fn missing_packets(&self) -> impl Iterator<Item = u16> + 'a {
        let (first, vector) = (usize::from(self.first), self.vector);
        (0..vector.len() * 8)
            .filter(move |i| vector[i / 8] & (1 << (i % 8)) != 0)
            .filter_map(move |i| u16::try_from(first + i).ok())
            .filter(|packet| *packet < MAX_PACKETS)
    }
}
