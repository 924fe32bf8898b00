//! What a radio says of signal strength, of the power that is there.
//!
//! Logarithms come of a table ([`Logarithm`]); what depends on power alone is kept for the next
//! reading, as carrier sense takes several at one instant. Tests: `tests/sensing.rs`.

use crate::board::Detector;
use thalweg_medium::chip::Chip;
use thalweg_medium::random::{normal_by, Stream};
use thalweg_medium::Logarithm;
use thalweg_units::{Dbm, MilliWatts};

/// How readings of one power are distributed: normal, in dBm.
#[derive(Clone, Copy)]
struct Law {
    power: f64,
    mean: f64,
    sigma: f64,
}

/// The register of signal strength. All radios of a network share what it keeps.
pub(crate) struct Strength {
    logarithm: Logarithm,
    /// The detector that was read last, and its noise in milliwatts.
    detector: Option<(Detector, f64)>,
    last: Law,
}

const NO_LAW: Law = Law {
    power: f64::NAN,
    mean: 0.0,
    sigma: 0.0,
};

impl Strength {
    pub(crate) fn new() -> Self {
        Self {
            logarithm: Logarithm::default(),
            detector: None,
            last: NO_LAW,
        }
    }

    /// A reading of `power`, noise included. Noise alone, averaged in decibels, fluctuates by 5.57 dB
    /// over the root of its samples; a carrier of g times the noise makes that (1 + 2 g)^1/2 / (1 + g)
    /// as much. Without a detector it is averaged over so many symbols that nothing fluctuates.
    pub(crate) fn read(
        &mut self,
        power: MilliWatts,
        chip: &Chip,
        detector: Option<Detector>,
        fluctuation: &mut Stream,
    ) -> Dbm {
        let Some(detector) = detector else {
            let step = chip.rssi_step.0;
            return Dbm((self.logarithm.decibels(power.0) / step).round() * step);
        };
        let noise = match self.detector {
            Some((same, noise)) if same == detector => noise,
            _ => {
                let noise = detector.noise.milliwatts().0;
                (self.detector, self.last) = (Some((detector, noise)), NO_LAW);
                noise
            }
        };
        if self.last.power != power.0 {
            let ratio = power.0 / noise;
            self.last = Law {
                power: power.0,
                mean: detector.noise.0 + self.logarithm.decibels(1.0 + ratio),
                sigma: 5.57 * ((1.0 + 2.0 * ratio) / detector.samples).sqrt() / (1.0 + ratio),
            };
        }
        let reading = self.last.mean + self.last.sigma * normal_by(&self.logarithm, fluctuation);
        Dbm((reading / detector.step.0 + 0.5).floor() * detector.step.0)
    }
}
