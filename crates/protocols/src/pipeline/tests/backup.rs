//! Thalweg: backup relays replace relays that die, and what arrived is kept.

use super::bench::{draw, ideal, object, thalweg, with_alternates, Layout, Memory, Node, TELOSB};
use crate::pipeline::{Chain, Command, End, Event};
use core::num::NonZeroU16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, Net};
use thalweg_units::Duration;
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Purpose, Request};
use thalweg_wire::route::{ObjectRange, Probe, Progress};
use thalweg_wire::Reader;

/// 59,000 bytes take 2.3 s.
const PACKETS: usize = 488;

fn bytes() -> Memory {
    object(PACKETS * 118)
}

/// The same route again, soon, for what is missing.
fn resumed(layout: &Layout, net: &mut Net<Node>) -> Layout {
    let mut layout = layout.clone();
    layout.route.transfer += 1;
    layout.route.progress = Progress::Kept;
    let begin = net.now() + Duration::from_millis(100);
    for n in 0..=layout.last() {
        let part = layout.part(n, begin, &TELOSB);
        net.command(n, Command::Start(part));
    }
    layout
}

#[test]
fn over_good_links_no_backup_sends() {
    let layout = thalweg(4);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!(complete.rounds, 1);
    for n in 7..layout.last() {
        assert_eq!(net.engine(n).stats().forwarded, 0, "node {n}");
    }
    assert_eq!(outcome.end(0), Some(End::Complete));
}

#[test]
fn any_relay_may_die_and_the_transfer_takes_a_few_packets_longer() {
    for dead in 1..=6 {
        let layout = thalweg(4);
        let mut net = layout.net(&bytes(), TELOSB, ideal);
        net.run_for(Duration::from_millis(900));
        net.command(dead, Command::Stop);
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &bytes());
        // Two hundred packets were on their way, half of them over the dead relay.
        let lost = PACKETS as u16 - complete.first_round;
        assert!((2..=60).contains(&lost), "relay {dead}: {lost}");
        assert_eq!(complete.rounds, 2, "relay {dead}");
        let took_over = net.engine(dead + 6).stats().forwarded;
        assert!(took_over > 60, "relay {dead}: {took_over}");
    }
}

#[test]
fn the_backup_of_a_relay_with_a_bad_link_takes_over() {
    let layout = thalweg(3);
    // Relay 3, of stage 2, gets one packet in five.
    let links = move |air: thalweg_engine::harness::Air<'_>| match air.to {
        3 if air.number % 5 != 0 => Fate::Corrupted,
        _ => Fate::Heard,
    };
    let mut net = layout.net(&bytes(), TELOSB, links);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert!(complete.rounds <= 2, "{} rounds", complete.rounds);
}

#[test]
fn a_broken_transfer_is_over_soon_and_what_arrived_is_kept() {
    let layout = thalweg(3);
    let last = layout.last();
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    net.run_for(Duration::from_millis(1_000));
    let there = net.engine(last).stats().received;
    net.command(last, Command::Stop);
    let began = net.now();
    // The source sends its round, asks thrice, and gives up; the backup is back after a rest.
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    let took = net.now().since(began);
    assert!(took < Duration::from_millis(3_000), "{took:?}");
    let layout = resumed(&layout, &mut net);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert!(there > 150 && complete.first_round >= there);
    let sent = net.engine(0).stats().data_sent;
    assert_eq!(sent, u32::from(PACKETS as u16 - complete.first_round));
}

#[test]
fn a_source_that_offers_another_object_meanwhile_is_not_mixed_with_the_first() {
    let layout = thalweg(2);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    outcome.assert_whole(&net, &bytes());
    let mut other = object(300 * 118);
    other.bytes.reverse();
    other.digest = *b"another.";
    *net.engine_mut(0).store_mut() = other.clone();
    let layout = resumed(&layout, &mut net);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &other);
    assert_eq!(complete.first_round, 0, "nothing of the first counts");
}

#[test]
fn a_part_as_long_as_the_one_before_is_not_mixed_with_it() {
    let mut layout = thalweg(2);
    let whole = object(600 * 118);
    let part = |number: u32| ObjectRange {
        offset: number * 300 * 118,
        len: 300 * 118,
    };
    layout.route.range = part(0);
    let mut net = layout.net(&whole, TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.complete().unwrap().1.len, 300 * 118);
    // Length, digest and packets reported are those of the first part.
    layout.route.range = part(1);
    let layout = resumed(&layout, &mut net);
    let outcome = layout.run(&mut net, 10);
    let (_, complete) = outcome.complete().unwrap();
    assert_eq!((complete.first_round, complete.packets), (0, 300));
    let came = &net.engine(layout.last()).store().bytes;
    assert!(came[..300 * 118] == whole.bytes[300 * 118..], "other bytes");
}

