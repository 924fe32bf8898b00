//! What operations cost on a board: given to engines at construction, charged by the host.
//!
//! Besides the costs, what follows from them for nodes that take turns: [`Relaying`], in closed form.
//! Lengths of time are of true time. Does not model costs that vary. Tests: `timing_tests.rs`.

use crate::radio::Condition;
use thalweg_units::Duration;
use thalweg_wire::phy::{air_time, SYMBOL};

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
    /// Between the end of a transmission, or retuning, and a receiver that is on, where that is not
    /// [`BoardTiming::turnaround`].
    pub to_receive: Duration,
    /// What its software costs beyond that, and what may overlap.
    pub software: Software,
}

/// Who moves frames between the microcontroller and its radios' buffers, and what that keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// Interrupt code that copies while the radio calibrates and sends, as Glossy's does: a `Load`
    /// takes the bus for what [`BoardTiming`] says, and everything else is in its `event_latency`
    /// and `forward_software`. Receptions are handed over whole at their interrupt.
    Overlapped,
    /// A driver for which nothing but copying a frame takes time: what an operation brings about, or
    /// an event at the radio, is there at once. Carrier-sense stacks are modelled so.
    Prompt,
    /// An operating system's driver: one thing at a time, interrupt handlers before tasks, each
    /// for what [`Costs`] says; the radio may be on the air meanwhile.
    Serial(Costs),
}

impl Software {
    /// What it costs; nothing where it overlaps, or is prompt.
    pub const fn costs(&self) -> Costs {
        match self {
            Self::Overlapped | Self::Prompt => Costs::NOTHING,
            Self::Serial(costs) => *costs,
        }
    }
    /// Whether it does one thing at a time.
    pub const fn is_serial(&self) -> bool {
        matches!(self, Self::Serial(_))
    }
}

/// Whether a frame that waits for a condition is copied into the radio's buffer beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreCopy {
    /// It waits in the radio.
    Yes,
    /// The driver keeps frames in its own memory and copies when it sends.
    No,
}

/// What software costs: time of the microcontroller, and of the bus where data moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Telling the radio to send, per frame.
    pub strobe: Duration,
    /// Fixed part of reading a frame out of the receive buffer. Takes the bus.
    pub read_base: Duration,
    /// Cost of each byte of it. Takes the bus.
    pub read_byte: Duration,
    /// Operating system: per reception handed to an engine, and per time-out.
    pub os: Duration,
    /// Reading the bytes of a reception that say whose it is, at most [`Condition::MAX_BYTES`], and
    /// deciding: for a conditional transmission, or where no more is read. Takes the bus.
    pub condition: Duration,
    /// Changing the channel, besides the turnaround. Takes the bus.
    pub retune: Duration,
    /// For how long the receiver must have been on before clear channel assessment means anything.
    pub cca_settle: Duration,
    /// Bytes of the receive buffer; a frame takes its length, its bytes and its check sequence.
    pub rx_fifo_bytes: u32,
    /// Whether conditional transmissions are copied ahead.
    pub precopy: PreCopy,
    /// For how long at a time a task runs with interrupts off; an interrupt handler waits so long at
    /// most.
    pub atomic: Duration,
    /// What it takes to leave background work for an interrupt handler or a task; nothing where the
    /// board does none.
    pub switch: Duration,
}

impl Costs {
    /// Nothing costs anything, and the receive buffer never overflows.
    pub const NOTHING: Self = Self {
        strobe: Duration::ZERO,
        read_base: Duration::ZERO,
        read_byte: Duration::ZERO,
        os: Duration::ZERO,
        condition: Duration::ZERO,
        retune: Duration::ZERO,
        cca_settle: Duration::ZERO,
        rx_fifo_bytes: u32::MAX,
        precopy: PreCopy::Yes,
        atomic: Duration::ZERO,
        switch: Duration::ZERO,
    };

    /// Reading the first `bytes` of a frame of `of` out of the receive buffer, the rest being
    /// flushed. A few cost no more than a condition's: it is the same reading.
    pub fn read(&self, bytes: usize, of: usize) -> Duration {
        let copied = self.read_base + self.read_byte * bytes as u64;
        match bytes {
            0 => Duration::ZERO,
            few if few < of && few <= Condition::MAX_BYTES => copied.min(self.condition),
            _ => copied,
        }
    }
}

/// How a relay passes packets on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Passing {
    /// Each is read, written and sent before the next comes in.
    #[default]
    Copied,
    /// Each waits in the transmit buffer and goes out when the next has come in (conditional
    /// immediate transmission, CIT, section 4).
    Conditional,
}

