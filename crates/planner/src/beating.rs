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
/// and `unknown` more whose levels were not measured. One where there are fewer than two.
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

/// What matters for beats of several senders' powers.
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
#[path = "beating_tests.rs"]
mod tests;
