//! The medium against a chip-level O-QPSK receiver: reception ratios of single links and of two to
//! four synchronous senders. A few points run by default; all of them with
//! `cargo test -p thalweg-medium --release --test all oracle -- --ignored --nocapture` (a quarter of a minute).
//!
//! The receiver knows the symbol timing (the senders' power-weighted centre) and has no automatic
//! frequency control, so it is a little better than hardware at weak signals; the model's effective
//! noise floor holds 3.7 dB of demodulator loss in its place.

mod receiver;

use self::receiver::{Arrival, Receiver};
use crate::common::{bench, Sender};
use std::f64::consts::TAU;
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::{normal, stream, uniform};
use thalweg_units::{Db, Duration};

/// Reception ratio of the chip-level receiver: `levels` are SNRs of the senders in decibels.
fn chip_level(levels: &[f64], psdu: usize, frames: u32, sigma_ns: f64, seed: u64) -> f64 {
    let receiver = Receiver::new();
    let mut rng = stream(seed, "chip level", &[levels.len() as u64, psdu as u64]);
    let mut good = 0;
    for _ in 0..frames {
        let mut arrivals: Vec<Arrival> = levels
            .iter()
            .map(|snr| Arrival {
                amplitude: Db(*snr).factor().sqrt(),
                offset_hz: 24_400.0 * (2.0 * uniform(&mut rng) - 1.0),
                phase: TAU * uniform(&mut rng),
                late_chips: sigma_ns * normal(&mut rng) / 500.0,
            })
            .collect();
        let power: f64 = arrivals.iter().map(|a| a.amplitude * a.amplitude).sum();
        let centre: f64 = arrivals
            .iter()
            .map(|a| a.amplitude * a.amplitude * a.late_chips)
            .sum::<f64>()
            / power;
        for arrival in &mut arrivals {
            arrival.late_chips -= centre;
        }
        good += u32::from(receiver.receives(&arrivals, 2 * psdu + 6, &mut rng));
    }
    f64::from(good) / f64::from(frames)
}

/// The same of the medium. Its effective floor stands the demodulator's loss above real noise.
fn model(levels: &[f64], psdu: usize, frames: u32, sigma_ns: f64) -> f64 {
    let noise = CC2420.noise_floor - CC2420.demodulator_loss;
    let senders: Vec<_> = levels
        .iter()
        .map(|snr| Sender {
            level: noise + Db(*snr),
            delay: Duration::ZERO,
            frame: 0,
        })
        .collect();
    bench(&senders, psdu, frames, sigma_ns)
}

/// (SNRs, PSDU bytes, start error ns)
type Point = (&'static [f64], usize, f64);

fn differences(points: &[Point], frames: u32, print: bool) -> (f64, f64) {
    let (mut square, mut most) = (0.0, 0.0f64);
    for (levels, psdu, sigma) in points {
        let want = chip_level(levels, *psdu, frames, *sigma, 1);
        let got = model(levels, *psdu, 4000, *sigma);
        if print {
            println!("{levels:?} dB, {psdu} B, {sigma} ns: chip level {want:.3}, model {got:.3}");
        }
        square += (got - want) * (got - want);
        most = most.max((got - want).abs());
    }
    ((square / points.len() as f64).sqrt(), most)
}

#[test]
fn a_few_points_agree_with_the_chip_level() {
    let points: &[Point] = &[
        (&[20.0, 20.0], 8, 100.0),
        (&[20.0, 20.0], 8, 200.0),
        (&[20.0, 20.0, 20.0], 32, 150.0),
        (&[20.0, 15.0], 32, 100.0),
        (&[5.0], 32, 0.0),
    ];
    let (rms, most) = differences(points, 250, false);
    assert!(rms < 0.08 && most < 0.14, "rms {rms:.3}, most {most:.3}");
}

#[test]
#[ignore = "a quarter of a minute in release; prints every point"]
fn the_grid_agrees_with_the_chip_level() {
    let mut all: Vec<Point> = Vec::new();
    for psdu in [8, 32, 127] {
        for sigma in [50.0, 100.0, 150.0, 200.0] {
            for levels in [
                &[20.0, 20.0][..],
                &[20.0, 20.0, 20.0],
                &[20.0, 20.0, 20.0, 20.0],
                &[20.0, 16.0],
                &[20.0, 18.0, 16.0],
                &[10.0, 10.0, 10.0],
            ] {
                all.push((levels, psdu, sigma));
            }
        }
    }
    let (rms, most) = differences(&all, 500, true);
    println!("synchronous senders: rms {rms:.3}, most {most:.3}");
    assert!(rms < 0.06 && most < 0.2, "rms {rms:.3}, most {most:.3}");
    // Below 2.2 dB the medium does not even synchronise.
    let single: &[Point] = &[
        (&[2.5], 127, 0.0),
        (&[3.0], 127, 0.0),
        (&[3.5], 127, 0.0),
        (&[4.0], 127, 0.0),
        (&[3.0], 20, 0.0),
        (&[4.0], 20, 0.0),
    ];
    let (rms, most) = differences(single, 500, true);
    println!("single links: rms {rms:.3}, most {most:.3}");
    assert!(rms < 0.04 && most < 0.08, "rms {rms:.3}, most {most:.3}");
}
