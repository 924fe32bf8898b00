//! Nodes that have no part in a transfer: asleep, and never out of reach.

use super::bench::{
    across, among_neighbours, fetch, from_corner, grid, ideal, is_asleep, Watched, GRID, MS,
};
use crate::mote::rendezvous::PERIOD;
use crate::mote::{Command, Event, Refused};
use std::cell::Cell;
use std::rc::Rc;
use thalweg_engine::harness::{Fate, Net};
use thalweg_units::NodeId;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Member, Route};

#[test]
fn a_sleeper_is_reached_at_the_next_rendezvous() {
    for wait in (0..1_000).step_by(93) {
        let mut net = grid(ideal());
        fetch(&mut net, across(1)).unwrap();
        assert!(is_asleep(&net, 3));
        net.run_for(MS(wait));
        let before = net.now();
        fetch(&mut net, from_corner(2)).unwrap();
        assert!(
            net.now().since(before) < PERIOD + MS(500),
            "after {wait} ms"
        );
    }
}

#[test]
fn a_sink_that_has_forgotten_the_rendezvous_reaches_sleepers_all_the_same() {
    for wait in (0..600).step_by(37) {
        let mut net = grid(ideal());
        fetch(&mut net, across(1)).unwrap();
        assert!(is_asleep(&net, 3));
        net.run_for(MS(3_100 + wait));
        let sink = usize::from(from_corner(2).sink.get());
        net.engine_mut(sink).start_anew(sink);
        let before = net.now();
        fetch(&mut net, from_corner(2)).unwrap_or_else(|| panic!("after {wait} ms"));
        let took = net.now().since(before);
        assert!(took > PERIOD && took < PERIOD + MS(560), "{took}");
        // It knows the rendezvous from now on.
        let before = net.now();
        fetch(&mut net, from_corner(3)).unwrap();
        assert!(net.now().since(before) < PERIOD + MS(500));
    }
}

#[test]
fn whoever_rouses_may_be_stopped_and_rouses_again() {
    let mut net = grid(ideal());
    fetch(&mut net, across(1)).unwrap();
    net.run_for(MS(3_237));
    let route = from_corner(2);
    let sink = usize::from(route.sink.get());
    net.engine_mut(sink).start_anew(sink);
    net.command(sink, Command::Fetch(route));
    net.run_for(MS(100));
    net.command(sink, Command::Fetch(route));
    net.command(sink, Command::Stop);
    net.run_for(MS(20));
    let told = net.take_events();
    let busy =
        |(_, node, event): &(_, usize, _)| *node == sink && *event == Event::Refused(Refused::Busy);
    assert!(told.iter().any(busy), "{told:?}");
    fetch(&mut net, from_corner(3)).unwrap();
}

#[test]
fn sleepers_listen_a_little_part_of_the_time() {
    let mut net = grid(ideal());
    fetch(&mut net, across(1)).unwrap();
    let mut asleep = 0;
    for _ in 0..2_000 {
        net.run_for(MS(1));
        asleep += u32::from(is_asleep(&net, 3));
    }
    assert!(asleep > 1_700, "{asleep} of 2000 ms");
}

#[test]
fn everyone_listens_once_the_deadline_has_passed() {
    let mut net = grid(ideal());
    fetch(&mut net, until(across(1), 2)).unwrap();
    net.run_for(MS(2_000));
    assert!((0..GRID).all(|n| net.engine(n).mote.is_idle()));
    net.run_for(MS(777));
    fetch(&mut net, from_corner(2)).unwrap();
    // A transfer that is given up before it begins leaves nobody deaf either.
    fetch(&mut net, until(across(3), 0));
    net.run_for(MS(4_000));
    fetch(&mut net, from_corner(4)).unwrap();
}

/// The same route, to be given up after so many seconds.
fn until(mut route: Route, deadline_s: u16) -> Route {
    route.deadline_s = deadline_s;
    route
}

