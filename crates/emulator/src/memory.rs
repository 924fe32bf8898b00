//! The nRF52840's memories: flash, RAM, and the two information pages. Addresses: product specification, 4.2.
//!
//! Flash is 1 MB, RAM 256 kB (product specification, "Key features"). What flash does when it is
//! written belongs to `soc`. Invariant: no access here has an effect beyond its bytes.

use std::ops::Range;

/// Bytes of flash.
pub const FLASH_BYTES: usize = 1 << 20;
/// Bytes of a page of flash (NVMC 4.3).
pub const PAGE_BYTES: usize = 4096;
/// Where RAM begins.
pub const RAM_BASE: u32 = 0x2000_0000;
/// Bytes of RAM.
pub const RAM_BYTES: usize = 256 * 1024;
/// Factory information registers.
pub const FICR_BASE: u32 = 0x1000_0000;
/// User information registers.
pub const UICR_BASE: u32 = 0x1000_1000;

/// Bytes of one of the information pages.
const INFORMATION_BYTES: usize = 0x1000;
/// What RAM holds before anybody wrote: so the stack's high-water mark can be read off.
const UNTOUCHED: u8 = 0xa5;

/// A program may write the pattern of untouched RAM, but hardly so many bytes of it in a row.
const GAP_BYTES: usize = 64;

/// All memories of one chip.
#[derive(Debug, Clone)]
pub struct Memory {
    flash: Vec<u8>,
    ram: Vec<u8>,
    /// FICR and UICR, one behind the other.
    information: Vec<u8>,
    /// Pages of flash that changed since they were asked for.
    stale: Vec<usize>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            flash: vec![0xff; FLASH_BYTES],
            ram: vec![UNTOUCHED; RAM_BYTES],
            information: vec![0xff; 2 * INFORMATION_BYTES],
            stale: Vec::new(),
        }
    }
}

/// `N` bytes of `of` from `offset` on.
#[inline]
fn bytes<const N: usize>(of: &[u8], offset: u32) -> Option<[u8; N]> {
    let offset = offset as usize;
    of.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

impl Memory {
    /// What stands in flash or an information page.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        if address < FLASH_BYTES as u32 {
            return bytes(&self.flash, address);
        }
        bytes(&self.information, address.wrapping_sub(FICR_BASE))
    }

    /// What stands in RAM.
    #[inline]
    pub(crate) fn ram<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        bytes(&self.ram, address.wrapping_sub(RAM_BASE))
    }

    /// A part of RAM to change.
    #[inline]
    pub(crate) fn ram_mut<const N: usize>(&mut self, address: u32) -> Option<&mut [u8; N]> {
        let offset = address.wrapping_sub(RAM_BASE) as usize;
        let part = self.ram.get_mut(offset..offset.checked_add(N)?)?;
        part.try_into().ok()
    }

    fn place(address: u32, length: usize, base: u32) -> Option<Range<usize>> {
        let start = address.checked_sub(base)? as usize;
        Some(start..start.checked_add(length)?)
    }

    /// `length` bytes from `address` on, wherever they lie within one memory.
    pub fn read(&self, address: u32, length: usize) -> Option<&[u8]> {
        let of = |base, memory: &'_ Vec<u8>| {
            Self::place(address, length, base).map(|p| (p, memory.len()))
        };
        let inside =
            |place: Option<(Range<usize>, usize)>| place.filter(|(p, size)| p.end <= *size);
        if let Some((place, _)) = inside(of(RAM_BASE, &self.ram)) {
            return self.ram.get(place);
        }
        if let Some((place, _)) = inside(of(FICR_BASE, &self.information)) {
            return self.information.get(place);
        }
        self.flash.get(Self::place(address, length, 0)?)
    }

    /// Writes RAM, as DMA does. Says whether all of it lies there.
    #[must_use]
    pub fn write_ram(&mut self, address: u32, bytes: &[u8]) -> bool {
        let place = Self::place(address, bytes.len(), RAM_BASE);
        match place.and_then(|place| self.ram.get_mut(place)) {
            Some(part) => {
                part.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    /// Writes flash, an information page or RAM, as a programmer does. Says whether all of it lies there.
    #[must_use]
    pub fn program(&mut self, address: u32, bytes: &[u8]) -> bool {
        if address >= RAM_BASE {
            return self.write_ram(address, bytes);
        }
        let (memory, base) = match address {
            FICR_BASE.. => (&mut self.information, FICR_BASE),
            _ => (&mut self.flash, 0),
        };
        let place = Self::place(address, bytes.len(), base);
        let Some(part) = place.clone().and_then(|place| memory.get_mut(place)) else {
            return false;
        };
        part.copy_from_slice(bytes);
        if let (0, Some(place)) = (base, place) {
            let pages = place.start / PAGE_BYTES..=place.end.saturating_sub(1) / PAGE_BYTES;
            self.stale.extend(pages);
        }
        true
    }

    /// Fills RAM as power that comes does: by chance.
    pub(crate) fn fill_ram(&mut self, mut draw: impl FnMut() -> u64) {
        for word in self.ram.chunks_exact_mut(8) {
            word.copy_from_slice(&draw().to_le_bytes());
        }
    }

    /// A page of flash that changed and has not been asked for.
    #[inline]
    pub(crate) fn take_stale(&mut self) -> Option<usize> {
        self.stale.pop()
    }

    /// Where the first [`GAP_BYTES`] in `range` begin that were never written; its end if all were.
    pub(crate) fn first_gap(&self, range: Range<u32>) -> u32 {
        let part = Self::place(range.start, range.len(), RAM_BASE);
        let part = part.and_then(|part| self.ram.get(part)).unwrap_or(&[]);
        let untouched = |part: &[u8]| part.iter().all(|byte| *byte == UNTOUCHED);
        let gap = part.chunks_exact(GAP_BYTES).position(untouched);
        gap.map_or(range.end, |chunks| {
            range.start + (chunks * GAP_BYTES) as u32
        })
    }

    /// The lowest address in `range` that was ever written; its end if none was.
    ///
    /// Exact but for a program that writes the very pattern of untouched RAM.
    pub fn lowest_written(&self, range: Range<u32>) -> u32 {
        let part = Self::place(range.start, range.len(), RAM_BASE);
        let part = part.and_then(|part| self.ram.get(part)).unwrap_or(&[]);
        let touched = part.iter().position(|&byte| byte != UNTOUCHED);
        touched.map_or(range.end, |offset| range.start + offset as u32)
    }
}
