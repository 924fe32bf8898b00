//! Orders: refused, or carried out; two sinks in one network.

use super::bench::{
    across, draw, fetch, from_corner, grid, id, ideal, is_end, measure, until_end, GRID, MS,
};
use crate::mote::{Command, Event, Refused};
use crate::pipeline::{self, End};
use std::vec::Vec;
use thalweg_units::Duration;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Member, Route, Scheme};

fn told(net: &mut thalweg_engine::harness::Net<super::bench::Watched>, n: usize) -> Vec<Event> {
    let events = net.take_events();
    events
        .into_iter()
        .filter(|e| e.1 == n)
        .map(|e| e.2)
        .collect()
}

#[test]
fn what_makes_no_sense_is_refused_at_once() {
    let mut net = grid(ideal());
    net.command(5, Command::Fetch(across(1)));
    assert_eq!(told(&mut net, 5), [Event::Refused(Refused::NotSink)]);
    let circle = Route::new(1, id(4), id(4), Scheme::P3, super::bench::channels(2));
    net.command(4, Command::Fetch(circle));
    assert_eq!(told(&mut net, 4), [Event::Refused(Refused::BadRoute)]);
    let mut endless = across(1);
    for n in 100..214 {
        let (node, group) = (id(n), Group::Odd);
        if endless
            .add(Member {
                node,
                stage: 1,
                group,
            })
            .is_err()
        {
            break;
        }
    }
    if endless.segments() > thalweg_wire::route::MAX_SEGMENTS {
        net.command(4, Command::Fetch(endless));
        assert_eq!(told(&mut net, 4), [Event::Refused(Refused::BadRoute)]);
    }
    assert!(net.engine(4).mote.is_idle());
    fetch(&mut net, across(2)).unwrap();
}

#[test]
fn one_order_at_a_time() {
    let mut net = grid(ideal());
    for at in [0, 1, 4, 12, 20, 60, 100, 200] {
        net.command(4, Command::Fetch(across(at as u16)));
        net.run_for(MS(at));
        net.take_events();
        net.command(4, Command::Fetch(from_corner(99)));
        net.command(4, measure(GRID));
        let refused = Event::Refused(Refused::Busy);
        assert_eq!(told(&mut net, 4), [refused, refused], "after {at} ms");
        let events = until_end(&mut net, 4, Duration::from_secs(10));
        let end = Event::Pipeline(pipeline::Event::Finished(End::Complete));
        assert!(events.contains(&end));
    }
    // A node of somebody else's transfer has no time either, one without a part has.
    net.command(4, Command::Fetch(across(50)));
    while told(&mut net, 7).is_empty() {
        net.run_for(MS(1));
    }
    for n in (0..GRID).filter(|n| *n != 4) {
        net.take_events();
        net.command(n, measure(GRID));
        let busy = told(&mut net, n).contains(&Event::Refused(Refused::Busy));
        assert_eq!(busy, ![0, 3, 8, 11].contains(&n), "node {n}");
        net.command(n, Command::Stop);
    }
}

#[test]
fn a_second_sink_finds_the_network_at_its_next_rendezvous() {
    let mut net = grid(ideal());
    fetch(&mut net, across(1)).unwrap();
    // Node 8, which rested, fetches from node 11, which rested.
    let mut route = Route::new(2, id(11), id(8), Scheme::P3, super::bench::channels(4));
    for (node, stage) in [(10, 1), (9, 2)] {
        route
            .add(Member {
                node: id(node),
                stage,
                group: Group::Odd,
            })
            .unwrap();
    }
    fetch(&mut net, route).unwrap();
    fetch(&mut net, from_corner(3)).unwrap();
}

#[test]
fn two_sinks_at_once_both_come_to_an_end() {
    let mut second = Route::new(2, id(11), id(8), Scheme::P3, super::bench::channels(4));
    for (node, stage) in [(10, 1), (9, 2)] {
        second
            .add(Member {
                node: id(node),
                stage,
                group: Group::Odd,
            })
            .unwrap();
    }
    for case in 0..120 {
        let mut net = grid(ideal());
        if case % 3 == 0 {
            fetch(&mut net, across(9)).unwrap();
        }
        let pause = Duration::from_micros(draw(&[case, 1]) % 120_000);
        let orders = [
            (4, Command::Fetch(across(1))),
            (
                8,
                if case % 2 == 0 {
                    Command::Fetch(second)
                } else {
                    measure(GRID)
                },
            ),
        ];
        let mut ended = [false; 2];
        for (n, order) in orders.into_iter() {
            net.command(n, order);
            net.run_for(pause);
            for (_, who, event) in net.take_events() {
                ended[0] |= who == 4 && is_end(&event);
                ended[1] |= who == 8 && is_end(&event);
            }
        }
        for _ in 0..200 {
            net.run_for(MS(50));
            for (_, who, event) in net.take_events() {
                ended[0] |= who == 4 && is_end(&event);
                ended[1] |= who == 8 && is_end(&event);
            }
        }
        assert_eq!(ended, [true; 2], "case {case}, {pause}");
        fetch(&mut net, across(5)).unwrap_or_else(|| panic!("case {case}, {pause}"));
    }
}
