//! Sealed surveys: beacons, reports, and announcements that other nodes repeat.
//!
//! A beacon's filler ends with a MIC (4) over all before it. A report's content is its first byte, the rest encrypted, and
//! a MIC (4) over the plain content and who reports; the key stream begins with the MIC, as an object's does with its tag. A
//! repeated announcement ends with the base station (2) and the number (4) of the first one, and a tag (8) over these and the
//! node that repeats it. All nodes share the keys of a survey. Tests: `survey_tests.rs`.

use super::cmac::truncated;
use super::frame::MIC_BYTES;
use super::keys::Numbered;
use super::{equal, Cipher, Key, BLOCK_BYTES};
use crate::flood::{self, Kind, TRAILER_BYTES};
use crate::{FrameBuf, Reader, WireError};
use thalweg_units::NodeId;

/// Bytes that follow the content of a repeated announcement.
pub const REPEAT_BYTES: usize = 2 + TRAILER_BYTES;

const MIC: usize = MIC_BYTES as usize;
const TAG: usize = 8;
const BEACON: &[u8] = b"beacon";
const LEVELS: &[u8] = b"report";

/// Puts its MIC under `key` into the last bytes of `beacon`, which are filler.
pub fn seal_beacon(cipher: &mut (impl Cipher + ?Sized), key: &Key, beacon: &mut FrameBuf) {
    let at = beacon.len().saturating_sub(MIC);
    let (plain, mic) = beacon.split_at_mut(at);
    let made: [u8; MIC] = truncated(cipher, key, &[BEACON, plain]);
    for (place, byte) in mic.iter_mut().zip(made) {
        *place = byte;
    }
}

/// Whether the MIC of `beacon` is right under `key`.
pub fn is_beacon_right(cipher: &mut (impl Cipher + ?Sized), key: &Key, beacon: &[u8]) -> bool {
    let at = beacon.len().checked_sub(MIC);
    let Some((plain, mic)) = at.and_then(|at| beacon.split_at_checked(at)) else {
        return false;
    };
    let made: [u8; MIC] = truncated(cipher, key, &[BEACON, plain]);
    equal(&made, mic)
}

/// A survey's keys for reports.
#[derive(Debug)]
pub struct ReportKeys<'a> {
    /// Of MICs.
    pub tag: &'a Key,
    /// Of the key stream.
    pub stream: &'a Key,
}

impl ReportKeys<'_> {
    /// The `content` of the flood by which `node` reports, sealed.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where it gets too long; [`WireError::Truncated`] for one that has nothing in it.
    pub fn seal(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        node: NodeId,
        content: &[u8],
    ) -> Result<FrameBuf, WireError> {
        let mut sealed = FrameBuf::from_slice(content)?;
        flood::mark_sealed(&mut sealed)?;
        let mic = self.mic(cipher, node, &sealed);
        self.apply(cipher, (node, mic), &mut sealed);
        sealed.append(&mic)?;
        Ok(sealed)
    }
    /// The plain content of `node`'s report; none unless its MIC is right.
    pub fn open(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        node: NodeId,
        sealed: &[u8],
    ) -> Option<FrameBuf> {
        let (content, told) = sealed.split_at_checked(sealed.len().checked_sub(MIC)?)?;
        let mut plain = FrameBuf::from_slice(content).ok()?;
        self.apply(cipher, (node, told.try_into().ok()?), &mut plain);
        let is_right = equal(&self.mic(cipher, node, &plain), told);
        is_right.then_some(plain)
    }
    fn mic(&self, cipher: &mut (impl Cipher + ?Sized), node: NodeId, plain: &[u8]) -> [u8; MIC] {
        truncated(
            cipher,
            self.tag,
            &[LEVELS, &node.get().to_le_bytes(), plain],
        )
    }
    /// Encrypts or decrypts all but the first byte.
    fn apply(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        (node, mic): (NodeId, [u8; MIC]),
        content: &mut [u8],
    ) {
        let body = content.get_mut(1..).unwrap_or_default();
        for (bytes, number) in body.chunks_mut(BLOCK_BYTES).zip(0u8..) {
            let mut stream = [0; BLOCK_BYTES];
            stream[..MIC].copy_from_slice(&mic);
            stream[MIC..MIC + 2].copy_from_slice(&node.get().to_le_bytes());
            stream[BLOCK_BYTES - 1] = number;
            cipher.block(self.stream, &mut stream);
            for (byte, of) in bytes.iter_mut().zip(stream) {
                *byte ^= of;
            }
        }
    }
}

/// The content of the flood by which `by` repeats the plain `announcement` of a sweep, under the key of floods.
///
/// # Errors
/// [`WireError::NoRoom`] where it gets too long; [`WireError::Truncated`] for one without a first byte.
pub fn seal_repeat(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    (by, (sink, number)): (NodeId, Numbered),
    announcement: &[u8],
) -> Result<FrameBuf, WireError> {
    let first = announcement.first().ok_or(WireError::Truncated)?;
    let (_, campaign) = Kind::parse_tag(&mut Reader::new(&[*first]))?;
    let mut sealed = FrameBuf::build(|w| {
        Kind::Repeat.emit(campaign, w)?;
        w.bytes(&announcement[1..])?;
        w.u16(sink.get())?.u32(number).map(|_| ())
    })?;
    flood::mark_sealed(&mut sealed)?;
    let tag: [u8; TAG] = truncated(cipher, key, &[&by.get().to_le_bytes(), &sealed]);
    sealed.append(&tag)?;
    Ok(sealed)
}

/// What `by` repeats, plain, and whose; none unless its tag is right under the key of floods.
pub fn open_repeat(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    by: NodeId,
    content: &[u8],
) -> Option<(FrameBuf, Numbered)> {
    let (tagged, tag) = content.split_at_checked(content.len().checked_sub(TAG)?)?;
    let made: [u8; TAG] = truncated(cipher, key, &[&by.get().to_le_bytes(), tagged]);
    if !equal(&made, tag) {
        return None;
    }
    let (kind, campaign) = Kind::parse_tag(&mut Reader::new(tagged)).ok()?;
    let announcement = tagged.get(1..content.len().checked_sub(REPEAT_BYTES)?)?;
    let mut of = Reader::new(tagged.get(1 + announcement.len()..)?);
    let numbered = (of.node().ok()?, of.u32().ok()?);
    let plain = FrameBuf::build(|w| {
        Kind::Sweep.emit(campaign, w)?;
        w.bytes(announcement).map(|_| ())
    });
    let plain = plain.ok().filter(|_| kind == Kind::Repeat)?;
    Some((plain, numbered))
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
