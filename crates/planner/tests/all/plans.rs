//! Plans on made-up buildings: their promises, their predictions, their errors.

use super::common::{building, rng};
use std::collections::BTreeSet;
use thalweg_planner::closed_forms::{p3_pass_cycles, pip_pass_cycles};
use thalweg_planner::{
    plan, suggest_pairs, Assignment, Feed, Floors, Group, Grouping, LinkModel, LinkQualities,
    LinkRule, PairOrder, PairRequest, PathFault, PathSearch, Plan, PlanError, RelayOrder,
    RouteRequest, Topology, Warning,
};
use thalweg_units::{BitRate, Channel, Db, Dbm};

/// The small buildings of these tests have enough paths with 4 dB of margin, not with 6.
fn four() -> LinkRule {
    LinkRule::default().with_margin(Some(Db(4.0)))
}

fn routes(links: &LinkQualities, count: usize, seed: u64) -> Vec<RouteRequest> {
    let mut request = PairRequest::new(count);
    request.order = PairOrder::Random;
    request.floors = Floors::Different;
    request.route.rule = four();
    let pairs = suggest_pairs(links, &request, &mut rng(seed));
    pairs
        .iter()
        .map(|pair| RouteRequest {
            rule: four(),
            fallback: four().weaker(),
            ..RouteRequest::new(pair.source, pair.sink)
        })
        .collect()
}

fn check(links: &LinkQualities, plan: &Plan) {
    let graph = Topology::new(links, plan.routing_channel, &plan.rule_used);
    for path in &plan.paths {
        assert_eq!(path.len(), plan.hops + 1);
        assert_eq!((path[0], path[plan.hops]), (plan.source, plan.sink));
        assert!(path.windows(2).all(|hop| graph.linked(hop[0], hop[1])));
    }
    assert!(plan.paths.len() <= plan.path_bound);
    let nodes: Vec<usize> = plan.active_nodes().iter().map(|&(node, _)| node).collect();
    let distinct: BTreeSet<usize> = nodes.iter().copied().collect();
    assert_eq!(nodes.len(), distinct.len(), "a node on two stages");
    assert_eq!(nodes.len(), plan.prediction.active_nodes);
    assert_eq!(plan.channels.len(), plan.hops + 1);
    assert_eq!(plan.stages.len(), plan.hops - 1);
    for (at, channel) in plan.channels.iter().enumerate() {
        assert!(!plan.channels[at + 1..].iter().take(3).any(|c| c == channel));
    }
    assert!(plan.paths.contains(&plan.pip.path));
}

#[test]
fn plans_keep_their_promises() {
    for seed in 0..3 {
        let links = building(120, seed);
        for request in routes(&links, 4, seed) {
            for search in [PathSearch::DepthFirst, PathSearch::Layered] {
                for grouping in [Grouping::Random, Grouping::Balanced] {
                    let request = RouteRequest {
                        search,
                        grouping,
                        ..request.clone()
                    };
                    let made = plan(&links, &request, &mut rng(seed)).unwrap();
                    check(&links, &made);
                    assert!(made.paths.len() >= 6);
                    assert_eq!(made.feed, Feed::EveryCycle);
                    for stage in 1..made.hops {
                        let odd = made.relays(stage, Group::Odd).count();
                        let even = made.relays(stage, Group::Even).count();
                        assert!(odd.abs_diff(even) <= 1, "stage {stage}: {odd} and {even}");
                    }
                    assert_eq!(plan(&links, &request, &mut rng(seed)).unwrap(), made);
                }
            }
            let mut improved = RouteRequest::improved(request.source, request.sink);
            improved.choose_from = (12..=26).step_by(2).flat_map(Channel::new).collect();
            let made = plan(&links, &improved, &mut rng(seed)).unwrap();
            check(&links, &made);
            assert!(made.channels.iter().all(|c| c.number() % 2 == 0));
        }
    }
}

#[test]
fn better_groups_and_channels_are_predicted_better() {
    let links = building(120, 7);
    let (mut random, mut balanced, mut best) = (0.0, 0.0, 0.0);
    let routes = routes(&links, 8, 7);
    for request in &routes {
        let r1 = |request: &RouteRequest| {
            plan(&links, request, &mut rng(1))
                .unwrap()
                .prediction
                .first_round
        };
        let grouped = RouteRequest {
            grouping: Grouping::Balanced,
            ..request.clone()
        };
        let chosen = RouteRequest {
            assignment: Assignment::Best,
            ..grouped.clone()
        };
        let (a, b, c) = (r1(request), r1(&grouped), r1(&chosen));
        // Worth is not quite R1 (it cares for the worse half more), so a hair below is fair.
        assert!(b >= a - 0.03, "balanced {b}, random {a}");
        random += a / routes.len() as f64;
        balanced += b / routes.len() as f64;
        best += c / routes.len() as f64;
    }
    assert!(
        balanced > random && best > balanced,
        "{random} {balanced} {best}"
    );
}

