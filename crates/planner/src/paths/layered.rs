//! Enlarging a set of node-distinct paths of exactly H hops by augmenting paths, as in max-flow, in
//! the graph of (relay, layer) pairs, where the layer is the hop count from the source.
//!
//! A relay in use stays on its layer while one augmenting path is sought, a free one may take any layer
//! in its window, but only one. With one layer per window (H the shortest length) this is exact
//! max-flow; otherwise a local optimum, left by taking out random paths and filling up again.
//! Invariant: `prev` and `next` of relays in use chain source to sink, one layer a step.

use super::Query;
use crate::topology::Topology;
use rand::seq::SliceRandom;
use rand::Rng;
use std::collections::VecDeque;

/// Restarts after which the best set so far is taken.
const RESTARTS: usize = 64;

/// A relay's place in the set of paths.
#[derive(Debug, Clone, Copy)]
struct Used {
    layer: usize,
    prev: usize,
    next: usize,
}

/// Where an augmenting path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// About to leave `node` at `layer`: the source, a free relay, or one whose onward hop is undone.
    Out { node: usize, layer: usize },
    /// Arrived at a relay in use, whose incoming hop must now be undone.
    In { node: usize },
}

/// The states reached, each with the place of the one it was reached from.
struct Reached {
    states: Vec<(State, Option<usize>)>,
    is_seen: Vec<bool>,
}

impl Reached {
    /// Adds a state that follows the one at `at`, once.
    fn add(&mut self, state: State, at: usize, slot: usize) {
        if !std::mem::replace(&mut self.is_seen[slot], true) {
            self.states.push((state, Some(at)));
        }
    }
    /// Whether the way to the state at `at` goes through `node`.
    fn is_on_the_way(&self, at: usize, node: usize) -> bool {
        let mut way = std::iter::successors(Some(at), |&at| self.states[at].1);
        way.any(|at| matches!(self.states[at].0, State::Out { node: here, .. } if here == node))
    }
}

#[derive(Clone)]
struct Paths<'a> {
    query: &'a Query<'a>,
    used: Vec<Option<Used>>,
    count: usize,
}

/// `paths` and more, up to `bound` of them.
pub(super) fn enlarge(
    query: &Query<'_>,
    ordered: &[Vec<usize>],
    paths: Vec<Vec<usize>>,
    bound: usize,
    rng: &mut impl Rng,
) -> Vec<Vec<usize>> {
    let mut current = Paths {
        query,
        used: vec![None; ordered.len()],
        count: 0,
    };
    paths.iter().for_each(|path| current.insert(path));
    current.fill(ordered);
    if query.from[query.sink] == Some(query.hops) {
        // One layer per relay: what augmentation cannot enlarge is the maximum.
        return current.list();
    }
    let mut orders = ordered.to_vec();
    let mut best = current.clone();
    for restart in 0..RESTARTS {
        if best.count >= bound {
            break;
        }
        let mut trial = current.clone();
        trial.remove(1 + restart % 3, rng);
        for list in &mut orders {
            list.shuffle(rng);
        }
        trial.fill(&orders);
        if trial.count >= current.count {
            current = trial;
        }
        if current.count > best.count {
            best = current.clone();
        }
    }
    best.list()
}

