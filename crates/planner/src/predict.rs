//! What to expect of a plan: delivery per stage, first-round reliability, rounds, time, goodput, energy.
//!
//! Model: a frame gets from one sender to one receiver with what [`crate::link_model`] makes of the survey;
//! receivers and senders are independent (P3, section III-B); who holds a packet at a stage is
//! followed exactly, set by set; frames of several senders beat against each other ([`crate::beating`]);
//! the other stages interfere (`assess`).
//! Not modelled: clocks, relays that silence themselves. Tests: below and tests/.

use crate::closed_forms::{p3_pass_cycles, pip_pass_cycles};
use crate::protocol_constants;
use crate::request::Transfer;
use serde::Serialize;
use thalweg_units::Duration;

/// Senders and receivers of a stage up to which sets of holders are followed one by one; above,
/// holders count as independent of each other.
const EXACT: usize = 8;
/// First-round reliability below which a transfer is taken never to end.
const DEAD: f64 = 1e-3;

/// How often the source may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// Every cycle: there are two groups, or no relays at all.
    EveryCycle,
    /// Every other cycle: all relays are of one group.
    AlternateCycles,
}

/// What is expected of a transfer over a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Per group (one, or odd then even) and hop: if anybody of the stage before holds a packet, the
    /// probability that somebody of the next gets it.
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
    /// Expected rounds; none where the transfer never ends. So are the next two.
    pub rounds: Option<f64>,
    /// Expected time from first wake-up packet to last data packet, in seconds.
    pub time_s: Option<f64>,
    /// Expected energy of all active nodes over that time, radio and microcontroller, in joules.
    pub energy_j: Option<f64>,
    /// Mean goodput of transfers that end, in kbit/s of payload; 0 where none does.
    pub goodput_kbps: f64,
    /// Source, sink and relays, backups included.
    pub active_nodes: usize,
}

/// How frames fare between neighbouring stages of a plan. Stages count from the source, 0..=H.
pub(crate) trait Air {
    /// Probability that a frame which `senders` of `stage - 1` send in step to `group` arrives at `to`,
    /// of `stage`.
    fn forward(&self, group: usize, stage: usize, senders: &[usize], to: usize) -> f64;
    /// The same from `stage + 1` to `stage`, for NACKs.
    fn backward(&self, group: usize, stage: usize, senders: &[usize], to: usize) -> f64;
}

/// One hop: senders, receiver, probability.
type Hop<'a> = &'a dyn Fn(&[usize], usize) -> f64;

/// What a packet meets on its way down one group's stages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    pub(crate) hops: Vec<f64>,
    pub(crate) end: f64,
    /// Expected senders over all stages but the first, per packet.
    pub(crate) relayed: f64,
}

/// Follows a packet from `stages[0]`, all of whose members hold it, to the last stage; `hop` tells,
/// for the place of the receivers in `stages`, how a frame fares.
pub(crate) fn chain(stages: &[Vec<usize>], hop: impl Fn(usize, &[usize], usize) -> f64) -> Chain {
    let mut hops = Vec::new();
    let mut relayed = 0.0;
    let first = stages.first().map_or(0, Vec::len);
    let mut holders = Holders::all(first);
    let mut alive = 1.0;
    for (at, pair) in stages.windows(2).enumerate() {
        let (senders, receivers) = (&pair[0], &pair[1]);
        holders = holders.onward(senders, receivers, &|senders, to| hop(at + 1, senders, to));
        let now = holders.any();
        hops.push(if alive > 0.0 { now / alive } else { 0.0 });
        alive = now;
        relayed += holders.mean();
    }
    // The last stage receives only.
    relayed -= holders.mean();
    Chain {
        hops,
        end: alive,
        relayed,
    }
}

/// Both directions of `group`, whose members are `stages`, source to sink.
pub(crate) fn both_ways(air: &dyn Air, group: usize, stages: &[Vec<usize>]) -> (Chain, Chain) {
    let last = stages.len().saturating_sub(1);
    let back: Vec<Vec<usize>> = stages.iter().rev().cloned().collect();
    (
        chain(stages, |stage, senders, to| {
            air.forward(group, stage, senders, to)
        }),
        chain(&back, |at, senders, to| {
            air.backward(group, last - at, senders, to)
        }),
    )
}

