//! Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999): bytes without a zero, so that zeros end
//! frames. A block is a count and the bytes up to the next zero; a full one (255) has no zero behind it.

/// What ends a frame on the line.
pub const DELIMITER: u8 = 0;

/// The longest block, its count included.
const FULL: usize = 0xff;

/// How many bytes `len` bytes are at most when stuffed, the delimiter not counted.
pub const fn stuffed_len(len: usize) -> usize {
    len + 1 + len / (FULL - 1)
}

/// Writes `bytes` stuffed to the front of `into`, and says how many that are; `None` where they do not fit.
pub fn stuff(bytes: &[u8], into: &mut [u8]) -> Option<usize> {
    let (mut count_at, mut at) = (0, 1);
    for byte in bytes {
        if at - count_at == FULL {
            *into.get_mut(count_at)? = FULL as u8;
            (count_at, at) = (at, at + 1);
        }
        if *byte == DELIMITER {
            *into.get_mut(count_at)? = (at - count_at) as u8;
            (count_at, at) = (at, at + 1);
        } else {
            *into.get_mut(at)? = *byte;
            at += 1;
        }
    }
    *into.get_mut(count_at)? = (at - count_at) as u8;
    (at <= into.len()).then_some(at)
}

/// Undoes the stuffing of `bytes` in place, and says how many are left at the front; `None` where they were
/// not stuffed so.
pub fn unstuff(bytes: &mut [u8]) -> Option<usize> {
    let (mut from, mut to) = (0, 0);
    while from < bytes.len() {
        let block = usize::from(bytes[from]);
        let end = from + block;
        if block == 0 || end > bytes.len() || bytes[from + 1..end].contains(&DELIMITER) {
            return None;
        }
        bytes.copy_within(from + 1..end, to);
        to += block - 1;
        from = end;
        if block != FULL && from < bytes.len() {
            bytes[to] = DELIMITER;
            to += 1;
        }
    }
    Some(to)
}

#[cfg(test)]
#[path = "cobs_tests.rs"]
mod tests;
