//! 32-bit instructions that compute on registers and immediates (ARMv7-M ARM, A5.3.1, A5.3.3, A5.3.11, A5.3.12).

use super::{alu, field, Core, Done, Fault, Peripherals, PC};

/// Operations of `A5.3.1` and `A5.3.11`, by their number.
pub(super) const AND: u32 = 0;
pub(super) const BIC: u32 = 1;
pub(super) const ORR: u32 = 2;
pub(super) const ORN: u32 = 3;
pub(super) const EOR: u32 = 4;
pub(super) const ADD: u32 = 8;
pub(super) const ADC: u32 = 10;
pub(super) const SBC: u32 = 11;
pub(super) const SUB: u32 = 13;
pub(super) const RSB: u32 = 14;

/// `REV`, `REV16`, `RBIT`, `REVSH` by number.
pub(super) const fn reverse(kind: u32, value: u32) -> u32 {
    match kind {
        0 => value.swap_bytes(),
        1 => value.swap_bytes().rotate_left(16),
        2 => value.reverse_bits(),
        _ => (value as u16).swap_bytes() as i16 as u32,
    }
}

impl<P: Peripherals + 'static> Core<P> {
    #[inline]
    fn compute<const OP: u32>(&mut self, word: u32, (b, carry): alu::Shifted) -> Done {
        let (n, d) = (field(word, 16, 4), field(word, 8, 4));
        let sets = word & 1 << 20 != 0;
        let a = self.get(n);
        if OP >= ADD {
            let sum = match OP {
                ADD => alu::add(a, b, false),
                ADC => alu::add(a, b, self.flags.c),
                SBC => alu::add(a, !b, self.flags.c),
                SUB => alu::add(a, !b, true),
                _ => alu::add(!a, b, true),
            };
            if sets {
                self.set_nzcv(sum);
            }
            // CMN and CMP have no destination.
            if !(sets && d == PC) {
                self.put(d, sum.value);
            }
            return Ok(());
        }
        let value = match OP {
            AND => a & b,
            BIC => a & !b,
            // MOV and MVN have no first operand.
            ORR if n == PC => b,
            ORR => a | b,
            ORN if n == PC => !b,
            ORN => a | !b,
            _ => a ^ b,
        };
        if sets {
            self.set_nz(value);
            self.flags.c = carry;
        }
        // TST and TEQ have no destination.
        if !(sets && d == PC) {
            self.put(d, value);
        }
        Ok(())
    }

    fn immediate12(word: u32) -> u32 {
        word & 0xff | word >> 4 & 0x700 | word >> 15 & 0x800
    }

    pub(super) fn with_immediate<const OP: u32>(&mut self, word: u32) -> Done {
        let b = alu::expand(Self::immediate12(word), self.flags.c);
        self.compute::<OP>(word, b)
    }
    pub(super) fn with_register<const OP: u32>(&mut self, word: u32) -> Done {
        let by = word >> 6 & 3 | word >> 10 & 0x1c;
        let m = self.get(field(word, 0, 4));
        let b = alu::shift_immediate(word >> 4, m, by, self.flags.c);
        self.compute::<OP>(word, b)
    }

    pub(super) fn add_plain(&mut self, word: u32) -> Done {
        self.plain(word, |a, imm| a.wrapping_add(imm))
    }
    pub(super) fn subtract_plain(&mut self, word: u32) -> Done {
        self.plain(word, u32::wrapping_sub)
    }
    /// `ADDW`, `SUBW`, and `ADR` where the base is the program counter.
    #[inline]
    fn plain(&mut self, word: u32, of: impl Fn(u32, u32) -> u32) -> Done {
        let n = field(word, 16, 4);
        let a = if n == PC {
            self.get(n) & !3
        } else {
            self.get(n)
        };
        self.put(field(word, 8, 4), of(a, Self::immediate12(word)));
        Ok(())
    }

    fn immediate16(word: u32) -> u32 {
        Self::immediate12(word) | word >> 4 & 0xf000
    }
    pub(super) fn move_wide(&mut self, word: u32) -> Done {
        self.put(field(word, 8, 4), Self::immediate16(word));
        Ok(())
    }
    pub(super) fn move_top(&mut self, word: u32) -> Done {
        let d = field(word, 8, 4);
        self.put(d, self.get(d) & 0xffff | Self::immediate16(word) << 16);
        Ok(())
    }

    /// Lowest bit of a bit field.
    fn lowest(word: u32) -> u32 {
        word >> 6 & 3 | word >> 10 & 0x1c
    }
    pub(super) fn extract_signed(&mut self, word: u32) -> Done {
        self.extract(word, |value, above| (value as i32 >> above) as u32)
    }
    pub(super) fn extract_unsigned(&mut self, word: u32) -> Done {
        self.extract(word, |value, above| value >> above)
    }
    #[inline]
    fn extract(&mut self, word: u32, down: impl Fn(u32, u32) -> u32) -> Done {
        let (low, width) = (Self::lowest(word), (word & 31) + 1);
        let above = 32u32
            .checked_sub(low + width)
            .ok_or(Fault::Undefined { word })?;
        let value = self.get(field(word, 16, 4)) << above;
        self.put(field(word, 8, 4), down(value, above + low));
        Ok(())
    }
    /// `BFI`, and `BFC` where the source is the program counter.
    pub(super) fn insert(&mut self, word: u32) -> Done {
        let (low, high) = (Self::lowest(word), word & 31);
        let width = (high + 1).checked_sub(low).filter(|width| *width > 0);
        let width = width.ok_or(Fault::Undefined { word })?;
        let mask = (u32::MAX >> (32 - width)) << low;
        let (n, d) = (field(word, 16, 4), field(word, 8, 4));
        let source = if n == PC { 0 } else { self.get(n) };
        self.put(d, self.get(d) & !mask | source << low & mask);
        Ok(())
    }

    #[inline]
    pub(super) fn put_saturated(&mut self, to: usize, value: alu::Saturated) {
        self.flags.q |= value.is_cut();
        self.put(to, value.value());
    }
    fn saturation_operand(&self, word: u32) -> i64 {
        let kind = word >> 20 & 2;
        let n = self.get(field(word, 16, 4));
        let (value, _) = alu::shift_immediate(kind, n, Self::lowest(word), false);
        i64::from(value as i32)
    }
    pub(super) fn saturate_signed(&mut self, word: u32) -> Done {
        let value = alu::saturate_signed(self.saturation_operand(word), (word & 31) + 1);
        self.put_saturated(field(word, 8, 4), value);
        Ok(())
    }
    pub(super) fn saturate_unsigned(&mut self, word: u32) -> Done {
        let value = alu::saturate_unsigned(self.saturation_operand(word), word & 31);
        self.put_saturated(field(word, 8, 4), value);
        Ok(())
    }
    pub(super) fn saturate_signed_halves(&mut self, word: u32) -> Done {
        self.saturate_halves(word, |value| alu::saturate_signed(value, (word & 15) + 1))
    }
    pub(super) fn saturate_unsigned_halves(&mut self, word: u32) -> Done {
        self.saturate_halves(word, |value| alu::saturate_unsigned(value, word & 15))
    }
    #[inline]
    fn saturate_halves(&mut self, word: u32, of: impl Fn(i64) -> alu::Saturated) -> Done {
        let value = self.get(field(word, 16, 4));
        let (low, high) = (of(alu::low(value)), of(alu::high(value)));
        self.flags.q |= low.is_cut() || high.is_cut();
        self.put(field(word, 8, 4), high.value() << 16 | low.value() & 0xffff);
        Ok(())
    }

    pub(super) fn shift_register<const KIND: u32>(&mut self, word: u32) -> Done {
        let by = self.get(field(word, 0, 4)) & 0xff;
        let n = self.get(field(word, 16, 4));
        let (value, carry) = alu::shift(KIND, n, by, self.flags.c);
        if word & 1 << 20 != 0 {
            self.set_nz(value);
            self.flags.c = carry;
        }
        self.put(field(word, 8, 4), value);
        Ok(())
    }

    /// `SXTAH`, `UXTAH`, `SXTAB16`, `UXTAB16`, `SXTAB`, `UXTAB`, and without addition where the first operand is the
    /// program counter.
    pub(super) fn extend<const KIND: u32>(&mut self, word: u32) -> Done {
        let m = self
            .get(field(word, 0, 4))
            .rotate_right((word >> 4 & 3) * 8);
        let n = field(word, 16, 4);
        let a = if n == PC { 0 } else { self.get(n) };
        let value = match KIND {
            0 => a.wrapping_add(m as i16 as u32),
            1 => a.wrapping_add(m & 0xffff),
            2 => halves(a, m as i8 as u32, (m >> 16) as i8 as u32),
            3 => halves(a, m & 0xff, m >> 16 & 0xff),
            4 => a.wrapping_add(m as i8 as u32),
            _ => a.wrapping_add(m & 0xff),
        };
        self.put(field(word, 8, 4), value);
        Ok(())
    }

    pub(super) fn reverse_wide<const KIND: u32>(&mut self, word: u32) -> Done {
        let value = reverse(KIND, self.get(field(word, 0, 4)));
        self.put(field(word, 8, 4), value);
        Ok(())
    }
    pub(super) fn leading_zeros(&mut self, word: u32) -> Done {
        let value = self.get(field(word, 0, 4)).leading_zeros();
        self.put(field(word, 8, 4), value);
        Ok(())
    }
    /// `PKHBT` and `PKHTB`.
    pub(super) fn pack(&mut self, word: u32) -> Done {
        let top_first = word & 1 << 5 != 0;
        let m = self.get(field(word, 0, 4));
        let kind = if top_first { 2 } else { 0 };
        let (m, _) = alu::shift_immediate(kind, m, Self::lowest(word), false);
        let n = self.get(field(word, 16, 4));
        let value = match top_first {
            true => n & 0xffff_0000 | m & 0xffff,
            false => m & 0xffff_0000 | n & 0xffff,
        };
        self.put(field(word, 8, 4), value);
        Ok(())
    }
}

/// Adds to both halves of a word.
const fn halves(a: u32, low: u32, high: u32) -> u32 {
    (a >> 16).wrapping_add(high) << 16 | a.wrapping_add(low) & 0xffff
}
