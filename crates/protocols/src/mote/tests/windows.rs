//! For how long nodes without a part listen for sinks whose distance they know, and for others.

use super::bench::{across, fetch, grid, id, ideal, is_asleep, Watched, MS};
use crate::mote::rendezvous::{PERIOD, WHOLE};
use crate::mote::{Command, Event};
use thalweg_engine::harness::Net;
use thalweg_wire::route::Route;

/// How many milliseconds node `n` is awake from one rendezvous of `net` to as many later as are told.
fn awake(net: &mut Net<Watched>, n: usize, rendezvous: u64) -> u64 {
    let whole = PERIOD * rendezvous;
    let times = whole.as_nanos() / MS(1).as_nanos();
    (0..times).fold(0, |awake, _| {
        net.run_for(MS(1));
        awake + u64::from(!is_asleep(net, n))
    })
}

#[test]
fn who_is_near_the_sink_listens_for_less_long() {
    let mut net = grid(ideal());
    fetch(&mut net, across(1)).unwrap();
    // The sink is a neighbour of one, and three hops from the other.
    let of = [8, 3].map(|n| (is_asleep(&net, n), awake(&mut net, n, WHOLE)));
    assert!(of.iter().all(|(is_asleep, _)| *is_asleep), "{of:?}");
    let [near, far] = of.map(|(_, awake)| awake);
    // A whole window and three others, of one or three slots of 4.4 ms, three to spare, and guards.
    assert!((122..136).contains(&near), "{near}");
    assert!((148..162).contains(&far), "{far}");
}

/// From when `route` was ordered to its wake-up, in milliseconds.
fn waits(net: &mut Net<Watched>, route: Route) -> u64 {
    net.take_events();
    net.command(usize::from(route.sink.get()), Command::Fetch(route));
    let is_called = |net: &mut Net<Watched>| {
        net.run_for(MS(1));
        let events = net.take_events();
        (events.iter()).any(|event| matches!(event.2, Event::WakeUp { .. }))
    };
    (1..3_000).find(|_| is_called(net)).unwrap()
}

#[test]
fn a_sink_that_was_not_heard_waits_until_all_listen_for_it() {
    for after in [1, 600, 1_100] {
        let mut net = grid(ideal());
        fetch(&mut net, across(1)).unwrap();
        let mut other = across(2);
        other.sink = id(11);
        net.run_for(MS(after));
        let first = waits(&mut net, other);
        assert!(first > 500 && first < 2_000, "{first} ms");
        net.command(11, Command::Stop);
        other.transfer += 1;
        let then = waits(&mut net, other);
        assert!(then < 502, "{then} ms");
    }
}
