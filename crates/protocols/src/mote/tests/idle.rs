//! Idle nodes sleep, and a train wakes them before an order.

use super::bench::{draw, fetch, id, until_end, Links, Watched, MS, TELOSB};
use crate::floodnet::{Config, Idle};
use crate::mote::{Command, Duty};
use crate::rouse::{duty, AWAKE, PERIOD};
use std::boxed::Box;
use thalweg_engine::harness::{Fate, Net};
use thalweg_units::{Channel, Duration};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Member, Route, Scheme};

const ROW: usize = 9;
/// A train along it, with its last frame.
const LENGTH: Duration = Duration::from_millis(8 * 350 + 5);

/// Nine nodes in a row, each in reach of its neighbours; `percent` of all receptions are lost.
fn row(percent: u64) -> Net<Watched> {
    let links: Links = Box::new(move |air| {
        let lost = draw(&[7, air.number as u64, air.to as u64]) % 100 < percent;
        match air.from.abs_diff(air.to) == 1 && !lost {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    });
    let config = Config {
        idle: Idle::Rests,
        ..Config::default()
    };
    let nodes = (0..ROW).map(|n| Watched::of(n, config)).collect();
    Net::new(nodes, TELOSB, links)
}

/// From the last node to the first.
fn along(transfer: u16) -> Route {
    let list: std::vec::Vec<Channel> = [15, 20, 25, 26, 15, 20, 25, 26, 15]
        .map(|c| Channel::new(c).unwrap())
        .to_vec();
    let channels = Channels::new(&list).unwrap();
    let mut route = Route::new(transfer, id(ROW - 1), id(0), Scheme::P3, channels);
    for stage in 1..ROW - 1 {
        let (node, group) = (id(ROW - 1 - stage), Group::Odd);
        let stage = stage as u8;
        route.add(Member { node, stage, group }).unwrap();
    }
    route
}

fn rests(net: &Net<Watched>, n: usize) -> bool {
    matches!(
        net.engine(n).mote.duty,
        Duty::Resting(_) | Duty::Sampling(_)
    )
}

#[test]
fn who_is_not_asked_rests_and_is_awake_for_less_than_a_two_hundredth() {
    let mut net = row(0);
    net.run_for(AWAKE + PERIOD);
    assert!((0..ROW).all(|n| rests(&net, n)));
    let (steps, mut awake) = (60_000, 0);
    for _ in 0..steps {
        net.run_for(Duration::from_micros(100));
        awake += u32::from(matches!(net.engine(3).mote.duty, Duty::Sampling(_)));
    }
    let share = f64::from(awake) / f64::from(steps);
    assert!((share / duty(&TELOSB) - 1.0).abs() < 0.1, "{share}");
    assert!(share < 0.005, "{share}");
}

#[test]
fn a_train_rouses_nodes_eight_hops_away_whenever_it_begins() {
    for wait in (0..2_000).step_by(237) {
        let mut net = row(0);
        net.run_for(AWAKE + MS(1_000 + wait));
        let before = net.now();
        net.command(0, Command::Fetch(along(1)));
        net.run_for(LENGTH);
        assert!((0..ROW).all(|n| !rests(&net, n)), "after {wait} ms");
        until_end(&mut net, 0, MS(3_000));
        assert!(net.now().since(before) < LENGTH + MS(2_500), "{wait}");
        // Who is awake needs no train.
        let before = net.now();
        fetch(&mut net, along(2)).unwrap();
        assert!(net.now().since(before) < LENGTH, "{wait}");
        // And all rest again.
        net.run_for(Duration::from_secs(90));
        assert!((0..ROW).all(|n| rests(&net, n)));
    }
}

#[test]
fn weak_links_delay_a_train_and_do_not_stop_it() {
    let mut whole = 0;
    for wait in (0..2_000).step_by(237) {
        let mut net = row(15);
        net.run_for(AWAKE + MS(1_000 + wait));
        net.command(0, Command::Fetch(along(1)));
        net.run_for(LENGTH);
        whole += u32::from((0..ROW).all(|n| !rests(&net, n)));
    }
    assert!(whole >= 7, "{whole} of 9");
}

#[test]
fn a_train_that_is_stopped_leaves_nobody_awake_for_good() {
    let mut net = row(0);
    net.run_for(AWAKE + MS(1_000));
    net.command(0, Command::Fetch(along(1)));
    net.run_for(MS(700));
    net.command(0, Command::Stop);
    net.run_for(LENGTH + AWAKE + PERIOD);
    assert!((0..ROW).all(|n| rests(&net, n)));
    fetch(&mut net, along(2)).unwrap();
}
