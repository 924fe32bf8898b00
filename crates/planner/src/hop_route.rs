//! The route of a transfer hop by hop: one path of any length over the links that cost the least time.
//!
//! Every hop repeats what it lost, so a link's cost is the time that a packet takes over it on average, with its share of
//! polls and answers. A relay receives and sends by turns: a route is as fast as the slowest two hops in a row allow.
//! Costs are summed as squares, which avoids slow hops. A hop's channel is the one with the least cost, times the number
//! of nodes within three hops that listen there. What is not known: losses that come in bursts, other traffic. Tests:
//! `hop_route_tests.rs`.

use crate::ageing;
use crate::bisect;
use crate::cheapest::CheapestWays;
use crate::link_model::QUANTILE_90;
use crate::links::{LinkQualities, LinkQuality};
use crate::plan::{PipPlan, Plan, PlanError, Warning};
use crate::predict::{Feed, Likely, Prediction};
use crate::request::{RouteRequest, Style, Transfer};
use crate::topology::LinkRule;
use crate::{Group, Member};
use rand::Rng;
use thalweg_units::{Channel, Db, Duration};
use thalweg_wire::hop::{Calls, BLOCK, CONTROL_BYTES, HEADER_BYTES, MAX_HOPS, MAX_PAYLOAD};
use thalweg_wire::phy::air_time;

/// Frames that the margin of a link counts for beside those that were counted: a few beacons say little.
const PRIOR_FRAMES: f64 = 4.0;
/// The same where nothing was heard in that direction.
const UNHEARD_FRAMES: f64 = 1.0;
/// A link over which less gets through is none.
const LEAST: f64 = 0.02;
/// Nodes so many hops apart listen on different channels.
const APART: usize = 3;
/// From a block's arrival at a relay to the next poll of the node before it, and until that node finds the relay free
/// again: half of the time between polls.
const HANDOVER: Duration = Duration::from_millis(6);
/// What is taken of a link on which neither direction was heard: a call takes as long as it is repeated. Beacons may all
/// have been lost.
const SILENT: f64 = 5e-4;
/// A call, its answer, and the pause before another.
const CALL_FRAMES: Duration = Duration::from_millis(8);
/// Nodes answer calls for so long before data flows.
const CALL: Duration = Duration::from_millis(150);

/// The share of routes that take longer than the range says.
const SLOWER: f64 = 0.1;

/// What a transfer hop by hop takes over a link, in seconds a packet.
fn cost(forth: f64, back: f64, transfer: &Transfer) -> f64 {
    if forth < LEAST || back < LEAST {
        return f64::INFINITY;
    }
    let gap = transfer.cycle.gap;
    let data = (air_time(HEADER_BYTES + transfer.cycle.payload_bytes) + gap).as_secs_f64();
    let control = (air_time(CONTROL_BYTES) + gap).as_secs_f64() * 2.0;
    let block = f64::from(BLOCK);
    // Rounds until all packets of a block are there, and the first poll.
    let lost = (1.0 - forth).max(1e-3);
    let rounds = 2.0 + block.ln() / -lost.ln();
    data / forth + rounds * control / (forth * back) / block
}

/// Frames received and sent over a link, by channel.
type Counts = [(f64, f64); Channel::COUNT];

/// The least cost from node to node over the channels, and the channels by cost.
struct Costs<'a> {
    links: &'a LinkQualities,
    request: &'a RouteRequest,
    channels: Vec<Channel>,
    /// Whether each node has said what it heard.
    has_reported: Vec<bool>,
    /// The nodes whose link has become weaker since it was measured, and by how much.
    weaker: Option<([usize; 2], Db)>,
    /// By how many standard deviations links are better than the beacons say.
    better: f64,
}

impl<'a> Costs<'a> {
    fn new(links: &'a LinkQualities, request: &'a RouteRequest) -> Self {
        let measured = links.channels();
        let channels = request
            .channels
            .iter()
            .chain(&request.other_channels)
            .copied();
        let channels = channels.filter(|channel| measured.contains(*channel));
        let mut has_reported = vec![false; links.nodes()];
        for channel in measured.iter() {
            for from in 0..links.nodes() {
                for (to, _) in links.heard_from(from, channel) {
                    has_reported[to] = true;
                }
            }
        }
        Self {
            links,
            request,
            channels: channels.collect(),
            has_reported,
            weaker: None,
            better: 0.0,
        }
    }

