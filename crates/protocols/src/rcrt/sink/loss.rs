//! A flow's loss rate by its average loss interval (RCRT, section 3.5; Floyd, Handley, Padhye and Widmer,
//! SIGCOMM 2000). Consecutive losses are one event. Tests: below.

/// Intervals that are looked at.
const N: usize = 8;
/// Their weights, the latest first.
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Loss events of a flow. Lengths are packets from the first of an event to the first of the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses {
    /// The latest first.
    intervals: [f64; N],
    known: usize,
    /// The first packet of the latest event.
    last: Option<u64>,
}

impl Losses {
    /// An event whose first packet is `first`; before any, the flow's first packet was `began`.
    pub(super) fn event(&mut self, first: u64, began: u64) {
        let since = self.last.replace(first).unwrap_or(began);
        self.intervals.rotate_right(1);
        self.intervals[0] = first.saturating_sub(since).max(1) as f64;
        self.known = (self.known + 1).min(N);
    }
    /// Share of packets that arrive without a loss, where `highest` is the last that was seen: 1 before any
    /// loss.
    pub(super) fn delivery(&self, highest: u64) -> f64 {
        let Some(last) = self.last else { return 1.0 };
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let pairs = intervals.zip(WEIGHTS).take(self.known);
            let (sum, weights) = pairs.fold((0.0, 0.0), |(s, w), (i, weight)| {
                (s + i * weight, w + weight)
            });
            sum / weights
        };
        let past = mean(&mut self.intervals.iter().copied());
        let open = highest.saturating_sub(last) as f64;
        let with_open = mean(&mut core::iter::once(open).chain(self.intervals.iter().copied()));
        1.0 - 1.0 / past.max(with_open).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_weighed_and_a_long_open_one_counts() {
        let mut losses = Losses::default();
        assert_eq!(losses.delivery(1000), 1.0);
        losses.event(20, 0);
        assert!((losses.delivery(21) - 0.95).abs() < 1e-12);
        // Events at 20, 30, 40, 50, 60: the latest four intervals weigh 1, the first of 20 packets .8.
        for first in [30, 40, 50, 60] {
            losses.event(first, 0);
        }
        let interval = (10.0 * 4.0 + 20.0 * 0.8) / 4.8;
        assert!((losses.delivery(61) - (1.0 - 1.0 / interval)).abs() < 1e-12);
        // 100 packets without a loss: s_0 takes the first weight, the interval of 20 falls out.
        let interval = (100.0 + 10.0 * 3.0 + 10.0 * 0.8) / 4.8;
        assert!((losses.delivery(160) - (1.0 - 1.0 / interval)).abs() < 1e-12);
        // Every other packet.
        for k in 0..8 {
            losses.event(200 + 2 * k, 0);
        }
        losses.event(216, 0);
        assert!((losses.delivery(217) - 0.5).abs() < 1e-12);
    }
}
