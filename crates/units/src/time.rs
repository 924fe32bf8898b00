//! Time. [`Duration`] is a length of time; [`Instant`] a reading of one node's own clock;
//! [`SimTime`] the true time that only a simulator knows. All count nanoseconds in a `u64`
//! (584 years), so no arithmetic in practice overflows; what could, saturates.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A non-negative length of time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length of time.
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }
    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }
    /// `s` whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }
    /// `s` seconds, rounded to the nearest nanosecond; negative, NaN and too large saturate.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }
    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// Microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 * 1e-3
    }
    /// `self - other`, or zero where `other` is the longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
/// Panics in debug builds where the right side is longer; [`Duration::saturating_sub`] does not.
impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}
impl Div for Duration {
    type Output = u64;
    fn div(self, other: Self) -> u64 {
        self.0 / other.0
    }
}
impl core::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, |total, part| total + part)
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns < 1_000 => write!(f, "{ns} ns"),
            ns if ns < 1_000_000 => write!(f, "{:.1} us", ns as f64 / 1e3),
            ns if ns < 1_000_000_000 => write!(f, "{:.2} ms", ns as f64 / 1e6),
            ns => write!(f, "{:.3} s", ns as f64 / 1e9),
        }
    }
}

macro_rules! point_in_time {
    ($name:ident) => {
        impl $name {
            /// The beginning of this time line.
            pub const ZERO: Self = Self(0);
            /// The end of this time line.
            pub const MAX: Self = Self(u64::MAX);

            /// The point `ns` nanoseconds after the beginning.
            pub const fn from_nanos(ns: u64) -> Self {
                Self(ns)
            }
            /// Nanoseconds since the beginning.
            pub const fn as_nanos(self) -> u64 {
                self.0
            }
            /// Seconds since the beginning.
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 * 1e-9
            }
            /// The time from `earlier` to `self`; zero where `earlier` is the later.
            pub const fn since(self, earlier: Self) -> Duration {
                Duration(self.0.saturating_sub(earlier.0))
            }
            /// `self - by`, not before the beginning.
            pub const fn saturating_sub(self, by: Duration) -> Self {
                Self(self.0.saturating_sub(by.0))
            }
        }
        impl Add<Duration> for $name {
            type Output = Self;
            fn add(self, by: Duration) -> Self {
                Self(self.0.saturating_add(by.0))
            }
        }
        impl AddAssign<Duration> for $name {
            fn add_assign(&mut self, by: Duration) {
                *self = *self + by;
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:.6} s", self.as_secs_f64())
            }
        }
    };
}

/// A reading of one node's own clock, in nanoseconds of that clock. Readings of two nodes cannot
/// be compared: their clocks differ in offset and rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);
point_in_time!(Instant);

/// True time, in nanoseconds since a simulation began. Engines never see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(u64);
point_in_time!(SimTime);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let before = Instant::ZERO.saturating_sub(Duration::from_secs(1));
        assert_eq!(before, Instant::ZERO);
        assert_eq!(Instant::MAX + Duration::from_nanos(1), Instant::MAX);
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
    }

    #[test]
    fn conversions_agree() {
        assert_eq!(Duration::from_micros(4256), Duration::from_nanos(4_256_000));
        let frame = Duration::from_secs_f64(0.004256);
        assert_eq!(frame, Duration::from_micros(4256));
        assert_eq!(Duration::from_millis(10) / Duration::from_micros(32), 312);
        for (s, ns) in [(1.4e-9, 1), (1.6e-9, 2), (1.0, 1_000_000_000)] {
            assert_eq!(Duration::from_secs_f64(s), Duration::from_nanos(ns), "{s}");
        }
        assert_eq!(Duration::from_secs(2).as_secs_f64(), 2.0);
        assert_eq!(Duration::from_micros(7).as_micros_f64(), 7.0);
    }

    #[test]
    fn a_point_in_time_is_as_far_on_as_was_added() {
        let (from, by) = (SimTime::from_nanos(5), Duration::from_nanos(3));
        let mut later = from + by;
        assert_eq!((later.as_nanos(), later.since(from)), (8, by));
        later += by;
        assert_eq!(later.saturating_sub(by * 2), from);
        let mut sum: Duration = [by, by].into_iter().sum();
        sum += by;
        assert_eq!(
            (sum, sum - by, sum / 2),
            (by * 3, by * 2, Duration::from_nanos(4))
        );
    }
}
