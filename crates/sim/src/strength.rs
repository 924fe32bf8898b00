//! A radio's reading of signal strength, from the power that is there.
//!
//! Logarithms come of a table ([`Logarithm`]); what depends on power alone is kept for the
//! radio's next reading: carrier sense takes several, and mostly nothing changes between them. Tests: `tests/sensing.rs`.

use crate::board::Detector;
use thalweg_medium::chip::Chip;
use thalweg_medium::random::{normal_by, Stream};
use thalweg_medium::Logarithm;
use thalweg_units::{Dbm, MilliWatts};

/// What fluctuates in a radio's readings.
pub(crate) struct Fluctuation {
    draws: Stream,
    /// Of the detector, in milliwatts.
    noise: f64,
    /// How readings of the power that was read last are distributed: normal, in dBm.
    power: f64,
    mean: f64,
    sigma: f64,
}

impl Fluctuation {
    /// Of a radio with such a detector.
    pub(crate) fn new(detector: Option<Detector>, draws: Stream) -> Self {
        Self {
            draws,
            noise: detector.map_or(0.0, |detector| detector.noise.milliwatts().0),
            power: f64::NAN,
            mean: 0.0,
            sigma: 0.0,
        }
    }
}

/// A reading of `power`, noise included. Noise alone, averaged in decibels, fluctuates by 5.57 dB over
/// the root of its samples; a carrier of g times the noise makes that (1 + 2 g)^1/2 / (1 + g) as much.
/// Without a detector it is averaged over so many symbols that nothing fluctuates.
pub(crate) fn read(
    logarithm: &Logarithm,
    power: MilliWatts,
    chip: &Chip,
    detector: Option<&Detector>,
    fluctuation: &mut Fluctuation,
) -> Dbm {
    let Some(detector) = detector else {
        let step = chip.rssi_step.0;
        return Dbm((logarithm.decibels(power.0) / step).round() * step);
    };
    let law = fluctuation;
    if law.power != power.0 {
        let ratio = power.0 / law.noise;
        law.power = power.0;
        law.mean = detector.noise.0 + logarithm.decibels(1.0 + ratio);
        law.sigma = 5.57 * ((1.0 + 2.0 * ratio) / detector.samples).sqrt() / (1.0 + ratio);
    }
    let reading = law.mean + law.sigma * normal_by(logarithm, &mut law.draws);
    Dbm(floor(reading / detector.step.0 + 0.5) * detector.step.0)
}

/// The whole number below `x`, of which a register has room for: a library's takes any.
fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    whole - f64::from(u8::from(whole > x))
}
