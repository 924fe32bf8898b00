//! The route of a transfer hop by hop: one path of any length over the links that cost the least time.
//!
//! Every hop repeats what it lost, so a link's cost is the time that a packet takes over it on average, with its share of
//! polls and answers. A relay receives and sends by turns: a route is as fast as the slowest two hops in a row allow.
//! Costs are summed as squares, which avoids slow hops. A hop's channel is the one with the least cost, times the number
//! of nodes within three hops that listen there. What is not known: losses that come in bursts, other traffic. Tests:
//! `hop_route_tests.rs`.

use crate::cheapest::CheapestWays;
use crate::hop_time::{cost, steady_s, Courses, HopLinks, Share};
use crate::links::{LinkQualities, LinkQuality};
use crate::plan::{PipPlan, Plan, PlanError, Warning};
use crate::predict::{Feed, Likely, Prediction, Steady};
use crate::request::{RouteRequest, Style};
use crate::topology::LinkRule;
use crate::{Group, Member};
use rand::Rng;
use thalweg_units::{Channel, Duration};
use thalweg_wire::hop::{Calls, MAX_HOPS, MAX_PAYLOAD};

/// Frames that the margin of a link counts for beside those that were counted: a few beacons say little.
const PRIOR_FRAMES: f64 = 4.0;
/// The same where nothing was heard in that direction.
const UNHEARD_FRAMES: f64 = 1.0;
/// Nodes so many hops apart listen on different channels.
const APART: usize = 3;
/// What is taken of a link on which neither direction was heard: a call takes as long as it is repeated. Beacons may all
/// have been lost.
const SILENT: f64 = 5e-4;
/// A call, its answer, and the pause before another.
const CALL_FRAMES: Duration = Duration::from_millis(8);
/// Frames received and sent over a link, by channel.
type Counts = [(f64, f64); Channel::COUNT];

