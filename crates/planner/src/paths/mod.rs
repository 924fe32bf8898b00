//! Node-distinct paths of exactly H hops (P3, section IV-C): no relay is on two of them.
//!
//! [`PathSearch::DepthFirst`] is the paper's search; [`PathSearch::Layered`] starts from its result and
//! enlarges it. Finding the largest set is NP-hard for H above the shortest length (a relay may
//! serve at several hop counts), so every answer carries an upper bound that shows what may be missing.
//! Invariants: paths run source..=sink, are simple, share only their ends. Tests: below, tests/all/paths.rs.

mod dfs;
mod layered;

use crate::links::{LinkQualities, Place};
use crate::topology::Topology;
use rand::seq::SliceRandom;
use rand::Rng;
use thalweg_units::Channel;

/// Which relay a search tries first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelayOrder {
    /// Any, by chance: P3 names no order (section IV-C2).
    #[default]
    Random,
    /// The one with the better link (the weaker of its two directions counts).
    BestLink,
    /// The one nearest to the straight line from source to sink; as `BestLink` where the nodes'
    /// places are not known.
    NearestLine,
}

/// How paths are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathSearch {
    /// One path after the other by depth-first search among the relays left over (the paper's).
    #[default]
    DepthFirst,
    /// Depth-first search first, then augmentation in the graph of (relay, hop count) pairs with
    /// bounded restarts; the largest set whenever H is the shortest length, mostly so above.
    Layered,
}

/// A set of node-distinct paths of one length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathSet {
    /// The paths, source and sink included, in the order found.
    pub paths: Vec<Vec<usize>>,
    /// No search can find more than this many.
    pub upper_bound: usize,
}

/// What to search for: `hops`-hop paths from `source` to `sink`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) source: usize,
    pub(crate) sink: usize,
    pub(crate) hops: usize,
    /// Hops from the source and to the sink, per node.
    pub(crate) from: &'a [Option<usize>],
    pub(crate) to: &'a [Option<usize>],
}

impl Query<'_> {
    /// Whether `node` may be a relay `layer` hops from the source.
    pub(crate) fn fits(&self, node: usize, layer: usize) -> bool {
        let near = |hops: Option<usize>, within: usize| hops.is_some_and(|h| h <= within);
        node != self.source
            && node != self.sink
            && (1..self.hops).contains(&layer)
            && near(self.from[node], layer)
            && near(self.to[node], self.hops - layer)
    }
    /// The path of one hop, where that is asked for.
    fn direct(&self) -> Option<Vec<usize>> {
        let direct = self.hops == 1 && self.topology.linked(self.source, self.sink);
        direct.then(|| vec![self.source, self.sink])
    }
    /// A bound from three sides: relays for the first and the last stage, relays in all, and
    /// Menger's theorem among the relays that any path of this length may use.
    fn upper_bound(&self) -> usize {
        let relays: Vec<bool> = (0..self.topology.nodes())
            .map(|node| (1..self.hops).any(|layer| self.fits(node, layer)))
            .collect();
        let ends = |end: usize, layer: usize| {
            let around = self.topology.neighbours(end).iter();
            around.filter(|&&node| self.fits(node, layer)).count()
        };
        let in_all = relays.iter().filter(|&&relay| relay).count() / (self.hops - 1);
        let by_ends = ends(self.source, 1).min(ends(self.sink, self.hops - 1));
        let flow = layered::disjoint_paths(self.topology, self.source, self.sink, &relays);
        by_ends.min(in_all).min(flow)
    }
}