/// Who of a stage holds a packet.
enum Holders {
    /// The probability of every set, by bit mask.
    Sets(Vec<f64>),
    /// The probability of every member on its own.
    Each(Vec<f64>),
}

impl Holders {
    fn all(members: usize) -> Self {
        if members > EXACT {
            return Self::Each(vec![1.0; members]);
        }
        let mut sets = vec![0.0; 1 << members];
        sets[(1 << members) - 1] = 1.0;
        Self::Sets(sets)
    }
    fn any(&self) -> f64 {
        match self {
            Self::Sets(sets) => sets[1..].iter().sum(),
            Self::Each(each) => 1.0 - each.iter().map(|p| 1.0 - p).product::<f64>(),
        }
    }
    fn mean(&self) -> f64 {
        match self {
            Self::Sets(sets) => {
                let mean = |(set, p): (usize, &f64)| f64::from(set.count_ones()) * p;
                sets.iter().enumerate().map(mean).sum()
            }
            Self::Each(each) => each.iter().sum(),
        }
    }
    /// Each member's own probability.
    fn marginals(&self, members: usize) -> Vec<f64> {
        match self {
            Self::Each(each) => each.clone(),
            Self::Sets(sets) => {
                let holds = |at: usize| {
                    let sets = sets.iter().enumerate();
                    sets.filter(move |(set, _)| set >> at & 1 == 1)
                };
                (0..members)
                    .map(|at| holds(at).map(|(_, p)| p).sum())
                    .collect()
            }
        }
    }
    fn onward(&self, senders: &[usize], receivers: &[usize], hop: Hop<'_>) -> Self {
        let sets = match self {
            Self::Sets(sets) if receivers.len() <= EXACT => sets,
            _ => {
                let held = self.marginals(senders.len());
                return Self::independent(&held, senders, receivers, hop);
            }
        };
        let mut onward = vec![0.0; 1 << receivers.len()];
        let mut speaking = Vec::with_capacity(senders.len());
        for (set, &p) in sets.iter().enumerate() {
            if p <= 0.0 {
                continue;
            }
            speaking.clear();
            let in_set = (senders.iter().enumerate()).filter(|(at, _)| set >> at & 1 == 1);
            speaking.extend(in_set.map(|(_, &node)| node));
            // The distribution over sets of receivers, built up receiver by receiver.
            let mut spread = vec![p];
            for &receiver in receivers {
                let r = hop(&speaking, receiver);
                for at in 0..spread.len() {
                    spread.push(spread[at] * r);
                    spread[at] *= 1.0 - r;
                }
            }
            for (to, p) in onward.iter_mut().zip(spread) {
                *to += p;
            }
        }
        Self::Sets(onward)
    }
    /// The same, senders taken as independent of each other: a receiver's chance is that of the
    /// senders' expected PRR, beaten by all that reach it.
    fn independent(held: &[f64], senders: &[usize], receivers: &[usize], hop: Hop<'_>) -> Self {
        let each: Vec<f64> = (receivers.iter())
            .map(|&to| {
                let alone: Vec<f64> = senders.iter().map(|&from| hop(&[from], to)).collect();
                let missed: f64 = (alone.iter().zip(held)).map(|(q, p)| 1.0 - p * q).product();
                let unbeaten: f64 = 1.0 - alone.iter().map(|q| 1.0 - q).product::<f64>();
                let beats = match unbeaten > 0.0 {
                    true => hop(senders, to) / unbeaten,
                    false => 1.0,
                };
                (1.0 - missed) * beats
            })
            .collect();
        if each.len() > EXACT {
            return Self::Each(each);
        }
        let mut sets = vec![1.0];
        for p in each {
            let got: Vec<f64> = sets.iter().map(|q| q * p).collect();
            for q in &mut sets {
                *q *= 1.0 - p;
            }
            sets.extend(got);
        }
        Self::Sets(sets)
    }
}

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

