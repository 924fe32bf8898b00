//! The constants of a receiver: its thresholds and leaks as plain factors, what it
//! synchronises on, and what its RSSI and LQI registers say. Tests: `tests/all/facts.rs`, `receiver_tests.rs`.

use crate::chip::Chip;
use crate::draws::Draws;
use crate::drift::Held;
use crate::environment::Ear;
use crate::links::{Link, INAUDIBLE_FACTOR};
use crate::logarithm::Logarithm;
use crate::modem::{CHIPS_PER_SYMBOL, ES_OVER_N0};
use crate::random::{nth, open_unit};
use crate::signal::{On, Signal, Transmission};
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
    /// Whether it could lock on a sender of at most `power` milliwatts over `link`, with nothing else on
    /// the air.
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

/// The frame of `tx` over `link`, of which something is `held`, at an ear tuned to `tuned`; `None` where it is too weak
/// to matter.
// Inlined: handing the signal through memory costs more than computing it.
#[inline(always)]
pub(crate) fn arrive(
    draws: &mut Draws,
    ear: &Fixed,
    tuned: Channel,
    tx: &Transmission,
    (link, held): (&Link, &mut Held),
) -> Option<Signal> {
    // One random word for this transmission at this ear.
    let word = nth(tx.key, u64::from(link.to.0));
    let power = f64::from(link.gain_mw)
        * tx.power
        * draws.factor(held, (tx.start, word), tx.from, link.to, tx.channel)
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

/// Symbols that the LQI register looks at: those after the SFD (SWRS041, "Link Quality Indication").
const LQI_SYMBOLS: u32 = 8;
/// Chips of them.
const LQI_CHIPS: u32 = LQI_SYMBOLS * CHIPS_PER_SYMBOL;
/// What the register says at best and at least (SWRS041: "around 110" and "around 50").
const LQI_BEST: f64 = 110.0;
const LQI_LEAST: f64 = 50.0;
/// Wrong chips of a symbol with which it says the least. Of 32 random chips 16 agree with a codeword, with a
/// deviation of 8^1/2; the best of 16 codewords is 1.77 deviations above that: 21 agree, 11 do not.
const LQI_NOISE_CHIPS: u32 = 11;
/// From this ratio (12 dB) on, one reception in 1000 has a wrong chip among those.
const LQI_FLAWLESS: f64 = 16.0;

/// The CC2420's LQI, the mean correlation of the eight symbols after the SFD (SWRS041), at the linear ratio `g` of
/// [`Demodulator::ratio`], interference included. `word` is the reception's random word.
///
/// The modem's Es/N0 is 20 `g` (IEEE 802.15.4-2006, Annex E), over 32 chips: a chip of half-sine pulses is wrong with
/// probability p = erfc((20 g / 32)^1/2) / 2. Of 256 chips k are wrong, a binomial draw of p. The register falls
/// linearly from 110 with k = 0 to 50 with k = 88, where chips agree no better than noise does. About 80 where half
/// of the long frames are lost, 105 from 4.7 dB on, one unit to 1.5 wrong chips. Not modelled: that frames with good
/// chips are likelier to arrive.
pub(crate) fn lqi(g: f64, word: u64) -> u8 {
    if g >= LQI_FLAWLESS {
        return LQI_BEST as u8;
    }
    let p = 0.5 * libm::erfc((g.max(0.0) * ES_OVER_N0 / f64::from(CHIPS_PER_SYMBOL)).sqrt());
    // The word decided on the reception as well: what is drawn here has to be another.
    let wrong = binomial(LQI_CHIPS, p, open_unit(nth(word, u64::from(LQI_CHIPS))));
    let per_chip = (LQI_BEST - LQI_LEAST) / f64::from(LQI_SYMBOLS * LQI_NOISE_CHIPS);
    let correlation = LQI_BEST - per_chip * f64::from(wrong);
    correlation.round().clamp(LQI_LEAST, LQI_BEST) as u8
}

/// How many of `n` come out at probability `p` of at most 1/2, where `u` is uniform: the distribution turned round.
fn binomial(n: u32, p: f64, u: f64) -> u32 {
    let odds = p / (1.0 - p);
    let mut mass = libm::exp(f64::from(n) * libm::log1p(-p));
    let mut rest = u;
    for k in 0..n {
        rest -= mass;
        if rest <= 0.0 {
            return k;
        }
        mass *= odds * f64::from(n - k) / f64::from(k + 1);
    }
    n
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
