//! Survey, collection and transfers, one after the other, on links that hear or lose.

use super::bench::{
    across, among_neighbours, fetch, from_corner, grid, id, ideal, is_asleep, lossy, measure, net,
    until_end, GRID, MS,
};
use crate::collection::Collect;
use crate::floodnet;
use crate::linkprobe::NodeList;
use crate::mote::{Command, Event};
use crate::pip;
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate};
use thalweg_units::{Channel, Duration};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Hopping, Member, Route, Scheme};

fn collect(nodes: usize) -> Command<16> {
    let nodes = NodeList::range(0, nodes as u16).unwrap();
    Command::Collect(Collect { nodes, floor: 1 })
}

#[test]
fn two_nodes_measure_report_and_transfer() {
    let mut net = net(2, Box::new(|_| Fate::Heard));
    net.command(1, measure(2));
    until_end(&mut net, 1, Duration::from_secs(5));
    net.command(1, collect(2));
    let told = until_end(&mut net, 1, Duration::from_secs(5));
    let links = told
        .iter()
        .filter(|e| matches!(e, Event::Floods(floodnet::Event::Link(_))));
    assert_eq!(links.count(), 4, "two directions on two channels: {told:?}");
    let mut route = Route::new(1, id(0), id(1), Scheme::P3, super::bench::channels(2));
    for transfer in 1..4 {
        route.transfer = transfer;
        let complete = fetch(&mut net, route).unwrap();
        assert_eq!(
            (complete.packets, complete.first_round, complete.rounds),
            (21, 21, 1)
        );
    }
}

#[test]
fn a_grid_measures_reports_and_transfers() {
    let mut net = grid(ideal());
    net.command(4, measure(GRID));
    until_end(&mut net, 4, Duration::from_secs(10));
    net.command(4, collect(GRID));
    let told = until_end(&mut net, 4, Duration::from_secs(10));
    // 3 x 3 along, 2 x 4 across, 2 x 2 x 3 diagonal pairs; both directions, two channels.
    let links = told
        .iter()
        .filter(|e| matches!(e, Event::Floods(floodnet::Event::Link(_))));
    assert_eq!(links.count(), (9 + 8 + 12) * 4);
    let before = net.now();
    let complete = fetch(&mut net, across(1)).unwrap();
    assert_eq!(complete.rounds, 1);
    assert!(net.now().since(before) < MS(500));
    assert!(
        [0, 3, 8, 11].iter().all(|n| is_asleep(&net, *n)),
        "they have no part"
    );
    assert!((0..GRID)
        .filter(|n| ![0, 3, 8, 11].contains(n))
        .all(|n| !is_asleep(&net, n)));
}

#[test]
fn pip_with_and_without_hopping() {
    let mut net = grid(ideal());
    let mut route = from_corner(3);
    for hopping in [Hopping::Fixed, Hopping::EveryCyclePair] {
        route.scheme = Scheme::Pip(hopping);
        route.transfer += 1;
        assert_eq!(fetch(&mut net, route).unwrap().rounds, 1);
    }
    assert_eq!(pip::TRIES, 5);
}

#[test]
fn random_losses_end_every_order_and_never_change_a_byte() {
    let (mut whole, mut all) = (0, 0);
    for percent in [0, 5, 10, 20] {
        for seed in 0..4 {
            let mut net = grid(lossy(percent, seed));
            for transfer in 1..4 {
                let route = if transfer == 2 {
                    from_corner(2)
                } else {
                    across(transfer)
                };
                whole += u32::from(fetch(&mut net, route).is_some());
                all += 1;
                net.command(4, collect(GRID));
                until_end(&mut net, 4, Duration::from_secs(20));
            }
        }
    }
    assert!(whole * 10 >= all * 8, "{whole} of {all}");
}

#[test]
fn surveys_end_whatever_is_lost() {
    for percent in [20, 60, 100] {
        let mut net = grid(lossy(percent, 7));
        net.command(4, measure(GRID));
        until_end(&mut net, 4, Duration::from_secs(10));
        net.command(4, collect(GRID));
        until_end(&mut net, 4, Duration::from_secs(60));
        net.run_for(Duration::from_secs(2));
        assert!(
            (0..GRID).all(|n| net.engine(n).mote.is_idle()),
            "{percent} %"
        );
    }
}

#[test]
fn every_single_frame_of_a_fetch_may_be_lost() {
    // Wake-up floods, packets, requests and NACKs, at all who would have heard them.
    for route in [across(1), from_corner(1)] {
        let mut net = grid(ideal());
        fetch(&mut net, route).unwrap();
        let frames = net.sent().len();
        assert!(frames > 100);
        for lost in 0..frames {
            let mut net = grid(among_neighbours(move |air| match air.number == lost {
                true => Fate::Silent,
                false => Fate::Heard,
            }));
            fetch(&mut net, route).unwrap_or_else(|| panic!("without frame {lost}"));
        }
    }
}

#[test]
fn a_segment_never_catches_up_with_the_one_before() {
    // A line of ten hops, and routes with so many relays elsewhere that the last segment would be
    // a few bytes if the others were full.
    for beyond in [1, 2, 5] {
        let line = |air: Air<'_>| match air.from.abs_diff(air.to) {
            1 => Fate::Heard,
            _ => Fate::Silent,
        };
        let mut net = net(11, Box::new(line));
        let stages: Vec<Channel> = (0..11).map(Channel::from_index).collect();
        let channels = Channels::new(&stages).unwrap();
        let mut route = Route::new(1, id(10), id(0), Scheme::P3, channels);
        for n in 1..10 {
            let (node, stage, group) = (id(10 - n), n as u8, Group::Odd);
            route.add(Member { node, stage, group }).unwrap();
        }
        for n in 100.. {
            if route.segments() == 2 && n >= 120 + beyond {
                break;
            }
            route
                .add(Member {
                    node: id(n),
                    stage: 1,
                    group: Group::Odd,
                })
                .unwrap();
        }
        assert_eq!(route.segments(), 2);
        assert_eq!(fetch(&mut net, route).unwrap().rounds, 1);
    }
}
