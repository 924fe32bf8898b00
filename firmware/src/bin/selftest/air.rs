//! What two boards find out about each other's radio, by asking and answering: hardware sends an answer so many ticks after
//! the end of the question, and hardware notes when it has come.

use super::{Text, Us};
use core::fmt::{self, Write};
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::{CC_END, CC_FRAME, CC_LEAVE, CC_NOW, CC_STROBE};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::radio::Radio;
use thalweg_nrf52840::registers::radio::short;
use thalweg_nrf52840::registers::{ppi, radio, timer};
use thalweg_nrf52840::Registers;
use thalweg_units::Channel;

/// Bytes of a frame behind its length: number, what it is, two numbers, filler, check sequence.
const BYTES: usize = 20;
const ROOM: usize = 32;
const QUESTION: u8 = b'?';
const ANSWER: u8 = b'!';
/// Ticks of a byte on the air, and of a frame with preamble, delimiter and length.
const BYTE: i64 = 512;
const FRAME: i64 = (5 + 1 + BYTES as i64) * BYTE;
const MILLISECOND: u32 = 16_000;
/// From the end of a question to its answer's start: as good as none, and long enough to tell crystals apart.
const SOON: u32 = MILLISECOND / 2;
const LATE: u32 = 100 * MILLISECOND;
/// Questions of each kind.
const MANY: usize = 256;
const FEW: usize = 8;
/// How often the other board is called before it is given up.
const CALLS: u32 = 100;
/// The channel that notes when the transmitter is ready.
const PPI_READY: u32 = 6;

/// The radio, with the driver's settings and wiring, and nothing else of the driver.
pub(super) struct Air {
    chip: Chip,
    frame: Region,
}

/// A frame that was sent: when its transmitter was ready after it was started, and when it had ended.
struct Sent {
    ramp: i64,
    end: u32,
}

/// A frame that came.
struct Got {
    /// From FRAMESTART to its end.
    body: u32,
    end: u32,
    bytes: [u8; ROOM],
}

