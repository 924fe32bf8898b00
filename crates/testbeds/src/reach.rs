//! How far nodes are apart over links that go both ways, and in which parts they leave a network. Dense networks are
//! searched by words of 64 nodes, so that a full mesh of a thousand nodes takes milliseconds. Tests: below.

use std::collections::VecDeque;

/// Hops from `start` to every node over `neighbours`, none where there is no way.
pub fn hops(neighbours: &[Vec<usize>], start: usize) -> Vec<Option<usize>> {
    let mut hops = vec![None; neighbours.len()];
    let Some(first) = hops.get_mut(start) else {
        return hops;
    };
    *first = Some(0);
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        for next in neighbours.get(node).into_iter().flatten() {
            if let Some(place @ None) = hops.get_mut(*next) {
                *place = Some(distance + 1);
                queue.push_back((*next, distance + 1));
            }
        }
    }
    hops
}

/// A network as links leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reach {
    /// Parts that have no links between them.
    pub(crate) parts: usize,
    /// Most hops between any two nodes of a part.
    pub(crate) diameter: usize,
}

impl Reach {
    /// That of nodes with these neighbours, each of which has the other in turn.
    pub(crate) fn of(neighbours: &[Vec<usize>]) -> Self {
        let nodes = neighbours.len();
        let links: usize = neighbours.iter().map(Vec::len).sum();
        let words = nodes.div_ceil(64);
        // By lists a search looks at each link, by words at each word of each node.
        let dense = (links > nodes * words).then(|| rows(neighbours, words));
        let mut in_part = vec![false; nodes];
        let mut reach = Self::default();
        for start in 0..nodes {
            if in_part.get(start).copied().unwrap_or(true) {
                continue;
            }
            reach.parts += 1;
            let from_start = hops(neighbours, start);
            let reached = from_start
                .iter()
                .enumerate()
                .filter(|(_, hops)| hops.is_some());
            let part: Vec<usize> = reached.map(|(node, _)| node).collect();
            for &node in &part {
                if let Some(seen) = in_part.get_mut(node) {
                    *seen = true;
                }
            }
            let farthest = part.iter().map(|&node| match &dense {
                Some(rows) => farthest(rows, words, node, part.len()),
                None => hops(neighbours, node)
                    .into_iter()
                    .flatten()
                    .max()
                    .unwrap_or(0),
            });
            reach.diameter = reach.diameter.max(farthest.max().unwrap_or(0));
        }
        reach
    }
}

/// A bit for each neighbour, so many words a node.
fn rows(neighbours: &[Vec<usize>], words: usize) -> Vec<u64> {
    let mut rows = vec![0; neighbours.len() * words];
    for (node, of) in neighbours.iter().enumerate() {
        for next in of {
            if let Some(word) = rows.get_mut(node * words + next / 64) {
                *word |= 1 << (next % 64);
            }
        }
    }
    rows
}

/// Hops from `start` to the farthest node of its part, which has `size` nodes.
fn farthest(rows: &[u64], words: usize, start: usize, size: usize) -> usize {
    let mut seen = vec![0u64; words];
    if let Some(word) = seen.get_mut(start / 64) {
        *word |= 1 << (start % 64);
    }
    let (mut reached, mut distance) = (1, 0);
    let mut last = vec![start];
    while reached < size && !last.is_empty() {
        distance += 1;
        let mut next = Vec::new();
        for node in std::mem::take(&mut last) {
            let row = rows.get(node * words..(node + 1) * words);
            let row = row.into_iter().flatten().zip(&mut seen);
            for (at, (heard, seen)) in row.enumerate() {
                let mut new = heard & !*seen;
                *seen |= new;
                while new != 0 {
                    next.push(at * 64 + new.trailing_zeros() as usize);
                    new &= new - 1;
                }
            }
        }
        reached += next.len();
        last = next;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes in a row, each linked to the next so many.
    fn row(nodes: usize, next: usize) -> Vec<Vec<usize>> {
        let near = |a: usize| (0..nodes).filter(move |b| a != *b && a.abs_diff(*b) <= next);
        (0..nodes).map(|a| near(a).collect()).collect()
    }

    #[test]
    fn both_ways_of_searching_agree() {
        for (nodes, next) in [(5, 1), (130, 1), (130, 7), (130, 40), (130, 129), (200, 64)] {
            let neighbours = row(nodes, next);
            let reach = Reach::of(&neighbours);
            assert_eq!(reach.parts, 1);
            assert_eq!(reach.diameter, (nodes - 1).div_ceil(next), "{nodes} {next}");
        }
        let apart: Vec<Vec<usize>> = row(70, 69)
            .into_iter()
            .chain([vec![], vec![72], vec![71]])
            .collect();
        assert_eq!(
            Reach::of(&apart),
            Reach {
                parts: 3,
                diameter: 1
            }
        );
        assert_eq!(Reach::of(&[]), Reach::default());
    }

    #[test]
    fn a_full_mesh_of_a_thousand_nodes_is_searched_at_once() {
        let mesh = row(1000, 999);
        let begin = std::time::Instant::now();
        for _ in 0..16 {
            assert_eq!(Reach::of(&mesh).diameter, 1);
        }
        // By lists this takes minutes.
        assert!(begin.elapsed().as_secs() < 10);
    }
}
