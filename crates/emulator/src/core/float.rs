//! Arithmetic in single precision (ARMv7-M ARM, A2.5, A6.4): round to nearest, no flush to zero, NaNs as A2.5.4 says.

use super::{field, Core, Done, Flags, Peripherals};

/// The NaN that invalid operations give (A2.5.4).
const DEFAULT_NAN: u32 = 0x7fc0_0000;
const QUIET: u32 = 1 << 22;
const SIGN: u32 = 1 << 31;

pub(super) const fn destination(word: u32) -> usize {
    field(word, 12, 4) << 1 | field(word, 22, 1)
}
pub(super) const fn first(word: u32) -> usize {
    field(word, 16, 4) << 1 | field(word, 7, 1)
}
pub(super) const fn second(word: u32) -> usize {
    field(word, 0, 4) << 1 | field(word, 5, 1)
}

fn is_nan(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}
fn is_signalling(bits: u32) -> bool {
    is_nan(bits) && bits & QUIET == 0
}

/// `FPProcessNaNs`: the NaN that operands in this order give.
fn nan_of(operands: &[u32]) -> Option<u32> {
    let signalling = operands.iter().find(|&&bits| is_signalling(bits));
    let quiet = operands.iter().find(|&&bits| is_nan(bits));
    signalling.or(quiet).map(|bits| bits | QUIET)
}

/// The bits of a result of operands that are no NaN.
fn settled(value: f32) -> u32 {
    match value.is_nan() {
        true => DEFAULT_NAN,
        false => value.to_bits(),
    }
}

fn binary(a: u32, b: u32, of: impl Fn(f32, f32) -> f32) -> u32 {
    let nan = nan_of(&[a, b]);
    nan.unwrap_or_else(|| settled(of(f32::from_bits(a), f32::from_bits(b))))
}
fn add(a: u32, b: u32) -> u32 {
    binary(a, b, |a, b| a + b)
}
fn multiply(a: u32, b: u32) -> u32 {
    binary(a, b, |a, b| a * b)
}

/// `FPMulAdd`.
fn fused(addend: u32, a: u32, b: u32) -> u32 {
    let [x, y] = [a, b].map(f32::from_bits);
    let invalid = x.is_infinite() && y == 0.0 || x == 0.0 && y.is_infinite();
    if is_nan(addend) && !is_signalling(addend) && invalid {
        return DEFAULT_NAN;
    }
    let nan = nan_of(&[addend, a, b]);
    nan.unwrap_or_else(|| settled(x.mul_add(y, f32::from_bits(addend))))
}

/// `FPHalfToSingle` (A2.5.9).
fn half_to_single(half: u32) -> u32 {
    let (sign, exponent, fraction) = ((half & 0x8000) << 16, half >> 10 & 0x1f, half & 0x3ff);
    match (exponent, fraction) {
        (0x1f, 0) => sign | 0x7f80_0000,
        (0x1f, _) => sign | 0x7fc0_0000 | fraction << 13,
        // 2^-24 is the unit of what has no exponent.
        (0, _) => sign | (fraction as f32 / 16_777_216.0).to_bits(),
        _ => sign | (exponent + 112) << 23 | fraction << 13,
    }
}

/// `FPSingleToHalf` (A2.5.9), rounded to nearest, ties to even.
fn single_to_half(single: u32) -> u32 {
    let sign = single >> 16 & 0x8000;
    let magnitude = single & !SIGN;
    if is_nan(single) {
        return sign | 0x7e00 | magnitude >> 13 & 0x1ff;
    }
    // In units of 2^-24 below the least normal number, else with the exponent moved.
    let (exact, shift) = match magnitude >> 23 {
        113.. => (magnitude - (112 << 23), 13),
        exponent => {
            let significand = magnitude & 0x7f_ffff | u32::from(exponent > 0) << 23;
            (significand, 126 - exponent.max(1))
        }
    };
    if shift > 31 {
        return sign;
    }
    let (kept, rest, half) = (
        exact >> shift,
        exact & ((1 << shift) - 1),
        1u32 << (shift - 1),
    );
    let up = rest > half || rest == half && kept & 1 != 0;
    sign | (kept + u32::from(up)).min(0x7c00)
}

