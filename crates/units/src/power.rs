//! Power. Levels ([`Dbm`]) and ratios ([`Db`]) are logarithmic; only [`MilliWatts`] add, because
//! only they mean something when added.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A power level relative to one milliwatt, in decibels.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Dbm(pub f64);

/// A power ratio, in decibels.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Db(pub f64);

/// A power, in milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct MilliWatts(pub f64);

impl Db {
    /// The ratio as a plain factor.
    pub fn factor(self) -> f64 {
        libm::exp(self.0 * (core::f64::consts::LN_10 / 10.0))
    }
    /// The ratio `factor` in decibels; negative infinity for zero, NaN below.
    pub fn from_factor(factor: f64) -> Self {
        Self(10.0 * libm::log10(factor))
    }
}
impl Dbm {
    /// The same power in milliwatts.
    pub fn milliwatts(self) -> MilliWatts {
        MilliWatts(Db(self.0).factor())
    }
}
impl MilliWatts {
    /// No power.
    pub const ZERO: Self = Self(0.0);

    /// The same power as a level; negative infinity for no power.
    pub fn dbm(self) -> Dbm {
        Dbm(Db::from_factor(self.0).0)
    }
}

impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, gain: Db) -> Self {
        Self(self.0 + gain.0)
    }
}
impl Sub<Db> for Dbm {
    type Output = Self;
    fn sub(self, loss: Db) -> Self {
        Self(self.0 - loss.0)
    }
}
impl Sub for Dbm {
    type Output = Db;
    fn sub(self, other: Self) -> Db {
        Db(self.0 - other.0)
    }
}
impl Add for Db {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sub for Db {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Neg for Db {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Add for MilliWatts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for MilliWatts {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl SubAssign for MilliWatts {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Mul<f64> for MilliWatts {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div for MilliWatts {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 / other.0
    }
}
impl Sum for MilliWatts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}
impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} dBm", self.0)
    }
}
impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} dB", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_powers_convert_both_ways() {
        assert!((Dbm(0.0).milliwatts().0 - 1.0).abs() < 1e-12);
        assert!((Dbm(-30.0).milliwatts().0 - 1e-3).abs() < 1e-12);
        assert!((MilliWatts(100.0).dbm().0 - 20.0).abs() < 1e-9);
        assert_eq!(MilliWatts::ZERO.dbm().0, f64::NEG_INFINITY);
    }

    #[test]
    fn two_equal_powers_are_three_decibels_more() {
        let one = Dbm(-90.0).milliwatts();
        let of_two = [one + one, one * 2.0, [one, one].into_iter().sum()];
        for two in of_two {
            assert!((two.dbm() - Dbm(-86.9897)).0.abs() < 1e-4, "{two:?}");
            assert!((two / one - 2.0).abs() < 1e-12);
        }
        let mut rest = one;
        rest += one;
        rest -= one;
        assert_eq!(rest, one);
    }

    #[test]
    fn a_gain_is_added_and_a_loss_taken_off() {
        let (level, ratio) = (Dbm(-80.0), Db(3.0));
        assert_eq!((level + ratio, level - ratio), (Dbm(-77.0), Dbm(-83.0)));
        assert_eq!(Dbm(-77.0) - level, ratio);
        assert_eq!(
            (ratio + Db(1.0), ratio - Db(1.0), -ratio),
            (Db(4.0), Db(2.0), Db(-3.0))
        );
        assert!((ratio.factor() - 1.9953).abs() < 1e-4);
        assert!((Db::from_factor(100.0).0 - 20.0).abs() < 1e-9);
    }
}
