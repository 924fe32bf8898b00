//! Moves of floating-point registers, to and from memory and the core's (ARMv7-M ARM, A6.5 to A6.7).

use super::access::places;
use super::float::{destination, first, second};
use super::{field, Core, Done, Peripherals, PC};

/// The single that begins a double; the FPv4-SP has sixteen doubles.
const fn double(low: usize, top: usize) -> Option<usize> {
    match top {
        0 => Some(2 * low),
        _ => None,
    }
}

impl<P: Peripherals + 'static> Core<P> {
    pub(super) fn move_to_single(&mut self, word: u32) -> Done {
        self.use_float()?;
        self.s[first(word)] = self.get(field(word, 12, 4));
        Ok(())
    }
    pub(super) fn move_from_single(&mut self, word: u32) -> Done {
        self.use_float()?;
        self.put(field(word, 12, 4), self.s[first(word)]);
        Ok(())
    }

    /// The single that half a double is.
    fn half_double(word: u32) -> Option<usize> {
        double(field(word, 16, 4), field(word, 7, 1)).map(|d| d | field(word, 21, 1))
    }
    pub(super) fn move_to_half_double(&mut self, word: u32) -> Done {
        self.use_float()?;
        let Some(half) = Self::half_double(word) else {
            return self.undefined(word);
        };
        self.s[half] = self.get(field(word, 12, 4));
        Ok(())
    }
    pub(super) fn move_from_half_double(&mut self, word: u32) -> Done {
        self.use_float()?;
        let Some(half) = Self::half_double(word) else {
            return self.undefined(word);
        };
        self.put(field(word, 12, 4), self.s[half]);
        Ok(())
    }

    pub(super) fn move_two_singles(&mut self, word: u32) -> Done {
        self.move_two(word, Some(second(word)).filter(|m| *m < 31))
    }
    pub(super) fn move_double(&mut self, word: u32) -> Done {
        self.move_two(word, double(field(word, 0, 4), field(word, 5, 1)))
    }
    fn move_two(&mut self, word: u32, at: Option<usize>) -> Done {
        self.use_float()?;
        let Some(at) = at else {
            return self.undefined(word);
        };
        let (t, t2) = (field(word, 12, 4), field(word, 16, 4));
        if word & 1 << 20 != 0 {
            self.put(t, self.s[at]);
            self.put(t2, self.s[at + 1]);
        } else {
            (self.s[at], self.s[at + 1]) = (self.get(t), self.get(t2));
        }
        Ok(())
    }

    /// Address of `VLDR` and `VSTR`.
    fn float_address(&self, word: u32) -> u32 {
        let n = field(word, 16, 4);
        let base = if n == PC {
            self.get(n) & !3
        } else {
            self.get(n)
        };
        let offset = (word & 0xff) << 2;
        match word & 1 << 23 {
            0 => base.wrapping_sub(offset),
            _ => base.wrapping_add(offset),
        }
    }
    fn double_destination(word: u32) -> Option<usize> {
        double(field(word, 12, 4), field(word, 22, 1))
    }
    pub(super) fn load_single(&mut self, word: u32) -> Done {
        self.load_words(word, destination(word), 1, self.float_address(word))
    }
    pub(super) fn store_single(&mut self, word: u32) -> Done {
        self.store_words(word, destination(word), 1, self.float_address(word))
    }
    pub(super) fn load_double(&mut self, word: u32) -> Done {
        match Self::double_destination(word) {
            Some(d) => self.load_words(word, d, 2, self.float_address(word)),
            None => self.undefined(word),
        }
    }
    pub(super) fn store_double(&mut self, word: u32) -> Done {
        match Self::double_destination(word) {
            Some(d) => self.store_words(word, d, 2, self.float_address(word)),
            None => self.undefined(word),
        }
    }
    fn load_words(&mut self, word: u32, first: usize, count: usize, start: u32) -> Done {
        self.use_float()?;
        self.more(self.costs.register * count as u32);
        if first + count > self.s.len() {
            return self.undefined(word);
        }
        for (register, at) in (first..first + count).zip(places(start)) {
            self.s[register] = self.load_aligned(at)?;
        }
        Ok(())
    }
    fn store_words(&mut self, word: u32, first: usize, count: usize, start: u32) -> Done {
        self.use_float()?;
        self.more(self.costs.register * count as u32);
        if first + count > self.s.len() {
            return self.undefined(word);
        }
        for (register, at) in (first..first + count).zip(places(start)) {
            self.store_aligned(at, self.s[register])?;
        }
        Ok(())
    }

    /// First register, count, address, and what the base becomes, of `VLDM` and `VSTM`; `VPUSH` and `VPOP` are among them.
    fn float_list(&self, word: u32) -> Option<(usize, usize, u32, Option<u32>)> {
        let count = field(word, 0, 8);
        let first = match word & 1 << 8 {
            0 => destination(word),
            _ => Self::double_destination(word).filter(|_| count % 2 == 0)?,
        };
        let base = self.get(field(word, 16, 4));
        let bytes = 4 * count as u32;
        let (start, back) = match (word >> 23 & 3, word >> 21 & 1) {
            (1, 0) => (base, None),
            (1, _) => (base, Some(base.wrapping_add(bytes))),
            (2, 1) => (base.wrapping_sub(bytes), Some(base.wrapping_sub(bytes))),
            _ => return None,
        };
        (count > 0).then_some((first, count, start, back))
    }
    pub(super) fn load_floats(&mut self, word: u32) -> Done {
        let Some((first, count, start, back)) = self.float_list(word) else {
            return self.undefined(word);
        };
        self.load_words(word, first, count, start)?;
        self.put_back(word, back)
    }
    pub(super) fn store_floats(&mut self, word: u32) -> Done {
        let Some((first, count, start, back)) = self.float_list(word) else {
            return self.undefined(word);
        };
        self.store_words(word, first, count, start)?;
        self.put_back(word, back)
    }
    fn put_back(&mut self, word: u32, back: Option<u32>) -> Done {
        if let Some(back) = back {
            self.put(field(word, 16, 4), back);
        }
        Ok(())
    }
}
