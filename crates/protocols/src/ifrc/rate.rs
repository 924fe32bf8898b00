//! A node's rate: slow start, additive increase, halving (IFRC; RCRT, section 4.2.5).
//!
//! Packets per second. Invariant: from [`INITIAL`] to [`Rate::MAX`], except where a neighbour's is taken,
//! and never not a number. Tests: `tests.rs`.

use thalweg_wire::ifrc::{Phase, Rate};

/// r_init, packets per second.
pub(super) const INITIAL: f32 = 0.02;
/// phi: what slow start adds for each packet, packets per second.
const PHI: f32 = 0.0025;
/// eps: additive increase adds r_thresh^2 / (eps r) for each packet.
const EPS: f32 = 80.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Growth {
    /// Up to the threshold; none before the first congestion.
    SlowStart {
        threshold: Option<f32>,
    },
    Additive {
        threshold: f32,
    },
}

/// How steep a rate grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slope {
    /// A node's.
    Node,
    /// The base station's: twice a node's, so that it holds back no node for long.
    Base,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    rate: f32,
    growth: Growth,
}

impl Allowance {
    pub(super) const NEW: Self = Self {
        rate: INITIAL,
        growth: Growth::SlowStart { threshold: None },
    };

    /// r_i.
    pub(super) const fn rate(&self) -> f32 {
        self.rate
    }
    /// As frames carry it to neighbours.
    pub(super) fn phase(&self) -> Phase {
        match self.growth {
            Growth::SlowStart { threshold } => Phase::SlowStart {
                threshold: threshold.map(Rate::from_per_s),
            },
            Growth::Additive { threshold } => Phase::Additive {
                threshold: Rate::from_per_s(threshold),
            },
        }
    }

    /// A packet was sent.
    pub(super) fn grow(&mut self, slope: Slope) {
        if let Growth::SlowStart { threshold: Some(t) } = self.growth {
            if self.rate >= t {
                self.growth = Growth::Additive { threshold: t };
            }
        }
        let step = match self.growth {
            Growth::SlowStart { .. } => PHI,
            Growth::Additive { threshold } => threshold * threshold / (EPS * self.rate),
        };
        let steps = match slope {
            Slope::Node => 1.0,
            Slope::Base => 2.0,
        };
        self.rate = (self.rate + steps * step).min(Rate::MAX.per_s());
    }
    /// The queue has crossed a threshold: half the rate, which is r_thresh from now on.
    pub(super) fn halve(&mut self) {
        self.rate = (self.rate / 2.0).max(INITIAL);
        self.growth = Growth::Additive {
            threshold: self.rate,
        };
    }
    /// The queue has crossed the last threshold: slow start up to half the rate.
    pub(super) fn restart(&mut self) {
        let threshold = Some((self.rate / 2.0).max(INITIAL));
        self.growth = Growth::SlowStart { threshold };
        self.rate = INITIAL;
    }
    /// No more than `rate`, the parent's; growth is not changed.
    pub(super) fn cap(&mut self, rate: Rate) {
        self.rate = self.rate.min(Self::usable(rate));
    }
    /// Takes the rate of a congested node if it is lower, and where that is in slow start its slow
    /// start.
    pub(super) fn take(&mut self, rate: Rate, phase: Phase) -> Taken {
        let rate = Self::usable(rate);
        if rate >= self.rate {
            return Taken::Kept;
        }
        self.rate = rate;
        self.growth = match phase {
            Phase::SlowStart { threshold } => Growth::SlowStart {
                threshold: threshold.map(Rate::per_s),
            },
            Phase::Additive { .. } => Growth::Additive { threshold: rate },
        };
        Taken::Lowered
    }
    /// A neighbour's rate as it may be gone by: some packets, whatever was sent.
    fn usable(rate: Rate) -> f32 {
        rate.per_s().max(1.0 / 4096.0)
    }
}

/// What became of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is as it was.
    Kept,
    /// It is another's, and lower.
    Lowered,
}
