//! The constants of a [`BuildingModel`] by the names they have in a testbed's `[propagation]` table,
//! with the range each may take. One list serves reading, showing and the guide's table
//! (`docs/testbeds.md`). Tests: below.

use thalweg_medium::{BuildingModel, CleanBurstsModel, WifiModel};
use thalweg_units::{Db, Dbm, Duration};

use crate::error::{Problem, TestbedError};

/// One constant: its key, the values it may take, and where it is in the model.
struct Constant {
    key: &'static str,
    least: f64,
    most: f64,
    /// What errors say about the range.
    expected: &'static str,
    get: fn(&BuildingModel) -> Option<f64>,
    set: fn(&mut BuildingModel, f64),
}

macro_rules! constant {
    ($key:literal, $range:expr, $expected:literal, $get:expr, $set:expr) => {
        Constant {
            key: $key,
            least: *$range.start(),
            most: *$range.end(),
            expected: $expected,
            get: $get,
            set: $set,
        }
    };
}
/// A constant in decibels at a fixed place of the model.
macro_rules! db {
    ($key:literal, $($place:ident).+) => {
        constant!($key, 0.0..=200.0, "0 to 200 dB", |m| Some(m.$($place).+.0), |m, v| m.$($place).+ = Db(v))
    };
}
/// The five constants of a kind of fading.
macro_rules! fading {
    ($place:ident, $k:literal, $taps:literal, $delay:literal, $lognormal:literal, $coherence:literal) => {
        [
            constant!(
                $k,
                -40.0..=100.0,
                "-40 to 100 dB, or false for no direct ray",
                |m| m.$place.rice_k.map(|k| k.0),
                |m, v| m.$place.rice_k = Some(Db(v))
            ),
            constant!(
                $taps,
                0.0..=100.0,
                "0 to 100",
                |m| Some(f64::from(m.$place.taps as u32)),
                |m, v| m.$place.taps = v as _
            ),
            constant!(
                $delay,
                0.0..=10_000.0,
                "0 to 10000 ns",
                |m| Some(m.$place.mean_delay.as_nanos() as f64),
                |m, v| m.$place.mean_delay = Duration::from_nanos(v as u64)
            ),
            constant!(
                $lognormal,
                0.0..=40.0,
                "0 to 40 dB",
                |m| Some(m.$place.lognormal.0),
                |m, v| m.$place.lognormal = Db(v)
            ),
            constant!(
                $coherence,
                0.01..=1000.0,
                "0.01 to 1000 channels",
                |m| Some(m.$place.coherence_channels),
                |m, v| m.$place.coherence_channels = v
            ),
        ]
    };
}
/// A constant of an optional part of the model; setting it switches the part on.
macro_rules! part {
    ($key:literal, $range:expr, $expected:literal, $part:ident, $field:ident, $of:expr, $into:expr) => {
        constant!(
            $key,
            $range,
            $expected,
            |m| m.$part.map(|p| ($of)(p.$field)),
            |m, v| m.$part.get_or_insert_with(Default::default).$field = ($into)(v)
        )
    };
}

fn level(dbm: Dbm) -> f64 {
    dbm.0
}
fn ratio(db: Db) -> f64 {
    db.0
}
fn plain(value: f64) -> f64 {
    value
}
fn micros(time: Duration) -> f64 {
    time.as_micros_f64()
}
fn from_micros(us: f64) -> Duration {
    Duration::from_nanos((us * 1000.0) as u64)
}
fn millis(time: Duration) -> f64 {
    time.as_micros_f64() / 1000.0
}
fn from_millis(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6) as u64)
}

