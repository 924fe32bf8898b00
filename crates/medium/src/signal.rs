//! Frames on the air, and what a listening ear keeps of each frame on the air that it can hear: enough to tell later
//! what the frame did to a reception, without asking the transmission, which may be long gone.

use crate::links::Link;
use crate::random::{mix, nth, open_unit};
use crate::receiver::Fixed;
use crate::variation::Draws;
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
    pub(crate) tx: u64,
    /// Its sender.
    pub(crate) from: u32,
    /// On which channel.
    pub(crate) on: On,
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

/// A frame on the air.
#[derive(Debug)]
pub(crate) struct Transmission {
    /// Its place in the order of transmissions.
    pub(crate) number: u64,
    /// Of its random words.
    pub(crate) key: u64,
    pub(crate) from: EarId,
    pub(crate) channel: Channel,
    pub(crate) start: u64,
    pub(crate) air: u32,
    pub(crate) power: f64,
    pub(crate) content: u64,
    pub(crate) mpdu: Vec<u8>,
    pub(crate) locked: Vec<EarId>,
}

impl Transmission {
    /// When its last symbol has left the sender.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.air)
    }
}

/// The frame of `tx` at an ear tuned to `tuned`; `None` where it is too weak to matter.
// Inlined: handing the signal through memory costs more than computing it.
#[inline(always)]
pub(crate) fn arrive(
    draws: &Draws,
    ear: &Fixed,
    tuned: Channel,
    tx: &Transmission,
    link: &Link,
) -> Option<Signal> {
    // One random word for this transmission at this ear.
    let word = nth(tx.key, u64::from(link.to.0));
    let power = f64::from(link.gain_mw)
        * tx.power
        * draws.factor(word, tx.from, link.to, tx.channel)
        * ear.leak(tuned, tx.channel);
    (power >= ear.inaudible).then_some(Signal {
        tx: tx.number,
        from: tx.from.0,
        on: if tuned == tx.channel {
            On::Same
        } else {
            On::Other
        },
        content: tx.content,
        start: tx.start,
        air: tx.air,
        delay: link.delay_ns,
        erasure: link.erasure,
        power,
        word,
    })
}
