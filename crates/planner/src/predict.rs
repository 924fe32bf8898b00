//! What to expect of a plan: delivery per stage, first-round reliability, rounds, time, goodput, energy.
//!
//! Model: [`crate::link_model`] says how likely a frame gets from one sender to one receiver. Receivers and senders
//! are independent (P3, section III-B). Every set of relays that may hold a packet has its probability. Frames of several
//! senders beat against each other ([`crate::beating`]), and the other stages interfere (`interference`).
//! Not modelled: clocks, relays that silence themselves. Tests: `predict_tests.rs`, tests/all/plans.rs.

use crate::channels::StageChannels;
use crate::closed_forms::{p3_pass_cycles, pip_pass_cycles};
use crate::interference::{Layout, Stages};
use crate::link_model::Expected;
use crate::protocol_constants;
use crate::request::Transfer;
pub(crate) use holders::{both_ways, Chain};
use serde::Serialize;
use thalweg_units::Duration;

/// Senders and receivers of a stage up to which sets of holders are followed one by one; above,
/// holders count as independent of each other.
const EXACT: usize = 8;
/// First-round reliability below which a transfer is taken never to end.
const DEAD: f64 = 1e-3;

/// How often the source may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// Every cycle: there are two groups, or no relays at all.
    EveryCycle,
    /// Every other cycle: all relays are of one group.
    AlternateCycles,
}

impl Feed {
    /// To so many groups over so many hops.
    pub(crate) fn of(groups: usize, hops: usize) -> Self {
        if groups == 2 || hops == 1 {
            Self::EveryCycle
        } else {
            Self::AlternateCycles
        }
    }
}

/// What is expected of a transfer over a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Per group (one, or odd then even) and hop: if a relay of the stage before holds a packet, the
    /// probability that one of the next gets it.
    pub hop_delivery: Vec<Vec<f64>>,
    /// Per group: probability that a packet of the source reaches the sink in one pass.
    pub group_delivery: Vec<f64>,
    /// Per group: probability that a frame of the sink reaches the source over the reverse pipeline.
    pub reverse_delivery: Vec<f64>,
    /// R1: expected share of the packets that arrive in the first round, 0..=1.
    pub first_round: f64,
    /// Probability that one try of a control exchange (request and NACK) succeeds.
    pub exchange: f64,
    /// Probability that the transfer ends at all.
    pub completion: f64,
    /// Expected rounds; none where the transfer never ends, and hop by hop, where there are none.
    pub rounds: Option<f64>,
    /// Expected time from first wake-up packet to last data packet, in seconds; none where the transfer never ends. So is the
    /// next.
    pub time_s: Option<f64>,
    /// Expected energy of all active nodes over that time, radio and microcontroller, in joules.
    pub energy_j: Option<f64>,
    /// Mean goodput of transfers that end, in kbit/s of payload; 0 where none does. Where some take far longer than most, it
    /// is more than the bytes over the mean time.
    pub goodput_kbps: f64,
    /// Hop by hop, the same if no link changed.
    #[serde(skip)]
    pub steady: Option<Steady>,
    /// Where eight of ten such transfers are likely to lie; none where that is not known.
    pub likely: Option<Likely>,
    /// Source, sink and relays, backups included.
    pub active_nodes: usize,
}

/// What is expected of links that stay as a survey found them. Ways of a transfer are compared by that: a survey says nothing
/// of how either will change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Time, in seconds.
    pub time_s: f64,
    /// Goodput, in kbit/s of payload.
    pub goodput_kbps: f64,
}

/// The ends of a range that takes in eight of ten transfers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Likely {
    /// The shortest and the longest time, in seconds.
    pub time_s: [f64; 2],
    /// Energy of all active nodes over these times, in joules.
    pub energy_j: [f64; 2],
    /// The least and the most goodput, in kbit/s of payload.
    pub goodput_kbps: [f64; 2],
}

impl Likely {
    /// Of what is predicted, if it takes so many times as long at the least, and at the most.
    pub(crate) fn times(prediction: &Prediction, [least, most]: [f64; 2]) -> Option<Self> {
        let (time_s, energy_j) = (prediction.time_s?, prediction.energy_j?);
        let goodput_kbps = prediction.goodput_kbps;
        Some(Self {
            time_s: [time_s * least, time_s * most],
            energy_j: [energy_j * least, energy_j * most],
            goodput_kbps: [goodput_kbps / most, goodput_kbps / least],
        })
    }
}

/// One hop: senders, receiver, probability.
type Hop<'a> = &'a dyn Fn(&[usize], usize) -> f64;

impl Transfer {
    /// The gap of data frames over so many hops.
    pub(crate) fn gap(&self, feed: Feed, hops: u64) -> Duration {
        match (feed, hops) {
            (Feed::AlternateCycles, _) => self.lone_gap,
            (Feed::EveryCycle, 0 | 1) => self.direct_gap,
            (Feed::EveryCycle, _) => self.cycle.gap,
        }
    }
    /// From one data frame of the source to the next.
    pub(crate) fn data_period(&self, feed: Feed, hops: u64) -> Duration {
        let cycle = self.cycle.air_time() + self.gap(feed, hops);
        match feed {
            Feed::EveryCycle => cycle,
            Feed::AlternateCycles => cycle * 2,
        }
    }
}

