//! What a lean plan has ready: nodes that can take a relay's part, and plans made again from what was seen of links.

use super::common::{building, rng};
use std::collections::BTreeSet;
use thalweg_planner::{
    plan, Backups, Evidence, Group, Hop, LastResort, LinkQualities, Plan, RouteRequest, Style,
};
use thalweg_units::Channel;

fn planned(source: usize, sink: usize) -> RouteRequest {
    RouteRequest {
        backups: Backups::Relays,
        ..RouteRequest::planned(source, sink)
    }
}

/// The hops of a group's chain.
fn chain(plan: &Plan, group: Group) -> Vec<Hop> {
    let relays = (1..plan.hops).flat_map(|stage| plan.relays(stage, group).next());
    let nodes = [plan.source].into_iter().chain(relays).chain([plan.sink]);
    let nodes: Vec<usize> = nodes.collect();
    let hops = nodes.windows(2).zip(1..);
    hops.map(|(pair, stage)| Hop {
        from: pair[0],
        to: pair[1],
        channel: plan.channel(stage, group).unwrap(),
    })
    .collect()
}

#[test]
fn the_sink_hears_its_groups_on_two_channels_where_last_hops_are_as_sure_on_both() {
    let links = building(139, 4);
    let mut separate = 0;
    for (source, sink) in [(3, 120), (17, 133), (40, 99), (8, 71), (5, 100), (61, 12)] {
        let made = plan(&links, &planned(source, sink), &mut rng(1)).unwrap();
        let last = [Group::Odd, Group::Even].map(|group| made.channel(made.hops, group).unwrap());
        assert_eq!(last[0], made.channels[made.hops]);
        assert_eq!(made.channel(made.hops + 1, Group::Even), None);
        let Some(even) = made.last_even else {
            assert_eq!(last[0], last[1]);
            continue;
        };
        separate += 1;
        assert_eq!(last[1], even);
        // Stages that send at the same time are on others.
        assert!(!made.channels[made.hops - 2..].contains(&even));
        for group in [Group::Odd, Group::Even] {
            let hop = chain(&made, group).pop().unwrap();
            let quality = links.quality(hop.from, hop.to, even).unwrap();
            assert!(quality.prr > 0.8, "{group:?} {quality:?}");
            // Their channels before it are the same.
            let before = (1..made.hops).map(|stage| made.channel(stage, group).unwrap());
            assert!(before.eq(made.channels[1..made.hops].iter().copied()));
        }
        // Without backups there is nobody who tells of it.
        let lean = RouteRequest::planned(source, sink);
        assert_eq!(plan(&links, &lean, &mut rng(1)).unwrap().last_even, None);
    }
    assert!(separate >= 2, "{separate}");
}

