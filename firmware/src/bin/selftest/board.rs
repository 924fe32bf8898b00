//! What one board is like by itself: processor, flash, thermometer, chance, crystals.

use super::{Text, Us};
use core::fmt::{self, Write};
use thalweg_firmware::LAYOUT;
use thalweg_nrf52840::checksum::crc32;
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::Clock;
use thalweg_nrf52840::flash::{Flash, FlashError};
use thalweg_nrf52840::radio::Usage;
use thalweg_nrf52840::registers::{clock, rtc, system};
use thalweg_nrf52840::{gauge, random, Registers};

/// Counts of 32.768 kHz over which both crystals are compared: half a second.
const HALF_SECOND: u32 = 16_384;
/// Draws of 32 bits.
const DRAWS: u32 = 32;
/// What is summed up.
static BYTES: [u8; 1_024] = [0xA5; 1_024];

pub(super) fn tell(text: &mut Text, (chip, clock): (&mut Chip, &mut Clock)) -> fmt::Result {
    chip.write(system::DEMCR, 1 << 24);
    chip.write(system::DWT_CTRL, 1);
    let turns = 1_000;
    let cycles = cycles(chip, || plain(turns));
    let hundredths = cycles * 100 / (16 * turns);
    let (whole, part) = (hundredths / 100, hundredths % 100);
    writeln!(text, "plain instruction: {whole}.{part:02} cycles")?;
    let summed = self::cycles(chip, || crc32(core::hint::black_box(&BYTES)));
    writeln!(text, "check sum of 1024 bytes: {summed} cycles")?;
    match flash(chip, clock) {
        Ok((word, page)) => {
            writeln!(text, "flash: word {}, page {}", Us(word), Us(page))?;
        }
        Err(why) => writeln!(text, "flash: {why}")?,
    }
    match gauge::temperature(chip) {
        Some(quarters) => writeln!(text, "thermometer: {} quarters of a degree", quarters)?,
        None => writeln!(text, "thermometer: silent")?,
    }
    chance(text, chip, clock)?;
    crystals(text, chip, clock)
}

/// Cycles that `work` takes.
fn cycles<T>(chip: &mut Chip, work: impl FnOnce() -> T) -> u32 {
    let from = chip.read(system::DWT_CYCCNT);
    core::hint::black_box(work());
    chip.read(system::DWT_CYCCNT).wrapping_sub(from)
}

/// `turns` turns of sixteen instructions, the last of which jumps: 18 cycles where flash never makes it wait.
#[allow(unsafe_code)] // Assembly is.
fn plain(turns: u32) {
    // SAFETY: it counts a register down, and touches nothing else.
    unsafe {
        core::arch::asm!(
            "2:",
            ".rept 14",
            "nop",
            ".endr",
            "subs {left}, #1",
            "bne 2b",
            left = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
}

/// Ticks of a word, and of a page, where an update would be.
fn flash(chip: &mut Chip, clock: &mut Clock) -> Result<(i64, i64), FlashError> {
    let Some(free) = Flash::of(LAYOUT.second) else {
        return Err(FlashError::Outside(LAYOUT.second.first));
    };
    let mut times = [0; 3];
    times[0] = clock.now(chip);
    free.erase(chip, Usage::Asleep, 0)?;
    times[1] = clock.now(chip);
    free.write(chip, Usage::Asleep, 0, &[0x1234_5678])?;
    times[2] = clock.now(chip);
    let [begin, erased, written] = times.map(|ticks| ticks as i64);
    Ok((written - erased, erased - begin))
}

fn chance(text: &mut Text, chip: &mut Chip, clock: &mut Clock) -> fmt::Result {
    let from = clock.now(chip);
    let ones = (0..DRAWS).try_fold(0, |ones, _| Some(ones + random::draw(chip)?.count_ones()));
    let took = (clock.now(chip) - from) as i64 / i64::from(4 * DRAWS);
    match ones {
        Some(ones) => {
            let bits = 32 * DRAWS;
            writeln!(
                text,
                "chance: byte {}, {ones} ones of {bits} bits",
                Us(took)
            )
        }
        None => writeln!(text, "chance: silent"),
    }
}

/// How much faster 32.768 kHz is than the crystal of 32 MHz says.
fn crystals(text: &mut Text, chip: &mut Chip, clock: &mut Clock) -> fmt::Result {
    let starts = clock.now(chip);
    while chip.read(clock::LFCLKSTARTED) == 0 {
        if clock.now(chip) - starts > 16_000_000 {
            return writeln!(text, "32.768 kHz: does not run");
        }
    }
    let first = chip.read(rtc::COUNTER) + 10;
    let mut edge = |count: u32| {
        while chip.read(rtc::COUNTER) != count & 0xFF_FFFF {}
        clock.now(chip)
    };
    let from = edge(first);
    let took = edge(first + HALF_SECOND) - from;
    // 8,000,000 ticks: a millionth is 8.
    let ppm = (8_000_000 - took as i64) / 8;
    writeln!(text, "32.768 kHz: {ppm} ppm faster than 16 MHz")
}