static GENERAL: [Constant; 9] = [
    db!("loss_at_1m_db", loss_at_1m),
    db!("loss_per_decade_db", loss_per_decade),
    db!("loss_per_floor_db", loss_per_floor),
    db!("shadowing_db", shadowing),
    db!("tx_spread_db", tx_spread),
    db!("noise_spread_db", noise_spread),
    db!("rssi_bias_db", rssi_bias),
    db!("variation.packet_db", variation.packet),
    db!("variation.run_db", variation.run),
];
static SAME_FLOOR: [Constant; 5] = fading!(
    same_floor,
    "same_floor.rice_k_db",
    "same_floor.taps",
    "same_floor.mean_delay_ns",
    "same_floor.lognormal_db",
    "same_floor.coherence_channels"
);
static BETWEEN_FLOORS: [Constant; 5] = fading!(
    between_floors,
    "between_floors.rice_k_db",
    "between_floors.taps",
    "between_floors.mean_delay_ns",
    "between_floors.lognormal_db",
    "between_floors.coherence_channels"
);
static WIFI: [Constant; 9] = [
    part!(
        "wifi.power_dbm",
        -150.0..=20.0,
        "-150 to 20 dBm",
        wifi,
        power,
        level,
        Dbm
    ),
    part!(
        "wifi.power_spread_db",
        0.0..=40.0,
        "0 to 40 dB",
        wifi,
        power_spread,
        ratio,
        Db
    ),
    part!(
        "wifi.hit_least",
        0.0..=1.0,
        "a probability, 0 to 1",
        wifi,
        hit_least,
        plain,
        plain
    ),
    part!(
        "wifi.hit_most",
        0.0..=1.0,
        "a probability, 0 to 1",
        wifi,
        hit_most,
        plain,
        plain
    ),
    part!(
        "wifi.reference_air_us",
        1.0..=1e6,
        "1 to 1000000 us",
        wifi,
        reference_air,
        micros,
        from_micros
    ),
    part!(
        "wifi.on_rate_hz",
        0.0..=20_000.0,
        "0 to 20000 bursts a second",
        wifi,
        on_rate_hz,
        plain,
        plain
    ),
    part!(
        "wifi.off_rate_hz",
        0.0..=20_000.0,
        "0 to 20000 bursts a second",
        wifi,
        off_rate_hz,
        plain,
        plain
    ),
    part!(
        "wifi.mean_burst_us",
        1.0..=1e6,
        "1 to 1000000 us",
        wifi,
        mean_burst,
        micros,
        from_micros
    ),
    part!(
        "wifi.load_period_ms",
        1.0..=1e7,
        "1 to 10000000 ms",
        wifi,
        load_period,
        millis,
        from_millis
    ),
];
static CLEAN_BURSTS: [Constant; 5] = [
    part!(
        "clean_bursts.on_share",
        0.0..=1.0,
        "a share, 0 to 1",
        clean_bursts,
        on_share,
        plain,
        plain
    ),
    part!(
        "clean_bursts.hit",
        0.0..=0.999,
        "a probability, 0 to 0.999",
        clean_bursts,
        hit,
        plain,
        plain
    ),
    part!(
        "clean_bursts.power_dbm",
        -150.0..=20.0,
        "-150 to 20 dBm",
        clean_bursts,
        power,
        level,
        Dbm
    ),
    part!(
        "clean_bursts.power_spread_db",
        0.0..=40.0,
        "0 to 40 dB",
        clean_bursts,
        power_spread,
        ratio,
        Db
    ),
    part!(
        "clean_bursts.mean_burst_us",
        1.0..=1e6,
        "1 to 1000000 us",
        clean_bursts,
        mean_burst,
        micros,
        from_micros
    ),
];

fn all() -> impl Iterator<Item = &'static Constant> {
    GENERAL
        .iter()
        .chain(&SAME_FLOOR)
        .chain(&BETWEEN_FLOORS)
        .chain(&WIFI)
        .chain(&CLEAN_BURSTS)
}

/// Every constant of a model by its TOML key, in the order of the guide; `None` where its part of
/// the model is switched off.
pub fn constants(model: &BuildingModel) -> Vec<(&'static str, Option<f64>)> {
    all().map(|c| (c.key, (c.get)(model))).collect()
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
            *model = BuildingModel::open_plan(
                of.loss_at_1m,
                of.loss_per_decade,
                of.shadowing,
                of.tx_spread,
            );
        }
        Some(other) => {
            return Err(Problem::value("model", other, "`building` or `open_plan`")
                .at_key(source_name, "propagation.model"));
        }
    }
    for (key, value) in table.iter().filter(|(key, _)| *key != "model") {
        match value {
            toml::Value::Table(part) => {
                for (inner, value) in part {
                    one(model, &format!("{key}.{inner}"), value, source_name)?;
                }
            }
            value => one(model, key, value, source_name)?,
        }
    }
    if let Some(WifiModel {
        hit_least,
        hit_most,
        ..
    }) = model.wifi
    {
        if hit_least > hit_most {
            let problem = Problem::value("hit_most", &hit_most.to_string(), "at least `hit_least`");
            return Err(problem.at_key(source_name, "propagation.wifi.hit_most"));
        }
    }
    Ok(())
}

