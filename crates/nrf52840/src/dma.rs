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

    /// Reads `into.len()` bytes from `offset` on; bytes beyond the end are left as they were.
    #[inline]
    pub fn read(self, r: &mut impl Registers, offset: u32, into: &mut [u8]) {
        let room = self.bytes().saturating_sub(offset) as usize;
        let room = room.min(into.len());
        let into = into.get_mut(..room).unwrap_or_default();
        r.read_bytes(self.address + offset, into);
    }

    /// The byte at `offset`; 0 beyond the end.
    pub fn byte(self, r: &mut impl Registers, offset: u32) -> u8 {
        match offset < self.bytes() {
            true => (r.read(self.address + (offset & !3)) >> (8 * (offset & 3))) as u8,
            false => 0,
        }
    }

    /// Writes `bytes` from `offset`, a multiple of four, on, the last word filled up with 0; what lies beyond the end is
    /// left out.
    #[inline]
    pub fn write(self, r: &mut impl Registers, offset: u32, bytes: &[u8]) {
        let room = self.bytes().saturating_sub(offset) as usize;
        let words = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        let words = words.chunks_exact(4);
        let (rest, mut at) = (words.remainder(), self.address + offset);
        for four in words {
            let word = <[u8; 4]>::try_from(four).unwrap_or_default();
            r.write(at, u32::from_le_bytes(word));
            at += 4;
        }
        if !rest.is_empty() {
            let mut word = [0; 4];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            r.write(at, u32::from_le_bytes(word));
        }
    }
}
