//! Sealed objects: a tag over the plain bytes, and AES-CTR that begins with the tag.
//!
//! The tag is the nonce, as in SIV (RFC 5297), so no counter has to survive a reboot: the same object under the same key
//! gives the same bytes again, and another object has another tag. The key stream goes by the place in the object. So
//! parts, packet sizes and repeats give the same bytes, and any part is decrypted by itself. Invariant: no
//! block of the key stream meets two plaintexts unless two objects of one node have one tag of 64 bits. Tests:
//! `object_tests.rs`.

use super::cmac::{truncated, Mac};
use super::{equal, Block, Cipher, Key, BLOCK_BYTES};

/// Bytes of a tag: as many as of a digest, whose place it takes.
pub const TAG_BYTES: usize = 8;
/// A tag over an object.
pub type Tag = [u8; TAG_BYTES];

/// A node's keys for its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectKeys {
    /// Of the key stream.
    pub(super) stream: Key,
    /// Of tags.
    pub(super) tag: Key,
}

impl ObjectKeys {
    /// The tag of `object`.
    pub fn tag(&self, cipher: &mut (impl Cipher + ?Sized), object: &[u8]) -> Tag {
        truncated(cipher, &self.tag, &[object])
    }
    /// Adds `bytes` of a plain object to its tag, which is being computed.
    pub fn add(&self, cipher: &mut (impl Cipher + ?Sized), tag: &mut Mac, bytes: &[u8]) {
        tag.update(cipher, &self.tag, bytes);
    }
    /// The tag of the object whose bytes were all added.
    pub fn tag_of(&self, cipher: &mut (impl Cipher + ?Sized), tag: Mac) -> Tag {
        let whole = tag.finish(cipher, &self.tag);
        core::array::from_fn(|i| whole.get(i).copied().unwrap_or_default())
    }
    /// Block `number` of the key stream of the object with this `tag`.
    pub fn stream(&self, cipher: &mut (impl Cipher + ?Sized), tag: &Tag, number: u32) -> Block {
        let mut stream = [0; BLOCK_BYTES];
        let (nonce, counter) = stream.split_at_mut(BLOCK_BYTES - 4);
        nonce[..TAG_BYTES].copy_from_slice(tag);
        counter.copy_from_slice(&number.to_be_bytes());
        cipher.block(&self.stream, &mut stream);
        stream
    }
    /// Whether `object`, plain, has this `tag`.
    pub fn is_whole(&self, cipher: &mut (impl Cipher + ?Sized), tag: &Tag, object: &[u8]) -> bool {
        equal(&self.tag(cipher, object), tag)
    }
    /// Encrypts or decrypts `bytes` in place, which are in the object of `tag` from `offset` on.
    pub fn apply(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        tag: &Tag,
        offset: u32,
        bytes: &mut [u8],
    ) {
        const BLOCK: u32 = BLOCK_BYTES as u32;
        let (mut number, mut skip) = (offset / BLOCK, (offset % BLOCK) as usize);
        let mut left = bytes;
        while !left.is_empty() {
            let count = (BLOCK_BYTES - skip).min(left.len());
            let (these, rest) = left.split_at_mut(count);
            let stream = self.stream(cipher, tag, number);
            for (byte, of) in these.iter_mut().zip(stream.iter().skip(skip)) {
                *byte ^= of;
            }
            (left, skip) = (rest, 0);
            number = number.wrapping_add(1);
        }
    }
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
