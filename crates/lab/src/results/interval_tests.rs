//! Tests of `interval.rs`.

use super::*;

#[test]
fn the_interval_is_students() {
    let (mean, ci) = mean_and_interval(&[1.0, 2.0, 3.0]);
    let [lo, hi] = ci.unwrap();
    assert!((mean - 2.0).abs() < 1e-12);
    assert!((hi - mean - 4.303 / 3f64.sqrt()).abs() < 1e-9);
    assert!((mean - lo - (hi - mean)).abs() < 1e-9);
}

#[test]
fn two_values_have_a_mean_and_no_interval() {
    assert_eq!(mean_and_interval(&[4.0, 6.0]), (5.0, None));
    assert_eq!(mean_and_interval(&[5.0]), (5.0, None));
    assert!(mean_and_interval(&[4.0, 5.0, 6.0]).1.is_some());
}

#[test]
fn an_interval_stays_in_the_range_of_its_quantity() {
    let wide = [-0.2, 1.4];
    let cut = |column: &str| Range::of_column(column).cut(wide);
    assert_eq!(cut("delivered_share"), [0.0, 1.0]);
    assert_eq!(cut("goodput_kbps"), [0.0, 1.4]);
    assert_eq!(cut("correlation"), [-0.2, 1.0]);
    assert_eq!(cut("extra_ms"), wide);
    assert_eq!(
        Range::of_column("yield_pct").cut([90.0, 103.0]),
        [90.0, 100.0]
    );
    assert_eq!(Range::Share.summed().cut([-1.0, 9.0]), [0.0, 9.0]);
}
