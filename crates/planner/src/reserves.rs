//! What a lean plan has ready for what it could not know: a node that stands by beside each relay.
//!
//! Who stands by must hear the stage before on the relay's own channel, reach the stage after, and hear the relay there: it
//! takes part when the relay is not heard to send on what it has heard itself. Tests: tests/reserves.rs.

use crate::expect::Expected;
use crate::groups::{Group, Member};
use thalweg_units::Channel;

/// What the links of a node that stands by deliver, at least.
const LEAST: f64 = 0.95;

/// Beside every relay that is alone in its stage and group, the node that can best take its part.
pub(crate) fn standing_by(
    expected: &Expected,
    (source, sink): (usize, usize),
    stages: &[Vec<Member>],
    channels: &[Channel],
) -> Vec<Vec<Member>> {
    let mut used = vec![false; expected.nodes()];
    for node in stages.iter().flatten().map(|member| member.node) {
        used[node] = true;
    }
    (used[source], used[sink]) = (true, true);
    let alone = |at: usize, group: Group| {
        let mut here = stages.get(at)?.iter().filter(|m| m.group == group);
        let one = here.next()?.node;
        here.next().is_none().then_some(one)
    };
    let delivery = |from: usize, to: usize, channel: Channel| {
        let reach = expected.link(from, to, channel);
        reach.map_or(0.0, |reach| reach.delivery)
    };
    let mut standing = vec![Vec::new(); stages.len()];
    for (at, place) in standing.iter_mut().enumerate() {
        // Stage k is `stages[k - 1]`, and has channel k.
        let [Some(&here), Some(&next)] = [at + 1, at + 2].map(|stage| channels.get(stage)) else {
            continue;
        };
        for group in Group::BOTH {
            let before = match at.checked_sub(1) {
                None => Some(source),
                Some(before) => alone(before, group),
            };
            let after = match at + 1 == stages.len() {
                true => Some(sink),
                false => alone(at + 1, group),
            };
            let (Some(before), Some(relay), Some(after)) = (before, alone(at, group), after) else {
                continue;
            };
            let worth = |node: usize| {
                let links = [
                    delivery(before, node, here),
                    delivery(node, after, next),
                    delivery(relay, node, next),
                ];
                let is_sure = links.iter().all(|link| *link >= LEAST);
                is_sure.then(|| links.iter().product::<f64>())
            };
            let free = (0..expected.nodes()).filter(|node| !used[*node]);
            let worth = free.filter_map(|node| Some((worth(node)?, node)));
            let best = worth.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((_, node)) = best {
                used[node] = true;
                place.push(Member {
                    node,
                    group,
                    path: None,
                });
            }
        }
    }
    standing
}

/// Packets of a group that are looked at first, and how many of them must arrive (`thalweg_protocols::thalweg::Looker`).
pub const LOOK: (u32, u32) = (8, 5);

/// Probability that at least one of a plan's `groups`, from source to sink, brings too little of what is looked at: links
/// fare apart from each other, and one that is too weak makes its group lame.
pub(crate) fn chance_of_need(
    expected: &Expected,
    groups: &[Vec<Vec<usize>>],
    channels: &[Channel],
) -> f64 {
    let mut none = 1.0;
    for group in groups {
        for (hop, channel) in group.windows(2).zip(channels.iter().skip(1)) {
            if let ([from], [to]) = (hop[0].as_slice(), hop[1].as_slice()) {
                none *= 1.0 - expected.lame((*from, *to), *channel, LOOK);
            }
        }
    }
    1.0 - none
}
