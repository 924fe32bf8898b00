//! Spare relays of a lean plan: beside the relays of each group, those with which its packets get through most likely
//! where a hop of the relays alone carries nothing.
//!
//! Called, they send on what they hear together with the relays and with who stands by (`thalweg_protocols::thalweg`).
//! So a hop is dead only where no link of those who may have a packet leads to anybody of the stage after. Links are taken to
//! deliver apart from each other. Tests: tests/reserves.rs.

use crate::expect::Expected;
use crate::groups::{Group, Member};
use crate::plan::Plan;

/// What one link from the stage before, and one to the stage after, deliver at least.
const LEAST: f64 = 0.5;
/// How often each stage's is chosen again, with those of the other stages as they are then.
const SWEEPS: usize = 2;

/// For each stage and group of `plan`, whose reserves stand by already, a spare relay where there is one.
pub(crate) fn spares(expected: &Expected, plan: &Plan) -> Vec<Vec<Member>> {
    let mut spares = vec![Vec::new(); plan.stages.len()];
    let mut taken = vec![false; expected.nodes()];
    for (node, _) in plan.active_nodes() {
        taken[node] = true;
    }
    let standing = plan.standing_by.iter().flatten();
    standing.for_each(|member| taken[member.node] = true);
    for (number, group) in Group::BOTH.into_iter().enumerate() {
        let members = |stages: &[Vec<Member>], at: usize| -> Vec<usize> {
            let here = stages.get(at).into_iter().flatten();
            let of_group = here.filter(|member| member.group == group);
            of_group.map(|member| member.node).collect()
        };
        // Of stages 0 to H.
        let mut lanes = vec![vec![plan.source]];
        lanes.extend((0..plan.stages.len()).map(|at| {
            let mut lane = members(&plan.stages, at);
            lane.extend(members(&plan.standing_by, at));
            lane
        }));
        lanes.push(vec![plan.sink]);
        if lanes.iter().any(Vec::is_empty) {
            continue;
        }
        let tuned = plan.tuned();
        let link = |from: usize, to: usize, stage: usize| {
            let reach = tuned.of(number, stage);
            let reach = reach.and_then(|channel| expected.link(from, to, channel));
            reach.map_or(0.0, |reach| reach.delivery)
        };
        let own: Vec<usize> = lanes.iter().map(Vec::len).collect();
        for _ in 0..SWEEPS {
            for stage in 1..lanes.len() - 1 {
                if let Some(before) = lanes[stage].get(own[stage]) {
                    taken[*before] = false;
                }
                lanes[stage].truncate(own[stage]);
                let joins = |node: &usize| {
                    let hears = lanes[stage - 1].iter().any(|&n| link(n, *node, stage) >= LEAST);
                    hears && (lanes[stage + 1].iter()).any(|&n| link(*node, n, stage + 1) >= LEAST)
                };
                let free = (0..expected.nodes()).filter(|node| !taken[*node]);
                let free: Vec<usize> = free.filter(joins).collect();
                let best = free.into_iter().map(|node| {
                    lanes[stage].push(node);
                    let open = open(&lanes, link);
                    lanes[stage].pop();
                    (open, node)
                });
                let best = best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
                if let Some((_, node)) = best {
                    taken[node] = true;
                    lanes[stage].push(node);
                }
            }
        }
        for (at, place) in spares.iter_mut().enumerate() {
            let spare = lanes[at + 1].get(own[at + 1]);
            place.extend(spare.map(|&node| Member {
                node,
                group,
                path: None,
            }));
        }
    }
    spares
}

/// How likely a packet gets from the first of `lanes` to the last, each node of which sends it on: `link` says what a link to
/// a stage delivers.
fn open(lanes: &[Vec<usize>], link: impl Fn(usize, usize, usize) -> f64) -> f64 {
    // How likely just the nodes of each subset have it.
    let mut have = vec![0.0, 1.0];
    for (pair, stage) in lanes.windows(2).zip(1..) {
        let mut next = vec![0.0; 1 << pair[1].len()];
        for (set, chance) in have.iter().enumerate().skip(1).filter(|(_, c)| **c > 0.0) {
            let gets = pair[1].iter().map(|&to| {
                let senders = pair[0].iter().enumerate();
                let senders = senders.filter(|(bit, _)| set >> bit & 1 == 1);
                1.0 - senders.map(|(_, &from)| 1.0 - link(from, to, stage)).product::<f64>()
            });
            let gets: Vec<f64> = gets.collect();
            for (got, sum) in next.iter_mut().enumerate() {
                let each = gets.iter().enumerate();
                let each = each.map(|(bit, p)| if got >> bit & 1 == 1 { *p } else { 1.0 - p });
                *sum += chance * each.product::<f64>();
            }
        }
        have = next;
    }
    have[1..].iter().sum()
}
