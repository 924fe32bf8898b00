//! A limiter-discriminator receiver of half-sine O-QPSK, chip by chip: the sum of the senders'
//! waveforms with their carriers, phases and timing, plus white noise; a filter one chip long; the
//! phase step over each chip; the best of sixteen correlations.

use std::f64::consts::{FRAC_PI_2, TAU};
use thalweg_medium::random::{normal, uniform, Stream};

/// The spreading sequence of symbol 0, first chip first (IEEE 802.15.4-2006, table 24).
const SEQUENCE: &[u8; 32] = b"11011001110000110101001000101110";
/// Points at which a waveform is computed per chip.
const POINTS: usize = 4;

/// One sender at the receiver. Amplitudes are relative to noise of power one in 2 MHz.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) amplitude: f64,
    pub(crate) offset_hz: f64,
    pub(crate) phase: f64,
    /// In chips of 0.5 us.
    pub(crate) late_chips: f64,
}

pub(crate) struct Receiver {
    /// Chips of each symbol, as -1 and 1.
    chips: [[f64; 32]; 16],
    /// Signs of the 31 phase steps inside each symbol.
    steps: [[f64; 31]; 16],
}

impl Receiver {
    pub(crate) fn new() -> Self {
        let mut chips = [[0.0; 32]; 16];
        for (symbol, row) in chips.iter_mut().enumerate() {
            for (place, chip) in row.iter_mut().enumerate() {
                // Symbols 1 to 7 are symbol 0 shifted by four chips each; 8 to 15 have the odd
                // (quadrature) chips inverted.
                let one = SEQUENCE[(place + 32 - 4 * (symbol % 8)) % 32] == b'1';
                let inverted = symbol >= 8 && place % 2 == 1;
                *chip = if one != inverted { 1.0 } else { -1.0 };
            }
        }
        let mut receiver = Self {
            chips,
            steps: [[0.0; 31]; 16],
        };
        let clean = [Arrival {
            amplitude: 1.0,
            offset_hz: 0.0,
            phase: 0.0,
            late_chips: 0.0,
        }];
        for symbol in 0..16 {
            let line = receiver.filtered(&clean, &[symbol, symbol]);
            for place in 0..31 {
                let step = phase_step(line[place], line[place + 1]);
                receiver.steps[symbol][place] = if step > 0.0 { 1.0 } else { -1.0 };
            }
        }
        receiver
    }

    /// Whether a frame of `symbols` random symbols is received without an error.
    pub(crate) fn receives(&self, arrivals: &[Arrival], symbols: usize, rng: &mut Stream) -> bool {
        // One more symbol on either side, so that late and early senders have neighbours.
        let sent: Vec<usize> = (0..symbols + 2)
            .map(|_| (uniform(rng) * 16.0) as usize)
            .collect();
        let line = self.filtered(arrivals, &sent);
        let noise = 0.5f64.sqrt();
        for (i, &symbol) in sent.iter().enumerate().take(symbols + 1).skip(1) {
            let noisy: Vec<(f64, f64)> = line[32 * i..32 * i + 32]
                .iter()
                .map(|z| (z.0 + noise * normal(rng), z.1 + noise * normal(rng)))
                .collect();
            let steps: Vec<f64> = noisy
                .windows(2)
                .map(|pair| phase_step(pair[0], pair[1]))
                .collect();
            let correlation = |candidate: usize| -> f64 {
                self.steps[candidate]
                    .iter()
                    .zip(&steps)
                    .map(|(a, b)| a * b)
                    .sum()
            };
            let right = correlation(symbol);
            if (0..16).any(|other| other != symbol && correlation(other) >= right) {
                return false;
            }
        }
        true
    }

    /// The senders' sum at each chip boundary after a filter that averages one chip around it.
    /// Boundaries are where the phase of MSK is a multiple of a quarter turn.
    fn filtered(&self, arrivals: &[Arrival], sent: &[usize]) -> Vec<(f64, f64)> {
        let total = 32 * sent.len();
        let chip = |k: i64| -> f64 {
            if k < 0 || k as usize >= total {
                return 0.0;
            }
            self.chips[sent[k as usize / 32]][k as usize % 32]
        };
        let mut line = vec![(0.0, 0.0); total];
        for arrival in arrivals {
            let step = TAU * arrival.offset_hz * 0.5e-6 / POINTS as f64;
            let (turn_im, turn_re) = libm::sincos(step);
            let (mut im, mut re) = libm::sincos(arrival.phase);
            let scale = arrival.amplitude / POINTS as f64;
            // The pulse at every place of the grid that there is within two chips.
            let phase_of = |point: usize, k: i64| -> (f64, i64) {
                // Time in chips since the sender's first chip began, at this point.
                let t = k as f64 + 0.5 + (point as f64 + 0.5) / POINTS as f64 - arrival.late_chips;
                (t, t.floor() as i64)
            };
            let mut pulses = [[(0.0, 0i64, 0.0, 0i64); POINTS]; 2];
            for (parity, row) in pulses.iter_mut().enumerate() {
                for (point, pulse) in row.iter_mut().enumerate() {
                    let k = 2 + parity as i64;
                    let (t, floor) = phase_of(point, k);
                    let even = floor - floor.rem_euclid(2);
                    let before = floor - 1;
                    let odd = before - before.rem_euclid(2) + 1;
                    *pulse = (
                        libm::sin(FRAC_PI_2 * (t - even as f64)),
                        even - k,
                        libm::sin(FRAC_PI_2 * (t - odd as f64)),
                        odd - k,
                    );
                }
            }
            for (k, z) in line.iter_mut().enumerate() {
                for &(i_pulse, i_chip, q_pulse, q_chip) in &pulses[k % 2] {
                    let i = scale * i_pulse * chip(k as i64 + i_chip);
                    let q = scale * q_pulse * chip(k as i64 + q_chip);
                    z.0 += i * re - q * im;
                    z.1 += i * im + q * re;
                    (re, im) = (re * turn_re - im * turn_im, re * turn_im + im * turn_re);
                }
            }
        }
        line
    }
}

/// The sine of the phase step from `a` to `b`: what a limiter and a delay-and-multiply give.
fn phase_step(a: (f64, f64), b: (f64, f64)) -> f64 {
    let magnitude = ((a.0 * a.0 + a.1 * a.1) * (b.0 * b.0 + b.1 * b.1)).sqrt();
    if magnitude > 0.0 {
        (a.0 * b.1 - a.1 * b.0) / magnitude
    } else {
        0.0
    }
}
