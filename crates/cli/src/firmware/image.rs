//! A program for a chip's flash: an ELF file whose identity is replaced, as ELF again, as Intel HEX, or as bytes.
//!
//! Sources: Tool Interface Standard, ELF 1.2, book I, chapter 2; Intel, "Hexadecimal Object File Format Specification",
//! revision A. Invariants: parts are in order and apart, each within the image's areas of flash ([`Layout`]). No panic on
//! any input. Tests: `image_tests.rs`.

use std::fmt::Write as _;
use std::ops::Range;

use thalweg_nrf52840::identity::{Identity, Role, RECORD_BYTES};
use thalweg_nrf52840::keys::KeyRecord;
use thalweg_nrf52840::layout::{BootLoader, Layout};
use thalweg_nrf52840::mark::{marked, MarkError, Program, MARK_BYTES};
use thalweg_wire::host::{Version, VERSION};
use zeroize::Zeroizing;

/// Where RAM begins: what is loaded there is not flash's.
const RAM: u32 = 0x2000_0000;
/// Bytes of a line of HEX.
const LINE: usize = 16;
const LOADED: u32 = 1;
/// Bytes of a program header.
const HEADER: usize = 32;

/// Why a file is no image, or none that takes an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImageError {
    /// It is none.
    #[error("expected a 32-bit little-endian ELF file for ARM")]
    Format,
    /// It ends early.
    #[error("the ELF file ends before what it announces")]
    Short,
    /// It begins where no boot loader starts an image.
    #[error("the image begins at {0:#x}, where no boot loader looks for one")]
    Start(u32),
    /// Something of it belongs where flash is not its own.
    #[error("a part of the image, at {0:#x}, is outside of its flash or within another part")]
    Outside(u32),
    /// It does not say what it is where images do.
    #[error(
        "it is no image of Thalweg's: wanted one that `firmware/images.sh` of this version built"
    )]
    Foreign,
    /// It speaks another version.
    #[error(
        "it is an image of version {0}, wanted {VERSION}: `firmware/images.sh` builds images again"
    )]
    Version(Version),
    /// It is for a node with keys, and has no room for them.
    #[error(
        "an image beside this boot loader has no page for keys: wanted one without a boot loader"
    )]
    NoKeys,
    /// It is for something else.
    #[error("wanted {wanted}, found {found}")]
    Program {
        /// What it should be.
        wanted: Program,
        /// What it is.
        found: Program,
    },
}

/// An image.
#[derive(Debug)]
pub(crate) struct Image {
    elf: Vec<u8>,
    boot_loader: BootLoader,
    program: Program,
    /// Where its identity is in the file.
    identity: Range<usize>,
    /// Parts of flash: address, and where their bytes are in the file.
    parts: Vec<(u32, Range<usize>)>,
}

impl Image {
    pub(crate) fn read(elf: Vec<u8>) -> Result<Self, ImageError> {
        // Magic, 32 bits, little-endian; machine 40 is ARM.
        if !elf.starts_with(b"\x7fELF\x01\x01") || half(&elf, 18)? != 40 {
            return Err(ImageError::Format);
        }
        // Linkers write the table of sections last: a file that was cut lacks it.
        let (sections, size, count) = (word(&elf, 32)?, half(&elf, 46)?, half(&elf, 48)?);
        let end = u64::from(sections) + u64::from(size) * u64::from(count);
        if end > elf.len() as u64 {
            return Err(ImageError::Short);
        }
        let (table, count) = (word(&elf, 28)? as usize, half(&elf, 44)?);
        let mut parts = Vec::new();
        for header in 0..usize::from(count) {
            let at = table.saturating_add(header * HEADER);
            let [kind, offset, _, address, stored] =
                [0, 4, 8, 12, 16].map(|field| word(&elf, at.saturating_add(field)));
            let (address, offset, stored) = (address?, offset? as usize, stored? as usize);
            if kind? != LOADED || stored == 0 || address >= RAM {
                continue;
            }
            let range = offset..offset.saturating_add(stored);
            elf.get(range.clone()).ok_or(ImageError::Short)?;
            parts.push((address, range));
        }
        parts.sort_by_key(|(address, _)| *address);
        let (start, _) = parts.first().ok_or(ImageError::Format)?;
        let boot_loader = BootLoader::of_program(*start).ok_or(ImageError::Start(*start))?;
        let layout = boot_loader.layout();
        check(&parts, layout)?;
        let own = parts.iter().find(|(at, _)| *at == layout.identity.first);
        let (_, own) = own.ok_or(ImageError::Foreign)?;
        let identity = own.start..own.start.saturating_add(RECORD_BYTES);
        let mark = elf.get(own.clone()).and_then(|own| own.get(RECORD_BYTES..));
        let mark = mark.and_then(|rest| rest.first_chunk::<MARK_BYTES>());
        let program = marked(mark.ok_or(ImageError::Foreign)?).map_err(|why| match why {
            MarkError::Version(version) => ImageError::Version(version),
            _ => ImageError::Foreign,
        })?;
        Ok(Self {
            elf,
            boot_loader,
            program,
            identity,
            parts,
        })
    }

