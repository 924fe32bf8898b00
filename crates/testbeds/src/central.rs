//! The sink of measured links whose file names none: of the largest connected part of the network, the node that
//! the others reach with the fewest expected transmissions, and of equals the first.
//!
//! A link's expected transmissions (ETX, De Couto et al., MobiCom 2003) are 1 over the product of both directions'
//! reception ratios, each a mean over the channels. Links above [`MOST_ETX`] do not count. Tests: below.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thalweg_units::ChannelSet;

use crate::trace::TraceLink;

/// A link that takes more transmissions than these is none.
const MOST_ETX: f64 = 10.0;
/// Most nodes that are looked at: of larger networks those with the most expected neighbours. Bounds the work.
const MOST_NODES: usize = 200;
/// Transmissions are summed in thousandths, so that sums compare exactly.
const SCALE: f64 = 1000.0;

/// Neighbours with the cost of each, by node.
type Graph = Vec<Vec<(usize, u64)>>;

/// The index of that node; 0 where no two nodes are linked.
pub(crate) fn node(nodes: usize, channels: ChannelSet, links: &[TraceLink]) -> usize {
    let graph = graph(nodes, channels, links);
    let mut candidates: Vec<usize> = (0..nodes).collect();
    let neighbours: Vec<f64> = graph.iter().map(|row| expected(row)).collect();
    let neighbours = |n: &usize| neighbours.get(*n).copied().unwrap_or(0.0);
    // Stable, so that equals stay in order.
    candidates.sort_by(|a, b| neighbours(b).total_cmp(&neighbours(a)));
    candidates.truncate(MOST_NODES);
    candidates.sort_unstable();
    let best = candidates.into_iter().max_by_key(|start| {
        let (reached, cost) = reach(&graph, *start);
        (reached, Reverse(cost), Reverse(*start))
    });
    best.unwrap_or(0)
}

/// Neighbours that hear one transmission, expected.
fn expected(row: &[(usize, u64)]) -> f64 {
    row.iter().map(|(_, cost)| SCALE / *cost as f64).sum()
}

fn graph(nodes: usize, channels: ChannelSet, links: &[TraceLink]) -> Graph {
    let links = links.iter().filter(|l| channels.contains(l.channel));
    let mut sums: Vec<((u16, u16), f64)> = links.map(|l| ((l.from, l.to), l.prr)).collect();
    // Stable, and nothing to do where they are sorted.
    sums.sort_by_key(|(ends, _)| *ends);
    sums.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        sum.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    let count = channels.len().max(1) as f64;
    let mut graph = vec![Vec::new(); nodes];
    for ((from, to), there) in &sums {
        let back = sums.binary_search_by_key(&(*to, *from), |(ends, _)| *ends);
        let back = back.ok().and_then(|at| sums.get(at)).map_or(0.0, |b| b.1);
        let etx = count * count / (there * back);
        if let (true, Some(row)) = (etx <= MOST_ETX, graph.get_mut(usize::from(*from))) {
            row.push((usize::from(*to), (etx * SCALE) as u64));
        }
    }
    graph
}

/// How many nodes there are ways to, and what the cheapest take together.
fn reach(graph: &Graph, start: usize) -> (usize, u64) {
    let mut cheapest = vec![None; graph.len()];
    let mut open = BinaryHeap::from([Reverse((0, start))]);
    if let Some(first) = cheapest.get_mut(start) {
        *first = Some(0);
    }
    let (mut reached, mut total) = (0, 0);
    while let Some(Reverse((cost, node))) = open.pop() {
        // A cheaper way was found since.
        if cheapest.get(node).copied().flatten() != Some(cost) {
            continue;
        }
        reached += 1;
        total += cost;
        for (next, more) in graph.get(node).into_iter().flatten() {
            match cheapest.get_mut(*next) {
                // In a dense network few links are on a cheapest way, and only those are queued.
                Some(known) if known.is_none_or(|known: u64| cost + more < known) => {
                    *known = Some(cost + more);
                    open.push(Reverse((cost + more, *next)));
                }
                _ => {}
            }
        }
    }
    (reached, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Channel;

    fn of(nodes: usize, pairs: &[(u16, u16, f64)]) -> usize {
        let link = |from, to, prr| TraceLink {
            from,
            to,
            channel: Channel::LAST,
            prr,
            rssi_dbm: None,
        };
        let both = |&(a, b, prr): &(u16, u16, f64)| [link(a, b, prr), link(b, a, prr)];
        let links: Vec<TraceLink> = pairs.iter().flat_map(both).collect();
        node(nodes, [Channel::LAST].into_iter().collect(), &links)
    }

    #[test]
    fn the_middle_of_the_largest_part_is_the_sink() {
        // A triangle, and a row of five.
        let apart = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)];
        let row = [(3, 4, 1.0), (4, 5, 1.0), (5, 6, 1.0), (6, 7, 1.0)];
        assert_eq!(of(8, &[&apart[..], &row[..]].concat()), 5);
        // A hub of bad links is none.
        let good = [(1, 2, 1.0), (1, 3, 1.0)];
        let hub = [(0, 1, 0.6), (0, 2, 0.6), (0, 3, 0.6)];
        assert_eq!(of(4, &[&hub[..], &good[..]].concat()), 1);
        assert_eq!(of(4, &hub), 0);
        assert_eq!(of(3, &[(1, 2, 0.1)]), 0, "no link worth the name");
    }

    #[test]
    fn cheapest_ways_may_have_more_hops() {
        // From 0 to 2 directly at 9, or by way of 1 at 2 and 3; each node is counted once.
        let graph = vec![
            vec![(1, 2), (2, 9)],
            vec![(0, 2), (2, 3)],
            vec![(1, 3), (0, 9)],
            vec![],
        ];
        assert_eq!(reach(&graph, 0), (3, 2 + 5));
        assert_eq!(reach(&graph, 2), (3, 3 + 5));
        assert_eq!(reach(&graph, 3), (1, 0));
    }
}
