//! Sums of phasors.

use super::*;
use core::f64::consts::FRAC_PI_2;

#[test]
fn a_turn_is_a_sine_and_a_cosine() {
    let mut fraction = -3.0;
    while fraction < 7.0 {
        let (im, re) = libm::sincos(TAU * fraction);
        let turn = Complex::turn(fraction);
        let error = (turn.re - re).abs().max((turn.im - im).abs());
        assert!(error < 1e-14, "{fraction}: {error}");
        fraction += 0.000_37;
    }
    assert_eq!(Complex::turn(0.0).re, 1.0);
    assert_eq!(Complex::turn(-0.5).re, -1.0);
    assert_eq!(Complex::turn(0.75).im, -1.0);
}

/// Sums over blocks are what the phasors come to one by one.
#[test]
fn ratios_go_on_from_block_to_block() {
    let offsets = [3_000.0, -21_000.0, 17_500.0];
    let carriers: Vec<Carrier> = offsets.iter().map(|hz| Carrier::new(*hz)).collect();
    let parts = [(1.0, 0.1, 0.0), (0.7, -0.3, 0.4), (0.9, 0.25, 0.83)];
    let mut senders: Vec<Sender> = (0u32..)
        .zip(parts)
        .map(|(i, (amplitude, late, phase))| Sender::new(i, amplitude, late, phase))
        .collect();
    senders.iter_mut().for_each(Sender::begin);
    let mut got = Vec::new();
    for _ in 0..3 {
        got.extend(ratios(&mut senders, &carriers, 0.45, &[0.01; LANES]));
    }
    for (symbol, got) in got.iter().enumerate() {
        let q: f64 = [0.0, WITHIN_US]
            .iter()
            .map(|sample| {
                let t = (STEP_US * symbol as f64 + sample) * 1e-6;
                let (mut u, mut v) = (Complex::default(), Complex::default());
                for ((amplitude, late, phase), hz) in parts.iter().zip(offsets) {
                    let (sin, cos) = libm::sincos(TAU * (phase + hz * t));
                    let (m, a) = libm::sincos(FRAC_PI_2 * late);
                    u = Complex {
                        re: u.re + amplitude * a * cos,
                        im: u.im + amplitude * a * sin,
                    };
                    v = Complex {
                        re: v.re + amplitude * m * cos,
                        im: v.im + amplitude * m * sin,
                    };
                }
                let s = u.re * u.re + u.im * u.im;
                s / (s + 0.45 * (v.re * v.re + v.im * v.im) + 0.01)
            })
            .sum();
        let want = q / (2.0 - q);
        assert!(
            (got / want - 1.0).abs() < 1e-9,
            "{symbol}: {got} for {want}"
        );
    }
}
