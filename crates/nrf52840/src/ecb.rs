//! AES-128 by the chip's ECB peripheral (product specification 6.7), a block at a time.
//!
//! It is polled: a block takes 7.2 us, less than an interrupt's way in and out. AES is shared with CCM and AAR, which nothing
//! here uses. Tests: `crates/emulator/tests/all/ecb.rs`, with the vectors of FIPS-197.

use crate::dma::Region;
use crate::registers::ecb;
use crate::Registers;
use core::fmt;
use thalweg_wire::seal::{Block, Cipher, Key, BLOCK_BYTES};

/// Polls until a block is done: over 100 us.
const PATIENCE: u32 = 1_000;
/// Where the data structure has the block, and what becomes of it (6.7.2, behind the key).
const CLEARTEXT: u32 = BLOCK_BYTES as u32;
const CIPHERTEXT: u32 = 2 * BLOCK_BYTES as u32;

/// The cipher. Copies share their memory, so one works at a time: interrupts of one priority, and a main loop that masks them.
#[derive(Clone)]
pub struct Ecb<R> {
    r: R,
    memory: Region,
}

impl<R> fmt::Debug for Ecb<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ecb")
    }
}

impl<R: Registers> Ecb<R> {
    /// Bytes of its memory: a key, a block, and the block encrypted.
    pub const DMA_BYTES: u32 = 3 * BLOCK_BYTES as u32;

    /// The cipher on the chip behind `r`; none where `memory` is shorter than [`Self::DMA_BYTES`].
    pub fn new(r: R, memory: Region) -> Option<Self> {
        (memory.bytes() >= Self::DMA_BYTES).then_some(Self { r, memory })
    }

    fn runs(&mut self) -> bool {
        let r = &mut self.r;
        r.write(ecb::ENDECB, 0);
        r.write(ecb::STARTECB, 1);
        (0..PATIENCE).any(|_| r.read(ecb::ENDECB) != 0)
    }
}

impl<R: Registers> Cipher for Ecb<R> {
    /// A block that the peripheral does not give is asked for again, until the watchdog ends it: any other would be sent
    /// as if it were encrypted. Not inlined: it is called from everywhere.
    #[inline(never)]
    fn block(&mut self, key: &Key, block: &mut Block) {
        self.memory.write(&mut self.r, 0, key.expose());
        self.memory.write(&mut self.r, CLEARTEXT, block);
        self.r.write(ecb::ECBDATAPTR, self.memory.address());
        while !self.runs() {
            self.r.write(ecb::STOPECB, 1);
        }
        self.memory.read(&mut self.r, CIPHERTEXT, block);
    }
}