impl Got {
    fn number(&self, at: usize) -> u32 {
        let bytes = self
            .bytes
            .get(at..at + 4)
            .and_then(|four| four.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
    fn is(&self, kind: u8) -> bool {
        self.bytes.get(2) == Some(&kind)
    }
}

impl Air {
    pub(super) fn start(mut chip: Chip, channel: Channel) -> Option<Self> {
        let words = cortex_m::singleton!(: [u32; Radio::DMA_BYTES as usize / 4] = [0; Radio::DMA_BYTES as usize / 4])?;
        Radio::new(Region::of(words))?.start(&mut chip);
        let frame = Region::of(cortex_m::singleton!(: [u32; ROOM / 4] = [0; ROOM / 4])?);
        let frequency = 5 + 5 * (u32::from(channel.number()) - 11);
        for (at, value) in [
            (radio::FREQUENCY, frequency),
            (radio::PACKETPTR, frame.address()),
            (ppi::event(PPI_READY), radio::TXREADY),
            (
                ppi::task(PPI_READY),
                timer::TIMER3 + timer::capture(CC_LEAVE),
            ),
            (ppi::CHENSET, 1 << PPI_READY),
        ] {
            chip.write(at, value);
        }
        Some(Self { chip, frame })
    }

    fn now(&mut self) -> u32 {
        self.chip.write(timer::TIMER3 + timer::capture(CC_NOW), 1);
        self.noted(CC_NOW)
    }
    fn noted(&mut self, register: u32) -> u32 {
        self.chip.read(timer::TIMER3 + timer::cc(register))
    }

    /// Waits until the radio is off, at most until `deadline`. Says whether it is.
    fn off(&mut self, deadline: u32) -> bool {
        while self.chip.read(radio::DISABLED) == 0 {
            if (self.now().wrapping_sub(deadline) as i32) > 0 {
                return false;
            }
        }
        true
    }

    /// Starts the transmitter at tick `at`.
    fn send(&mut self, at: u32, kind: u8, numbers: [u32; 2]) -> Option<Sent> {
        let mut bytes = [0x5D; ROOM];
        let [first, second] = numbers.map(u32::to_le_bytes);
        let fields = [&[BYTES as u8, 0, kind][..], &first, &second];
        for (place, byte) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *place = *byte;
        }
        self.frame.write(&mut self.chip, 0, &bytes);
        for (register, value) in [
            (radio::SHORTS, short::TXREADY_START | short::PHYEND_DISABLE),
            (radio::DISABLED, 0),
            (timer::TIMER3 + timer::cc(CC_STROBE), at),
            (ppi::CHENSET, 1),
        ] {
            self.chip.write(register, value);
        }
        let is_sent = self.off(at.wrapping_add(5 * MILLISECOND));
        self.chip.write(ppi::CHENCLR, 1);
        is_sent.then(|| Sent {
            ramp: i64::from(self.noted(CC_LEAVE).wrapping_sub(at)),
            end: self.noted(CC_END),
        })
    }

    /// Waits for a frame with a right check sequence.
    fn receive(&mut self, within: u32) -> Option<Got> {
        let deadline = self.now().wrapping_add(within);
        let shorts = short::RXREADY_START | short::PHYEND_DISABLE;
        self.chip.write(radio::SHORTS, shorts);
        loop {
            self.chip.write(radio::DISABLED, 0);
            self.chip.write(radio::RXEN, 1);
            if !self.off(deadline) {
                self.chip.write(radio::DISABLE, 1);
                let soon = self.now().wrapping_add(MILLISECOND);
                self.off(soon);
                return None;
            }
            if self.chip.read(radio::CRCSTATUS) & 1 == 0 {
                continue;
            }
            let end = self.noted(CC_END);
            let mut bytes = [0; ROOM];
            self.frame.read(&mut self.chip, 0, &mut bytes);
            return Some(Got {
                body: end.wrapping_sub(self.noted(CC_FRAME)),
                end,
                bytes,
            });
        }
    }

    /// Answers questions for ever.
    pub(super) fn answer(&mut self) -> ! {
        loop {
            let question = self.receive(1_000 * MILLISECOND);
            if let Some(question) = question.filter(|got| got.is(QUESTION)) {
                let at = question.end.wrapping_add(question.number(3));
                // One that was not sent is asked for again.
                let _sent = self.send(at, ANSWER, [question.body, 0]);
            }
        }
    }

    /// Asks for an answer `gap` ticks after the question.
    fn asked(&mut self, gap: u32) -> Option<(Sent, Got)> {
        let at = self.now().wrapping_add(MILLISECOND);
        let sent = self.send(at, QUESTION, [gap, 0])?;
        let got = self.receive(gap + 3 * MILLISECOND)?;
        got.is(ANSWER).then_some((sent, got))
    }
}

/// Asks the other board, and tells what came of it.
pub(super) fn ask(air: &mut Air, text: &mut Text) -> fmt::Result {
    if !(0..CALLS).any(|_| air.asked(LATE).is_some()) {
        return writeln!(text, "no other board answers");
    }
    // Less what is known of each: the gap, and the answer's time on the air.
    let mut rounds = [0_i64; MANY];
    let (mut came, mut last) = (0, None);
    for _ in 0..MANY {
        if let (Some((sent, got)), Some(place)) = (air.asked(SOON), rounds.get_mut(came)) {
            *place = i64::from(got.end.wrapping_sub(sent.end)) - i64::from(SOON) - FRAME;
            came += 1;
            last = Some((sent.ramp, got.body, got.number(3)));
        }
    }
    let rounds = rounds.get_mut(..came).unwrap_or_default();
    rounds.sort_unstable();
    let Some((&median, (ramp, here, there))) = rounds.get(came / 2).zip(last) else {
        return writeln!(text, "no answer of {MANY} came");
    };
    writeln!(text, "answers: {came} of {MANY}")?;
    writeln!(text, "FRAMESTART here: at the end of the {}", which(here))?;
    writeln!(text, "FRAMESTART there: at the end of the {}", which(there))?;
    writeln!(text, "ramp-up: {}", Us(ramp))?;
    writeln!(text, "air to event: {}", Us((median - ramp) / 2))?;
    let at = |part: usize| rounds.get(came * part / 100).copied().unwrap_or(median);
    let (low, high) = (at(0), rounds.last().copied().unwrap_or(median));
    let ticks_ns = |ticks: i64| ticks * 125 / 2;
    let (most, spread) = (ticks_ns(high - low), ticks_ns(at(99) - at(1)));
    writeln!(
        text,
        "jitter of two receptions: {most} ns, 98 of 100 within {spread} ns"
    )?;
    crystal(air, text, median)
}

/// Which byte FRAMESTART marks, `body` ticks before a frame's end.
fn which(body: u32) -> &'static str {
    match (i64::from(body) + BYTE / 2) / BYTE - BYTES as i64 {
        0 => "length",
        1 => "delimiter",
        _ => "neither",
    }
}

/// How much faster the other board's crystal is: its long gap is shorter by this one's clock.
fn crystal(air: &mut Air, text: &mut Text, median: i64) -> fmt::Result {
    let (mut sum, mut came) = (0, 0);
    for _ in 0..FEW {
        if let Some((sent, got)) = air.asked(LATE) {
            let took = i64::from(got.end.wrapping_sub(sent.end));
            sum += i64::from(LATE - SOON) - (took - i64::from(SOON) - FRAME - median);
            came += 1;
        }
    }
    if came == 0 {
        return writeln!(text, "crystal: no late answer came");
    }
    let hundredths = sum * 100_000_000 / (came * i64::from(LATE - SOON));
    let sign = if hundredths < 0 { "-" } else { "" };
    let (whole, part) = (
        hundredths.unsigned_abs() / 100,
        hundredths.unsigned_abs() % 100,
    );
    writeln!(text, "crystal there: {sign}{whole}.{part:02} ppm faster")
}
