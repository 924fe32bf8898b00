use crate::transfer::pipeline::Node;
use thalweg_engine::BoardTiming;
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::protocol_constants;
use thalweg_protocols::mote::rendezvous;
use thalweg_protocols::{floodnet, sweep, thalweg};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::pipeline::{Format, Group};
use thalweg_wire::route::{Channels, Member, Route, Scheme};

#[test]
fn plans_count_with_the_protocols_rules() {
    assert_eq!(protocol_constants::PROBED_FROM, u32::from(thalweg::WORTH));
    assert_eq!(protocol_constants::PROBE, u32::from(thalweg::PROBE));
    assert_eq!(protocol_constants::BAD, thalweg::BAD);
    assert_eq!(
        2 * protocol_constants::BAD.1,
        u32::from(thalweg::LONG_PROBE)
    );
    assert_eq!(u64::from(protocol_constants::REST), thalweg::REST);
    assert_eq!(protocol_constants::WHOLE, rendezvous::WHOLE);
    assert_eq!(
        protocol_constants::SWEPT_BYTES,
        usize::from(sweep::BEACON_BYTES)
    );
}

#[test]
fn plans_know_how_long_a_wake_up_takes() {
    let timing = BoardTiming::IDEAL;
    let cycle = Cycle {
        gap: timing.relay_gap(),
        ..Cycle::default()
    };
    for hops in 1..=10 {
        let channels: Vec<Channel> = (0..=hops).map(|n| Channel::from_index(n % 16)).collect();
        let channels = Channels::new(&channels).unwrap();
        let (source, sink) = (NodeId::new(1).unwrap(), NodeId::new(139).unwrap());
        let mut route = Route::new(1, source, sink, Scheme::Thalweg, channels);
        route.format = Format::Slim;
        let places =
            (1..hops).flat_map(|stage| [Group::Odd, Group::Even].map(|group| (stage as u8, group)));
        let mut named = 2;
        for (at, (stage, group)) in places.enumerate() {
            let member = |of: usize| Member {
                node: NodeId::new(2 + (3 * at + of) as u16).unwrap(),
                stage,
                group,
            };
            route.add(member(0)).unwrap();
            route.add_backup(member(1)).unwrap();
            route.add_alternate(member(2)).unwrap();
            named += 3;
        }
        let takes = Node::wake_up_time(&route, &floodnet::Config::default(), &timing);
        let told = cycle.short_wake_up(hops as u64, named, 139);
        // A beginning is given in whole milliseconds.
        let apart_s = told.as_secs_f64() - takes.as_secs_f64();
        assert!(
            (0.0..1e-3).contains(&apart_s),
            "{hops} hops: {told:?}, {takes:?}"
        );
    }
}
