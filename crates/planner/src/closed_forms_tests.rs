//! Tests of `closed_forms.rs`.

use super::*;

#[test]
fn the_papers_rates() {
    let cycle = Cycle::default();
    assert_eq!(cycle.air_time(), Duration::from_micros(4256));
    assert_eq!(cycle.period(), Duration::from_micros(4537));
    assert!((cycle.effective_rate().kbps() - 220.4).abs() < 0.1);
}

#[test]
fn cits_bounds() {
    let t_s = single_hop_bound(125).kbps();
    let multi = multi_channel_bound(125, 6).kbps();
    assert!((t_s - 125.0 / 139.0 * 250.0).abs() < 1e-9);
    assert_eq!(t_s.round(), 225.0);
    for n in 1..=6 {
        let bound = single_channel_bound(125, n).kbps();
        assert!((bound * n as f64 - t_s).abs() < 1e-9);
    }
    assert!((multi - 112.4).abs() < 0.05);
    assert_eq!(multi_channel_bound(125, 1), single_hop_bound(125));
}

#[test]
fn equation_one() {
    let ms = Duration::from_millis;
    let time = link_measurement_time(100, ms(10), ms(100), 10);
    assert_eq!(time, Duration::from_secs(101));
}
