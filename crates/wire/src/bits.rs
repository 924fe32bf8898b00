//! Bits of a frame, the lowest of each byte first: the last byte is filled up with zeros.
//! Tests: with those who use it, `route/tests.rs`.

use crate::{Reader, WireError, Writer};

/// Writes bits.
pub(crate) struct BitWriter<'w, 'b> {
    to: &'w mut Writer<'b>,
    /// Those that make no byte yet, and how many.
    rest: u32,
    count: u32,
}

impl<'w, 'b> BitWriter<'w, 'b> {
    pub(crate) const fn new(to: &'w mut Writer<'b>) -> Self {
        Self {
            to,
            rest: 0,
            count: 0,
        }
    }
    /// Writes the `count` lowest bits of `value`, 16 at most.
    pub(crate) fn bits(&mut self, value: u16, count: u32) -> Result<(), WireError> {
        self.rest |= u32::from(value) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.to.u8(self.rest as u8)?;
            (self.rest, self.count) = (self.rest >> 8, self.count - 8);
        }
        Ok(())
    }
    /// Writes so many ones, and a zero.
    pub(crate) fn ones(&mut self, count: usize) -> Result<(), WireError> {
        (0..count).try_for_each(|_| self.bits(1, 1))?;
        self.bits(0, 1)
    }
    /// Fills up the last byte.
    pub(crate) fn end(self) -> Result<(), WireError> {
        if self.count > 0 {
            self.to.u8(self.rest as u8)?;
        }
        Ok(())
    }
}

/// Reads bits.
#[derive(Debug, Clone)]
pub(crate) struct BitReader<'b> {
    from: Reader<'b>,
    rest: u32,
    count: u32,
}

impl<'b> BitReader<'b> {
    pub(crate) const fn new(from: Reader<'b>) -> Self {
        Self {
            from,
            rest: 0,
            count: 0,
        }
    }
    /// The next `count` bits, 16 at most.
    pub(crate) fn bits(&mut self, count: u32) -> Result<u16, WireError> {
        while self.count < count {
            self.rest |= u32::from(self.from.u8()?) << self.count;
            self.count += 8;
        }
        let value = self.rest & ((1 << count) - 1);
        (self.rest, self.count) = (self.rest >> count, self.count - count);
        Ok(value as u16)
    }
    /// How many ones come before the next zero, which it takes, too.
    pub(crate) fn ones(&mut self) -> Result<u8, WireError> {
        let mut count: u8 = 0;
        while self.bits(1)? == 1 {
            count = count.checked_add(1).ok_or(WireError::Malformed)?;
        }
        Ok(count)
    }
    /// Nothing is left but what fills up the last byte.
    pub(crate) fn end(self) -> Result<(), WireError> {
        match self.rest {
            0 => self.from.end(),
            _ => Err(WireError::Malformed),
        }
    }
}
