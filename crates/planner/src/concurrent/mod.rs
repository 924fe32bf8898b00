//! Waves of transfers that run at once: each into a sink of its own, over relays of its own, on
//! channels of its own (P3 leaves concurrency open; section IV-D3 counts one transfer after another).
//!
//! The farthest source comes first, then for every other sink the farthest source that fits beside the chosen
//! ones: its relays are free, enough channels are, and its predicted goodput keeps a share of that which it has
//! alone. Lean chains avoid links that would disturb others (`earshot.rs`).
//! Invariants: no node has two parts in a wave, sinks never relay, two transfers share a channel only
//! under [`Reuse::OutOfEarshot`]. Tests: tests/all/waves.rs.

mod beside;
mod earshot;

use crate::channels::REUSE_DISTANCE;
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::pairs::channel_support;
use crate::plan::{Plan, PlanError};
use crate::request::{Backups, RouteRequest, Style};
use crate::route::plan;
use crate::topology::Topology;
use earshot::{without, Earshot};
use rand::Rng;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use thalweg_units::Channel;

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
}

enum Refused {
    Plan(PlanError),
    Channels { given: usize, needed: usize },
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
