//! How much all flows together may send: congestion, increase and decrease (RCRT, sections 3.4 and 3.5).
//!
//! Invariant: the total changes at most once in twice the longest round trip. Tests: `tests/`.

use super::arrivals::Arrivals;
use super::config::{Config, Control, Decrease, Evidence, Leave};
use super::flow::{FlowState, GAP};
use thalweg_units::{Duration, Instant};
use thalweg_wire::rcrt::Rate;

/// Why rates have changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// The network is not congested.
    Increase,
    /// The network is congested.
    Decrease {
        /// The factor, M.
        factor: f64,
        /// p of the flow whose packet decided.
        delivery: f64,
    },
    /// A flow has joined.
    Join,
    /// One has left.
    Leave,
}

/// How often to check for silent flows.
const SILENCE_CHECK: Duration = Duration::from_secs(10);

/// M is no less, so that a single decision does not take more than TCP's.
const LEAST_FACTOR: f64 = 0.5;
/// A step that would leave more than this of the total is none.
const MOST_FACTOR: f64 = 0.98;
/// Of what came in the last seconds, a decrease leaves this share...
const OF_ARRIVALS: f64 = 0.95;
/// ...but no more than this share of the total.
const AT_MOST: f64 = 0.9;

/// The total rate.
#[derive(Debug)]
pub(super) struct Total {
    /// R, packets per second.
    rate: f64,
    /// No increase before.
    increase: Option<Instant>,
    /// No decrease before.
    decrease: Option<Instant>,
    /// Flows whose C is not below L.
    uneasy: usize,
    /// Of them, those that have fallen silent.
    silent: usize,
    next_check: Option<Instant>,
    /// The lowest p that a decrease since the last increase has counted.
    counted: f64,
    /// What all flows bring.
    pub(super) arrivals: Arrivals,
}

impl Default for Total {
    fn default() -> Self {
        Self {
            rate: 0.0,
            increase: None,
            decrease: None,
            uneasy: 0,
            silent: 0,
            next_check: None,
            counted: 1.0,
            arrivals: Arrivals::default(),
        }
    }
}

impl Total {
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }
    pub(super) const fn silence_check(&self) -> Option<Instant> {
        self.next_check
    }
    /// A flow joins with what it wants: rates overshoot when flows begin (section 4.2.1), and many that join at
    /// once congest the network at once (section 4.2.3).
    pub(super) fn joins(&mut self, demand: f64) {
        self.rate += demand;
    }
    /// A flow leaves.
    pub(super) fn leaves(
        &mut self,
        now: Instant,
        config: &Config,
        rate: f64,
        left: &mut [FlowState],
    ) {
        if config.leave == Leave::WithItsRate {
            self.rate -= rate;
        }
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
    /// A flow that was counted as silent is heard again.
    pub(super) fn heard_again(&mut self) {
        self.silent = self.silent.saturating_sub(1);
    }
    fn count(&mut self, now: Instant, config: &Config, flows: &mut [FlowState]) {
        (self.uneasy, self.silent) = (0, 0);
        for f in flows {
            let packets = Duration::from_secs_f64(10.0 / f.rate.max(Rate::LEAST.per_s()));
            let is_uneasy = f.congestion >= config.lower;
            f.is_counted_silent = is_uneasy && now.since(f.heard) > config.silent.max(packets);
            self.uneasy += usize::from(is_uneasy);
            self.silent += usize::from(f.is_counted_silent);
        }
    }
    /// Looks for flows that have fallen silent.
    pub(super) fn check_silence(&mut self, now: Instant, config: &Config, flows: &mut [FlowState]) {
        self.next_check = Some(now + SILENCE_CHECK);
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
        self.next_check.get_or_insert(now + SILENCE_CHECK);
        let Control::Aimd { increase } = config.control else {
            return None;
        };
        let flow = flows.get(k)?;
        let is_congested = flow.tells_congestion(config);
        let next = match is_congested {
            true => self.decrease,
            false => self.increase,
        };
        if next.is_some_and(|next| now < next) || !flow.is_fresh() {
            return None;
        }
        let why = if is_congested {
            let delivery = flow.delivery();
            let factor = self.factor(now, config, flows, flow)?;
            self.rate *= factor;
            Why::Decrease { factor, delivery }
        } else if self.uneasy <= self.silent {
            self.counted = 1.0;
            self.rate += increase;
            Why::Increase
        } else {
            return None;
        };
        let longest = flows.iter().map(|f| f.rtt.mean()).fold(0.0, f64::max);
        let mean = self.rate / flows.len() as f64;
        let packets = config.packets / mean.max(Rate::LEAST.per_s());
        let soon = now + Duration::from_secs_f64(2.0 * longest);
        let later = soon + Duration::from_secs_f64(packets);
        self.increase = Some(later);
        self.decrease = Some(match why {
            Why::Decrease { .. } => later,
            _ => soon,
        });
        Some(why)
    }
    /// M where `flow` is congested; none where it tells nothing new.
    fn factor(
        &mut self,
        now: Instant,
        config: &Config,
        flows: &[FlowState],
        flow: &FlowState,
    ) -> Option<f64> {
        let p = flow.delivery();
        let by_loss = match config.evidence {
            Evidence::Remembered => p / (2.0 - p),
            Evidence::New => {
                let news = p / self.counted;
                let factor = (news / (2.0 - news)).max(LEAST_FACTOR);
                if !flow.has_lost_since() || factor > MOST_FACTOR {
                    return None;
                }
                self.counted = p;
                factor
            }
        };
        if config.decrease == Decrease::ByLoss {
            return Some(by_loss);
        }
        // Flows that have a gap are as if they brought what they may.
        let is_quiet = |f: &&FlowState| now.since(f.heard) > GAP;
        let quiet = flows.iter().filter(is_quiet).map(|f| f.rate).sum::<f64>();
        let factor = OF_ARRIVALS * (self.arrivals.per_s(now) + quiet) / self.rate;
        if factor >= 1.0 {
            // More comes than flows may send: what is lost is lost among repairs, as when a relay is back.
            return None;
        }
        Some(factor.min(AT_MOST).max(by_loss))
    }
    /// The total, no more than `limit` and no less than what `flows` flows need to go on.
    pub(super) fn within(&mut self, limit: Option<f64>, flows: usize) -> f64 {
        let least = flows as f64 * Rate::LEAST.per_s();
        let most = limit.unwrap_or(flows as f64 * Rate::MAX.per_s());
        self.rate = self.rate.min(most).max(least);
        self.rate
    }
}
