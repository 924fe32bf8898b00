//! The constants of a [`BuildingModel`] by the names they have in a testbed's `[propagation]` table,
//! with the range each may take. `docs/testbeds.md` lists them too. Tests: `propagation_tests.rs`.

use thalweg_medium::{BuildingModel, Variation};
use thalweg_units::{Db, Dbm, Duration};

use crate::error::{Problem, TestbedError};

/// One constant: its key, the values it may take, and where it is in the model.
struct Constant {
    key: &'static str,
    least: f64,
    most: f64,
    unit: &'static str,
    at: fn(&mut BuildingModel) -> &mut dyn Number,
}

/// A quantity as a number: decibels, nanoseconds, or the number that it is.
trait Number {
    fn set(&mut self, value: f64);
    #[cfg(test)]
    fn get(&self) -> Option<f64>;
}
macro_rules! number {
    ($type:ty, $set:expr, $get:expr) => {
        impl Number for $type {
            fn set(&mut self, value: f64) {
                *self = ($set)(value);
            }
            #[cfg(test)]
            fn get(&self) -> Option<f64> {
                ($get)(*self)
            }
        }
    };
}
number!(f64, |value| value, Some);
number!(usize, |value| value as usize, |n| Some(n as f64));
number!(Db, Db, |db: Db| Some(db.0));
number!(Option<Db>, |value| Some(Db(value)), |db: Option<Db>| Some(
    db?.0
));
number!(Dbm, Dbm, |dbm: Dbm| Some(dbm.0));
number!(
    Duration,
    |ns| Duration::from_nanos(ns as u64),
    |time: Duration| Some(time.as_nanos() as f64)
);

/// `key: least, most, unit => place in the model;` for each constant, `in` where the place is in a part
/// that may be switched off and that setting the constant switches on.
macro_rules! constants {
    (at $m:ident $part:ident in $field:ident) => {
        &mut $m.$part.get_or_insert_with(Default::default).$field
    };
    (at $m:ident $($place:ident).+) => { &mut $m.$($place).+ };
    ($($key:literal: $least:literal, $most:literal, $unit:literal => {$($place:tt)+})+) => {
        &[$(Constant {
            key: $key,
            least: $least,
            most: $most,
            unit: $unit,
            at: |m| constants!(at m $($place)+),
        }),+]
    };
}

const ALL: &[Constant] = constants! {
    "loss_at_1m_db": 0.0, 200.0, "dB" => {loss_at_1m}
    "loss_per_decade_db": 0.0, 200.0, "dB" => {loss_per_decade}
    "loss_per_floor_db": 0.0, 200.0, "dB" => {loss_per_floor}
    "shadowing_db": 0.0, 200.0, "dB" => {shadowing}
    "tx_spread_db": 0.0, 200.0, "dB" => {tx_spread}
    "noise_spread_db": 0.0, 200.0, "dB" => {noise_spread}
    "rssi_bias_db": 0.0, 200.0, "dB" => {rssi_bias}
    "variation.packet_db": 0.0, 200.0, "dB" => {variation.packet}
    "variation.burst_db": 0.0, 200.0, "dB" => {variation.burst}
    "variation.change_15min_db": 0.0, 200.0, "dB" => {variation.change.after_15_min}
    "variation.change_2h_db": 0.0, 200.0, "dB" => {variation.change.after_2_h}
    "variation.change_1d_db": 0.0, 200.0, "dB" => {variation.change.after_1_day}
    "same_floor.rice_k_db": -40.0, 100.0, "dB, or false for no direct ray" => {same_floor.rice_k}
    "same_floor.taps": 0.0, 100.0, "" => {same_floor.taps}
    "same_floor.mean_delay_ns": 0.0, 10_000.0, "ns" => {same_floor.mean_delay}
    "same_floor.lognormal_db": 0.0, 40.0, "dB" => {same_floor.lognormal}
    "same_floor.coherence_channels": 0.01, 1000.0, "channels" => {same_floor.coherence_channels}
    "between_floors.rice_k_db": -40.0, 100.0, "dB, or false for no direct ray" => {between_floors.rice_k}
    "between_floors.taps": 0.0, 100.0, "" => {between_floors.taps}
    "between_floors.mean_delay_ns": 0.0, 10_000.0, "ns" => {between_floors.mean_delay}
    "between_floors.lognormal_db": 0.0, 40.0, "dB" => {between_floors.lognormal}
    "between_floors.coherence_channels": 0.01, 1000.0, "channels" => {between_floors.coherence_channels}
    "wifi.power_dbm": -150.0, 20.0, "dBm" => {wifi in power}
    "wifi.power_spread_db": 0.0, 40.0, "dB" => {wifi in power_spread}
    "wifi.hit_least": 0.0, 1.0, "(a probability)" => {wifi in hit_least}
    "wifi.hit_most": 0.0, 1.0, "(a probability)" => {wifi in hit_most}
    "wifi.reference_air_us": 1.0, 1e6, "us" => {wifi in reference_air}
    "wifi.on_rate_hz": 0.0, 20_000.0, "bursts a second" => {wifi in on_rate_hz}
    "wifi.off_rate_hz": 0.0, 20_000.0, "bursts a second" => {wifi in off_rate_hz}
    "wifi.mean_burst_us": 1.0, 1e6, "us" => {wifi in mean_burst}
    "wifi.load_period_ms": 1.0, 1e7, "ms" => {wifi in load_period}
    "clean_bursts.on_share": 0.0, 1.0, "(a share)" => {clean_bursts in on_share}
    "clean_bursts.hit": 0.0, 0.999, "(a probability)" => {clean_bursts in hit}
    "clean_bursts.power_dbm": -150.0, 20.0, "dBm" => {clean_bursts in power}
    "clean_bursts.power_spread_db": 0.0, 40.0, "dB" => {clean_bursts in power_spread}
    "clean_bursts.mean_burst_us": 1.0, 1e6, "us" => {clean_bursts in mean_burst}
};

