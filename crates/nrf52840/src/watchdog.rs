//! The watchdog: two feeders, the main loop and the clock's alarm, and both must feed (WDT 6.36.1: each reload register
//! that is on must be written). It stands still while the processor sleeps, since sleeps are longer than it is patient.

use crate::registers::wdt;
use crate::Registers;
use core::num::NonZeroU32;

/// Who feeds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feeder {
    /// The main loop, where it waits.
    Loop,
    /// The interrupt handler.
    Interrupt,
}

/// The watchdog, which runs: nothing stops it but a reset.
#[derive(Debug)]
pub struct Watchdog(());

impl Watchdog {
    /// Starts it, to bite after so many seconds of the processor running, at most 131,071. One that a soft reset has left
    /// running keeps its time.
    pub fn start(r: &mut impl Registers, seconds: NonZeroU32) -> Self {
        if r.read(wdt::RUNSTATUS) & 1 == 0 {
            let counts = seconds.get().saturating_mul(32_768);
            r.write(wdt::CRV, counts.saturating_sub(1));
            r.write(wdt::RREN, 0b11);
            r.write(wdt::CONFIG, 0);
            r.write(wdt::START, 1);
        }
        let mut dog = Self(());
        dog.feed(r, Feeder::Loop);
        dog.feed(r, Feeder::Interrupt);
        dog
    }

    /// `who` is alive.
    pub fn feed(&mut self, r: &mut impl Registers, who: Feeder) {
        let register = match who {
            Feeder::Loop => 0,
            Feeder::Interrupt => 1,
        };
        r.write(wdt::reload(register), wdt::FOOD);
    }
}
