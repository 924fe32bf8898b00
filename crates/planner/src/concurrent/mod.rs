//! Waves of transfers that run at once: each into a sink of its own, over relays of its own, on
//! channels of its own (P3 leaves concurrency open; section IV-D3 counts one transfer after another).
//!
//! The farthest source comes first, then for every other sink the farthest source that fits beside the chosen
//! ones: its relays are free, enough channels are, and its predicted goodput keeps a share of that which it has
//! alone. Lean chains avoid links that would disturb others (`earshot.rs`).
//! Invariants: no node has two parts in a wave, sinks never relay, two transfers share a channel only
//! under [`Reuse::OutOfEarshot`]. Tests: tests/all/waves.rs.

mod earshot;

use crate::channels::{apart, counted_back, spread_order, REUSE_DISTANCE};
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::pairs::channel_support;
use crate::plan::{Plan, PlanError};
use crate::request::{Backups, RouteRequest, Style};
use crate::route::plan;
use crate::topology::Topology;
use earshot::{free_links, without, Earshot};
use rand::Rng;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use thalweg_units::{Channel, ChannelSet};

/// A plan on fewer channels is preferred where it keeps so much of the best plan's goodput.
const THRIFT: f64 = 0.97;

/// Whether two transfers of a wave may use the same channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Never.
    #[default]
    Never,
    /// Where the survey saw no beacon of those who send data on it to one transfer's stage arrive at
    /// those who listen on it in the other; for lean chains, no beacon on any channel.
    OutOfEarshot,
}

/// How waves are planned.
#[derive(Debug, Clone, PartialEq)]
pub struct WaveRequest {
    /// How each route is sought; source, sink and channels are set for every transfer.
    pub route: RouteRequest,
    /// The sinks: each receives one transfer of a wave.
    pub sinks: Vec<usize>,
    /// The channels for pipelines, best first.
    pub channels: Vec<Channel>,
    /// Whether channels may be used twice.
    pub reuse: Reuse,
    /// A transfer joins a wave if its predicted goodput is at least this share of that which it has
    /// alone, 0..=1.
    pub least_share: f64,
    /// How many sources of each distance are tried for a sink.
    pub tries: usize,
}

impl WaveRequest {
    /// Least share of the best channel's links that a channel must offer. Where Wi-Fi takes half of a
    /// channel's frames it also takes most of its links; bursts hit all relays of a stage at once, so
    /// such a channel carries far less than its reception ratios say.
    pub const LEAST_LINKS: f64 = 0.7;

    /// Waves into `sinks` over the measured channels with enough links, ranked by how many; no channel
    /// twice, at least 60 % of a transfer's goodput alone, six tries.
    pub fn new(links: &LinkQualities, route: RouteRequest, sinks: Vec<usize>) -> Self {
        let support = channel_support(links, &route.rule);
        let most = support.iter().map(|s| s.mean_degree).fold(0.0, f64::max);
        let least = Self::LEAST_LINKS * most;
        let good = support.iter().filter(|s| s.mean_degree >= least);
        Self {
            channels: good.map(|s| s.channel).collect(),
            route,
            sinks,
            reuse: Reuse::default(),
            least_share: 0.6,
            tries: 6,
        }
    }
}

/// Why a sink has nothing to do in a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// No source is left that is not in the wave already.
    Sources,
    /// Too few relays are free.
    Relays,
    /// Too few channels are free.
    Channels,
    /// Too little of its goodput would be left.
    Goodput,
}

/// Transfers that run at once.
#[derive(Debug, Clone, Default)]
pub struct Wave {
    /// Their plans, each into another sink.
    pub plans: Vec<Plan>,
    /// The idle sinks, and what hindered most of the sources tried for each.
    pub idle: Vec<(usize, Obstacle)>,
    /// Sources that no route leads away from, even alone.
    pub lost: Vec<(usize, PlanError)>,
}

/// Plans one wave after the other of the same network.
#[derive(Debug)]
pub struct Waves {
    links: LinkQualities,
    request: WaveRequest,
    /// Hops to each sink, without other sinks between.
    hops: Vec<Vec<Option<usize>>>,
    /// Each source's goodput alone, in kbit/s.
    goodput_alone: BTreeMap<usize, f64>,
    expected: Expected,
}