/// Every node's neighbours in the order in which a search tries them.
pub(crate) fn ordered_neighbours(
    topology: &Topology,
    links: &LinkQualities,
    channel: Channel,
    ends: (usize, usize),
    order: RelayOrder,
    rng: &mut impl Rng,
) -> Vec<Vec<usize>> {
    let mut lists = topology.all_neighbours().to_vec();
    match (order, links.places()) {
        (RelayOrder::Random, _) => {
            for list in &mut lists {
                list.shuffle(rng);
            }
        }
        (RelayOrder::NearestLine, Some(places)) => {
            let off: Vec<f64> = (places.iter())
                .map(|&place| distance_from_line(place, places[ends.0], places[ends.1]))
                .collect();
            for list in &mut lists {
                list.sort_by(|&a, &b| off[a].total_cmp(&off[b]).then(a.cmp(&b)));
            }
        }
        (RelayOrder::NearestLine | RelayOrder::BestLink, _) => {
            for (node, list) in lists.iter_mut().enumerate() {
                let worth = |other: usize| {
                    let quality = |(a, b)| links.quality(a, b, channel);
                    let both = [(node, other), (other, node)].map(quality);
                    let prr = both.iter().flatten().map(|q| q.prr).fold(1.0, f64::min);
                    let rssi = both.iter().flatten().flat_map(|q| q.rssi);
                    (prr, rssi.map(|r| r.0).fold(0.0, f64::min))
                };
                list.sort_by(|&a, &b| {
                    let ((a_prr, a_rssi), (b_prr, b_rssi)) = (worth(a), worth(b));
                    let rssi = b_rssi.total_cmp(&a_rssi);
                    b_prr.total_cmp(&a_prr).then(rssi).then(a.cmp(&b))
                });
            }
        }
    }
    lists
}

/// Distance of `place` from the straight line segment between two others, in metres.
fn distance_from_line(place: Place, from: Place, to: Place) -> f64 {
    let vector = |a: Place, b: Place| [b.x_m - a.x_m, b.y_m - a.y_m, b.z_m - a.z_m];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let (line, here) = (vector(from, to), vector(from, place));
    let along = match dot(line, line) {
        0.0 => 0.0,
        length => (dot(here, line) / length).clamp(0.0, 1.0),
    };
    let off = [0, 1, 2].map(|i| here[i] - along * line[i]);
    dot(off, off).sqrt()
}

/// Node-distinct paths of exactly `hops` hops from `source` to `sink`, as many as `search` finds.
/// `ordered` lists every node's neighbours in the order of preference.
pub(crate) fn find(
    query: &Query<'_>,
    ordered: &[Vec<usize>],
    search: PathSearch,
    rng: &mut impl Rng,
) -> PathSet {
    if query.hops <= 1 {
        let paths: Vec<Vec<usize>> = query.direct().into_iter().collect();
        return PathSet {
            upper_bound: paths.len(),
            paths,
        };
    }
    let upper_bound = query.upper_bound();
    let mut paths = match upper_bound {
        0 => Vec::new(),
        _ => dfs::paths(query, ordered).collect(),
    };
    if search == PathSearch::Layered && paths.len() < upper_bound {
        paths = layered::enlarge(query, ordered, paths, upper_bound, rng);
    }
    PathSet { paths, upper_bound }
}

/// How many node-distinct paths the paper's search finds, counted up to `most`.
pub(crate) fn count(query: &Query<'_>, ordered: &[Vec<usize>], most: usize) -> usize {
    match query.hops {
        0 | 1 => usize::from(query.direct().is_some()),
        _ => dfs::paths(query, ordered).take(most).count(),
    }
}

/// Node-distinct paths of exactly `hops` hops between two nodes of a bare graph, relays tried in
/// order of their index. For tools and tests; plans are made with [`crate::plan()`].
pub fn node_distinct_paths(
    topology: &Topology,
    source: usize,
    sink: usize,
    hops: usize,
    search: PathSearch,
    rng: &mut impl Rng,
) -> PathSet {
    let nodes = topology.nodes();
    if source >= nodes || sink >= nodes || source == sink {
        return PathSet::default();
    }
    let (from, to) = (topology.hops_from(source), topology.hops_from(sink));
    let query = Query {
        topology,
        source,
        sink,
        hops,
        from: &from,
        to: &to,
    };
    find(&query, topology.all_neighbours(), search, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_from_the_segment() {
        let at = |x_m, y_m| Place {
            x_m,
            y_m,
            z_m: 0.0,
            floor: 0,
        };
        let (a, b) = (at(0.0, 0.0), at(10.0, 0.0));
        assert_eq!(distance_from_line(at(5.0, 3.0), a, b), 3.0);
        assert_eq!(distance_from_line(at(13.0, 4.0), a, b), 5.0);
        assert_eq!(distance_from_line(at(3.0, 4.0), a, a), 5.0);
    }
}
