//! When a transfer of Thalweg's is over: no later than all nodes have told it from its wake-up.

use super::bench::{ideal, object, start, thalweg, with_alternates, Layout, TELOSB};
use crate::pipeline::{Cadence, Command, End};
use crate::thalweg::{follow_ups, FollowUps, EARLY};
use core::num::NonZeroU16;
use std::vec::Vec;
use thalweg_engine::harness::Fate;
use thalweg_units::{Duration, Instant};
use thalweg_wire::pipeline::{Group, Head, Kind};
use thalweg_wire::route::{Probe, Progress};

const PACKETS: u16 = 200;

fn told(layout: &Layout) -> FollowUps {
    let session = layout.session(layout.last());
    follow_ups(&layout.route, &session, &Cadence::new(&session, &TELOSB))
}

fn expecting(mut layout: Layout, probe: Probe) -> Layout {
    layout.route.expected = NonZeroU16::new(PACKETS);
    layout.route.probe = probe;
    layout
}

#[test]
fn an_undisturbed_transfer_is_over_for_everyone_when_that_was_told() {
    for hops in 1..=10 {
        for probe in [Probe::None, Probe::First] {
            let layout = expecting(thalweg(hops), probe);
            let late = start() + told(&layout).late.unwrap();
            let bytes = object(usize::from(PACKETS) * 118);
            let mut net = layout.net(&bytes, TELOSB, ideal);
            let outcome = layout.run(&mut net, 3);
            outcome.assert_whole(&net, &bytes);
            let ended = |n: usize| {
                let ends = outcome.events.iter().filter(|(_, of, _)| *of == n);
                ends.map(|(at, ..)| *at).max().unwrap()
            };
            let sink = ended(layout.last());
            let alternate = late.since(sink);
            let within = Duration::from_millis(4)..Duration::from_millis(13);
            assert!(
                within.contains(&alternate),
                "{hops} hops, {probe:?}: {alternate}"
            );
            // A sleeping backup hears no release, and leaves by the clock.
            let last = (0..=layout.last()).map(ended).max();
            assert!(last <= Some(late), "{hops} hops, {probe:?}: {last:?}");
        }
    }
}

#[test]
fn the_probe_of_one_that_keeps_packets_has_longer_reports() {
    let mut layout = expecting(thalweg(4), Probe::First);
    let fresh = told(&layout);
    layout.route.progress = Progress::Kept;
    let kept = told(&layout);
    assert!(kept.late > fresh.late);
    let [kept, fresh] = [kept, fresh].map(|follows| follows.early.unwrap().first);
    // A full frame, over five slots.
    assert!(
        kept > fresh && kept < fresh + Duration::from_millis(20),
        "{kept} {fresh}"
    );
    layout.route.expected = None;
    assert_eq!(told(&layout).late, None);
}

#[test]
fn who_has_nobody_to_send_a_release_on_to_leaves_with_it() {
    // No relay brings the odd group's packets, and there is no other chain.
    let layout = expecting(with_alternates(4), Probe::First);
    let mut net = layout.net(&object(usize::from(PACKETS) * 118), TELOSB, ideal);
    let alternates = layout.route.members().len();
    for n in [1, 1 + alternates, 1 + 2 * alternates] {
        net.command(n, Command::Stop);
    }
    let outcome = layout.run(&mut net, 1);
    let sink = |(at, n, _): &&(Instant, usize, _)| (*n == layout.last()).then_some(*at);
    let over = outcome
        .events
        .iter()
        .filter_map(|e| sink(&e))
        .max()
        .unwrap();
    let early = told(&layout).early.unwrap();
    let called_late = start() + early.first + early.each;
    assert!(over < called_late, "{over:?}, {called_late:?}");
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
    // Relays and alternate relays of the group that the release reaches are free with it; backups, if they listen.
    for n in (1..=alternates).chain(1 + 2 * alternates..layout.last()) {
        let ends = outcome.events.iter().filter(|(_, of, _)| *of == n);
        let ended = ends.map(|(at, ..)| *at).max();
        let is_even = n % 2 == 0;
        assert!(
            !is_even || ended <= Some(over + Duration::from_millis(5)),
            "node {n}"
        );
    }
}

/// The nodes that are still at it when another way may be called for, where nothing of `groups` passes hop `k`, counted
/// from 1, either way.
fn still_at_it(k: u8, groups: &'static [Group], progress: Progress) -> Vec<usize> {
    let mut layout = expecting(with_alternates(4), Probe::First);
    layout.route.progress = progress;
    let mut net =
        layout.net(
            &object(usize::from(PACKETS) * 118),
            TELOSB,
            move |air| match Head::parse(air.mpdu) {
                Ok(head) if groups.contains(&head.group) => {
                    let hop = match head.kind {
                        Kind::Data | Kind::Request => head.hop + 1,
                        Kind::Nack => head.hop,
                    };
                    match hop == k {
                        true => Fate::Silent,
                        false => Fate::Heard,
                    }
                }
                _ => Fate::Heard,
            },
        );
    let outcome = layout.run(&mut net, 2);
    let ended = |n: usize| {
        let ends = outcome.events.iter().filter(|(_, of, _)| *of == n);
        ends.map(|(at, ..)| *at).max().unwrap()
    };
    let early = told(&layout).early.unwrap();
    let rendezvous = (0..EARLY).map(|n| start() + early.first + early.each * n);
    let over = ended(layout.last());
    let rendezvous = rendezvous.into_iter().find(|at| *at >= over).unwrap();
    let listens = rendezvous.saturating_sub(Duration::from_millis(2));
    (1..layout.last()).filter(|n| ended(*n) > listens).collect()
}

#[test]
fn whichever_hop_carries_nothing_all_are_free_when_another_path_may_be_called() {
    for progress in [Progress::Fresh, Progress::Kept] {
        for k in 1..=4 {
            for groups in [
                &[Group::Odd][..],
                &[Group::Even],
                &[Group::Odd, Group::Even],
            ] {
                let late = still_at_it(k, groups, progress);
                assert!(
                    late.is_empty(),
                    "{progress:?}, hop {k}, {groups:?}: {late:?}"
                );
            }
        }
    }
}
