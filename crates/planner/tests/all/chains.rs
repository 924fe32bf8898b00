//! Plans of lean chains: their promises on made-up buildings, and what they do where links are thin.

use super::common::{building, rng};
use std::collections::BTreeSet;
use thalweg_planner::{
    plan, suggest_pairs, Feed, Floors, Group, LinkQualities, PairOrder, PairRequest, Plan,
    RouteRequest, Style, Warning,
};
use thalweg_units::{Channel, Dbm};

fn channel(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

fn pairs(links: &LinkQualities, count: usize, seed: u64) -> Vec<(usize, usize)> {
    let request = PairRequest {
        order: PairOrder::Random,
        floors: Floors::Different,
        ..PairRequest::new(count)
    };
    let pairs = suggest_pairs(links, &request, &mut rng(seed));
    pairs.iter().map(|pair| (pair.source, pair.sink)).collect()
}

/// Whether no node is in two places and nearby stages differ in channel.
fn check(plan: &Plan) {
    let nodes: Vec<usize> = plan.active_nodes().iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), nodes.len());
    assert_eq!(plan.channels.len(), plan.hops + 1);
    assert_eq!(plan.stages.len(), plan.hops - 1);
    for (at, channel) in plan.channels.iter().enumerate() {
        let near = plan.channels[at + 1..].iter().take(3).enumerate();
        // The source's NACKs and the sink's data may share a channel, since they never meet.
        let ends = |after: usize| at == 0 && at + 1 + after == plan.hops;
        assert!(!near
            .into_iter()
            .any(|(after, c)| c == channel && !ends(after)));
    }
    for stage in 1..plan.hops {
        for group in Group::BOTH {
            assert!((1..=3).contains(&plan.relays(stage, group).count()));
        }
    }
    for (path, group) in plan.paths.iter().zip(Group::BOTH) {
        assert_eq!((path[0], path[plan.hops]), (plan.source, plan.sink));
        for (stage, own) in path.iter().enumerate().skip(1).take(plan.hops - 1) {
            assert!(plan.relays(stage, group).any(|node| node == *own));
        }
    }
    assert_eq!(plan.feed, Feed::EveryCycle);
}

#[test]
fn chains_are_lean_disjoint_and_sure() {
    let links = building(139, 4);
    for (source, sink) in pairs(&links, 8, 4) {
        let lean = plan(&links, &RouteRequest::planned(source, sink), &mut rng(1)).unwrap();
        check(&lean);
        assert!(lean.prediction.first_round > 0.99, "{:?}", lean.prediction);
        let faithful = plan(&links, &RouteRequest::new(source, sink), &mut rng(1)).unwrap();
        assert!(lean.prediction.goodput_kbps > faithful.prediction.goodput_kbps);
        assert!(lean.active_nodes().len() < faithful.active_nodes().len());
        assert!(lean.prediction.energy_j < faithful.prediction.energy_j);
        let again = plan(&links, &RouteRequest::planned(source, sink), &mut rng(1)).unwrap();
        assert_eq!(lean, again);
    }
}

#[test]
fn one_path_is_one_chain_in_alternate_cycles() {
    let links = building(139, 4);
    for (source, sink) in pairs(&links, 4, 5) {
        let limited = |most| RouteRequest {
            max_paths: Some(most),
            ..RouteRequest::planned(source, sink)
        };
        let one = plan(&links, &limited(1), &mut rng(1)).unwrap();
        assert_eq!(
            (one.path_count(), one.active_nodes().len()),
            (1, one.hops + 1)
        );
        assert!(one.hops > 1 && one.feed == Feed::AlternateCycles);
        assert_eq!(one.warnings, [Warning::OneGroup]);
        assert_eq!(one.paths[0], one.pip.path);
        assert!(one.prediction.first_round > 0.98, "{:?}", one.prediction);
        let whole = plan(&links, &RouteRequest::planned(source, sink), &mut rng(1)).unwrap();
        assert!(one.prediction.goodput_kbps < 0.6 * whole.prediction.goodput_kbps);
        for most in [2, 6] {
            let plan = plan(&links, &limited(most), &mut rng(1)).unwrap();
            assert_eq!(plan, whole, "two chains are all there are");
        }
    }
}

