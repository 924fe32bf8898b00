//! Which pairs of nodes and which channels a network supports: for choosing routes to try where the user
//! names none.
//!
//! A pair supports a transfer if at least N node-distinct paths of one length join it under the link
//! rule asked for; no weaker rule counts here. Tests: `pairs_tests.rs`.

use crate::channels::{apart, spread_order};
use crate::links::LinkQualities;
use crate::paths::{self, Query};
use crate::request::RouteRequest;
use crate::topology::{LinkRule, Topology};
use rand::seq::SliceRandom;
use rand::Rng;
use thalweg_units::Channel;

/// In which order pairs are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairOrder {
    /// Farthest apart in hops first; no node serves in two pairs.
    #[default]
    Farthest,
    /// By chance.
    Random,
}

/// Which pairs qualify by floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floors {
    /// All.
    #[default]
    Any,
    /// Those on different floors; all where places are not known.
    Different,
}

/// Pairs wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct PairRequest {
    /// How many.
    pub count: usize,
    /// Which first.
    pub order: PairOrder,
    /// Which qualify.
    pub floors: Floors,
    /// Shortest path at least this long, in hops.
    pub min_hops: usize,
    /// How routes are sought: rule, routing channel, N, search, `max_hops` (a strict bound on H here);
    /// source and sink are ignored.
    pub route: RouteRequest,
}

impl PairRequest {
    /// `count` pairs at least two hops apart, farthest first, with P3's defaults and H of at most 6.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            order: PairOrder::default(),
            floors: Floors::default(),
            min_hops: 2,
            route: RouteRequest {
                max_hops: 6,
                ..RouteRequest::new(0, 0)
            },
        }
    }
}

/// A pair that supports a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Source.
    pub source: usize,
    /// Sink.
    pub sink: usize,
    /// Hops of a shortest path.
    pub shortest: usize,
    /// H: the shortest length with enough paths.
    pub hops: usize,
    /// Paths found of that length.
    pub paths: usize,
}

/// Pairs that have at least N node-distinct paths of one length, in the order asked for; fewer than
/// asked for where the network has no more.
pub fn suggest_pairs(
    links: &LinkQualities,
    request: &PairRequest,
    rng: &mut impl Rng,
) -> Vec<Pair> {
    let route = &request.route;
    let topology = Topology::new(links, route.routing_channel, &route.rule);
    let wanted = route.min_paths.max(1);
    let hops: Vec<_> = (0..links.nodes())
        .map(|node| topology.hops_from(node))
        .collect();
    let mut candidates = candidates(links, request, &topology, &hops);
    // By chance in any case: among pairs equally far apart no node is favoured.
    candidates.shuffle(rng);
    if request.order == PairOrder::Farthest {
        candidates.sort_by_key(|&(far, _, _)| std::cmp::Reverse(far));
    }
    let mut serving = vec![false; links.nodes()];
    let mut pairs = Vec::new();
    for (shortest, source, sink) in candidates {
        if pairs.len() >= request.count {
            break;
        }
        if request.order == PairOrder::Farthest && (serving[source] || serving[sink]) {
            continue;
        }
        let (channel, order) = (route.routing_channel, route.order);
        let ends = (source, sink);
        let ordered = paths::ordered_neighbours(&topology, links, channel, ends, order, rng);
        for length in shortest..=route.max_hops {
            let (from, to) = (&hops[source], &hops[sink]);
            let query = Query {
                topology: &topology,
                source,
                sink,
                hops: length,
                from,
                to,
            };
            let found = paths::find(&query, &ordered, route.search, rng).paths.len();
            if found >= wanted {
                (serving[source], serving[sink]) = (true, true);
                pairs.push(Pair {
                    source,
                    sink,
                    shortest,
                    hops: length,
                    paths: found,
                });
                break;
            }
        }
    }
    pairs
}

/// Pairs that qualify by floor and distance, each with enough neighbours: hops, source, sink.
fn candidates(
    links: &LinkQualities,
    request: &PairRequest,
    topology: &Topology,
    hops: &[Vec<Option<usize>>],
) -> Vec<(usize, usize, usize)> {
    let route = &request.route;
    let other_floor = |a: usize, b: usize| match (request.floors, links.places()) {
        (Floors::Different, Some(places)) => places[a].floor != places[b].floor,
        _ => true,
    };
    let has_neighbours = |node: usize| topology.neighbours(node).len() >= route.min_paths.max(1);
    let lengths = request.min_hops.max(1)..=route.max_hops;
    let mut candidates = Vec::new();
    for (source, to) in (hops.iter().enumerate()).filter(|&(node, _)| has_neighbours(node)) {
        for (sink, far) in (to.iter().enumerate()).filter(|&(node, _)| has_neighbours(node)) {
            let far = far.filter(|far| lengths.contains(far));
            if let Some(far) = far.filter(|_| other_floor(source, sink)) {
                candidates.push((far, source, sink));
            }
        }
    }
    candidates
}

/// What one channel offers under a link rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelSupport {
    /// The channel.
    pub channel: Channel,
    /// Mean number of routing links of a node.
    pub mean_degree: f64,
    /// Nodes in the largest connected part.
    pub largest_part: usize,
}

/// The channels with data, best first: largest connected part, then most links.
pub fn channel_support(links: &LinkQualities, rule: &LinkRule) -> Vec<ChannelSupport> {
    let offered = |channel| {
        let topology = Topology::new(links, channel, rule);
        ChannelSupport {
            channel,
            mean_degree: topology.mean_degree(),
            largest_part: topology.components().first().map_or(0, Vec::len),
        }
    };
    let mut support: Vec<ChannelSupport> = links.channels().iter().map(offered).collect();
    support.sort_by(|a, b| {
        let links = b.mean_degree.total_cmp(&a.mean_degree);
        let part = b.largest_part.cmp(&a.largest_part);
        part.then(links).then(b.channel.cmp(&a.channel))
    });
    support
}

/// Up to `count` channels to run a pipeline on, counted back from the sink: the best that leave a channel
/// between each other, then the best of the rest.
pub fn best_channels(links: &LinkQualities, rule: &LinkRule, count: usize) -> Vec<Channel> {
    let support = channel_support(links, rule);
    let mut chosen: Vec<Channel> = Vec::new();
    for least in [2, 1] {
        for candidate in &support {
            let clear = chosen.iter().all(|&c| apart(c, candidate.channel) >= least);
            if chosen.len() < count && clear {
                chosen.push(candidate.channel);
            }
        }
    }
    let best = chosen.first().copied().unwrap_or(Channel::LAST);
    spread_order(&chosen, best)
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
