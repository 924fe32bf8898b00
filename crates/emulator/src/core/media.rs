//! Arithmetic on the halves and bytes of words, and saturating arithmetic (ARMv7-M ARM, A5.3.13 to A5.3.15).

use super::alu::{self, high, low};
use super::{field, Core, Done, Fault, Peripherals};

/// What becomes of the sum of two lanes.
#[derive(Clone, Copy)]
enum Lane {
    /// It wraps, and GE tells of its sign or carry.
    Wraps,
    /// It is cut to the lane.
    Saturates,
    /// It is halved.
    Halves,
}

/// How lanes are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// As two's complement.
    Signed,
    /// As they are.
    Unsigned,
}

/// One lane's result, and its bit of GE.
fn lane(kind: Lane, sign: Sign, bits: u32, value: i64, sum: Sum) -> (u32, bool) {
    match kind {
        Lane::Halves => ((value >> 1) as u32, false),
        Lane::Saturates if sign == Sign::Signed => {
            (alu::saturate_signed(value, bits).value(), false)
        }
        Lane::Saturates => (alu::saturate_unsigned(value, bits).value(), false),
        Lane::Wraps if sign == Sign::Signed || sum == Sum::Minus => (value as u32, value >= 0),
        Lane::Wraps => (value as u32, value >= 1 << bits),
    }
}

impl<P: Peripherals + 'static> Core<P> {
    /// `SADD16` to `UHSUB8`: all parallel additions and subtractions.
    pub(super) fn parallel(&mut self, word: u32) -> Done {
        let kind = match word >> 4 & 3 {
            0 => Lane::Wraps,
            1 => Lane::Saturates,
            2 => Lane::Halves,
            _ => return Err(Fault::Undefined { word }),
        };
        let sign = match word & 1 << 6 {
            0 => Sign::Signed,
            _ => Sign::Unsigned,
        };
        let (n, m) = (self.get(field(word, 16, 4)), self.get(field(word, 0, 4)));
        let wide = |value: u32| match sign {
            Sign::Signed => (low(value), high(value)),
            Sign::Unsigned => (i64::from(value as u16), i64::from(value >> 16)),
        };
        let ((n0, n1), (m0, m1)) = (wide(n), wide(m));
        let (value, ge) = match word >> 20 & 7 {
            0 => bytes(kind, sign, n, m, Sum::Plus),
            4 => bytes(kind, sign, n, m, Sum::Minus),
            1 => pair(kind, sign, (n0 + m0, Sum::Plus), (n1 + m1, Sum::Plus)),
            2 => pair(kind, sign, (n0 - m1, Sum::Minus), (n1 + m0, Sum::Plus)),
            6 => pair(kind, sign, (n0 + m1, Sum::Plus), (n1 - m0, Sum::Minus)),
            5 => pair(kind, sign, (n0 - m0, Sum::Minus), (n1 - m1, Sum::Minus)),
            _ => return Err(Fault::Undefined { word }),
        };
        if matches!(kind, Lane::Wraps) {
            self.flags.ge = ge;
        }
        self.put(field(word, 8, 4), value);
        Ok(())
    }

    /// `QADD`, `QDADD`, `QSUB`, `QDSUB`.
    pub(super) fn saturating<const KIND: u32>(&mut self, word: u32) -> Done {
        let (n, m) = (self.get(field(word, 16, 4)), self.get(field(word, 0, 4)));
        let (n, m) = (i64::from(n as i32), i64::from(m as i32));
        let n = match KIND & 1 {
            0 => n,
            _ => {
                let doubled = alu::saturate_signed(2 * n, 32);
                self.flags.q |= doubled.is_cut();
                i64::from(doubled.value() as i32)
            }
        };
        let value = if KIND < 2 { m + n } else { m - n };
        self.put_saturated(field(word, 8, 4), alu::saturate_signed(value, 32));
        Ok(())
    }

    /// `SEL`.
    pub(super) fn select(&mut self, word: u32) -> Done {
        let (n, m) = (self.get(field(word, 16, 4)), self.get(field(word, 0, 4)));
        let mut mask = 0;
        for byte in (0..4).filter(|byte| self.flags.ge >> byte & 1 != 0) {
            mask |= 0xff << (8 * byte);
        }
        self.put(field(word, 8, 4), n & mask | m & !mask);
        Ok(())
    }
}

/// What is done to two lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    Plus,
    Minus,
}

/// Two half-words, the low one first.
fn pair(kind: Lane, sign: Sign, first: (i64, Sum), second: (i64, Sum)) -> (u32, u8) {
    let (low, low_ge) = lane(kind, sign, 16, first.0, first.1);
    let (high, high_ge) = lane(kind, sign, 16, second.0, second.1);
    let ge = (u8::from(low_ge) * 3) | (u8::from(high_ge) * 12);
    (high << 16 | low & 0xffff, ge)
}

/// Four bytes.
fn bytes(kind: Lane, sign: Sign, n: u32, m: u32, sum: Sum) -> (u32, u8) {
    let wide = |byte: u8| match sign {
        Sign::Signed => i64::from(byte as i8),
        Sign::Unsigned => i64::from(byte),
    };
    let (mut value, mut ge) = (0, 0);
    let pairs = n.to_le_bytes().into_iter().zip(m.to_le_bytes());
    for (place, (n, m)) in pairs.enumerate() {
        let total = match sum {
            Sum::Plus => wide(n) + wide(m),
            Sum::Minus => wide(n) - wide(m),
        };
        let (byte, bit) = lane(kind, sign, 8, total, sum);
        value |= (byte & 0xff) << (8 * place);
        ge |= u8::from(bit) << place;
    }
    (value, ge)
}
