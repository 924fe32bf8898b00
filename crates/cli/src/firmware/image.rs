//! A program for a chip's flash: an ELF file whose bytes at some addresses are replaced, as ELF again or as Intel HEX.
//!
//! Sources: Tool Interface Standard, ELF 1.2, book I, chapter 2; Intel, "Hexadecimal Object File Format Specification",
//! revision A. No panic on any input.

use std::fmt::Write as _;
use std::ops::Range;

/// Flash of the chip, in bytes from 0 on.
const FLASH: u32 = 1 << 20;
/// Bytes of a line of HEX.
const LINE: usize = 16;
const LOADED: u32 = 1;
/// Bytes of a program header.
const HEADER: usize = 32;

/// Why a file is no image, or none that takes an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ImageError {
    /// It is none.
    #[error("expected a 32-bit little-endian ELF file for ARM")]
    Format,
    /// It ends early.
    #[error("the ELF file ends before what it announces")]
    Short,
    /// It has nothing where something is to go.
    #[error("the image has no room at {0:#010x}: it is of another version")]
    NoRoom(u32),
}

/// An image.
#[derive(Debug)]
pub(super) struct Image {
    elf: Vec<u8>,
    /// Parts of flash: address, and where their bytes are in the file.
    parts: Vec<(u32, Range<usize>)>,
}

impl Image {
    pub(super) fn read(elf: Vec<u8>) -> Result<Self, ImageError> {
        // Magic, 32 bits, little-endian; machine 40 is ARM.
        if !elf.starts_with(b"\x7fELF\x01\x01") || half(&elf, 18)? != 40 {
            return Err(ImageError::Format);
        }
        let (table, count) = (word(&elf, 28)? as usize, half(&elf, 44)?);
        let mut parts = Vec::new();
        for header in 0..usize::from(count) {
            let at = table.saturating_add(header * HEADER);
            let [kind, offset, _, address, stored] =
                [0, 4, 8, 12, 16].map(|field| word(&elf, at.saturating_add(field)));
            let (address, offset, stored) = (address?, offset? as usize, stored? as usize);
            if kind? != LOADED || stored == 0 || address >= FLASH {
                continue;
            }
            let range = offset..offset.saturating_add(stored);
            elf.get(range.clone()).ok_or(ImageError::Short)?;
            parts.push((address, range));
        }
        parts.sort_by_key(|(address, _)| *address);
        match parts.is_empty() {
            true => Err(ImageError::Format),
            false => Ok(Self { elf, parts }),
        }
    }

    /// Replaces the bytes from `address` on.
    pub(super) fn put(&mut self, address: u32, bytes: &[u8]) -> Result<(), ImageError> {
        let place = self.parts.iter().find_map(|(at, range)| {
            let skipped = address.checked_sub(*at)? as usize;
            let from = range.start.checked_add(skipped)?;
            let until = from.checked_add(bytes.len())?;
            (until <= range.end).then_some(from..until)
        });
        let place = place.and_then(|place| self.elf.get_mut(place));
        let place = place.ok_or(ImageError::NoRoom(address))?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    /// Bytes of flash that it takes.
    pub(super) fn flash_bytes(&self) -> usize {
        self.parts.iter().map(|(_, range)| range.len()).sum()
    }
    pub(super) fn elf(&self) -> &[u8] {
        &self.elf
    }
    /// As Intel HEX: extended linear addresses, data, the end.
    pub(super) fn hex(&self) -> String {
        let mut text = String::new();
        let mut upper = None;
        for (address, range) in &self.parts {
            let bytes = self.elf.get(range.clone()).unwrap_or(&[]);
            let mut at = *address;
            let mut rest = bytes;
            while !rest.is_empty() {
                // A line does not cross into the next 64 kB.
                let here = LINE.min(0x1_0000 - (at & 0xFFFF) as usize);
                let (line, left) = rest.split_at(here.min(rest.len()));
                if upper != Some(at >> 16) {
                    upper = Some(at >> 16);
                    let [_, _, high, low] = (at >> 16).to_be_bytes();
                    record(&mut text, 0, 4, &[high, low]);
                }
                record(&mut text, at as u16, 0, line);
                at += line.len() as u32;
                rest = left;
            }
        }
        record(&mut text, 0, 1, &[]);
        text
    }
}

/// A record: length, address, type, bytes, and what makes their sum nought.
fn record(text: &mut String, address: u16, kind: u8, bytes: &[u8]) {
    let [high, low] = address.to_be_bytes();
    let head = [bytes.len() as u8, high, low, kind];
    let all = head.iter().chain(bytes);
    let sum = all.clone().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    text.push(':');
    for byte in all.chain(&[sum.wrapping_neg()]) {
        let _ = write!(text, "{byte:02X}");
    }
    text.push('\n');
}

fn word(file: &[u8], at: usize) -> Result<u32, ImageError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or(ImageError::Short)
}
fn half(file: &[u8], at: usize) -> Result<u16, ImageError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u16::from_le_bytes(*bytes))
        .ok_or(ImageError::Short)
}