/// Node `n` of the bench, which has `hops` hops: backups and alternates come after all relays.
fn alternate_of(relay: usize, hops: u8) -> usize {
    relay + 4 * (usize::from(hops) - 1)
}

#[test]
fn over_good_links_alternates_sleep_through_the_probe_and_leave_after_it() {
    let layout = with_alternates(4);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!((complete.rounds, complete.first_round), (2, PACKETS as u16));
    for relay in 1..=6 {
        let alternate = alternate_of(relay, 4);
        assert_eq!(
            outcome.end(alternate),
            Some(End::NotNeeded),
            "node {alternate}"
        );
        assert_eq!(
            net.engine(alternate).stats().forwarded,
            0,
            "node {alternate}"
        );
    }
}

#[test]
fn the_alternate_chain_of_a_group_that_brings_nothing_is_called_for_good() {
    for dead in 1..=6 {
        let layout = with_alternates(4);
        let mut net = layout.net(&bytes(), TELOSB, ideal);
        // A relay of the group, and its backup.
        net.command(dead, Command::Stop);
        net.command(dead + 6, Command::Stop);
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &bytes());
        // Two probes, and all that is left but what the first has lost: half of 16.
        assert_eq!(
            (complete.rounds, complete.first_round),
            (3, PACKETS as u16),
            "{dead}"
        );
        let sent = net.engine(0).stats().data_sent;
        assert_eq!(sent, PACKETS as u32 + 8, "{dead}");
        for relay in 1..=6 {
            let forwarded = net.engine(alternate_of(relay, 4)).stats().forwarded;
            match relay % 2 == dead % 2 {
                true => assert!(forwarded > 200, "relay {relay}: {forwarded}"),
                false => assert_eq!(forwarded, 0, "relay {relay}"),
            }
        }
    }
}

#[test]
fn a_group_gets_through_over_whichever_of_its_relays_and_alternates_do() {
    // The odd group's relay of stage 2, its backup, and its alternate relay of stage 3.
    let layout = with_alternates(4);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    for dead in [3, 9, alternate_of(5, 4)] {
        net.command(dead, Command::Stop);
    }
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!((complete.rounds, complete.first_round), (3, PACKETS as u16));
}

#[test]
fn a_backup_takes_over_when_its_group_calls() {
    // Nothing that the relay of stage 2, or its alternate one, sends on arrives; backups hear them send it.
    let layout = with_alternates(4);
    let (relay, alternate) = (3, alternate_of(3, 4));
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let is_data = Head::parse(air.mpdu).is_ok_and(|head| head.kind == Kind::Data);
        match is_data && [relay, alternate].contains(&air.from) && air.to != relay + 6 {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!((complete.rounds, complete.first_round), (3, PACKETS as u16));
    assert!(net.engine(relay + 6).stats().forwarded > 200);
}

#[test]
fn a_transfer_whose_alternate_chain_is_no_better_ends_within_the_second_probe() {
    let layout = with_alternates(3);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    for node in [1, 5, alternate_of(1, 3)] {
        net.command(node, Command::Stop);
    }
    let outcome = layout.run(&mut net, 1);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
    assert_eq!(net.engine(0).stats().data_sent, 16 + 16);
    // Another way begins where it broke off, and probes again.
    let layout = resumed(&layout, &mut net);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    // A probe and the rest: the source knows what is missing, and need not ask first.
    let stats = net.engine(0).stats();
    assert_eq!((complete.rounds, stats.rounds), (3, 2));
    assert_eq!(stats.data_sent, PACKETS as u32 - 16);
}

#[test]
fn one_that_keeps_packets_calls_its_alternates_from_the_beginning() {
    let mut layout = with_alternates(4);
    layout.route.progress = Progress::Kept;
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    // A relay of the odd group, and its backup.
    for dead in [3, 9] {
        net.command(dead, Command::Stop);
    }
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    // This source knows nothing and asks first; then a probe that brings everything, and the rest.
    assert_eq!(complete.rounds, 3);
    assert_eq!(net.engine(0).stats().data_sent, PACKETS as u32);
}

#[test]
fn a_source_that_has_another_object_asks_before_it_sends() {
    let layout = with_alternates(3);
    let mut net = layout.net(&bytes(), TELOSB, ideal);
    for node in [1, 5, alternate_of(1, 3)] {
        net.command(node, Command::Stop);
    }
    layout.run(&mut net, 1);
    let mut other = bytes();
    other.digest[0] ^= 1;
    other.bytes[0] ^= 1;
    *net.engine_mut(0).store_mut() = other.clone();
    let layout = resumed(&layout, &mut net);
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &other);
    let stats = net.engine(0).stats();
    assert_eq!((complete.rounds, stats.rounds), (3, 3));
    assert_eq!(stats.data_sent, PACKETS as u32, "the sink keeps nothing");
}

