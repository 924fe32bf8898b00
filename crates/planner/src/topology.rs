//! The graph that routes are sought in: which links the routing channel offers under a link rule.
//!
//! P3 builds its routes of "high-quality links (with ETX 1)" (section V). [`LinkRule`] says what
//! that means here; both directions must qualify, since NACKs come back the same way.
//! Invariants: links are mutual; neighbour lists are sorted. Tests: `topology_tests.rs`.

use crate::links::{LinkQualities, LinkQuality};
use std::collections::VecDeque;
use thalweg_units::{Channel, Db, Dbm};

/// When a pair of nodes counts as a link for routing ("ETX 1").
///
/// Ten beacons cannot tell a reception ratio of .99 from one of .85, and a link that only just
/// clears the sensitivity knee is lost in the next fade. So where the mean RSSI is known it must lie
/// [`margin`](Self::margin) above the radio's effective noise floor, both ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRule {
    /// Least reception ratio in each direction, 0..=1.
    pub min_prr: f64,
    /// Effective noise floor of the radio: thermal noise, noise figure and demodulator loss.
    pub floor: Dbm,
    /// Least distance of the mean RSSI from `floor` in each direction, where an RSSI is known;
    /// none asks for no margin.
    pub margin: Option<Db>,
}

impl LinkRule {
    /// Effective noise floor of the CC2420: -111 dBm (kT x 2 MHz) + 11.8 dB noise figure + 3.7 dB
    /// demodulator loss, which puts its sensitivity at the data sheet's -95 dBm.
    pub const CC2420_FLOOR: Dbm = Dbm(-95.5);

    /// This rule with another fade margin.
    #[must_use]
    pub const fn with_margin(self, margin: Option<Db>) -> Self {
        Self { margin, ..self }
    }
    /// Rules to fall back on, in order, where this one leaves too few paths: half its margin, no
    /// margin, and no margin at a reception ratio of .7 (measured links keep a few per cent of
    /// loss even far above the knee).
    pub fn weaker(self) -> Vec<Self> {
        let mut rules = Vec::new();
        if let Some(margin) = self.margin {
            rules.push(self.with_margin(Some(Db(margin.0 / 2.0))));
            rules.push(self.with_margin(None));
        }
        if self.min_prr > 0.7 {
            rules.push(Self {
                min_prr: 0.7,
                ..self.with_margin(None)
            });
        }
        rules
    }
    /// Whether `a` and `b` are linked on `channel`.
    pub fn admits(&self, links: &LinkQualities, a: usize, b: usize, channel: Channel) -> bool {
        let one_way = |quality: LinkQuality| {
            let loud = match (quality.rssi, self.margin) {
                (Some(rssi), Some(margin)) => rssi >= self.floor + margin,
                _ => true,
            };
            // A ratio of zero is no link under any rule.
            quality.prr > 0.0 && quality.prr >= self.min_prr && loud
        };
        let admits = |a, b| links.quality(a, b, channel).is_some_and(one_way);
        admits(a, b) && admits(b, a)
    }
}

impl Default for LinkRule {
    /// Nine of ten beacons and a mean RSSI 6 dB above the CC2420's effective floor, both ways: what
    /// [`crate::LinkModel::sure_margin`] asks for where spreads are about those of a building.
    fn default() -> Self {
        Self {
            min_prr: 0.9,
            floor: Self::CC2420_FLOOR,
            margin: Some(Db(6.0)),
        }
    }
}

impl std::fmt::Display for LinkRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PRR >= {} both ways", self.min_prr)?;
        match self.margin {
            Some(margin) => write!(f, ", RSSI >= {} where known", self.floor + margin),
            None => Ok(()),
        }
    }
}

/// An undirected graph over the nodes: the routing links under one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    neighbours: Vec<Vec<usize>>,
}

impl Topology {
    /// The links that `rule` admits on `channel`.
    pub fn new(links: &LinkQualities, channel: Channel, rule: &LinkRule) -> Self {
        let edges = (0..links.nodes()).flat_map(|a| {
            let heard = links.heard_from(a, channel).map(move |(b, _)| (a, b));
            heard.filter(|&(a, b)| a < b && rule.admits(links, a, b, channel))
        });
        Self::from_edges(links.nodes(), edges)
    }
    /// A graph from its edges; edges to nodes that are not there, and loops, are left out.
    pub fn from_edges(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut neighbours = vec![Vec::new(); nodes];
        for (a, b) in edges {
            if a < nodes && b < nodes && a != b {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        Self { neighbours }
    }
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.neighbours.len()
    }
    /// The neighbours of `node`, lowest index first; none for a node that is not there.
    pub fn neighbours(&self, node: usize) -> &[usize] {
        self.neighbours.get(node).map_or(&[], Vec::as_slice)
    }
    /// The neighbours of every node.
    pub(crate) fn all_neighbours(&self) -> &[Vec<usize>] {
        &self.neighbours
    }
    /// Whether `a` and `b` are linked.
    pub fn linked(&self, a: usize, b: usize) -> bool {
        self.neighbours(a).binary_search(&b).is_ok()
    }
    /// Mean number of neighbours of a node.
    pub fn mean_degree(&self) -> f64 {
        let ends: usize = self.neighbours.iter().map(Vec::len).sum();
        ends as f64 / self.nodes().max(1) as f64
    }
    /// Hops from `origin` to every node; none where there is no way.
    pub fn hops_from(&self, origin: usize) -> Vec<Option<usize>> {
        let mut hops = vec![None; self.nodes()];
        if origin >= self.nodes() {
            return hops;
        }
        hops[origin] = Some(0);
        let mut queue = VecDeque::from([(origin, 0)]);
        while let Some((node, far)) = queue.pop_front() {
            for &next in self.neighbours(node) {
                if hops[next].is_none() {
                    hops[next] = Some(far + 1);
                    queue.push_back((next, far + 1));
                }
            }
        }
        hops
    }
    /// The connected components, largest first (then by lowest node), each sorted.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.nodes()];
        let mut components = Vec::new();
        for start in 0..self.nodes() {
            if seen[start] {
                continue;
            }
            let part: Vec<usize> = (self.hops_from(start).iter().enumerate())
                .filter_map(|(node, hops)| hops.map(|_| node))
                .collect();
            for &node in &part {
                seen[node] = true;
            }
            components.push(part);
        }
        components.sort_by_key(|part| std::cmp::Reverse(part.len()));
        components
    }
}

#[cfg(test)]
#[path = "topology_tests.rs"]
mod tests;
