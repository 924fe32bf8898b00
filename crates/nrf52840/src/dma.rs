//! RAM that a peripheral's DMA reads and writes (EasyDMA, 4.5: RAM only, never flash).
//!
//! It is reached as registers are, word by word, and never borrowed as a slice: hardware changes it at any time.

use crate::Registers;

/// Words of RAM that belong to one peripheral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    address: u32,
    words: u32,
}

impl Region {
    /// `words` words from `address`, a multiple of four, on.
    pub const fn at(address: u32, words: u32) -> Self {
        Self { address, words }
    }

    /// All of `memory`, which nobody else has from now on.
    #[cfg(target_arch = "arm")]
    pub fn of(memory: &'static mut [u32]) -> Self {
        Self::at(memory.as_mut_ptr() as usize as u32, memory.len() as u32)
    }

    /// Where it begins, for a peripheral's pointer register.
    pub const fn address(self) -> u32 {
        self.address
    }
    /// Its length in bytes.
    pub const fn bytes(self) -> u32 {
        4 * self.words
    }

    /// The first `words` words, and the rest; none where it has not so many.
    pub const fn split(self, words: u32) -> Option<(Self, Self)> {
        match self.words.checked_sub(words) {
            None => None,
            Some(left) => Some((
                Self::at(self.address, words),
                Self::at(self.address + 4 * words, left),
            )),
        }
    }

    /// Reads `into.len()` bytes from `offset`, a multiple of four, on; bytes beyond the end are left as they were.
    #[inline]
    pub fn read(self, r: &mut impl Registers, offset: u32, into: &mut [u8]) {
        let mut at = offset;
        for chunk in into.chunks_mut(4) {
            if at + 4 > self.bytes() {
                return;
            }
            let word = r.read(self.address + at).to_le_bytes();
            match <&mut [u8; 4]>::try_from(&mut *chunk) {
                Ok(four) => *four = word,
                Err(_) => chunk.iter_mut().zip(word).for_each(|(to, from)| *to = from),
            }
            at += 4;
        }
    }

    /// The byte at `offset`; 0 beyond the end.
    pub fn byte(self, r: &mut impl Registers, offset: u32) -> u8 {
        let mut word = [0; 4];
        self.read(r, offset & !3, &mut word);
        (u32::from_le_bytes(word) >> (8 * (offset & 3))) as u8
    }

    /// Writes `bytes` from `offset`, a multiple of four, on, the last word filled up with 0; what lies beyond the end is
    /// left out.
    #[inline]
    pub fn write(self, r: &mut impl Registers, offset: u32, bytes: &[u8]) {
        let mut at = offset;
        for chunk in bytes.chunks(4) {
            if at + 4 > self.bytes() {
                return;
            }
            let mut word = [0; 4];
            match <[u8; 4]>::try_from(chunk) {
                Ok(four) => word = four,
                Err(_) => word
                    .iter_mut()
                    .zip(chunk)
                    .for_each(|(to, from)| *to = *from),
            }
            r.write(self.address + at, u32::from_le_bytes(word));
            at += 4;
        }
    }
}