/// What is taken by the transfers chosen so far.
struct Taken<'w> {
    plans: &'w [Plan],
    nodes: Vec<bool>,
    earshot: Earshot,
}

impl Waves {
    /// Over `links`, as `request` says.
    pub fn new(links: &LinkQualities, request: WaveRequest) -> Self {
        let route = &request.route;
        let hops = (request.sinks.iter())
            .map(|&sink| {
                let others = |node: usize| node != sink && request.sinks.contains(&node);
                let free = without(links, &[route.routing_channel], others);
                // Distances order the sources; whether there is a route, the planner finds out.
                let weakest = route.fallback.last().unwrap_or(&route.rule);
                Topology::new(&free, route.routing_channel, weakest).hops_from(sink)
            })
            .collect();
        let channels = request.channels.iter().copied().collect();
        let expected = Expected::new(links, channels, &request.route.model);
        Self {
            links: links.clone(),
            request,
            hops,
            goodput_alone: BTreeMap::new(),
            expected,
        }
    }

    /// The request.
    pub fn request(&self) -> &WaveRequest {
        &self.request
    }

    /// The next wave of transfers from nodes of `pending`; `rng` draws what routes draw.
    pub fn next(&mut self, pending: &[usize], rng: &mut (impl Rng + Clone)) -> Wave {
        let mut wave = Wave::default();
        let mut pending = pending.to_vec();
        pending.retain(|node| !self.request.sinks.contains(node));
        let mut sinks: Vec<usize> = (0..self.request.sinks.len()).collect();
        // The first: whichever is farthest from its nearest sink, alone.
        while wave.plans.is_empty() && !pending.is_empty() {
            let Some((source, at)) = self.farthest(&pending, &sinks) else {
                break;
            };
            match self.plan_alone(source, at, rng) {
                Ok(plan) => {
                    wave.plans.push(plan);
                    sinks.retain(|&sink| sink != at);
                }
                Err(why) => wave.lost.push((source, why)),
            }
            pending.retain(|&node| node != source);
        }
        if wave.plans.is_empty() {
            let lost = pending.into_iter().map(|n| (n, self.unreachable(n)));
            wave.lost.extend(lost);
            return wave;
        }
        while !sinks.is_empty() {
            match self.plan_beside(&wave.plans, &pending, &sinks, rng) {
                Ok((plan, at)) => {
                    pending.retain(|&node| node != plan.source);
                    sinks.retain(|&sink| sink != at);
                    wave.plans.push(plan);
                }
                Err(why) => {
                    let idle = sinks.drain(..).map(|at| (self.request.sinks[at], why));
                    wave.idle.extend(idle);
                }
            }
        }
        wave
    }

    /// Plans of `source` with nothing beside it, with `backups`, into every sink that it reaches, the nearest first. `rng`
    /// draws what routes draw.
    pub fn plans_of(&self, source: usize, backups: Backups, rng: &mut impl Rng) -> Vec<Plan> {
        let sinks = &self.request.sinks;
        let reached = (0..sinks.len()).filter_map(|at| self.nearest(source, &[at]));
        let mut reached: Vec<(usize, usize)> = reached.collect();
        reached.sort_unstable();
        if backups == Backups::Relays {
            // Hop by hop there may be a path where no link is good enough for a pipeline.
            let others = (0..sinks.len()).filter(|at| !reached.iter().any(|(_, sink)| sink == at));
            let others: Vec<(usize, usize)> = others.map(|at| (usize::MAX, at)).collect();
            reached.extend(others);
        }
        let mut channels = self.request.channels.clone();
        channels.truncate(REUSE_DISTANCE);
        let mut measured = channels.clone();
        measured.push(self.request.route.routing_channel);
        let into = |(_, at): (usize, usize)| {
            let sink = sinks[at];
            let others = |node: usize| node != sink && sinks.contains(&node);
            let free = without(&self.links, &measured, others);
            let route = RouteRequest {
                source,
                sink,
                backups,
                channels: channels.clone(),
                ..self.request.route.clone()
            };
            plan(&free, &route, rng).ok()
        };
        reached.into_iter().filter_map(into).collect()
    }

