//! The level that carrier sense is measured against: B-MAC's automatic gain control (Fusion, section 2.3.3) as TinyOS
//! 1.x has it on the CC1000 (CC1000RadioIntM, CC1000Const; TinyOS 2 begins at 0x120 and wants 12 steps more. No release
//! with the thesis' preamble of 18 bytes was found: the constants are of one with 8).
//!
//! Signal strength is a voltage that falls as power grows, read by a 10-bit converter at 3 V. The third quietest of the
//! last nine samples feeds a moving average of whole steps; the channel is clear when one of five samples is *quieter*
//! than it. Rounding towards zero stops the average 16 steps (2.4 dB) below its input, which leaves a silent channel
//! clear. Samples are taken whatever is on the air: on a busy channel the average follows and carrier sense becomes
//! deaf. The median of B-MAC's prose would run away sooner.

use thalweg_units::Dbm;

/// Samples that are kept.
const SAMPLES: usize = 9;
/// Role of the one that counts, quietest first.
const THIRD: usize = 2;
/// Weights of the past and of a sample, and their sum.
const PAST: u32 = 32;
const SAMPLE: u32 = 2;
const SUM: u32 = PAST + SAMPLE;
/// Where the average begins.
const INITIAL: u16 = 0x138;
/// A sample this many steps above the level is not noise.
const LOUD: u16 = 12;
/// The converter's last step.
const LAST: u16 = 1023;
/// Strength at no voltage, and dB to the step: -49.2 dBm, 51.3 dB to the volt at 433 MHz (CC1000 data
/// sheet, RSSI), 3 V in 1024 steps.
const AT_ZERO_DBM: f64 = -49.2;
const DB_PER_STEP: f64 = 51.3 * 3.0 / 1024.0;

/// An estimate of the idle channel's level.
#[derive(Debug, Clone)]
pub(super) struct NoiseFloor {
    /// In steps: the more, the quieter.
    level: u16,
    samples: [u16; SAMPLES],
    next: usize,
}

impl NoiseFloor {
    /// Before the first sample.
    pub(super) const fn new() -> Self {
        Self {
            level: INITIAL,
            samples: [INITIAL; SAMPLES],
            next: 0,
        }
    }
    /// A sample of this power or less means that no node sends: in steps, it is above the level.
    pub(super) fn clear(&self) -> Dbm {
        Dbm(AT_ZERO_DBM - (f64::from(self.level) + 0.5) * DB_PER_STEP)
    }
    /// From this power on a single sample means that a node sends.
    pub(super) fn carrier(&self) -> Dbm {
        power(self.level)
    }
    /// From this power on a single sample is worth staying awake for.
    pub(super) fn loud(&self) -> Dbm {
        power(self.level.saturating_sub(LOUD))
    }
    /// Takes a sample.
    pub(super) fn sample(&mut self, power: Dbm) {
        if let Some(slot) = self.samples.get_mut(self.next) {
            *slot = steps(power);
        }
        self.next = (self.next + 1) % SAMPLES;
        let mut sorted = self.samples;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let quiet = sorted.get(THIRD).copied().unwrap_or(self.level);
        let sum = PAST * u32::from(self.level) + SAMPLE * u32::from(quiet);
        self.level = (sum / SUM) as u16;
    }
}

fn steps(power: Dbm) -> u16 {
    let steps = (AT_ZERO_DBM - power.0) / DB_PER_STEP;
    (steps.clamp(0.0, f64::from(LAST)) + 0.5) as u16
}
fn power(steps: u16) -> Dbm {
    Dbm(AT_ZERO_DBM - f64::from(steps) * DB_PER_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(sample: impl Fn(u32) -> f64) -> NoiseFloor {
        let mut floor = NoiseFloor::new();
        for k in 0..400 {
            floor.sample(Dbm(sample(k)));
        }
        floor
    }

    #[test]
    fn it_settles_sixteen_steps_above_a_silent_channel_which_stays_clear() {
        let floor = settled(|_| -105.0);
        assert!((power(floor.level).0 + 105.0 - 16.0 * DB_PER_STEP).abs() < 0.2);
        assert!(floor.clear().0 > -103.0 && floor.clear().0 < -102.5);
    }

    #[test]
    fn it_ignores_what_is_there_less_than_half_of_the_time_and_follows_what_is_there_most_of_it() {
        let half = settled(|k| if k % 2 == 0 { -60.0 } else { -105.0 });
        assert!((power(half.level).0 + 105.0 - 16.0 * DB_PER_STEP).abs() < 0.2);
        let most = settled(|k| if k % 5 != 0 { -90.0 } else { -105.0 });
        assert!((power(most.level).0 + 90.0).abs() < 0.3);
        // A sender at that level is not heard any more.
        assert!(most.clear().0 > -90.5);
    }
}
