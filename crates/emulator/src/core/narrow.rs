//! The 16-bit instructions that compute and branch (ARMv7-M ARM, A5.2), and the table of all.

use super::row::{row, Pattern};
use super::{alu, field, Core, Done, Fault, Peripherals, LR, PC, SP};

impl<P: Peripherals + 'static> Core<P> {
    const NARROW: &'static [Pattern<P>] = &[
        // A5.2.1: shift, add, subtract, move, compare.
        row(0xf800, 0x0000, Self::shift_by::<0>),
        row(0xf800, 0x0800, Self::shift_by::<1>),
        row(0xf800, 0x1000, Self::shift_by::<2>),
        row(0xfe00, 0x1800, Self::add_low),
        row(0xfe00, 0x1a00, Self::subtract_low),
        row(0xfe00, 0x1c00, Self::add_three),
        row(0xfe00, 0x1e00, Self::subtract_three),
        row(0xf800, 0x2000, Self::move_byte),
        row(0xf800, 0x2800, Self::compare_byte),
        row(0xf800, 0x3000, Self::add_byte),
        row(0xf800, 0x3800, Self::subtract_byte),
        // A5.2.2: data processing.
        row(0xffc0, 0x4000, Self::and),
        row(0xffc0, 0x4040, Self::exclusive_or),
        row(0xffc0, 0x4080, Self::shift_low::<0>),
        row(0xffc0, 0x40c0, Self::shift_low::<1>),
        row(0xffc0, 0x4100, Self::shift_low::<2>),
        row(0xffc0, 0x4140, Self::add_carry),
        row(0xffc0, 0x4180, Self::subtract_carry),
        row(0xffc0, 0x41c0, Self::shift_low::<3>),
        row(0xffc0, 0x4200, Self::test),
        row(0xffc0, 0x4240, Self::negate),
        row(0xffc0, 0x4280, Self::compare_low),
        row(0xffc0, 0x42c0, Self::compare_negative),
        row(0xffc0, 0x4300, Self::or),
        row(0xffc0, 0x4340, Self::multiply_low),
        row(0xffc0, 0x4380, Self::clear_bits),
        row(0xffc0, 0x43c0, Self::invert),
        // A5.2.3: high registers, branch and exchange.
        row(0xff00, 0x4400, Self::add_high),
        row(0xff00, 0x4500, Self::compare_high),
        row(0xff00, 0x4600, Self::move_high),
        row(0xff80, 0x4700, Self::exchange),
        row(0xff80, 0x4780, Self::link_exchange),
        // A5.2.4: loads and stores.
        row(0xf800, 0x4800, Self::load_literal),
        row(0xfe00, 0x5000, Self::store_indexed::<4>),
        row(0xfe00, 0x5200, Self::store_indexed::<2>),
        row(0xfe00, 0x5400, Self::store_indexed::<1>),
        row(0xfe00, 0x5600, Self::load_indexed_signed::<1>),
        row(0xfe00, 0x5800, Self::load_indexed::<4>),
        row(0xfe00, 0x5a00, Self::load_indexed::<2>),
        row(0xfe00, 0x5c00, Self::load_indexed::<1>),
        row(0xfe00, 0x5e00, Self::load_indexed_signed::<2>),
        row(0xf800, 0x6000, Self::store_offset::<4>),
        row(0xf800, 0x6800, Self::load_offset::<4>),
        row(0xf800, 0x7000, Self::store_offset::<1>),
        row(0xf800, 0x7800, Self::load_offset::<1>),
        row(0xf800, 0x8000, Self::store_offset::<2>),
        row(0xf800, 0x8800, Self::load_offset::<2>),
        row(0xf800, 0x9000, Self::store_on_stack),
        row(0xf800, 0x9800, Self::load_from_stack),
        // A6.7.7, A6.7.5: addresses.
        row(0xf800, 0xa000, Self::address_here),
        row(0xf800, 0xa800, Self::address_on_stack),
        // A5.2.5: miscellaneous.
        row(0xff80, 0xb000, Self::raise_stack),
        row(0xff80, 0xb080, Self::lower_stack),
        row(0xf500, 0xb100, Self::compare_and_branch),
        row(0xffc0, 0xb200, Self::extend_low::<0>),
        row(0xffc0, 0xb240, Self::extend_low::<1>),
        row(0xffc0, 0xb280, Self::extend_low::<2>),
        row(0xffc0, 0xb2c0, Self::extend_low::<3>),
        row(0xfe00, 0xb400, Self::push),
        row(0xffec, 0xb660, Self::change_state),
        row(0xffc0, 0xba00, Self::reverse_low::<0>),
        row(0xffc0, 0xba40, Self::reverse_low::<1>),
        row(0xffc0, 0xbac0, Self::reverse_low::<3>),
        row(0xfe00, 0xbc00, Self::pop),
        row(0xff00, 0xbe00, Self::breakpoint),
        row(0xff0f, 0xbf00, Self::hint_narrow),
        row(0xff00, 0xbf00, Self::if_then),
        // A6.7.40, A6.7.129: multiple loads and stores.
        row(0xf800, 0xc000, Self::store_many_low),
        row(0xf800, 0xc800, Self::load_many_low),
        // A5.2.6: conditional branch, supervisor call.
        row(0xff00, 0xde00, Self::undefined),
        row(0xff00, 0xdf00, Self::supervisor_call),
        row(0xf000, 0xd000, Self::branch_condition),
        row(0xf800, 0xe000, Self::branch_always),
    ];

    /// Flags are set outside IT blocks only.
    #[inline]
    fn narrow_nz(&mut self, value: u32) {
        if !self.in_it {
            self.set_nz(value);
        }
    }

    #[inline]
    fn narrow_sum(&mut self, to: usize, sum: alu::Sum) -> Done {
        self.r[to] = sum.value;
        if !self.in_it {
            self.set_nzcv(sum);
        }
        Ok(())
    }

    #[inline]
    fn narrow_shifted(&mut self, to: usize, (value, carry): alu::Shifted) -> Done {
        self.r[to] = value;
        if !self.in_it {
            self.set_nz(value);
            self.flags.c = carry;
        }
        Ok(())
    }

    #[inline]
    fn narrow_logic(&mut self, to: usize, value: u32) -> Done {
        self.r[to] = value;
        self.narrow_nz(value);
        Ok(())
    }

    fn shift_by<const KIND: u32>(&mut self, op: u32) -> Done {
        let value = self.r[field(op, 3, 3)];
        let shifted = alu::shift_immediate(KIND, value, op >> 6 & 31, self.flags.c);
        self.narrow_shifted(field(op, 0, 3), shifted)
    }

    fn shift_low<const KIND: u32>(&mut self, op: u32) -> Done {
        let by = self.r[field(op, 3, 3)] & 0xff;
        let shifted = alu::shift(KIND, self.r[field(op, 0, 3)], by, self.flags.c);
        self.narrow_shifted(field(op, 0, 3), shifted)
    }

    fn add_low(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 3, 3)], self.r[field(op, 6, 3)], false);
        self.narrow_sum(field(op, 0, 3), sum)
    }
    fn subtract_low(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 3, 3)], !self.r[field(op, 6, 3)], true);
        self.narrow_sum(field(op, 0, 3), sum)
    }
    fn add_three(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 3, 3)], op >> 6 & 7, false);
        self.narrow_sum(field(op, 0, 3), sum)
    }
    fn subtract_three(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 3, 3)], !(op >> 6 & 7), true);
        self.narrow_sum(field(op, 0, 3), sum)
    }
    fn move_byte(&mut self, op: u32) -> Done {
        self.narrow_logic(field(op, 8, 3), op & 0xff)
    }
    fn compare_byte(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 8, 3)], !(op & 0xff), true);
        self.set_nzcv(sum);
        Ok(())
    }
    fn add_byte(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 8, 3)], op & 0xff, false);
        self.narrow_sum(field(op, 8, 3), sum)
    }
    fn subtract_byte(&mut self, op: u32) -> Done {
        let sum = alu::add(self.r[field(op, 8, 3)], !(op & 0xff), true);
        self.narrow_sum(field(op, 8, 3), sum)
    }

    /// Rd and Rm of a data processing instruction.
    #[inline]
    fn two(&self, op: u32) -> (u32, u32) {
        (self.r[field(op, 0, 3)], self.r[field(op, 3, 3)])
    }
    fn and(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), d & m)
    }
    fn exclusive_or(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), d ^ m)
    }
    fn or(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), d | m)
    }
    fn clear_bits(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), d & !m)
    }
    fn invert(&mut self, op: u32) -> Done {
        let (_, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), !m)
    }
    fn multiply_low(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_logic(field(op, 0, 3), d.wrapping_mul(m))
    }
    fn add_carry(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_sum(field(op, 0, 3), alu::add(d, m, self.flags.c))
    }
    fn subtract_carry(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.narrow_sum(field(op, 0, 3), alu::add(d, !m, self.flags.c))
    }
    fn negate(&mut self, op: u32) -> Done {
        let (_, m) = self.two(op);
        self.narrow_sum(field(op, 0, 3), alu::add(!m, 0, true))
    }
    fn test(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.set_nz(d & m);
        Ok(())
    }
    fn compare_low(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.set_nzcv(alu::add(d, !m, true));
        Ok(())
    }
    fn compare_negative(&mut self, op: u32) -> Done {
        let (d, m) = self.two(op);
        self.set_nzcv(alu::add(d, m, false));
        Ok(())
    }

    /// Writes any register: the program counter branches (A2.3.1).
    #[inline]
    pub(super) fn put_any(&mut self, to: usize, value: u32) {
        match to {
            PC => self.branch(value),
            to => self.put(to, value),
        }
    }
    fn high(op: u32) -> (usize, usize) {
        (field(op, 0, 3) | field(op, 7, 1) << 3, field(op, 3, 4))
    }
    fn add_high(&mut self, op: u32) -> Done {
        let (d, m) = Self::high(op);
        self.put_any(d, self.get(d).wrapping_add(self.get(m)));
        Ok(())
    }
    fn compare_high(&mut self, op: u32) -> Done {
        let (n, m) = Self::high(op);
        self.set_nzcv(alu::add(self.get(n), !self.get(m), true));
        Ok(())
    }
    fn move_high(&mut self, op: u32) -> Done {
        let (d, m) = Self::high(op);
        self.put_any(d, self.get(m));
        Ok(())
    }
    fn exchange(&mut self, op: u32) -> Done {
        self.branch_exchange(self.get(field(op, 3, 4)))
    }
    fn link_exchange(&mut self, op: u32) -> Done {
        let target = self.get(field(op, 3, 4));
        self.r[LR] = self.next | 1;
        // BLX never ends an exception (A7.7.19).
        match target & 1 {
            0 => Err(Fault::NotThumb { address: target }),
            _ => {
                self.branch(target);
                Ok(())
            }
        }
    }

    fn address_here(&mut self, op: u32) -> Done {
        self.r[field(op, 8, 3)] = (self.r[PC] & !3).wrapping_add((op & 0xff) << 2);
        Ok(())
    }
    fn address_on_stack(&mut self, op: u32) -> Done {
        self.r[field(op, 8, 3)] = self.r[SP].wrapping_add((op & 0xff) << 2);
        Ok(())
    }
    fn raise_stack(&mut self, op: u32) -> Done {
        self.r[SP] = self.r[SP].wrapping_add((op & 0x7f) << 2);
        Ok(())
    }
    fn lower_stack(&mut self, op: u32) -> Done {
        self.r[SP] = self.r[SP].wrapping_sub((op & 0x7f) << 2);
        Ok(())
    }
    fn compare_and_branch(&mut self, op: u32) -> Done {
        let wants_nonzero = op & 0x800 != 0;
        if (self.r[field(op, 0, 3)] != 0) == wants_nonzero {
            let offset = (op >> 3 & 0x1f) << 1 | (op >> 9 & 1) << 6;
            self.branch(self.r[PC].wrapping_add(offset));
        }
        Ok(())
    }
    fn extend_low<const KIND: u32>(&mut self, op: u32) -> Done {
        let value = self.r[field(op, 3, 3)];
        self.r[field(op, 0, 3)] = match KIND {
            0 => value as i16 as u32,
            1 => value as i8 as u32,
            2 => value & 0xffff,
            _ => value & 0xff,
        };
        Ok(())
    }
    fn reverse_low<const KIND: u32>(&mut self, op: u32) -> Done {
        self.r[field(op, 0, 3)] = super::data::reverse(KIND, self.r[field(op, 3, 3)]);
        Ok(())
    }

    fn breakpoint(&mut self, op: u32) -> Done {
        let number = op as u8;
        Err(Fault::Breakpoint { number })
    }
    pub(super) fn undefined(&mut self, word: u32) -> Done {
        Err(Fault::Undefined { word })
    }
    fn hint_narrow(&mut self, op: u32) -> Done {
        self.hint(op >> 4 & 0xf)
    }
    fn if_then(&mut self, op: u32) -> Done {
        self.it = op as u8;
        Ok(())
    }

    fn branch_condition(&mut self, op: u32) -> Done {
        if self.holds(op >> 8 & 0xf) {
            let offset = (op as u8 as i8 as u32).wrapping_mul(2);
            self.branch(self.r[PC].wrapping_add(offset));
        }
        Ok(())
    }
    fn branch_always(&mut self, op: u32) -> Done {
        let offset = ((op << 21) as i32 >> 20) as u32;
        self.branch(self.r[PC].wrapping_add(offset));
        Ok(())
    }
}

/// All 16-bit instructions.
pub(super) fn narrow<P: Peripherals + 'static>() -> &'static [Pattern<P>] {
    Core::<P>::NARROW
}
