//! What a receiver is, apart from what it hears: its thresholds and leaks as plain factors, what it
//! synchronises on, and what its RSSI and LQI registers say. Tests: `tests/facts.rs`.

use crate::chip::Chip;
use crate::environment::Ear;
use crate::links::{Link, INAUDIBLE_FACTOR};
use crate::logarithm::Logarithm;
use crate::random::nth;
use crate::signal::{On, Signal, Transmission};
use crate::variation::Draws;
use thalweg_units::{Channel, Db, Dbm, SimTime};

/// What of an ear does not change, ready for use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixed {
    pub(crate) chip: &'static Chip,
    pub(crate) noise: f64,
    /// Noise that RSSI and CCA see.
    pub(crate) sensed_noise: f64,
    pub(crate) inaudible: f64,
    pub(crate) lock: f64,
    pub(crate) steal: f64,
    pub(crate) leak_above: f64,
    pub(crate) leak_below: f64,
    pub(crate) leak_far: f64,
    pub(crate) rssi_bias: f64,
}

impl Fixed {
    pub(crate) fn new(ear: &Ear) -> Self {
        let chip = ear.chip;
        let noise = ear.noise_floor.milliwatts().0;
        Self {
            chip,
            noise,
            sensed_noise: noise * (-chip.demodulator_loss).factor(),
            inaudible: noise * INAUDIBLE_FACTOR,
            lock: chip.lock_sinr.factor(),
            steal: chip.steal.factor(),
            leak_above: (-chip.adjacent.above).factor(),
            leak_below: (-chip.adjacent.below).factor(),
            leak_far: (-chip.adjacent.far).factor(),
            rssi_bias: ear.rssi_bias.0,
        }
    }
    /// Whether it could lock on what comes over `link` from who sends at most `power` milliwatts, with
    /// nothing else on the air.
    pub(crate) fn could_lock(&self, link: &Link, power: f64) -> bool {
        f64::from(link.gain_mw) * power >= self.lock * self.noise
    }
    /// What is left of a power on `channel` when tuned to `tuned`.
    #[inline]
    pub(crate) fn leak(&self, tuned: Channel, channel: Channel) -> f64 {
        let (tuned, channel) = (tuned.index(), channel.index());
        if tuned == channel {
            1.0
        } else if channel == tuned + 1 {
            self.leak_above
        } else if channel + 1 == tuned {
            self.leak_below
        } else {
            self.leak_far
        }
    }
}

/// Power of everything on the air at `at`.
pub(crate) fn power_at(signals: &[Signal], at: SimTime) -> f64 {
    signals
        .iter()
        .filter(|signal| signal.is_on_at(at))
        .map(|signal| signal.power)
        .sum()
}

/// Whether an idle receiver synchronises on `signal`, together with its synchronous copies.
pub(crate) fn can_lock(
    ear: &Fixed,
    signals: &[Signal],
    signal: &Signal,
    at: SimTime,
    burst: impl FnOnce() -> f64,
) -> bool {
    let (mut useful, mut rest) = (0.0, ear.noise);
    for other in signals.iter().filter(|other| other.is_on_at(at)) {
        if other.is_synchronous_with(signal) {
            useful += other.power;
        } else {
            rest += other.power;
        }
    }
    useful > ear.lock * rest && useful > ear.lock * (rest + burst())
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
        tx: tx.id,
        from: tx.from.0,
        on: if tuned == tx.channel {
            On::Same
        } else {
            On::Other
        },
        preamble: tx.preamble,
        content: tx.content,
        start: tx.start,
        air: tx.air,
        delay: link.delay_ns,
        erasure: link.erasure,
        power,
        word,
    })
}

/// What the RSSI register says of `power`, where `noise` is what it senses without and `bias` what it
/// is off by.
pub(crate) fn rssi(log: &Logarithm, step: Db, power: f64, noise: f64, bias: f64) -> Dbm {
    let level = log.decibels(power + noise) + bias;
    Dbm((level / step.0).round() * step.0)
}

/// The CC2420's mean correlation at the ratio `g`: about 80 where half of the long frames are lost, 106
/// and more from 5 dB above that on. `word` is random.
pub(crate) fn lqi(g: f64, word: u64) -> u8 {
    let jitter = f64::from((word >> 12) as u8 % 5) - 2.0;
    // 4.7 dB; spares most receptions the logarithm.
    let correlation = if g > 2.96 {
        106.0
    } else {
        (85.0 + 4.5 * Db::from_factor(g).0).min(106.0)
    };
    (correlation + jitter).clamp(50.0, 110.0) as u8
}
