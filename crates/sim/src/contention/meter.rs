//! What a radio says of signal strength, of the power that is there.
//!
//! Logarithms come of a table ([`Logarithm`]); what depends on power alone is kept for the next
//! reading, as carrier sense takes several at one instant. Tests: here, and `tests.rs`.

use super::board::{Contender, Detector};
use thalweg_medium::random::{normal_by, Stream};
use thalweg_medium::Logarithm;
use thalweg_units::{Dbm, MilliWatts};

/// The radios' register of signal strength: all nodes have the same.
pub(super) struct Meter {
    logarithm: Logarithm,
    /// The register says nothing below this.
    least: Dbm,
    /// What fluctuates, and its noise in milliwatts.
    detector: Option<(Detector, f64)>,
    last: Law,
}

/// How readings of one power are distributed: normal, in dBm.
#[derive(Clone, Copy)]
struct Law {
    power: f64,
    mean: f64,
    sigma: f64,
}

impl Meter {
    pub(super) fn new(board: &Contender) -> Self {
        Self {
            logarithm: Logarithm::default(),
            least: board.rssi_least,
            detector: board.detector.map(|d| (d, d.noise.milliwatts().0)),
            last: Law {
                power: f64::NAN,
                mean: 0.0,
                sigma: 0.0,
            },
        }
    }

    /// What the register says of `power`, in whole dB, averaged over so many symbols that nothing
    /// fluctuates.
    pub(super) fn register(&self, power: MilliWatts) -> Dbm {
        let dbm = self.logarithm.decibels(power.0).max(self.least.0);
        Dbm((dbm + 0.5).floor())
    }

    /// A reading of `power`. Noise alone, averaged in decibels, fluctuates by 5.57 dB over the root
    /// of its samples; a carrier of g times the noise makes that (1 + 2 g)^1/2 / (1 + g) as much.
    pub(super) fn read(&mut self, power: MilliWatts, fluctuation: &mut Stream) -> Dbm {
        let Some((detector, noise)) = self.detector else {
            return self.register(power);
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
