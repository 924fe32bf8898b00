//! The node's clock: TIMER3 at 16 MHz from the crystal, RTC1 while the node sleeps.
//!
//! Time base: ticks of 62.5 ns since [`Clock::start`], a `u64`. TIMER3 has 32 bits; software extends them, so it is read at
//! least every 134 s. Invariants: what [`Clock::now`] gives never goes back, over any number of sleeps; an alarm that is
//! set too late goes off at once. Not modelled: how far the two crystals differ (20 ppm each). Tests: `tests/all/clock.rs`.

mod sleep;

pub use sleep::LEAD_US;

use crate::registers::{clock, rtc, timer};
use crate::Registers;
use sleep::{Asleep, Rtc};
use thalweg_units::{Duration, Instant};

/// Ticks in a microsecond.
pub const MICROSECOND: u64 = 16;

/// The compare register that starts the radio.
pub const CC_STROBE: u32 = 0;
/// Captures a frame's beginning.
pub const CC_FRAME: u32 = 1;
/// Captures a frame's end.
pub const CC_END: u32 = 2;
/// The alarm of time-outs.
pub(crate) const CC_ALARM: u32 = 3;
/// When the radio leaves its mode; captures the end of a clear channel assessment.
pub const CC_LEAVE: u32 = 4;
/// Reads the time.
pub const CC_NOW: u32 = 5;

/// The furthest that an alarm is set: below half of 2^32 ticks, 268 s.
const FURTHEST: u64 = 100_000_000 * MICROSECOND;
/// The most reads of a register that waits for an oscillator: over 10 ms at 64 MHz.
const PATIENCE: u32 = 1_000_000;

/// A clock of the chip does not run: hardware is broken, or not an nRF52840.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockError {
    /// The 64 MHz crystal did not start.
    NoCrystal,
    /// The 32.768 kHz clock does not count.
    NoLowFrequencyClock,
}

impl core::fmt::Display for ClockError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoCrystal => "the 64 MHz crystal does not start",
            Self::NoLowFrequencyClock => "the 32.768 kHz clock does not count",
        })
    }
}
impl core::error::Error for ClockError {}

/// Where the 32.768 kHz come from (CLOCK 5.4.3, LFCLKSRC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowFrequency {
    /// The RC oscillator, 500 ppm.
    Rc,
    /// A crystal, as development kit and dongle have it.
    Crystal,
}

/// The instant at `ticks`, rounded down to a nanosecond.
pub const fn instant(ticks: u64) -> Instant {
    Instant::from_nanos((ticks / 2) * 125 + (ticks % 2) * 62)
}
/// The first tick at or after `at`.
#[inline]
pub const fn ticks(at: Instant) -> u64 {
    let (pairs, rest) = in_pairs(at.as_nanos());
    pairs * 2 + (2 * rest).div_ceil(125) as u64
}
/// A length of time to the nearest tick.
#[inline]
pub const fn span(of: Duration) -> u64 {
    let ns = of.as_nanos();
    // A gap's: one division where there is no carry.
    if ns < 1 << 30 {
        return ((2 * ns as u32 + 62) / 125) as u64;
    }
    let (pairs, rest) = in_pairs(ns);
    pairs * 2 + ((2 * rest + 62) / 125) as u64
}
/// How often two ticks, 125 ns, go into `ns`, and what is left. By hand, since the processor divides 32 bits and a gap has
/// no time for more (`__aeabi_uldivmod`: 2 us).
const fn in_pairs(ns: u64) -> (u64, u32) {
    const PAIR: u32 = 125;
    let (high, low) = ((ns >> 32) as u32, ns as u32);
    if high == 0 {
        return ((low / PAIR) as u64, low % PAIR);
    }
    let middle = ((high % PAIR) << 16) | (low >> 16);
    let last = ((middle % PAIR) << 16) | (low & 0xFFFF);
    let below = (middle / PAIR) as u64 * (1 << 16) + (last / PAIR) as u64;
    ((((high / PAIR) as u64) << 32) + below, last % PAIR)
}
/// How long `ticks` take.
pub const fn duration(ticks: u64) -> Duration {
    Duration::from_nanos(instant(ticks).as_nanos())
}

/// Whether the node's fast clock runs.
#[derive(Debug, Clone, Copy)]
enum State {
    Running,
    Asleep(Asleep),
}

/// The clock.
#[derive(Debug)]
pub struct Clock {
    /// The latest reading.
    ticks: u64,
    /// The time when TIMER3 was 0.
    zero: u64,
    rtc: Rtc,
    state: State,
}

