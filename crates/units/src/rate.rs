//! Rates. One kbit/s is 1000 bit/s everywhere.

use crate::Duration;
use core::fmt;

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct BitRate(f64);

impl BitRate {
    /// `bits` per second.
    pub const fn from_bps(bits: f64) -> Self {
        Self(bits)
    }
    /// `bytes` in `time`; zero where no time passed.
    pub fn of_bytes(bytes: u64, time: Duration) -> Self {
        if time.is_zero() {
            return Self(0.0);
        }
        Self(bytes as f64 * 8.0 / time.as_secs_f64())
    }
    /// Bits per second.
    pub const fn bps(self) -> f64 {
        self.0
    }
    /// Thousands of bits per second.
    pub fn kbps(self) -> f64 {
        self.0 / 1e3
    }
}
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} kbit/s", self.kbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_radio_sends_a_byte_in_32_us() {
        let rate = BitRate::of_bytes(1, Duration::from_micros(32));
        assert!((rate.kbps() - 250.0).abs() < 1e-9);
        assert_eq!(BitRate::of_bytes(1, Duration::ZERO).bps(), 0.0);
    }
}
