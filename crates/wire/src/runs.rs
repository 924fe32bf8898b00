//! Numbers told as runs: how many follow one another, then how many do not, and so on. Where few of many are told,
//! a run takes little more than a byte, and a bit vector a bit for each that is not told.
//!
//! All are told as Elias's gamma code has them: of n >= 1 with z + 1 bits, z zeros, a one, and the z bits below the
//! highest. Of a gap less one, the lowest [`LOW_BITS`] bits follow the code of the others, plus one.
//! Zeros at the end are no code, so frames may be filled up with them.

use crate::bits::{BitReader, BitWriter};
use crate::{Reader, WireError, Writer};

/// Bits of a gap that are told as they are: gaps are mostly as long as those between packets of which one in ten to
/// one in a hundred is lost.
const LOW_BITS: u32 = 3;

const fn gamma_bits(n: u16) -> u32 {
    2 * n.ilog2() + 1
}

/// A run, and the numbers between the one before and it, less one.
#[derive(Clone, Copy)]
struct Run {
    gap: Option<u16>,
    len: u16,
}

impl Run {
    fn bits(self) -> u32 {
        let gap = self
            .gap
            .map_or(0, |gap| gamma_bits((gap >> LOW_BITS) + 1) + LOW_BITS);
        gap + gamma_bits(self.len)
    }
    fn emit(self, bits: &mut BitWriter<'_, '_>) -> Result<(), WireError> {
        let gamma = |bits: &mut BitWriter<'_, '_>, n: u16| {
            let low = n.ilog2();
            bits.bits(0, low)?;
            bits.bits(1, 1)?;
            bits.bits(n & !(1 << low), low)
        };
        if let Some(gap) = self.gap {
            gamma(bits, (gap >> LOW_BITS) + 1)?;
            bits.bits(gap & ((1 << LOW_BITS) - 1), LOW_BITS)?;
        }
        gamma(bits, self.len)
    }
}

/// What fitted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Bytes taken.
    pub bytes: usize,
    /// The first number that did not fit in.
    pub next: Option<u16>,
}

/// Tells `numbers`, which rise and of which the first is known, in `room`: whole runs, as many as fit in.
///
/// # Errors
/// [`WireError::Malformed`] where they do not rise; none that comes about otherwise.
pub fn pack(numbers: impl Iterator<Item = u16>, room: &mut [u8]) -> Result<Packed, WireError> {
    let mut left = room.len() as u32 * 8;
    let (all, mut numbers) = (left, numbers.peekable());
    let mut w = Writer::new(room);
    let mut bits = BitWriter::new(&mut w);
    // The number after the run before.
    let mut after = None;
    let next = loop {
        let Some(from) = numbers.next() else {
            break None;
        };
        let mut end = from;
        while let Some(next) = numbers.next_if(|next| Some(*next) == end.checked_add(1)) {
            end = next;
        }
        let less_one = |after: u16| from.checked_sub(after)?.checked_sub(1);
        let run = Run {
            gap: match after {
                None => None,
                Some(after) => Some(less_one(after).ok_or(WireError::Malformed)?),
            },
            len: (end - from).saturating_add(1),
        };
        if run.bits() > left {
            break Some(from);
        }
        run.emit(&mut bits)?;
        left -= run.bits();
        after = end.checked_add(1);
    };
    bits.end()?;
    Ok(Packed {
        bytes: (all - left).div_ceil(8) as usize,
        next,
    })
}

/// The numbers that are told from `first` on, all below `below`.
pub(crate) fn unpack(first: u16, below: u16, bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    Runs {
        bits: BitReader::new(Reader::new(bytes)),
        at: first,
        len: None,
    }
    .take_while(move |number| *number < below)
}

struct Runs<'b> {
    bits: BitReader<'b>,
    at: u16,
    /// Of the run at hand, numbers that are left; `None` before the first.
    len: Option<u16>,
}

impl Runs<'_> {
    fn gamma(&mut self) -> Option<u16> {
        let mut low = 0;
        while self.bits.bits(1).ok()? == 0 {
            low += 1;
        }
        (low < u16::BITS).then_some(())?;
        Some(1 << low | self.bits.bits(low).ok()?)
    }
    fn run(&mut self) -> Option<u16> {
        if self.len.is_some() {
            let high = self.gamma()? - 1;
            let low = self.bits.bits(LOW_BITS).ok()?;
            let gap = high.checked_mul(1 << LOW_BITS)?.checked_add(low)?;
            self.at = self.at.checked_add(gap)?.checked_add(1)?;
        }
        self.gamma()
    }
}

impl Iterator for Runs<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let left = match self.len {
            None | Some(0) => self.run()?,
            Some(left) => left,
        };
        self.len = Some(left - 1);
        let number = self.at;
        self.at = number.checked_add(1)?;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    extern crate std;
    use std::vec::Vec;

    #[test]
    fn a_packet_in_fifty_takes_a_byte() {
        let numbers = (7..500).step_by(50);
        let mut room = [0; 63];
        let packed = pack(numbers.clone(), &mut room).unwrap();
        // Ten runs of one: a bit, then nine times gaps of 49 (six and one more: 5 bits, and 3) and a bit.
        assert_eq!((packed.bytes, packed.next), (11, None));
        assert!(unpack(7, 500, &room).eq(numbers));
    }

    #[test]
    fn one_run_takes_its_length() {
        let mut room = [0; 8];
        let packed = pack(16..504, &mut room).unwrap();
        // 488 has nine bits.
        assert_eq!(packed.bytes, 3);
        assert!(unpack(16, 504, &room).eq(16..504));
        assert!(unpack(16, 100, &room).eq(16..100));
        assert_eq!(pack(core::iter::empty(), &mut room).unwrap().bytes, 0);
        assert_eq!(
            pack([3, 3].into_iter(), &mut room),
            Err(WireError::Malformed)
        );
    }

    proptest! {
        #[test]
        fn what_fits_in_comes_back(
            numbers in proptest::collection::btree_set(0..2_000_u16, 0..300), room in 0..=100_usize,
        ) {
            let numbers: Vec<u16> = numbers.into_iter().collect();
            let mut bytes = [0; 110];
            let packed = pack(numbers.iter().copied(), &mut bytes[..room]).unwrap();
            prop_assert!(packed.bytes <= room);
            prop_assert!(bytes[packed.bytes..].iter().all(|byte| *byte == 0));
            let told = numbers.iter().copied().take_while(|n| packed.next.is_none_or(|next| *n < next));
            // Frames may be filled up.
            let first = numbers.first().copied().unwrap_or(0);
            prop_assert!(unpack(first, 2_000, &bytes).eq(told.clone()));
            prop_assert!(unpack(first, 2_000, &bytes[..packed.bytes]).eq(told));
        }

        #[test]
        fn any_bytes_end(first: u16, bytes in proptest::collection::vec(any::<u8>(), 0..=113)) {
            let told: Vec<u16> = unpack(first, 16_384, &bytes).collect();
            prop_assert!(told.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
