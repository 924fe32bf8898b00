//! The three schemes and their constants.

use super::Lpl;
use thalweg_engine::{Ability, BoardTiming, Wants};
use thalweg_units::{Dbm, Duration};

/// Backoffs of TinyOS 1.x, counted from one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Windows {
    /// What is counted.
    pub unit: Duration,
    /// Initial backoff: 1 to so many units.
    pub initial: u16,
    /// Backoff after a busy channel: 1 to so many units.
    pub congestion: u16,
}

impl Windows {
    const fn longer(self, factor: u16) -> Self {
        Self {
            unit: self.unit,
            initial: self.initial.saturating_mul(factor),
            congestion: self.congestion.saturating_mul(factor),
        }
    }
}

/// B-MAC as TinyOS 1.x has it on the CC1000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BMac {
    /// Backoffs in byte times.
    pub windows: Windows,
    /// Length of a preamble with its sync word: for so long before a frame's header ends, its
    /// receivers do not count down.
    pub preamble: Duration,
    /// Samples of the channel, none of which is clear before it counts as busy.
    pub samples: u8,
    /// From one of them to the next.
    pub between_samples: Duration,
    /// Between two samples for the noise floor.
    pub squelch: Duration,
}

/// Unslotted CSMA-CA (IEEE 802.15.4-2006, 7.5.1.4): 0 to 2^BE - 1 units; a channel that is busy
/// more often than `max_backoffs` times is a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unslotted {
    /// aUnitBackoffPeriod.
    pub unit: Duration,
    /// macMinBE.
    pub min_be: u8,
    /// macMaxBE.
    pub max_be: u8,
    /// macMaxCSMABackoffs.
    pub max_backoffs: u8,
}

/// A tick of the clock that TinyOS 1.x times the CC2420 with, a second / 32,768.
const JIFFY: Duration = Duration::from_nanos(30_518);

/// Who acknowledges frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledgement {
    /// The radio, in the form and after the gap that it gives acknowledgements.
    #[default]
    Hardware,
    /// Software: it reads the frame, copies the acknowledgement to the radio and sends it without a look at
    /// the channel. So it is where address recognition is off, as for overhearing.
    Software {
        /// Time to read a byte of a frame.
        byte: Duration,
    },
}

/// The stack of TinyOS 1.x on the CC2420 (CC2420RadioM), with retransmissions as RCRT's authors have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TinyOs {
    /// Backoffs.
    pub windows: Windows,
    /// The microcontroller's work on a packet, before its first backoff.
    pub tasks: Duration,
    /// A frame that comes in during a backoff puts it off by so much more than a new draw after a busy
    /// channel, to keep clear of the acknowledgement.
    pub clearance: Duration,
    /// After so many busy samples of the channel the frame is copied to the radio again.
    pub samples: u8,
    /// Least and greatest wait before the initial backoff of a retransmission.
    pub again: (Duration, Duration),
    /// Who acknowledges.
    pub acknowledgement: Acknowledgement,
}

/// A way to get at the channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    /// B-MAC.
    BMac(BMac),
    /// IEEE 802.15.4.
    Unslotted(Unslotted),
    /// TinyOS 1.x on the CC2420: an initial backoff before the frame is copied to the radio, then
    /// assessment by hardware, and a longer backoff as often as the channel is busy.
    TinyOs(TinyOs),
}

/// What a [`super::Mac`] needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// The scheme.
    pub scheme: Scheme,
    /// How long an acknowledgement is waited for, from the end of the frame.
    pub ack_wait: Duration,
    /// No reception lasts longer.
    pub longest_frame: Duration,
    /// Retransmissions of a frame that is not acknowledged.
    pub retries: u8,
    /// From this power on a sample of the channel means that a node sends, where the scheme does not
    /// keep a noise floor of its own.
    pub carrier: Dbm,
    /// Low-power listening; none where the radio stays on, or is switched by the layer above.
    pub lpl: Option<Lpl>,
}

