//! Power that fails at any word or page of the recordings' flash: the driver's recordings on the chip's model.
//!
//! A run is made once. At each write and each erasure the flash is copied as it is when power fails in the midst of it, and a
//! chip starts with the copy. Images whose power fails: `images.rs`.

use std::cell::RefCell;
use std::rc::Rc;
use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_nrf52840::flash::{Flash, PAGE_BYTES};
use thalweg_nrf52840::radio::Usage;
use thalweg_nrf52840::recording::{RecordError, Recording};
use thalweg_nrf52840::registers::nvmc;
use thalweg_nrf52840::Registers;
use thalweg_protocols::object::ObjectStore;

const FIRST: u32 = 0x6_0000;
const PAGES: u16 = 6;
const BYTES: usize = PAGES as usize * PAGE_BYTES as usize;
/// A recording takes half of the ring at most: three pages.
const MOST: usize = 3 * (PAGE_BYTES as usize - 32);
type Recorder<'a> = Recording<'a, Board>;
/// Bytes that wait for flash.
type Buffer = [u8; 512];

/// A chip, and what its flash is like at each cut.
#[derive(Clone)]
struct Board(Rc<RefCell<Inner>>);

struct Inner {
    soc: Soc,
    /// Of changes of flash: every so manyth is a cut.
    every: usize,
    changes: usize,
    cuts: Vec<Vec<u8>>,
    draw: u64,
}

impl Board {
    /// One whose ring has `flash` in it.
    fn new(flash: &[u8], every: usize) -> Self {
        let (identity, radio) = (7, RadioTimes::TYPICAL);
        let mut soc = Soc::new(Setup { identity, radio }, 8);
        assert!(soc.memory.program(FIRST, flash));
        Self(Rc::new(RefCell::new(Inner {
            soc,
            every,
            changes: 0,
            cuts: Vec::new(),
            draw: 802_154,
        })))
    }
    fn flash(&self) -> Vec<u8> {
        self.0
            .borrow()
            .soc
            .memory
            .read(FIRST, BYTES)
            .unwrap()
            .to_vec()
    }
    fn take_cuts(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0.borrow_mut().cuts)
    }
}

impl Registers for Board {
    fn read(&mut self, address: u32) -> u32 {
        self.0.borrow_mut().soc.read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        let inner = &mut *self.0.borrow_mut();
        let erases = address == nvmc::ERASEPAGE;
        if erases || address < 1 << 20 {
            inner.changes += 1;
            if inner.changes % inner.every == 0 {
                inner.draw = inner.draw.wrapping_mul(6_364_136_223_846_793_005) + 1;
                let (start, bytes) = match erases {
                    true => (value, PAGE_BYTES as usize),
                    false => (address, 4),
                };
                let before = inner.soc.memory.read(start, bytes).unwrap().to_vec();
                assert!(inner.soc.write(address, value));
                let after = inner.soc.memory.read(start, bytes).unwrap().to_vec();
                // A cycle before it was done, power had failed.
                inner.soc.cut_power(1, inner.draw);
                let cut = inner.soc.memory.read(FIRST, BYTES).unwrap().to_vec();
                inner.cuts.push(cut);
                // And it had not, after all.
                assert!(inner.soc.memory.program(start, &before));
                assert!(inner.soc.memory.program(start, &after));
                return;
            }
        }
        inner.soc.write(address, value);
    }
}

fn ring() -> Flash {
    Flash::at(FIRST, PAGES).unwrap()
}
fn bytes(of: usize, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7) as u8 ^ of as u8).collect()
}
/// Records and seals.
fn record(recorder: &mut Recorder<'_>, of: usize, len: usize) -> Result<(), RecordError> {
    for chunk in bytes(of, len).chunks(400) {
        recorder.write(chunk)?;
        recorder.flush(Usage::Asleep)?;
    }
    recorder.seal(Usage::Asleep)?;
    recorder.tidy(Usage::Asleep)
}
/// What a chip with this flash hands out after its start.
fn found<'a>(flash: &[u8], buffer: &'a mut Buffer) -> (Option<Vec<u8>>, Recorder<'a>, Board) {
    let board = Board::new(flash, usize::MAX);
    let recorder = Recorder::new(board.clone(), ring(), buffer);
    let all = recorder.sealed().map(|info| {
        let mut all = vec![0; info.len as usize];
        recorder.read(0, &mut all);
        all
    });
    (all, recorder, board)
}

/// Recordings of these lengths one after the other, the power failing at every `every`th change of flash. After each cut what
/// was sealed is there, and three more recordings are made, over the whole ring. Gives how many cuts there were.
fn with_cuts(before: &[u8], lens: &[usize], every: usize) -> usize {
    let board = Board::new(before, every);
    let (mut buffer, mut rest) = ([0; 512], [0; 512]);
    let mut recorder = Recorder::new(board.clone(), ring(), &mut buffer);
    let (mut cuts, mut last): (usize, Option<Vec<u8>>) = (0, None);
    for (of, len) in lens.iter().enumerate() {
        record(&mut recorder, of, *len).unwrap();
        let this = bytes(of, *len);
        for cut in board.take_cuts() {
            cuts += 1;
            let (all, mut after, board) = found(&cut, &mut rest);
            let is_last = all == last;
            assert!(
                is_last || all.as_ref() == Some(&this),
                "cut {cuts}: {len} bytes"
            );
            for (next, len) in [(100, MOST), (101, 60), (102, 9_000)] {
                let done = record(&mut after, next, len);
                assert_eq!(done, Ok(()), "cut {cuts}: {len} bytes, the ring goes on");
            }
            assert!(found(&board.flash(), &mut [0; 512]).0.as_ref() == Some(&bytes(102, 9_000)));
        }
        last = Some(this);
        assert!(found(&board.flash(), &mut [0; 512]).0 == last);
    }
    cuts
}

#[test]
fn power_that_fails_at_any_change_of_flash_loses_nothing_sealed() {
    let erased = vec![0xff; BYTES];
    // Each word, each page: short ones around the ring, an empty one among them.
    let short = with_cuts(&erased, &[60, 0, 7, 100, 60, 33, 64, 1, 60, 60, 60], 1);
    // Those of half the ring, each beside the one before; at the seals' and headers' words, too, as 13 is prime.
    let long = with_cuts(&erased, &[MOST; 5], 61)
        + with_cuts(&erased, &[9_000, 5_000, 12_000, 4_064, MOST], 53);
    assert!(short > 200 && long > 400, "{short} {long}");
}
