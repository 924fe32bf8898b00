//! The three schemes and their constants.

use super::Lpl;
use thalweg_engine::{Ability, Wants};
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

/// B-MAC as TinyOS 1.x has it on the CC1000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BMac {
    /// Backoffs in byte times.
    pub windows: Windows,
    /// Length of a preamble with its sync word: for so long before a frame's header ends, its
    /// receivers do not count down.
    pub preamble: Duration,
    /// Samples of the channel, none of which is clear before it counts as busy.
    pub looks: u8,
    /// From one of them to the next.
    pub between_looks: Duration,
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

/// The CC2420's stack of TinyOS 1.x (CC2420RadioM), times in jiffies of 1 / 32768 s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TinyOs {
    /// Backoffs.
    pub windows: Windows,
    /// The frame is flushed and copied to the radio again when the channel was busy so often.
    pub reload: u8,
    /// What a backoff waits for, beside a new draw, when a frame is received in it.
    pub heard: Duration,
    /// Of the microcontroller, before a packet's first backoff.
    pub task: Duration,
    /// What a retransmission waits for beside its backoff, drawn evenly: from so long to so long.
    pub again: (Duration, Duration),
}

/// A jiffy, in so many.
const fn jiffies(n: u64) -> Duration {
    Duration::from_nanos(n * 1_000_000_000 / 32_768)
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
    /// From this power on a sample of the channel says that somebody sends, where the scheme does not
    /// keep a noise floor of its own.
    pub carrier: Dbm,
    /// Low-power listening; none where the radio stays on, or is switched by the layer above.
    pub lpl: Option<Lpl>,
}

impl Config {
    /// B-MAC on the Mica2 (Fusion, section 2.3.3; TinyOS 1.x, CC1000RadioIntM): byte times of
    /// 416 us, initial window 32, congestion window 16, acknowledgement waited for 18 byte times,
    /// three retransmissions, five looks at the channel, a sample for the floor every 128 ms. Between
    /// two looks pass 25 periods of the converter's clock of 115.2 kHz, which is switched off after each
    /// (HPLADCM; ATmega128 data sheet, first conversion).
    pub const MICA2: Self = Self {
        scheme: Scheme::BMac(BMac {
            windows: Windows {
                unit: Duration::from_nanos(416_664),
                initial: 32,
                congestion: 16,
            },
            preamble: Duration::from_nanos(20 * 416_664),
            looks: 5,
            between_looks: Duration::from_micros(217),
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
    /// TinyOS 1.x on the CC2420 under RCRT's stack: windows of 16 and 64 units of 10 jiffies, acknowledgements
    /// waited for 75 jiffies, four retransmissions, each 5 to 36 ms later. 2.47 ms of tasks for a packet are fitted:
    /// one sender of 95-byte frames gets 95 of them across in a second (RCRT, section 4.2.2).
    pub const TINYOS_CC2420: Self = Self {
        scheme: Scheme::TinyOs(TinyOs {
            windows: Windows {
                unit: jiffies(10),
                initial: 16,
                congestion: 64,
            },
            reload: 8,
            heard: jiffies(75),
            task: Duration::from_micros(2470),
            again: (Duration::from_millis(5), Duration::from_millis(36)),
        }),
        ack_wait: jiffies(75),
        longest_frame: Duration::from_micros(4256),
        retries: 4,
        carrier: Dbm(-77.0),
        lpl: None,
    };

    /// What it wants of its radio.
    pub const fn wants(&self) -> Wants {
        use Ability::{Acknowledge, Cca, Load, Preamble, Sense, Stream};
        match (self.scheme, self.lpl) {
            (Scheme::BMac(_), None) => Wants::of(&[Acknowledge, Sense, Stream]),
            (Scheme::BMac(_), Some(_)) => Wants::of(&[Acknowledge, Preamble, Sense, Stream]),
            (Scheme::Unslotted(_), _) => Wants::of(&[Acknowledge, Cca, Stream]),
            (Scheme::TinyOs(_), _) => Wants::of(&[Acknowledge, Cca, Load]),
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
}
