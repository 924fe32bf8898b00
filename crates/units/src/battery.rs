//! The voltage of a node's battery, as a node reports it in one byte. Tests: at the end.

use core::fmt;

/// The voltage of a battery in steps of 10 mV, 1.80 to 4.35 V: from what an MSP430 of a TelosB needs (its data sheet,
/// 1.8 V) to a full cell of lithium ions. A node whose voltage is unknown has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatteryLevel(u8);

impl BatteryLevel {
    /// One step, in millivolts.
    pub const STEP_MV: u32 = 10;
    /// The lowest, 1.80 V; stands for all below, too.
    pub const LOWEST: Self = Self(0);
    /// The highest, 4.35 V; whatever is higher, too.
    pub const HIGHEST: Self = Self(u8::MAX);
    const LOWEST_MV: u32 = 1_800;

    /// The nearest to `millivolts`.
    pub const fn of_millivolts(millivolts: u32) -> Self {
        let above = millivolts.saturating_sub(Self::LOWEST_MV);
        let steps = above.saturating_add(Self::STEP_MV / 2) / Self::STEP_MV;
        match steps {
            0..=254 => Self(steps as u8),
            _ => Self::HIGHEST,
        }
    }
    /// The level in millivolts.
    pub const fn millivolts(self) -> u32 {
        Self::LOWEST_MV + self.0 as u32 * Self::STEP_MV
    }
    /// The level in volts.
    pub fn volts(self) -> f64 {
        f64::from(self.millivolts()) / 1e3
    }
    /// Steps above the lowest: the byte that a report has.
    pub const fn code(self) -> u8 {
        self.0
    }
    /// The level that `code` is of.
    pub const fn of_code(code: u8) -> Self {
        Self(code)
    }
}

impl fmt::Display for BatteryLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} V", self.volts())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn levels_are_the_nearest_and_come_back() {
        for (millivolts, told) in [
            (0, 1_800),
            (1_800, 1_800),
            (2_604, 2_600),
            (2_605, 2_610),
            (4_350, 4_350),
            (9_000, 4_350),
            (u32::MAX, 4_350),
        ] {
            let level = BatteryLevel::of_millivolts(millivolts);
            assert_eq!(level.millivolts(), told, "{millivolts}");
            assert_eq!(BatteryLevel::of_code(level.code()), level);
        }
        assert_eq!(BatteryLevel::of_millivolts(2_600).to_string(), "2.60 V");
    }
}