impl<P: Peripherals + 'static> Core<P> {
    /// `Sd = of(Sn, Sm)`.
    #[inline]
    fn float_binary(&mut self, word: u32, of: impl Fn(u32, u32) -> u32) -> Done {
        self.use_float()?;
        self.s[destination(word)] = of(self.s[first(word)], self.s[second(word)]);
        Ok(())
    }
    /// `Sd = of(Sm)`.
    #[inline]
    fn float_unary(&mut self, word: u32, of: impl Fn(u32) -> u32) -> Done {
        self.use_float()?;
        self.s[destination(word)] = of(self.s[second(word)]);
        Ok(())
    }

    pub(super) fn float_add(&mut self, word: u32) -> Done {
        self.float_binary(word, add)
    }
    pub(super) fn float_subtract(&mut self, word: u32) -> Done {
        self.float_binary(word, |a, b| binary(a, b, |a, b| a - b))
    }
    pub(super) fn float_multiply(&mut self, word: u32) -> Done {
        self.float_binary(word, multiply)
    }
    pub(super) fn float_negate_multiply(&mut self, word: u32) -> Done {
        self.float_binary(word, |a, b| multiply(a, b) ^ SIGN)
    }
    pub(super) fn float_divide(&mut self, word: u32) -> Done {
        self.more(self.costs.float_divide);
        self.float_binary(word, |a, b| binary(a, b, |a, b| a / b))
    }
    pub(super) fn float_root(&mut self, word: u32) -> Done {
        self.more(self.costs.float_divide);
        self.float_unary(word, |a| {
            nan_of(&[a]).unwrap_or_else(|| settled(f32::from_bits(a).sqrt()))
        })
    }

    /// `Sd = of(Sd, Sn, Sm)`; bit 6 negates the product.
    #[inline]
    fn float_three(&mut self, word: u32, of: impl Fn(u32, u32, u32, u32) -> u32) -> Done {
        self.use_float()?;
        self.more(self.costs.float_multiply_add);
        let negates = (word >> 6 & 1) << 31;
        let (n, m) = (self.s[first(word)], self.s[second(word)]);
        let d = &mut self.s[destination(word)];
        *d = of(*d, n, m, negates);
        Ok(())
    }
    /// `VMLA`, `VMLS`: rounded twice.
    pub(super) fn float_multiply_add(&mut self, word: u32) -> Done {
        self.float_three(word, |d, n, m, negates| add(d, multiply(n, m) ^ negates))
    }
    /// `VNMLS`, `VNMLA`.
    pub(super) fn float_negate_multiply_add(&mut self, word: u32) -> Done {
        self.float_three(word, |d, n, m, negates| {
            add(d ^ SIGN, multiply(n, m) ^ negates)
        })
    }
    /// `VFMA`, `VFMS`: rounded once.
    pub(super) fn float_fused(&mut self, word: u32) -> Done {
        self.float_three(word, |d, n, m, negates| fused(d, n ^ negates, m))
    }
    /// `VFNMS`, `VFNMA`.
    pub(super) fn float_fused_negate(&mut self, word: u32) -> Done {
        self.float_three(word, |d, n, m, negates| fused(d ^ SIGN, n ^ negates, m))
    }

    /// `VFPExpandImm` (A6.4.1).
    pub(super) fn float_immediate(&mut self, word: u32) -> Done {
        self.use_float()?;
        let imm = word >> 12 & 0xf0 | word & 0xf;
        let exponent = if imm & 0x40 == 0 { 0x80 } else { 0x7c };
        let value = (imm & 0x80) << 24 | (exponent | imm >> 4 & 3) << 23 | (imm & 0xf) << 19;
        self.s[destination(word)] = value;
        Ok(())
    }
    pub(super) fn float_move(&mut self, word: u32) -> Done {
        self.float_unary(word, |a| a)
    }
    pub(super) fn float_absolute(&mut self, word: u32) -> Done {
        self.float_unary(word, |a| a & !SIGN)
    }
    pub(super) fn float_negate(&mut self, word: u32) -> Done {
        self.float_unary(word, |a| a ^ SIGN)
    }

    /// `VCVTB`, `VCVTT` from half precision.
    pub(super) fn float_from_half(&mut self, word: u32) -> Done {
        let top = 16 * (word >> 7 & 1);
        self.float_unary(word, |a| half_to_single(a >> top & 0xffff))
    }
    pub(super) fn float_to_half(&mut self, word: u32) -> Done {
        self.use_float()?;
        let top = 16 * (word >> 7 & 1);
        let half = single_to_half(self.s[second(word)]);
        let d = &mut self.s[destination(word)];
        *d = *d & !(0xffff << top) | half << top;
        Ok(())
    }

    fn compare(&mut self, a: u32, b: u32) -> Done {
        let order = f32::from_bits(a).partial_cmp(&f32::from_bits(b));
        let nzcv = match order {
            Some(std::cmp::Ordering::Less) => 0b1000,
            Some(std::cmp::Ordering::Equal) => 0b0110,
            Some(std::cmp::Ordering::Greater) => 0b0010,
            None => 0b0011,
        };
        self.fpscr = self.fpscr & 0x0fff_ffff | nzcv << 28;
        Ok(())
    }
    pub(super) fn float_compare(&mut self, word: u32) -> Done {
        self.use_float()?;
        self.compare(self.s[destination(word)], self.s[second(word)])
    }
    pub(super) fn float_compare_zero(&mut self, word: u32) -> Done {
        self.use_float()?;
        self.compare(self.s[destination(word)], 0)
    }

    pub(super) fn float_from_integer(&mut self, word: u32) -> Done {
        let signed = word & 1 << 7 != 0;
        self.float_unary(word, |a| match signed {
            true => (a as i32 as f32).to_bits(),
            false => (a as f32).to_bits(),
        })
    }
    /// `VCVT` towards zero, `VCVTR` to nearest; what does not fit is the nearest that does (A2.5.8).
    pub(super) fn float_to_integer(&mut self, word: u32) -> Done {
        let (signed, truncates) = (word & 1 << 16 != 0, word & 1 << 7 != 0);
        self.float_unary(word, |a| {
            let value = f32::from_bits(a);
            let value = if truncates {
                value
            } else {
                value.round_ties_even()
            };
            match signed {
                true => value as i32 as u32,
                false => value as u32,
            }
        })
    }
    /// Bits behind the point of a fixed-point number, and its width.
    fn fraction(word: u32) -> Option<(i32, u32)> {
        let bits: u32 = if word & 1 << 7 == 0 { 16 } else { 32 };
        let imm = (word & 0xf) << 1 | word >> 5 & 1;
        Some((bits.checked_sub(imm)? as i32, bits))
    }
    pub(super) fn float_from_fixed(&mut self, word: u32) -> Done {
        self.use_float()?;
        let Some((fraction, bits)) = Self::fraction(word) else {
            return self.undefined(word);
        };
        let d = &mut self.s[destination(word)];
        let value = match (bits, word & 1 << 16) {
            (16, 0) => f64::from(*d as i16),
            (16, _) => f64::from(*d as u16),
            (_, 0) => f64::from(*d as i32),
            _ => f64::from(*d),
        };
        // Exact in double precision, so it is rounded once.
        *d = ((value / (1u64 << fraction) as f64) as f32).to_bits();
        Ok(())
    }
    pub(super) fn float_to_fixed(&mut self, word: u32) -> Done {
        self.use_float()?;
        let Some((fraction, bits)) = Self::fraction(word) else {
            return self.undefined(word);
        };
        let d = &mut self.s[destination(word)];
        let value = f64::from(f32::from_bits(*d)) * (1u64 << fraction) as f64;
        *d = match (bits, word & 1 << 16) {
            (16, 0) => value as i16 as u32,
            (16, _) => u32::from(value as u16),
            (_, 0) => value as i32 as u32,
            _ => value as u32,
        };
        Ok(())
    }

    pub(super) fn read_float_status(&mut self, word: u32) -> Done {
        self.use_float()?;
        // FPSCR is the only register of its kind here (A7.7.246).
        if field(word, 16, 4) != 1 {
            return self.undefined(word);
        }
        match field(word, 12, 4) {
            super::PC => {
                let flags = self.flags.bits() & 0x0fff_ffff | self.fpscr & 0xf000_0000;
                self.flags = Flags::of(flags);
            }
            t => self.put(t, self.fpscr),
        }
        Ok(())
    }
    pub(super) fn write_float_status(&mut self, word: u32) -> Done {
        self.use_float()?;
        if field(word, 16, 4) != 1 {
            return self.undefined(word);
        }
        let value = self.get(field(word, 12, 4));
        // Another half precision, default NaNs, flush to zero, another rounding.
        if value & 0x07c0_0000 != 0 {
            return Err(super::Fault::Unsupported { word });
        }
        self.fpscr = value & 0xf000_0000;
        Ok(())
    }
}