    /// The same where the link of two nodes has become weaker.
    fn with_weaker(&self, pair: [usize; 2], by: Db) -> Self {
        Self {
            channels: self.channels.clone(),
            has_reported: self.has_reported.clone(),
            weaker: Some((pair, by)),
            ..*self
        }
    }

    /// The same where links are so many standard deviations better than what was counted.
    fn with_better(&self, better: f64) -> Self {
        Self {
            channels: self.channels.clone(),
            has_reported: self.has_reported.clone(),
            better,
            ..*self
        }
    }

    /// Frames received and sent, as far as is known of a link on a channel: where nothing was heard, and the other direction
    /// was, so many were lost as came there.
    fn counted(&self, from: usize, to: usize, on: Channel) -> (f64, f64) {
        let sent = |quality: LinkQuality| quality.sent.map_or(0.0, f64::from);
        match self.links.quality(from, to, on) {
            Some(here) => (here.prr * sent(here), sent(here)),
            None if self.has_reported[to] => {
                let back = self.links.quality(to, from, on);
                (0.0, back.map_or(0.0, sent))
            }
            None => (0.0, 0.0),
        }
    }

    /// What gets through from one node to another on a channel, 0..=1: the model's word on the margin, then what was counted
    /// there and on all channels. A direction in which nothing was heard is taken from the other where that was measured:
    /// a few beacons may all be lost, or the report on them.
    fn delivery(&self, from: usize, to: usize, on: Channel) -> f64 {
        self.delivery_by(&self.counts(from, to), [from, to], on)
    }

    /// What was counted of a link, by channel.
    fn counts(&self, from: usize, to: usize) -> Counts {
        std::array::from_fn(|at| self.counted(from, to, Channel::from_index(at)))
    }

    fn delivery_by(&self, counts: &Counts, [from, to]: [usize; 2], on: Channel) -> f64 {
        let model = &self.request.model;
        let here = self.links.quality(from, to, on);
        let Some(known) = here.or(self.links.quality(to, from, on)) else {
            return 0.0;
        };
        if known.sent.is_none() {
            return here.map_or(0.0, |here| self.now([from, to], here.prr));
        }
        let margin = model.power(&known).map(|power| power - model.floor);
        let expected = margin.map_or(0.5, |margin| model.delivery_at(margin));
        let expected = expected * (1.0 - model.steady_loss());
        let prior = match here {
            Some(_) => PRIOR_FRAMES,
            None => UNHEARD_FRAMES,
        };
        let sum = |a: (f64, f64), b: &(f64, f64)| (a.0 + b.0, a.1 + b.1);
        let (received, sent) = counts.iter().fold(counts[on.index()], sum);
        // Of a node without a report half is taken.
        let there = f64::from(!self.has_reported[to]);
        let frames = prior + sent + there;
        let then = (expected * prior + received) / frames;
        let beyond = self.better * (then * (1.0 - then) / frames).sqrt();
        self.now([from, to], (then + beyond).min(1.0))
    }

    /// What gets through from one node to another now, where `then` did.
    fn now(&self, [from, to]: [usize; 2], then: f64) -> f64 {
        match self.weaker {
            Some((pair, by)) if pair == [from, to] || pair == [to, from] => {
                let model = &self.request.model;
                let margin = bisect::last(-20.0, 20.0, |at| model.delivery_at(Db(at)) < then);
                model.delivery_at(Db(margin) - by)
            }
            _ => then,
        }
    }

    fn on(&self, from: usize, to: usize, channel: Channel) -> f64 {
        self.each(from, to, &[channel])
    }
    fn least(&self, from: usize, to: usize) -> f64 {
        self.each(from, to, &self.channels)
    }
    /// The least cost over `channels`: what was counted is looked up once.
    fn each(&self, from: usize, to: usize, channels: &[Channel]) -> f64 {
        let (forth, back) = (self.counts(from, to), self.counts(to, from));
        let delivery = |on: Channel| {
            (
                self.delivery_by(&forth, [from, to], on),
                self.delivery_by(&back, [to, from], on),
            )
        };
        let transfer = &self.request.transfer;
        // The channel of calls must carry them, too. Where it was not measured, it is taken to.
        let control = (self.request.control).filter(|on| self.links.channels().contains(*on));
        let call = control.map_or(0.0, |control| {
            let (forth, back) = delivery(control);
            // What the call over a hop takes, in seconds a packet.
            CALL_FRAMES.as_secs_f64()
                / (forth * back).max(SILENT)
                / f64::from(transfer.packets.max(1))
        });
        let costs = channels.iter().map(|on| {
            let (forth, back) = delivery(*on);
            cost(forth, back, transfer) + call
        });
        costs.fold(f64::INFINITY, f64::min)
    }
    /// The nodes that `from` reaches at all.
    fn reached(&self, from: usize) -> Vec<usize> {
        let heard = |to: &usize| {
            let on = |on: &Channel| {
                self.links.quality(from, *to, *on).is_some()
                    || self.links.quality(*to, from, *on).is_some()
            };
            self.channels.iter().any(on)
        };
        (0..self.links.nodes()).filter(heard).collect()
    }
}

