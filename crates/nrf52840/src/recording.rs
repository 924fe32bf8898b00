//! Recordings of a sensor in a ring of flash pages, handed out as a mote's object.
//!
//! A page: eight words of header, then data. The header: a mark that it was erased to the end, recording, index, CRC-32 of
//! these two; in a recording's last page also its seal: length, digest, CRC-32. Invariants: a recording is sealed after all
//! its bytes are written, by the seal's last word; no page of the newest sealed one is erased; what is handed out had its
//! digest when it was sealed, or when power came. So whenever power fails, a sealed recording is whole or absent. A node with
//! keys encrypts what it hands out ([`Veil`]). Not
//! modelled: bits that read differently each time after a cut erasure, but that such pages are erased again. Tests:
//! `tests/all/recording.rs`.

mod error;
mod sealed;
mod veil;

use crate::checksum::crc32;
use crate::digest::Sha256;
use crate::flash::{Flash, PAGE_BYTES};
use crate::radio::Usage;
use crate::Registers;
use core::cell::Cell;
pub use error::RecordError;
use sealed::{bytes_of, header, info_of, newest_whole, read_sealed};
use thalweg_protocols::object::{NoRoom, ObjectInfo, ObjectStore};
use thalweg_wire::seal::cmac::Mac;
pub use veil::Veil;

/// Bytes of a page's header.
const HEADER: u32 = 32;
/// Data bytes of a page.
const DATA: u32 = PAGE_BYTES - HEADER;
/// A page that was erased to the end and not used since.
const SPARE: u32 = 0x5350_4152;
/// In the upper half of the word that has the index.
const PAGE: u32 = 0x7257 << 16;
/// Where the seal is in a header.
const SEAL: u32 = 16;
/// Pages that are erased ahead of where a recording is written.
const AHEAD: u16 = 2;

/// A recording that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sealed {
    number: u32,
    first: u16,
    info: ObjectInfo,
}

impl Sealed {
    fn pages(&self) -> u16 {
        pages_of(self.info.len)
    }
}

fn pages_of(bytes: u32) -> u16 {
    bytes.div_ceil(DATA).max(1) as u16
}

/// One that is being written.
#[derive(Debug)]
struct Open {
    number: u32,
    first: u16,
    /// Bytes recorded, those in RAM among them.
    len: u32,
    /// Bytes in flash.
    flushed: u32,
    /// Pages whose header is written.
    pages: u16,
    digest: Sha256,
    tag: Mac,
}

/// A sensor's recordings. `R` reaches the chip.
#[derive(Debug)]
pub struct Recording<'a, R> {
    r: R,
    flash: Flash,
    /// Where bytes wait. It is borrowed: by value it would be moved over the stack.
    buffer: &'a mut [u8],
    /// The first of the bytes that wait, and how many do.
    from: usize,
    waiting: usize,
    open: Option<Open>,
    sealed: Option<Sealed>,
    /// What the transfer that began last is of.
    served: Cell<Option<Sealed>>,
    /// Where the next recording begins, and its number.
    next: (u16, u32),
    /// What encrypts what is handed out, where the node has keys.
    veil: Option<Veil<R>>,
}

/// A page's header, where it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    number: u32,
    index: u16,
}

impl<'a, R: Registers + Clone> Recording<'a, R> {
    /// Reads what is in the flash at `flash`, 4 pages at least; what was not sealed is forgotten. Bytes wait in `buffer`
    /// until they are in flash. It reads the newest
    /// recording whole, since a digest is the proof that it is: some 40 ms for 59,000 bytes (computed).
    pub fn new(mut r: R, flash: Flash, buffer: &'a mut [u8]) -> Self {
        let mut newest: Option<(Header, u16)> = None;
        for page in 0..flash.pages() {
            if let Some(header) = header(&mut r, flash, page) {
                let key = |h: &Header| (h.number, h.index);
                if newest.is_none_or(|(n, _)| key(&n) < key(&header)) {
                    newest = Some((header, page));
                }
            }
        }
        let sealed = newest_whole(&mut r, flash);
        let next = match (sealed, newest) {
            // In place of what was not sealed: behind that, there may be no room beside the one that is.
            (Some(sealed), Some((header, _))) => (
                page_of(flash, sealed.first, sealed.pages()),
                header.number.saturating_add(1),
            ),
            (_, newest) => newest.map_or((0, 0), |(header, page)| {
                (page_of(flash, page, 1), header.number.saturating_add(1))
            }),
        };
        Self {
            r,
            flash,
            buffer,
            from: 0,
            waiting: 0,
            open: None,
            sealed,
            served: Cell::new(None),
            next,
            veil: None,
        }
    }

