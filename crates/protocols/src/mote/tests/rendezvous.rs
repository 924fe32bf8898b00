//! When something that follows a transfer begins: at rendezvous that all nodes tell from the wake-up.

use super::bench::{
    among_neighbours, channels, fetch, from_corner, grid, id, ideal, is_asleep, Watched, GRID, MS,
};
use crate::mote::rendezvous::{CLOSE, PERIOD};
use crate::mote::{Command, Event};
use core::num::NonZeroU16;
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, Net, SentFrame};
use thalweg_units::{Duration, Instant};
use thalweg_wire::flood::Repr;
use thalweg_wire::phy::air_time;
use thalweg_wire::pipeline::{Format, Group};
use thalweg_wire::route::{Member, Phase, Progress, Route, Scheme};

/// From 7 to 4 over two chains, a transfer of the 21 packets that 7 has.
fn chains(transfer: u16) -> Route {
    let mut route = Route::new(transfer, id(7), id(4), Scheme::Thalweg, channels(4));
    for (node, stage, group) in [
        (2, 1, Group::Odd),
        (6, 1, Group::Even),
        (1, 2, Group::Odd),
        (5, 2, Group::Even),
    ] {
        let node = id(node);
        route.add(Member { node, stage, group }).unwrap();
    }
    route.format = Format::Slim;
    route.expected = NonZeroU16::new(21);
    route
}

/// Orders `route`, and says how long its wake-up took to begin, and what its phase was.
fn begins(net: &mut Net<Watched>, route: Route) -> Duration {
    let (sink, ordered) = (usize::from(route.sink.get()), net.now());
    net.take_events();
    net.command(sink, Command::Fetch(route));
    for _ in 0..PERIOD.as_nanos() / MS(1).as_nanos() + 50 {
        net.run_for(MS(1));
        let events = net.take_events();
        if (events.iter()).any(|event| matches!(event.2, Event::WakeUp { .. })) {
            return net.now().since(ordered);
        }
    }
    panic!("no wake-up");
}

/// Runs until node `n` is not in a transfer any more.
fn until_free(net: &mut Net<Watched>, n: usize) -> Instant {
    for _ in 0..5_000 {
        net.run_for(MS(1));
        if net.engine(n).mote.is_idle() {
            return net.now();
        }
    }
    panic!("no end");
}

#[test]
fn what_follows_a_transfer_begins_when_it_is_over_and_finds_everyone() {
    let mut net = grid(ideal());
    begins(&mut net, chains(1));
    for transfer in 2..6 {
        until_free(&mut net, 4);
        // 3, which has had no part, is the next source.
        assert!(is_asleep(&net, 3) || net.engine(3).mote.is_idle());
        let waited = begins(&mut net, from(3, transfer));
        assert!(waited < MS(20), "{waited}");
        until_free(&mut net, 4);
        assert!(net.engine(4).mote.pipeline().stats().received == 21);
        let waited = begins(&mut net, chains(transfer + 10));
        assert!(waited < MS(20), "{waited}");
    }
}

/// The same from a corner.
fn from(source: usize, transfer: u16) -> Route {
    let mut route = chains(transfer);
    route.source = id(source);
    route
}

#[test]
fn the_flood_of_a_wake_up_is_over_for_all_when_its_transfer_begins() {
    let mut net = grid(ideal());
    net.command(4, Command::Fetch(chains(1)));
    net.run_for(PERIOD + MS(50));
    let start = (net.take_events().into_iter()).find_map(|(_, _, event)| match event {
        Event::WakeUp { start, .. } => Some(start),
        _ => None,
    });
    let ends = start.unwrap().saturating_sub(MS(2));
    let floods =
        |frame: &&SentFrame| Repr::parse(&frame.mpdu).is_ok_and(|repr| repr.initiator == id(4));
    let frames: Vec<_> = net.sent().iter().filter(floods).collect();
    // Of twelve nodes, some have not sent it three times by then.
    assert!((24..36).contains(&frames.len()), "{}", frames.len());
    for frame in frames {
        let over = frame.start + air_time(frame.mpdu.len());
        assert!(over <= ends, "{over} {ends}");
    }
}

#[test]
fn who_is_late_waits_for_the_next_close_rendezvous_and_then_for_a_regular_one() {
    for (late, most) in [(30, CLOSE), (250, CLOSE), (900, PERIOD)] {
        let mut net = grid(ideal());
        begins(&mut net, chains(1));
        until_free(&mut net, 4);
        net.run_for(MS(late));
        let waited = begins(&mut net, from(3, 2));
        assert!(waited <= most + MS(2), "{late} ms late: {waited}");
        until_free(&mut net, 4);
        assert!(net.engine(4).mote.pipeline().stats().received == 21);
    }
}

#[test]
fn a_wake_up_that_nobody_took_is_repeated_early() {
    let deaf = Rc::new(Cell::new(true));
    let flag = deaf.clone();
    let mut net = grid(among_neighbours(move |air| {
        // Behind the second column nothing arrives.
        match flag.get() && air.to % 4 > 1 {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    }));
    let (begun, _) = (net.now(), begins(&mut net, chains(1)));
    until_free(&mut net, 4);
    deaf.set(false);
    let mut again = chains(2);
    again.progress = Progress::Kept;
    begins(&mut net, again);
    assert!(
        net.now().since(begun) < MS(300),
        "{}",
        net.now().since(begun)
    );
    until_free(&mut net, 4);
    assert!(net.engine(4).mote.pipeline().stats().received == 21);
}

#[test]
fn who_missed_a_wake_up_at_a_close_rendezvous_still_listens_at_regular_ones() {
    for victim in [3, 11] {
        let deaf = Rc::new(Cell::new(false));
        let flag = deaf.clone();
        let mut net = grid(among_neighbours(move |air| {
            match flag.get() && air.to == victim {
                true => Fate::Silent,
                false => Fate::Heard,
            }
        }));
        begins(&mut net, chains(1));
        until_free(&mut net, 4);
        for transfer in 2..5 {
            deaf.set(true);
            assert!(begins(&mut net, chains(transfer)) < MS(20));
            until_free(&mut net, 4);
        }
        // Past all close rendezvous.
        net.run_for(MS(1_000));
        deaf.set(false);
        fetch(&mut net, from_corner(5)).unwrap();
        assert!((0..GRID).all(|n| n == 4 || net.engine(n).mote.schedule.is_some()));
    }
}

#[test]
fn a_protocol_without_a_phase_waits_for_a_regular_rendezvous() {
    let mut net = grid(ideal());
    let first = net.now();
    begins(&mut net, chains(1));
    until_free(&mut net, 4);
    begins(&mut net, from_corner(2));
    let phase = net.now().since(first).as_nanos() % PERIOD.as_nanos();
    assert!(phase < MS(5).as_nanos(), "{phase}");
    assert_eq!(Phase::default(), Phase::REGULAR);
}