#[test]
fn a_route_measured_on_one_channel_falls_back_on_paths() {
    let all = building(100, 7);
    let mut links = LinkQualities::new(all.nodes());
    for from in 0..all.nodes() {
        for (to, q) in all.heard_from(from, Channel::LAST) {
            links
                .record_prr(from, to, Channel::LAST, q.prr, q.rssi)
                .unwrap();
        }
    }
    links.set_places(all.places().unwrap().to_vec()).unwrap();
    let (source, sink) = pairs(&links, 1, 7)[0];
    let request = RouteRequest::planned(source, sink);
    let made = plan(&links, &request, &mut rng(1)).unwrap();
    assert!(made.paths.len() > 2);
    assert!(made.warnings.contains(&Warning::NoChoiceOfChannels));
}

/// Two rows of relays between 0 and `2 * row + 1`, `rssi(row, stage)` strong.
fn rows(row: usize, rssi: impl Fn(usize, usize) -> f64) -> LinkQualities {
    let sink = 2 * row + 1;
    let mut links = LinkQualities::new(2 * row + 4);
    let mut both = |a: usize, b: usize, rssi: f64| {
        for channel in [15, 20, 25, 26].map(channel) {
            for (from, to) in [(a, b), (b, a)] {
                let rssi = Some(Dbm(rssi));
                links.record(from, to, channel, 10, 10, rssi).unwrap();
            }
        }
    };
    for at in 0..2 {
        let node = |stage: usize| match stage {
            0 => 0,
            stage if stage > row => sink,
            stage => at * row + stage,
        };
        for stage in 1..=row + 1 {
            both(node(stage - 1), node(stage), rssi(at, stage));
        }
    }
    // Two nodes beside the first relays, hard to reach but loud at the second ones.
    for (node, at) in [(sink + 1, 0), (sink + 2, 1)] {
        both(0, node, -92.5);
        both(node, at * row + 2, -62.0);
    }
    links
}

fn relays_at(plan: &Plan, stage: usize) -> usize {
    plan.stages[stage - 1].len()
}

#[test]
fn alternate_relays_come_only_where_a_link_is_thin() {
    let strong = rows(3, |_, _| -80.0);
    let made = plan(&strong, &RouteRequest::planned(0, 7), &mut rng(1)).unwrap();
    check(&made);
    assert_eq!((made.hops, made.active_nodes().len()), (4, 8));
    // The first hop of each row is at the edge, so that a second receiver helps.
    let thin = rows(3, |_, stage| if stage == 1 { -92.5 } else { -80.0 });
    let made = plan(&thin, &RouteRequest::planned(0, 7), &mut rng(1)).unwrap();
    check(&made);
    assert_eq!(relays_at(&made, 2), 2);
    assert!(relays_at(&made, 1) > 2, "{:?}", made.stages);
    assert!(made.stages[0].iter().any(|m| m.path.is_none()));
    assert!(made.prediction.first_round > 0.97);
}

#[test]
fn neighbours_need_no_relays_and_lengths_can_be_asked_for() {
    let links = rows(1, |_, _| -80.0);
    let made = plan(&links, &RouteRequest::planned(0, 1), &mut rng(1)).unwrap();
    assert_eq!((made.hops, made.stages.len(), made.paths.len()), (1, 0, 1));
    let links = building(139, 9);
    let (source, sink) = pairs(&links, 1, 9)[0];
    for hops in [4, 5, 7] {
        let request = RouteRequest {
            hops: Some(hops),
            style: Style::Chains,
            ..RouteRequest::new(source, sink)
        };
        let made = plan(&links, &request, &mut rng(1)).unwrap();
        assert_eq!(made.hops, hops);
        check(&made);
    }
}

#[test]
fn of_many_channels_the_best_are_given_out() {
    let links = building(80, 4);
    let (source, sink) = pairs(&links, 1, 4)[0];
    let request = RouteRequest {
        channels: Channel::all().collect(),
        ..RouteRequest::planned(source, sink)
    };
    // Every order of sixteen channels over eight hops would be ten thousand millions.
    for hops in [3, 8] {
        let hops = Some(hops);
        let request = RouteRequest {
            hops,
            ..request.clone()
        };
        let made = plan(&links, &request, &mut rng(1)).unwrap();
        check(&made);
        let used: BTreeSet<u8> = made.channels.iter().map(|c| c.number()).collect();
        assert!((3..=5).contains(&used.len()), "{used:?}");
    }
}
