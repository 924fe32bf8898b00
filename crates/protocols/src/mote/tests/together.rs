//! Several sinks' transfers that begin together.

use super::bench::{
    among_neighbours, channels, from_corner, grid, id, ideal, is_asleep, is_end, object, Order,
    Watched, MS, TELOSB,
};
use crate::floodnet;
use crate::glossy::flood_time;
use crate::mote::{Command, Event, Refused};
use crate::pipeline;
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, Net};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Member, Route, Scheme, MAX_SEGMENT_BYTES};

const ROOM: u64 = 70;

/// Along the top row into 0, or along the bottom row into 8, on channels of its own.
fn row(transfer: u16, sink: usize) -> Route {
    let list = match sink {
        0 => channels(4),
        _ => Channels::new(&[11, 13, 17, 19].map(|c| Channel::new(c).unwrap())).unwrap(),
    };
    let mut route = Route::new(transfer, id(sink + 3), id(sink), Scheme::P3, list);
    for (node, stage) in [(sink + 2, 1), (sink + 1, 2)] {
        let (node, group) = (id(node), Group::Odd);
        route.add(Member { node, stage, group }).unwrap();
    }
    route
}

fn together(route: Route) -> Order {
    let room = MS(ROOM);
    Command::FetchTogether { route, room }
}

/// Runs for `ms`; what nodes were told in that time.
fn told(net: &mut Net<Watched>, ms: u64) -> Vec<(usize, Event)> {
    net.run_for(MS(ms));
    let events = net.take_events().into_iter();
    events.map(|event| (event.1, event.2)).collect()
}

fn start_of(told: &[(usize, Event)]) -> Option<Instant> {
    told.iter().find_map(|(_, event)| match event {
        Event::WakeUp { start, .. } => Some(*start),
        _ => None,
    })
}

fn completed(told: &[(usize, Event)], sink: usize) -> bool {
    told.iter().any(|(node, event)| {
        *node == sink && matches!(event, Event::Pipeline(pipeline::Event::Complete(_)))
    })
}

#[test]
fn two_rows_are_woken_in_turn_and_begin_as_one() {
    let mut net = grid(ideal());
    for wave in 0..3 {
        net.take_events();
        net.command(0, together(row(2 * wave, 0)));
        let mut first = Vec::new();
        // The second and later waves begin at a rendezvous.
        while start_of(&first).is_none() {
            first = told(&mut net, 1);
        }
        // The first flood has died down by then, and nobody has gone to rest or to work.
        net.run_for(MS(55));
        assert!((0..12).all(|n| !is_asleep(&net, n)));
        net.command(8, together(row(2 * wave + 1, 8)));
        let second = told(&mut net, 10);
        let (a, b) = (start_of(&first).unwrap(), start_of(&second).unwrap());
        let apart = a.since(b).max(b.since(a));
        assert!(apart <= Duration::from_micros(2), "{apart}");
        let rest = told(&mut net, 600);
        for sink in [0, 8] {
            assert!(completed(&rest, sink), "wave {wave}, sink {sink}");
            let received = &net.engine(sink).mote.pipeline().store().received;
            let expected = object(sink + 3);
            assert!(received[..expected.len()] == expected);
        }
        assert!((4..8).all(|n| is_asleep(&net, n)), "wave {wave}");
    }
}

#[test]
fn short_wake_ups_leave_short_room_and_everyone_carries_the_second() {
    let route = row(1, 0);
    let (config, timing) = (floodnet::Config::default(), TELOSB);
    let bytes = HEADER_BYTES + 1 + route.segment_bytes();
    let apart = flood_time(bytes, config.reach, config.n_tx, &timing) + MS(8);
    let longest = HEADER_BYTES + 1 + MAX_SEGMENT_BYTES;
    assert!(apart < flood_time(longest, config.reach, config.n_tx, &timing));
    let mut net = grid(ideal());
    net.command(0, Command::FetchTogether { route, room: apart });
    net.run_for(apart);
    net.command(
        8,
        Command::FetchTogether {
            route: row(2, 8),
            room: apart,
        },
    );
    let events = told(&mut net, 600);
    assert!(completed(&events, 0) && completed(&events, 8));
    // If no other sink can come, no node waits for the beginning.
    net.command(0, Command::Fetch(row(3, 0)));
    let mut first = Vec::new();
    while start_of(&first).is_none() {
        first = told(&mut net, 1);
    }
    let start = start_of(&first).unwrap();
    while !is_asleep(&net, 7) {
        net.run_for(MS(1));
        assert!(net.now() < start);
    }
}

/// A wave into 0 and 8, begun at the next rendezvous.
fn wave(net: &mut Net<Watched>, transfer: u16) -> Vec<(usize, Event)> {
    net.take_events();
    net.command(0, together(row(transfer, 0)));
    let mut first = Vec::new();
    while start_of(&first).is_none() {
        first = told(net, 1);
    }
    net.run_for(MS(55));
    net.command(8, together(row(transfer + 1, 8)));
    told(net, 610)
}

#[test]
fn who_heard_only_a_later_wake_up_does_not_sleep_out_of_step() {
    // 11 is the bottom row's source; 6 has no part. Both miss the first sink's flood.
    let deaf = Rc::new(Cell::new(true));
    let flag = deaf.clone();
    let mut net = grid(among_neighbours(move |air| {
        let flood = thalweg_wire::flood::Repr::parse(air.mpdu);
        let first = flood.is_ok_and(|flood| flood.initiator == id(0));
        match flag.get() && first && [6, 11].contains(&air.to) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    }));
    let events = wave(&mut net, 1);
    assert!(completed(&events, 0) && completed(&events, 8));
    assert!(is_asleep(&net, 5) && !is_asleep(&net, 6));
    deaf.set(false);
    net.run_for(MS(37));
    for transfer in [3, 5] {
        let events = wave(&mut net, transfer);
        assert!(completed(&events, 0) && completed(&events, 8));
        assert!(is_asleep(&net, 5) && is_asleep(&net, 6));
    }
    // Whoever knows the rendezvous keeps to them.
    deaf.set(true);
    let events = wave(&mut net, 7);
    assert!(completed(&events, 8) && is_asleep(&net, 6));
    deaf.set(false);
    let events = wave(&mut net, 9);
    assert!(completed(&events, 0) && completed(&events, 8));
}

#[test]
fn a_node_that_comes_too_late_is_refused_and_the_others_go_on() {
    let mut net = grid(ideal());
    net.command(0, together(row(1, 0)));
    net.run_for(MS(ROOM + 10));
    net.take_events();
    net.command(8, together(row(2, 8)));
    let refused = told(&mut net, 1);
    assert!(refused.contains(&(8, Event::Refused(Refused::TooLate))));
    let rest = told(&mut net, 700);
    assert!(completed(&rest, 0) && !completed(&rest, 8));
    // Alone it comes to its turn, when nodes listen for any sink.
    net.command(8, together(row(3, 8)));
    let rest = told(&mut net, 2_900);
    assert!(completed(&rest, 8));
}

#[test]
fn a_wave_of_one_is_a_transfer() {
    let mut net = grid(ideal());
    net.command(4, together(from_corner(1)));
    let events = told(&mut net, 1_000);
    assert!(completed(&events, 4));
    assert!(events
        .iter()
        .any(|(node, event)| *node == 4 && is_end(event)));
}
