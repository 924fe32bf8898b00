//! The loss map of a transfer of Thalweg that goes on another way.

use super::bench::{object, terms, Ladder, Reverse};
use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;
use thalweg_host::registry::Pipelined;
use thalweg_planner::{plan, Plan, RouteRequest};
use thalweg_sim::Fault;
use thalweg_simnet::explain::{self, LossMap, RouteMap, SubGroup};

const LADDER: Ladder = Ladder {
    hops: 3,
    paths: 16,
    least_prr: 1.0,
    seed: 3,
    reverse: Reverse::Alive,
};

/// Nodes that take part at `stage`.
fn taking_part(plan: &Plan, stage: usize) -> BTreeSet<usize> {
    let all = [&plan.stages, &plan.backup_relays, &plan.alternates];
    let at = all.into_iter().filter_map(|stages| stages.get(stage - 1));
    at.flatten().map(|member| member.node).collect()
}

/// What enters and what arrives at the end of a list of hops.
fn ends(map: &LossMap, at: usize) -> (u32, u32) {
    let round = &map.rounds[at];
    let last = map.route_of(round.attempt).hops;
    let at = |stage: usize| round.hops.iter().filter(move |hop| hop.stage == stage);
    let entered = at(1).map(|hop| hop.entered).sum();
    (entered, at(last).map(|hop| hop.arrived).sum())
}

#[test]
fn each_attempt_is_booked_on_the_way_that_it_went() {
    let own = Pipelined::named("thalweg").unwrap();
    let request = RouteRequest {
        min_paths: 1,
        ..RouteRequest::new(0, LADDER.sink())
    };
    let mut rng = thalweg_medium::random::stream(1, "own", &[LADDER.seed]);
    let plan = plan(&LADDER.surveyed(), &own.request(&request), &mut rng).unwrap();
    let terms = own.terms(terms());
    let session = || {
        let mut session = LADDER.session();
        for node in taking_part(&plan, 2) {
            session.network().fault(node, Fault::Dead);
        }
        session.offer(0, object(1, 20_000));
        session
    };
    let silent = &mut |_| Continue(());
    let plain = session().fetch(&plan, own.scheme, &terms, silent).unwrap();
    let mut watched = session();
    let (transfer, map) = explain::fetch(&mut watched, &plan, own.scheme, &terms, silent).unwrap();
    assert_eq!(plain, transfer, "watched and not");
    let summary = &transfer.0.summary;
    assert!(summary.verified && summary.attempts > 1, "{summary:?}");
    assert!(map.is_conserved(), "{map:#?}");

    // Each way is another than the one before, in the end over other nodes, and its rounds name them.
    let ways: Vec<_> = map.all_routes().collect();
    let told = |way: &RouteMap| (way.nodes.clone(), way.channels.clone(), way.last_even);
    for pair in ways.windows(2) {
        assert!(pair[0].0 < pair[1].0 && pair[1].0 < summary.attempts);
        assert_ne!(told(pair[0].1), told(pair[1].1));
    }
    let (first, last) = (ways[0].1, ways[ways.len() - 1].1);
    assert_ne!(first.nodes, last.nodes, "{}", map.to_text());
    for round in &map.rounds {
        let way = map.route_of(round.attempt);
        for hop in &round.hops {
            let at = |stage: usize| -> Vec<u16> {
                let is_in = |of: SubGroup| of == hop.group || of == SubGroup::All;
                let nodes = way.nodes.iter().filter(|n| n.stage == stage);
                nodes.filter(|n| is_in(n.group)).map(|n| n.node).collect()
            };
            let senders: Vec<u16> = hop.senders.iter().map(|s| s.node).collect();
            let receivers: Vec<u16> = hop.receivers.iter().map(|r| r.node).collect();
            assert_eq!((senders, receivers), (at(hop.stage - 1), at(hop.stage)));
        }
    }
    let arrived = |is_later: bool| -> u32 {
        let rounds = map.rounds.iter().enumerate();
        let of = rounds.filter(|(_, round)| (round.attempt > 0) == is_later);
        of.map(|(at, _)| ends(&map, at).1).sum()
    };
    let packets = 20_000_u32.div_ceil(u32::from(terms.payload.bytes()));
    assert_eq!(arrived(false), 0, "{}", map.to_text());
    assert!(arrived(true) >= packets, "{}", map.to_text());

    // Text and picture tell of it, and JSON brings all of it back.
    let text = map.to_text();
    assert!(
        text.contains("another way after 2 wake-ups: 3 hops"),
        "{text}"
    );
    let ways = format!("over {} ways", map.ways.len() + 1);
    assert!(map.to_svg().contains(&ways));
    let json = serde_json::to_value(&map).unwrap();
    for key in ["hops", "channels", "nodes", "requests", "nacks"] {
        assert!(json.get(key).is_some() && json["ways"][0].get(key).is_some());
    }
    assert_eq!(serde_json::from_value::<LossMap>(json).unwrap(), map);
}
