//! What a lean plan has ready for what it could not know: a node that stands by beside each relay.
//!
//! Who stands by must hear the stage before on the relay's own channel, reach the stage after, and hear the relay there: it
//! takes part when the relay is not heard to send on what it has heard itself. Tests: below and tests/reserves.rs.

use crate::assess::interference;
use crate::channels::Tuned;
use crate::expect::Expected;
use crate::groups::{Group, Member};
use crate::links::Hop;
use crate::looks::{self, Looked};
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

/// How likely `hop` is found to be lame, as far as the survey tells, in whatever chain.
pub(crate) fn lame(expected: &Expected, hop: Hop) -> f64 {
    expected.as_surveyed(hop, |delivery| Looked::at(delivery, looks::Chain::ANY).lame)
}

/// What looks come to over a plan's `groups`, from source to sink, where no burst is. Links become weaker apart from each
/// other, and one that is too weak makes its group lame, unless somebody stands by at its end.
pub(crate) fn looked(
    expected: &Expected,
    groups: &[Vec<Vec<usize>>],
    looks: &[looks::Chain],
    standing: &[Vec<Member>],
    channels: Tuned<'_>,
) -> Looked {
    type Made = fn(f64, looks::Chain) -> Looked;
    let over = |(number, stage): (usize, usize), from: usize, to: usize, made: Made| {
        let channel = channels.of(number, stage)?;
        let around = interference(expected, groups, channels, (number, stage), to);
        let hop = Hop { from, to, channel };
        let look = *looks.get(number)?;
        let mean =
            |of: fn(Looked) -> f64| expected.over_changes(hop, around, |d| of(made(d, look)));
        Some(Looked {
            again: mean(|looked| looked.again),
            lame: mean(|looked| looked.lame),
        })
    };
    let (mut sure, mut sound) = (1.0, 1.0);
    for (number, (group, name)) in groups.iter().zip(Group::BOTH).enumerate() {
        for (pair, stage) in group.windows(2).zip(1..) {
            let ([from], [to]) = (pair[0].as_slice(), pair[1].as_slice()) else {
                continue;
            };
            let (from, to) = (*from, *to);
            let place = (number, stage);
            let here = standing.get(stage - 1).into_iter().flatten();
            let beside = here.filter(|member| member.group == name).map(|m| m.node);
            // Who stands by helps where both of its own links are sound.
            let helps = beside.fold(0.0, |helps: f64, node| {
                let after = group.get(stage + 1).and_then(|nodes| nodes.first());
                let links = [
                    over(place, from, node, Looked::at),
                    after.and_then(|&to| over((number, stage + 1), node, to, Looked::at)),
                ];
                let sound = links
                    .into_iter()
                    .map(|of| 1.0 - of.map_or(1.0, |of| of.lame));
                helps.max(sound.product())
            });
            let [alone, stood_by] =
                [Looked::at, Looked::stood_by].map(|of| over(place, from, to, of));
            if let (Some(alone), Some(stood_by)) = (alone, stood_by) {
                let mean = |alone: f64, stood_by: f64| (1.0 - helps) * alone + helps * stood_by;
                sure *= 1.0 - mean(alone.again, stood_by.again);
                sound *= 1.0 - mean(alone.lame, stood_by.lame);
            }
        }
    }
    Looked {
        again: 1.0 - sure,
        lame: 1.0 - sound,
    }
}