/// The prediction for groups of stages (each from source to sink) that are fed as `feed` says.
pub(crate) fn predict(
    air: &dyn Air,
    groups: &[Vec<Vec<usize>>],
    feed: Feed,
    patience: Patience,
    transfer: &Transfer,
) -> Prediction {
    let both: Vec<(Chain, Chain)> = (groups.iter().enumerate())
        .map(|(group, stages)| both_ways(air, group, stages))
        .collect();
    let forward: Vec<&Chain> = both.iter().map(|(forward, _)| forward).collect();
    let reverse_delivery: Vec<f64> = both.iter().map(|(_, back)| back.end).collect();
    let group_delivery: Vec<f64> = forward.iter().map(|chain| chain.end).collect();
    let mean =
        |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / groups.len().max(1) as f64;
    let first_round = mean(&mut group_delivery.iter().copied());
    // A control frame goes out once per group; one arrival is enough.
    let any = |each: &[f64]| 1.0 - each.iter().map(|p| 1.0 - p).product::<f64>();
    let exchange = any(&group_delivery) * any(&reverse_delivery);
    let mut relays: Vec<usize> = groups.iter().flatten().flatten().copied().collect();
    relays.sort_unstable();
    relays.dedup();
    let active_nodes = relays.len();
    let mut prediction = Prediction {
        hop_delivery: forward.iter().map(|chain| chain.hops.clone()).collect(),
        group_delivery,
        reverse_delivery,
        first_round,
        exchange,
        completion: 0.0,
        rounds: None,
        time_s: None,
        energy_j: None,
        goodput_kbps: 0.0,
        active_nodes,
    };
    let packets = f64::from(transfer.packets);
    if first_round < DEAD {
        return prediction;
    }
    let rounds = expected_rounds(packets, first_round);
    if exchange < DEAD && rounds > 1.001 {
        return prediction;
    }
    let stages = groups.first().map_or(0, Vec::len);
    let hops = stages.saturating_sub(1) as u64;
    let exchanges = rounds - 1.0;
    prediction.completion = match patience {
        Patience::Endless => 1.0,
        Patience::Tries(tries) => {
            libm::pow(1.0 - libm::pow(1.0 - exchange, f64::from(tries)), exchanges)
        }
    };
    let cycle = &transfer.cycle;
    // Packets sent in all rounds: n (1 + q + q^2 + ...).
    let sent = packets / first_round;
    // Beside the packets' own time, a round's last one is on its way.
    let passing = match feed {
        Feed::EveryCycle => p3_pass_cycles(0, hops),
        Feed::AlternateCycles => pip_pass_cycles(0, hops),
    };
    let data_s = sent * transfer.data_period(feed, hops).as_secs_f64()
        + rounds * passing as f64 * cycle.period().as_secs_f64();
    let exchange_s = (cycle.exchange_time(hops, transfer.exchange_guard)).as_secs_f64();
    let control_s = match exchanges > 0.0 {
        true => exchanges / exchange * exchange_s,
        false => 0.0,
    };
    let time_s = transfer.wake_up.as_secs_f64() + data_s + control_s;
    let relayed = mean(&mut forward.iter().map(|chain| chain.relayed));
    let sending_s = sent * (1.0 + relayed) * cycle.air_time().as_secs_f64();
    let currents = &transfer.currents;
    let listening_s = (active_nodes as f64 * time_s - sending_s).max(0.0);
    // Code waits for a frame to end that it sends, and works in the gaps that follow at either end.
    let gap_s = transfer.gap(feed, hops).as_secs_f64();
    let handled_s = 2.0 * sent * (1.0 + relayed) * gap_s;
    let charge_mas = currents.receive_ma * listening_s
        + currents.send_ma * sending_s
        + currents.code_ma * (sending_s + handled_s);
    prediction.rounds = Some(rounds);
    prediction.time_s = Some(time_s);
    prediction.energy_j = Some(charge_mas * 1e-3 * currents.supply_v);
    prediction.goodput_kbps = packets * cycle.payload_bytes as f64 * 8e-3 / time_s;
    prediction
}

