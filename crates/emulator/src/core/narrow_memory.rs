//! The 16-bit instructions that load and store (ARMv7-M ARM, A5.2.4, A5.2.5).

use super::access::places;
use super::{field, Core, Done, Peripherals, LR, PC, SP};

/// The registers of a list, lowest first.
pub(super) fn listed(list: u32) -> impl Iterator<Item = usize> {
    (0..16).filter(move |n| list >> n & 1 != 0)
}

/// Copies the sign of a byte or half-word upwards.
#[inline]
pub(super) const fn sign<const N: usize>(value: u32) -> u32 {
    match N {
        1 => value as i8 as u32,
        2 => value as i16 as u32,
        _ => value,
    }
}

/// What becomes of the base of a multiple load or store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// It is moved beyond what was transferred.
    Moves,
    /// It stays.
    Stays,
}

impl Base {
    pub(super) const fn of(moves: bool) -> Self {
        match moves {
            true => Self::Moves,
            false => Self::Stays,
        }
    }
}

impl<P: Peripherals + 'static> Core<P> {
    pub(super) fn load_literal(&mut self, op: u32) -> Done {
        let address = (self.r[PC] & !3).wrapping_add((op & 0xff) << 2);
        self.r[field(op, 8, 3)] = self.load::<4>(address)?;
        Ok(())
    }

    #[inline]
    fn indexed(&self, op: u32) -> u32 {
        self.r[field(op, 3, 3)].wrapping_add(self.r[field(op, 6, 3)])
    }
    pub(super) fn store_indexed<const N: usize>(&mut self, op: u32) -> Done {
        let address = self.indexed(op);
        self.aligned::<N>(address)?;
        self.store::<N>(address, self.r[field(op, 0, 3)])
    }
    pub(super) fn load_indexed<const N: usize>(&mut self, op: u32) -> Done {
        let address = self.indexed(op);
        self.aligned::<N>(address)?;
        self.r[field(op, 0, 3)] = self.load::<N>(address)?;
        Ok(())
    }
    pub(super) fn load_indexed_signed<const N: usize>(&mut self, op: u32) -> Done {
        let address = self.indexed(op);
        self.aligned::<N>(address)?;
        self.r[field(op, 0, 3)] = sign::<N>(self.load::<N>(address)?);
        Ok(())
    }

    #[inline]
    fn offset<const N: usize>(&self, op: u32) -> u32 {
        self.r[field(op, 3, 3)].wrapping_add((op >> 6 & 31) * N as u32)
    }
    pub(super) fn store_offset<const N: usize>(&mut self, op: u32) -> Done {
        let address = self.offset::<N>(op);
        self.aligned::<N>(address)?;
        self.store::<N>(address, self.r[field(op, 0, 3)])
    }
    pub(super) fn load_offset<const N: usize>(&mut self, op: u32) -> Done {
        let address = self.offset::<N>(op);
        self.aligned::<N>(address)?;
        self.r[field(op, 0, 3)] = self.load::<N>(address)?;
        Ok(())
    }
    pub(super) fn store_on_stack(&mut self, op: u32) -> Done {
        let address = self.r[SP].wrapping_add((op & 0xff) << 2);
        self.store::<4>(address, self.r[field(op, 8, 3)])
    }
    pub(super) fn load_from_stack(&mut self, op: u32) -> Done {
        let address = self.r[SP].wrapping_add((op & 0xff) << 2);
        self.r[field(op, 8, 3)] = self.load::<4>(address)?;
        Ok(())
    }

    pub(super) fn push(&mut self, op: u32) -> Done {
        let list = op & 0xff | (op >> 8 & 1) << LR;
        self.store_before(SP, list)
    }
    pub(super) fn pop(&mut self, op: u32) -> Done {
        let list = op & 0xff | (op >> 8 & 1) << PC;
        self.load_after(SP, list, Base::Moves)
    }
    pub(super) fn store_many_low(&mut self, op: u32) -> Done {
        self.store_after(field(op, 8, 3), op & 0xff, Base::Moves)
    }
    pub(super) fn load_many_low(&mut self, op: u32) -> Done {
        let base = field(op, 8, 3);
        let list = op & 0xff;
        self.load_after(base, list, Base::of(list >> base & 1 == 0))
    }

    /// Loads `list` from the address in `base` upwards; what is loaded into the program counter branches.
    pub(super) fn load_after(&mut self, base: usize, list: u32, then: Base) -> Done {
        let start = self.r[base];
        self.load_list(
            base,
            list,
            start,
            start.wrapping_add(4 * list.count_ones()),
            then,
        )
    }
    /// Loads `list` from below the address in `base`.
    pub(super) fn load_before(&mut self, base: usize, list: u32, then: Base) -> Done {
        let start = self.r[base].wrapping_sub(4 * list.count_ones());
        self.load_list(base, list, start, start, then)
    }
    fn load_list(&mut self, base: usize, list: u32, start: u32, back: u32, then: Base) -> Done {
        if list == 0 {
            return self.undefined(list);
        }
        self.more(self.costs.register * list.count_ones());
        let mut words = [0; 16];
        for (at, word) in places(start).zip(words.iter_mut().take(list.count_ones() as usize)) {
            *word = self.load_aligned(at)?;
        }
        if then == Base::Moves {
            self.put(base, back);
        }
        let mut target = None;
        for (register, word) in listed(list).zip(words) {
            match register {
                PC => target = Some(word),
                register => self.put(register, word),
            }
        }
        target.map_or(Ok(()), |target| self.branch_exchange(target))
    }

    /// Stores `list` from the address in `base` upwards.
    pub(super) fn store_after(&mut self, base: usize, list: u32, then: Base) -> Done {
        let start = self.r[base];
        self.store_list(list, start)?;
        if then == Base::Moves {
            self.put(base, start.wrapping_add(4 * list.count_ones()));
        }
        Ok(())
    }
    /// Stores `list` below the address in `base`, and leaves the lower address there.
    pub(super) fn store_before(&mut self, base: usize, list: u32) -> Done {
        let start = self.r[base].wrapping_sub(4 * list.count_ones());
        self.store_list(list, start)?;
        self.put(base, start);
        Ok(())
    }
    pub(super) fn store_list(&mut self, list: u32, start: u32) -> Done {
        if list == 0 {
            return self.undefined(list);
        }
        self.more(self.costs.register * list.count_ones());
        for (at, register) in places(start).zip(listed(list)) {
            self.store_aligned(at, self.r[register])?;
        }
        Ok(())
    }
}
