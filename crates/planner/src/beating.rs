//! What beats cost: the probability that a frame which several radios send in step survives their beating.
//!
//! Carriers of synchronous senders drift through each other; near a beat null little but chip
//! misalignment is left. The tables are averages of the phasor model of synchronous reception (random
//! phases, carriers within 10 ppm, start errors of 0.1 us, 127 B frames, 20 dB above noise);
//! the test below runs that model and compares. Not modelled: noise, distances, frame length.

use thalweg_units::Dbm;

/// Survival by effective number of other senders (rows: [`OTHERS`]) and by how far the strongest
/// sender lies above the sum of all others (columns: [`LEAST_DB`] dB and up, in steps of 1 dB).
const TABLE: [[f64; 13]; 4] = [
    [
        0.72, 0.72, 0.72, 0.72, 0.72, 0.72, 0.80, 0.93, 0.99, 1.0, 1.0, 1.0, 1.0,
    ],
    [
        0.93, 0.93, 0.93, 0.91, 0.91, 0.90, 0.88, 0.88, 0.91, 0.98, 1.0, 1.0, 1.0,
    ],
    [
        0.83, 0.84, 0.85, 0.86, 0.89, 0.90, 0.91, 0.91, 0.91, 0.94, 0.99, 1.0, 1.0,
    ],
    [
        0.85, 0.85, 0.85, 0.86, 0.86, 0.88, 0.89, 0.91, 0.93, 0.96, 0.98, 0.99, 1.0,
    ],
];
const OTHERS: [f64; 4] = [1.0, 2.0, 3.0, 5.0];
const LEAST_DB: f64 = -5.0;
/// Survival with 1, 2, 3, 4 ... senders of unknown power, each normally distributed with 4 dB.
const UNKNOWN: [f64; 8] = [1.0, 0.95, 0.90, 0.90, 0.88, 0.87, 0.87, 0.86];

/// Probability that a frame survives the beats among senders that reach the receiver at `levels`,
/// and `unknown` more whose levels nobody measured. One where there are fewer than two.
pub fn survival(levels: &[Dbm], unknown: usize) -> f64 {
    let count = levels.len() + unknown;
    if count < 2 {
        return 1.0;
    }
    if unknown > 0 {
        return UNKNOWN[(count - 1).min(UNKNOWN.len() - 1)];
    }
    let lead = Lead::of(levels.iter().map(|level| level.milliwatts().0));
    lead.map_or(1.0, |lead| lead.survival(0.0))
}

/// What of several senders' powers decides over their beats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lead {
    /// Effective number of senders beside the strongest.
    others: f64,
    /// The strongest over the sum of the others, in decibels.
    db: f64,
    /// The same where another one of them becomes the strongest.
    least_db: f64,
}

impl Lead {
    /// Of senders that arrive with `powers` (in any unit); none where there are fewer than two.
    pub(crate) fn of(powers: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut strongest, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for power in powers {
            strongest = f64::max(strongest, power);
            sum += power;
            squares += power * power;
        }
        let (rest, rest_squares) = (sum - strongest, squares - strongest * strongest);
        (rest > 0.0 && rest_squares > 0.0).then(|| {
            let others = rest * rest / rest_squares;
            Self {
                others,
                db: 10.0 * libm::log10(strongest / rest),
                least_db: -10.0 * libm::log10(others.max(1.0)),
            }
        })
    }
    /// Probability that a frame survives, where the strongest lies `shift_db` higher than that.
    pub(crate) fn survival(&self, shift_db: f64) -> f64 {
        // Below the others' own level another one of them is the strongest.
        let lead = self.db + shift_db;
        interpolated(self.others, lead.max(2.0 * self.least_db - lead))
    }
}

fn interpolated(others: f64, lead_db: f64) -> f64 {
    let last = TABLE[0].len() - 1;
    let column = (lead_db - LEAST_DB).clamp(0.0, last as f64);
    let (left, part) = (column as usize, column - (column as usize) as f64);
    let at = |row: usize| TABLE[row][left] * (1.0 - part) + TABLE[row][(left + 1).min(last)] * part;
    let row = OTHERS.iter().rposition(|&o| o <= others).unwrap_or(0);
    match OTHERS.get(row + 1) {
        Some(&above) => {
            let part = ((others - OTHERS[row]) / (above - OTHERS[row])).clamp(0.0, 1.0);
            at(row) * (1.0 - part) + at(row + 1) * part
        }
        None => at(row),
    }
}

#[cfg(test)]
mod tests {
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
}
