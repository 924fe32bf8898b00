//! Sleeping: the crystal and TIMER3 stand still, RTC1 counts, and at waking one is mapped to the other.
//!
//! Both ends of a sleep are pinned at an edge of RTC1: its COMPARE captures TIMER3 over PPI, so a sleep costs no more than
//! one tick of 62.5 ns beyond what the crystals differ by.

use super::{start_crystal, Clock, ClockError, State, CC_NOW, PATIENCE};
use crate::registers::{clock, ppi, rtc, timer};
use crate::Registers;

/// The PPI channel that captures TIMER3 at an edge of RTC1.
const PPI_PIN: u32 = 4;
/// RTC1's compare register for that, and the one that ends a sleep.
const CC_PIN: u32 = 0;
const CC_WAKE: u32 = 1;
/// RTC1 has 24 bits: 512 s. The longest that it goes unread.
const LONGEST: u64 = 1 << 23;
/// How far ahead a compare register must be written to be sure to match (RTC 6.22.7).
const AHEAD: u32 = 2;
/// How long before it is due a sleep ends: for the crystal, 360 us typical, and for two pins.
pub const LEAD_US: u64 = 1_500;

/// RTC1, extended in software.
#[derive(Debug, Default)]
pub(super) struct Rtc(u64);

impl Rtc {
    pub(super) fn read(&mut self, r: &mut impl Registers) -> u64 {
        let count = r.read(rtc::COUNTER);
        self.0 += u64::from(count.wrapping_sub(self.0 as u32) & 0xFF_FFFF);
        self.0
    }
}

/// A sleep: from when by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asleep {
    rtc: u64,
    ticks: u64,
}

impl Asleep {
    /// The time when RTC1 counts `rtc`: 16 MHz over 32.768 kHz are 15,625 over 32.
    pub(super) const fn at(&self, rtc: u64) -> u64 {
        self.ticks + rtc.saturating_sub(self.rtc) * 15_625 / 32
    }
    /// What RTC1 counts at `ticks`, rounded down.
    const fn rtc_at(&self, ticks: u64) -> u64 {
        self.rtc + ticks.saturating_sub(self.ticks) * 32 / 15_625
    }
}

impl Clock {
    /// Falls asleep: stops TIMER3 and the crystal and has RTC1 interrupt 1.5 ms before `until`, or after 256 s. Nothing may
    /// be pending at the radio.
    ///
    /// # Errors
    /// [`ClockError::NoLowFrequencyClock`]; the node is awake then.
    pub fn sleep(&mut self, r: &mut impl Registers, until: Option<u64>) -> Result<(), ClockError> {
        if !self.is_asleep() {
            let (rtc, count) = self.pin(r)?;
            let since = self.ticks - u64::from(self.count(self.ticks).wrapping_sub(count));
            self.state = State::Asleep(Asleep { rtc, ticks: since });
            r.write(timer::TIMER3 + timer::STOP, 1);
            r.write(clock::HFCLKSTOP, 1);
            r.write(clock::LOWPWR, 1);
        }
        self.set_waking(r, until);
        Ok(())
    }

    /// Sets when RTC1 ends a sleep.
    fn set_waking(&mut self, r: &mut impl Registers, until: Option<u64>) {
        let State::Asleep(asleep) = self.state else {
            return;
        };
        let now = self.rtc.read(r);
        let far = now + LONGEST;
        let until = until.map(|at| asleep.rtc_at(at.saturating_sub(LEAD_US * super::MICROSECOND)));
        let soon = now + u64::from(AHEAD);
        let at = until.map_or(far, |at| at.min(far)).max(soon);
        r.write(rtc::compare(CC_WAKE), 0);
        r.write(rtc::cc(CC_WAKE), at as u32 & 0xFF_FFFF);
        r.write(rtc::INTENSET, rtc::bit(CC_WAKE));
        // One that an edge has overtaken would come in 512 s.
        let overtaken = self.rtc.read(r) + 1 >= at && r.read(rtc::compare(CC_WAKE)) == 0;
        if overtaken {
            let at = self.rtc.0 + u64::from(AHEAD) + 1;
            r.write(rtc::cc(CC_WAKE), at as u32 & 0xFF_FFFF);
        }
    }

    /// Wakes up, where it is asleep: crystal and TIMER3 run, and the time goes on from where it is.
    ///
    /// # Errors
    /// [`ClockError`]; the node is asleep still, and its time counts by RTC1.
    pub fn wake(&mut self, r: &mut impl Registers) -> Result<(), ClockError> {
        let State::Asleep(asleep) = self.state else {
            return Ok(());
        };
        r.write(rtc::INTENCLR, rtc::bit(CC_WAKE));
        r.write(rtc::compare(CC_WAKE), 0);
        start_crystal(r)?;
        r.write(timer::TIMER3 + timer::CLEAR, 1);
        r.write(timer::TIMER3 + timer::START, 1);
        let mut pinned = self.pin(r)?;
        // A second pin proves the first: 488 ticks to an edge of RTC1, but for what the crystals differ by.
        for _ in 0..4 {
            let next = self.pin(r)?;
            let (rtc, ticks) = (next.0 - pinned.0, next.1.wrapping_sub(pinned.1));
            pinned = next;
            let expected = rtc * 15_625 / 32;
            if u64::from(ticks).abs_diff(expected) <= 2 {
                break;
            }
        }
        let (rtc, count) = pinned;
        self.zero = asleep.at(rtc).wrapping_sub(u64::from(count));
        self.state = State::Running;
        Ok(())
    }

    /// An edge of RTC1 by both clocks: what RTC1 counts from there on, and what TIMER3 did.
    fn pin(&mut self, r: &mut impl Registers) -> Result<(u64, u32), ClockError> {
        let at = self.rtc.read(r) + u64::from(AHEAD) + 1;
        r.write(ppi::event(PPI_PIN), rtc::compare(CC_PIN));
        r.write(ppi::task(PPI_PIN), timer::TIMER3 + timer::capture(CC_NOW));
        r.write(rtc::compare(CC_PIN), 0);
        r.write(rtc::cc(CC_PIN), at as u32 & 0xFF_FFFF);
        r.write(rtc::EVTENSET, rtc::bit(CC_PIN));
        r.write(ppi::CHENSET, 1 << PPI_PIN);
        let came = (0..PATIENCE).any(|_| r.read(rtc::compare(CC_PIN)) != 0);
        r.write(ppi::CHENCLR, 1 << PPI_PIN);
        let count = r.read(timer::TIMER3 + timer::cc(CC_NOW));
        if !came {
            return Err(ClockError::NoLowFrequencyClock);
        }
        if !self.is_asleep() {
            self.ticks += u64::from(count.wrapping_sub(self.count(self.ticks)));
        }
        Ok((at, count))
    }
}
