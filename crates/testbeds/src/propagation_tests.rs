//! Propagation models of testbed files.

use super::*;
use thalweg_medium::CleanBurstsModel;

/// The value of `constant` in its unit; none where its part of the model is switched off.
fn value(constant: &Constant, model: &BuildingModel) -> Option<f64> {
    let is_off = constant.key.starts_with("clean_bursts") && model.clean_bursts.is_none();
    let value = (constant.at)(&mut model.clone()).get().filter(|_| !is_off);
    value.map(|value| value / constant.scale())
}

fn with(text: &str) -> Result<BuildingModel, String> {
    let mut model = BuildingModel::default();
    apply(&mut model, &text.parse().unwrap(), "t.toml").map_err(|e| e.to_string())?;
    Ok(model)
}

#[test]
fn every_constant_can_be_set_and_sets_only_itself() {
    for constant in ALL {
        let mut before = BuildingModel {
            clean_bursts: Some(CleanBurstsModel::default()),
            ..BuildingModel::default()
        };
        before.between_floors.rice_k = Some(Db(0.0));
        let now = value(constant, &before).unwrap();
        let fits = now + 1.0 <= constant.most;
        let other = if fits { now + 1.0 } else { constant.least };
        let mut after = before.clone();
        let number = toml::Value::Float(other);
        one(&mut after, constant.key, &number, "t.toml").unwrap();
        for kept in ALL.iter().filter(|c| c.key != constant.key) {
            let same = value(kept, &before) == value(kept, &after);
            assert!(same, "{} changed with {}", kept.key, constant.key);
        }
        let set = value(constant, &after).unwrap();
        assert!((set - other).abs() < 1e-9, "{other}");
    }
}

#[test]
fn the_guide_lists_every_constant_with_its_default() {
    let guide = include_str!("../../../docs/testbeds.md");
    for constant in ALL {
        let (key, default) = (constant.key, value(constant, &BuildingModel::default()));
        let default = default.map_or("off".to_owned(), |v| v.to_string());
        let row = format!("| `{key}` | {default} |");
        assert!(guide.contains(&row), "docs/testbeds.md lacks {row}");
    }
}

#[test]
fn parts_are_switched() {
    assert!(with("wifi = false").unwrap().wifi.is_none());
    assert!(with("clean_bursts = false").unwrap().clean_bursts.is_none());
    let still = with("place = \"still\"\nvariation.change_1d_db = 2").unwrap();
    let change = still.variation.change;
    assert_eq!(
        (change.after_15_min, change.after_1_day),
        (Db(0.0), Db(2.0))
    );
    // A place says what changes within a minute, too.
    let laboratory = with("place = \"laboratory\"\nvariation.burst_db = 1").unwrap();
    let variation = laboratory.variation;
    assert_eq!((variation.packet, variation.burst), (Db(0.3), Db(1.0)));
    assert_eq!(
        still.variation.packet,
        BuildingModel::default().variation.packet
    );
    let between = with("[between_floors]\nrice_k_db = 3").unwrap();
    assert!(between.between_floors.rice_k.is_some());
    let same = with("[same_floor]\nrice_k_db = false").unwrap();
    assert!(same.same_floor.rice_k.is_none());
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
        ("[wifi]\nhit_most = 2", "expected 0 to 1 (a probability)"),
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
