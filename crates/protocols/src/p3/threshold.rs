//! Which relays of the last but one stage speak (P3, section IV-E).
//!
//! The ratio is estimated from what a relay sees: packets of its group come strictly every two
//! cycles within a round, so the time between two of them tells how many were missed, and the
//! number of the first tells how many came before it in the first round. Time base: the relay's
//! clock. Tests: at the end of this file.

use thalweg_units::{Duration, Instant};
use thalweg_wire::route::{Groups, Percent};

/// A relay speaks whatever its ratio until it could have received so many packets: below twenty,
/// one lost packet alone would silence it at the usual 95 %.
pub const MIN_SAMPLE: u32 = 20;

/// A relay's own reception ratio against the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    percent: Percent,
    expected: u32,
    received: u32,
    round: u16,
    last: Option<Instant>,
}

impl Threshold {
    /// Nothing received yet; speak at `percent` or more.
    pub const fn new(percent: Percent) -> Self {
        Self {
            percent,
            expected: 0,
            received: 0,
            round: 0,
            last: None,
        }
    }

    /// Packet `number` of the own group was received, with its SFD at `sfd`; packets of the group
    /// come every `period`.
    pub fn received(&mut self, number: u16, sfd: Instant, period: Duration, groups: Groups) {
        let came = match self.last {
            Some(last) => (sfd.since(last) + period / 2) / period,
            None if self.round == 0 && groups == Groups::Two => u64::from(number / 2) + 1,
            None if self.round == 0 => u64::from(number) + 1,
            None => 1,
        };
        self.last = Some(sfd);
        self.received += 1;
        let came = u32::try_from(came.max(1)).unwrap_or(u32::MAX);
        self.expected = self.expected.saturating_add(came);
    }

    /// The request that ends `round` was heard: the time to the next packet tells nothing.
    pub fn round_ended(&mut self, round: u16) {
        self.last = None;
        self.round = round.saturating_add(1);
    }

    /// Whether to forward packets now. The threshold is halved with every round, so that a stage
    /// whose relays are all below it does not hold the last packets back forever.
    pub fn speaks(&self) -> bool {
        let percent = u64::from(self.percent.get()) >> self.round.min(7);
        self.expected < MIN_SAMPLE
            || u64::from(self.received) * 100 >= percent * u64::from(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_micros(9_074);

    fn at(cycle_pair: u64) -> Instant {
        Instant::ZERO + PERIOD * cycle_pair + Duration::from_micros(cycle_pair % 3)
    }

    fn fed(lost_every: u64, packets: u64) -> Threshold {
        let mut threshold = Threshold::new(Percent::new(95).unwrap());
        for k in (0..packets).filter(|k| k % lost_every != 0) {
            threshold.received(2 * k as u16, at(k), PERIOD, Groups::Two);
        }
        threshold
    }

    #[test]
    fn a_good_relay_speaks_and_a_bad_one_does_not() {
        assert!(fed(21, 200).speaks());
        assert!(!fed(15, 200).speaks());
        assert!(fed(2, 15).speaks(), "too few packets to judge");
    }

    #[test]
    fn packets_before_the_first_one_heard_count_as_missed() {
        let mut late = Threshold::new(Percent::new(95).unwrap());
        for k in 10..40 {
            late.received(2 * k as u16, at(k), PERIOD, Groups::Two);
        }
        assert_eq!((late.received, late.expected), (30, 40));
    }

    #[test]
    fn the_pause_between_rounds_is_no_loss_and_patience_ends() {
        let mut bad = fed(2, 200);
        let before = bad.expected;
        bad.round_ended(0);
        bad.received(7, at(10_000), PERIOD, Groups::Two);
        assert_eq!(bad.expected, before + 1);
        assert!(bad.speaks(), "50 % is enough once the threshold is 47 %");
    }
}
