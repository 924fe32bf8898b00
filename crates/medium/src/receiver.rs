//! What a receiver is, apart from what it hears: its thresholds and leaks as plain factors, what it
//! synchronises on, and what its RSSI and LQI registers say. Tests: `tests/facts.rs`.

use crate::chip::Chip;
use crate::environment::Ear;
use crate::links::INAUDIBLE_FACTOR;
use crate::modem::Demodulator;
use crate::reception::Heard;
use crate::signal::Signal;
use core::f64::consts::LN_10;
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

/// What the RSSI register says of `power`.
pub(crate) fn rssi(ear: &Fixed, power: f64) -> Dbm {
    let step = ear.chip.rssi_step.0;
    // The natural logarithm is the quicker one.
    let level = libm::log(power + ear.sensed_noise) * (10.0 / LN_10) + ear.rssi_bias;
    Dbm((level / step).round() * step)
}

/// The CC2420's mean correlation: about 80 where half of the long frames are lost, 106 and more
/// from 5 dB above that on.
pub(crate) fn lqi(ear: &Fixed, heard: &Heard, word: u64) -> u8 {
    let g = Demodulator::ratio(ear.chip.modem, heard.power, ear.noise, heard.interference);
    let jitter = f64::from((word >> 12) as u8 % 5) - 2.0;
    // 4.7 dB; spares most receptions the logarithm.
    let correlation = if g > 2.96 {
        106.0
    } else {
        (85.0 + 4.5 * Db::from_factor(g).0).min(106.0)
    };
    (correlation + jitter).clamp(50.0, 110.0) as u8
}