/// The pauses between a relay's frames of one length, as [`BoardTiming::relaying`] finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relaying {
    /// From the last byte in to the first preamble symbol out that it leads to.
    pub forth: Duration,
    /// From the last byte out to the first preamble symbol that comes in next.
    pub back: Duration,
    /// Between two frames of a node that sends and does not relay, to one that only receives.
    pub alone: Duration,
}

impl Relaying {
    /// From one frame of `mpdu_bytes` that a relay passes on to the next.
    pub fn period(&self, mpdu_bytes: usize) -> Duration {
        air_time(mpdu_bytes) * 2 + self.forth + self.back
    }
}

impl BoardTiming {
    /// The gap that a relay needs between the last byte in and the first preamble symbol out, and
    /// equally between the last byte out and being ready to receive: the part of a pipeline cycle
    /// that is not air time (P3, section IV-G).
    pub const fn relay_gap(&self) -> Duration {
        Duration::from_nanos(self.turnaround.as_nanos() + self.forward_software.as_nanos())
    }

    /// What a serial board's clocks, which count the pauses, may be off by.
    pub const GUARD: Duration = SYMBOL;

    /// The pauses between frames of `mpdu_bytes` at a relay, and so the slots of a schedule.
    ///
    /// Where copies overlap with the air, all are [`BoardTiming::relay_gap`]. Where software does
    /// one thing at a time, with I interrupt entry, R read, S system, W write, X strobe, C channel
    /// change, J condition, t turnaround, t' the way back to receiving, A air and G the guard:
    ///
    /// I includes the longest stretch with interrupts off, and leaving background work, where there are
    /// any; so does the way back.
    ///
    /// * copied: forth = I + R + S + W + C + X + t + G, back = C + t';
    /// * conditional: forth = I + J + C + X + t + G, and back is C + t' or as much more as it takes
    ///   until the packet is read and, once the buffer is free, written: 2 A + forth + back is at
    ///   least the larger of I + J + R + S + 2 C + X and forth + A + C, and W;
    /// * alone: the larger of I + W + 2 C + X + t + G and I + R + S - A.
    #[inline] // A flood's relay asks within its gap.
    pub fn relaying(&self, mpdu_bytes: usize, passing: Passing) -> Relaying {
        match &self.software {
            Software::Serial(costs) => self.relaying_one_by_one(costs, mpdu_bytes, passing),
            Software::Overlapped | Software::Prompt => {
                let gap = self.relay_gap();
                Relaying {
                    forth: gap,
                    back: gap,
                    alone: gap,
                }
            }
        }
    }
    fn relaying_one_by_one(&self, costs: &Costs, mpdu_bytes: usize, passing: Passing) -> Relaying {
        let (air, bytes) = (air_time(mpdu_bytes), mpdu_bytes as u64);
        let write = self.load_base + self.load_byte * bytes;
        let read = costs.read_base + costs.read_byte * bytes + costs.os;
        let strobe = costs.retune + costs.strobe;
        let on = self.turnaround + Self::GUARD;
        let waits = costs.atomic + costs.switch;
        let entry = self.event_latency + waits;
        let alone = entry + write + strobe + costs.retune + on;
        let alone = alone.max((entry + read).saturating_sub(air));
        let back = waits + costs.retune + self.to_receive;
        let copied = entry + read + write + strobe + on;
        match (passing, costs.precopy) {
            (Passing::Copied, _) => Relaying {
                forth: copied,
                back,
                alone,
            },
            // Slower by the condition, which saves nothing.
            (Passing::Conditional, PreCopy::No) => Relaying {
                forth: copied + costs.condition,
                back,
                alone,
            },
            (Passing::Conditional, PreCopy::Yes) => {
                let judged = entry + costs.condition + strobe;
                let forth = judged + on;
                let free = (judged + read).max(forth + air) + waits + costs.retune;
                let busy = (free + write + Self::GUARD).max(air + alone);
                Relaying {
                    forth,
                    back: back.max(busy.saturating_sub(air * 2 + forth)),
                    alone,
                }
            }
        }
    }

    /// An ideal board: everything but the standard's turnaround is free.
    pub const IDEAL: Self = Self {
        turnaround: Duration::from_micros(192),
        forward_software: Duration::ZERO,
        event_latency: Duration::ZERO,
        load_base: Duration::ZERO,
        load_byte: Duration::ZERO,
        wake: Duration::ZERO,
        to_receive: Duration::from_micros(192),
        software: Software::Overlapped,
    };
}

#[cfg(test)]
#[path = "timing_tests.rs"]
mod tests;
