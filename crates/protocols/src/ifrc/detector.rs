//! Whether a node is congested: the average of its queue and the thresholds that it has crossed (IFRC).
//!
//! Counts packets. Invariant: each threshold is crossed once from when the node was not congested until
//! it is not again. Tests: `tests.rs`.

use thalweg_wire::ifrc::THRESHOLDS;

/// w_q: weight of the queue at an insertion.
const WEIGHT: f32 = 0.03;
/// L: below this average a node is congested no longer.
const LOWER: f32 = 4.0;
/// U(k).
const UPPER: [f32; THRESHOLDS as usize] = [8.0, 16.0, 20.0, 22.0];

/// What an insertion has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crossing {
    None,
    /// A threshold other than the last.
    Threshold,
    /// The last.
    Last,
}

#[derive(Debug)]
pub(super) struct Detector {
    average: f32,
    crossed: u8,
}

impl Detector {
    pub(super) const NEW: Self = Self {
        average: 0.0,
        crossed: 0,
    };

    /// Thresholds crossed; none where the node is not congested.
    pub(super) const fn crossed(&self) -> u8 {
        self.crossed
    }
    /// A packet has entered the queue, which now holds `packets`. The average cannot pass two thresholds
    /// at once: one insertion moves it by less than two packets.
    pub(super) fn inserted(&mut self, packets: u8) -> Crossing {
        self.average += WEIGHT * (f32::from(packets) - self.average);
        if self.average < LOWER {
            self.crossed = 0;
            return Crossing::None;
        }
        match UPPER.get(usize::from(self.crossed)) {
            Some(upper) if self.average > *upper => {
                self.crossed += 1;
                match self.crossed < THRESHOLDS {
                    true => Crossing::Threshold,
                    false => Crossing::Last,
                }
            }
            _ => Crossing::None,
        }
    }
}