/// Of the spare relays, how many miss the word after the look that they are not wanted: it goes back over the chain of their
/// group (`chains`, from source to sink), and each hears it from the chain's next stage, which nothing else asks of a link.
pub(crate) fn untold(
    expected: &Expected,
    chains: &[Vec<usize>],
    spares: &[Vec<Member>],
    channels: Tuned<'_>,
) -> f64 {
    let mut untold = 0.0;
    for (number, (chain, group)) in chains.iter().zip(Group::BOTH).enumerate() {
        let mut comes = 1.0;
        for (stage, pair) in chain.windows(2).enumerate().skip(1).rev() {
            let Some(channel) = channels.of(number, stage) else {
                continue;
            };
            let hears = |to: usize| comes * expected.together(&[pair[1]], to, channel, 0.0);
            let here = spares.get(stage - 1).into_iter().flatten();
            let here = here.filter(|spare| spare.group == group);
            untold += here.map(|spare| 1.0 - hears(spare.node)).sum::<f64>();
            comes = hears(pair[0]);
        }
    }
    untold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ageing::Ageing;
    use crate::expect::LinkModel;
    use crate::links::LinkQualities;
    use thalweg_units::{ChannelSet, Dbm, Duration};

    const FLOOR: f64 = -95.5;

    /// Of a chain 0, 1, 2, 3 of strong links, but for a first hop with a margin of 9 dB: how likely it is found lame half a day
    /// after its survey, where `beside` stand by at the first stage, and `loud` is what node 2 sends on the channel beside.
    fn lame(beside: &[usize], loud: Option<f64>) -> f64 {
        let channels: Vec<Channel> = [11, 15, 20, 16]
            .into_iter()
            .flat_map(Channel::new)
            .collect();
        let mut links = LinkQualities::new(5);
        let mut link = |from, to, stage: usize, over: f64| {
            let rssi = Some(Dbm(FLOOR + over));
            let added = links.record(from, to, channels[stage], 10, 10, rssi);
            assert!(added.is_ok());
        };
        for (from, to, stage, over) in [
            (0, 1, 1, 9.0),
            (1, 2, 2, 40.0),
            (2, 3, 3, 40.0),
            (0, 4, 1, 40.0),
            (4, 2, 2, 40.0),
        ] {
            link(from, to, stage, over);
        }
        loud.into_iter().for_each(|over| link(2, 1, 3, over));
        let age = Duration::from_secs(43_200);
        let model = LinkModel {
            floor: Dbm(FLOOR),
            ageing: Ageing::since(age, Duration::ZERO, [].into_iter()),
            ..LinkModel::UNKNOWN
        };
        let expected = Expected::new(&links, ChannelSet::ALL, &model);
        let chain: Vec<Vec<usize>> = (0..4).map(|node| vec![node]).collect();
        let stand = |node: &usize| Member {
            node: *node,
            group: Group::Odd,
            path: None,
        };
        let standing = [beside.iter().map(stand).collect(), Vec::new()];
        let looks = [looks::Chain::ANY];
        looked(&expected, &[chain], &looks, &standing, channels[..].into()).lame
    }

    #[test]
    fn who_stands_by_saves_a_chain_whose_hop_became_weak() {
        let alone = lame(&[], None);
        assert!((0.005..0.1).contains(&alone), "{alone}");
        let saved = lame(&[4], None) / alone;
        assert!((0.1..0.8).contains(&saved), "{saved}");
    }

    #[test]
    fn a_hop_that_others_disturb_has_less_to_spare() {
        // 46 dB less arrive of what is sent one channel above.
        let [quiet, loud] = [25.0, 50.0].map(|over| lame(&[], Some(over)));
        assert!(quiet < 1.1 * lame(&[], None), "{quiet}");
        assert!(loud > 1.5 * quiet, "{loud} {quiet}");
    }

    #[test]
    fn a_word_is_missed_where_the_way_back_or_the_last_link_loses_it() {
        // Source 0, relays 1 and 2, sink 3; spares 4 and 5 beside the relays.
        let channels: Vec<Channel> = (11..15).flat_map(Channel::new).collect();
        let mut links = LinkQualities::new(6);
        let mut back = |from, to, stage: usize, ratio| {
            let added = links.record_prr(from, to, channels[stage], ratio, None);
            assert!(added.is_ok());
        };
        back(3, 2, 2, 0.9);
        back(3, 5, 2, 0.8);
        back(2, 4, 1, 0.5);
        let expected = Expected::new(&links, ChannelSet::ALL, &LinkModel::UNKNOWN);
        let spare = |node| {
            let group = Group::Odd;
            vec![Member {
                node,
                group,
                path: None,
            }]
        };
        let untold = |spares: &[Vec<Member>]| {
            untold(&expected, &[vec![0, 1, 2, 3]], spares, channels[..].into())
        };
        let missed = untold(&[spare(4), spare(5)]);
        assert!(
            (missed - (0.2 + (1.0 - 0.9 * 0.5))).abs() < 1e-9,
            "{missed}"
        );
        assert_eq!(untold(&[Vec::new(), Vec::new()]), 0.0);
    }
}