#[test]
fn prediction_grows_with_every_prr() {
    let links = building(80, 4);
    let request = &routes(&links, 1, 4)[0];
    let made = plan(&links, request, &mut rng(3)).unwrap();
    // The same plan on links that are a little better or worse, all else the same.
    let at = |factor: f64| {
        let mut table = LinkQualities::new(links.nodes());
        for from in 0..links.nodes() {
            for channel in Channel::all() {
                for (to, quality) in links.heard_from(from, channel) {
                    let prr = if channel == made.routing_channel && factor < 1.0 {
                        // The routes stay the same.
                        quality.prr
                    } else {
                        quality.prr * factor
                    };
                    table
                        .record_prr(from, to, channel, prr, quality.rssi)
                        .unwrap();
                }
            }
        }
        table.set_places(links.places().unwrap().to_vec()).unwrap();
        plan(&table, request, &mut rng(3)).unwrap()
    };
    let full = at(1.0);
    let mut before = full.prediction.clone();
    let mut pip_before = full.pip.prediction.clone();
    for factor in [0.9, 0.7, 0.4, 0.1] {
        let now = at(factor);
        assert_eq!(
            (&now.paths, &now.stages, &now.pip.path),
            (&full.paths, &full.stages, &full.pip.path)
        );
        for (a, b) in [
            (&now.prediction, &before),
            (&now.pip.prediction, &pip_before),
        ] {
            assert!(a.first_round <= b.first_round && a.goodput_kbps <= b.goodput_kbps);
            assert!(a.exchange <= b.exchange);
        }
        (before, pip_before) = (now.prediction, now.pip.prediction);
    }
    assert!(before.goodput_kbps < full.prediction.goodput_kbps);
}

/// A source, `width` relays per stage, a sink; all linked stage to stage at PRR 1 on every channel,
/// every sender 10 dB apart from the next at each receiver.
fn ladder(width: usize, hops: usize) -> LinkQualities {
    let nodes = 2 + width * (hops - 1);
    let stage = |node: usize| match node {
        0 => 0,
        last if last == nodes - 1 => hops,
        relay => 1 + (relay - 1) / width,
    };
    let mut links = LinkQualities::new(nodes);
    for a in 0..nodes {
        for b in 0..nodes {
            if stage(a).abs_diff(stage(b)) == 1 {
                for channel in Channel::all() {
                    let rssi = Some(Dbm(-40.0 - 10.0 * ((a + width) % width.max(1)) as f64));
                    links.record_prr(a, b, channel, 1.0, rssi).unwrap();
                }
            }
        }
    }
    links
}

#[test]
fn a_perfect_network_reaches_the_closed_forms() {
    let links = ladder(6, 4);
    let request = RouteRequest {
        rule: LinkRule {
            min_prr: 0.9,
            margin: None,
            ..LinkRule::default()
        },
        // Nothing varies, so ten decibels are enough to capture.
        model: LinkModel {
            packet: Db(0.0),
            unknown: Db(0.0),
            ..LinkModel::UNKNOWN
        },
        ..RouteRequest::new(0, 19)
    };
    let made = plan(&links, &request, &mut rng(1)).unwrap();
    assert_eq!((made.hops, made.paths.len(), made.path_bound), (4, 6, 6));
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let transfer = request.transfer;
    // Loss-free: wake-up, then one pass of 500 packets over four hops.
    let goodput = |cycles| {
        let time = transfer.wake_up + transfer.cycle.period() * cycles;
        BitRate::of_bytes(500 * transfer.cycle.payload_bytes as u64, time).kbps()
    };
    let bound = goodput(p3_pass_cycles(500, 4));
    let predicted = made.prediction.goodput_kbps;
    assert!(
        predicted <= bound + 1e-6 && predicted > bound * 0.97,
        "{predicted} of {bound}"
    );
    let pip_bound = goodput(pip_pass_cycles(500, 4));
    assert!((made.pip.prediction.goodput_kbps - pip_bound).abs() < 1e-6);
    assert_eq!(made.pip.prediction.rounds, Some(1.0));
    // With twice the goodput and five times the nodes, energy is within a factor.
    let (p3, pip) = (
        made.prediction.energy_j.unwrap(),
        made.pip.prediction.energy_j.unwrap(),
    );
    assert!(p3 > pip && p3 < 3.0 * pip);
}

