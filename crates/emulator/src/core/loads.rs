//! 32-bit instructions that load and store (ARMv7-M ARM, A5.3.5 to A5.3.10).

use super::narrow_memory::{sign, Base};
use super::{field, Core, Done, Fault, Peripherals, PC};

/// Index, add and write-back bits of a load or store with an 8-bit offset.
const INDEX: u32 = 1 << 10;
const ADD: u32 = 1 << 9;
const WRITE: u32 = 1 << 8;

impl<P: Peripherals + 'static> Core<P> {
    fn positive(&self, word: u32) -> u32 {
        self.get(field(word, 16, 4)).wrapping_add(word & 0xfff)
    }
    fn literal(&self, word: u32) -> u32 {
        let (base, offset) = (self.get(PC) & !3, word & 0xfff);
        match word & 1 << 23 {
            0 => base.wrapping_sub(offset),
            _ => base.wrapping_add(offset),
        }
    }
    fn by_register(&self, word: u32) -> u32 {
        let m = self.get(field(word, 0, 4)) << (word >> 4 & 3);
        self.get(field(word, 16, 4)).wrapping_add(m)
    }
    /// Address, and what the base becomes.
    fn by_offset(&self, word: u32) -> Result<(u32, Option<u32>), Fault> {
        let base = self.get(field(word, 16, 4));
        let moved = match word & ADD {
            0 => base.wrapping_sub(word & 0xff),
            _ => base.wrapping_add(word & 0xff),
        };
        match (word & INDEX, word & WRITE) {
            (0, 0) => Err(Fault::Undefined { word }),
            (0, _) => Ok((base, Some(moved))),
            (_, 0) => Ok((moved, None)),
            _ => Ok((moved, Some(moved))),
        }
    }

    /// Loads into any register; the program counter branches.
    #[inline]
    fn load_any<const N: usize, const SIGNED: u32>(&mut self, word: u32, address: u32) -> Done {
        let t = field(word, 12, 4);
        // PLD and PLI: hints that may do nothing.
        if N < 4 && t == PC {
            return Ok(());
        }
        self.aligned::<N>(address)?;
        let value = self.load::<N>(address)?;
        let value = if SIGNED == 1 { sign::<N>(value) } else { value };
        match t {
            PC => self.branch_exchange(value),
            t => {
                self.put(t, value);
                Ok(())
            }
        }
    }

    pub(super) fn load_positive<const N: usize, const SIGNED: u32>(&mut self, word: u32) -> Done {
        self.load_any::<N, SIGNED>(word, self.positive(word))
    }
    pub(super) fn load_wide_literal<const N: usize, const SIGNED: u32>(
        &mut self,
        word: u32,
    ) -> Done {
        self.load_any::<N, SIGNED>(word, self.literal(word))
    }
    pub(super) fn load_by_register<const N: usize, const SIGNED: u32>(
        &mut self,
        word: u32,
    ) -> Done {
        self.load_any::<N, SIGNED>(word, self.by_register(word))
    }
    pub(super) fn load_by_offset<const N: usize, const SIGNED: u32>(&mut self, word: u32) -> Done {
        let (address, back) = self.by_offset(word)?;
        if field(word, 12, 4) == PC && N == 4 {
            // The base moves before the branch, which may end an exception.
            self.aligned::<N>(address)?;
            let value = self.load::<N>(address)?;
            self.write_back(word, back);
            return self.branch_exchange(value);
        }
        self.load_any::<N, SIGNED>(word, address)?;
        self.write_back(word, back);
        Ok(())
    }
    fn write_back(&mut self, word: u32, back: Option<u32>) {
        if let Some(back) = back {
            self.put(field(word, 16, 4), back);
        }
    }

    fn store_any<const N: usize>(&mut self, word: u32, address: u32) -> Done {
        self.aligned::<N>(address)?;
        self.store::<N>(address, self.get(field(word, 12, 4)))
    }
    pub(super) fn store_positive<const N: usize>(&mut self, word: u32) -> Done {
        self.store_any::<N>(word, self.positive(word))
    }
    pub(super) fn store_by_register<const N: usize>(&mut self, word: u32) -> Done {
        self.store_any::<N>(word, self.by_register(word))
    }
    pub(super) fn store_by_offset<const N: usize>(&mut self, word: u32) -> Done {
        let (address, back) = self.by_offset(word)?;
        self.store_any::<N>(word, address)?;
        self.write_back(word, back);
        Ok(())
    }

    /// `STM`, `STMDB`, `LDM`, `LDMDB`: upwards from the base or below it.
    pub(super) fn store_many(&mut self, word: u32) -> Done {
        self.store_after(
            field(word, 16, 4),
            word & 0x5fff,
            Base::of(word & 1 << 21 != 0),
        )
    }
    pub(super) fn store_many_before(&mut self, word: u32) -> Done {
        let base = field(word, 16, 4);
        if word & 1 << 21 != 0 {
            return self.store_before(base, word & 0x5fff);
        }
        let list = word & 0x5fff;
        self.store_list(list, self.get(base).wrapping_sub(4 * list.count_ones()))
    }
    pub(super) fn load_many(&mut self, word: u32) -> Done {
        self.load_after(
            field(word, 16, 4),
            word & 0xdfff,
            Base::of(word & 1 << 21 != 0),
        )
    }
    pub(super) fn load_many_before(&mut self, word: u32) -> Done {
        self.load_before(
            field(word, 16, 4),
            word & 0xdfff,
            Base::of(word & 1 << 21 != 0),
        )
    }

    /// Address of a pair, and what its base becomes.
    fn pair(&self, word: u32) -> (u32, Option<u32>) {
        let n = field(word, 16, 4);
        let base = if n == PC {
            self.get(n) & !3
        } else {
            self.get(n)
        };
        let offset = (word & 0xff) << 2;
        let moved = match word & 1 << 23 {
            0 => base.wrapping_sub(offset),
            _ => base.wrapping_add(offset),
        };
        let address = if word & 1 << 24 == 0 { base } else { moved };
        (address, (word & 1 << 21 != 0).then_some(moved))
    }
    pub(super) fn load_pair(&mut self, word: u32) -> Done {
        let (address, back) = self.pair(word);
        self.more(2 * self.costs.register);
        let first = self.load_aligned(address)?;
        let second = self.load_aligned(address.wrapping_add(4))?;
        self.put(field(word, 12, 4), first);
        self.put(field(word, 8, 4), second);
        self.write_back(word, back);
        Ok(())
    }
    pub(super) fn store_pair(&mut self, word: u32) -> Done {
        let (address, back) = self.pair(word);
        self.more(2 * self.costs.register);
        self.store_aligned(address, self.get(field(word, 12, 4)))?;
        self.store_aligned(address.wrapping_add(4), self.get(field(word, 8, 4)))?;
        self.write_back(word, back);
        Ok(())
    }

    /// `LDREX` and its kin: one local monitor, which any exclusive store clears (A3.4).
    fn load_exclusive_at<const N: usize>(&mut self, word: u32, address: u32) -> Done {
        if address as usize % N != 0 {
            return Err(Fault::Unaligned { address });
        }
        let value = self.load::<N>(address)?;
        self.monitor = Some(address);
        self.put(field(word, 12, 4), value);
        Ok(())
    }
    pub(super) fn load_exclusive_word(&mut self, word: u32) -> Done {
        let address = self
            .get(field(word, 16, 4))
            .wrapping_add((word & 0xff) << 2);
        self.load_exclusive_at::<4>(word, address)
    }
    pub(super) fn load_exclusive<const N: usize>(&mut self, word: u32) -> Done {
        self.load_exclusive_at::<N>(word, self.get(field(word, 16, 4)))
    }
    fn store_exclusive_at<const N: usize>(&mut self, address: u32, to: usize, value: u32) -> Done {
        if address as usize % N != 0 {
            return Err(Fault::Unaligned { address });
        }
        let failed = match self.monitor.take() {
            Some(_) => {
                self.store::<N>(address, value)?;
                0
            }
            None => 1,
        };
        self.put(to, failed);
        Ok(())
    }
    pub(super) fn store_exclusive_word(&mut self, word: u32) -> Done {
        let address = self
            .get(field(word, 16, 4))
            .wrapping_add((word & 0xff) << 2);
        let value = self.get(field(word, 12, 4));
        self.store_exclusive_at::<4>(address, field(word, 8, 4), value)
    }
    pub(super) fn store_exclusive<const N: usize>(&mut self, word: u32) -> Done {
        let value = self.get(field(word, 12, 4));
        let address = self.get(field(word, 16, 4));
        self.store_exclusive_at::<N>(address, field(word, 0, 4), value)
    }

    /// `TBB` and `TBH`.
    pub(super) fn table_branch<const N: usize>(&mut self, word: u32) -> Done {
        let m = self.get(field(word, 0, 4)).wrapping_mul(N as u32);
        let address = self.get(field(word, 16, 4)).wrapping_add(m);
        let offset = self.load::<N>(address)?;
        self.branch(self.get(PC).wrapping_add(2 * offset));
        Ok(())
    }
}
