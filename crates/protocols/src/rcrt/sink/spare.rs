//! What a flow may send beyond its share, because its packets meet no queue on their way: capacity that flows
//! across the bottleneck cannot use (RCRT, section 5, leaves it to the future).
//!
//! A factor of at least 1 on the policy's rate. It grows with every decision of the sink while the way is free, and
//! goes back by half where a queue builds up; a flow that is congested loses it at once. Tests: `tests/spare.rs`.

use thalweg_wire::rcrt::Met;

/// Weight of a packet's note in the mean.
const GAIN: f64 = 0.1;
/// Mean note below which a way is free: three packets of four meet no other.
const FREE: f64 = 0.25;
/// Mean note above which a queue has built up.
const BUSY: f64 = 1.0;
/// Growth in a decision.
const STEP: f64 = 0.05;
/// Most.
const MOST: f64 = 3.0;

/// Of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spare {
    met: f64,
    factor: f64,
}

impl Spare {
    pub(super) const NONE: Self = Self {
        met: 0.0,
        factor: 1.0,
    };
    pub(super) const fn factor(&self) -> f64 {
        self.factor
    }
    /// A packet came in.
    pub(super) fn noted(&mut self, met: Met) {
        self.met += GAIN * (f64::from(met.level()) - self.met);
    }
    /// The sink has decided on the total.
    pub(super) fn decided(&mut self) {
        if self.met < FREE {
            self.factor = (self.factor + STEP).min(MOST);
        } else if self.met > BUSY {
            self.factor = 1.0 + (self.factor - 1.0) / 2.0;
        }
    }
    /// The flow is congested: whether it had something to lose.
    pub(super) fn congested(&mut self) -> bool {
        let had = self.factor > 1.0 + STEP;
        self.factor = 1.0;
        had
    }
}
