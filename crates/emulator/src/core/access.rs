//! How the core reaches memory: RAM and flash at once, peripherals through the bus, the system space by itself.

use super::system::Asked;
use super::{Core, Fault, Peripherals};

/// The private peripheral bus (B3.1.1).
const SYSTEM: std::ops::Range<u32> = 0xe000_0000..0xe010_0000;

/// Puts `N` bytes into a word.
#[inline]
fn widen<const N: usize>(bytes: [u8; N]) -> u32 {
    let mut word = [0; 4];
    word[..N].copy_from_slice(&bytes);
    u32::from_le_bytes(word)
}

impl<P: Peripherals + 'static> Core<P> {
    /// Loads `N` bytes (1, 2 or 4); alignment is not wanted of normal memory (A3.2.1).
    #[inline]
    pub(super) fn load<const N: usize>(&mut self, address: u32) -> Result<u32, Fault> {
        self.more(self.costs.load);
        self.load_free::<N>(address)
    }

    #[inline]
    pub(super) fn load_free<const N: usize>(&mut self, address: u32) -> Result<u32, Fault> {
        if let Some(bytes) = self.memory.ram::<N>(address) {
            self.permit(address)?;
            return Ok(widen(bytes));
        }
        self.load_elsewhere::<N>(address)
    }

    #[inline(never)]
    fn load_elsewhere<const N: usize>(&mut self, address: u32) -> Result<u32, Fault> {
        if let Some(bytes) = self.memory.fixed::<N>(address) {
            return Ok(widen(bytes));
        }
        if address as usize % N != 0 {
            return Err(Fault::Unaligned { address });
        }
        let word_at = address & !3;
        let word = if SYSTEM.contains(&word_at) {
            self.system.read(self.cycles, word_at)
        } else {
            let read = self
                .peripherals
                .read(&mut self.memory, self.cycles, word_at);
            self.horizon = self.horizon.min(self.peripherals.due());
            read.ok_or(Fault::Bus { address })?
        };
        Ok(widen::<N>(part(word, address)))
    }

    /// Stores the low `N` bytes of `value`.
    #[inline]
    pub(super) fn store<const N: usize>(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        self.permit(address)?;
        if let Some(there) = self.memory.ram_mut::<N>(address) {
            there.copy_from_slice(&value.to_le_bytes()[..N]);
            return Ok(());
        }
        self.store_elsewhere::<N>(address, value)
    }

    #[inline(never)]
    fn store_elsewhere<const N: usize>(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        if address as usize % N != 0 {
            return Err(Fault::Unaligned { address });
        }
        if SYSTEM.contains(&address) {
            return self.store_system::<N>(address, value);
        }
        // Registers behind the peripheral bus are words (product specification, 4.3).
        if N != 4 {
            return Err(Fault::Unaligned { address });
        }
        let now = self.cycles;
        let written = self
            .peripherals
            .write(&mut self.memory, now, address, value);
        let written = written.ok_or(Fault::Bus { address })?;
        self.effect(written);
        // The register may have pulled an interrupt line.
        self.nudge();
        self.refresh();
        Ok(())
    }

    /// Priorities may be written a byte at a time (B3.4.9); other registers are words.
    fn store_system<const N: usize>(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        let (word_at, shift) = (address & !3, 8 * (address & 3));
        let value = match N {
            4 => value,
            _ => {
                let mask = ((1u32 << (8 * N)) - 1) << shift;
                self.system.read(self.cycles, word_at) & !mask | value << shift & mask
            }
        };
        if self.system.write(self.cycles, word_at, value) == Asked::Reset {
            self.reset_asked = true;
        }
        self.nudge();
        Ok(())
    }

    /// The stack guard.
    #[inline]
    fn permit(&self, address: u32) -> Result<(), Fault> {
        match self.system.guard.forbids(address) {
            true => Err(Fault::Protected { address }),
            false => Ok(()),
        }
    }

    /// A word that must be aligned.
    #[inline]
    pub(super) fn load_aligned(&mut self, address: u32) -> Result<u32, Fault> {
        match address & 3 {
            0 => self.load_free::<4>(address),
            _ => Err(Fault::Unaligned { address }),
        }
    }
    /// A word that must be aligned.
    #[inline]
    pub(super) fn store_aligned(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        match address & 3 {
            0 => self.store::<4>(address, value),
            _ => Err(Fault::Unaligned { address }),
        }
    }

    /// With `CCR.UNALIGN_TRP` every access must be aligned.
    #[inline]
    pub(super) fn aligned<const N: usize>(&self, address: u32) -> Result<(), Fault> {
        match N > 1 && self.system.traps_unaligned() && address as usize % N != 0 {
            true => Err(Fault::Unaligned { address }),
            false => Ok(()),
        }
    }
}

/// The `N` bytes of `word` that stand at `address`.
fn part<const N: usize>(word: u32, address: u32) -> [u8; N] {
    let bytes = (word >> (8 * (address & 3))).to_le_bytes();
    let mut part = [0; N];
    part.copy_from_slice(&bytes[..N]);
    part
}

/// Addresses of words from `start` on.
#[inline]
pub(super) fn places(start: u32) -> impl Iterator<Item = u32> {
    (0..EXTENT).map(move |word| start.wrapping_add(4 * word))
}
/// No instruction touches more words.
const EXTENT: u32 = 32;
