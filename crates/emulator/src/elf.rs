//! Programs as linkers write them: 32-bit little-endian ELF files for ARM, loaded at their physical addresses.
//!
//! Sixty lines of our own rather than a crate: the format is fixed, and of it only program headers are wanted.
//! Source: Tool Interface Standard, ELF 1.2, book I, chapter 2. No panic on any input. Tests: `elf_tests.rs`.

use crate::memory::{Memory, RAM_BASE, RAM_BYTES};
use std::fmt;
use std::ops::Range;

/// Why a file is no program for this chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElfError {
    /// It is no 32-bit little-endian ELF file for ARM.
    Format,
    /// It ends before what it announces.
    Short,
    /// A part of it belongs where there is no memory.
    Place {
        /// The address.
        address: u32,
    },
    /// Nothing of it belongs into flash.
    Empty,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("expected a 32-bit little-endian ELF file for ARM"),
            Self::Short => f.write_str("expected more: the ELF file ends early"),
            Self::Place { address } => {
                write!(
                    f,
                    "expected flash or RAM at {address:#010x}, where a segment belongs"
                )
            }
            Self::Empty => f.write_str("expected a segment in flash"),
        }
    }
}
impl std::error::Error for ElfError {}

/// A program in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where its vector table is: the lowest address that it has in flash.
    pub vectors: u32,
    /// Bytes of flash that it takes.
    pub flash_bytes: u32,
    /// RAM that its statics take.
    pub statics: Range<u32>,
    /// Where its stack begins, going down.
    pub stack_top: u32,
}

impl Image {
    /// Bytes of stack that were ever in use: down to the lowest that was written above the statics, and above what an image
    /// wrote behind them to see whether its stack runs over.
    pub fn stack_bytes(&self, memory: &Memory) -> u32 {
        let free = memory.first_gap(self.statics.end..self.stack_top);
        self.stack_top - memory.lowest_written(free..self.stack_top)
    }
}

const PROGRAM: u32 = 1;
/// Bytes of a program header.
const HEADER: usize = 32;

fn word(file: &[u8], at: usize) -> Result<u32, ElfError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or(ElfError::Short)
}
fn half(file: &[u8], at: usize) -> Result<usize, ElfError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    let half = bytes.map(|bytes| u16::from_le_bytes(*bytes));
    half.map(usize::from).ok_or(ElfError::Short)
}

/// Loads a program into flash and RAM.
///
/// # Errors
/// [`ElfError`]; what was loaded before stays.
pub fn load(file: &[u8], memory: &mut Memory) -> Result<Image, ElfError> {
    // Magic, 32 bits, little-endian; machine 40 is ARM.
    if !file.starts_with(b"\x7fELF\x01\x01") || half(file, 18)? != 40 || half(file, 42)? != HEADER {
        return Err(ElfError::Format);
    }
    let (table, count) = (word(file, 28)? as usize, half(file, 44)?);
    let (mut low, mut high) = (u32::MAX, 0);
    let mut statics = RAM_BASE..RAM_BASE;
    for header in (0..count).map(|number| table.saturating_add(number * HEADER)) {
        let [kind, offset, virtually, physically, stored, occupied] =
            [0, 4, 8, 12, 16, 20].map(|field| word(file, header.saturating_add(field)));
        if kind? != PROGRAM {
            continue;
        }
        let (offset, address, stored) = (offset? as usize, physically?, stored?);
        let end = offset.checked_add(stored as usize).ok_or(ElfError::Short)?;
        let bytes = file.get(offset..end).ok_or(ElfError::Short)?;
        if !memory.program(address, bytes) {
            return Err(ElfError::Place { address });
        }
        if address < RAM_BASE && stored > 0 {
            (low, high) = (low.min(address), high.max(address + stored));
        }
        let virtually = virtually?;
        if (RAM_BASE..RAM_BASE + RAM_BYTES as u32).contains(&virtually) {
            statics.end = statics.end.max(virtually.saturating_add(occupied?));
        }
    }
    let stack_top = memory.read(low, 4).and_then(|bytes| bytes.try_into().ok());
    let stack_top = stack_top.map(u32::from_le_bytes).ok_or(ElfError::Empty)?;
    if stack_top < statics.end || stack_top > RAM_BASE + RAM_BYTES as u32 {
        return Err(ElfError::Place { address: stack_top });
    }
    Ok(Image {
        vectors: low,
        flash_bytes: high - low,
        statics,
        stack_top,
    })
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
