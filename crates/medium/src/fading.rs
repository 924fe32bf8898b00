//! Frequency-selective fading of one pair of nodes over the sixteen channels, in decibels around
//! the path's mean; the same in both directions.
//!
//! Inside a floor a strong path and multipath around it (Rice); between floors no strong path
//! (Rayleigh) and, on top, a lognormal part that wanders from channel to channel (AR(1)): links
//! between floors exist on one channel by luck of that channel. Tests: `fading_tests.rs`.

use crate::random::{exponential, normal, uniform, Stream};
use core::f64::consts::TAU;
use thalweg_units::{Channel, Db, Duration};

/// How a class of pairs fades.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// Power of the strong path over that of all others; `None` where there is no strong path.
    pub rice_k: Option<Db>,
    /// Number of other paths.
    pub taps: usize,
    /// Their mean excess delay (exponentially distributed).
    pub mean_delay: Duration,
    /// Standard deviation of the lognormal part.
    pub lognormal: Db,
    /// Over how many channels the lognormal part's correlation falls to 1/e.
    pub coherence_channels: f64,
}

impl Fading {
    /// Draws the sixteen channels of one pair.
    pub fn draw(&self, rng: &mut Stream) -> [Db; Channel::COUNT] {
        let k = self.rice_k.map_or(0.0, Db::factor);
        let mut re = [0.0; Channel::COUNT];
        let mut im = [0.0; Channel::COUNT];
        // The strong path: its phase is the reference.
        re.fill((k / (1.0 + k)).sqrt());
        let spread = (0.5 / ((1.0 + k) * self.taps.max(1) as f64)).sqrt();
        for _ in 0..self.taps {
            let delay_s = exponential(rng) * self.mean_delay.as_secs_f64();
            let (mut x, mut y) = (spread * normal(rng), spread * normal(rng));
            // From one channel to the next, 5 MHz up.
            let (sin, cos) = libm::sincos(-TAU * 5e6 * delay_s);
            for (re, im) in re.iter_mut().zip(&mut im) {
                *re += x;
                *im += y;
                (x, y) = (x * cos - y * sin, x * sin + y * cos);
            }
        }
        let rho = libm::exp(-1.0 / self.coherence_channels);
        let innovation = (1.0 - rho * rho).sqrt();
        let mut z = if self.lognormal.0 > 0.0 {
            normal(rng)
        } else {
            0.0
        };
        let mut fading = [Db(0.0); Channel::COUNT];
        for (fading, (re, im)) in fading.iter_mut().zip(re.iter().zip(&im)) {
            // A random nudge keeps an exact null from being minus infinity.
            let power = (re * re + im * im).max(1e-9 * uniform(rng));
            *fading = Db::from_factor(power) + Db(self.lognormal.0 * z);
            if self.lognormal.0 > 0.0 {
                z = rho * z + innovation * normal(rng);
            }
        }
        fading
    }
}

#[cfg(test)]
#[path = "fading_tests.rs"]
mod tests;
