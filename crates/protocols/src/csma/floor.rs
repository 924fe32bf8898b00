//! The noise floor that carrier sense is measured against: B-MAC's automatic gain control (Fusion,
//! section 2.3.3). The median of the last samples of a channel that should be idle, right after
//! packets, feeds a moving average, so that single samples of a busy channel do no harm.

use thalweg_units::Dbm;

/// Samples that the median is taken of (B-MAC: 10).
const SAMPLES: usize = 10;
/// Weight of a new median (B-MAC: 0.06).
const WEIGHT: f64 = 0.06;

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
        let quietest = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
        self.level += WEIGHT * (quietest - self.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_channel_and_ignores_single_frames() {
        let mut floor = NoiseFloor::new(Dbm(-105.0));
        for k in 0..300 {
            floor.sample(Dbm(if k % 3 == 0 { -60.0 } else { -100.0 }));
        }
        assert!((floor.level().0 + 100.0).abs() < 0.1);
    }
}
