//! The paper's search (P3, section IV-C2): a depth-first search for one path of exactly H hops, its
//! relays taken out, the next search among the rest, until none is found.
//!
//! A table of walks prunes the search: a relay is entered only if a walk of exactly the hops that
//! remain leads from it to the sink through relays still free. What is left to backtrack over are
//! walks that meet themselves; a budget bounds that. Tests: in the parent module and tests/.

use super::Query;

/// Relays entered in the search for one path before it is given up. The table of walks makes a few
/// dozen the usual number; only graphs whose long walks all meet themselves come near it.
const BUDGET: usize = 20_000;

/// Node-distinct paths one after the other, until the search finds no more.
pub(super) fn paths<'a>(
    query: &'a Query<'_>,
    ordered: &'a [Vec<usize>],
) -> impl Iterator<Item = Vec<usize>> + 'a {
    let mut free = vec![true; query.topology.nodes()];
    free[query.source] = false;
    free[query.sink] = false;
    std::iter::from_fn(move || one(query, ordered, &mut free))
}

/// One path through free relays; they are free no longer.
fn one(query: &Query<'_>, ordered: &[Vec<usize>], free: &mut [bool]) -> Option<Vec<usize>> {
    let leads = walks(query, free);
    let mut path = vec![query.source];
    // Per node of the path: the next neighbour of it to try.
    let mut tried = vec![0usize];
    let mut budget = BUDGET;
    while let (Some(&here), Some(next)) = (path.last(), tried.last_mut()) {
        let left = query.hops - (path.len() - 1);
        if left == 1 {
            // The table says that the sink is a neighbour.
            path.push(query.sink);
            return Some(path);
        }
        let mut candidates = ordered[here].iter().copied().enumerate().skip(*next);
        match candidates.find(|&(_, relay)| free[relay] && leads[left - 1][relay]) {
            Some((at, relay)) => {
                *next = at + 1;
                budget = budget.checked_sub(1)?;
                free[relay] = false;
                path.push(relay);
                tried.push(0);
            }
            None => {
                path.pop();
                tried.pop();
                if here != query.source {
                    free[here] = true;
                }
            }
        }
    }
    None
}

/// `walks[k][v]`: a walk of exactly k hops leads from v to the sink through free relays.
fn walks(query: &Query<'_>, free: &[bool]) -> Vec<Vec<bool>> {
    let nodes = free.len();
    let mut leads = vec![vec![false; nodes]; query.hops];
    leads[0][query.sink] = true;
    for left in 1..query.hops {
        for node in 0..nodes {
            let mut neighbours = query.topology.neighbours(node).iter();
            leads[left][node] = free[node] && neighbours.any(|&n| leads[left - 1][n]);
        }
    }
    leads
}
