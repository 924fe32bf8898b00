//! A tick for applications: RTC2 interrupts so many times a second, also out of sleep.

use crate::{chip, interrupt};
use thalweg_nrf52840::registers::rtc;
use thalweg_nrf52840::Registers;

/// RTC2, which nothing else uses (RTC 6.22); the driver keeps its low-frequency clock running.
const RTC2: u32 = 0x4002_4000 - rtc::BASE;

/// What the counter goes up to.
const COUNTS: u32 = 0xFF_FFFF;

/// The tick.
#[derive(Debug)]
pub struct Ticker {
    every: u16,
    next: u32,
}

impl Ticker {
    /// Ticks every so many counts of 32.768 kHz, three at least.
    pub fn start(every: u16) -> Self {
        let mut chip = chip();
        let next = u32::from(every);
        for (at, value) in [
            (rtc::PRESCALER, 0),
            (rtc::cc(0), next),
            (rtc::INTENSET, rtc::bit(0)),
            (rtc::START, 1),
        ] {
            chip.write(RTC2 + at, value);
        }
        enable();
        Self { every, next }
    }

    /// How often it ticked since it was asked last: asked in each turn, it ticks on. More than once where the processor stood
    /// still, as it does while flash is erased.
    pub fn ticks(&mut self) -> u32 {
        let mut chip = chip();
        let every = u32::from(self.every);
        let mut ticks = 0;
        if chip.read(RTC2 + rtc::compare(0)) != 0 {
            chip.write(RTC2 + rtc::compare(0), 0);
            let now = chip.read(RTC2 + rtc::COUNTER);
            // The next that lies ahead, by the two counts that a comparison needs.
            ticks = (now.wrapping_sub(self.next) + 2 & COUNTS) / every + 1;
            self.next = (self.next + ticks * every) & COUNTS;
            chip.write(RTC2 + rtc::cc(0), self.next);
        }
        enable();
        ticks
    }
}

/// Lets the interrupt through: the second register has those from 32 on.
fn enable() {
    chip().write(interrupt::ENABLE + 4, 1 << (interrupt::RTC2 - 32));
}
