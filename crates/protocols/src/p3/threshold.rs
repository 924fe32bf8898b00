//! Which relays of the last but one stage speak (P3, section IV-E: "those nodes on the penultimate
//! stage with a good reception reliability of at least a predefined threshold").
//!
//! The reception reliability is that of the relay itself: of the packets of its group whose
//! beginning it heard, the share that it received whole. Packets that never reached the stage
//! before say nothing about it; counted as its losses they would silence whole stages of routes
//! whose losses lie elsewhere. Tests: at the end of this file.

use thalweg_wire::route::Percent;

/// A relay speaks whatever its ratio until so many packets were judged: below twenty, one lost
/// packet alone would silence it at the usual 95 %.
pub const MIN_SAMPLE: u32 = 20;

/// A relay's own reception ratio against the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    percent: Percent,
    begun: u32,
    whole: u32,
    round: u16,
}

impl Threshold {
    /// Nothing received yet; speak at `percent` or more.
    pub const fn new(percent: Percent) -> Self {
        Self {
            percent,
            begun: 0,
            whole: 0,
            round: 0,
        }
    }

    /// A packet of the own group was received whole.
    pub fn received(&mut self) {
        self.begun = self.begun.saturating_add(1);
        self.whole = self.whole.saturating_add(1);
    }

    /// A packet of the own group began and was lost.
    pub fn lost(&mut self) {
        self.begun = self.begun.saturating_add(1);
    }

    /// The request that ends `round` was heard.
    pub fn round_ended(&mut self, round: u16) {
        self.round = round.saturating_add(1);
    }

    /// Whether to forward packets now. The threshold is halved with every round, so that a stage
    /// whose relays are all below it does not hold the last packets back forever.
    pub fn speaks(&self) -> bool {
        let percent = u64::from(self.percent.get()) >> self.round.min(7);
        self.begun < MIN_SAMPLE || u64::from(self.whole) * 100 >= percent * u64::from(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(lost_every: u64, packets: u64) -> Threshold {
        let mut threshold = Threshold::new(Percent::new(95).unwrap());
        for k in 0..packets {
            match k % lost_every {
                0 => threshold.lost(),
                _ => threshold.received(),
            }
        }
        threshold
    }

    #[test]
    fn a_good_relay_speaks_and_a_bad_one_does_not() {
        assert!(fed(21, 210).speaks());
        assert!(!fed(15, 210).speaks());
        assert!(fed(2, 15).speaks(), "too few packets to judge");
    }

    #[test]
    fn patience_ends() {
        let mut bad = fed(2, 200);
        assert!(!bad.speaks());
        bad.round_ended(0);
        assert!(bad.speaks(), "50 % is enough once the threshold is 47 %");
    }
}
