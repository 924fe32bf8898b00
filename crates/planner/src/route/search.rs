//! The search for paths of one length under each link rule (P3, section IV-C).

use super::Route;
use crate::links::LinkQualities;
use crate::paths::{self, Query};
use crate::plan::PlanError;
use crate::request::RouteRequest;
use crate::topology::{LinkRule, Topology};
use rand::Rng;
use std::ops::RangeInclusive;
use thalweg_units::Channel;

/// The lengths at which paths are sought, in hops, where a shortest path has `shortest`.
fn lengths(request: &RouteRequest, shortest: usize) -> RangeInclusive<usize> {
    match request.hops {
        Some(hops) => hops..=hops,
        None => shortest..=request.max_hops.max(shortest + 3),
    }
}

/// How many node-distinct paths [`plan`] has to choose from for `request` in `topology`, counted up to its N, and their
/// hops; none where there is no path. Paths are sought as in P3, and drawn from `rng` as [`plan`] draws them.
pub fn count_paths(
    topology: &Topology,
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Option<(usize, usize)> {
    let (source, sink) = (request.source, request.sink);
    let (from, to) = (topology.hops_from(source), topology.hops_from(sink));
    let shortest = from[sink]?;
    let (channel, order) = (request.routing_channel, request.order);
    let ordered = paths::ordered_neighbours(topology, links, channel, (source, sink), order, rng);
    let wanted = request.min_paths.max(1);
    let mut best = None;
    for hops in lengths(request, shortest) {
        let query = Query {
            topology,
            source,
            sink,
            hops,
            from: &from,
            to: &to,
        };
        let found = paths::count(&query, &ordered, wanted);
        if found > best.map_or(0, |(most, _)| most) {
            best = Some((found, hops));
        }
        if found >= wanted {
            break;
        }
    }
    best
}

/// The first route, by rule and then by length, that has enough paths; else the one with most.
pub(super) fn find_route(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Route, PlanError> {
    let wanted = request.min_paths.max(1);
    let mut best: Option<Route> = None;
    let mut failure = None;
    let rules = [&request.rule].into_iter().chain(&request.fallback);
    for (rank, rule) in rules.enumerate() {
        failure = Some(search_under(links, request, (rank, rule), &mut best, rng));
        if (best.as_ref()).is_some_and(|best| best.set.paths.len() >= wanted) {
            break;
        }
    }
    best.ok_or_else(|| {
        failure.unwrap_or(PlanError::NoPath {
            hops: 0,
            source_node: request.source,
            sink: request.sink,
            shortest: 0,
        })
    })
}

/// Seeks routes under one rule, the shortest first, until one has enough paths. Puts what has more paths than `best` in
/// its place; gives the error to report where nothing was found.
fn search_under(
    links: &LinkQualities,
    request: &RouteRequest,
    (rank, rule): (usize, &LinkRule),
    best: &mut Option<Route>,
    rng: &mut impl Rng,
) -> PlanError {
    let (source, sink, channel) = (request.source, request.sink, request.routing_channel);
    let topology = Topology::new(links, channel, rule);
    let (from, to) = (topology.hops_from(source), topology.hops_from(sink));
    let Some(shortest) = from[sink] else {
        let reached = from.iter().flatten().filter(|&&hops| hops > 0);
        return PlanError::Unreachable {
            source_node: source,
            sink,
            channel,
            reached: reached.clone().count(),
            far: reached.max().copied().unwrap_or(0),
            rule: *rule,
        };
    };
    let (ends, order) = ((source, sink), request.order);
    let ordered = paths::ordered_neighbours(&topology, links, channel, ends, order, rng);
    let lengths = lengths(request, shortest);
    let failure = PlanError::NoPath {
        hops: *lengths.start(),
        source_node: source,
        sink,
        shortest,
    };
    for hops in lengths {
        let query = Query {
            topology: &topology,
            source,
            sink,
            hops,
            from: &from,
            to: &to,
        };
        let set = paths::find(&query, &ordered, request.search, rng);
        let found = set.paths.len();
        if found > best.as_ref().map_or(0, |best| best.set.paths.len()) {
            *best = Some(Route {
                set,
                hops,
                shortest,
                rule: *rule,
                topology: topology.clone(),
                weaker: rank > 0,
            });
        }
        if found >= request.min_paths.max(1) {
            break;
        }
    }
    failure
}

/// Keeps the `most` paths whose weakest link is best, in the order they were in.
pub(super) fn keep_best(
    paths: &mut Vec<Vec<usize>>,
    most: usize,
    links: &LinkQualities,
    channel: Channel,
) {
    let weakest = |path: &[usize]| {
        let mut least = (1.0f64, f64::INFINITY);
        for hop in path.windows(2) {
            for (a, b) in [(hop[0], hop[1]), (hop[1], hop[0])] {
                if let Some(quality) = links.quality(a, b, channel) {
                    least.0 = least.0.min(quality.prr);
                    least.1 = least.1.min(quality.rssi.map_or(f64::INFINITY, |r| r.0));
                }
            }
        }
        least
    };
    let mut ranked: Vec<usize> = (0..paths.len()).collect();
    ranked.sort_by(|&a, &b| {
        let (a, b) = (weakest(&paths[a]), weakest(&paths[b]));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let keep = &ranked[..most.min(ranked.len())];
    let mut at = 0..;
    paths.retain(|_| at.next().is_some_and(|at| keep.contains(&at)));
}
