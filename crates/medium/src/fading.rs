//! Frequency-selective fading of one pair of nodes over the sixteen channels, in decibels around
//! the path's mean; the same in both directions.
//!
//! Inside a floor a strong path and multipath around it (Rice); between floors no strong path
//! (Rayleigh) and, on top, a lognormal part that wanders from channel to channel (AR(1)): links
//! between floors exist on one channel by luck of that channel. Tests: here.

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
mod tests {
    use super::*;
    use crate::random::stream;

    fn draws(fading: Fading) -> Vec<[Db; Channel::COUNT]> {
        (0..3000)
            .map(|pair| fading.draw(&mut stream(1, "pair", &[pair])))
            .collect()
    }

    #[test]
    fn mean_power_is_one_and_neighbouring_channels_are_alike() {
        let rice = Fading {
            rice_k: Some(Db(4.6)),
            taps: 10,
            mean_delay: Duration::from_nanos(60),
            lognormal: Db(0.0),
            coherence_channels: 1.5,
        };
        let all = draws(rice);
        let mean: f64 = all.iter().map(|f| f[7].factor()).sum::<f64>() / all.len() as f64;
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
        let near: f64 = all.iter().map(|f| (f[7].0 - f[8].0).abs()).sum::<f64>();
        let far: f64 = all.iter().map(|f| (f[0].0 - f[15].0).abs()).sum::<f64>();
        assert!(near < 0.9 * far, "{near} {far}");
    }

    #[test]
    fn the_lognormal_part_has_its_spread_and_its_coherence() {
        let only = Fading {
            rice_k: Some(Db(60.0)),
            taps: 0,
            mean_delay: Duration::ZERO,
            lognormal: Db(9.0),
            coherence_channels: 1.5,
        };
        let all = draws(only);
        let n = all.len() as f64;
        let spread = (all.iter().map(|f| f[3].0 * f[3].0).sum::<f64>() / n).sqrt();
        let lag = all.iter().map(|f| f[3].0 * f[4].0).sum::<f64>() / n / (spread * spread);
        assert!((spread - 9.0).abs() < 0.3, "{spread}");
        assert!((lag - libm::exp(-1.0 / 1.5)).abs() < 0.05, "{lag}");
    }
}
