//! A set of packets, by their numbers: those that are there, or still to be sent. Tests: `bits_tests.rs`.

/// A set of numbers below `8 * BYTES`.
#[derive(Debug, Clone)]
pub(crate) struct Bits<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Bits<BYTES> {
    pub(crate) const EMPTY: Self = Self([0; BYTES]);

    /// Its memory, to be used for something else: the set is to be cleared afterwards.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    /// Empties the set.
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }
    /// Makes it 0..`n`.
    pub(crate) fn fill_to(&mut self, n: u16) {
        self.clear();
        (0..n).for_each(|k| {
            self.insert(k);
        });
    }
    /// Adds `k`; whether it was new.
    pub(crate) fn insert(&mut self, k: u16) -> bool {
        let bit = 1 << (k % 8);
        match self.0.get_mut(usize::from(k / 8)) {
            Some(byte) if *byte & bit == 0 => {
                *byte |= bit;
                true
            }
            Some(_) | None => false,
        }
    }
    /// Takes `k` out.
    pub(crate) fn remove(&mut self, k: u16) {
        if let Some(byte) = self.0.get_mut(usize::from(k / 8)) {
            *byte &= !(1 << (k % 8));
        }
    }
    /// How many members there are.
    pub(crate) fn count(&self) -> u16 {
        self.0.iter().map(|byte| byte.count_ones() as u16).sum()
    }
    /// The lowest member that is not below `from`.
    pub(crate) fn first_from(&self, from: u16) -> Option<u16> {
        let mut at = usize::from(from / 8);
        let mut byte = self.0.get(at)? & (0xff << (from % 8));
        while byte == 0 {
            at += 1;
            byte = *self.0.get(at)?;
        }
        u16::try_from(at * 8)
            .ok()
            .map(|k| k + byte.trailing_zeros() as u16)
    }
    /// What is *not* in the set, of numbers from `from` on and below `n`.
    pub(crate) fn missing(&self, from: u16, n: u16) -> impl Iterator<Item = u16> + '_ {
        let first = usize::from(from / 8);
        let bytes = (first..usize::from(n).div_ceil(8)).map(move |i| {
            let before = if i == first { from % 8 } else { 0 };
            (i, self.missing_byte(i, n) & (0xff << before))
        });
        bytes.flat_map(|(i, byte)| {
            let mut left = byte;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some((i * 8) as u16 + bit as u16)
            })
        })
    }
    /// Byte `i` of the bit vector of what is *not* in the set, of numbers below `n`.
    pub(crate) fn missing_byte(&self, i: usize, n: u16) -> u8 {
        let below = usize::from(n).saturating_sub(i * 8).min(8);
        let mask = if below == 8 { 0xff } else { (1u8 << below) - 1 };
        self.0.get(i).map_or(0, |byte| !byte & mask)
    }
}

#[cfg(test)]
#[path = "bits_tests.rs"]
mod tests;
