//! The batteries of a testbed's nodes: how full each is as time begins, and its voltage after so much charge.
//!
//! Model: two alkaline AA cells in series, whose voltage falls in proportion to the charge that is taken, from 1.5 V
//! (their nominal voltage) to 0.9 V (where data sheets count them empty) each. Not modelled: recovery, temperature, the
//! dip under load, and nodes that go out: one whose battery is empty works on. Tests: at the end.

use std::fmt;

use serde::Deserialize;
use thalweg_medium::random::{stream, uniform};
use thalweg_units::{BatteryLevel, NodeId};

/// From full to empty, in volts: 2 x (1.5 - 0.9).
const SPAN_V: f64 = 1.2;
/// Coulombs of a milliampere-hour.
const COULOMBS: f64 = 3.6;

/// The same for all nodes, or between two bounds, where a seed draws each node's.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or two bounds such as [2.4, 3.0]"
)]
pub(crate) enum Drawn {
    Same(f64),
    Between([f64; 2]),
}

impl fmt::Display for Drawn {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(value) => write!(to, "{value}"),
            Self::Between([low, high]) => write!(to, "[{low}, {high}]"),
        }
    }
}

impl Drawn {
    const fn bounds(self) -> [f64; 2] {
        match self {
            Self::Same(value) => [value, value],
            Self::Between(bounds) => bounds,
        }
    }
    /// Whether it lies within `range`, lower bound first.
    pub(crate) fn is_within(self, range: std::ops::RangeInclusive<f64>) -> bool {
        let [low, high] = self.bounds();
        range.contains(&low) && range.contains(&high) && low <= high
    }
    fn draw(self, share: f64) -> f64 {
        let [low, high] = self.bounds();
        low + (high - low) * share
    }
}

/// The batteries of a testbed whose nodes have some.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batteries {
    /// The charge of a full one, in mAh.
    pub(crate) capacity_mah: Drawn,
    /// The voltage as time begins, in volts.
    pub(crate) volts: Drawn,
}

/// One node's battery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Battery {
    begins_v: f64,
    v_per_coulomb: f64,
}

impl Batteries {
    /// The battery of node `id`, as `seed` draws it.
    pub fn of(&self, seed: u64, id: NodeId) -> Battery {
        let mut rng = stream(seed, "battery", &[u64::from(id.get())]);
        let (volts, capacity) = (uniform(&mut rng), uniform(&mut rng));
        Battery {
            begins_v: self.volts.draw(volts),
            v_per_coulomb: SPAN_V / (self.capacity_mah.draw(capacity) * COULOMBS),
        }
    }
}

impl Battery {
    /// What is measured of it once `coulombs` have been taken.
    pub fn level_after(&self, coulombs: f64) -> BatteryLevel {
        let volts = self.begins_v - coulombs * self.v_per_coulomb;
        // Saturates: below zero it is zero.
        BatteryLevel::of_millivolts((volts * 1e3).round() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_battery_falls_with_what_is_taken_and_each_node_has_its_own() {
        let batteries = Batteries {
            capacity_mah: Drawn::Same(2_500.0),
            volts: Drawn::Between([2.4, 3.0]),
        };
        let id = |n| NodeId::new(n).unwrap();
        let levels: Vec<_> = (1..=50)
            .map(|n| batteries.of(7, id(n)).level_after(0.0))
            .collect();
        let (low, high) = (levels.iter().min().unwrap(), levels.iter().max().unwrap());
        assert!(low.volts() >= 2.4 && high.volts() <= 3.0 && high.volts() - low.volts() > 0.4);
        let battery = batteries.of(7, id(1));
        assert_eq!(battery, batteries.of(7, id(1)));
        assert_ne!(battery, batteries.of(8, id(1)));
        // A tenth of the charge is a tenth of the span.
        let (before, after) = (battery.level_after(0.0), battery.level_after(900.0));
        assert_eq!(before.millivolts() - after.millivolts(), 120);
        assert_eq!(battery.level_after(1e9), BatteryLevel::LOWEST);
    }
}
