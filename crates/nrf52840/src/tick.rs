//! An interrupt at a fixed interval, from TIMER2: a main loop that waits for interrupts sees its own waits end.

use crate::registers::timer;
use crate::Registers;
use core::num::NonZeroU16;

/// TIMER's 16 MHz divided so that it counts microseconds (TIMER 6.30.4, PRESCALER).
const MICROSECONDS: u32 = 4;
/// SHORTS: COMPARE0 clears the count.
const COMPARE0_CLEAR: u32 = 1;
/// INTENSET: COMPARE0.
const COMPARE0: u32 = 1 << 16;

/// The tick.
#[derive(Debug)]
pub struct Tick(());

impl Tick {
    /// Starts it, every so many microseconds.
    pub fn start(r: &mut impl Registers, every_us: NonZeroU16) -> Self {
        for (at, value) in [
            (timer::MODE, 0),
            (timer::BITMODE, 3),
            (timer::PRESCALER, MICROSECONDS),
            (timer::cc(0), u32::from(every_us.get())),
            (timer::SHORTS, COMPARE0_CLEAR),
            (timer::INTENSET, COMPARE0),
            (timer::CLEAR, 1),
            (timer::START, 1),
        ] {
            r.write(timer::TIMER2 + at, value);
        }
        Self(())
    }

    /// An interrupt of TIMER2.
    pub fn interrupt(&mut self, r: &mut impl Registers) {
        r.write(timer::TIMER2 + timer::compare(0), 0);
        // Read back, so that the event is gone before the handler returns.
        let _ = r.read(timer::TIMER2 + timer::compare(0));
    }
}
