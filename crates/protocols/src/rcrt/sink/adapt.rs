//! How much all flows together may send: congestion, increase and decrease (RCRT, sections 3.4 and 3.5).
//!
//! Invariant: the total changes at most once in twice the longest round trip. Tests: `tests.rs`.

use super::flow::FlowState;
use thalweg_units::{Duration, Instant};
use thalweg_wire::rcrt::Rate;

/// Whether the total is adapted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    /// Additive increase, multiplicative decrease.
    Aimd {
        /// A, packets per second.
        increase: f64,
    },
    /// Everybody sends what it wants: reliable transport without congestion control (section 4.2.2).
    Fixed,
}

/// A sink's constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Of the total rate.
    pub control: Control,
    /// L: below it everywhere, the network is not congested.
    pub lower: f64,
    /// U: above it anywhere, it is.
    pub upper: f64,
    /// Weight of the newest value in C.
    pub gain: f64,
    /// Most that a flow that joins adds to the total, packets per second, before the first decrease.
    pub join: f64,
    /// Round trip of a flow before one was measured.
    pub first_rtt: Duration,
    /// Packets from what is next that are taken.
    pub window: u16,
    /// A flow that was silent for so long, and for ten packets at its rate, does not count as congested.
    pub silent: Duration,
}

impl Config {
    /// The paper's constants: A = .5, L = 1, U = 4 (sections 3.4 and 3.5). Where the paper is silent, what its
    /// authors' later release has: a gain of .5, and .5 packets per second for each flow that joins. A round
    /// trip of 1 s before the first is ours, and a minute of silence.
    pub const PAPER: Self = Self {
        control: Control::Aimd { increase: 0.5 },
        lower: 1.0,
        upper: 4.0,
        gain: 0.5,
        join: 0.5,
        first_rtt: Duration::from_secs(1),
        window: 1024,
        silent: Duration::from_secs(60),
    };
}

/// Why rates have changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The network is not congested.
    Increase,
    /// It is.
    Decrease {
        /// The factor, M.
        factor: f64,
        /// p of the flow whose packet told.
        delivery: f64,
    },
    /// A flow has joined.
    Join,
    /// One has left.
    Leave,
}

/// Silence is looked for as often.
const LOOK: Duration = Duration::from_secs(10);

/// The total rate.
#[derive(Debug, Default)]
pub(super) struct Total {
    /// R, packets per second.
    rate: f64,
    /// No decision before.
    next: Option<Instant>,
    /// Flows whose C is not below L.
    uneasy: usize,
    /// Of them, those that have fallen silent.
    silent: usize,
    /// R was decreased before.
    met_limit: Met,
    look: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Met {
    #[default]
    NotYet,
    Before,
}

impl Total {
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }
    pub(super) const fn looks_at(&self) -> Option<Instant> {
        self.look
    }
    /// A flow joins. Until the limit was met, it adds to the total.
    pub(super) fn joins(&mut self, config: &Config, demand: f64) {
        if self.met_limit == Met::NotYet {
            self.rate += demand.min(config.join);
        }
    }
    /// A flow leaves with its rate.
    pub(super) fn leaves(&mut self, now: Instant, config: &Config, rate: f64, left: &[FlowState]) {
        self.rate -= rate;
        if left.is_empty() {
            *self = Self::default();
        } else {
            self.count(now, config, left);
        }
    }
    /// A flow's C was `was` and is `is`.
    pub(super) fn changed(&mut self, config: &Config, was: f64, is: f64) {
        let uneasy = |c: f64| usize::from(c >= config.lower);
        self.uneasy = (self.uneasy + uneasy(is)).saturating_sub(uneasy(was));
    }
    fn count(&mut self, now: Instant, config: &Config, flows: &[FlowState]) {
        let uneasy = || flows.iter().filter(|f| f.congestion >= config.lower);
        self.uneasy = uneasy().count();
        let is_silent = |f: &&FlowState| {
            let packets = Duration::from_secs_f64(10.0 / f.rate.max(Rate::LEAST.per_s()));
            now.since(f.heard) > config.silent.max(packets)
        };
        self.silent = uneasy().filter(is_silent).count();
    }
    /// Looks for flows that have fallen silent.
    pub(super) fn look(&mut self, now: Instant, config: &Config, flows: &[FlowState]) {
        self.look = Some(now + LOOK);
        self.count(now, config, flows);
    }

    /// A packet of flow `k` came in: whether the total is to change, and how.
    pub(super) fn decides(
        &mut self,
        now: Instant,
        config: &Config,
        flows: &[FlowState],
        k: usize,
    ) -> Option<Why> {
        self.look.get_or_insert(now + LOOK);
        let Control::Aimd { increase } = config.control else {
            return None;
        };
        let flow = flows.get(k)?;
        if self.next.is_some_and(|next| now < next) || !flow.is_fresh() {
            return None;
        }
        let why = if flow.congestion > config.upper {
            let delivery = flow.delivery();
            let factor = delivery / (2.0 - delivery);
            self.rate *= factor;
            self.met_limit = Met::Before;
            Why::Decrease { factor, delivery }
        } else if self.uneasy <= self.silent {
            self.rate += increase;
            Why::Increase
        } else {
            return None;
        };
        let longest = flows.iter().map(|f| f.rtt.mean()).fold(0.0, f64::max);
        self.next = Some(now + Duration::from_secs_f64(2.0 * longest));
        Some(why)
    }
    /// The total, no more than `limit` and no less than what `flows` flows need to go on.
    pub(super) fn within(&mut self, limit: Option<f64>, flows: usize) -> f64 {
        let least = flows as f64 * Rate::LEAST.per_s();
        let most = limit.unwrap_or(flows as f64 * Rate::MAX.per_s());
        self.rate = self.rate.min(most).max(least);
        self.rate
    }
}