#[test]
fn one_path_is_fed_in_every_other_cycle() {
    let links = ladder(1, 3);
    let made = plan(&links, &RouteRequest::new(0, 3), &mut rng(1)).unwrap();
    assert_eq!(made.paths, [vec![0, 1, 2, 3]]);
    assert_eq!(made.feed, Feed::AlternateCycles);
    assert!(made.warnings.contains(&Warning::OneGroup));
    assert!(made.warnings.contains(&Warning::FewPaths {
        found: 1,
        wanted: 6
    }));
    assert!(made.prediction.goodput_kbps >= made.pip.prediction.goodput_kbps - 1e-9);
    // Neighbours need no relay, and then every cycle carries a packet.
    let near = RouteRequest {
        min_paths: 1,
        ..RouteRequest::new(0, 1)
    };
    let near = plan(&links, &near, &mut rng(1)).unwrap();
    assert_eq!(
        (near.hops, near.stages.len(), near.feed),
        (1, 0, Feed::EveryCycle)
    );
    assert!(near.prediction.goodput_kbps > 190.0);
    assert!(near.pip.prediction.goodput_kbps > 190.0);
}

#[test]
fn overrides_hold() {
    let links = building(120, 5);
    let request = routes(&links, 1, 5).remove(0);
    let free = plan(&links, &request, &mut rng(5)).unwrap();
    let longer = RouteRequest {
        hops: Some(free.hops + 1),
        ..request.clone()
    };
    assert_eq!(
        plan(&links, &longer, &mut rng(5)).unwrap().hops,
        free.hops + 1
    );
    let fewer = RouteRequest {
        max_paths: Some(3),
        ..request.clone()
    };
    let fewer = plan(&links, &fewer, &mut rng(5)).unwrap();
    assert_eq!(fewer.paths.len(), 3);
    assert!(fewer.paths.iter().all(|path| free.paths.contains(path)));
    let shorter = RouteRequest {
        hops: Some(free.shortest - 1),
        fallback: vec![],
        ..request
    };
    assert!(matches!(
        plan(&links, &shorter, &mut rng(5)),
        Err(PlanError::NoPath { .. })
    ));
}

