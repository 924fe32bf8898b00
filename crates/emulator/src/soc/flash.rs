//! NVMC (product specification, 4.3): flash is written and erased, and the processor stands still meanwhile.

use crate::core::Written;
use crate::memory::{Memory, FICR_BASE, FLASH_BYTES, PAGE_BYTES, UICR_BASE};

/// Cycles of a word that is written, and of a page that is erased: 42 us, 85 ms (4.3.9).
const WORD: u64 = 42 * 64;
const PAGE: u64 = 85_000 * 64;
/// Cycles of a millisecond: the unit of a partial erasure.
const MILLISECOND: u64 = 64_000;

/// CONFIG.WEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Read,
    Write,
    Erase,
}

#[derive(Debug, Default)]
pub(super) struct Nvmc {
    mode: Mode,
    /// Milliseconds of a partial erasure, and cycles that a page has had of it.
    part: u32,
    erased: u64,
    cache: u32,
}

impl Nvmc {
    pub(super) fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            // The processor stands still while it is busy, so it is ready whenever it can be asked.
            0x400 | 0x408 => 1,
            0x504 => self.mode as u32,
            0x51c => self.part,
            0x540 => self.cache,
            _ => return None,
        })
    }

    pub(super) fn write(
        &mut self,
        memory: &mut Memory,
        offset: u32,
        value: u32,
    ) -> Option<Written> {
        match offset {
            0x504 => {
                self.mode = match value & 3 {
                    0 => Mode::Read,
                    1 => Mode::Write,
                    _ => Mode::Erase,
                };
            }
            0x508 if self.mode == Mode::Erase => return erase(memory, value, 1),
            0x50c if self.mode == Mode::Erase => {
                return erase(memory, 0, FLASH_BYTES / PAGE_BYTES);
            }
            0x514 if self.mode == Mode::Erase => return erase(memory, UICR_BASE, 1),
            0x518 if self.mode == Mode::Erase => {
                let cycles = u64::from(self.part) * MILLISECOND;
                self.erased += cycles;
                if self.erased >= PAGE {
                    self.erased = 0;
                    erase(memory, value, 1)?;
                }
                return Some(Written::Stalls(cycles));
            }
            0x508..=0x518 => (),
            0x51c => self.part = value & 0x7f,
            0x540 => self.cache = value,
            _ => return None,
        }
        Some(Written::Done)
    }

    /// A plain store into flash or UICR: bits can only be cleared, and only where writing is enabled (4.3.1).
    pub(super) fn store(
        &mut self,
        memory: &mut Memory,
        address: u32,
        value: u32,
    ) -> Option<Written> {
        let user = UICR_BASE..UICR_BASE + PAGE_BYTES as u32;
        let there = address < FLASH_BYTES as u32 || user.contains(&address);
        if self.mode != Mode::Write || !there || address % 4 != 0 {
            return None;
        }
        let old = u32::from_le_bytes(memory.fixed(address)?);
        memory
            .program(address, &(old & value).to_le_bytes())
            .then_some(Written::Stalls(WORD))
    }
}

fn erase(memory: &mut Memory, address: u32, pages: usize) -> Option<Written> {
    if (FICR_BASE..UICR_BASE).contains(&address) {
        return None;
    }
    let start = address & !(PAGE_BYTES as u32 - 1);
    let erased = memory.program(start, &vec![0xff; pages * PAGE_BYTES]);
    // ERASEALL takes about twice a page's time (4.3.9).
    erased.then_some(Written::Stalls(PAGE * pages.min(2) as u64))
}
