//! Numbers of floods that outlive a restart: up to which number the floods of each base station are old.
//!
//! Two pages of flash in turns. A page: a mark that it was erased to the end, its turn, the turn's complement, then records
//! of three words: number, base station, CRC-32 of both. Nothing is held in RAM, so interrupts and the main loop each have a
//! copy. Invariants: what counts of a base station is the highest number of both pages; a page is erased after the other
//! has all that counts; so whenever power fails, no number that was kept is lost. Tests: `tests/all/numbers.rs`.

use crate::checksum::crc32;
use crate::ecb::Ecb;
use crate::flash::{Flash, FlashError, PAGE_BYTES};
use crate::radio::Usage;
use crate::Registers;
use thalweg_protocols::seals::{Hardware, Kept};
use thalweg_units::NodeId;
use thalweg_wire::seal::{Block, Cipher, Key};

/// Pages that they take.
pub const PAGES: u16 = 2;
/// A page that was erased to the end.
const ERASED: u32 = 0x4E55_4D42;
/// Bytes of a page's header, and of a record.
const HEADER: u32 = 12;
const RECORD: u32 = 12;
/// Records of a page.
const RECORDS: u32 = (PAGE_BYTES - HEADER) / RECORD;
/// A page with fewer records left gives way to the other while the radio sleeps, so that orders find room.
const ROOM: u32 = 32;

/// Where a node keeps them. `R` reaches the chip.
#[derive(Debug, Clone)]
pub struct Numbers<R> {
    r: R,
    flash: Flash,
}

impl<R: Registers> Numbers<R> {
    /// Those in `flash`, of [`PAGES`] pages. Called at the start, before the radio is on: what the power's end left half done
    /// is done, which takes 85 ms at the first start.
    ///
    /// # Errors
    /// [`FlashError`].
    #[inline(never)]
    pub fn open(r: R, flash: Flash) -> Result<Self, FlashError> {
        let mut numbers = Self::at(r, flash);
        if numbers.current().is_none() && (0..PAGES).all(|page| !numbers.is_spare(page)) {
            numbers.erase(0)?;
        }
        numbers.tidy(Usage::Asleep)?;
        Ok(numbers)
    }

    /// Those in `flash`, which were opened before.
    pub const fn at(r: R, flash: Flash) -> Self {
        Self { r, flash }
    }

    /// What was kept.
    pub fn kept(&mut self) -> Kept {
        let pages = [self.page(0), self.page(1)];
        Kept::of(pages.iter().flat_map(Kept::numbers))
    }

    /// Keeps that floods of `station` up to `number` are old, 126 us. A frame may be on its way: hardware sends and receives
    /// it, and this is called when its answer is on its way already.
    ///
    /// # Errors
    /// [`FlashError`].
    #[inline(never)]
    pub fn keep(&mut self, station: NodeId, number: u32) -> Result<(), FlashError> {
        let page = match self.current() {
            Some(page) if self.used(page) < RECORDS => page,
            Some(page) => self.begin(1 - page)?,
            None if self.is_spare(0) => self.begin(0)?,
            None => self.begin(1)?,
        };
        self.add(page, station, number)
    }

    /// Sees that a page is ready to take over, and that it does in time; called while the radio sleeps, now and then.
    ///
    /// # Errors
    /// [`FlashError`].
    #[inline(never)]
    pub fn tidy(&mut self, usage: Usage) -> Result<(), FlashError> {
        let Some(page) = self.current() else {
            return Ok(());
        };
        let here = self.page(page);
        for (station, number) in self.kept().numbers() {
            if !here.numbers().any(|known| known == (station, number)) {
                self.add(page, station, number)?;
            }
        }
        let other = 1 - page;
        if !self.is_spare(other) {
            if usage != Usage::Asleep {
                return Err(FlashError::InUse(usage));
            }
            self.erase(other)?;
        }
        if RECORDS - self.used(page) < ROOM {
            self.begin(other)?;
        }
        Ok(())
    }

    fn word(&mut self, page: u16, offset: u32) -> u32 {
        self.flash.read(&mut self.r, place(page, offset))
    }
    fn write(&mut self, page: u16, offset: u32, words: &[u32]) -> Result<(), FlashError> {
        let at = place(page, offset);
        self.flash.write(&mut self.r, Usage::Listening, at, words)
    }

