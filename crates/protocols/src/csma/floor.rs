//! The noise floor that carrier sense is measured against: B-MAC's automatic gain control (Fusion,
//! section 2.3.3), with the constants of TinyOS 1.x (CC1000Const, CC1000RadioIntM): the third
//! quietest of the last nine samples of an idle channel feeds a moving average, so that samples that
//! meet a frame do no harm. The median of the papers' prose runs away under load: in a saturated
//! network more than half of all samples meet somebody.

use thalweg_units::Dbm;

/// Samples that are kept.
const SAMPLES: usize = 9;
/// Place of the one that counts, quietest first.
const THIRD: usize = 2;
/// Weight of a new sample: 2 of 34.
const WEIGHT: f64 = 2.0 / 34.0;

/// An estimate of the idle channel's power.
#[derive(Debug, Clone)]
pub struct NoiseFloor {
    level: f64,
    samples: [f64; SAMPLES],
    next: usize,
}

impl NoiseFloor {
    /// Begins at `quiet`.
    pub const fn new(quiet: Dbm) -> Self {
        Self {
            level: quiet.0,
            samples: [quiet.0; SAMPLES],
            next: 0,
        }
    }
    /// The estimate.
    pub const fn level(&self) -> Dbm {
        Dbm(self.level)
    }
    /// Takes a sample.
    pub fn sample(&mut self, power: Dbm) {
        if let Some(slot) = self.samples.get_mut(self.next) {
            *slot = power.0;
        }
        self.next = (self.next + 1) % SAMPLES;
        let mut sorted = self.samples;
        sorted.sort_unstable_by(f64::total_cmp);
        let quiet = sorted.get(THIRD).copied().unwrap_or(power.0);
        self.level += WEIGHT * (quiet - self.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_channel_and_ignores_single_frames() {
        let mut floor = NoiseFloor::new(Dbm(-105.0));
        for k in 0..300 {
            floor.sample(Dbm(if k % 2 == 0 { -60.0 } else { -100.0 }));
        }
        assert!((floor.level().0 + 100.0).abs() < 0.1);
    }
}
