//! Arithmetic of the ARM architecture as plain functions: ARMv7-M ARM, A2.2.1 and A7.4.2.
//!
//! Nothing here knows a register. Tests: lock-step in `tests/all/lockstep.rs`.

/// A sum with what it does to the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) value: u32,
    pub(super) carry: bool,
    pub(super) overflow: bool,
}

/// `AddWithCarry` (A2.2.1).
#[inline]
pub(super) const fn add(a: u32, b: u32, carry: bool) -> Sum {
    let (half, first) = a.overflowing_add(b);
    let (value, second) = half.overflowing_add(carry as u32);
    Sum {
        value,
        carry: first | second,
        overflow: (a ^ value) & (b ^ value) & (1 << 31) != 0,
    }
}

/// A shifted value with the carry that it leaves.
pub(super) type Shifted = (u32, bool);

/// `Shift_C` by a register's low byte or an immediate that is already decoded (A7.4.2): a shift by
/// nothing leaves value and carry.
#[inline]
pub(super) const fn shift(kind: u32, value: u32, by: u32, carry: bool) -> Shifted {
    if by == 0 {
        return (value, carry);
    }
    match kind & 3 {
        0 => match by {
            1..=31 => (value << by, value >> (32 - by) & 1 != 0),
            32 => (0, value & 1 != 0),
            _ => (0, false),
        },
        1 => match by {
            1..=31 => (value >> by, value >> (by - 1) & 1 != 0),
            32 => (0, value >> 31 != 0),
            _ => (0, false),
        },
        2 => {
            let most = if by > 31 { 31 } else { by };
            let last = if by > 31 { 31 } else { by - 1 };
            ((value as i32 >> most) as u32, value >> last & 1 != 0)
        }
        _ => {
            let value = value.rotate_right(by & 31);
            (value, value >> 31 != 0)
        }
    }
}

/// `DecodeImmShift` and `Shift_C`: a zero means 32, or a rotation through carry (A7.4.2).
#[inline]
pub(super) const fn shift_immediate(kind: u32, value: u32, by: u32, carry: bool) -> Shifted {
    match (kind & 3, by) {
        (0, _) => shift(0, value, by, carry),
        (3, 0) => ((carry as u32) << 31 | value >> 1, value & 1 != 0),
        (kind, 0) => shift(kind, value, 32, carry),
        (kind, by) => shift(kind, value, by, carry),
    }
}

/// `ThumbExpandImm_C` (A5.3.2).
#[inline]
pub(super) const fn expand(imm12: u32, carry: bool) -> Shifted {
    let byte = imm12 & 0xff;
    if imm12 >> 10 == 0 {
        let value = match imm12 >> 8 & 3 {
            0 => byte,
            1 => byte << 16 | byte,
            2 => byte << 24 | byte << 8,
            _ => byte << 24 | byte << 16 | byte << 8 | byte,
        };
        return (value, carry);
    }
    let value = (0x80 | imm12 & 0x7f).rotate_right(imm12 >> 7);
    (value, value >> 31 != 0)
}

/// A result and whether it had to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saturated {
    /// It fitted.
    Fits(u32),
    /// It did not: the nearest that does.
    Cut(u32),
}

impl Saturated {
    pub(super) const fn value(self) -> u32 {
        match self {
            Self::Fits(value) | Self::Cut(value) => value,
        }
    }
    pub(super) const fn is_cut(self) -> bool {
        matches!(self, Self::Cut(_))
    }
}

/// `SignedSatQ`: to `bits` of two's complement, 1 to 32 (A2.2.1).
pub(super) const fn saturate_signed(value: i64, bits: u32) -> Saturated {
    let most = (1i64 << (bits - 1)) - 1;
    if value > most {
        Saturated::Cut(most as u32)
    } else if value < -most - 1 {
        Saturated::Cut((-most - 1) as u32)
    } else {
        Saturated::Fits(value as u32)
    }
}

/// `UnsignedSatQ`: to `bits`, 0 to 32 (A2.2.1).
pub(super) const fn saturate_unsigned(value: i64, bits: u32) -> Saturated {
    let most = (1i64 << bits) - 1;
    if value > most {
        Saturated::Cut(most as u32)
    } else if value < 0 {
        Saturated::Cut(0)
    } else {
        Saturated::Fits(value as u32)
    }
}

/// The low half of a word as a signed number.
pub(super) const fn low(value: u32) -> i64 {
    value as i16 as i64
}
/// The high half of a word as a signed number.
pub(super) const fn high(value: u32) -> i64 {
    (value >> 16) as i16 as i64
}
