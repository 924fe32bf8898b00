//! Sealed frames: floods that give orders, and a pipeline's requests and NACKs.
//!
//! A flood's content ends with its initiator's number (4) and a tag (8) over initiator, content and number; the tag
//! leaves out the header, whose relay counter each relay changes. A request or NACK ends with a MIC (4) over all but the
//! hop, which relays change, and the stages' counts, which they write. A call hop by hop ends with a number and a tag as a
//! flood does, over all behind the position that is called; every other frame of its transfer ends with a MIC over all of
//! it. Tests: `frame_tests.rs`.

use super::cmac::{truncated, MacKey};
use super::{equal, Cipher, Key};
use crate::flood::{self, TRAILER_BYTES};
use crate::pipeline;
use crate::{mac, FrameBuf, Reader, WireError};
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
    let mut sealed = FrameBuf::from_slice(content)?;
    flood::mark_sealed(&mut sealed)?;
    sealed.append(&number.to_le_bytes())?;
    let tag = flood_tag(cipher, key, initiator, &sealed);
    sealed.append(&tag)?;
    Ok(sealed)
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
    key: &impl MacKey,
    mpdu: &[u8],
) -> Result<[u8; MIC_BYTES as usize], WireError> {
    let (header, body) = pipeline::sealed_part(mpdu)?;
    Ok(truncated(cipher, key, &[&header, body]))
}

/// A pipeline's request or NACK without its MIC; none unless that is right under `key`.
pub fn open_control<'m>(
    cipher: &mut (impl Cipher + ?Sized),
    key: &impl MacKey,
    mpdu: &'m [u8],
) -> Option<&'m [u8]> {
    let (plain, told) = mpdu.split_at_checked(mpdu.len().checked_sub(MIC_BYTES.into())?)?;
    let made = mic(cipher, key, plain).ok()?;
    equal(&made, told).then_some(plain)
}

/// What the tag of a call is over, beside the frame: MICs of its transfer have the same key.
const HOP_CALL: &[u8] = b"hop call";
const HOP_FRAME: &[u8] = b"hop frame";
/// In front of a call's route: MAC header, dispatch, and the position that is called. Each node calls another.
const CALL_HEADER_BYTES: usize = mac::HEADER_BYTES + 2;

/// Writes `number` and tag into the trailer of `call`, the call of a sealed route, under `key`, which is that of the
/// transfer.
///
/// # Errors
/// [`WireError::Truncated`] where `call` has no room for it.
pub fn seal_call(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    number: u32,
    call: &mut FrameBuf,
) -> Result<(), WireError> {
    let cut = |call: &FrameBuf| call.len().checked_sub(TRAILER_BYTES);
    let at = cut(call).filter(|at| *at >= CALL_HEADER_BYTES);
    let at = at.ok_or(WireError::Truncated)?;
    let (tagged, tag_at) = (CALL_HEADER_BYTES, at + NUMBER_BYTES);
    call[at..tag_at].copy_from_slice(&number.to_le_bytes());
    let tag: [u8; FLOOD_TAG_BYTES] = truncated(cipher, key, &[HOP_CALL, &call[tagged..tag_at]]);
    call[tag_at..].copy_from_slice(&tag);
    Ok(())
}

/// The number that a sealed `call` says; its tag is not checked.
pub fn call_number(call: &[u8]) -> Option<u32> {
    let at = call.len().checked_sub(TRAILER_BYTES)?;
    Reader::new(call.get(at..)?).u32().ok()
}

/// Whether the tag of a sealed `call` is right under `key`.
pub fn is_call_right(cipher: &mut (impl Cipher + ?Sized), key: &Key, call: &[u8]) -> bool {
    let at = call.len().checked_sub(FLOOD_TAG_BYTES);
    let Some((call, tag)) = at.and_then(|at| call.split_at_checked(at)) else {
        return false;
    };
    let Some(tagged) = call.get(CALL_HEADER_BYTES..) else {
        return false;
    };
    let made: [u8; FLOOD_TAG_BYTES] = truncated(cipher, key, &[HOP_CALL, tagged]);
    equal(&made, tag)
}

/// The MIC of `mpdu`, a frame of a transfer hop by hop, which has none yet.
pub fn hop_mic(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    mpdu: &[u8],
) -> [u8; MIC_BYTES as usize] {
    truncated(cipher, key, &[HOP_FRAME, mpdu])
}

/// A frame of a transfer hop by hop without its MIC; none unless that is right under `key`.
pub fn open_hop<'m>(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    mpdu: &'m [u8],
) -> Option<&'m [u8]> {
    let (plain, told) = mpdu.split_at_checked(mpdu.len().checked_sub(MIC_BYTES.into())?)?;
    equal(&hop_mic(cipher, key, plain), told).then_some(plain)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
