//! Routes hop by hop: over lossy links, past bad ones, of any length.

use super::*;
use crate::request::Style;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use thalweg_units::ChannelSet;

const CHANNELS: [u8; 4] = [15, 20, 25, 26];

fn request(source: usize, sink: usize) -> RouteRequest {
    RouteRequest {
        style: Style::Hops,
        channels: CHANNELS.map(|c| Channel::new(c).unwrap()).to_vec(),
        ..RouteRequest::new(source, sink)
    }
}

fn both(links: &mut LinkQualities, a: usize, b: usize, prr: f64) {
    for channel in CHANNELS.map(|c| Channel::new(c).unwrap()) {
        links.record_prr(a, b, channel, prr, None).unwrap();
        links.record_prr(b, a, channel, prr, None).unwrap();
    }
}

fn planned(links: &LinkQualities, request: &RouteRequest) -> Result<Plan, PlanError> {
    plan_hops(links, request, &mut Pcg64Mcg::seed_from_u64(1))
}

#[test]
fn a_row_of_thirty_hops_has_a_route_on_channels_that_keep_apart() {
    let mut links = LinkQualities::new(31);
    for node in 0..30 {
        both(&mut links, node, node + 1, 0.6);
    }
    let plan = planned(&links, &request(30, 0)).unwrap();
    assert_eq!((plan.hops, plan.path_count()), (30, 1));
    for at in 1..=27 {
        let near: ChannelSet = plan.channels[at..at + 4].iter().copied().collect();
        assert_eq!(near.len(), 4, "{at}: {:?}", plan.channels);
    }
    assert_eq!(plan.prediction.completion, 1.0);
    assert!((15.0..60.0).contains(&plan.steady_kbps()));
    assert!(plan.prediction.goodput_kbps < plan.steady_kbps());
}

/// With four channels every hop from the fourth on has one that is free, and that may be its worst.
#[test]
fn a_good_channel_is_shared_before_a_bad_one_is_taken() {
    let mut links = LinkQualities::new(6);
    for node in 0..5 {
        both(&mut links, node, node + 1, 0.95);
    }
    let free = planned(&links, &request(5, 0)).unwrap().channels[5];
    links.record_prr(1, 0, free, 0.04, None).unwrap();
    let plan = planned(&links, &request(5, 0)).unwrap();
    assert_ne!(plan.channels[5], free);
    assert!(plan.prediction.hop_delivery[0].iter().all(|d| *d > 0.9));
}

#[test]
fn two_good_hops_go_before_a_bad_one_and_one_fair_hop_before_two() {
    for (direct, hops) in [(0.2, 2), (0.9, 1)] {
        let mut links = LinkQualities::new(3);
        both(&mut links, 0, 1, 0.95);
        both(&mut links, 1, 2, 0.95);
        both(&mut links, 0, 2, direct);
        assert_eq!(
            planned(&links, &request(0, 2)).unwrap().hops,
            hops,
            "{direct}"
        );
    }
}

#[test]
fn links_of_one_direction_carry_nothing() {
    let mut links = LinkQualities::new(3);
    both(&mut links, 0, 1, 0.9);
    links.record_prr(1, 2, Channel::LAST, 0.9, None).unwrap();
    let error = planned(&links, &request(0, 2)).unwrap_err();
    let PlanError::Unreachable { reached, far, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((reached, far), (1, 1));
}

#[test]
fn a_detour_takes_other_relays() {
    let mut links = LinkQualities::new(4);
    for relay in [1, 2] {
        both(&mut links, 0, relay, 0.9);
        both(&mut links, relay, 3, 0.9);
    }
    let again = RouteRequest {
        detour: 1.0,
        ..request(0, 3)
    };
    let relay = |seed| {
        let plan = plan_hops(&links, &again, &mut Pcg64Mcg::seed_from_u64(seed));
        plan.unwrap().paths[0][1]
    };
    let relays: Vec<usize> = (0..8).map(relay).collect();
    assert!(relays.contains(&1) && relays.contains(&2), "{relays:?}");
}

#[test]
fn a_detour_takes_other_channels_where_there_is_one_way() {
    let mut links = LinkQualities::new(2);
    both(&mut links, 0, 1, 0.9);
    let again = RouteRequest {
        detour: 1.0,
        ..request(0, 1)
    };
    let channel = |seed| {
        let plan = plan_hops(&links, &again, &mut Pcg64Mcg::seed_from_u64(seed));
        plan.unwrap().channels[1]
    };
    let channels: ChannelSet = (0..16).map(channel).collect();
    assert_eq!(channels.len(), CHANNELS.len());
}

/// Losses slow a transfer by as much as frames are repeated, and a second hop halves it.
#[test]
fn predictions_follow_the_arithmetic() {
    let goodput = |nodes: usize, prr: f64| {
        let mut links = LinkQualities::new(nodes);
        for node in 1..nodes {
            both(&mut links, node - 1, node, prr);
        }
        let plan = planned(&links, &request(nodes - 1, 0)).unwrap();
        plan.steady_kbps()
    };
    let (one, two) = (goodput(2, 1.0), goodput(3, 1.0));
    assert!((170.0..210.0).contains(&one), "{one}");
    assert!((80.0..105.0).contains(&two), "{two}");
    assert!((0.4..0.55).contains(&(two / one)), "{two}");
    let lossy = goodput(3, 0.5);
    assert!((0.3..0.55).contains(&(lossy / two)), "{lossy}");
}

#[test]
fn calls_go_everywhere_where_the_control_channel_is_silent_on_a_hop() {
    let [control, other, unheard] = [26, 20, 15].map(|c| Channel::new(c).unwrap());
    let mut links = LinkQualities::new(3);
    for (a, b, on) in [
        (0, 1, other),
        (1, 0, other),
        (1, 2, control),
        (2, 1, control),
    ] {
        links.record_prr(a, b, on, 0.9, None).unwrap();
    }
    let calls = |from, control, measured| {
        let request = RouteRequest {
            control: Some(control),
            measured,
            ..request(from, 2)
        };
        planned(&links, &request).unwrap().calls
    };
    assert_eq!(calls(0, control, ChannelSet::EMPTY), Calls::Everywhere);
    assert_eq!(calls(1, control, ChannelSet::EMPTY), Calls::Control);
    // Where nothing at all was heard on a channel, it counts whether it was measured.
    assert_eq!(calls(1, unheard, ChannelSet::EMPTY), Calls::Control);
    assert_eq!(calls(1, unheard, ChannelSet::ALL), Calls::Everywhere);
}