impl Paths<'_> {
    fn insert(&mut self, path: &[usize]) {
        for (layer, hop) in path.windows(3).enumerate() {
            if let [prev, node, next] = *hop {
                let layer = layer + 1;
                self.used[node] = Some(Used { layer, prev, next });
            }
        }
        self.count += 1;
    }
    fn list(&self) -> Vec<Vec<usize>> {
        let source = self.query.source;
        let is_first = |&node: &usize| self.used[node].is_some_and(|used| used.prev == source);
        let path = |first| {
            let onward = |&node: &usize| self.used[node].map(|used| used.next);
            let path = std::iter::successors(Some(first), onward);
            [source].into_iter().chain(path).collect()
        };
        (0..self.used.len()).filter(is_first).map(path).collect()
    }
    /// Takes out `count` random paths.
    fn remove(&mut self, count: usize, rng: &mut impl Rng) {
        let mut paths = self.list();
        paths.shuffle(rng);
        for path in paths.iter().take(count) {
            for &node in path {
                self.used[node] = None;
            }
            self.count -= 1;
        }
    }
    /// Augments until that is no longer possible.
    fn fill(&mut self, ordered: &[Vec<usize>]) {
        while let Some(steps) = self.augmenting(ordered) {
            self.apply(&steps);
        }
    }
    /// An augmenting path from the source to the hop before the sink.
    fn augmenting(&self, ordered: &[Vec<usize>]) -> Option<Vec<State>> {
        let (query, nodes) = (self.query, self.used.len());
        let slot = |state: State| match state {
            State::Out { node, layer } => layer * nodes + node,
            State::In { node } => query.hops * nodes + node,
        };
        let (node, layer) = (query.source, 0);
        let start = State::Out { node, layer };
        let mut reached = Reached {
            states: vec![(start, None)],
            is_seen: vec![false; (query.hops + 1) * nodes],
        };
        reached.is_seen[slot(start)] = true;
        let mut at = 0;
        while at < reached.states.len() {
            if self.leads_to_sink(ordered, &mut reached, at, &slot) {
                return Some(chain(&reached.states, at));
            }
            at += 1;
        }
        None
    }
    /// Whether the sink follows the state at `at`; the states that follow it are reached where it does not.
    fn leads_to_sink(
        &self,
        ordered: &[Vec<usize>],
        reached: &mut Reached,
        at: usize,
        slot: &impl Fn(State) -> usize,
    ) -> bool {
        let query = self.query;
        let (node, layer) = match reached.states[at].0 {
            State::Out { node, layer } => (node, layer),
            // Undo the hop that led here.
            State::In { node } => {
                let used = self.used[node].filter(|used| used.prev != query.source);
                if let Some(Used { prev, layer, .. }) = used {
                    let (node, layer) = (prev, layer - 1);
                    let before = State::Out { node, layer };
                    reached.add(before, at, slot(before));
                }
                return false;
            }
        };
        let (used, beyond) = (self.used[node], layer + 1);
        for &next in &ordered[node] {
            if next == query.sink {
                let is_new = used.is_none_or(|used| used.next != query.sink);
                if beyond == query.hops && is_new {
                    return true;
                }
                continue;
            }
            match self.used[next] {
                Some(there) if there.layer == beyond && there.prev != node => {
                    let back = State::In { node: next };
                    reached.add(back, at, slot(back));
                }
                None if query.fits(next, beyond) => {
                    let (node, layer) = (next, beyond);
                    let out = State::Out { node, layer };
                    // Most were seen; the way back to the source is long.
                    if !reached.is_seen[slot(out)] && !reached.is_on_the_way(at, node) {
                        reached.add(out, at, slot(out));
                    }
                }
                _ => {}
            }
        }
        // Its onward hop is undone: the path to here may do without it.
        if used.is_some() {
            let back = State::In { node };
            reached.add(back, at, slot(back));
        }
        false
    }
    /// Undoes and adds the hops of an augmenting path.
    fn apply(&mut self, steps: &[State]) {
        let sink = self.query.sink;
        let (mut gone, mut added) = (Vec::new(), Vec::new());
        for pair in steps.windows(2) {
            let (State::Out { node: to, .. } | State::In { node: to }) = pair[1];
            match (pair[0], pair[1]) {
                (State::Out { node, layer }, _) if to != node => added.push((node, to, layer)),
                (State::In { node }, State::Out { .. }) => gone.push((to, node)),
                _ => {}
            }
        }
        if let Some(&State::Out { node, layer }) = steps.last() {
            added.push((node, sink, layer));
        }
        // A relay that loses both its hops and gains none is free again.
        let mut lost = vec![(false, false); self.used.len()];
        for &(prev, node) in &gone {
            lost[prev].1 = true;
            lost[node].0 = true;
        }
        for &(node, next, _) in &added {
            lost[node].1 = false;
            lost[next].0 = false;
        }
        for (used, _) in (self.used.iter_mut().zip(lost)).filter(|(_, l)| *l == (true, true)) {
            *used = None;
        }
        for (node, next, layer) in added {
            if node != self.query.source {
                let used = self.used[node].get_or_insert(Used {
                    layer,
                    prev: node,
                    next,
                });
                used.next = next;
            }
            if next != sink {
                let fresh = Used {
                    layer: layer + 1,
                    prev: node,
                    next,
                };
                self.used[next].get_or_insert(fresh).prev = node;
            }
        }
        self.count += 1;
    }
}