/// Whether a control exchange that keeps failing ends the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Endless,
    Tries(u32),
}

/// The prediction for one or two groups of stages, each from source to sink.
pub(crate) fn predict(
    expected: &Expected,
    groups: &[Stages],
    channels: StageChannels<'_>,
    patience: Patience,
    transfer: &Transfer,
) -> Prediction {
    let layout = Layout::new(expected, groups, channels);
    let feed = Feed::of(groups.len(), channels.hops());
    let both: Vec<(Chain, Chain)> = (groups.iter().enumerate())
        .map(|(group, stages)| both_ways(&layout, group, stages))
        .collect();
    let mean = |of: &dyn Fn(&Chain) -> f64| {
        both.iter().map(|(forward, _)| of(forward)).sum::<f64>() / groups.len().max(1) as f64
    };
    let relayed = mean(&|chain| chain.relayed);
    let group_delivery: Vec<f64> = both.iter().map(|(forward, _)| forward.end).collect();
    let reverse_delivery: Vec<f64> = both.iter().map(|(_, back)| back.end).collect();
    // A control frame goes out once per group; one arrival is enough.
    let any = |each: &[f64]| 1.0 - each.iter().map(|p| 1.0 - p).product::<f64>();
    let mut active: Vec<usize> = groups.iter().flatten().flatten().copied().collect();
    active.sort_unstable();
    active.dedup();
    let mut prediction = Prediction {
        hop_delivery: both
            .iter()
            .map(|(forward, _)| forward.hops.clone())
            .collect(),
        first_round: mean(&|chain| chain.end),
        exchange: any(&group_delivery) * any(&reverse_delivery),
        group_delivery,
        reverse_delivery,
        completion: 0.0,
        rounds: None,
        time_s: None,
        energy_j: None,
        goodput_kbps: 0.0,
        steady: None,
        likely: None,
        active_nodes: active.len(),
    };
    if prediction.first_round < DEAD {
        return prediction;
    }
    let rounds = expected_rounds(f64::from(transfer.packets), prediction.first_round);
    if prediction.exchange < DEAD && rounds > 1.001 {
        return prediction;
    }
    prediction.completion = match patience {
        Patience::Endless => 1.0,
        Patience::Tries(tries) => {
            let failed = libm::pow(1.0 - prediction.exchange, f64::from(tries));
            libm::pow(1.0 - failed, rounds - 1.0)
        }
    };
    prediction.rounds = Some(rounds);
    let stages = groups.first().map_or(0, Vec::len);
    let hops = stages.saturating_sub(1) as u64;
    prediction.with_costs(rounds, relayed, (feed, hops), transfer)
}

/// Seconds that `rounds` rounds take that bring the share `first_round` each, where the share `exchange` of control exchanges
/// succeeds.
fn rounds_time(
    rounds: f64,
    (first_round, exchange): (f64, f64),
    (feed, hops): (Feed, u64),
    transfer: &Transfer,
) -> f64 {
    let (cycle, packets) = (&transfer.cycle, f64::from(transfer.packets));
    // Packets sent in all rounds: n (1 + q + q^2 + ...).
    let sent = packets / first_round;
    // Beside the packets' own time, a round's last one is on its way.
    let passing = match feed {
        Feed::EveryCycle => p3_pass_cycles(0, hops),
        Feed::AlternateCycles => pip_pass_cycles(0, hops),
    };
    let data_s = sent * transfer.data_period(feed, hops).as_secs_f64()
        + rounds * passing as f64 * cycle.period().as_secs_f64();
    let exchanges = rounds - 1.0;
    let exchange_s = (cycle.exchange_time(hops, transfer.exchange_guard)).as_secs_f64();
    let control_s = match exchanges > 0.0 {
        true => exchanges / exchange * exchange_s,
        false => 0.0,
    };
    transfer.wake_up.as_secs_f64() + data_s + control_s
}