/// Plans one path, whatever its links lose. With [`RouteRequest::detour`] links cost up to so many times more, by chance.
///
/// # Errors
/// [`PlanError::Unreachable`] where no chain of links leads to the sink in [`MAX_HOPS`] hops.
pub(crate) fn plan_hops(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    let request = &in_blocks(request);
    let costs = Costs::new(links, request);
    let path = cheapest(&costs, rng).ok_or_else(|| unreachable(&costs))?;
    let listens = listening(&costs, &path);
    Ok(plan_of(&costs, path, listens))
}

/// `request` with the packets that blocks have room for.
fn in_blocks(request: &RouteRequest) -> RouteRequest {
    let mut request = request.clone();
    let transfer = &mut request.transfer;
    let bytes = transfer.packets as usize * transfer.cycle.payload_bytes;
    let most = usize::from(MAX_PAYLOAD);
    transfer.cycle.payload_bytes = transfer.cycle.payload_bytes.clamp(1, most);
    transfer.packets = bytes.div_ceil(transfer.cycle.payload_bytes) as u32;
    request
}

/// The cheapest path from source to sink, of at most [`MAX_HOPS`] hops: a longer one is none.
fn cheapest(costs: &Costs<'_>, rng: &mut impl Rng) -> Option<Vec<usize>> {
    let (source, sink) = (costs.request.source, costs.request.sink);
    let links = |node: usize| {
        let reached = costs.reached(node).into_iter();
        let links = reached.map(|next| {
            let more = 1.0 + costs.request.detour * rng.random::<f64>();
            (next, (costs.least(node, next) * more).powi(2))
        });
        links.collect()
    };
    let path = CheapestWays::new(costs.links.nodes(), source, Some(sink), links).to(sink)?;
    (path.len() <= usize::from(MAX_HOPS) + 1).then_some(path)
}

fn unreachable(costs: &Costs<'_>) -> PlanError {
    let source = costs.request.source;
    let mut far = vec![None; costs.links.nodes()];
    far[source] = Some(0);
    let mut line = vec![source];
    for at in 0.. {
        let Some(&node) = line.get(at) else { break };
        for next in costs.reached(node) {
            if far[next].is_none() && costs.least(node, next).is_finite() {
                far[next] = far[node].map(|hops: usize| hops + 1);
                line.push(next);
            }
        }
    }
    PlanError::Unreachable {
        source_node: source,
        sink: costs.request.sink,
        channel: costs.request.routing_channel,
        reached: line.len() - 1,
        far: far.into_iter().flatten().max().unwrap_or(0),
        rule: LinkRule::default(),
    }
}

/// The channel on which each node of `path` listens; the source's is the first that is left.
fn listening(costs: &Costs<'_>, path: &[usize]) -> Vec<Channel> {
    let mut listens: Vec<Channel> = Vec::new();
    for hop in path.windows(2) {
        // Nodes that listen on one channel share its time: a free channel over a bad link may be the worse one.
        let shared = |on: &Channel| {
            let near = listens.iter().rev().take(APART);
            let sharers = 1 + near.filter(|other| *other == on).count();
            costs.on(hop[0], hop[1], *on) * sharers as f64
        };
        let channels = costs.channels.iter().copied();
        let best = channels.min_by(|a, b| shared(a).total_cmp(&shared(b)));
        listens.push(best.unwrap_or(costs.request.routing_channel));
    }
    let unused = costs.channels.iter().find(|on| !listens.contains(on));
    let first = unused.copied().unwrap_or(costs.request.routing_channel);
    listens.insert(0, first);
    listens
}

/// Where the nodes of `path` are called: on all channels where on the control channel nothing was heard of some hop.
fn calls(costs: &Costs<'_>, path: &[usize]) -> Calls {
    let measured =
        |on: &Channel| costs.request.measured.contains(*on) || costs.links.channels().contains(*on);
    let Some(control) = costs.request.control.filter(measured) else {
        return Calls::Control;
    };
    let is_silent = |hop: &[usize]| {
        costs.links.prr(hop[0], hop[1], control) + costs.links.prr(hop[1], hop[0], control) == 0.0
    };
    match path.windows(2).any(is_silent) {
        true => Calls::Everywhere,
        false => Calls::Control,
    }
}