#[test]
fn the_destination_learns_where_a_chain_loses_packets() {
    let layout = with_alternates(4);
    // Relay 3 is the odd one of stage 2. It gets one packet in four, and it has no backup.
    let mut packets = 0;
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let is_its = Head::parse(air.mpdu)
            .is_ok_and(|head| (head.kind, head.hop, head.group) == (Kind::Data, 1, Group::Odd));
        packets += u32::from(air.to == 3 && is_its);
        match air.to == 3 && is_its && packets % 4 != 0 {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    net.command(9, Command::Stop);
    let outcome = layout.run(&mut net, 10);
    outcome.assert_whole(&net, &bytes());
    let told = |event: Event| match event {
        Event::Counted { group, counts } => Some((group, counts.stages().to_vec())),
        _ => None,
    };
    let of_last = outcome.of(layout.last());
    let mut counted: Vec<_> = of_last.filter_map(|(_, event)| told(event)).collect();
    counted.sort();
    // Those of the first probe; alternate relays that join write nothing.
    let [(Group::Odd, odd), (Group::Even, even)] = &counted[..] else {
        panic!("{counted:?}");
    };
    assert_eq!(even, &[8; 5]);
    assert!(
        odd[..2] == [8; 2] && odd[2] <= 4 && odd[2..] == [odd[2]; 3],
        "{odd:?}"
    );
    let degraded = Event::Degraded {
        group: Group::Odd,
        chain: Chain::Planned,
    };
    assert!(outcome
        .of(layout.last())
        .any(|(_, event)| event == degraded));
}

#[test]
fn a_source_that_hears_no_report_on_its_probe_does_not_send_the_rest_in_vain() {
    let layout = with_alternates(3);
    let mut net = layout.net(&bytes(), TELOSB, |air| match air.to {
        0 => Fate::Silent,
        _ => Fate::Heard,
    });
    let outcome = layout.run(&mut net, 1);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(net.engine(0).stats().data_sent, 16);
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
}

/// Relay 3 does not reach relay 1 with NACKs, nor the destination relay 4: the answer
/// dies on either group's way back.
#[test]
fn an_answer_that_dies_on_each_groups_way_back_comes_over_relays_of_both() {
    let layout = with_alternates(3);
    let last = layout.last();
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let is_nack = Head::parse(air.mpdu).is_ok_and(|head| head.kind == Kind::Nack);
        match is_nack && [(3, 1), (last, 4)].contains(&(air.from, air.to)) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!((complete.rounds, complete.first_round), (2, PACKETS as u16));
    assert_eq!(outcome.end(0), Some(End::Complete));
    // The probe's request and the last one are sent twice each.
    assert_eq!(net.engine(0).stats().unanswered, 2);
}

#[test]
fn a_request_that_dies_on_each_groups_way_comes_over_relays_of_both() {
    let mut layout = with_alternates(3);
    layout.route.probe = Probe::None;
    let last = layout.last();
    // Relay 1 hears no request, nor does the destination hear one of relay 4.
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let is_request = Head::parse(air.mpdu).is_ok_and(|head| head.kind == Kind::Request);
        match is_request && [(0, 1), (4, last)].contains(&(air.from, air.to)) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes());
    assert_eq!((complete.rounds, complete.first_round), (1, PACKETS as u16));
    assert!(net.engine(0).stats().unanswered > 0);
}

fn is_release(mpdu: &[u8]) -> bool {
    let mut r = Reader::new(mpdu);
    let header = Header::parse(&mut r);
    header.is_ok_and(|header| header.head.kind == Kind::Request)
        && Request::parse(&mut r).is_ok_and(|request| request.purpose == Purpose::Release)
}