    /// Since when `page` is in use; none where it is not.
    fn turn(&mut self, page: u16) -> Option<u32> {
        let [erased, turn, complement] = [0, 4, 8].map(|n| self.word(page, n));
        (erased == ERASED && turn == !complement).then_some(turn)
    }
    /// The page that takes what is kept.
    fn current(&mut self) -> Option<u16> {
        let [first, second] = [0, 1].map(|page| self.turn(page));
        match (first, second) {
            (Some(first), Some(second)) => Some(u16::from(first < second)),
            (first, second) => first.map(|_| 0).or(second.map(|_| 1)),
        }
    }
    /// Whether nothing was written into `page` since it was erased to the end.
    fn is_spare(&mut self, page: u16) -> bool {
        let rest = (4..HEADER + RECORD).step_by(4);
        self.word(page, 0) == ERASED && { rest }.all(|n| self.word(page, n) == u32::MAX)
    }
    fn erase(&mut self, page: u16) -> Result<(), FlashError> {
        self.flash.erase(&mut self.r, Usage::Asleep, page)?;
        self.write(page, 0, &[ERASED])
    }
    /// Lets `page` take what is kept from now on, and what counts so far.
    #[inline(never)]
    fn begin(&mut self, page: u16) -> Result<u16, FlashError> {
        if !self.is_spare(page) {
            return Err(FlashError::NotThere(place(page, 0)));
        }
        let turn = self.turn(1 - page).map_or(0, |turn| turn.wrapping_add(1));
        let kept = self.kept();
        self.write(page, 4, &[turn, !turn])?;
        for (station, number) in kept.numbers() {
            self.add(page, station, number)?;
        }
        Ok(page)
    }
    #[inline(never)]
    fn add(&mut self, page: u16, station: NodeId, number: u32) -> Result<(), FlashError> {
        let station = u32::from(station.get());
        let offset = HEADER + RECORD * self.used(page);
        self.write(page, offset, &[number, station, sum(number, station)])
    }
    fn record(&mut self, page: u16, n: u32) -> [u32; 3] {
        [0, 4, 8].map(|word| self.word(page, HEADER + RECORD * n + word))
    }
    /// Records of `page`, good and bad, which lie one behind the other.
    fn used(&mut self, page: u16) -> u32 {
        let (mut used, mut most) = (0, RECORDS);
        while used < most {
            let middle = (used + most) / 2;
            match self.record(page, middle) == [u32::MAX; 3] {
                true => most = middle,
                false => used = middle + 1,
            }
        }
        used
    }
    /// What counts in `page`.
    #[inline(never)]
    fn page(&mut self, page: u16) -> Kept {
        let used = match self.turn(page) {
            Some(_) => self.used(page),
            None => 0,
        };
        Kept::of((0..used).filter_map(|n| {
            let [number, station, told] = self.record(page, n);
            let node = u16::try_from(station).ok().map(NodeId::new)?.ok()?;
            (told == sum(number, station)).then_some((node, number))
        }))
    }
}

/// Where `offset` of `page` is.
const fn place(page: u16, offset: u32) -> u32 {
    page as u32 * PAGE_BYTES + offset
}
fn sum(number: u32, station: u32) -> u32 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&station.to_le_bytes());
    crc32(&bytes)
}

/// What the chip has for a node's seals.
#[derive(Debug, Clone)]
pub struct Sealer<R> {
    /// The cipher.
    pub ecb: Ecb<R>,
    /// What outlives a restart.
    pub numbers: Numbers<R>,
}

impl<R: Registers> Cipher for Sealer<R> {
    fn block(&mut self, key: &Key, block: &mut Block) {
        self.ecb.block(key, block);
    }
}

impl<R: Registers> Hardware for Sealer<R> {
    /// A NACK of 70 bytes takes five blocks, some 75 us with what is around them. A destination checks a request and makes a
    /// NACK in one pause.
    const MIC_SYMBOLS: u8 = 8;

    fn keep(&mut self, station: NodeId, number: u32) -> bool {
        self.numbers.keep(station, number).is_ok()
    }
}
