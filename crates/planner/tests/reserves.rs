//! What a lean plan has ready: nodes that can take a relay's part, and plans that share no reception.
#![allow(clippy::unwrap_used)] // helpers of tests fail by panicking

mod common;

use common::{building, rng};
use std::collections::BTreeSet;
use thalweg_planner::{plan, Plan, Reserves, RouteRequest};

fn planned(source: usize, sink: usize) -> RouteRequest {
    RouteRequest {
        reserves: Reserves::Standing { others: 2 },
        ..RouteRequest::planned(source, sink)
    }
}

/// Every node of `plan` that receives, with its channel.
fn receptions(plan: &Plan) -> BTreeSet<(usize, u8)> {
    let nodes = plan.active_nodes().into_iter();
    nodes
        .map(|(node, stage)| (node, plan.channels[stage].number()))
        .collect()
}

#[test]
fn who_stands_by_hears_what_its_relay_hears_and_the_relay_and_is_heard() {
    let links = building(139, 4);
    let (mut relays, mut standing) = (0, 0);
    for (source, sink) in [(3, 120), (17, 133), (40, 99), (8, 71)] {
        let made = plan(&links, &planned(source, sink), &mut rng(1)).unwrap();
        relays += made.stages.iter().map(Vec::len).sum::<usize>();
        let mut used: BTreeSet<usize> = made.active_nodes().iter().map(|(n, _)| *n).collect();
        for (at, members) in made.standing_by.iter().enumerate() {
            for member in members {
                assert!(used.insert(member.node), "in one place only");
                standing += 1;
                let only = |stage: usize| made.relays(stage, member.group).next();
                let before = if at == 0 { Some(source) } else { only(at) };
                let after = only(at + 2).unwrap_or(sink);
                let (here, next) = (made.channels[at + 1], made.channels[at + 2]);
                let (before, relay) = (before.unwrap(), only(at + 1).unwrap());
                for (from, to, channel) in [
                    (before, member.node, here),
                    (member.node, after, next),
                    (relay, member.node, next),
                ] {
                    let quality = links.quality(from, to, channel).unwrap();
                    assert!(quality.prr > 0.8, "{quality:?}");
                }
            }
        }
    }
    assert!(standing * 4 >= relays * 3, "{standing} beside {relays}");
}

#[test]
fn other_plans_share_no_reception_but_the_first_which_goes_over_many_paths() {
    let links = building(139, 4);
    let made = plan(&links, &planned(3, 120), &mut rng(1)).unwrap();
    let (paths, lean) = made.others.split_first().unwrap();
    assert_eq!(lean.len(), 2);
    let mut seen = receptions(&made);
    // The source receives NACKs alone.
    for other in lean {
        for reception in receptions(other) {
            assert!(seen.insert(reception), "{reception:?} again");
        }
    }
    assert!(paths.path_count() > 2 && paths.standing_by.is_empty());
    let plain = plan(&links, &RouteRequest::planned(3, 120), &mut rng(1)).unwrap();
    assert!(plain.others.is_empty() && plain.standing_by.is_empty());
}
