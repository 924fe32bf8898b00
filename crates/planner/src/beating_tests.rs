//! The table against the phasor model.

use super::*;
use rand::{Rng, SeedableRng};
use std::f64::consts::{LN_2, PI};

type Rand = rand_pcg::Pcg64Mcg;

/// Hazard of one symbol at SNR `g`: -ln(1 - SER), IEEE 802.15.4-2006, E.4.1.
fn hazard(g: f64) -> f64 {
    let ser = if g > 6.0 {
        7.5 * libm::exp(-10.0 * g)
    } else {
        let (mut choose, mut sum) = (16.0, 0.0);
        for k in (2..=16).map(f64::from) {
            choose *= (17.0 - k) / k;
            sum += choose * libm::exp(20.0 * g * (1.0 / k - 1.0)) * (1.0 - 2.0 * (k % 2.0));
        }
        sum / 16.0
    };
    -libm::log1p(-ser.clamp(0.0, 1.0 - 1e-12))
}

fn normal(rng: &mut Rand) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * libm::log(1.0 - u)).sqrt() * libm::cos(2.0 * PI * v)
}

/// The phasor model: share of 127 B frames that survive.
fn simulated(powers: &[f64], frames: usize, rng: &mut Rand) -> f64 {
    let total: f64 = powers.iter().sum();
    let noise = powers.iter().copied().fold(0.0, f64::max) / 100.0;
    let mut survived = 0.0;
    for _ in 0..frames {
        let mut senders: Vec<(f64, f64, f64, f64)> = (powers.iter())
            .map(|p| {
                let carrier = rng.random_range(-24.4e3..24.4e3);
                let phase = rng.random_range(0.0..2.0 * PI);
                (p.sqrt(), carrier, phase, 0.1 * normal(rng))
            })
            .collect();
        let mean = senders.iter().map(|s| s.0 * s.0 * s.3).sum::<f64>() / total;
        for sender in &mut senders {
            sender.3 = (sender.3 - mean) / 0.5;
        }
        let mut lambda = 0.0;
        for symbol in (0..260).step_by(4) {
            let q: f64 = [4e-6, 12e-6]
                .iter()
                .map(|offset| {
                    let t = f64::from(symbol) * 16e-6 + offset;
                    let (mut u, mut v) = ((0.0, 0.0), (0.0, 0.0));
                    for (amplitude, carrier, phase, late) in &senders {
                        let angle = 2.0 * PI * carrier * t + phase;
                        let (x, y) = (libm::cos(angle), libm::sin(angle));
                        let on = amplitude * libm::cos(PI * late / 2.0);
                        let off = amplitude * libm::sin(PI * late / 2.0);
                        u = (u.0 + on * x, u.1 + on * y);
                        v = (v.0 + off * x, v.1 + off * y);
                    }
                    let s = u.0 * u.0 + u.1 * u.1;
                    s / (s + 0.5 * (v.0 * v.0 + v.1 * v.1) + noise)
                })
                .sum();
            lambda += 4.0 * hazard(q / (2.0 - q));
        }
        survived += libm::exp(-lambda);
    }
    survived / frames as f64
}

#[test]
fn the_tables_are_those_of_the_phasor_model() {
    let mut rng = Rand::seed_from_u64(1);
    for (row, &others) in OTHERS.iter().enumerate() {
        for lead in [-5.0, -3.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0] {
            // The strongest is at least as strong as any of the others.
            if lead < -10.0 * libm::log10(others) - 0.5 {
                continue;
            }
            let strongest = libm::exp(lead / 10.0 * (LN_2 + libm::log(5.0)));
            let mut powers = vec![1.0 / others; others as usize];
            powers.push(strongest);
            let model = simulated(&powers, 300, &mut rng);
            let table = interpolated(others, lead);
            let which = format!("row {row}, {lead} dB: model {model:.3}, table {table:.3}");
            assert!((model - table).abs() < 0.06, "{which}");
        }
    }
}

#[test]
fn capture_and_strangers() {
    assert_eq!(survival(&[], 0), 1.0);
    assert_eq!(survival(&[Dbm(-80.0)], 0), 1.0);
    assert!(survival(&[Dbm(-80.0), Dbm(-80.0)], 0) < 0.75);
    assert!(survival(&[Dbm(-80.0), Dbm(-86.0)], 0) > 0.99);
    // Two equal senders are the worst case: a third repairs some of it.
    assert!(survival(&[Dbm(-80.0); 3], 0) > survival(&[Dbm(-80.0); 2], 0));
    assert_eq!(survival(&[Dbm(-80.0)], 1), UNKNOWN[1]);
}
