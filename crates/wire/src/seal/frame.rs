//! Sealed frames: floods that give orders, and a pipeline's requests and NACKs.
//!
//! A flood's content ends with its initiator's number (4) and a tag (8) over initiator, content and number; the tag
//! leaves out the header, whose relay counter each relay changes. A request or NACK ends with a MIC (4) over all but the
//! hop, which relays change, and the stages' counts, which they write. Tests: `frame_tests.rs`.

use super::cmac::truncated;
use super::{equal, Cipher, Key};
use crate::flood::{self, TRAILER_BYTES};
use crate::pipeline;
use crate::{FrameBuf, Reader, WireError};
use thalweg_units::NodeId;

/// Bytes by which a sealed request or NACK is longer.
pub const MIC_BYTES: u8 = 4;

const NUMBER_BYTES: usize = 4;
const FLOOD_TAG_BYTES: usize = TRAILER_BYTES - NUMBER_BYTES;

/// Whether frames are sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Sealing {
    /// They are not: anybody can read and forge them.
    #[default]
    Open,
    /// They are.
    Sealed,
}

impl Sealing {
    /// Bytes by which a flood is longer.
    pub const fn trailer_bytes(self) -> usize {
        match self {
            Self::Open => 0,
            Self::Sealed => TRAILER_BYTES,
        }
    }
    /// Bytes by which a request or NACK is longer.
    pub const fn mic_bytes(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Sealed => MIC_BYTES,
        }
    }
}

/// The `content` of a flood by `initiator`, sealed with its `number` under `key`.
///
/// # Errors
/// [`WireError::NoRoom`] where it gets too long; [`WireError::Truncated`] for one without a first byte.
pub fn seal_flood(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    (initiator, number): (NodeId, u32),
    content: &[u8],
) -> Result<FrameBuf, WireError> {
    let mut sealed = FrameBuf::build(|w| {
        w.bytes(content)?.u32(number)?;
        Ok(())
    })?;
    flood::mark_sealed(&mut sealed)?;
    let tag = flood_tag(cipher, key, initiator, &sealed);
    FrameBuf::build(|w| w.bytes(&sealed)?.bytes(&tag).map(|_| ()))
}

/// The number in the sealed `content` of a flood by `initiator`; none unless its tag is right under `key`.
pub fn open_flood(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    initiator: NodeId,
    content: &[u8],
) -> Option<u32> {
    if !flood::is_sealed(content) {
        return None;
    }
    let (tagged, tag) = content.split_at_checked(content.len().checked_sub(FLOOD_TAG_BYTES)?)?;
    let mut number = Reader::new(tagged.get(tagged.len().checked_sub(NUMBER_BYTES)?..)?);
    let is_right = equal(&flood_tag(cipher, key, initiator, tagged), tag);
    number.u32().ok().filter(|_| is_right)
}

fn flood_tag(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    initiator: NodeId,
    tagged: &[u8],
) -> [u8; FLOOD_TAG_BYTES] {
    truncated(cipher, key, &[&initiator.get().to_le_bytes(), tagged])
}

/// The MIC of a pipeline's request or NACK `mpdu`, which has none yet.
///
/// # Errors
/// [`WireError`] where it is no such frame.
pub fn mic(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    mpdu: &[u8],
) -> Result<[u8; MIC_BYTES as usize], WireError> {
    let (header, body) = pipeline::sealed_part(mpdu)?;
    Ok(truncated(cipher, key, &[&header, body]))
}

/// A pipeline's request or NACK without its MIC; none unless that is right under `key`.
pub fn open_control<'m>(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    mpdu: &'m [u8],
) -> Option<&'m [u8]> {
    let (plain, told) = mpdu.split_at_checked(mpdu.len().checked_sub(MIC_BYTES.into())?)?;
    let made = mic(cipher, key, plain).ok()?;
    equal(&made, told).then_some(plain)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
