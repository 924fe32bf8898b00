//! Multiplication and division (ARMv7-M ARM, A5.3.16, A5.3.17). Overflow of an accumulation sets Q.

use super::alu::{high, low};
use super::{field, Core, Done, Fault, Peripherals, PC};

/// The half of a word that an instruction names.
const fn half(value: u32, top: u32) -> i64 {
    match top & 1 {
        0 => low(value),
        _ => high(value),
    }
}

impl<P: Peripherals + 'static> Core<P> {
    /// Rn and Rm.
    #[inline]
    fn factors(&self, word: u32) -> (u32, u32) {
        (self.get(field(word, 16, 4)), self.get(field(word, 0, 4)))
    }
    /// Ra; nought where it is the program counter.
    #[inline]
    fn addend(&self, word: u32) -> u32 {
        match field(word, 12, 4) {
            PC => 0,
            a => self.get(a),
        }
    }
    /// Writes a sum that may have overflowed.
    fn put_accumulated(&mut self, word: u32, value: i64) -> Done {
        self.flags.q |= i64::from(value as i32) != value;
        self.put(field(word, 8, 4), value as u32);
        Ok(())
    }

    pub(super) fn multiply_add(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let value = n.wrapping_mul(m).wrapping_add(self.addend(word));
        self.put(field(word, 8, 4), value);
        Ok(())
    }
    pub(super) fn multiply_subtract(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let value = self.get(field(word, 12, 4)).wrapping_sub(n.wrapping_mul(m));
        self.put(field(word, 8, 4), value);
        Ok(())
    }
    /// `SMLABB` and its kin.
    pub(super) fn multiply_halves(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let product = half(n, word >> 5) * half(m, word >> 4);
        self.put_accumulated(word, product + i64::from(self.addend(word) as i32))
    }
    /// `SMLAWB`, `SMLAWT`.
    pub(super) fn multiply_word_half(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let product = (i64::from(n as i32) * half(m, word >> 4)) >> 16;
        self.put_accumulated(word, product + i64::from(self.addend(word) as i32))
    }
    fn products(&self, word: u32) -> (i64, i64) {
        let (n, m) = self.factors(word);
        let m = if word & 1 << 4 != 0 {
            m.rotate_right(16)
        } else {
            m
        };
        (low(n) * low(m), high(n) * high(m))
    }
    pub(super) fn multiply_dual_add(&mut self, word: u32) -> Done {
        let (low, high) = self.products(word);
        self.put_accumulated(word, low + high + i64::from(self.addend(word) as i32))
    }
    pub(super) fn multiply_dual_subtract(&mut self, word: u32) -> Done {
        let (low, high) = self.products(word);
        self.put_accumulated(word, low - high + i64::from(self.addend(word) as i32))
    }
    /// The high word of a product, rounded where bit 4 says so.
    fn put_high(&mut self, word: u32, value: i64) -> Done {
        let rounding = i64::from(word >> 4 & 1) << 31;
        self.put(
            field(word, 8, 4),
            (value.wrapping_add(rounding) >> 32) as u32,
        );
        Ok(())
    }
    pub(super) fn multiply_high_add(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let product = i64::from(n as i32) * i64::from(m as i32);
        let a = i64::from(self.addend(word)) << 32;
        self.put_high(word, a.wrapping_add(product))
    }
    pub(super) fn multiply_high_subtract(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let product = i64::from(n as i32) * i64::from(m as i32);
        let a = i64::from(self.get(field(word, 12, 4))) << 32;
        self.put_high(word, a.wrapping_sub(product))
    }
    /// `USAD8`, `USADA8`.
    pub(super) fn absolute_differences(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let pairs = n.to_le_bytes().into_iter().zip(m.to_le_bytes());
        let sum: u32 = pairs.map(|(n, m)| u32::from(n.abs_diff(m))).sum();
        self.put(field(word, 8, 4), self.addend(word).wrapping_add(sum));
        Ok(())
    }

    /// RdHi and RdLo as one number.
    fn long(&self, word: u32) -> u64 {
        let (high, low) = (self.get(field(word, 8, 4)), self.get(field(word, 12, 4)));
        u64::from(high) << 32 | u64::from(low)
    }
    fn put_long(&mut self, word: u32, value: u64) -> Done {
        self.put(field(word, 12, 4), value as u32);
        self.put(field(word, 8, 4), (value >> 32) as u32);
        Ok(())
    }
    fn product_signed(&self, word: u32) -> u64 {
        let (n, m) = self.factors(word);
        (i64::from(n as i32) * i64::from(m as i32)) as u64
    }
    fn product_unsigned(&self, word: u32) -> u64 {
        let (n, m) = self.factors(word);
        u64::from(n) * u64::from(m)
    }
    pub(super) fn long_signed(&mut self, word: u32) -> Done {
        self.put_long(word, self.product_signed(word))
    }
    pub(super) fn long_unsigned(&mut self, word: u32) -> Done {
        self.put_long(word, self.product_unsigned(word))
    }
    pub(super) fn long_signed_add(&mut self, word: u32) -> Done {
        let value = self.long(word).wrapping_add(self.product_signed(word));
        self.put_long(word, value)
    }
    pub(super) fn long_unsigned_add(&mut self, word: u32) -> Done {
        let value = self.long(word).wrapping_add(self.product_unsigned(word));
        self.put_long(word, value)
    }
    pub(super) fn long_unsigned_add_two(&mut self, word: u32) -> Done {
        let (high, low) = (self.get(field(word, 8, 4)), self.get(field(word, 12, 4)));
        let value = self.product_unsigned(word) + u64::from(high) + u64::from(low);
        self.put_long(word, value)
    }
    pub(super) fn long_halves(&mut self, word: u32) -> Done {
        let (n, m) = self.factors(word);
        let product = half(n, word >> 5) * half(m, word >> 4);
        self.put_long(word, self.long(word).wrapping_add(product as u64))
    }
    pub(super) fn long_dual_add(&mut self, word: u32) -> Done {
        let (low, high) = self.products(word);
        self.put_long(word, self.long(word).wrapping_add((low + high) as u64))
    }
    pub(super) fn long_dual_subtract(&mut self, word: u32) -> Done {
        let (low, high) = self.products(word);
        self.put_long(word, self.long(word).wrapping_add((low - high) as u64))
    }

    /// Division by nought gives nought, or a fault where `CCR.DIV_0_TRP` is set (A7.7.127).
    fn divide(&mut self, word: u32, of: impl Fn(u32, u32) -> u32) -> Done {
        let (n, m) = self.factors(word);
        let value = match m {
            0 if self.system.traps_division() => return Err(Fault::Undefined { word }),
            0 => 0,
            m => of(n, m),
        };
        self.more(self.costs.divide);
        self.put(field(word, 8, 4), value);
        Ok(())
    }
    pub(super) fn divide_signed(&mut self, word: u32) -> Done {
        self.divide(word, |n, m| (n as i32).wrapping_div(m as i32) as u32)
    }
    pub(super) fn divide_unsigned(&mut self, word: u32) -> Done {
        self.divide(word, |n, m| n / m)
    }
}