/// The seconds that each hop of `path` takes for a packet.
fn hop_costs(costs: &Costs<'_>, path: &[usize], listens: &[Channel]) -> Vec<f64> {
    let hops = path.windows(2).zip(&listens[1..]);
    hops.map(|(hop, on)| costs.on(hop[0], hop[1], *on))
        .collect()
}

/// How long the transfer takes, in seconds.
fn time_s(costs: &Costs<'_>, path: &[usize], listens: &[Channel]) -> f64 {
    let each = hop_costs(costs, path, listens);
    let block = f64::from(BLOCK);
    let handover = match each.len() {
        1 => 0.0,
        _ => HANDOVER.as_secs_f64(),
    };
    let pairs = each.windows(2).map(|pair| pair[0] + pair[1]);
    let slowest = pairs.fold(each[0], f64::max) * block + handover;
    let packets = f64::from(costs.request.transfer.packets) + 1.0;
    let blocks = (packets / block).max(1.0);
    let calls = 2.0 * each.iter().sum::<f64>();
    let fill: f64 = each.iter().map(|cost| cost * block + handover).sum();
    CALL.as_secs_f64() + calls + fill + (blocks - 1.0) * slowest
}

fn predicted(costs: &Costs<'_>, path: &[usize], listens: &[Channel]) -> Prediction {
    let transfer = &costs.request.transfer;
    let time = time_s(costs, path, listens);
    let bits = f64::from(transfer.packets) * transfer.cycle.payload_bytes as f64 * 8.0;
    let currents = &transfer.currents;
    let watts = currents.listening_w() + currents.code_ma * 1e-3 * currents.supply_v;
    let deliveries = path.windows(2).zip(&listens[1..]);
    let forth = |hop: &[usize], on: Channel| costs.delivery(hop[0], hop[1], on);
    // Each hop is as likely to be the one that becomes so weak.
    let by = ageing::loss_of_one_in(SLOWER / (path.len() - 1) as f64);
    let weaker = path
        .windows(2)
        .map(|hop| costs.with_weaker([hop[0], hop[1]], by));
    let slower = weaker
        .map(|costs| time_s(&costs, path, listens))
        .fold(time, f64::max);
    let slower = slower.min(time + ageing::WHOLE_S);
    let faster = time_s(&costs.with_better(QUANTILE_90), path, listens).min(time);
    let prediction = Prediction {
        hop_delivery: vec![deliveries.map(|(hop, on)| forth(hop, *on)).collect()],
        group_delivery: vec![1.0],
        reverse_delivery: vec![1.0],
        first_round: 1.0,
        exchange: 1.0,
        completion: 1.0,
        rounds: None,
        time_s: Some(time),
        energy_j: Some(time * watts * path.len() as f64),
        goodput_kbps: bits / time / 1000.0,
        likely: None,
        active_nodes: path.len(),
    };
    let likely = Likely::times(&prediction, [faster / time, slower / time]);
    Prediction {
        likely,
        ..prediction
    }
}

fn plan_of(costs: &Costs<'_>, path: Vec<usize>, listens: Vec<Channel>) -> Plan {
    let request = costs.request;
    let prediction = predicted(costs, &path, &listens);
    let hops = path.len() - 1;
    let relay = |node: &usize| {
        vec![Member {
            node: *node,
            group: Group::Odd,
            path: Some(0),
        }]
    };
    Plan {
        source: request.source,
        sink: request.sink,
        hops,
        packets: request.transfer.packets,
        shortest: hops,
        style: Style::Hops,
        calls: calls(costs, &path),
        path_bound: 1,
        stages: path[1..hops].iter().map(relay).collect(),
        channels: listens,
        last_even: None,
        routing_channel: request.routing_channel,
        feed: Feed::of(1, hops),
        rule_used: request.rule,
        warnings: Vec::<Warning>::new(),
        pip: PipPlan {
            path: path.clone(),
            prediction: prediction.clone(),
        },
        prediction,
        paths: vec![path],
        backup_relays: Vec::new(),
        alternates: Vec::new(),
        others: Vec::new(),
        basis: None,
    }
}

#[cfg(test)]
#[path = "hop_route_tests.rs"]
mod tests;
