//! The field of 256 elements, x^8 + x^4 + x^3 + x^2 + 1: what symbols of a code are scaled with.
//! Tables of 768 bytes, made by the compiler: read-only memory on a mote. Addition is exclusive or.
//! Tests: at the end of this file.

const POLYNOMIAL: u16 = 0x11d;
/// Of the field's elements but 0.
const ORDER: usize = 255;

struct Tables {
    /// Powers of the generator, twice over, so that the sum of two logarithms needs no reduction.
    exp: [u8; 2 * ORDER + 2],
    log: [u8; ORDER + 1],
}

const fn tables() -> Tables {
    let (mut exp, mut log) = ([0; 2 * ORDER + 2], [0; ORDER + 1]);
    let (mut power, mut element) = (0, 1u16);
    while power < ORDER {
        exp[power] = element as u8;
        exp[power + ORDER] = element as u8;
        log[element as usize] = power as u8;
        element <<= 1;
        if element > 0xff {
            element ^= POLYNOMIAL;
        }
        power += 1;
    }
    Tables { exp, log }
}

static TABLES: Tables = tables();

/// Bytes of read-only memory that the tables take.
pub(super) const TABLE_BYTES: usize = size_of::<Tables>();

/// The product.
#[cfg(any(test, feature = "std"))]
pub(super) fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let log = |x: u8| usize::from(TABLES.log[usize::from(x)]);
    TABLES.exp[log(a) + log(b)]
}

/// What `a` is multiplied with to give 1; 0 for 0, which has none.
pub(super) fn inverse(a: u8) -> u8 {
    if a == 0 {
        return 0;
    }
    TABLES.exp[ORDER - usize::from(TABLES.log[usize::from(a)])]
}

/// Adds `from`, scaled by `factor`, to `into`, byte by byte.
pub(super) fn add_scaled(into: &mut [u8], from: &[u8], factor: u8) {
    if factor == 0 {
        return;
    }
    let log = usize::from(TABLES.log[usize::from(factor)]);
    for (to, byte) in into.iter_mut().zip(from) {
        if *byte != 0 {
            *to ^= TABLES.exp[log + usize::from(TABLES.log[usize::from(*byte)])];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication as in school, carries left out, and the remainder.
    fn slow(a: u8, b: u8) -> u8 {
        let mut product = (0..8)
            .filter(|bit| b & (1 << bit) != 0)
            .fold(0u16, |sum, bit| sum ^ (u16::from(a) << bit));
        for bit in (8..15).rev() {
            if product & (1 << bit) != 0 {
                product ^= POLYNOMIAL << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn products_are_those_of_the_school_and_inverses_undo_them() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                assert_eq!(multiply(a, b), slow(a, b), "{a} {b}");
            }
            assert_eq!(multiply(a, inverse(a)), u8::from(a != 0));
            let mut into = [7, 0, 1];
            add_scaled(&mut into, &[0, a, 3], a);
            assert_eq!(into, [7, slow(a, a), 1 ^ slow(3, a)]);
        }
    }
}
