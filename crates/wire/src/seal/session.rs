//! Sealed messages of RCRT: from a source to its sink and back. Relays and base station have no key for them.
//!
//! A message ends with a MIC (4) over all of it, plain, and over the upper half of its sequence number, whose lower half
//! it says. So what was recorded 65,536 packets ago is wrong. Outside are the two bits in which relays note their queues. A
//! packet's payload is encrypted: the key stream begins with the MIC, as a report's does, and with the number. Kinds of both
//! directions differ, so no message is one of the other. Tests: `session_tests.rs`.

use super::cmac::truncated;
use super::frame::MIC_BYTES;
use super::{equal, Cipher, Key, BLOCK_BYTES};
use crate::rcrt;
use crate::{FrameBuf, WireError};

const MIC: usize = MIC_BYTES as usize;

/// A node's keys in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKeys {
    /// Of MICs.
    pub(super) tag: Key,
    /// Of the key stream.
    pub(super) stream: Key,
}

impl SessionKeys {
    /// Seals `message`, whose sequence number in full is `number`; 0 where it has none.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where it gets too long.
    pub fn seal(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        message: &mut FrameBuf,
        number: u32,
    ) -> Result<(), WireError> {
        let mic = self.mic(cipher, message, number);
        self.apply(cipher, (mic, number), message);
        message.append(&mic)
    }
    /// The plain message; none unless its MIC is right for this `number`.
    pub fn open(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        sealed: &[u8],
        number: u32,
    ) -> Option<FrameBuf> {
        let message = unchecked(sealed)?;
        let told: [u8; MIC] = *sealed.last_chunk()?;
        let mut plain = FrameBuf::from_slice(message).ok()?;
        self.apply(cipher, (told, number), &mut plain);
        equal(&self.mic(cipher, &plain, number), &told).then_some(plain)
    }

    fn mic(&self, cipher: &mut (impl Cipher + ?Sized), message: &[u8], number: u32) -> [u8; MIC] {
        let upper = ((number >> 16) as u16).to_le_bytes();
        let kind = message.first().copied().map(rcrt::without_notes);
        let rest = message.get(1..).unwrap_or_default();
        truncated(cipher, &self.tag, &[kind.as_slice(), rest, &upper])
    }
    /// Encrypts or decrypts a packet's payload; other messages have none.
    fn apply(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        (mic, number): ([u8; MIC], u32),
        message: &mut [u8],
    ) {
        let at = rcrt::payload_at(message);
        let (header, payload) = message.split_at_mut(at);
        let of = header
            .get(rcrt::FLOW_AT..rcrt::FLOW_AT + 2)
            .unwrap_or_default();
        for (bytes, count) in payload.chunks_mut(BLOCK_BYTES).zip(0u8..) {
            let mut stream = [0; BLOCK_BYTES];
            stream[..MIC].copy_from_slice(&mic);
            stream[MIC..MIC + 4].copy_from_slice(&number.to_le_bytes());
            for (place, byte) in stream[MIC + 4..].iter_mut().zip(of) {
                *place = *byte;
            }
            stream[BLOCK_BYTES - 1] = count;
            cipher.block(&self.stream, &mut stream);
            for (byte, of) in bytes.iter_mut().zip(stream) {
                *byte ^= of;
            }
        }
    }
}

/// What `sealed` says, of which nothing is checked and a payload is encrypted: enough to find its number.
pub fn unchecked(sealed: &[u8]) -> Option<&[u8]> {
    sealed.get(..sealed.len().checked_sub(MIC)?)
}

/// The number with the lower half `low` that is nearest to `near`.
pub const fn nearest(near: u32, low: u16) -> u32 {
    near.wrapping_add_signed(low.wrapping_sub(near as u16) as i16 as i32)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