impl Prediction {
    /// How long it takes if rounds bring the share `first_round` and the share `exchange` of control exchanges succeeds,
    /// as a multiple of what is expected.
    pub(crate) fn times_as_long(
        &self,
        (first_round, exchange): (f64, f64),
        way: (Feed, u64),
        transfer: &Transfer,
    ) -> f64 {
        let time = |first_round: f64, exchange: f64| {
            let (first_round, exchange) = (first_round.max(DEAD), exchange.max(DEAD));
            let rounds = expected_rounds(f64::from(transfer.packets), first_round);
            rounds_time(rounds, (first_round, exchange), way, transfer)
        };
        time(first_round, exchange) / time(self.first_round, self.exchange)
    }
    /// The same if it takes no longer than so many seconds.
    pub(crate) fn no_longer_than(mut self, most_s: f64) -> Self {
        if let (Some(time_s), Some(energy_j)) = (self.time_s, self.energy_j) {
            let share = (most_s / time_s).min(1.0);
            self.time_s = Some(time_s * share);
            self.energy_j = Some(energy_j * share);
            self.goodput_kbps /= share;
        }
        self
    }
    /// With time, energy and goodput of a transfer in so many `rounds`, each of whose packets is `relayed` so often.
    fn with_costs(
        mut self,
        rounds: f64,
        relayed: f64,
        (feed, hops): (Feed, u64),
        transfer: &Transfer,
    ) -> Self {
        let (cycle, packets) = (&transfer.cycle, f64::from(transfer.packets));
        let sent = packets / self.first_round;
        let shares = (self.first_round, self.exchange);
        let time_s = rounds_time(rounds, shares, (feed, hops), transfer);
        let sending_s = sent * (1.0 + relayed) * cycle.air_time().as_secs_f64();
        let currents = &transfer.currents;
        let listening_s = (self.active_nodes as f64 * time_s - sending_s).max(0.0);
        // Code waits for a frame to end that it sends, and works in the gaps that follow at either end.
        let gap_s = transfer.gap(feed, hops).as_secs_f64();
        let handled_s = 2.0 * sent * (1.0 + relayed) * gap_s;
        let charge_mas = currents.receive_ma * listening_s
            + currents.send_ma * sending_s
            + currents.code_ma * (sending_s + handled_s);
        self.time_s = Some(time_s);
        self.energy_j = Some(charge_mas * 1e-3 * currents.supply_v);
        self.goodput_kbps = packets * cycle.payload_bytes as f64 * 8e-3 / time_s;
        self
    }
    /// The same beside so many backup relays, which listen in windows, and so many alternate relays, which rest. A probe
    /// of the first packets is a round of its own, as transfers count it. Not modelled: what becomes of transfers that
    /// call backups, and the pauses of long rounds, which take .2 % of them.
    pub(crate) fn with_backups(
        mut self,
        (backups, alternates): (usize, usize),
        transfer: &Transfer,
    ) -> Self {
        let (active, ready) = (self.active_nodes as f64, backups + alternates);
        self.active_nodes += ready;
        let (Some(base_s), Some(base_j)) = (self.time_s, self.energy_j) else {
            return self;
        };
        let cycle = &transfer.cycle;
        let hops = self.hop_delivery.first().map_or(0, Vec::len) as u64;
        let period_s = cycle.period().as_secs_f64();
        let pass_s = period_s * p3_pass_cycles(0, hops) as f64;
        let exchange_s = cycle.short_exchange_time(hops).as_secs_f64() + pass_s;
        let is_probed = transfer.packets >= protocol_constants::PROBED_FROM && ready > 0;
        let probes = f64::from(u8::from(is_probed));
        let probe_s = probes * exchange_s;
        let time_s = base_s + probe_s;
        let wake_up_s = transfer.wake_up.as_secs_f64();
        let first_s = f64::from(protocol_constants::PROBE) * period_s + exchange_s;
        let after_s = (time_s - wake_up_s - first_s).max(0.0);
        let window = protocol_constants::WINDOW;
        let rest = f64::from(protocol_constants::REST);
        let windows_s = probes * window * period_s + after_s * window / (window + rest);
        let resting_s = (time_s - wake_up_s) * protocol_constants::resting_awake(hops);
        let (backups, alternates) = (backups as f64, alternates as f64);
        let awake_s = active * probe_s
            + (backups + alternates) * (wake_up_s + probe_s)
            + backups * windows_s
            + alternates * resting_s;
        self.rounds = self.rounds.map(|rounds| rounds + probes);
        self.time_s = Some(time_s);
        self.energy_j = Some(base_j + awake_s * transfer.currents.listening_w());
        self.goodput_kbps *= base_s / time_s;
        self
    }
}

/// Rounds until all of `packets` have arrived where each arrives with probability `delivery` a round:
/// the mean of the largest of that many geometric variables.
pub fn expected_rounds(packets: f64, delivery: f64) -> f64 {
    let lost = 1.0 - delivery.clamp(0.0, 1.0);
    if lost >= 1.0 {
        return f64::INFINITY;
    }
    if delivery < DEAD {
        // The continuous limit; counting would take ever longer.
        const EULER: f64 = 0.577_215_664_901_532_9;
        return (libm::log(packets.max(1.0)) + EULER) / -libm::log1p(-delivery);
    }
    let mut rounds = 1.0;
    let mut left = lost;
    loop {
        // Probability that some packet is still missing.
        let more = 1.0 - libm::exp(packets * libm::log1p(-left));
        rounds += more;
        if more < 1e-9 {
            return rounds;
        }
        left *= lost;
    }
}

mod holders;
#[cfg(test)]
#[path = "predict_tests.rs"]
mod tests;
