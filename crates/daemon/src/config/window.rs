//! Windows: when jobs may begin, and which limits hold then.
//!
//! A window is `"02:00-04:00"`, or a table with those hours under `at` and limits beside them. What a window does not
//! limit, `[transfers]` does. Time base: wall clock, UTC. Tests: at the end.

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
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_window_may_go_over_midnight() {
        let open = |text: &str, hour: u64, minute: u64| {
            let hours = Hours::parse(text).unwrap();
            hours.is_open(86_400 * 20_000 + hour * 3_600 + minute * 60)
        };
        assert!(open("02:00-04:00", 2, 0) && open("02:00-04:00", 3, 59));
        assert!(!open("02:00-04:00", 4, 0) && !open("02:00-04:00", 1, 59));
        assert!(open("22:30-01:00", 23, 0) && open("22:30-01:00", 0, 59));
        assert!(!open("22:30-01:00", 22, 29) && !open("22:30-01:00", 1, 0));
        assert_eq!(
            Hours::parse("7:05-24:00").unwrap().to_string(),
            "07:05-24:00"
        );
        for wrong in ["", "1-2", "03:00-03:00", "25:00-26:00", "24:00-01:00"] {
            assert_eq!(Hours::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_window_has_limits_of_its_own_and_the_others_of_all() {
        let text = "[transfers]\nenergy_j_per_day = 40\nleast_battery_v = 2.5\n\
            windows = [{ at = \"02:00-04:00\", at_most = 2, least_battery_v = 2.6 }, \"03:00-05:00\"]";
        let transfers = Config::parse(text).unwrap().transfers;
        let at = |hour: u64| transfers.limits_at(hour * 3_600);
        let level = |mv| Some(BatteryLevel::of_millivolts(mv));
        let night = at(3).unwrap();
        assert_eq!(
            (night.at_most, night.least_battery),
            (Some(2), level(2_600))
        );
        assert_eq!(night.energy_j_per_day, Some(40.0));
        let told =
            ", at most 2 stations at a time, nodes from 2.60 V on, at most 40 J per node and day";
        assert_eq!(night.to_string(), told);
        let morning = at(4).unwrap();
        assert_eq!(
            (morning.at_most, morning.least_battery),
            (None, level(2_500))
        );
        assert_eq!(at(6), None);
        let unlimited = Config::parse("").unwrap().transfers.limits_at(0).unwrap();
        assert_eq!(unlimited, Limits::default());
    }
}