impl Config {
    /// B-MAC on the Mica2 (Fusion, section 2.3.3; TinyOS 1.x, CC1000RadioIntM): byte times of
    /// 416 us, initial window 32, congestion window 16, acknowledgement waited for 18 byte times,
    /// three retransmissions, five samples of the channel, a sample for the floor every 128 ms. Between
    /// two samples pass 25 periods of the converter's clock of 115.2 kHz, which is switched off after each
    /// (HPLADCM; ATmega128 data sheet, first conversion).
    pub const MICA2: Self = Self {
        scheme: Scheme::BMac(BMac {
            windows: Windows {
                unit: Duration::from_nanos(416_664),
                initial: 32,
                congestion: 16,
            },
            preamble: Duration::from_nanos(20 * 416_664),
            samples: 5,
            between_samples: Duration::from_micros(217),
            squelch: Duration::from_millis(128),
        }),
        ack_wait: Duration::from_nanos(18 * 416_664),
        longest_frame: Duration::from_nanos(56 * 416_664),
        retries: 3,
        carrier: Dbm(-105.0),
        lpl: None,
    };
    /// The standard's defaults at 2.4 GHz: BE 3 to 5, four backoffs, macAckWaitDuration of 54
    /// symbols, three retransmissions.
    pub const IEEE_802_15_4: Self = Self {
        scheme: Scheme::Unslotted(Unslotted {
            unit: Duration::from_micros(320),
            min_be: 3,
            max_be: 5,
            max_backoffs: 4,
        }),
        ack_wait: Duration::from_micros(864),
        longest_frame: Duration::from_micros(4256),
        retries: 3,
        carrier: Dbm(-98.0),
        lpl: None,
    };
    /// TinyOS 1.x on the CC2420 (CC2420RadioM): windows of 16 and 64 units of ten jiffies (305 us), an
    /// acknowledgement waited for 75 jiffies (2.29 ms), a frame copied again after eight busy samples; four
    /// retransmissions, each after another 5 to 36 ms (the stack of RCRT's authors). The channel is sampled at in the
    /// chip's CCA mode 3 at -77 dBm, whose hysteresis of 2 dB is not modelled.
    ///
    /// `tasks` is fitted: with it, one sender on one hop gets 95 packets/s of 95 bytes through (RCRT, section 4.2).
    pub const TINYOS_CC2420: Self = Self {
        scheme: Scheme::TinyOs(TinyOs {
            windows: Windows {
                unit: Duration::from_nanos(10 * JIFFY.as_nanos()),
                initial: 16,
                congestion: 64,
            },
            tasks: Duration::from_micros(2_470),
            clearance: Duration::from_nanos(75 * JIFFY.as_nanos()),
            samples: 8,
            again: (Duration::from_millis(5), Duration::from_millis(36)),
            acknowledgement: Acknowledgement::Hardware,
        }),
        ack_wait: Duration::from_nanos(75 * JIFFY.as_nanos()),
        longest_frame: Duration::from_micros(4256),
        retries: 4,
        carrier: Dbm(-98.0),
        lpl: None,
    };

    pub(super) const fn acknowledgement(&self) -> Acknowledgement {
        match self.scheme {
            Scheme::TinyOs(t) => t.acknowledgement,
            Scheme::BMac(_) | Scheme::Unslotted(_) => Acknowledgement::Hardware,
        }
    }
    /// Work on a frame before its first backoff.
    pub(super) const fn tasks(&self) -> Duration {
        match self.scheme {
            Scheme::TinyOs(t) => t.tasks,
            Scheme::BMac(_) | Scheme::Unslotted(_) => Duration::ZERO,
        }
    }
    /// What it wants of its radio.
    pub const fn wants(&self) -> Wants {
        use Ability::{Acknowledge, Cca, Load, Preamble, Sense, Stream};
        match (self.scheme, self.lpl) {
            (Scheme::BMac(_), None) => Wants::of(&[Acknowledge, Sense, Stream]),
            (Scheme::BMac(_), Some(_)) => Wants::of(&[Acknowledge, Preamble, Sense, Stream]),
            (Scheme::Unslotted(_), _) => Wants::of(&[Acknowledge, Cca, Stream]),
            (Scheme::TinyOs(t), _) => match t.acknowledgement {
                Acknowledgement::Hardware => Wants::of(&[Acknowledge, Cca, Load]),
                Acknowledgement::Software { .. } => Wants::of(&[Cca, Load]),
            },
        }
    }

    /// The same with low-power listening every `interval` ([`Lpl::new`]), its preambles and what
    /// hangs on their length; none where hardware makes the preamble.
    pub fn with_lpl(self, interval: Duration) -> Option<Self> {
        let Scheme::BMac(b) = self.scheme else {
            return None;
        };
        let lpl = Lpl::new(interval, b.windows.unit, self.longest_frame);
        let unit = b.windows.unit;
        let longer = unit * u64::from(lpl.preamble_bytes);
        let sync_word = unit * 2;
        Some(Self {
            scheme: Scheme::BMac(BMac {
                preamble: longer + sync_word,
                ..b
            }),
            longest_frame: self.longest_frame + longer,
            lpl: Some(lpl),
            ..self
        })
    }

    /// The same with backoffs from windows of `factor` times as many units.
    pub const fn with_longer_backoffs(self, factor: u16) -> Self {
        let scheme = match self.scheme {
            Scheme::BMac(b) => Scheme::BMac(BMac {
                windows: b.windows.longer(factor),
                ..b
            }),
            Scheme::TinyOs(t) => Scheme::TinyOs(TinyOs {
                windows: t.windows.longer(factor),
                ..t
            }),
            Scheme::Unslotted(u) => Scheme::Unslotted(u),
        };
        Self { scheme, ..self }
    }

    /// The same with acknowledgements by software, on a board of such `timing`: waited for 150 jiffies
    /// (4.58 ms), with five retransmissions (the release of IFRC's authors). None for other schemes.
    pub const fn with_software_acks(self, timing: &BoardTiming) -> Option<Self> {
        let Scheme::TinyOs(t) = self.scheme else {
            return None;
        };
        let acknowledgement = Acknowledgement::Software {
            byte: timing.load_byte,
        };
        Some(Self {
            scheme: Scheme::TinyOs(TinyOs {
                acknowledgement,
                ..t
            }),
            ack_wait: Duration::from_nanos(150 * JIFFY.as_nanos()),
            retries: 5,
            ..self
        })
    }
}
