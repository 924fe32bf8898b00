//! What all flows together have brought in the last seconds. Tests: below.

use thalweg_units::Instant;

/// Seconds that are looked at.
const SECONDS: usize = 15;

/// Packets by the second in which they came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrivals {
    /// The present second's among them.
    packets: [u32; SECONDS],
    /// The present second.
    second: u64,
}

impl Arrivals {
    fn turn(&mut self, now: Instant) {
        let second = now.as_nanos() / 1_000_000_000;
        let passed = second.saturating_sub(self.second).min(SECONDS as u64);
        for k in 0..passed {
            self.packets[((second - k) % SECONDS as u64) as usize] = 0;
        }
        self.second = self.second.max(second);
    }
    /// One came.
    pub(super) fn packet(&mut self, now: Instant) {
        self.turn(now);
        self.packets[(self.second % SECONDS as u64) as usize] += 1;
    }
    /// Packets per second.
    pub(super) fn per_s(&mut self, now: Instant) -> f64 {
        self.turn(now);
        let part = (now.as_nanos() % 1_000_000_000) as f64 * 1e-9;
        f64::from(self.packets.iter().sum::<u32>()) / ((SECONDS - 1) as f64 + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Duration;

    #[test]
    fn what_came_is_forgotten_after_fifteen_seconds() {
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut arrivals = Arrivals::default();
        // Two a second.
        for k in 0..200 {
            arrivals.packet(at(100_000 + 500 * k));
        }
        assert!((arrivals.per_s(at(199_999)) - 2.0).abs() < 0.01);
        assert!((arrivals.per_s(at(206_999)) - 16.0 / 15.0).abs() < 0.01);
        assert_eq!(arrivals.per_s(at(214_000)), 0.0);
        assert_eq!(arrivals.per_s(at(900_000)), 0.0);
    }
}