    /// Paths of `source` hop by hop with nothing beside them, into every sink, the quickest first; all but the first try take
    /// detours by chance, as [`RouteRequest::detour`] says.
    pub fn hop_plans_of(&self, source: usize, attempt: u32, rng: &mut impl Rng) -> Vec<Plan> {
        let sinks = &self.request.sinks;
        let into = |&sink: &usize| {
            let others = |node: usize| node != sink && sinks.contains(&node);
            let mut measured = self.request.channels.clone();
            measured.push(self.request.route.routing_channel);
            let free = without(&self.links, &measured, others);
            let route = RouteRequest {
                source,
                sink,
                style: Style::Hops,
                channels: self.request.channels.clone(),
                detour: f64::from(attempt),
                ..self.request.route.clone()
            };
            plan(&free, &route, rng).ok()
        };
        let mut plans: Vec<Plan> = sinks.iter().filter_map(into).collect();
        plans
            .sort_by(|a, b| f64::total_cmp(&b.prediction.goodput_kbps, &a.prediction.goodput_kbps));
        plans
    }

    /// Why there is no plan for `source_node`: no way leads to a sink.
    pub fn unreachable(&self, source_node: usize) -> PlanError {
        PlanError::Unreachable {
            source_node,
            sink: self.request.sinks.first().copied().unwrap_or(source_node),
            channel: self.request.route.routing_channel,
            reached: 0,
            far: 0,
            rule: self.request.route.rule,
        }
    }

    /// Hops from `source` to the nearest of `sinks`, and which that is.
    fn nearest(&self, source: usize, sinks: &[usize]) -> Option<(usize, usize)> {
        let near = |&at: &usize| Some((self.hops[at].get(source).copied()??, at));
        sinks.iter().filter_map(near).min()
    }

    fn farthest(&self, pending: &[usize], sinks: &[usize]) -> Option<(usize, usize)> {
        let far = |&n: &usize| self.nearest(n, sinks).map(|(h, at)| (h, Reverse(n), at));
        let (_, Reverse(source), at) = pending.iter().filter_map(far).max()?;
        Some((source, at))
    }