#[test]
fn backup_relays_hear_what_their_relay_hears_and_the_relay_and_are_heard() {
    let links = building(139, 4);
    let (mut relays, mut standing) = (0, 0);
    for (source, sink) in [(3, 120), (17, 133), (40, 99), (8, 71)] {
        let made = plan(&links, &planned(source, sink), &mut rng(1)).unwrap();
        relays += made.stages.iter().map(Vec::len).sum::<usize>();
        let mut used: BTreeSet<usize> = made.active_nodes().iter().map(|(n, _)| *n).collect();
        for (at, members) in made.backup_relays.iter().enumerate() {
            for member in members {
                assert!(used.insert(member.node), "in one place only");
                standing += 1;
                let only = |stage: usize| made.relays(stage, member.group).next();
                let before = if at == 0 { Some(source) } else { only(at) };
                let after = only(at + 2).unwrap_or(sink);
                let channel = |stage| made.channel(stage, member.group).unwrap();
                let (here, next) = (channel(at + 1), channel(at + 2));
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
fn a_new_plan_leaves_out_a_hop_that_was_seen_to_be_bad_and_keeps_good_ones() {
    let links = building(139, 4);
    for (source, sink) in [(3, 120), (17, 133), (40, 99), (8, 71)] {
        let made = plan(&links, &planned(source, sink), &mut rng(1)).unwrap();
        let chains = [Group::Odd, Group::Even].map(|group| chain(&made, group));
        for bad in 0..made.hops {
            let mut evidence = Evidence::default();
            for (at, hops) in chains.iter().enumerate() {
                for (stage, hop) in hops.iter().enumerate() {
                    let came = if (at, stage) == (0, bad) { 1 } else { 8 };
                    evidence.record_hop(*hop, came, 8);
                }
            }
            let again = made.replan(&evidence).unwrap();
            let hops = [Group::Odd, Group::Even]
                .map(|group| chain(&again, group))
                .concat();
            assert!(!hops.contains(&chains[0][bad]), "hop {bad}");
            let kept = chains
                .concat()
                .iter()
                .filter(|hop| hops.contains(hop))
                .count();
            assert!(2 * kept >= made.hops, "{kept} of {}", 2 * made.hops);
        }
    }
}

#[test]
fn a_chain_that_is_bad_somewhere_is_not_taken_again_nor_a_deaf_receiver() {
    let links = building(139, 4);
    let made = plan(&links, &planned(3, 120), &mut rng(1)).unwrap();
    let odd = chain(&made, Group::Odd);
    let mut evidence = Evidence::default();
    evidence.suspect(odd.clone());
    let again = made.replan(&evidence).unwrap();
    for group in [Group::Odd, Group::Even] {
        assert_ne!(chain(&again, group), odd);
    }
    let last = *made.channels.last().unwrap();
    evidence.record_deaf(made.sink, last);
    let again = made.replan(&evidence).unwrap();
    assert_ne!(again.channels.last(), Some(&last));
}

/// A hop that was good while other frames were on the air is suspected, too, once its chain is degraded.
#[test]
fn a_chain_that_was_good_before_it_was_bad_is_not_taken_again() {
    let links = building(139, 4);
    let made = plan(&links, &planned(3, 120), &mut rng(1)).unwrap();
    let odd = chain(&made, Group::Odd);
    let mut evidence = Evidence::default();
    odd.iter().for_each(|hop| evidence.record_hop(*hop, 8, 8));
    let is_kept = |evidence: &Evidence| {
        let again = made.replan(evidence).unwrap();
        [Group::Odd, Group::Even].map(|group| chain(&again, group) == odd)
    };
    assert!(is_kept(&evidence).contains(&true), "it was good");
    evidence.suspect(odd.clone());
    assert_eq!(is_kept(&evidence), [false; 2]);
}

#[test]
fn many_paths_are_the_last_resort_and_plans_without_backups_have_none() {
    let links = building(139, 4);
    let made = plan(&links, &planned(3, 120), &mut rng(1)).unwrap();
    let [paths] = &made.others[..] else {
        panic!("{:?}", made.others.len());
    };
    assert!(paths.path_count() > 2 && paths.backup_relays.is_empty());
    let plain = plan(&links, &RouteRequest::planned(3, 120), &mut rng(1)).unwrap();
    assert!(plain.others.is_empty() && plain.backup_relays.is_empty());
    assert!(plain.replan(&Evidence::default()).is_none());
}

/// Four rows of four nodes, each linked to its neighbours; of 20 frames so many arrive.
fn grid(received: u32) -> LinkQualities {
    let mut links = LinkQualities::new(16);
    let place = |node: usize| (node % 4, node / 4);
    for (a, b) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b))) {
        let ((x, y), (u, v)) = (place(a), place(b));
        if a != b && x.abs_diff(u) <= 1 && y.abs_diff(v) <= 1 {
            for channel in [15, 20, 25, 26].map(|c| Channel::new(c).unwrap()) {
                links.record(a, b, channel, received, 20, None).unwrap();
            }
        }
    }
    links
}

#[test]
fn where_chains_lose_much_rounds_repair_it_and_where_they_lose_more_hops_do() {
    for (received, losses, style) in [
        (20, false, Style::Chains),
        (17, true, Style::Chains),
        // Whichever is foreseen to be quicker.
        (9, false, Style::Hops),
    ] {
        let made = plan(&grid(received), &planned(15, 0), &mut rng(1)).unwrap();
        let found = (made.style, made.expects_losses());
        assert_eq!(found, (style, losses), "{received} of 20");
        let backups = made.backup_relays.iter().flatten().count();
        assert_eq!(backups > 0, received == 20, "{received} of 20");
    }
    let sealed = RouteRequest {
        last_resort: LastResort::Hops,
        ..planned(15, 0)
    };
    for (received, style) in [(17, Style::Chains), (8, Style::Hops)] {
        let made = plan(&grid(received), &sealed, &mut rng(1)).unwrap();
        assert_eq!(made.style, style, "{received} of 20");
    }
}
