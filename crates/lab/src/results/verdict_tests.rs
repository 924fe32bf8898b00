//! Tests of `verdict.rs`.

use super::*;

fn judged(value: f64, window: Option<Window>) -> Judged {
    let band = [4.0, 5.0];
    Judged {
        id: "e".into(),
        paper: None,
        measured: Measured {
            metric: "m".into(),
            at: [].into(),
            value,
            ci95: None,
            ci99: None,
            n: 10,
            unit: String::new(),
        },
        reference: None,
        band: Some(band),
        judged: Some(Basis::Paper),
        within: Some((band[0]..=band[1]).contains(&value)),
        fitted: None,
        excuse: window.map(|window| Excuse {
            window,
            why: "w".into(),
        }),
    }
}
const NEAR_THREE: Window = Window {
    value: 3.0,
    within: 0.2,
};

#[test]
fn an_exception_excuses_the_value_that_it_names() {
    let verdict = |value| judged(value, Some(NEAR_THREE)).verdict();
    assert_eq!(verdict(3.1), Some(Verdict::Excused));
    assert_eq!(verdict(3.2), Some(Verdict::Excused));
    assert_eq!(verdict(2.5), Some(Verdict::Moved));
    assert_eq!(verdict(3.5), Some(Verdict::Moved));
    assert_eq!(verdict(4.5), Some(Verdict::Returned));
    assert_eq!(judged(3.1, None).verdict(), Some(Verdict::Missed));
}

#[test]
fn few_seeds_miss_a_band_only_with_their_whole_interval() {
    let verdict = |n: usize, ci95: Option<[f64; 2]>, window| {
        let mut judged = judged(3.0, window);
        (judged.measured.n, judged.measured.ci95) = (n, ci95);
        judged.verdict()
    };
    assert_eq!(verdict(3, Some([1.0, 5.0]), None), Some(Verdict::Open));
    assert_eq!(verdict(3, Some([2.5, 3.5]), None), Some(Verdict::Missed));
    assert_eq!(verdict(10, Some([1.0, 5.0]), None), Some(Verdict::Missed));
    assert_eq!(verdict(2, None, None), Some(Verdict::Missed));
    let far = Window {
        value: 2.0,
        within: 0.6,
    };
    assert_eq!(verdict(3, Some([2.5, 3.5]), Some(far)), Some(Verdict::Open));
    assert_eq!(
        verdict(10, Some([2.5, 3.5]), Some(far)),
        Some(Verdict::Moved)
    );
}

#[test]
fn the_window_to_write_has_the_value_and_short_numbers() {
    for (value, ci95, expected) in [
        (118.66, Some([100.0, 137.4]), (119.0, 19.0)),
        (0.1234, None, (0.123, 0.0062)),
        (-2.0, None, (-2.0, 0.1)),
        (0.0, None, (0.0, 0.0)),
        (12_345.0, None, (12_300.0, 620.0)),
    ] {
        let mut measured = judged(value, None).measured;
        measured.ci95 = ci95;
        let window = Window::around(&measured);
        assert_eq!((window.value, window.within), expected);
        assert!(window.has(value));
    }
}