/// A network in which node 3 hears nothing while the flag is set.
fn with_deaf_corner() -> (Net<Watched>, Rc<Cell<bool>>) {
    let deaf = Rc::new(Cell::new(false));
    let flag = deaf.clone();
    let net = grid(among_neighbours(move |air| {
        match flag.get() && air.to == 3 {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    }));
    (net, deaf)
}

#[test]
fn who_missed_a_wake_up_still_listens_when_the_others_do() {
    // Longer and shorter deadlines after one another, and pauses of any length.
    for (first, then) in [(600, 600), (600, 1), (3, 600)] {
        let (mut net, deaf) = with_deaf_corner();
        fetch(&mut net, until(across(1), first)).unwrap();
        for transfer in 2..6 {
            deaf.set(true);
            net.run_for(MS(137 * u64::from(transfer)));
            fetch(&mut net, until(across(transfer), then)).unwrap();
        }
        net.run_for(MS(1_500));
        deaf.set(false);
        net.run_for(MS(60));
        fetch(&mut net, from_corner(7)).unwrap_or_else(|| panic!("{first} s, then {then} s"));
    }
}

/// `route`, with so many relays elsewhere that it takes `segments` segments.
fn long(mut route: Route, segments: usize) -> Route {
    for n in 100.. {
        if route.segments() == segments {
            return route;
        }
        let (node, stage, group) = (NodeId::new(n).unwrap(), 1, Group::Odd);
        route.add(Member { node, stage, group }).unwrap();
    }
    route
}

#[test]
fn routes_of_several_segments_wake_everyone() {
    let mut net = grid(ideal());
    for segments in 1..=3 {
        let route = long(across(segments as u16), segments);
        assert_eq!(fetch(&mut net, route).unwrap().rounds, 1);
        assert!(
            [0, 3, 8, 11].iter().all(|n| is_asleep(&net, *n)),
            "{segments}"
        );
    }
    fetch(&mut net, from_corner(9)).unwrap();
}

#[test]
fn source_relay_and_sink_agree_on_the_beginning_whatever_a_route_s_length() {
    let mut net = grid(ideal());
    let mut several = 0;
    for longer in 0..24 {
        let mut route = across(longer);
        for n in 0..4 * longer {
            let (node, stage, group) = (NodeId::new(100 + n).unwrap(), 1, Group::Odd);
            route.add(Member { node, stage, group }).unwrap();
        }
        several += u32::from(route.segments() > 1);
        net.command(4, Command::Fetch(route));
        let of_all =
            |net: &Net<Watched>| [7, 6, 4].map(|n| net.engine(n).mote.pipeline().start_of_active());
        while of_all(&net).contains(&None) {
            net.run_for(MS(1));
        }
        let [source, relay, sink] = of_all(&net);
        // Segments tell whole milliseconds.
        assert_eq!((source, relay), (sink, sink), "{longer}");
        net.run_for(MS(2_000));
    }
    assert!(several > 10, "{several}");
}

#[test]
fn whoever_misses_a_segment_is_there_for_the_next_transfer() {
    for victim in 0..GRID {
        for lost in 0..3 {
            let on = Rc::new(Cell::new(true));
            let flag = on.clone();
            let mut net = grid(among_neighbours(move |air| {
                let flood = thalweg_wire::flood::Repr::parse(air.mpdu);
                let segment = flood
                    .ok()
                    .and_then(|f| f.content.get(4).map(|place| place >> 4));
                match flag.get() && air.to == victim && segment == Some(lost) {
                    true => Fate::Silent,
                    false => Fate::Heard,
                }
            }));
            let complete = fetch(&mut net, long(across(1), 3));
            // Without source or sink nothing comes; without any one relay all does.
            assert_eq!(
                complete.is_some(),
                victim != 7,
                "node {victim}, segment {lost}"
            );
            on.set(false);
            // Relays that heard of it wait for three seconds if nothing came.
            net.run_for(MS(3_500));
            fetch(&mut net, long(across(2), 3)).unwrap();
            fetch(&mut net, from_corner(3)).unwrap();
        }
    }
}
