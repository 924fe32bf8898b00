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

/// Chips of the 8 symbols after the SFD, which the CC2420 correlates (SWRS041, "Link quality indication").
const CHIPS: u32 = 256;
/// Above this ratio (12 dB) a wrong chip among them is rarer than one frame in a thousand.
const NO_WRONG_CHIP: f64 = 16.0;
/// The register at no wrong chip and at the worst (SWRS041: "around 110" and "around 50").
const BEST_LQI: f64 = 110.0;
const WORST_LQI: f64 = 50.0;
/// Wrong chips of a symbol at the worst: the nearest of 16 code words to 32 random chips differs in 11.
const WORST_SYMBOL: f64 = 11.0;

/// The CC2420's mean correlation at the ratio `g`; `word` is random.
///
/// The modem detects one of 16 orthogonal symbols of energy 20 g N0 (Annex E), 32 chips each, so that a chip is
/// wrong with Q(sqrt(2 * 20 g / 32)). Wrong chips of 8 symbols are a binomial draw: .16 of the chips and a
/// register of 82 +- 4 where half of the long frames are lost, 105 +- 1.7 at 4.7 dB.
pub(crate) fn lqi(g: f64, word: u64) -> u8 {
    if g > NO_WRONG_CHIP {
        return BEST_LQI as u8;
    }
    let wrong = 0.5 * libm::erfc((20.0 / 32.0 * g).sqrt());
    let wrong = f64::from(binomial(CHIPS, wrong, word));
    let per_symbol = 32.0 * wrong / f64::from(CHIPS);
    let lqi = BEST_LQI - (BEST_LQI - WORST_LQI) * per_symbol / WORST_SYMBOL;
    lqi.clamp(WORST_LQI, BEST_LQI) as u8
}

/// How many of `n` come true, each with probability `p` of up to a half; `word` is random.
fn binomial(n: u32, p: f64, word: u64) -> u32 {
    let mut left = (word >> 11) as f64 / (1u64 << 53) as f64;
    let odds = p / (1.0 - p);
    let mut mass = libm::pow(1.0 - p, f64::from(n));
    for k in 0..n {
        left -= mass;
        if left < 0.0 {
            return k;
        }
        mass *= odds * f64::from(n - k) / f64::from(k + 1);
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::nth;

    #[test]
    fn link_quality_is_a_noisy_sample_of_chip_errors() {
        let register = |db: f64| {
            let g = Db(db).factor();
            let drawn: Vec<f64> = (0..4000).map(|k| f64::from(lqi(g, nth(7, k)))).collect();
            let mean = drawn.iter().sum::<f64>() / 4000.0;
            let square: f64 = drawn.iter().map(|l| (l - mean) * (l - mean)).sum();
            (mean, (square / 4000.0).sqrt())
        };
        // Half of the long frames are lost at -1 dB.
        let near = |db: f64, mean: f64, spread: f64| {
            let (m, s) = register(db);
            assert!(
                (m - mean).abs() < 1.0 && (s - spread).abs() < 0.4,
                "{db}: {m} {s}"
            );
        };
        near(-1.0, 81.6, 4.0);
        near(4.7, 104.9, 1.8);
        assert_eq!(register(14.0), (110.0, 0.0));
        assert_eq!(register(-60.0).0, 50.0);
    }
}