    /// Records `bytes`, all of them or none, in RAM; [`Self::flush`] brings them to flash.
    ///
    /// # Errors
    /// [`RecordError::BufferFull`], [`RecordError::TooLong`], [`RecordError::Sealing`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let is_filled_up = |open: &Open| open.flushed > open.len;
        if self.open.as_ref().is_some_and(is_filled_up) {
            return Err(RecordError::Sealing);
        }
        let len = self.open.as_ref().map_or(0, |open| open.len) as usize + bytes.len();
        if len > usize::from(self.flash.pages() / 2) * DATA as usize {
            return Err(RecordError::TooLong);
        }
        if bytes.len() > self.buffer.len() - self.waiting {
            return Err(RecordError::BufferFull);
        }
        let mut at = (self.from + self.waiting) % self.buffer.len().max(1);
        for byte in bytes {
            if let Some(place) = self.buffer.get_mut(at) {
                *place = *byte;
            }
            at = (at + 1) % self.buffer.len().max(1);
        }
        self.waiting += bytes.len();
        self.opened();
        if let Some(open) = &mut self.open {
            open.digest.update(bytes);
            if let Some(veil) = &mut self.veil {
                veil.add(&mut open.tag, bytes);
            }
            open.len = len as u32;
        }
        Ok(())
    }

    fn opened(&mut self) -> &mut Open {
        let (first, number) = self.next;
        self.open.get_or_insert_with(|| Open {
            number,
            first,
            len: 0,
            flushed: 0,
            pages: 0,
            digest: Sha256::new(),
            tag: Mac::default(),
        })
    }

    /// Brings what waits in RAM to flash, whole words of it.
    ///
    /// # Errors
    /// [`RecordError`]; what was not written waits on.
    pub fn flush(&mut self, usage: Usage) -> Result<(), RecordError> {
        while self.waiting >= 4 {
            self.flush_word(usage)?;
        }
        Ok(())
    }

    fn flush_word(&mut self, usage: Usage) -> Result<(), RecordError> {
        self.begin_page(usage)?;
        let Some(open) = &self.open else {
            return Ok(());
        };
        let index = (open.flushed / DATA) as u16;
        let at = u32::from(page_of(self.flash, open.first, index)) * PAGE_BYTES;
        let at = at + HEADER + open.flushed % DATA;
        let mut word = [0; 4];
        let count = self.waiting.min(4);
        for (n, place) in word.iter_mut().take(count).enumerate() {
            let byte = self.buffer.get((self.from + n) % self.buffer.len().max(1));
            *place = byte.copied().unwrap_or_default();
        }
        let word = u32::from_le_bytes(word);
        let written = self.flash.write(&mut self.r, usage, at, &[word]);
        written.map_err(RecordError::Flash)?;
        self.from = (self.from + count) % self.buffer.len().max(1);
        self.waiting -= count;
        if let Some(open) = &mut self.open {
            open.flushed += 4;
        }
        Ok(())
    }

    /// Sees that the page of the next word has its header.
    fn begin_page(&mut self, usage: Usage) -> Result<(), RecordError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let index = (open.flushed / DATA) as u16;
        if index < open.pages {
            return Ok(());
        }
        let (number, page) = (open.number, page_of(self.flash, open.first, index));
        if !self.is_spare(page) {
            self.prepare(usage, page)?;
        }
        let at = u32::from(page) * PAGE_BYTES;
        let place = PAGE | u32::from(index);
        let words = [number, place, header_sum(number, place)];
        let written = self.flash.write(&mut self.r, usage, at + 4, &words);
        written.map_err(RecordError::Flash)?;
        if let Some(open) = &mut self.open {
            open.pages = index + 1;
        }
        Ok(())
    }

    /// Ends the recording: from now on it is what the mote hands out.
    ///
    /// # Errors
    /// [`RecordError`]: not all of it is in flash yet. Called again later, it goes on.
    pub fn seal(&mut self, usage: Usage) -> Result<ObjectInfo, RecordError> {
        self.opened();
        self.flush(usage)?;
        if self.waiting > 0 {
            self.flush_word(usage)?;
        }
        self.begin_last_page(usage)?;
        let open = self.opened();
        let (number, first, len) = (open.number, open.first, open.len);
        let (digest, tag) = (open.digest.clone().shortened(), open.tag.clone());
        let [d0, d1, d2, d3, d4, d5, d6, d7] = digest;
        let words = [
            len,
            u32::from_le_bytes([d0, d1, d2, d3]),
            u32::from_le_bytes([d4, d5, d6, d7]),
        ];
        let page = page_of(self.flash, first, pages_of(len) - 1);
        let at = u32::from(page) * PAGE_BYTES;
        let [a, b, c] = words;
        let words = [a, b, c, seal_sum(number, words)];
        let written = self.flash.write(&mut self.r, usage, at + SEAL, &words);
        written.map_err(RecordError::Flash)?;
        let veil = self.veil.as_mut();
        let digest = veil.map_or(digest, |veil| veil.finish(tag));
        let info = ObjectInfo { len, digest };
        self.sealed = Some(Sealed {
            number,
            first,
            info,
        });
        self.next = (
            page_of(self.flash, first, pages_of(len)),
            number.saturating_add(1),
        );
        self.open = None;
        Ok(info)
    }

    /// One without a byte has a page all the same.
    fn begin_last_page(&mut self, usage: Usage) -> Result<(), RecordError> {
        match self.open.as_ref().map_or(1, |open| open.pages) {
            0 => self.begin_page(usage),
            _ => Ok(()),
        }
    }

    /// Erases a page ahead of the recording where there is one to erase, 85 ms, so that none waits for it later. Called
    /// while the radio sleeps.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn tidy(&mut self, usage: Usage) -> Result<(), RecordError> {
        let (first, begun) = match &self.open {
            Some(open) => (open.first, open.pages),
            None => (self.next.0, 0),
        };
        for ahead in 0..AHEAD {
            let page = page_of(self.flash, first, begun + ahead);
            if !self.is_spare(page) {
                return self.prepare(usage, page);
            }
        }
        Ok(())
    }

    fn is_spare(&mut self, page: u16) -> bool {
        let at = u32::from(page) * PAGE_BYTES;
        let rest = (4..HEADER).step_by(4);
        self.flash.read(&mut self.r, at) == SPARE && { rest }
            .all(|n| self.flash.read(&mut self.r, at + n) == u32::MAX)
    }

    /// Erases a page of an older recording; never one of the newest that is sealed.
    fn prepare(&mut self, usage: Usage, page: u16) -> Result<(), RecordError> {
        if usage != Usage::Asleep {
            return Err(RecordError::WaitsForSleep);
        }
        if let Some(sealed) = self.sealed {
            let of_sealed = |index| page_of(self.flash, sealed.first, index) == page;
            if (0..sealed.pages()).any(of_sealed) {
                return Err(RecordError::TooLong);
            }
        }
        let (r, at) = (&mut self.r, u32::from(page) * PAGE_BYTES);
        let erased = self.flash.erase(r, usage, page);
        erased.map_err(RecordError::Flash)?;
        let marked = self.flash.write(r, usage, at, &[SPARE]);
        marked.map_err(RecordError::Flash)
    }

    /// What is sealed.
    pub fn sealed(&self) -> Option<ObjectInfo> {
        self.sealed.map(|sealed| sealed.info)
    }
    /// Bytes that wait in RAM.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }
}

