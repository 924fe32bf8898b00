//! Frames on the air, and what a listening ear keeps of each frame that it can hear: enough to work out later what the
//! frame did to a reception, when the transmission itself may be long gone.

use crate::air::FrameId;
use crate::cause::Cause;
use crate::chip::{Chip, Phy};
use crate::random::{mix, open_unit};
use crate::EarId;
use thalweg_units::{Channel, SimTime};

/// Frames with the same content that begin within this of each other are one synchronous frame to
/// a receiver: two chip times; beyond one chip from their common centre they are interference
/// again, so that nothing jumps here.
pub(crate) const SYNCHRONOUS_WITHIN_NS: f64 = 1_000.0;

/// On which channel a signal is, seen from the ear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// The one that it listens to.
    Same,
    /// Another.
    Other,
}

/// A frame on the air, at one ear: 64 bytes, since everybody in reach keeps one of each frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    /// The transmission.
    pub(crate) tx: FrameId,
    /// Its sender.
    pub(crate) from: u32,
    /// On which channel.
    pub(crate) on: On,
    /// Its preamble, in bytes.
    pub(crate) preamble: u16,
    /// Hash of its bytes.
    pub(crate) content: u64,
    /// First preamble symbol leaves the sender, in nanoseconds.
    pub(crate) start: u64,
    /// From then until the last symbol has left the sender, in nanoseconds.
    pub(crate) air: u32,
    /// Propagation delay in nanoseconds.
    pub(crate) delay: f32,
    /// Hazard per symbol whatever the power.
    pub(crate) erasure: f32,
    /// Received power in milliwatts, what other channels suppress taken off.
    pub(crate) power: f64,
    /// The random word of this transmission at this ear.
    pub(crate) word: u64,
}

impl Signal {
    /// By how many nanoseconds it arrives later than `reference`.
    #[inline]
    pub(crate) fn after(&self, reference: &Self) -> f64 {
        (self.start as i64 - reference.start as i64) as f64
            + (f64::from(self.delay) - f64::from(reference.delay))
    }
    /// Whether it is the same frame as `other`, sent synchronously.
    #[inline]
    pub(crate) fn is_synchronous_with(&self, other: &Self) -> bool {
        self.content == other.content
            && self.on == On::Same
            && self.after(other).abs() < SYNCHRONOUS_WITHIN_NS
    }
    #[inline]
    pub(crate) fn is_on_at(&self, at: SimTime) -> bool {
        self.start <= at.as_nanos() && at.as_nanos() < self.end()
    }
    /// Last symbol has left the sender.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.air)
    }
    /// Its symbols, preamble and check sequence among them.
    pub(crate) const fn symbols(&self, phy: &Phy) -> u32 {
        (self.air as u64 / phy.symbol.as_nanos()) as u32
    }
    /// The hazard that this ear survives for this frame, drawn from an exponential distribution with mean one.
    pub(crate) fn endurance(&self) -> f64 {
        -libm::log(open_unit(mix(self.word ^ 0x5851_f42d_4c95_7f2d)))
    }
    /// A fraction of a turn: the carrier's random phase.
    #[inline]
    pub(crate) fn phase(&self) -> f64 {
        (self.word >> 32) as f64 * (1.0 / 4_294_967_296.0)
    }
}

/// A frame on the air.
#[derive(Debug)]
pub(crate) struct Transmission {
    /// Its place in the order of transmissions, and where it is kept.
    pub(crate) id: FrameId,
    /// Of its random words.
    pub(crate) key: u64,
    pub(crate) from: EarId,
    pub(crate) channel: Channel,
    pub(crate) start: u64,
    pub(crate) air: u32,
    pub(crate) preamble: u16,
    /// Only its addressee can lock on it.
    pub(crate) expected: bool,
    /// Nominal, in milliwatts.
    pub(crate) power: f64,
    pub(crate) content: u64,
    pub(crate) locked: Vec<EarId>,
    /// Its addressee, where that is one ear.
    pub(crate) to: Option<EarId>,
    /// Why that ear will not get it, as far as is known.
    pub(crate) missed: Option<Cause>,
}

impl Transmission {
    /// When its last symbol has left the sender.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.air)
    }
    /// When its preamble ends.
    pub(crate) const fn preamble_end(&self, chip: &Chip) -> u64 {
        let symbols = chip.phy.symbols_per_byte * self.preamble as u32;
        self.start + chip.phy.symbol.as_nanos() * symbols as u64
    }
    /// Whether a receiver of `chip` that looks at `at` still finds its preamble.
    pub(crate) fn is_findable(&self, at: SimTime, chip: &Chip) -> bool {
        let findable = chip.phy.with_preamble(self.preamble).findable();
        !self.expected && at.as_nanos() <= self.start + findable.as_nanos()
    }
    /// Whether its preamble is longer than it must be. Such a one is there to be found late: that it
    /// was not found at its beginning explains no loss.
    pub(crate) const fn is_long(&self, chip: &Chip) -> bool {
        self.preamble as u32 > chip.phy.preamble_bytes
    }
}