    /// The plan of `source` into sink number `at` with nothing beside it.
    fn plan_alone(
        &mut self,
        source: usize,
        at: usize,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, PlanError> {
        let nothing = Taken {
            plans: &[],
            nodes: vec![false; self.links.nodes()],
            earshot: Earshot::default(),
        };
        let plan = match self.try_one(source, at, &nothing, rng) {
            Ok(plan) => plan,
            Err(Refused::Plan(why)) => return Err(why),
            Err(Refused::Channels { given, needed }) => {
                return Err(PlanError::TooFewChannels {
                    given,
                    needed,
                    hops: needed,
                })
            }
        };
        self.goodput_alone.insert(source, expected(&plan));
        Ok(plan)
    }

    /// One more transfer beside `plans`, and the number of its sink.
    fn plan_beside(
        &mut self,
        plans: &[Plan],
        pending: &[usize],
        sinks: &[usize],
        rng: &mut (impl Rng + Clone),
    ) -> Result<(Plan, usize), Obstacle> {
        let mut nodes = vec![false; self.links.nodes()];
        for (node, _) in plans.iter().flat_map(Plan::active_nodes) {
            nodes[node] = true;
        }
        let earshot = Earshot::new(&self.expected, &self.request.channels, plans);
        let taken = Taken {
            plans,
            nodes,
            earshot,
        };
        // Sources whose nearest sink is free first, then by distance, the farthest first.
        let all: Vec<usize> = (0..self.request.sinks.len()).collect();
        let candidate = |&node: &usize| {
            let (hops, at) = self.nearest(node, sinks)?;
            let (least, _) = self.nearest(node, &all)?;
            Some((hops - least, Reverse(hops), node, at))
        };
        let free = pending.iter().filter(|&&node| !taken.nodes[node]);
        let mut candidates: Vec<_> = free.filter_map(candidate).collect();
        candidates.sort_unstable();
        let mut tried: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut hindered: BTreeMap<Obstacle, usize> = BTreeMap::new();
        for (detour, Reverse(hops), source, at) in candidates {
            let tries = tried.entry((detour, hops)).or_default();
            *tries += 1;
            if *tries > self.request.tries {
                continue;
            }
            let why = match self.try_one(source, at, &taken, rng) {
                Ok(plan) => {
                    let alone = match self.goodput_alone.get(&source) {
                        Some(alone) => *alone,
                        None => self
                            .plan_alone(source, at, rng)
                            .map_or(0.0, |p| expected(&p)),
                    };
                    if expected(&plan) >= self.request.least_share * alone {
                        return Ok((plan, at));
                    }
                    Obstacle::Goodput
                }
                Err(Refused::Channels { .. }) => Obstacle::Channels,
                Err(Refused::Plan(_)) => Obstacle::Relays,
            };
            *hindered.entry(why).or_default() += 1;
        }
        let most = hindered.into_iter().max_by_key(|&(_, count)| count);
        Err(most.map_or(Obstacle::Sources, |(why, _)| why))
    }

    /// A plan from `source` into sink number `at` without nodes and channels that are taken.
    fn try_one(
        &self,
        source: usize,
        at: usize,
        taken: &Taken<'_>,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, Refused> {
        if self.request.route.style == Style::Chains {
            return self.try_chains(source, at, taken, rng);
        }
        let sink = self.request.sinks[at];
        let others =
            |node: usize| taken.nodes[node] || (node != sink && self.request.sinks.contains(&node));
        let routing = self.request.route.routing_channel;
        let route = RouteRequest {
            source,
            sink,
            ..self.request.route.clone()
        };
        // Which relays there are does not depend on the pipeline's channels: those come after.
        let free = without(&self.links, &[routing], others);
        let draft = RouteRequest {
            channels: (self.request.channels.iter().copied().take(REUSE_DISTANCE)).collect(),
            ..route.clone()
        };
        let draft = plan(&free, &draft, &mut rng.clone()).map_err(Refused::Plan)?;
        let needed = draft.hops.min(REUSE_DISTANCE);
        // Where there are other sinks, a route takes no more channels than it needs.
        let wanted = match self.request.sinks[..] {
            [_, _, ..] => needed,
            _ => REUSE_DISTANCE.min(self.request.channels.len()),
        };
        let orders = orders(&self.request.channels, wanted);
        let given = orders.first().map_or(0, Vec::len);
        let fits = |order: &&Vec<Channel>| {
            let channels = counted_back(order, draft.hops);
            let mut others = taken.plans.iter();
            others.all(|other| self.keep_apart(&draft, &channels, other))
        };
        let mut long = orders.iter().filter(|order| order.len() >= needed);
        let Some(order) = long.find(fits) else {
            return Err(Refused::Channels { given, needed });
        };
        let mut measured = order.clone();
        measured.push(routing);
        let free = without(&self.links, &measured, others);
        let route = RouteRequest {
            channels: order.clone(),
            ..route
        };
        plan(&free, &route, rng).map_err(Refused::Plan)
    }

    /// The same for lean chains, which are sought on the channels that they get: over hops that disturb no transfer of
    /// the wave and that none disturbs, on as few channels as will do where others may need the rest.
    fn try_chains(
        &self,
        source: usize,
        at: usize,
        taken: &Taken<'_>,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, Refused> {
        let sink = self.request.sinks[at];
        let used = |c: &Channel| taken.plans.iter().any(|plan| plan.channels.contains(c));
        let open = |c: &Channel| self.request.reuse == Reuse::OutOfEarshot || !used(c);
        let mut channels: Vec<Channel> = self.request.channels.clone();
        channels.retain(open);
        // Best first, but unused ones before all others.
        channels.sort_by_key(used);
        channels.truncate(REUSE_DISTANCE);
        if channels.is_empty() {
            let (given, needed) = (0, 1);
            return Err(Refused::Channels { given, needed });
        }
        let others =
            |node: usize| taken.nodes[node] || (node != sink && self.request.sinks.contains(&node));
        let routing = self.request.route.routing_channel;
        let mut measured = channels.clone();
        measured.push(routing);
        let free = free_links(&self.links, &measured, others, |from, to, channel| {
            taken.earshot.disturbs(from, to, channel)
        });
        let on = |channels: Vec<Channel>| {
            let route = RouteRequest {
                source,
                sink,
                // Where no chains exist there is no room for more than chains beside others.
                fallback: Vec::new(),
                channels,
                ..self.request.route.clone()
            };
            plan(&free, &route, &mut rng.clone())
        };
        let full = on(channels.clone()).map_err(Refused::Plan)?;
        if self.request.sinks.len() == 1 {
            return Ok(full);
        }
        let count = |plan: &Plan| plan.channels.iter().copied().collect::<ChannelSet>().len();
        let enough = THRIFT * expected(&full);
        for size in full.hops.min(channels.len())..count(&full) {
            let thrifty = subsets(&channels, size).into_iter().map(&on);
            let best = (thrifty.flatten().filter(|plan| expected(plan) >= enough))
                .max_by(|a, b| expected(a).total_cmp(&expected(b)));
            if let Some(plan) = best {
                return Ok(plan);
            }
        }
        Ok(full)
    }

    /// Whether the relays of `draft`, receiving on `channels`, and those of `other` leave each
    /// other's frames alone.
    fn keep_apart(&self, draft: &Plan, channels: &[Channel], other: &Plan) -> bool {
        let shared = |channel: &Channel| other.channels.contains(channel);
        if self.request.reuse == Reuse::Never {
            return !channels.iter().any(shared);
        }
        let (here, there) = (by_stage(draft), by_stage(other));
        // The listeners of a stage must not hear the senders of data to a stage of the other transfer on
        // the same channel. NACKs are short and few.
        let disturbed = |channel: Channel, listeners: &[usize], senders: Option<&Vec<usize>>| {
            senders.into_iter().flatten().any(|&from| {
                let heard = |&to: &usize| self.links.prr(from, to, channel) > 0.0;
                listeners.iter().any(heard)
            })
        };
        channels.iter().enumerate().all(|(a, &channel)| {
            other.channels.iter().enumerate().all(|(b, &used)| {
                used != channel
                    || !(disturbed(channel, &here[a], b.checked_sub(1).map(|b| &there[b]))
                        || disturbed(channel, &there[b], a.checked_sub(1).map(|a| &here[a])))
            })
        })
    }
}

enum Refused {
    Plan(PlanError),
    Channels { given: usize, needed: usize },
}

/// Orders of `wanted` channels, to be counted back from the sink: that of the best ones first, then all
/// others that leave a channel between those of neighbouring stages (relays of neighbouring stages
/// stand too close to each other for channels side by side).
fn orders(ranked: &[Channel], wanted: usize) -> Vec<Vec<Channel>> {
    /// Of so many channels all orders are looked at: 1680 of four.
    const MOST: usize = 8;
    let mut best: Vec<Channel> = Vec::with_capacity(wanted);
    for least in [2, 1] {
        for &channel in ranked {
            let clear = best.iter().all(|&c| apart(c, channel) >= least);
            if best.len() < wanted && clear {
                best.push(channel);
            }
        }
    }
    let mut all = match best.first() {
        Some(&first) => vec![spread_order(&best, first)],
        None => return Vec::new(),
    };
    let mut begun = vec![Vec::new()];
    for _ in 0..wanted {
        let longer = |order: Vec<Channel>| {
            ranked.iter().take(MOST).filter_map(move |&channel| {
                let clear = order.last().is_none_or(|&last| apart(last, channel) > 1);
                let fits = clear && !order.contains(&channel);
                fits.then(|| [&order[..], &[channel]].concat())
            })
        };
        begun = begun.into_iter().flat_map(longer).collect();
    }
    // The first follows the last where the route is longer.
    let closes = |order: &Vec<Channel>| match (order.first(), order.last()) {
        (Some(&first), Some(&last)) => order.len() < 2 || apart(first, last) > 1,
        _ => false,
    };
    all.extend(begun.into_iter().filter(closes));
    all
}

/// Predicted goodput, weighted with the chance that there is any.
fn expected(plan: &Plan) -> f64 {
    plan.prediction.completion * plan.prediction.goodput_kbps
}

/// The nodes of each stage, 0..=H.
fn by_stage(plan: &Plan) -> Vec<Vec<usize>> {
    let mut stages = vec![Vec::new(); plan.hops + 1];
    for (node, stage) in plan.active_nodes() {
        if let Some(nodes) = stages.get_mut(stage) {
            nodes.push(node);
        }
    }
    stages
}

/// Sets of `size` of `channels`, the first ones first.
fn subsets(channels: &[Channel], size: usize) -> Vec<Vec<Channel>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let Some((&first, rest)) = channels.split_first() else {
        return Vec::new();
    };
    let with = subsets(rest, size - 1).into_iter();
    let with = with.map(|set| [&[first][..], &set].concat());
    with.chain(subsets(rest, size)).collect()
}
