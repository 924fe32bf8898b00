//! Random losses: the object always arrives, byte by byte.

use super::bench::{
    draw, layout, object, p3, pip, thalweg, with_alternates, Layout, Memory, Node, Outcome, TELOSB,
};
use crate::pipeline::{Event, GiveUp};
use proptest::prelude::*;
use thalweg_engine::harness::{Fate, Net};
use thalweg_wire::pipeline::{Head, Header, Kind, Nack};
use thalweg_wire::route::{Hopping, Percent, Scheme};
use thalweg_wire::Reader;

/// Loses `loss` per mille of all frames on every link, each by itself.
fn run(layout: &Layout, object: &Memory, loss: u64, seed: u64) -> (Outcome, Net<Node>) {
    let mut net = layout.net(object, TELOSB, move |air| {
        let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
        if draw(&ids) < loss {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    });
    let outcome = layout.run(&mut net, 120);
    (outcome, net)
}

#[test]
fn packets_that_a_store_has_no_room_for_come_in_the_next_rounds() {
    for layout in [p3(3, 2), pip(3), thalweg(3)] {
        let object = object(9_000);
        let mut net = layout.net(&object, TELOSB, |_| Fate::Heard);
        let last = layout.last();
        net.engine_mut(last).store_mut().one_of = 2;
        let outcome = layout.run(&mut net, 120);
        let complete = outcome.assert_whole(&net, &object);
        // Half of what is left in each round.
        assert!(complete.rounds >= 6, "{complete:?}");
        assert!(complete.first_round <= complete.packets.div_ceil(2));
        assert!(net.engine(last).stats().no_room >= u32::from(complete.packets) / 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p3_completes_over_several_paths(
        hops in 1..=10u8, paths in 4..=10u8, payload in 1..=118u8, packets in 1..300usize,
        cut in 0..118usize, loss in 50..=400u64, seed: u64,
    ) {
        // Two relays per group and stage bear losses of 40 % over ten hops only with patience.
        let loss = if paths < 6 { loss.min(250) } else { loss };
        let layout = p3(hops, paths).payload(payload);
        let payload = usize::from(payload);
        let object = object((packets * payload).saturating_sub(cut % payload).max(1));
        let (outcome, net) = run(&layout, &object, loss, seed);
        let complete = outcome.assert_whole(&net, &object);
        prop_assert_eq!(usize::from(complete.packets), object.bytes.len().div_ceil(payload));
    }

    #[test]
    fn a_few_hops_of_one_path_complete_too(
        hops in 1..=4u8, p3_policy: bool, payload in 1..=118u8, packets in 1..200usize,
        loss in 20..=150u64, seed: u64,
    ) {
        let layout = if p3_policy { p3(hops, 1) } else { pip(hops) }.payload(payload);
        let object = object(packets * usize::from(payload));
        let (outcome, net) = run(&layout, &object, loss, seed);
        if p3_policy || outcome.complete().is_some() {
            outcome.assert_whole(&net, &object);
        } else {
            prop_assert!(outcome.end(0).is_some(), "PIP gave up");
        }
    }

    #[test]
    fn hopping_survives_losses(hops in 1..=6u8, loss in 20..=120u64, seed: u64) {
        let mut layout = layout(Scheme::Pip(Hopping::EveryCyclePair), hops, 1);
        layout.give_up = Some(GiveUp::OnInactivity);
        let object = object(6_000);
        let (outcome, net) = run(&layout, &object, loss, seed);
        outcome.assert_whole(&net, &object);
    }
}

#[test]
fn rounds_and_retransmissions_add_up() {
    let layout = p3(4, 6);
    let object = object(500 * 118);
    let (outcome, net) = run(&layout, &object, 300, 7);
    let complete = outcome.assert_whole(&net, &object);
    let source = net.engine(0).stats();
    assert!(complete.rounds > 1);
    assert_eq!(source.rounds, complete.rounds);
    let sent: u32 = outcome
        .of(0)
        .filter_map(|(_, e)| match e {
            Event::RoundSent { sent, .. } => Some(u32::from(sent)),
            _ => None,
        })
        .sum();
    assert_eq!(sent, source.data_sent);
    assert_eq!(source.retransmitted(), sent - 500);
    let told = |n| {
        outcome.of(n).find_map(|(_, e)| match e {
            Event::RoundReported {
                round: 0,
                received,
                packets: 500,
            } => Some(received),
            _ => None,
        })
    };
    assert_eq!(told(0), Some(complete.first_round));
    assert_eq!(told(layout.last()), Some(complete.first_round));
    let progress = outcome
        .of(layout.last())
        .filter(|(_, e)| matches!(e, Event::Progress { .. }));
    assert_eq!(progress.count(), 500 / 16);
}

#[test]
fn the_largest_transfer_needs_many_nack_segments() {
    let layout = p3(2, 6).payload(20);
    let object = object(16_384 * 20);
    let (outcome, net) = run(&layout, &object, 200, 3);
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!(complete.packets, 16_384);
    assert!(complete.first_round < 16_384);
}

/// Telling of it takes longer than the destination waits for an answer, and the answer comes from seven hops away.
#[test]
fn a_destination_that_tells_of_thousands_of_packets_waits_for_the_first_of_them() {
    let layout = thalweg(7);
    let object = object(16_384 * 118);
    let last = layout.last();
    let mut net = layout.net(&object, TELOSB, move |air| {
        let head = Head::parse(air.mpdu).ok().filter(|_| air.to == last);
        let is_data = head.is_some_and(|head| head.kind == Kind::Data);
        match is_data && draw(&[air.from as u64, air.number as u64]) < 200 {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 120);
    let complete = outcome.assert_whole(&net, &object);
    assert!(complete.first_round < 16_384 - 3_000);
    assert_eq!(net.engine(0).stats().unanswered, 0);
}

/// The source goes on with what it knows, which is little of what is missing, and no chain is bad for that.
#[test]
fn a_source_that_hears_the_first_frames_of_a_nack_goes_on_with_those() {
    let layout = with_alternates(3);
    let object = object(4_000 * 118);
    let last = layout.last();
    let mut net = layout.net(&object, TELOSB, move |air| {
        let mut body = Reader::new(air.mpdu);
        let Header { head, number } = Header::parse(&mut body).unwrap();
        let is_lost = match head.kind {
            Kind::Data if air.to == last && number > 48 => {
                draw(&[air.from as u64, air.number as u64]) < 100
            }
            Kind::Nack if air.to == 0 && number == 1 => Nack::parse(body).unwrap().first > 500,
            _ => false,
        };
        match is_lost {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 60);
    let complete = outcome.assert_whole(&net, &object);
    assert!(complete.rounds > 3);
    let is_degraded = |(_, event)| matches!(event, Event::Degraded { .. });
    assert!(!outcome.of(last).any(is_degraded));
}

#[test]
fn a_bad_last_but_one_relay_is_silent_and_nothing_is_lost() {
    let mut layout = p3(3, 6);
    layout.route.threshold = Percent::new(95);
    let object = object(300 * 118);
    // Node 7, first of stage 2, misses every second frame of its own.
    let mut net = layout.net(&object, TELOSB, |air| {
        if air.to == 7 && air.mpdu[5] % 4 == 0 {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    });
    let outcome = layout.run(&mut net, 30);
    assert_eq!(outcome.assert_whole(&net, &object).rounds, 1);
    let withheld = |n: usize| net.engine(n).stats().withheld;
    assert!(withheld(7) > 50, "{}", withheld(7));
    assert!((0..=layout.last())
        .filter(|n| *n != 7)
        .all(|n| withheld(n) == 0));
}

#[test]
fn a_stage_that_is_all_below_the_threshold_speaks_in_the_end() {
    let mut layout = p3(3, 4);
    layout.route.threshold = Percent::new(95);
    let object = object(100 * 118);
    let (outcome, net) = run(&layout, &object, 200, 11);
    outcome.assert_whole(&net, &object);
    assert!((5..=8).any(|n| net.engine(n).stats().withheld > 0));
}