#[test]
fn a_destination_that_ended_a_transfer_waits_for_no_round() {
    let layout = with_alternates(3);
    let last = layout.last();
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        match air.to == last && is_release(air.mpdu) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    for node in [1, 5, alternate_of(1, 3)] {
        net.command(node, Command::Stop);
    }
    let outcome = layout.run(&mut net, 1);
    // A probe of the group's chain, one of its alternate, and then it is free for another path.
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(outcome.end(last), Some(End::Released));
}

#[test]
fn a_destination_that_is_deaf_for_a_second_waits_for_the_rounds_end() {
    let mut layout = with_alternates(3);
    layout.route.expected = NonZeroU16::new(PACKETS as u16);
    let last = layout.last();
    let mut frames = 0;
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        frames += u32::from(air.to == last);
        match air.to == last && (200..350).contains(&frames) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    outcome.assert_whole(&net, &bytes());
    assert_eq!(outcome.end(last), Some(End::Complete));
}

#[test]
fn a_destination_waits_for_no_round_of_which_nothing_comes() {
    let layout = with_alternates(3);
    let last = layout.last();
    // All packets of the probe arrive, no NACK reaches the source, and its release does not arrive.
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let is_nack = Head::parse(air.mpdu).is_ok_and(|head| head.kind == Kind::Nack);
        match (air.to == 0 && is_nack) || (air.to == last && is_release(air.mpdu)) {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.end(last), Some(End::TimedOut));
    let ended = |n| outcome.of(n).map(|(at, _)| at).max().unwrap();
    // The source asked three times. Its round would have taken more than two seconds.
    let patience = layout.session(last).policy.inactivity;
    assert!(ended(last).since(ended(0)) < patience);
}

#[test]
fn rounds_that_bring_nothing_end_the_transfer_though_control_gets_through() {
    // Where much is left the round after the probe is the last; of little another is tried.
    for (until, rounds) in [(100, 2), (450, 3)] {
        let mut layout = with_alternates(3);
        layout.route.expected = NonZeroU16::new(PACKETS as u16);
        let last = layout.last();
        // From that frame on which the destination gets, no packet is among them.
        let mut frames = 0;
        let mut net = layout.net(&bytes(), TELOSB, move |air| {
            let is_data = Head::parse(air.mpdu).is_ok_and(|head| head.kind == Kind::Data);
            frames += u32::from(air.to == last);
            match air.to == last && is_data && frames > until {
                true => Fate::Silent,
                false => Fate::Heard,
            }
        });
        let outcome = layout.run(&mut net, 10);
        assert_eq!(outcome.complete(), None);
        assert_eq!(outcome.end(0), Some(End::GaveUp));
        assert!((0..=last).all(|n| !net.engine(n).is_active()));
        let sent = outcome.events.iter();
        let sent = sent.filter(|(_, n, told)| *n == 0 && matches!(told, Event::RoundSent { .. }));
        assert_eq!(sent.count(), rounds, "{until}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    /// Relays die, come back never, links lose frames, source and destination are stopped and called again:
    /// every node ends, and what the destination says is whole is the object.
    #[test]
    fn it_ends_and_what_is_whole_is_the_object(
        hops in 1..=8u8, loss in 0..=150u64, seed: u64,
        deaths in proptest::collection::vec((0..60usize, 0..2_500u64), 0..6),
    ) {
        let layout = with_alternates(hops);
        let object = bytes();
        let mut net = layout.net(&object, TELOSB, move |air| {
            let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
            if draw(&ids) < loss { Fate::Corrupted } else { Fate::Heard }
        });
        let mut deaths = deaths;
        deaths.sort_by_key(|(_, at)| *at);
        let mut dead = Vec::new();
        let mut is_whole = false;
        let mut now = 0;
        let mut layout = layout;
        for attempt in 0..6u64 {
            if attempt > 0 {
                layout = resumed(&layout, &mut net);
                for n in &dead {
                    net.command(*n, Command::Stop);
                }
            }
            for (who, at) in deaths.drain(..) {
                net.run_for(Duration::from_millis(at.saturating_sub(now)));
                now = now.max(at);
                let n = who % (layout.last() + 1);
                net.command(n, Command::Stop);
                // Source and destination are switched on again.
                if n != 0 && n != layout.last() {
                    dead.push(n);
                }
            }
            let outcome = layout.run(&mut net, 19);
            for n in 0..=layout.last() {
                prop_assert!(!net.engine(n).is_active(), "node {n} hangs");
            }
            if outcome.complete().is_some() {
                outcome.assert_whole(&net, &object);
                is_whole = true;
                break;
            }
        }
        prop_assert!(is_whole || loss > 60 || !dead.is_empty(), "nothing stood in the way");
    }
}
