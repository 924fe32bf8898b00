//! What the chip measures of itself: the voltage it runs from (SAADC 6.23) and its temperature (TEMP 6.28).
//!
//! Both are polled for some tens of microseconds, so they are for a radio that sleeps. Tests: `crates/emulator/tests/all/gauge.rs`.

use crate::dma::Region;
use crate::registers::{clock, saadc, temp};
use crate::Registers;
use thalweg_units::BatteryLevel;

/// Polls until a measurement is there, which takes less than 40 us.
const PATIENCE: u32 = 10_000;
/// What the highest number of 12 bits stands for, in millivolts: .6 V over a sixth (SAADC 6.23.4).
const FULL_MV: u32 = 3_600;

/// What the chip is supplied with; none where the converter says nothing. `word` is for its DMA. A chip that makes its own
/// voltage from a higher one (POWER 5.3.1: a dongle's USB, a cell at VDDH) measures that one.
pub fn supply(r: &mut impl Registers, word: Region) -> Option<BatteryLevel> {
    // POWER 5.3.7, MAINREGSTATUS: the first regulator is in use.
    let (input, divisor) = match r.read(clock::MAINREGSTATUS) & 1 {
        0 => (saadc::VDD, 1),
        _ => (saadc::VDDH_FIFTH, 5),
    };
    // 6.23.10: one input against ground, gain 1/6, reference .6 V, 10 us to settle; 12 bits; one result.
    for (register, value) in [
        (saadc::ENABLE, 1),
        (saadc::INPUT, input),
        (saadc::INPUT_LOW, 0),
        (saadc::CONFIG, saadc::SETTLE_10_US),
        (saadc::RESOLUTION, saadc::BITS_12),
        (saadc::RESULT, word.address()),
        (saadc::RESULTS, 1),
        (saadc::STARTED, 0),
        (saadc::END, 0),
        (saadc::STOPPED, 0),
    ] {
        r.write(register, value);
    }
    let came = [
        (saadc::START, saadc::STARTED),
        (saadc::SAMPLE, saadc::END),
        // Stopped, or it goes on drawing current.
        (saadc::STOP, saadc::STOPPED),
    ];
    let came = came.map(|(task, event)| await_event(r, task, event));
    r.write(saadc::ENABLE, 0);
    let [true, true, _] = came else {
        return None;
    };
    // 16 bits with a sign; a result below ground is noise.
    let counts = (r.read(word.address()) as i16).max(0) as u32;
    let millivolts = (counts * FULL_MV * divisor) >> 12;
    Some(BatteryLevel::of_millivolts(millivolts))
}

/// The chip's temperature in quarters of a degree Celsius; none where the thermometer says nothing.
pub fn temperature(r: &mut impl Registers) -> Option<i32> {
    r.write(temp::DATARDY, 0);
    await_event(r, temp::START, temp::DATARDY).then(|| r.read(temp::TEMP) as i32)
}

/// Triggers `task`, and waits for `event`. Says whether it came.
fn await_event(r: &mut impl Registers, task: u32, event: u32) -> bool {
    r.write(task, 1);
    (0..PATIENCE).any(|_| r.read(event) != 0)
}