fn one(
    model: &mut BuildingModel,
    key: &str,
    value: &toml::Value,
    source_name: &str,
) -> Result<(), TestbedError> {
    let place = || format!("propagation.{}", crate::error::printable(key));
    match (key, value.as_bool()) {
        ("wifi", Some(true)) => {
            model.wifi.get_or_insert_with(WifiModel::default);
            return Ok(());
        }
        ("wifi", Some(false)) => {
            model.wifi = None;
            return Ok(());
        }
        ("clean_bursts", Some(true)) => {
            model
                .clean_bursts
                .get_or_insert_with(CleanBurstsModel::default);
            return Ok(());
        }
        ("clean_bursts", Some(false)) => {
            model.clean_bursts = None;
            return Ok(());
        }
        ("same_floor.rice_k_db", Some(false)) => {
            model.same_floor.rice_k = None;
            return Ok(());
        }
        ("between_floors.rice_k_db", Some(false)) => {
            model.between_floors.rice_k = None;
            return Ok(());
        }
        _ => {}
    }
    let Some(constant) = all().find(|c| c.key == key) else {
        let expected = "a constant of the building model (docs/testbeds.md lists them)";
        return Err(Problem::value("the key", key, expected).at_key(source_name, place()));
    };
    let number = value
        .as_float()
        .or_else(|| value.as_integer().map(|i| i as f64));
    match number {
        Some(number) if (constant.least..=constant.most).contains(&number) => {
            (constant.set)(model, number);
            Ok(())
        }
        _ => Err(
            Problem::value("the value", &value.to_string(), constant.expected)
                .at_key(source_name, place()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<BuildingModel, String> {
        let mut model = BuildingModel::default();
        apply(&mut model, &text.parse().unwrap(), "t.toml").map_err(|e| e.to_string())?;
        Ok(model)
    }

    #[test]
    fn every_constant_can_be_set_and_sets_only_itself() {
        for constant in all() {
            let mut before = BuildingModel {
                clean_bursts: Some(CleanBurstsModel::default()),
                ..BuildingModel::default()
            };
            before.between_floors.rice_k = Some(Db(0.0));
            let now = (constant.get)(&before).unwrap();
            let other = if now + 1.0 <= constant.most {
                now + 1.0
            } else {
                constant.least
            };
            let mut after = before.clone();
            let value = toml::Value::Float(other);
            one(&mut after, constant.key, &value, "t.toml").unwrap();
            for ((key, was), (_, is)) in constants(&before).iter().zip(constants(&after)) {
                if *key == constant.key {
                    assert!((is.unwrap() - other).abs() < 1e-9, "{key}");
                } else {
                    assert_eq!(*was, is, "{key} changed with {}", constant.key);
                }
            }
        }
    }

    #[test]
    fn the_guide_lists_every_constant_with_its_default() {
        let guide = include_str!("../../../docs/testbeds.md");
        for (key, default) in constants(&BuildingModel::default()) {
            let default = default.map_or("off".to_owned(), |v| v.to_string());
            let row = format!("| `{key}` | {default} |");
            assert!(guide.contains(&row), "docs/testbeds.md lacks {row}");
        }
    }

    #[test]
    fn parts_are_switched() {
        assert!(with("wifi = false").unwrap().wifi.is_none());
        assert!(with("clean_bursts = true").unwrap().clean_bursts.is_some());
        assert!(with("[between_floors]\nrice_k_db = 3")
            .unwrap()
            .between_floors
            .rice_k
            .is_some());
        assert!(with("[same_floor]\nrice_k_db = false")
            .unwrap()
            .same_floor
            .rice_k
            .is_none());
        let open = with("model = \"open_plan\"\nloss_at_1m_db = 42").unwrap();
        assert!(open.wifi.is_none() && open.loss_at_1m == Db(42.0));
    }

    #[test]
    fn wrong_constants_are_named() {
        for (text, expected) in [
            (
                "loss_at_1m = 3",
                "t.toml, key `propagation.loss_at_1m`: the key is `loss_at_1m`",
            ),
            (
                "shadowing_db = \"a\"",
                "key `propagation.shadowing_db`: the value is `\"a\"`; expected 0 to 200 dB",
            ),
            ("shadowing_db = nan", "expected 0 to 200 dB"),
            ("[wifi]\nhit_most = 0.1", "expected at least `hit_least`"),
            ("[wifi]\nhit_most = 2", "expected a probability"),
            ("[same_floor]\ntaps = -1", "expected 0 to 100"),
            ("wifi = 3", "the key is `wifi`"),
            (
                "model = \"cave\"",
                "model is `cave`; expected `building` or `open_plan`",
            ),
        ] {
            let error = with(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
