//! What operations cost on a board: handed to engines at construction, charged by whoever answers.

use thalweg_units::Duration;

/// The costs of one board's radio path that engines plan with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardTiming {
    /// Between receiving and transmitting, either way, calibration and retuning included.
    pub turnaround: Duration,
    /// Software between the last byte received and the strobe that sends the answer, at its worst:
    /// interrupt latency, reading the rest of the buffer, deciding.
    pub forward_software: Duration,
    /// From an event at the radio to the engine's handler.
    pub event_latency: Duration,
    /// Fixed cost of copying a frame into a transmit buffer.
    pub load_base: Duration,
    /// Cost of each byte of it.
    pub load_byte: Duration,
    /// From sleep to a running receiver: oscillator start-up.
    pub wake: Duration,
}

impl BoardTiming {
    /// The gap that a relay needs between the last byte in and the first preamble symbol out, and
    /// equally between the last byte out and being ready to receive: the part of a pipeline cycle
    /// that is not air time (P3, section IV-G).
    pub const fn relay_gap(&self) -> Duration {
        Duration::from_nanos(self.turnaround.as_nanos() + self.forward_software.as_nanos())
    }

    /// An ideal board: everything but the standard's turnaround is free.
    pub const IDEAL: Self = Self {
        turnaround: Duration::from_micros(192),
        forward_software: Duration::ZERO,
        event_latency: Duration::ZERO,
        load_base: Duration::ZERO,
        load_byte: Duration::ZERO,
        wake: Duration::ZERO,
    };
}
