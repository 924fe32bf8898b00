//! Where base stations stand best: the nodes to which all others have the fewest expected transmissions (the k-median of
//! ETX, which counts a frame and its answer).
//!
//! Every choice is tried where there are few; else stations are added one by one and then exchanged until none of them
//! does better elsewhere. Nodes out of reach weigh more than any number of transmissions. Tests: `placement_tests.rs`.

use crate::cheapest::CheapestWays;
use crate::links::LinkQualities;
use crate::request::RouteRequest;

/// A link over which fewer frames get through, there and back, is none.
const LEAST: f64 = 0.1;
/// How many choices are all tried.
const ALL: u64 = 200_000;

/// Expected transmissions from every node to every other over the best route; none where there is no route.
#[derive(Debug, Clone, PartialEq)]
pub struct Transmissions(Vec<Vec<Option<f64>>>);

/// Nodes without a station in reach, then expected transmissions of all others: less is better.
type Cost = (usize, f64);

fn is_less(a: Cost, b: Cost) -> bool {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).is_lt()
}

impl Transmissions {
    /// Over `links` as `request` trusts them, on the best of its channels hop by hop. Sources and sinks of `request` do not
    /// matter.
    pub fn over(links: &LinkQualities, request: &RouteRequest) -> Self {
        let nodes = links.nodes();
        let delivery = |from: usize, to: usize, on| {
            let quality = links.quality(from, to, on);
            quality.map_or(0.0, |quality| request.model.delivery(&quality))
        };
        let mut neighbours = vec![Vec::new(); nodes];
        for (a, b) in (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let both = request.channels.iter();
            let both = both.map(|on| delivery(a, b, *on) * delivery(b, a, *on));
            let best = both.fold(0.0, f64::max);
            if best >= LEAST {
                neighbours[a].push((b, 1.0 / best));
                neighbours[b].push((a, 1.0 / best));
            }
        }
        let from =
            |start| CheapestWays::new(nodes, start, None, |node| neighbours[node].clone()).costs;
        Self((0..nodes).map(from).collect())
    }
    /// Transmissions from `from` to `to`.
    pub fn between(&self, from: usize, to: usize) -> Option<f64> {
        *self.0.get(from)?.get(to)?
    }
    /// The stations in the order in which `node` is near them; those out of its reach are left out.
    pub fn nearest(&self, node: usize, stations: &[usize]) -> Vec<usize> {
        let near = |station: &usize| Some((self.between(node, *station)?, *station));
        let mut near: Vec<(f64, usize)> = stations.iter().filter_map(near).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.into_iter().map(|(_, station)| station).collect()
    }
    fn cost(&self, stations: &[usize]) -> Cost {
        let mut cost = (0, 0.0);
        for row in &self.0 {
            let each = stations.iter().filter_map(|station| row[*station]);
            match each.min_by(f64::total_cmp) {
                Some(transmissions) => cost.1 += transmissions,
                None => cost.0 += 1,
            }
        }
        cost
    }
    /// The `count` nodes where base stations stand best, lowest index first; all nodes where there are no more.
    pub fn stations(&self, count: usize) -> Vec<usize> {
        let nodes = self.0.len();
        let count = count.min(nodes);
        let choices = (0..count as u64).try_fold(1_u64, |all, k| {
            Some(all.checked_mul(nodes as u64 - k)? / (k + 1))
        });
        match choices {
            Some(choices) if choices <= ALL => self.best_of_all(count),
            _ => self.by_exchange(count),
        }
    }
    fn best_of_all(&self, count: usize) -> Vec<usize> {
        let nodes = self.0.len();
        let mut tried: Vec<usize> = (0..count).collect();
        let (mut best, mut best_cost) = (tried.clone(), self.cost(&tried));
        // The next choice in order: the last place that can still move does, and those behind it follow.
        while let Some(at) = (0..count).rfind(|at| tried[*at] < nodes - count + at) {
            let first = tried[at] + 1;
            for (place, station) in tried[at..].iter_mut().enumerate() {
                *station = first + place;
            }
            let cost = self.cost(&tried);
            if is_less(cost, best_cost) {
                (best, best_cost) = (tried.clone(), cost);
            }
        }
        best
    }
    fn by_exchange(&self, count: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        for _ in 0..count {
            chosen.push(0);
            self.improve(&mut chosen);
        }
        while (0..count).any(|_| {
            chosen.rotate_left(1);
            self.improve(&mut chosen)
        }) {}
        chosen.sort_unstable();
        chosen
    }
    /// Moves the last station to where it does best; whether that is better than before.
    fn improve(&self, stations: &mut [usize]) -> bool {
        let before = self.cost(stations);
        let Some(last) = stations.len().checked_sub(1) else {
            return false;
        };
        let (mut best, mut best_cost) = (stations[last], before);
        for node in 0..self.0.len() {
            stations[last] = node;
            let cost = self.cost(stations);
            if is_less(cost, best_cost) {
                (best, best_cost) = (node, cost);
            }
        }
        stations[last] = best;
        is_less(best_cost, before)
    }
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