impl Constant {
    /// How many of what [`Number`] counts its unit is.
    fn scale(&self) -> f64 {
        match self.unit {
            "us" => 1e3,
            "ms" => 1e6,
            _ => 1.0,
        }
    }
    fn expected(&self) -> String {
        let text = format!("{} to {} {}", self.least, self.most, self.unit);
        text.trim_end().to_owned()
    }
}

/// Overrides the constants that `table` names.
pub(crate) fn apply(
    model: &mut BuildingModel,
    table: &toml::Table,
    source_name: &str,
) -> Result<(), TestbedError> {
    // Choosing the model and switching parts comes before overriding single constants.
    match table.get("model").map(|v| v.as_str().unwrap_or_default()) {
        None | Some("building") => {}
        Some("open_plan") => {
            let of = BuildingModel::default();
            let (at_1m, decade) = (of.loss_at_1m, of.loss_per_decade);
            *model = BuildingModel::open_plan(at_1m, decade, of.shadowing, of.tx_spread);
        }
        Some(other) => {
            let problem = Problem::value("model", other, "`building` or `open_plan`");
            return Err(problem.at_key(source_name, "propagation.model"));
        }
    }
    model.variation = match table.get("place").map(|v| v.as_str().unwrap_or_default()) {
        None => model.variation,
        Some("still") => Variation::STILL,
        Some("laboratory") => Variation::LABORATORY,
        Some("building") => Variation::BUILDING,
        Some("outdoors") => Variation::OUTDOORS,
        Some(other) => {
            let expected = "`still`, `laboratory`, `building` or `outdoors`";
            let problem = Problem::value("place", other, expected);
            return Err(problem.at_key(source_name, "propagation.place"));
        }
    };
    let chosen = ["model", "place"];
    for (key, value) in table
        .iter()
        .filter(|(key, _)| !chosen.contains(&key.as_str()))
    {
        match value {
            toml::Value::Table(part) => {
                for (inner, value) in part {
                    one(model, &format!("{key}.{inner}"), value, source_name)?;
                }
            }
            value => one(model, key, value, source_name)?,
        }
    }
    check(model, source_name)
}

/// Refuses constants that contradict each other.
fn check(model: &BuildingModel, source_name: &str) -> Result<(), TestbedError> {
    let change = model.variation.change;
    if change.after_2_h.0 < change.after_15_min.0 || change.after_1_day.0 < change.after_2_h.0 {
        let found = format!("{} dB, {} dB", change.after_2_h.0, change.after_1_day.0);
        let expected =
            "a change that grows with time: at least that of 15 minutes, and of two hours";
        let problem = Problem::value("the change of 2h and 1d", &found, expected);
        return Err(problem.at_key(source_name, "propagation.variation"));
    }
    match &model.wifi {
        Some(wifi) if wifi.hit_least > wifi.hit_most => {
            let found = wifi.hit_most.to_string();
            let problem = Problem::value("hit_most", &found, "at least `hit_least`");
            Err(problem.at_key(source_name, "propagation.wifi.hit_most"))
        }
        _ => Ok(()),
    }
}

fn one(
    model: &mut BuildingModel,
    key: &str,
    value: &toml::Value,
    source_name: &str,
) -> Result<(), TestbedError> {
    match (key, value.as_bool()) {
        ("wifi", Some(on)) => switch(&mut model.wifi, on),
        ("clean_bursts", Some(on)) => switch(&mut model.clean_bursts, on),
        ("same_floor.rice_k_db", Some(false)) => model.same_floor.rice_k = None,
        ("between_floors.rice_k_db", Some(false)) => model.between_floors.rice_k = None,
        _ => return set(model, key, value, source_name),
    }
    Ok(())
}

/// Switches a part of the model; one that is on already stays as it is.
fn switch<T: Default>(part: &mut Option<T>, on: bool) {
    *part = part.take().or_else(|| Some(T::default())).filter(|_| on);
}

fn set(
    model: &mut BuildingModel,
    key: &str,
    value: &toml::Value,
    source_name: &str,
) -> Result<(), TestbedError> {
    let place = || format!("propagation.{}", crate::error::printable(key));
    let Some(constant) = ALL.iter().find(|c| c.key == key) else {
        let expected = "a constant of the building model (docs/testbeds.md lists them)";
        return Err(Problem::value("the key", key, expected).at_key(source_name, place()));
    };
    let whole = value.as_integer().map(|i| i as f64);
    match value.as_float().or(whole) {
        Some(number) if (constant.least..=constant.most).contains(&number) => {
            (constant.at)(model).set(number * constant.scale());
            Ok(())
        }
        _ => {
            let found = value.to_string();
            let problem = Problem::value("the value", &found, constant.expected());
            Err(problem.at_key(source_name, place()))
        }
    }
}

#[cfg(test)]
#[path = "propagation_tests.rs"]
mod tests;
