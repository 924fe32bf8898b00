//! Flash: words written and pages erased, in an area that is not the program's.
//!
//! The processor stands still meanwhile, 42 us for a word and 85 ms for a page (NVMC 4.3.9), so both are refused while the
//! radio is in use for what they would harm.

use crate::layout::Area;
pub use crate::layout::PAGE_BYTES;
use crate::radio::Usage;
use crate::registers::nvmc;
use crate::Registers;
use core::fmt;

/// Polls until the controller is ready: over 85 ms where code runs from RAM.
const PATIENCE: u32 = 10_000_000;

/// Why flash was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlashError {
    /// The radio is in use: later.
    InUse(Usage),
    /// The address is not in the area, or no multiple of four.
    Outside(u32),
    /// What was written is not there: the page is worn out, or was not erased.
    NotThere(u32),
    /// The controller does not become ready.
    NotReady,
}

impl fmt::Display for FlashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(usage) => write!(f, "the radio is in use ({usage:?})"),
            Self::Outside(address) => write!(f, "{address:#x} is outside of the area"),
            Self::NotThere(address) => write!(f, "{address:#x} does not keep what it is given"),
            Self::NotReady => f.write_str("the flash controller does not become ready"),
        }
    }
}
impl core::error::Error for FlashError {}

/// Pages of flash that belong to one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flash {
    first: u32,
    pages: u16,
}

impl Flash {
    /// `pages` pages from address `first` on; none where that is no page's beginning, or they go beyond the 1 MB there is.
    pub const fn at(first: u32, pages: u16) -> Option<Self> {
        let end = first as u64 + pages as u64 * PAGE_BYTES as u64;
        match first % PAGE_BYTES == 0 && end <= 1 << 20 {
            true => Some(Self { first, pages }),
            false => None,
        }
    }
    /// The pages of `area`; none as with [`Self::at`].
    pub const fn of(area: Area) -> Option<Self> {
        Self::at(area.first, area.pages)
    }
    /// How many pages.
    pub const fn pages(self) -> u16 {
        self.pages
    }
    /// The word at `offset` of the area, a multiple of four; as erased outside of it.
    pub fn read(self, r: &mut impl Registers, offset: u32) -> u32 {
        match self.address(offset) {
            Ok(address) => r.read(address),
            Err(_) => u32::MAX,
        }
    }

    /// The bytes from `offset` of the area on, of one page.
    pub(crate) fn read_bytes(self, r: &mut impl Registers, offset: u32, into: &mut [u8]) {
        match self.address(offset & !3) {
            Ok(address) => r.read_bytes(address + offset % 4, into),
            Err(_) => into.fill(u8::MAX),
        }
    }

    /// Writes `words` from `offset` on; each word may be written twice until it is erased (NVMC 4.3.9, n_write), and only
    /// from 1 to 0.
    ///
    /// # Errors
    /// [`FlashError`]; some words may have been written.
    pub fn write(
        self,
        r: &mut impl Registers,
        usage: Usage,
        offset: u32,
        words: &[u32],
    ) -> Result<(), FlashError> {
        if usage == Usage::Active {
            return Err(FlashError::InUse(usage));
        }
        let written = (offset..).step_by(4).zip(words).try_for_each(|(at, word)| {
            let address = self.address(at)?;
            r.write(nvmc::CONFIG, 1);
            r.write(address, *word);
            ready(r)?;
            match r.read(address) == *word {
                true => Ok(()),
                false => Err(FlashError::NotThere(address)),
            }
        });
        r.write(nvmc::CONFIG, 0);
        written
    }

    /// Erases page `page` of the area: 85 ms.
    ///
    /// # Errors
    /// [`FlashError`].
    pub fn erase(self, r: &mut impl Registers, usage: Usage, page: u16) -> Result<(), FlashError> {
        if usage != Usage::Asleep {
            return Err(FlashError::InUse(usage));
        }
        let address = self.address(u32::from(page) * PAGE_BYTES)?;
        r.write(nvmc::CONFIG, 2);
        r.write(nvmc::ERASEPAGE, address);
        let erased = ready(r);
        r.write(nvmc::CONFIG, 0);
        erased
    }

    const fn address(self, offset: u32) -> Result<u32, FlashError> {
        let is_in = offset < self.pages as u32 * PAGE_BYTES && offset % 4 == 0;
        match is_in {
            true => Ok(self.first + offset),
            false => Err(FlashError::Outside(offset)),
        }
    }
}

fn ready(r: &mut impl Registers) -> Result<(), FlashError> {
    match (0..PATIENCE).any(|_| r.read(nvmc::READY) & 1 != 0) {
        true => Ok(()),
        false => Err(FlashError::NotReady),
    }
}