/// The least cost from node to node over the channels, and the channels by cost.
struct Costs<'a> {
    links: &'a LinkQualities,
    request: &'a RouteRequest,
    channels: Vec<Channel>,
    /// Whether each node has said what it heard.
    has_reported: Vec<bool>,
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
    fn share(&self, from: usize, to: usize, on: Channel) -> Share {
        self.share_by(&self.counts(from, to), [from, to], on)
    }

    /// What was counted of a link, by channel.
    fn counts(&self, from: usize, to: usize) -> Counts {
        std::array::from_fn(|at| self.counted(from, to, Channel::from_index(at)))
    }

    fn share_by(&self, counts: &Counts, [from, to]: [usize; 2], on: Channel) -> Share {
        let model = &self.request.model;
        let here = self.links.quality(from, to, on);
        let Some(known) = here.or(self.links.quality(to, from, on)) else {
            return Share::NONE;
        };
        let margin = model.power(&known).map(|power| power - model.floor);
        let lossless = here.filter(|here| here.prr >= 1.0).and(margin);
        let lossless = lossless.map(|margin| margin.0);
        if known.sent.is_none() {
            return Share {
                known: here.map_or(0.0, |here| here.prr),
                frames: None,
                margin: lossless,
            };
        }
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
        Share {
            known: ((expected * prior + received) / frames).min(1.0),
            frames: Some(frames),
            margin: lossless,
        }
    }
    fn delivery(&self, from: usize, to: usize, on: Channel) -> f64 {
        self.share(from, to, on).known
    }

    fn on(&self, from: usize, to: usize, channel: Channel) -> f64 {
        self.each(from, to, &[channel])
    }
    fn least(&self, from: usize, to: usize) -> f64 {
        self.each(from, to, &self.channels)
    }
    /// The least cost over `channels`: what was counted is looked up once.
    fn each(&self, from: usize, to: usize, channels: &[Channel]) -> f64 {
        let counts = self.both(from, to);
        let call = self.call_by(&counts, [from, to]);
        let costs = channels.iter().map(|on| {
            let [forth, back] = self.both_ways(&counts, [from, to], *on);
            cost(forth, back, &self.request.transfer) + call
        });
        costs.fold(f64::INFINITY, f64::min)
    }
    /// What was counted forth and back.
    fn both(&self, from: usize, to: usize) -> [Counts; 2] {
        [self.counts(from, to), self.counts(to, from)]
    }
    /// What gets through forth and back.
    fn both_ways(&self, counts: &[Counts; 2], [from, to]: [usize; 2], on: Channel) -> [f64; 2] {
        [(from, to, &counts[0]), (to, from, &counts[1])]
            .map(|(from, to, counts)| self.share_by(counts, [from, to], on).known)
    }
    fn call(&self, from: usize, to: usize) -> f64 {
        self.call_by(&self.both(from, to), [from, to])
    }
    /// What the call over a hop takes, in seconds a packet: the channel of calls must carry it, too. Where that was not
    /// measured, it is taken to.
    fn call_by(&self, counts: &[Counts; 2], hop: [usize; 2]) -> f64 {
        let control = (self.request.control).filter(|on| self.links.channels().contains(*on));
        let Some(control) = control else { return 0.0 };
        let [forth, back] = self.both_ways(counts, hop, control);
        CALL_FRAMES.as_secs_f64()
            / (forth * back).max(SILENT)
            / f64::from(self.request.transfer.packets.max(1))
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
    let listens = listening(&costs, &path, rng);
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

/// The channel on which each node of `path` listens; the source's is the first that is left. A detour takes others, too: a
/// hop that carries nothing may be the only one between its nodes.
fn listening(costs: &Costs<'_>, path: &[usize], rng: &mut impl Rng) -> Vec<Channel> {
    let mut listens: Vec<Channel> = Vec::new();
    for hop in path.windows(2) {
        let near: Vec<Channel> = listens.iter().rev().take(APART).copied().collect();
        // Nodes that listen on one channel share its time: a free channel over a bad link may be the worse one.
        let mut shared = |on: Channel| {
            let sharers = 1 + near.iter().filter(|other| **other == on).count();
            let more = match costs.request.detour > 0.0 {
                true => 1.0 + costs.request.detour * rng.random::<f64>(),
                false => 1.0,
            };
            costs.on(hop[0], hop[1], on) * sharers as f64 * more
        };
        let channels = costs.channels.iter().map(|on| (*on, shared(*on)));
        let best = channels.min_by(|a, b| a.1.total_cmp(&b.1));
        listens.push(best.map_or(costs.request.routing_channel, |(on, _)| on));
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

/// The hops of `path` for courses. Links that no survey has counted will be measured before a transfer, and the channel of
/// each hop chosen by that.
fn hop_links(costs: &Costs<'_>, path: &[usize], listens: &[Channel]) -> Vec<HopLinks> {
    let hop = |(hop, on): (&[usize], &Channel)| {
        let (from, to) = (hop[0], hop[1]);
        let shares = |on: Channel| [costs.share(from, to, on), costs.share(to, from, on)];
        let chosen = shares(*on);
        let counted = chosen.iter().any(|share| share.frames.is_some());
        HopLinks {
            channels: match counted {
                true => vec![chosen],
                false => costs.channels.iter().map(|on| shares(*on)).collect(),
            },
            call: costs.call(from, to),
        }
    };
    path.windows(2).zip(&listens[1..]).map(hop).collect()
}

fn predicted(costs: &Costs<'_>, path: &[usize], listens: &[Channel]) -> Prediction {
    let (transfer, model) = (&costs.request.transfer, &costs.request.model);
    let hops = || path.windows(2).zip(&listens[1..]);
    let each = hops().map(|(hop, on)| costs.on(hop[0], hop[1], *on));
    let steady_s = steady_s(each.collect(), transfer);
    let courses = Courses::drawn(
        &hop_links(costs, path, listens),
        model,
        (transfer, steady_s),
    );
    let kbit = f64::from(transfer.packets) * transfer.cycle.payload_bytes as f64 * 8e-3;
    let currents = &transfer.currents;
    let watts = currents.listening_w() + currents.code_ma * 1e-3 * currents.supply_v;
    let watts = watts * path.len() as f64;
    let deliveries = hops().map(|(hop, on)| costs.delivery(hop[0], hop[1], *on));
    let time_s = courses.mean(|seconds| seconds);
    let [least, most] = courses.likely();
    // A few courses that take far longer can lift the mean above nine of ten.
    let most = most.max(time_s);
    Prediction {
        hop_delivery: vec![deliveries.collect()],
        group_delivery: vec![1.0],
        reverse_delivery: vec![1.0],
        first_round: 1.0,
        exchange: 1.0,
        completion: 1.0,
        rounds: None,
        time_s: Some(time_s),
        energy_j: Some(time_s * watts),
        goodput_kbps: courses.mean(|seconds| kbit / seconds),
        steady: Some(Steady {
            time_s: steady_s,
            goodput_kbps: kbit / steady_s,
        }),
        likely: Some(Likely {
            time_s: [least, most],
            energy_j: [least * watts, most * watts],
            goodput_kbps: [kbit / most, kbit / least],
        }),
        active_nodes: path.len(),
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
