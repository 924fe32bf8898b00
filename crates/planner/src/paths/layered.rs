//! Enlarging a set of node-distinct paths of exactly H hops by augmenting paths, as in max-flow, in
//! the graph of (relay, layer) pairs, where the layer is the hop count from the source.
//!
//! A relay in use stays on its layer while one augmenting path is sought, a free one may take any layer
//! in its window, but only one. With one layer per window (H the shortest length) this is exact
//! max-flow; otherwise a local optimum, left by taking out random paths and filling up again.
//! Invariant: `prev` and `next` of relays in use chain source to sink, one layer a step.

use super::Quest;
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

#[derive(Clone)]
struct Paths<'a> {
    quest: &'a Quest<'a>,
    used: Vec<Option<Used>>,
    count: usize,
}

/// `paths` and more, up to `bound` of them.
pub(super) fn enlarge(
    quest: &Quest<'_>,
    ordered: &[Vec<usize>],
    paths: Vec<Vec<usize>>,
    bound: usize,
    rng: &mut impl Rng,
) -> Vec<Vec<usize>> {
    let mut current = Paths {
        quest,
        used: vec![None; ordered.len()],
        count: 0,
    };
    for path in &paths {
        current.insert(path);
    }
    current.fill(ordered);
    let shortest = quest.from[quest.sink].is_some_and(|shortest| shortest == quest.hops);
    if shortest {
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
                self.used[node] = Some(Used {
                    layer: layer + 1,
                    prev,
                    next,
                });
            }
        }
        self.count += 1;
    }
    fn list(&self) -> Vec<Vec<usize>> {
        let firsts = (0..self.used.len())
            .filter(|&node| self.used[node].is_some_and(|used| used.prev == self.quest.source));
        firsts
            .map(|first| {
                let onward = |&node: &usize| self.used[node].map(|used| used.next);
                let path = std::iter::successors(Some(first), onward);
                std::iter::once(self.quest.source).chain(path).collect()
            })
            .collect()
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
        let (quest, nodes) = (self.quest, self.used.len());
        let slot = |state: State| match state {
            State::Out { node, layer } => layer * nodes + node,
            State::In { node } => quest.hops * nodes + node,
        };
        // The states reached, each with the place of the one it was reached from.
        let mut reached: Vec<(State, Option<usize>)> = Vec::new();
        let mut seen = vec![false; (quest.hops + 1) * nodes];
        let mut queue = VecDeque::new();
        let start = State::Out {
            node: quest.source,
            layer: 0,
        };
        seen[slot(start)] = true;
        reached.push((start, None));
        queue.push_back(0);
        while let Some(at) = queue.pop_front() {
            let mut onward = Vec::new();
            match reached[at].0 {
                State::In { node } => {
                    // Undo the hop that led here.
                    if let Some(Used { prev, layer, .. }) = self.used[node] {
                        if prev != quest.source {
                            onward.push(State::Out {
                                node: prev,
                                layer: layer - 1,
                            });
                        }
                    }
                }
                State::Out { node, layer } => {
                    let used = self.used[node];
                    for &next in &ordered[node] {
                        if next == quest.sink {
                            let anew = used.is_none_or(|used| used.next != quest.sink);
                            if layer + 1 == quest.hops && anew {
                                return Some(chain(&reached, at));
                            }
                            continue;
                        }
                        match self.used[next] {
                            Some(there) if there.layer == layer + 1 && there.prev != node => {
                                onward.push(State::In { node: next });
                            }
                            None if quest.fits(next, layer + 1)
                                && !on_the_way(&reached, at, next) =>
                            {
                                onward.push(State::Out {
                                    node: next,
                                    layer: layer + 1,
                                });
                            }
                            _ => {}
                        }
                    }
                    // Its onward hop is undone: the path that came here may do without it.
                    if used.is_some() {
                        onward.push(State::In { node });
                    }
                }
            }
            for state in onward {
                if !std::mem::replace(&mut seen[slot(state)], true) {
                    queue.push_back(reached.len());
                    reached.push((state, Some(at)));
                }
            }
        }
        None
    }
    /// Undoes and adds the hops of an augmenting path.
    fn apply(&mut self, steps: &[State]) {
        let sink = self.quest.sink;
        let mut gone = Vec::new();
        let mut added = Vec::new();
        for pair in steps.windows(2) {
            match (pair[0], pair[1]) {
                (State::Out { node, layer }, State::Out { node: next, .. }) => {
                    added.push((node, next, layer));
                }
                (State::Out { node, layer }, State::In { node: next }) if next != node => {
                    added.push((node, next, layer));
                }
                (State::In { node }, State::Out { node: prev, .. }) => gone.push((prev, node)),
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
        for (node, lost) in lost.iter().enumerate() {
            if *lost == (true, true) {
                self.used[node] = None;
            }
        }
        for (node, next, layer) in added {
            if node != self.quest.source {
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

/// Whether the way to the state at `at` goes through `node`.
fn on_the_way(reached: &[(State, Option<usize>)], mut at: usize, node: usize) -> bool {
    loop {
        let (state, from) = reached[at];
        if matches!(state, State::Out { node: here, .. } if here == node) {
            return true;
        }
        match from {
            Some(from) => at = from,
            None => return false,
        }
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
        let Some(mut state) = last else { return count };
        count += 1;
        // Back along the way: undo first, then add (a relay may lose one hop and gain another).
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
}
