//! Tests of `axis.rs`.

use super::*;

fn labels(low: f64, high: f64) -> Vec<String> {
    let ticks = Scale::new(low, high, 0.0, 1.0).ticks(5, Grain::Any);
    ticks.into_iter().map(|t| t.1).collect()
}

#[test]
fn ticks_are_round_numbers() {
    assert_eq!(labels(0.0, 200.0), ["0", "50", "100", "150", "200"]);
    assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(labels(-0.05, 0.07).first().unwrap(), "-0.050");
    let few = Scale::new(0.0, 3.0, 0.0, 1.0).ticks(5, Grain::Whole);
    assert_eq!(few.len(), 4, "{few:?}");
    assert_eq!(Grain::of([1.0, 2.0].into_iter()), Grain::Whole);
    assert_eq!(Grain::of([1.0, 2.5].into_iter()), Grain::Any);
    assert_eq!(rounded_ends(0.0, 178.5, 5, Grain::Any), (0.0, 200.0));
}

#[test]
fn no_range_breaks_an_axis() {
    for (low, high) in [
        (0.0, 0.0),
        (f64::NAN, 1.0),
        (f64::NEG_INFINITY, f64::INFINITY),
        (5.0, 5.0),
        (-1e300, 1e300),
        (1.0, 1.0 + 1e-15),
    ] {
        let scale = Scale::new(low, high, 10.0, 20.0);
        assert!(scale.ticks(5, Grain::Any).len() <= 200);
        if let Some(pixel) = scale.at(1.0) {
            assert!((10.0..=20.0).contains(&pixel), "{low} {high} {pixel}");
        }
    }
}