    /// Replaces its identity.
    pub(crate) fn put(&mut self, identity: &Identity) {
        if let Some(place) = self.elf.get_mut(self.identity.clone()) {
            place.copy_from_slice(&identity.bytes());
        }
    }

    /// Adds its node's page of keys, as a segment behind all others.
    ///
    /// # Errors
    /// [`ImageError::NoKeys`].
    pub(crate) fn put_keys(&mut self, keys: &KeyRecord) -> Result<(), ImageError> {
        let areas = self.layout().keys.ok_or(ImageError::NoKeys)?;
        let (table, count) = (word(&self.elf, 28)? as usize, half(&self.elf, 44)?);
        let headers = table..table.saturating_add(usize::from(count) * HEADER);
        let mut headers = self.elf.get(headers).ok_or(ImageError::Short)?.to_vec();
        self.elf.resize(self.elf.len().next_multiple_of(4), 0);
        let (bytes, at) = (Zeroizing::new(keys.bytes()), self.elf.len());
        self.elf.extend_from_slice(&*bytes);
        let (address, len) = (areas.page.first, bytes.len() as u32);
        // Type, offset, addresses, lengths, to be read, alignment.
        for field in [LOADED, at as u32, address, address, len, len, 4, 4] {
            headers.extend(field.to_le_bytes());
        }
        let table = self.elf.len() as u32;
        self.elf.extend(headers);
        for (place, bytes) in [
            (28, &table.to_le_bytes()[..]),
            (44, &(count + 1).to_le_bytes()),
        ] {
            let place = self.elf.get_mut(place..place + bytes.len());
            place.ok_or(ImageError::Short)?.copy_from_slice(bytes);
        }
        self.parts.push((address, at..at + bytes.len()));
        self.parts.sort_by_key(|(address, _)| *address);
        Ok(())
    }

    /// Whether it is for nodes of `role`.
    ///
    /// # Errors
    /// [`ImageError::Program`].
    pub(crate) fn check(&self, role: Role) -> Result<(), ImageError> {
        let (wanted, found) = (program(role), self.program);
        match found == wanted {
            true => Ok(()),
            false => Err(ImageError::Program { wanted, found }),
        }
    }
    /// What it is for.
    pub(crate) const fn program(&self) -> Program {
        self.program
    }
    /// The boot loader beside which it was linked.
    pub(crate) const fn boot_loader(&self) -> BootLoader {
        self.boot_loader
    }
    /// Where it keeps what.
    pub(crate) const fn layout(&self) -> Layout {
        self.boot_loader.layout()
    }
    /// Its parts in flash, in order: address and bytes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let bytes = |range: &Range<usize>| self.elf.get(range.clone()).unwrap_or(&[]);
        self.parts
            .iter()
            .map(move |(at, range)| (*at, bytes(range)))
    }
    /// Flash from its first byte to its last, as erased where it has nothing.
    pub(crate) fn flat(&self) -> Vec<u8> {
        let start = self.layout().program.first;
        let mut flat = Vec::new();
        for (address, bytes) in self.parts() {
            flat.resize((address - start) as usize, 0xFF);
            flat.extend_from_slice(bytes);
        }
        flat
    }

    /// Bytes of flash that it takes.
    pub(crate) fn flash_bytes(&self) -> usize {
        self.parts.iter().map(|(_, range)| range.len()).sum()
    }
    pub(crate) fn elf(&self) -> &[u8] {
        &self.elf
    }
    /// As Intel HEX.
    pub(crate) fn hex(&self) -> String {
        intel_hex(self.parts())
    }
}

/// The program of nodes of `role`.
const fn program(role: Role) -> Program {
    match role {
        Role::Mote => Program::Mote,
        Role::BaseStation => Program::BaseStation,
    }
}

/// `parts` of flash, each at its address, as Intel HEX: extended linear addresses, data, the end.
pub(crate) fn intel_hex<'p>(parts: impl IntoIterator<Item = (u32, &'p [u8])>) -> String {
    let mut text = String::new();
    let mut upper = None;
    for (mut at, mut rest) in parts {
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

/// Whether parts in order are apart, each within one area of the image's.
fn check(parts: &[(u32, Range<usize>)], layout: Layout) -> Result<(), ImageError> {
    let keys = layout.keys.map(|areas| areas.page);
    let areas = [layout.program, layout.identity].into_iter().chain(keys);
    let mut free = layout.program.first;
    for (at, range) in parts {
        let end = u32::try_from(range.len()).ok();
        let end = end.and_then(|len| at.checked_add(len));
        let end = end.ok_or(ImageError::Outside(*at))?;
        let is_in = areas.clone().any(|a| a.first <= *at && end <= a.end());
        if *at < free || !is_in {
            return Err(ImageError::Outside(*at));
        }
        free = end;
    }
    Ok(())
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

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
