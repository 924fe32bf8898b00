//! What a node computes for its engine: a job that takes the microcontroller's time whenever nothing
//! else wants it, and the flash chip's.
//!
//! Owns the board's prices, and when software whose copies overlap with the air leaves the
//! microcontroller free (`software.rs` knows it where software does one thing at a time). A job is
//! background work: interrupts and tasks stop it, and no strobe ever waits for it. While a frame comes
//! in, jobs stand still too, though the meter counts no more than the handler after it. Not modelled:
//! a bus that flash and radio share. Tests: `tests/computing.rs`.

use crate::queue::Rank;
use crate::software::{Job, Level};
use crate::timeline::Activity;
use crate::world::{What, World};
use thalweg_engine::Work;
use thalweg_units::{Duration, SimTime};

/// What computing costs on a board; nothing, where its file says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Computing {
    /// Microcontroller time of a multiply-and-add of one byte over GF(256).
    pub multiply_byte: Duration,
    /// Of reading a byte of the flash chip, which is active as long.
    pub read_byte: Duration,
    /// Of writing one, its share of programming a page and of erasing a sector included.
    pub write_byte: Duration,
    /// What else the microcontroller can do while a frame is on the air.
    pub on_air: OnAir,
}

/// What the microcontroller can do while its radio sends or receives a frame, on boards whose
/// software overlaps with the air ([`crate::Software::Overlapped`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnAir {
    /// Nothing: the interrupt handler moves the frame byte by byte and is not left before its last
    /// symbol, as in Glossy's code.
    #[default]
    Held,
    /// Whatever it wants: hardware moves the frame.
    Free,
}

impl Computing {
    /// How long `work` takes on a microcontroller that does nothing else.
    pub fn price(&self, work: Work) -> Duration {
        self.multiply_byte * u64::from(work.multiplied) + self.reading(work) + self.writing(work)
    }
    fn reading(&self, work: Work) -> Duration {
        self.read_byte * u64::from(work.read)
    }
    fn writing(&self, work: Work) -> Duration {
        self.write_byte * u64::from(work.written)
    }
}

impl World {
    /// Takes a job of node `n`.
    pub(crate) fn compute(&mut self, n: usize, work: Work) {
        let takes = self.radios[n].board.computing.price(work);
        let job = Job::Compute(work);
        self.work(n, Level::Background, job, takes, Activity::Background);
    }

    /// A job of node `n` has had its time.
    pub(crate) fn computed(&mut self, n: usize, work: Work) {
        let radio = &mut self.radios[n];
        let computing = &radio.board.computing;
        let (reading, writing) = (computing.reading(work), computing.writing(work));
        radio.meter.flash(reading, writing);
        let node = n as u32;
        let what = What::Computed { node };
        self.queue.push(self.now, Rank::Tell, what);
    }

    /// Whether the software of node `n` keeps its interrupt handler for a frame.
    fn holds(&self, n: usize) -> bool {
        let board = &self.radios[n].board;
        !board.timing.software.is_serial() && board.computing.on_air == OnAir::Held
    }

    /// The handler of node `n`, whose copies overlap with the air, has the microcontroller until then.
    pub(crate) fn hold(&mut self, n: usize, until: SimTime) {
        if self.radios[n].board.timing.software.is_serial() {
            return;
        }
        let mcu = &mut self.mcus[n];
        mcu.held_until = mcu.held_until.max(until);
        self.interrupt_job(n);
    }

    /// The same while a frame is sent byte by byte.
    pub(crate) fn hold_sending(&mut self, n: usize, until: SimTime) {
        if self.holds(n) {
            self.hold(n, until);
        }
    }

    /// A radio of node `n` begins to receive a frame, or leaves one.
    pub(crate) fn hold_receiving(&mut self, n: usize) {
        if self.holds(n) {
            self.interrupt_job(n);
        }
    }

    /// Stops what is done in the background of node `n`, to look whether it may go on.
    fn interrupt_job(&mut self, n: usize) {
        if self.mcus[n].leaves_background() {
            self.stop_work(n);
        }
        if self.mcus[n].has_background() {
            let at = self.held_until(n).unwrap_or(self.now);
            self.look_soon(n, at);
        }
    }

    /// Until when no background work of node `n` may run; none where it may.
    pub(crate) fn held_until(&self, n: usize) -> Option<SimTime> {
        let held = self.mcus[n].held_until;
        let received = match self.holds(n) {
            true => self.radios_of(n).map(|r| self.radios[r].receiving_until),
            false => return Some(held).filter(|until| *until > self.now),
        };
        received
            .chain([held])
            .max()
            .filter(|until| *until > self.now)
    }

    /// Looks at `at`, or sooner where that is planned, whether node `n` is free for its background work.
    pub(crate) fn look_soon(&mut self, n: usize, at: SimTime) {
        let mcu = &mut self.mcus[n];
        if mcu
            .looks_at
            .is_some_and(|planned| planned <= at && planned >= self.now)
        {
            return;
        }
        mcu.looks_at = Some(at);
        let what = What::Look { node: n as u32 };
        self.queue.push(at, Rank::Software, what);
    }
}
