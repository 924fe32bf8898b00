//! The natural logarithm to 15 digits, several times as fast as a library's: receivers and detectors
//! ask for it millions of times a second.
//!
//! The binary exponent, the logarithm of the mantissa's 128th, tabulated, and a series for the rest.
//! Nothing but sums and products once the table is made, which `libm` does: the same bytes on every
//! machine. Tests: here.

/// Bits of the mantissa that choose an entry.
const BITS: u32 = 7;
const ENTRIES: usize = 1 << BITS;
const MANTISSA: u32 = 52;

/// A table of logarithms.
#[derive(Debug, Clone)]
pub struct Logarithm {
    /// The reciprocal of the middle of each part of [1, 2), and the logarithm of that middle.
    parts: Box<[(f64, f64); ENTRIES]>,
}

impl Default for Logarithm {
    fn default() -> Self {
        let part = |i: usize| {
            let reciprocal = 1.0 / (1.0 + (i as f64 + 0.5) / ENTRIES as f64);
            (reciprocal, -libm::log(reciprocal))
        };
        Self {
            parts: Box::new(core::array::from_fn(part)),
        }
    }
}

impl Logarithm {
    /// The natural logarithm of `x`, which is finite and at least 1e-300; off by less than 1e-15 times
    /// the greater of itself and one.
    #[inline]
    pub fn ln(&self, x: f64) -> f64 {
        let bits = x.to_bits();
        let exponent = (bits >> MANTISSA) as i32 - 1023;
        let one = 1.0f64.to_bits();
        let mantissa = f64::from_bits(bits & ((1 << MANTISSA) - 1) | one);
        let (reciprocal, whole) = self.parts[(bits >> (MANTISSA - BITS)) as usize % ENTRIES];
        // At most 1/256 from zero: the seventh power is below what a sum with `whole` keeps.
        let r = mantissa * reciprocal - 1.0;
        let r2 = r * r;
        let low = r - r2 * (0.5 - r * (1.0 / 3.0));
        let high = r2 * r2 * (-0.25 + r * 0.2 - r2 * (1.0 / 6.0 - r * (1.0 / 7.0)));
        f64::from(exponent) * core::f64::consts::LN_2 + (whole + (low + high))
    }
    /// The ratio `factor` in decibels, as [`thalweg_units::Db::from_factor`] has it.
    #[inline]
    pub fn decibels(&self, factor: f64) -> f64 {
        self.ln(factor) * (10.0 / core::f64::consts::LN_10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &Logarithm, x: f64) {
        let exact = libm::log(x);
        let off = (table.ln(x) - exact).abs();
        assert!(off < 1e-15 * exact.abs().max(1.0), "{x}: {off}");
    }

    #[test]
    fn it_is_the_logarithm() {
        let table = Logarithm::default();
        let mut x = 1e-25;
        while x < 1e25 {
            check(&table, x);
            x *= 1.000_917;
        }
        for k in 1..20_000 {
            check(&table, f64::from(k) / 10_000.0);
        }
        assert!((table.decibels(2.0) - 10.0 * libm::log10(2.0)).abs() < 1e-14);
    }
}