#[test]
fn a_weaker_rule_is_used_and_reported() {
    // All links are one dB above the floor: none has the margin.
    let mut links = LinkQualities::new(4);
    for (a, b) in [(0, 1), (1, 2), (2, 3)] {
        for (from, to) in [(a, b), (b, a)] {
            links
                .record(from, to, Channel::LAST, 19, 20, Some(Dbm(-94.5)))
                .unwrap();
        }
    }
    let request = RouteRequest {
        min_paths: 1,
        ..RouteRequest::new(0, 3)
    };
    let made = plan(&links, &request, &mut rng(1)).unwrap();
    assert_eq!(
        made.rule_used,
        LinkRule {
            margin: None,
            ..LinkRule::default()
        }
    );
    assert!(made.warnings.contains(&Warning::WeakerRule));
    assert!(made
        .warnings
        .contains(&Warning::UnmeasuredChannel { channel: 20 }));
    let strict = RouteRequest {
        fallback: vec![],
        ..request
    };
    let error = plan(&links, &strict, &mut rng(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no route from node 0 to node 3 on channel 26: node 0 reaches no other node, \
         with PRR >= 0.9 both ways, RSSI >= -89.5 dBm where known"
    );
}

#[test]
fn requests_that_will_not_do() {
    let links = ladder(6, 4);
    let fail = |change: &dyn Fn(&mut RouteRequest)| {
        let mut request = RouteRequest::new(0, 19);
        request.rule.margin = None;
        change(&mut request);
        plan(&links, &request, &mut rng(1)).unwrap_err().to_string()
    };
    assert_eq!(
        fail(&|r| r.sink = 20),
        "node 20 is not one of the 20 nodes (0 to 19)"
    );
    assert_eq!(
        fail(&|r| r.sink = 0),
        "node 0 is both source and sink; a route needs two nodes"
    );
    assert_eq!(
        fail(&|r| r.channels.push(Channel::LAST)),
        "channel 26 is listed twice"
    );
    assert_eq!(
        fail(&|r| r.channels.truncate(2)),
        "2 channel(s) given; a route of 4 hops needs 3 different ones"
    );
    assert_eq!(
        fail(&|r| r.hops = Some(3)),
        "no path of exactly 3 hops from node 0 to node 19: the shortest has 4"
    );
    let empty = LinkQualities::new(3);
    assert_eq!(
        plan(&empty, &RouteRequest::new(0, 1), &mut rng(1))
            .unwrap_err()
            .to_string(),
        "no link was measured on any channel"
    );
}

#[test]
#[ignore = "a survey, not a test: prints how the searches compare on random buildings"]
fn survey_of_searches() {
    for order in [
        RelayOrder::NearestLine,
        RelayOrder::BestLink,
        RelayOrder::Random,
    ] {
        let (mut dfs, mut layered, mut bound, mut better, mut longer, mut tight, mut n) =
            (0, 0, 0, 0, 0, 0, 0);
        for seed in 100..112 {
            let links = building(139, seed);
            for request in routes(&links, 20, seed) {
                let made = |search| {
                    let request = RouteRequest {
                        search,
                        order,
                        ..request.clone()
                    };
                    plan(&links, &request, &mut rng(seed)).unwrap()
                };
                let (a, b) = (made(PathSearch::DepthFirst), made(PathSearch::Layered));
                let same = RouteRequest {
                    search: PathSearch::Layered,
                    order,
                    hops: Some(a.hops),
                    ..request.clone()
                };
                let at_same = plan(&links, &same, &mut rng(seed)).unwrap();
                n += 1;
                dfs += a.paths.len();
                layered += at_same.paths.len();
                bound += at_same.path_bound;
                better += usize::from(at_same.paths.len() > a.paths.len());
                longer += usize::from(a.hops > b.hops);
                tight += usize::from(at_same.paths.len() == at_same.path_bound);
            }
        }
        let mean = |total: usize| total as f64 / f64::from(n);
        println!(
            "{order:?}: {n} routes; M at the depth-first H: dfs {:.2}, layered {:.2}, bound {:.2}; layered more on {:.0} %, at bound {:.0} %; shorter H on {:.0} %",
            mean(dfs), mean(layered), mean(bound), 100.0 * mean(better), 100.0 * mean(tight), 100.0 * mean(longer)
        );
    }
}

/// The paths that a search found, given back, make the plan that the search made.
#[test]
fn paths_that_are_given_are_planned_as_those_that_are_found() {
    let links = building(120, 1);
    let request = &routes(&links, 1, 1)[0];
    let found = plan(&links, request, &mut rng(7)).unwrap();
    let few = matches!(found.warnings[..], [] | [Warning::FewPaths { .. }]);
    assert!(few && found.hops > 1, "{:?}", found.warnings);
    let given = Plan::of_paths(&links, request, &found.paths, &mut rng(7)).unwrap();
    check(&links, &given);
    assert_eq!(
        (&given.paths, &given.channels),
        (&found.paths, &found.channels)
    );
    assert_eq!(given.shortest, found.shortest);
    assert_eq!(given.prediction.active_nodes, found.prediction.active_nodes);
}

#[test]
fn paths_that_cannot_be_are_told_and_silent_hops_are_warned_of() {
    let links = building(60, 1);
    let request = RouteRequest::new(0, 1);
    let planned = |paths: &[&[usize]]| {
        let paths: Vec<Vec<usize>> = paths.iter().map(|path| path.to_vec()).collect();
        Plan::of_paths(&links, &request, &paths, &mut rng(1))
    };
    let wrong = |path, why| Err(PlanError::Path { path, why });
    assert_eq!(planned(&[]), wrong(1, PathFault::TooShort));
    assert_eq!(planned(&[&[3]]), wrong(1, PathFault::TooShort));
    let first = [3, 4, 5];
    assert_eq!(
        planned(&[&first, &[3, 6, 7]]),
        wrong(2, PathFault::OtherEnds)
    );
    assert_eq!(
        planned(&[&first, &[3, 5]]),
        wrong(2, PathFault::OtherLength(2))
    );
    assert_eq!(planned(&[&first, &first]), wrong(2, PathFault::Shared(4)));
    assert_eq!(planned(&[&[3, 4, 4, 5]]), wrong(1, PathFault::Shared(4)));
    let unknown = PlanError::UnknownNode {
        node: 60,
        nodes: 60,
    };
    assert_eq!(planned(&[&[3, 60, 5]]), Err(unknown));
    assert_eq!(
        planned(&[&[3, 3]]),
        Err(PlanError::SourceIsSink { node: 3 })
    );
    let silent = |from, to| Channel::all().all(|on| links.prr(from, to, on) == 0.0);
    let far = (0..60).find(|to| *to != 3 && silent(3, *to)).unwrap();
    let made = planned(&[&[3, far]]).unwrap();
    assert_eq!(made.prediction.goodput_kbps, 0.0);
    let silent = Warning::SilentHop { from: 3, to: far };
    let (arrives, exchange) = (0.0, 0.0);
    for warning in [silent, Warning::NoEnd { arrives, exchange }] {
        let warnings = &made.warnings;
        assert!(warnings.contains(&warning), "{warnings:?}");
    }
}
