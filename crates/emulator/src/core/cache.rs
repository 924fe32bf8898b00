//! Which function does what stands at a place in flash: looked up once a place, a page of flash at a time.

use super::narrow::narrow;
use super::row::{find, Row};
use super::wide::wide;
use super::{Core, Fault, Peripherals};
use crate::memory::PAGE_BYTES;

const ENTRIES: usize = PAGE_BYTES / 2;

type Page<P> = Box<[Option<Row<P>>; ENTRIES]>;

/// Rows that were found, by page and half-word.
pub(super) struct Cache<P> {
    pages: Vec<Option<Page<P>>>,
}

impl<P> Default for Cache<P> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<P> std::fmt::Debug for Cache<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.pages.iter().flatten().count();
        f.debug_struct("Cache").field("pages", &pages).finish()
    }
}

impl<P> Cache<P> {
    #[inline]
    fn get(&self, pc: u32) -> Option<Row<P>> {
        let page = self.pages.get(pc as usize / PAGE_BYTES)?.as_ref()?;
        page[pc as usize / 2 % ENTRIES]
    }

    fn put(&mut self, pc: u32, row: Row<P>) {
        let number = pc as usize / PAGE_BYTES;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        if let Some(page) = self.pages.get_mut(number) {
            let page = page.get_or_insert_with(|| Box::new([None; ENTRIES]));
            page[pc as usize / 2 % ENTRIES] = Some(row);
        }
    }

    /// A page of flash has changed. A wide instruction at the end of the page before has, too.
    pub(super) fn forget(&mut self, page: usize) {
        for stale in [Some(page), page.checked_sub(1)].into_iter().flatten() {
            if let Some(page) = self.pages.get_mut(stale) {
                *page = None;
            }
        }
    }
}

impl<P: Peripherals + 'static> Core<P> {
    /// The row of the instruction at `pc`.
    #[inline]
    pub(super) fn fetch(&mut self, pc: u32) -> Result<Row<P>, Fault> {
        match self.cache.get(pc) {
            Some(row) => Ok(row),
            None => self.look_up(pc),
        }
    }

    #[cold]
    fn look_up(&mut self, pc: u32) -> Result<Row<P>, Fault> {
        let half = |at: u32| {
            let there = self.memory.fixed(at).or_else(|| self.memory.ram(at));
            there
                .map(u16::from_le_bytes)
                .ok_or(Fault::Bus { address: at })
        };
        let first = u32::from(half(pc)?);
        let word = match first {
            // A wide one begins with 0b11101, 0b11110 or 0b11111 (A5.1).
            0xe800.. => first << 16 | u32::from(half(pc.wrapping_add(2))?),
            _ => first,
        };
        let row = match word {
            0x1_0000.. => find(wide(), word, 4),
            _ => find(narrow(), word, 2),
        };
        let row = row.ok_or(Fault::Undefined { word })?;
        if (pc as usize) < crate::memory::FLASH_BYTES {
            self.cache.put(pc, row);
        }
        Ok(row)
    }
}