impl Clock {
    /// Starts crystal, TIMER3, low-frequency clock and RTC1, with time at 0.
    ///
    /// # Errors
    /// [`ClockError`].
    pub fn start(r: &mut impl Registers, low: LowFrequency) -> Result<Self, ClockError> {
        // A boot loader may have left all of them running, the low-frequency clock from another source.
        for stop in [clock::HFCLKSTOP, clock::LFCLKSTOP, rtc::STOP] {
            r.write(stop, 1);
        }
        start_crystal(r)?;
        let source = match low {
            LowFrequency::Rc => 0,
            LowFrequency::Crystal => 1,
        };
        r.write(clock::LFCLKSRC, source);
        r.write(clock::LFCLKSTARTED, 0);
        r.write(clock::LFCLKSTART, 1);
        r.write(rtc::PRESCALER, 0);
        r.write(rtc::CLEAR, 1);
        r.write(rtc::START, 1);
        for (at, value) in [
            (timer::STOP, 1),
            (timer::MODE, 0),
            (timer::BITMODE, 3),
            (timer::PRESCALER, 0),
            (timer::CLEAR, 1),
            (timer::START, 1),
        ] {
            r.write(timer::TIMER3 + at, value);
        }
        Ok(Self {
            ticks: 0,
            zero: 0,
            rtc: Rtc::default(),
            state: State::Running,
        })
    }

    /// The time. While asleep it goes by steps of 30.5 us.
    #[inline]
    pub fn now(&mut self, r: &mut impl Registers) -> u64 {
        let read = match self.state {
            State::Running => {
                r.write(timer::TIMER3 + timer::capture(CC_NOW), 1);
                let count = r.read(timer::TIMER3 + timer::cc(CC_NOW));
                let ahead = count.wrapping_sub(self.count(self.ticks));
                // Within one step of a mapping the count may lie behind what was read while asleep.
                match ahead < 1 << 31 {
                    true => self.ticks + u64::from(ahead),
                    false => self.ticks,
                }
            }
            State::Asleep(asleep) => asleep.at(self.rtc.read(r)),
        };
        self.ticks = self.ticks.max(read);
        self.ticks
    }

    /// What [`Self::now`] gave last.
    pub(crate) const fn latest(&self) -> u64 {
        self.ticks
    }

    /// What TIMER3 counts at `at`.
    const fn count(&self, at: u64) -> u32 {
        at.wrapping_sub(self.zero) as u32
    }

    /// When compare register `cc` captured, which was less than 134 s before or after [`Self::latest`]. The timer is not
    /// asked again: a relay's gap has no time for it.
    #[inline]
    pub(crate) fn captured(&self, r: &mut impl Registers, cc: u32) -> u64 {
        let count = r.read(timer::TIMER3 + timer::cc(cc));
        let off = count.wrapping_sub(self.count(self.ticks)) as i32;
        self.ticks.saturating_add_signed(i64::from(off))
    }

    /// Puts `at` into compare register `cc`, whose event is cleared.
    pub(crate) fn compare(&self, r: &mut impl Registers, cc: u32, at: u64) {
        r.write(timer::TIMER3 + timer::compare(cc), 0);
        r.write(timer::TIMER3 + timer::cc(cc), self.count(at));
    }

    /// Has compare register `cc` interrupt at `at`; at once where that has passed, and before it where it is over 100 s
    /// away or there is none.
    pub(crate) fn alarm(&mut self, r: &mut impl Registers, cc: u32, at: Option<u64>) {
        r.write(timer::TIMER3 + timer::INTENCLR, timer::interrupt(cc));
        let now = self.now(r);
        let far = now + FURTHEST;
        let mut at = at.map_or(far, |at| at.min(far)).max(now + 4);
        self.compare(r, cc, at);
        r.write(timer::TIMER3 + timer::INTENSET, timer::interrupt(cc));
        // A compare goes off on equality alone (TIMER 6.30.2): what passed meanwhile is set again, further away each time.
        let mut step = 8;
        while self.now(r) >= at && r.read(timer::TIMER3 + timer::compare(cc)) == 0 {
            at = self.ticks + step;
            step *= 2;
            self.compare(r, cc, at);
        }
    }

    /// Takes an alarm back.
    pub(crate) fn silence(&self, r: &mut impl Registers, cc: u32) {
        r.write(timer::TIMER3 + timer::INTENCLR, timer::interrupt(cc));
        r.write(timer::TIMER3 + timer::compare(cc), 0);
    }

    /// Whether the node sleeps.
    pub const fn is_asleep(&self) -> bool {
        matches!(self.state, State::Asleep(_))
    }
}

/// Starts the crystal and waits for it: 360 us typical (CLOCK 5.4.4.1).
fn start_crystal(r: &mut impl Registers) -> Result<(), ClockError> {
    r.write(clock::CONSTLAT, 1);
    r.write(clock::HFCLKSTARTED, 0);
    r.write(clock::HFCLKSTART, 1);
    match (0..PATIENCE).any(|_| r.read(clock::HFCLKSTARTED) != 0) {
        true => Ok(()),
        false => Err(ClockError::NoCrystal),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, instant, span, ticks};

    #[test]
    fn ticks_and_nanoseconds_are_told_in_each_other() {
        let edges = [0, 124, 125, 65_535, 1 << 16, 1 << 32, (1 << 47) - 1];
        let near = edges.into_iter().flat_map(|edge: u64| edge..edge + 300);
        for at in near.chain([u64::MAX / 125, 1 << 57]) {
            assert_eq!(ticks(instant(at)), at);
            assert_eq!(span(duration(at)), at);
        }
    }
}
