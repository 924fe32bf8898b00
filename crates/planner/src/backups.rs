//! The backup relay of each relay of a lean plan, for links that have changed since the survey.
//!
//! A backup relay hears the stage before on its relay's own channel, reaches the stage after, and hears the relay there. It
//! takes over when it does not hear the relay forward a packet that it received itself. Tests: tests/all/backups.rs.

use crate::channels::StageChannels;
use crate::groups::{Group, Member};
use crate::link_model::{fewer_than, Expected};
use crate::links::Hop;
use crate::protocol_constants;
use thalweg_units::Channel;

/// Least delivery of a backup relay's links.
const LEAST: f64 = 0.95;

/// Beside every relay that is alone in its stage and group, the node that can best take its part.
pub(crate) fn backup_relays(
    expected: &Expected,
    (source, sink): (usize, usize),
    stages: &[Vec<Member>],
    channels: StageChannels<'_>,
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
    let mut backups = vec![Vec::new(); stages.len()];
    for (at, backups) in backups.iter_mut().enumerate() {
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
            let free = (0..expected.nodes()).filter(|node| !used[*node]);
            if let Some(node) = best(expected, free, [before, relay, after], [here, next]) {
                used[node] = true;
                backups.push(Member {
                    node,
                    group,
                    path: None,
                });
            }
        }
    }
    backups
}

/// Which of the `free` nodes can best take the part of `relay`, which receives on channel `here` and sends on `next`.
fn best(
    expected: &Expected,
    free: impl Iterator<Item = usize>,
    [before, relay, after]: [usize; 3],
    [here, next]: [Channel; 2],
) -> Option<usize> {
    let delivery = |from: usize, to: usize, channel: Channel| {
        let reach = expected.link(from, to, channel);
        reach.map_or(0.0, |reach| reach.delivery)
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
    let worth = free.filter_map(|node| Some((worth(node)?, node)));
    let best = worth.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    best.map(|(_, node)| node)
}

/// How likely a transfer's probe finds that `hop` loses too many packets, by the survey: in the first probe, or in a longer one,
/// which follows where a few are lost.
pub(crate) fn degraded(expected: &Expected, hop: Hop) -> f64 {
    let (first, enough) = protocol_constants::FIRST_PROBE;
    let (bad, longer) = protocol_constants::BAD;
    expected.as_surveyed(hop, |delivery| {
        let at_first = fewer_than(enough, first, delivery);
        let later = fewer_than(longer - bad + 1, longer, delivery);
        let few = 1.0 - at_first - libm::pow(delivery, f64::from(first));
        at_first + few * later
    })
}
