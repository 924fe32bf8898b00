//! A line to a host: UARTE0 with DMA both ways, 1 Mbaud.
//!
//! Bytes come into two buffers by turns, which hardware changes by itself (ENDRX to STARTRX); TIMER1 counts them over
//! PPI 5. So a handler that takes its time loses none: within a buffer's time, 1.28 ms, one has to say where the next but
//! one goes. Invariant: a byte is handed out once, in order; where they came faster than they were read, that is counted.

use crate::dma::Region;
use crate::registers::{gpio, ppi, timer, uarte};
use crate::Registers;

/// Bytes of each receive buffer.
const HALF: u32 = 128;
/// Bytes of the transmit buffer.
const TX: u32 = 256;
/// The PPI channel that counts.
const PPI_COUNT: u32 = 5;
/// BAUDRATE's code of 1 Mbaud (UARTE 6.34.9).
const MEGABAUD: u32 = 0x1000_0000;

/// Which pins the line has: number of port and pin as PSEL has it, port times 32 plus pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pins {
    /// To the host.
    pub txd: u8,
    /// From the host.
    pub rxd: u8,
}

impl Pins {
    /// Of Nordic's development kit, to the serial port of its debugger: P0.06 and P0.08.
    pub const DEVELOPMENT_KIT: Self = Self { txd: 6, rxd: 8 };
    /// Of Nordic's dongle, at its edge: P0.20 and P0.24, as Zephyr has them. P0.06 and P0.08 are lamps there.
    pub const DONGLE: Self = Self { txd: 20, rxd: 24 };
    /// Of Adafruit's Feather nRF52840 Express, marked TX and RX: P0.25 and P0.24, as RIOT has them.
    pub const FEATHER: Self = Self { txd: 25, rxd: 24 };
    /// Of Seeed's XIAO nRF52840, marked D6 and D7: P1.11 and P1.12, as Zephyr has them.
    pub const XIAO: Self = Self { txd: 43, rxd: 44 };
}

/// Whether something is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Nothing,
    Something,
}

/// What is sent has not gone out yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// The line.
#[derive(Debug)]
pub struct Uart {
    rx: [Region; 2],
    tx: Region,
    sending: Sending,
    /// Buffers that were begun.
    begun: u32,
    /// Bytes that were handed out.
    taken: u32,
    lost: u32,
}

impl Uart {
    /// Bytes of RAM that it needs for its DMA.
    pub const DMA_BYTES: u32 = 2 * HALF + TX;

    /// Starts the line, with its bytes in `memory`; none where that is shorter than [`Self::DMA_BYTES`].
    pub fn start(r: &mut impl Registers, pins: Pins, memory: Region) -> Option<Self> {
        let (first, rest) = memory.split(HALF / 4)?;
        let (second, rest) = rest.split(HALF / 4)?;
        let (tx, _) = rest.split(TX / 4)?;
        let counter = timer::TIMER1;
        for (at, value) in [
            (counter + timer::MODE, 2),
            (counter + timer::BITMODE, 3),
            (counter + timer::CLEAR, 1),
            (counter + timer::START, 1),
            (ppi::event(PPI_COUNT), uarte::RXDRDY),
            (ppi::task(PPI_COUNT), counter + timer::COUNT),
            (ppi::CHENSET, 1 << PPI_COUNT),
            // Nobody's line stays idle, which is high.
            (gpio::pin_cnf(pins.rxd), gpio::PULL_UP),
            (uarte::PSEL_TXD, u32::from(pins.txd)),
            (uarte::PSEL_RXD, u32::from(pins.rxd)),
            (uarte::BAUDRATE, MEGABAUD),
            (uarte::ENABLE, 8),
            (uarte::RXD_PTR, first.address()),
            (uarte::RXD_MAXCNT, HALF),
            (uarte::SHORTS, uarte::ENDRX_STARTRX),
            (uarte::INTENSET, uarte::INT_ENDTX | uarte::INT_RXSTARTED),
            (uarte::STARTRX, 1),
        ] {
            r.write(at, value);
        }
        Some(Self {
            rx: [first, second],
            tx,
            sending: Sending::Nothing,
            begun: 0,
            taken: 0,
            lost: 0,
        })
    }

    /// An interrupt of UARTE0.
    pub fn interrupt(&mut self, r: &mut impl Registers) {
        if r.read(uarte::RXSTARTED) != 0 {
            r.write(uarte::RXSTARTED, 0);
            // The pointer was taken over: it is the next buffer's turn (double buffering, UARTE 6.34.2).
            self.begun = self.begun.wrapping_add(1);
            let [even, odd] = self.rx;
            let next = match self.begun % 2 {
                0 => even,
                _ => odd,
            };
            r.write(uarte::RXD_PTR, next.address());
        }
        if r.read(uarte::ENDTX) != 0 {
            r.write(uarte::ENDTX, 0);
            self.sending = Sending::Nothing;
        }
    }

    /// Takes what came in; says how many bytes.
    pub fn read(&mut self, r: &mut impl Registers, into: &mut [u8]) -> usize {
        r.write(timer::TIMER1 + timer::capture(0), 1);
        let came = r.read(timer::TIMER1 + timer::cc(0));
        let waiting = came.wrapping_sub(self.taken);
        if waiting > 2 * HALF {
            // Both buffers were written over: what is left is the one before the last.
            let lost = waiting - HALF;
            self.lost = self.lost.saturating_add(lost);
            self.taken = self.taken.wrapping_add(lost);
        }
        let waiting = came.wrapping_sub(self.taken) as usize;
        let mut taken = 0;
        for place in into.iter_mut().take(waiting) {
            let at = self.taken % (2 * HALF);
            let [even, odd] = self.rx;
            *place = match at < HALF {
                true => even.byte(r, at),
                false => odd.byte(r, at - HALF),
            };
            self.taken = self.taken.wrapping_add(1);
            taken += 1;
        }
        taken
    }

    /// Whether what was sent has gone out.
    pub fn is_free(&self) -> bool {
        self.sending == Sending::Nothing
    }

    /// Sends what fits of `bytes`, 256 at most; says how many.
    ///
    /// # Errors
    /// [`Busy`] until what was sent before has gone out.
    pub fn send(&mut self, r: &mut impl Registers, bytes: &[u8]) -> Result<usize, Busy> {
        if self.sending == Sending::Something {
            return Err(Busy);
        }
        let bytes = bytes.get(..TX as usize).unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(0);
        }
        self.tx.write(r, 0, bytes);
        self.sending = Sending::Something;
        r.write(uarte::TXD_PTR, self.tx.address());
        r.write(uarte::TXD_MAXCNT, bytes.len() as u32);
        r.write(uarte::STARTTX, 1);
        Ok(bytes.len())
    }

    /// Bytes of the host's that were written over before they were read.
    pub const fn lost(&self) -> u32 {
        self.lost
    }
}
