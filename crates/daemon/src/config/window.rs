//! Windows: when jobs may begin, and which limits hold then.
//!
//! A window is `"02:00-04:00"`, or a table with those hours under `at` and limits beside them. What a window does not
//! limit, `[transfers]` does. Time base: wall clock, UTC. Tests: `window_tests.rs`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use thalweg_units::BatteryLevel;

use super::within;
pub use crate::limits::Limits;

/// Minutes of a day.
const DAY: u16 = 1_440;

/// A part of every day, in minutes from midnight, UTC; may go over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    from: u16,
    to: u16,
}

impl Hours {
    /// `02:00-04:00`.
    fn parse(text: &str) -> Option<Self> {
        let minute = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            let is_time = minute < 60 && (hour < 24 || (hour, minute) == (24, 0));
            is_time.then(|| hour * 60 + minute)
        };
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from)?, minute(to)?);
        (from != to && from < DAY).then_some(Self { from, to })
    }
    /// Whether it is open at `second`, counted from 1970.
    pub(crate) fn is_open(self, second: u64) -> bool {
        let minute = ((second / 60) % u64::from(DAY)) as u16;
        match self.from < self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = [self.from, self.to].map(|m| format!("{:02}:{:02}", m / 60, m % 60));
        write!(to, "{a}-{b}")
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || Error::custom("a window is such as \"02:00-04:00\"");
        Self::parse(&text).ok_or_else(wrong)
    }
}

/// When jobs may begin, and what holds then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// When.
    pub hours: Hours,
    /// What holds.
    pub limits: Limits,
}

/// As a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    at: Hours,
    #[serde(default, deserialize_with = "at_most")]
    at_most: Option<u32>,
    #[serde(default, deserialize_with = "volts")]
    least_battery_v: Option<BatteryLevel>,
    #[serde(default, deserialize_with = "joules")]
    energy_j_per_day: Option<f64>,
}

struct HoursOrTable;

impl<'de> Visitor<'de> for HoursOrTable {
    type Value = Window;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a window such as \"02:00-04:00\" or { at = \"02:00-04:00\", at_most = 2 }")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Window, E> {
        let wrong = || E::custom("a window is such as \"02:00-04:00\"");
        Ok(Window {
            hours: Hours::parse(text).ok_or_else(wrong)?,
            limits: Limits::default(),
        })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Window, A::Error> {
        let keys = Keys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Window {
            hours: keys.at,
            limits: Limits {
                at_most: keys.at_most,
                least_battery: keys.least_battery_v,
                energy_j_per_day: keys.energy_j_per_day,
            },
        })
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(HoursOrTable)
    }
}

pub(super) fn at_most<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    within(from, 1..=16, "expected 1 to 16 stations").map(Some)
}
pub(super) fn volts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BatteryLevel>, D::Error> {
    let volts: f64 = within(from, 1.8..=4.35, "expected 1.8 to 4.35 volts")?;
    Ok(Some(BatteryLevel::of_millivolts(
        (volts * 1e3).round() as u32
    )))
}
pub(super) fn joules<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    within(from, 1e-3..=1e9, "expected 0.001 to 1000000000 joules").map(Some)
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
