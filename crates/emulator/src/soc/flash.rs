//! NVMC (product specification, 4.3): flash is written and erased, and the processor stands still meanwhile.
//!
//! Where power fails in the midst of it, a word has some of its bits, and a page is garbage.

use super::draw;
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

/// What is being changed, and how it was before.
#[derive(Debug)]
struct Change {
    from: u64,
    cycles: u64,
    address: u32,
    before: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Nvmc {
    change: Option<Change>,
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
        now: u64,
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
            0x508 if self.mode == Mode::Erase => return self.erase(memory, now, (value, 1)),
            0x50c if self.mode == Mode::Erase => {
                return self.erase(memory, now, (0, FLASH_BYTES / PAGE_BYTES));
            }
            0x514 if self.mode == Mode::Erase => return self.erase(memory, now, (UICR_BASE, 1)),
            0x518 if self.mode == Mode::Erase => {
                let cycles = u64::from(self.part) * MILLISECOND;
                self.erased += cycles;
                if self.erased >= PAGE {
                    self.erased = 0;
                    self.erase(memory, now, (value, 1))?;
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
        now: u64,
        address: u32,
        value: u32,
    ) -> Option<Written> {
        let user = UICR_BASE..UICR_BASE + PAGE_BYTES as u32;
        let there = address < FLASH_BYTES as u32 || user.contains(&address);
        if self.mode != Mode::Write || !there || address % 4 != 0 {
            return None;
        }
        let old = u32::from_le_bytes(memory.fixed(address)?);
        self.change(memory, now, WORD, address, &(old & value).to_le_bytes())
    }

    fn erase(
        &mut self,
        memory: &mut Memory,
        now: u64,
        (address, pages): (u32, usize),
    ) -> Option<Written> {
        if (FICR_BASE..UICR_BASE).contains(&address) {
            return None;
        }
        let start = address & !(PAGE_BYTES as u32 - 1);
        // ERASEALL takes about twice a page's time (4.3.9).
        let cycles = PAGE * pages.min(2) as u64;
        self.change(memory, now, cycles, start, &vec![0xff; pages * PAGE_BYTES])
    }

    /// Puts `bytes` at `address`, which takes `cycles`.
    fn change(
        &mut self,
        memory: &mut Memory,
        from: u64,
        cycles: u64,
        address: u32,
        bytes: &[u8],
    ) -> Option<Written> {
        let before = memory.read(address, bytes.len())?.to_vec();
        self.change = Some(Change {
            from,
            cycles,
            address,
            before,
        });
        { memory.program(address, bytes) }.then_some(Written::Stalls(cycles))
    }

    /// Power fails at cycle `now`: what is not done by then is done in part.
    pub(super) fn cut(&mut self, memory: &mut Memory, now: u64, seed: u64) {
        let Some(change) = self.change.take() else {
            return;
        };
        if now >= change.from + change.cycles {
            return;
        }
        let Change {
            address, before, ..
        } = change;
        let after = memory.read(address, before.len()).map(<[u8]>::to_vec);
        let mut state = seed;
        let words = before.len() > 4;
        let half = { before.iter().zip(after.unwrap_or_default()) }.map(|(old, new)| {
            match draw(&mut state) as u8 {
                // Of an erasure nothing can be said; the bits that a word keeps are kept.
                any if words => any,
                any => new | old & any,
            }
        });
        let half: Vec<u8> = half.collect();
        let _placed = memory.program(address, &half);
    }
}
