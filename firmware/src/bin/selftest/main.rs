//! What a chip is like, beside what the emulator was told: a table as text on the line (docs/motes.md, "What silicon would
//! settle").
//!
//! Two boards have this image. The base station's asks, the mote's answers, both tell of themselves. Nothing is decided here:
//! numbers are printed as they were measured. Time base: ticks of 62.5 ns of TIMER3. No interrupts; all is polled.
#![no_std]
#![no_main]

mod air;
mod board;

use core::fmt::{self, Write};
use cortex_m_rt::entry;
use thalweg_firmware::{begin, chip, reset, LAYOUT, PINS};
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::{Clock, LowFrequency};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::uart::Uart;

/// The line, for text.
struct Text {
    chip: Chip,
    uart: Uart,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            while !self.uart.is_free() {
                self.uart.interrupt(&mut self.chip);
            }
            let sent = self.uart.send(&mut self.chip, rest);
            rest = rest.get(sent.unwrap_or(0)..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Ticks as microseconds.
struct Us(i64);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let hundredths = self.0.unsigned_abs() * 100 / 16;
        write!(f, "{sign}{}.{:02} us", hundredths / 100, hundredths % 100)
    }
}

thalweg_firmware::mark!(Selftest);

#[entry]
fn main() -> ! {
    // Why it starts is of no interest: a crash ends the text.
    begin();
    let mut chip = chip();
    let words = cortex_m::singleton!(: [u32; Uart::DMA_BYTES as usize / 4] = [0; Uart::DMA_BYTES as usize / 4]);
    let words = words.map_or(Region::at(0, 0), |words| Region::of(words));
    let Some(uart) = Uart::start(&mut chip, PINS, words) else {
        reset(format_args!("the line has no memory"));
    };
    let mut text = Text { chip, uart };
    // Writing to the line cannot fail.
    let _ = tell(&mut text);
    loop {
        cortex_m::asm::wfi();
    }
}

fn tell(text: &mut Text) -> fmt::Result {
    let mut chip = chip();
    let identity = match Identity::read(&mut chip, LAYOUT.identity.first) {
        Ok(identity) => identity,
        Err(why) => return writeln!(text, "selftest: {why}"),
    };
    writeln!(text, "selftest of node {}", identity.node)?;
    let mut clock = match Clock::start(&mut chip, LowFrequency::Crystal) {
        Ok(clock) => clock,
        Err(why) => return writeln!(text, "selftest: {why}"),
    };
    board::tell(text, (&mut chip, &mut clock))?;
    let Some(mut air) = air::Air::start(chip, identity.floods) else {
        return writeln!(text, "selftest: the radio has no memory");
    };
    match identity.role {
        Role::BaseStation => air::ask(&mut air, text)?,
        Role::Mote => {
            writeln!(text, "answers on channel {}", identity.floods.number())?;
            air.answer()
        }
    }
    writeln!(text, "end of the selftest")
}