/// The states on the way to the one at `at`, first to last.
fn chain(reached: &[(State, Option<usize>)], at: usize) -> Vec<State> {
    let mut states: Vec<State> = std::iter::successors(Some(at), |&at| reached[at].1)
        .map(|at| reached[at].0)
        .collect();
    states.reverse();
    states
}

/// The largest number of node-distinct paths of any length through `relays` (Menger).
pub(super) fn disjoint_paths(
    topology: &Topology,
    source: usize,
    sink: usize,
    relays: &[bool],
) -> usize {
    // Unit max-flow on split nodes: 2v arrives, 2v + 1 leaves. `prev[v]`/`next[v]` hold the flow.
    let nodes = relays.len();
    let (mut prev, mut next) = (vec![None; nodes], vec![None; nodes]);
    let mut count = 0;
    loop {
        let mut parent: Vec<Option<usize>> = vec![None; 2 * nodes];
        let mut queue = VecDeque::from([2 * source + 1]);
        let mut last = None;
        while let Some(state) = queue.pop_front() {
            let node = state / 2;
            let mut onward = Vec::new();
            if state % 2 == 1 {
                for &there in topology.neighbours(node) {
                    if there == sink && node != source && next[node] != Some(sink) {
                        last = Some(state);
                    } else if there != sink && relays[there] && prev[there] != Some(node) {
                        // A free relay is passed at once.
                        let busy = next[there].is_some();
                        onward.push(2 * there + usize::from(!busy));
                    }
                }
                if next[node].is_some() {
                    onward.push(2 * node);
                }
            } else if let Some(back) = prev[node].filter(|&back| back != source) {
                onward.push(2 * back + 1);
            }
            if last.is_some() {
                break;
            }
            for there in onward {
                if parent[there].is_none() && there != 2 * source + 1 {
                    parent[there] = Some(state);
                    queue.push_back(there);
                }
            }
        }
        let Some(last) = last else { return count };
        count += 1;
        augment((source, sink), &parent, last, (&mut prev, &mut next));
    }
}

/// Adds the path that ends at state `last`, back along its parents: undoes hops first, then adds (a relay may lose one
/// hop and gain another).
fn augment(
    (source, sink): (usize, usize),
    parent: &[Option<usize>],
    last: usize,
    (prev, next): (&mut [Option<usize>], &mut [Option<usize>]),
) {
    let mut state = last;
    let mut hops = vec![(state / 2, sink)];
    let mut undone = Vec::new();
    while let Some(from) = parent[state] {
        let (a, b) = (from / 2, state / 2);
        match (from % 2, state % 2) {
            (1, _) if a != b => hops.push((a, b)),
            (0, 1) => undone.push((b, a)),
            _ => {}
        }
        state = from;
    }
    for (a, b) in undone {
        next[a] = None;
        prev[b] = None;
    }
    for (a, b) in hops {
        if a != source {
            next[a] = Some(b);
        }
        if b != sink {
            prev[b] = Some(a);
        }
    }
}
