//! Modems against the standard and data sheets.

use super::*;

#[test]
fn the_series_meets_its_asymptote_and_its_limit() {
    assert!((symbol_error_rate(0.0) - 15.0 / 16.0).abs() < 1e-9);
    let asymptote = 7.5 * libm::exp(-60.0);
    assert!((symbol_error_rate(5.999_999) / asymptote - 1.0).abs() < 1e-3);
}

#[test]
fn the_table_is_the_closed_form() {
    let table = HazardTable::new();
    let mut g = 0.009;
    while g < 4.0 {
        let exact = -libm::log1p(-symbol_error_rate(g));
        assert!(
            (table.hazard(g) - exact).abs() < 0.004 * exact + 1e-7,
            "{g}: {exact}"
        );
        g *= 1.0037;
    }
    assert!((table.hazard(0.0) - libm::log(16.0)).abs() < 0.15);
    assert!(table.hazard(19.9) < 1e-80);
    assert_eq!(table.hazard(1e9), 0.0);
}

#[test]
fn the_hazard_never_rises_with_the_ratio() {
    let table = HazardTable::new();
    let mut before = f64::INFINITY;
    for i in 0..4000 {
        let h = table.hazard(f64::from(i) * 0.006);
        assert!(h <= before);
        before = h;
    }
}

#[test]
fn harmless_interference_is_hardly_a_hazard_and_twice_as_much_is() {
    let demodulator = Demodulator::default();
    for modem in [
        crate::chip::CC1000.modem,
        crate::chip::CC2420.modem,
        Modem::OQpskPlain,
    ] {
        for s in [3.0, 6.0, 20.0, 25.0, 100.0, 1e4, 1e7] {
            let hazard = |i: f64| demodulator.hazard(modem, Demodulator::ratio(modem, s, 1.0, i));
            let i = Demodulator::harmless(modem).beside(s, 1.0);
            if i > 0.0 {
                assert!(hazard(i) < 1e-20 && hazard(2.0 * i + 1.0) > 1e-18);
            } else {
                assert!(hazard(0.01 * s) > 1e-21);
            }
        }
    }
}

#[test]
fn the_fsk_hazard_is_the_closed_form() {
    let demodulator = Demodulator::default();
    let modem = crate::chip::CC1000.modem;
    let Modem::Fsk {
        rate_per_bandwidth, ..
    } = modem
    else {
        panic!("an FSK chip");
    };
    for k in 0..60_000 {
        let g = f64::from(k) * 0.001;
        let exact = -libm::log1p(-0.5 * libm::exp(-g / (2.0 * rate_per_bandwidth)));
        let hazard = demodulator.hazard(modem, g);
        assert!(
            (hazard / exact - 1.0).abs() < 1e-12,
            "{g}: {hazard} {exact}"
        );
    }
    assert_eq!(demodulator.hazard(modem, 1e9), 0.0);
}