/// The newest recording is the mote's object; a transfer stays with the one that it began with.
impl<R: Registers + Clone> ObjectStore for Recording<'_, R> {
    fn info(&self) -> ObjectInfo {
        self.served.set(self.sealed);
        info_of(self.sealed)
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        let sealed = self.served.get().or(self.sealed);
        match &self.veil {
            None => read_sealed(&self.r, self.flash, sealed, offset, into),
            Some(veil) => veil.read(&self.r, self.flash, sealed, offset, into),
        }
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        // A mote hands out; it is nobody's destination.
        Err(NoRoom)
    }
}

/// The page of the ring with so many after the first.
const fn page_of(flash: Flash, first: u16, index: u16) -> u16 {
    match flash.pages() {
        0 => 0,
        pages => ((first as u32 + index as u32) % pages as u32) as u16,
    }
}

/// One recording, to be read beside the sensor's. Its pages are erased once a second newer one is made.
#[derive(Debug)]
pub struct Lent<R> {
    r: R,
    flash: Flash,
    sealed: Option<Sealed>,
}

fn header_sum(number: u32, place: u32) -> u32 {
    crc32(&bytes_of([number, place, 0, 0]))
}
fn seal_sum(number: u32, [len, low, high]: [u32; 3]) -> u32 {
    crc32(&bytes_of([number, len, low, high]))
}