impl Prediction {
    /// The same beside `stand` backup relays, which listen in windows, and `alternate` alternate ones, which rest; an exchange
    /// after the first packets tells how they came. Not modelled: what becomes of transfers that call backups, and the
    /// pauses of long rounds, which are .2 % of them.
    pub(crate) fn with_backups(
        mut self,
        (stand, alternate): (usize, usize),
        transfer: &Transfer,
    ) -> Self {
        self.active_nodes += stand + alternate;
        let (Some(base_s), Some(base_j)) = (self.time_s, self.energy_j) else {
            return self;
        };
        let cycle = &transfer.cycle;
        let hops = self.hop_delivery.first().map_or(0, Vec::len) as u64;
        let period_s = cycle.period().as_secs_f64();
        let pass_s = period_s * p3_pass_cycles(0, hops) as f64;
        let word_s = cycle.short_exchange_time(hops).as_secs_f64() + pass_s;
        let is_looked_at =
            transfer.packets >= protocol_constants::PROBED_FROM && stand + alternate > 0;
        let probes = f64::from(u8::from(is_looked_at));
        let probe_s = probes * word_s;
        let time_s = base_s + probe_s;
        let wake_up_s = transfer.wake_up.as_secs_f64();
        let first_s = f64::from(protocol_constants::PROBE) * period_s + word_s;
        let after_s = (time_s - wake_up_s - first_s).max(0.0);
        let (window, rest) = (
            protocol_constants::WINDOW,
            f64::from(protocol_constants::REST),
        );
        let windows_s = probes * window * period_s + after_s * window / (window + rest);
        let resting_s = (time_s - wake_up_s) * protocol_constants::resting_awake(hops);
        let (active, stand, alternate) = (
            (self.active_nodes - stand - alternate) as f64,
            stand as f64,
            alternate as f64,
        );
        let awake_s = active * probe_s
            + (stand + alternate) * (wake_up_s + probe_s)
            + stand * windows_s
            + alternate * resting_s;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Senders and receivers that are independent, and do not beat.
    fn hop(links: &[(usize, usize, f64)]) -> impl Fn(usize, &[usize], usize) -> f64 + '_ {
        move |_, senders, to| {
            let heard = |(a, b, _): &&(usize, usize, f64)| *b == to && senders.contains(a);
            let missed = links.iter().filter(heard);
            1.0 - missed.map(|(_, _, prr)| 1.0 - prr).product::<f64>()
        }
    }

    #[test]
    fn a_single_path_multiplies() {
        let links = [(0, 1, 0.9), (1, 2, 0.8)];
        let chain = chain(&[vec![0], vec![1], vec![2]], hop(&links));
        assert!((chain.end - 0.72).abs() < 1e-12);
        assert!((chain.hops[1] - 0.8).abs() < 1e-12);
        assert!((chain.relayed - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_chain_that_does_not_join_is_dead() {
        // 1 gets the packet, 2 has the link onward.
        let links = [(0, 1, 1.0), (2, 3, 1.0)];
        let chain = chain(&[vec![0], vec![1, 2], vec![3]], hop(&links));
        assert_eq!(chain.hops, [1.0, 0.0]);
        assert_eq!(chain.end, 0.0);
    }

    #[test]
    fn two_ways_are_followed_set_by_set() {
        let links = [(0, 1, 0.5), (0, 2, 0.5), (1, 3, 1.0), (2, 3, 1.0)];
        let chain = chain(&[vec![0], vec![1, 2], vec![3]], hop(&links));
        assert!((chain.end - 0.75).abs() < 1e-12, "{}", chain.end);
    }

    #[test]
    fn many_members_are_close_to_few() {
        let links: Vec<(usize, usize, f64)> =
            (0..10).flat_map(|a| [(20, a, 0.6), (a, 21, 0.3)]).collect();
        let run = |n: usize| chain(&[vec![20], (0..n).collect(), vec![21]], hop(&links)).end;
        let closed = |n: i32| 1.0 - (1.0f64 - 0.6 * 0.3).powi(n);
        assert!((run(8) - closed(8)).abs() < 0.02);
        assert!((run(9) - closed(9)).abs() < 0.02);
    }

    #[test]
    fn rounds_of_sure_and_of_lossy_packets() {
        assert_eq!(expected_rounds(500.0, 1.0), 1.0);
        assert!((expected_rounds(1.0, 0.5) - 2.0).abs() < 1e-6);
        let rounds = expected_rounds(500.0, 0.92);
        assert!((3.0..3.6).contains(&rounds), "{rounds}");
        assert!(expected_rounds(10.0, 0.0).is_infinite());
        let [few, fewer] = [1.001e-3, 0.999e-3].map(|p| expected_rounds(500.0, p));
        assert!((few / fewer - 1.0).abs() < 0.01, "{few} {fewer}");
        assert!(expected_rounds(500.0, 1e-12) > 1e12);
    }
}
