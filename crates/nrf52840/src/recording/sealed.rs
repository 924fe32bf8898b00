//! Recordings that are whole: found again after a restart, read, and lent out as an object.

use super::{
    header_sum, page_of, pages_of, seal_sum, Header, Lent, Recording, Sealed, DATA, HEADER, PAGE,
    SEAL,
};
use crate::digest::Sha256;
use crate::flash::{Flash, PAGE_BYTES};
use crate::Registers;
use thalweg_protocols::object::{Lends, NoRoom, ObjectInfo, ObjectStore};

/// The newest recording that is sealed and whole.
pub(super) fn newest_whole(r: &mut impl Registers, flash: Flash) -> Option<Sealed> {
    let mut below = u32::MAX;
    loop {
        let mut best: Option<Sealed> = None;
        for page in 0..flash.pages() {
            let found = seal_of(r, flash, page).filter(|sealed| sealed.number < below);
            best = match (best, found) {
                (Some(best), Some(found)) if found.number < best.number => Some(best),
                (best, found) => found.or(best),
            };
        }
        let best = best?;
        if is_whole(r, flash, &best) {
            return Some(best);
        }
        below = best.number;
    }
}

/// The recording whose last page `page` is, where it is sealed.
fn seal_of(r: &mut impl Registers, flash: Flash, page: u16) -> Option<Sealed> {
    let Header { number, index } = header(r, flash, page)?;
    let at = u32::from(page) * PAGE_BYTES;
    let [len, low, high, sum] = [0, 4, 8, 12].map(|n| flash.read(r, at + SEAL + n));
    if sum != seal_sum(number, [len, low, high]) || sum == 0 || pages_of(len) != index + 1 {
        return None;
    }
    let pages = flash.pages();
    let mut digest = [0; 8];
    digest[..4].copy_from_slice(&low.to_le_bytes());
    digest[4..].copy_from_slice(&high.to_le_bytes());
    Some(Sealed {
        number,
        first: (page + pages - index % pages) % pages,
        info: ObjectInfo { len, digest },
    })
}

fn is_whole(r: &mut impl Registers, flash: Flash, sealed: &Sealed) -> bool {
    if sealed.pages() > flash.pages() {
        return false;
    }
    for index in 0..sealed.pages() {
        let page = page_of(flash, sealed.first, index);
        let number = sealed.number;
        if header(r, flash, page) != Some(Header { number, index }) {
            return false;
        }
    }
    let mut digest = Sha256::new();
    let mut room = [0; 64];
    let mut at = 0;
    while at < sealed.info.len {
        let bytes = room.len().min((sealed.info.len - at) as usize);
        let chunk = room.get_mut(..bytes).unwrap_or_default();
        read(r, flash, sealed, at, chunk);
        digest.update(chunk);
        at += bytes as u32;
    }
    digest.shortened() == sealed.info.digest
}

impl<R: Registers + Clone> Lends for Recording<'_, R> {
    type Loan = Lent<R>;

    fn lend(&self) -> Lent<R> {
        Lent {
            r: self.r.clone(),
            flash: self.flash,
            // Sessions have no seals here: nothing goes out that is not encrypted.
            sealed: self.sealed.filter(|_| self.veil.is_none()),
        }
    }
}

impl<R: Registers + Clone> ObjectStore for Lent<R> {
    fn info(&self) -> ObjectInfo {
        info_of(self.sealed)
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        read_sealed(&self.r, self.flash, self.sealed, offset, into);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        Err(NoRoom)
    }
}

pub(super) fn info_of(sealed: Option<Sealed>) -> ObjectInfo {
    sealed.map_or(ObjectInfo::NONE, |sealed| sealed.info)
}

/// Reads from `offset` on; what the recording has not is 0.
pub(super) fn read_sealed<R: Registers + Clone>(
    r: &R,
    flash: Flash,
    sealed: Option<Sealed>,
    offset: u32,
    into: &mut [u8],
) {
    let Some(sealed) = sealed else {
        return into.fill(0);
    };
    let left = sealed.info.len.saturating_sub(offset) as usize;
    let (into, beyond) = into.split_at_mut(left.min(into.len()));
    beyond.fill(0);
    read(&mut r.clone(), flash, &sealed, offset, into);
}

/// Reads bytes of a recording that are within its length. A source reads a packet's within a relay's gap: page by page, and
/// by words.
pub(super) fn read(
    r: &mut impl Registers,
    flash: Flash,
    sealed: &Sealed,
    offset: u32,
    into: &mut [u8],
) {
    let pages = u32::from(flash.pages()).max(1);
    let (mut index, mut at) = (offset / DATA, offset % DATA);
    let mut left = into;
    while !left.is_empty() {
        let here = left.len().min((DATA - at) as usize);
        let (part, rest) = left.split_at_mut(here);
        let page = (u32::from(sealed.first) + index) % pages;
        flash.read_bytes(r, page * PAGE_BYTES + HEADER + at, part);
        (index, at, left) = (index + 1, 0, rest);
    }
}

pub(super) fn header(r: &mut impl Registers, flash: Flash, page: u16) -> Option<Header> {
    let at = u32::from(page) * PAGE_BYTES;
    let [number, place, sum] = [4, 8, 12].map(|n| flash.read(r, at + n));
    let index = place as u16;
    let is_one = place & 0xFFFF_0000 == PAGE && sum == header_sum(number, place);
    is_one.then_some(Header { number, index })
}

pub(super) fn bytes_of(words: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
