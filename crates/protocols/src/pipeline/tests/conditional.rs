//! Packets that wait in relays for the next one: nothing is lost by waiting, and time is what the
//! schedule says.

use super::bench::{draw, ideal, layout, object, p3, start, Layout, TELOSB};
use crate::pipeline::{Command, End, Event, GiveUp, SetupError};
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, SentFrame};
use thalweg_engine::{BoardTiming, Passing};
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::{Head, Kind, HEADER_BYTES, MAX_HOPS, REQUEST_BODY_BYTES};
use thalweg_wire::route::Scheme;

fn cit(hops: u8) -> Layout {
    layout(Scheme::PipCit, hops, 1)
}

/// When node `n` sent frames of `kind`, and what.
fn of(sent: &[SentFrame], n: usize, kind: Kind) -> Vec<(Instant, u8)> {
    sent.iter()
        .filter(|f| f.from == n && Head::parse(&f.mpdu).is_ok_and(|h| h.kind == kind))
        .map(|f| (f.start + SFD_OFFSET, f.mpdu[5]))
        .collect()
}

#[test]
fn each_packet_goes_on_as_the_next_comes_in() {
    for hops in [2, 3, 6, MAX_HOPS] {
        let layout = cit(hops);
        let object = object(30 * 118);
        let mut net = layout.net(&object, BoardTiming::IDEAL, ideal);
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.first_round, complete.rounds), (30, 1), "{hops}");
        assert_eq!(outcome.end(0), Some(End::Complete));
        let part = layout.part(0, start(), &BoardTiming::IDEAL);
        let period = part.cadence.data_period();
        let forth = air_time(125) + BoardTiming::IDEAL.turnaround;
        assert_eq!(period, forth * 2);
        for stage in 1..usize::from(hops) {
            assert_eq!(net.engine(stage).stats().refused, 0);
            let before = of(net.sent(), stage - 1, Kind::Data);
            let after = of(net.sent(), stage, Kind::Data);
            assert_eq!(after.len(), 30);
            // Packet n - 1 with packet n's reception; the last with the request's.
            for n in 1..30 {
                assert_eq!(after[n - 1].1, before[n - 1].1);
                assert_eq!(after[n - 1].0, before[n].0 + forth, "stage {stage}");
            }
            let asked = of(net.sent(), stage - 1, Kind::Request)[0].0;
            let short = air_time(HEADER_BYTES + REQUEST_BODY_BYTES) + BoardTiming::IDEAL.turnaround;
            assert_eq!(after[29].0, asked + short);
            let asks = of(net.sent(), stage, Kind::Request)[0].0;
            let shorter = air_time(125) - air_time(HEADER_BYTES + REQUEST_BODY_BYTES);
            assert_eq!(asks, after[29].0 + period + shorter);
        }
    }
}

#[test]
fn an_exchange_takes_what_the_formula_says() {
    for hops in 1..=8u8 {
        let layout = cit(hops).payload(90);
        let object = object(20 * 90);
        let last = layout.last();
        let mut lost = false;
        let mut net = layout.net(&object, BoardTiming::IDEAL, move |air| {
            let seventh = air.to == last && air.mpdu[5] == 7;
            if seventh && Head::parse(air.mpdu).is_ok_and(|h| h.kind == Kind::Data) && !lost {
                lost = true;
                return Fate::Corrupted;
            }
            Fate::Heard
        });
        let outcome = layout.run(&mut net, 10);
        assert_eq!(outcome.assert_whole(&net, &object).rounds, 2);
        let sfds = of(net.sent(), 0, Kind::Data);
        let cadence = layout.part(0, start(), &BoardTiming::IDEAL).cadence;
        assert_eq!(sfds.len(), 21);
        assert_eq!(
            sfds[20].0.since(sfds[19].0),
            cadence.exchange(15, 1),
            "{hops}"
        );
    }
}

#[test]
fn what_a_lost_request_leaves_behind_goes_with_the_next() {
    for lossy_hop in 0..4usize {
        let layout = cit(4);
        let object = object(10 * 118);
        let mut left = 2;
        let mut net = layout.net(&object, TELOSB, move |air| {
            let request = Head::parse(air.mpdu).is_ok_and(|h| h.kind == Kind::Request);
            if request && air.from == lossy_hop && air.to == lossy_hop + 1 && left > 0 {
                left -= 1;
                return Fate::Corrupted;
            }
            Fate::Heard
        });
        let outcome = layout.run(&mut net, 20);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.first_round, complete.rounds), (10, 1));
        assert_eq!(net.engine(0).stats().unanswered, 2);
        // Once each, from every node.
        for n in 0..4 {
            assert_eq!(of(net.sent(), n, Kind::Data).len(), 10, "node {n}");
        }
    }
}

#[test]
fn a_strangers_frame_neither_passes_for_a_packet_nor_stops_the_pipeline() {
    // Noise that a relay takes in whole: it begins like a packet of the stage before, or like nothing.
    for fifth in [0x00, 0xa0, 0xff] {
        let layout = cit(3);
        let object = object(20 * 118);
        let mut net = layout.net(&object, BoardTiming::IDEAL, ideal);
        net.run_for(Duration::from_millis(90));
        let mut stranger = [0x41, 0x88, 7, 0x77, fifth, 1, 2, 3].to_vec();
        stranger.resize(20, 9);
        let frame = thalweg_engine::RadioEvent::Frame {
            mpdu: &stranger,
            sfd: net.now(),
            end: net.now(),
            rssi: thalweg_units::Dbm(-50.0),
            lqi: 107,
        };
        net.inject(1, frame);
        let outcome = layout.run(&mut net, 10);
        assert_eq!(outcome.assert_whole(&net, &object).rounds, 1);
    }
}

#[test]
fn where_groups_take_turns_nothing_waits() {
    let layout = p3(3, 2);
    let mut net = layout.net(&object(100), TELOSB, ideal);
    net.command(1, Command::Stop);
    let mut part = layout.part(1, start(), &TELOSB);
    part.session.policy.passing = Passing::Conditional;
    net.command(1, Command::Start(part));
    let refused = Event::Refused(SetupError::ConditionalNeedsOnePath);
    net.run_for(Duration::from_millis(1));
    assert!(net.take_events().iter().any(|e| e.2 == refused));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn losses_are_repaired(
        hops in 1..=8u8, payload in 1..=118u8, packets in 1..150usize, loss in 0..=150u64, seed: u64,
    ) {
        let mut layout = cit(hops).payload(payload);
        layout.give_up = Some(GiveUp::OnInactivity);
        // Six tries in a row are lost in a few of a thousand exchanges over eight hops of 15 %.
        let loss = if hops > 4 { loss / 3 } else { loss };
        let object = object(packets * usize::from(payload));
        let mut net = layout.net(&object, TELOSB, move |air| {
            let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
            if draw(&ids) < loss { Fate::Corrupted } else { Fate::Heard }
        });
        let outcome = layout.run(&mut net, 120);
        outcome.assert_whole(&net, &object);
    }
}
