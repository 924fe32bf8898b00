//! What a listening ear keeps of each frame on the air that it can hear: enough to tell later
//! what the frame did to a reception, without asking the transmission, which may be long gone.

use crate::random::{mix, open_unit};
use thalweg_units::SimTime;

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

/// A frame on the air, at one ear.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    /// The transmission.
    pub(crate) tx: u64,
    /// Its sender.
    pub(crate) from: u32,
    /// On which channel.
    pub(crate) on: On,
    /// Hash of its bytes.
    pub(crate) content: u64,
    /// First preamble symbol leaves the sender, in nanoseconds.
    pub(crate) start: u64,
    /// Last symbol has left the sender.
    pub(crate) end: u64,
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
        self.start <= at.as_nanos() && at.as_nanos() < self.end
    }
    /// The hazard up to which this ear gets this frame right: exponential with mean one.
    pub(crate) fn endurance(&self) -> f64 {
        -libm::log(open_unit(mix(self.word ^ 0x5851_f42d_4c95_7f2d)))
    }
    /// A fraction of a turn: the carrier's random phase.
    #[inline]
    pub(crate) fn phase(&self) -> f64 {
        (self.word >> 32) as f64 * (1.0 / 4_294_967_296.0)
    }
}
