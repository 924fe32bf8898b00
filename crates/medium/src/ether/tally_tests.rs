//! Sums of power and hazard.

use super::*;
use crate::chip::{CC1000, CC2420};

fn tallies(modem: Modem) -> Tallies {
    Tallies::new(vec![1e-10], modem, 1e-4)
}
fn frame(power: Grains, enough: Option<f64>) -> Admission {
    Admission {
        since: 1_000,
        header_end: 3_000,
        power,
        enough,
    }
}

/// Hazard of a reception under `levels`, one every 500 ns, with and without the shortcuts.
fn received(modem: Modem, power: f64, levels: &[f64]) -> [(f64, f64); 2] {
    [Some(2.0), None].map(|enough| {
        let mut t = tallies(modem);
        t.shift(0, 0, grains(power));
        t.admit(0, &frame(grains(power), enough));
        if enough.is_none() {
            t.all[0].quiet = 0;
        }
        let mut now = 0;
        for level in levels {
            t.shift(now, 0, grains(*level));
            now += 500;
            t.shift(now, 0, -grains(*level));
        }
        assert_eq!(t.all[0].total, grains(power));
        (t.all[0].hazard, t.all[0].header_hazard)
    })
}

#[test]
fn shortcuts_leave_out_what_does_not_count() {
    for modem in [CC2420.modem, CC1000.modem, Modem::OQpskPlain] {
        // Harmless, the limit of that, harmful, deadly.
        for strength in [0.0, 0.02, 0.05, 0.1, 0.3, 1.0, 30.0] {
            let power = 4e-9;
            let levels = [
                0.0,
                strength * power,
                strength * power * 0.1,
                strength * power,
            ];
            let [short, whole] = received(modem, power, &levels);
            if whole.0 < 2.0 {
                let off = (short.0 - whole.0).abs().max((short.1 - whole.1).abs());
                assert!(off < 1e-19, "{modem:?} {strength}");
            } else {
                assert!(short.0 >= 2.0 && (short.1 >= 2.0) == (whole.1 >= 2.0));
            }
        }
    }
}

#[test]
fn nothing_is_summed_before_symbols_must_be_right_nor_after_the_end() {
    let mut t = tallies(CC2420.modem);
    let power = grains(1e-10);
    t.shift(0, 0, power);
    t.admit(0, &frame(power, Some(1e9)));
    t.shift(900, 0, power);
    assert_eq!(t.all[0].hazard, 0.0);
    t.shift(2_000, 0, -power);
    let hazard = t.all[0].hazard;
    assert!((hazard / t.hazard(0, power, milliwatts(power), 1_000) - 1.0).abs() < 1e-12);
    t.dismiss(0);
    t.shift(3_000, 0, power);
    assert_eq!(t.all[0].hazard, hazard);
}

#[test]
fn a_tally_is_a_line_of_cache() {
    assert_eq!(std::mem::size_of::<Tally>(), 64);
}
