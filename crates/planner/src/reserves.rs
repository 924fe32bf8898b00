//! What a lean plan has ready for what it could not know: a node that stands by beside each relay.
//!
//! Who stands by must hear the stage before on the relay's own channel, reach the stage after, and hear the relay there: it
//! takes part when the relay is not heard to send on what it has heard itself. Tests: below, tests/reserves.rs.

use crate::channels::Tuned;
use crate::expect::{fewer_than, Expected};
use crate::groups::{Group, Member};
use crate::links::Hop;
use crate::predict::Need;
use crate::rules;
use thalweg_units::Channel;

/// What the links of a node that stands by deliver, at least.
const LEAST: f64 = 0.95;

/// Beside every relay that is alone in its stage and group, the node that can best take its part.
pub(crate) fn standing_by(
    expected: &Expected,
    (source, sink): (usize, usize),
    stages: &[Vec<Member>],
    channels: Tuned<'_>,
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
        for (number, group) in Group::BOTH.into_iter().enumerate() {
            let channel = |stage| channels.of(number, stage);
            let [Some(here), Some(next)] = [at + 1, at + 2].map(channel) else {
                continue;
            };
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
pub const LOOK: (u32, u32) = (rules::LOOK / 2, 5);
/// The same of a longer look, which follows where any of the first were lost.
const LONG_LOOK: (u32, u32) = (rules::LONG_LOOK / 2, 14);
/// Of the first packets, with fewer of which it is better to begin anew where no other chain is better: a transfer of 500
/// then misses so many that rounds take longer (the same).
const HOPELESS: u32 = 6;

/// What a look makes of a chain that delivers so much: whether another follows, and whether the chain is lame.
fn looked(delivery: f64) -> (f64, f64) {
    let ((first, enough), (long, most)) = (LOOK, LONG_LOOK);
    let lame = fewer_than(enough, first, delivery);
    let again = 1.0 - lame - libm::pow(delivery, f64::from(first));
    (again, lame + again * fewer_than(most, long, delivery))
}

/// How likely `hop` is found to be lame, for links may have become weaker since.
pub(crate) fn lame(expected: &Expected, hop: Hop) -> f64 {
    expected.over_changes(hop, |delivery| looked(delivery).1)
}

/// How likely a plan's `groups`, from source to sink, bring too little of what is looked at. Links become weaker apart from
/// each other, and one that is too weak makes its group lame; a burst hits both groups wherever it is.
pub(crate) fn need(expected: &Expected, groups: &[Vec<Vec<usize>>], channels: Tuned<'_>) -> Need {
    let (mut sure, mut sound) = (1.0, 1.0);
    for (number, group) in groups.iter().enumerate() {
        for (pair, stage) in group.windows(2).zip(1..) {
            let ends = (pair[0].as_slice(), pair[1].as_slice());
            if let (([from], [to]), Some(channel)) = (ends, channels.of(number, stage)) {
                let (from, to) = (*from, *to);
                let hop = Hop { from, to, channel };
                sure *= 1.0 - expected.over_changes(hop, |delivery| looked(delivery).0);
                sound *= 1.0 - expected.over_changes(hop, |delivery| looked(delivery).1);
            }
        }
    }
    let mut need = Need {
        again: 1.0 - sure,
        called: 1.0 - sound,
        other_way: 0.0,
    };
    let bursts = expected.bursts();
    let hops = channels.hops();
    let any = |of_group: f64| 1.0 - libm::pow(1.0 - of_group, groups.len() as f64);
    for (inside, chance) in bursts.together(hops).into_iter().enumerate().skip(1) {
        let delivery = libm::pow(1.0 - bursts.hit, inside as f64);
        let (again, lame) = looked(delivery);
        let called = chance * any(lame) * sound;
        need.again += chance * any(again) * sure;
        need.called += called;
        need.other_way += called * fewer_than(HOPELESS, LOOK.0, delivery);
    }
    need
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_look_follows_chains_that_lose_a_few() {
        let (again, lame) = looked(1.0);
        assert!(again.abs() < 1e-12 && lame.abs() < 1e-12);
        let (again, lame) = looked(0.9);
        assert!(
            (0.5..0.6).contains(&again) && (0.1..0.15).contains(&lame),
            "{again} {lame}"
        );
        assert!(looked(0.7).1 > 0.8 && looked(0.1).1 > 0.999);
    }
}
