//! Thalweg: the pauses of all stages in a long round, in which the destination says that packets come.

use super::bench::{draw, ideal, object, start, with_alternates, Layout, TELOSB};
use crate::pipeline::{Cadence, Command, End};
use crate::thalweg::follow_ups;
use core::num::NonZeroU16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::{Header, Kind};
use thalweg_wire::Reader;

/// Packets at the destination at the first pause.
const FIRST: u16 = 2_048;
/// A transfer of so many has one pause.
const PACKETS: u16 = 3_100;

fn header(air: &Air<'_>) -> Header {
    Header::parse(&mut Reader::new(air.mpdu)).unwrap()
}

fn cadence(layout: &Layout) -> Cadence {
    Cadence::new(&layout.session(0), &TELOSB)
}

/// What the source sent, and how many rounds there were, where frames have the fate that `fate` says, of so many
/// packets.
fn transfer(
    hops: u8,
    packets: u16,
    mut fate: impl FnMut(&Layout, &Air<'_>) -> Fate + 'static,
) -> (u32, u16, u32) {
    let layout = with_alternates(hops);
    let bytes = object(usize::from(packets) * 118);
    let judged = with_alternates(hops);
    let mut net = layout.net(&bytes, TELOSB, move |air| fate(&judged, &air));
    let outcome = layout.run(&mut net, 40);
    let complete = outcome.assert_whole(&net, &bytes);
    assert_eq!(outcome.end(0), Some(End::Complete));
    let stats = net.engine(0).stats();
    (stats.data_sent, complete.rounds, stats.unanswered)
}

#[test]
fn in_a_pause_nothing_is_on_the_air_but_nacks() {
    for hops in 2..=8 {
        let layout = with_alternates(hops);
        let heard: Rc<RefCell<Vec<(Instant, Kind, u16)>>> = Rc::default();
        let log = Rc::clone(&heard);
        let bytes = object(usize::from(PACKETS) * 118);
        let last = layout.last();
        let mut net = layout.net(&bytes, TELOSB, move |air| {
            let Header { head, number } = header(&air);
            log.borrow_mut().push((air.start, head.kind, number));
            Fate::Heard
        });
        let outcome = layout.run(&mut net, 40);
        outcome.assert_whole(&net, &bytes);
        let cadence = cadence(&layout);
        let heard = heard.borrow();
        // The source sends its last packet before it.
        let before = FIRST + u16::from(hops) - 2;
        let is_last =
            |(_, kind, number): &&(Instant, Kind, u16)| (*kind, *number) == (Kind::Data, before);
        let begins = heard.iter().find(is_last).unwrap().0 + cadence.cycle();
        // Clocks of stages are apart by what software takes.
        let within = |at: Instant| {
            let slack = Duration::from_micros(200);
            at + slack >= begins && at + slack < begins + cadence.pause()
        };
        let kinds: Vec<Kind> = (heard.iter())
            .filter_map(|(at, kind, _)| within(*at).then_some(*kind))
            .collect();
        let of = std::format!("over {hops} hops: {kinds:?}");
        assert!(kinds.iter().all(|kind| *kind == Kind::Nack), "{of}");
        // A copy over each group, heard by a relay at least.
        assert!(kinds.len() >= 2 * usize::from(hops), "{of}");
        assert_eq!(outcome.end(last), Some(End::Complete));
    }
}

#[test]
fn objects_of_any_length_arrive_in_a_probe_and_a_round() {
    for hops in [2, 3, 8] {
        for packets in [1, 63, 64, 2_048, 2_050, 3_071, 3_072, 3_073, 5_119, 5_120] {
            let (sent, rounds, unanswered) = transfer(hops, packets, |_, _| Fate::Heard);
            let expected = (u32::from(packets), 1 + u16::from(packets >= 64), 0);
            assert_eq!(
                (sent, rounds, unanswered),
                expected,
                "{packets} packets over {hops} hops"
            );
        }
    }
}

/// Loses packets `of` at the destination, the first time that they come.
fn missing(of: &'static [u16]) -> impl FnMut(&Layout, &Air<'_>) -> Fate {
    let mut lost = Vec::new();
    move |layout, air| {
        let header = header(air);
        let is_it = header.head.kind == Kind::Data && of.contains(&header.number);
        match is_it && air.to == layout.last() && !lost.contains(&header.number) {
            true => {
                lost.push(header.number);
                Fate::Corrupted
            }
            false => Fate::Heard,
        }
    }
}

#[test]
fn a_source_that_hears_no_nack_in_a_pause_asks_after_it_and_goes_on() {
    let sent = u32::from(PACKETS);
    for hops in [2, 4] {
        let mut silent = false;
        let lost = move |layout: &Layout, air: &Air<'_>| {
            let Header { head, number } = header(air);
            silent |= head.kind == Kind::Data && number == FIRST - 1 && air.to == layout.last();
            silent &= head.kind != Kind::Request;
            match silent && air.from == layout.last() {
                true => Fate::Silent,
                false => Fate::Heard,
            }
        };
        // The probe, what comes before the pause, and the rest.
        assert_eq!(transfer(hops, PACKETS, lost), (sent, 3, 0));
        // Without the last packet before it the destination says nothing.
        assert_eq!(
            transfer(hops, PACKETS, missing(&[FIRST - 1])),
            (sent + 1, 3, 0)
        );
    }
    // A few others are missed at the end.
    let of = &[40, 2_000, 2_046, 2_048, 2_049, 3_000];
    assert_eq!(transfer(4, PACKETS, missing(of)), (sent + 6, 3, 0));
}

#[test]
fn a_relay_that_loses_what_it_would_keep_loses_no_more() {
    for hops in 2..=6u16 {
        for stage in 1..hops {
            let kept = FIRST + hops - 1 - stage;
            let mut first = None;
            let loses = move |layout: &Layout, air: &Air<'_>| {
                let header = header(air);
                let is_it = header.head.kind == Kind::Data && header.number == kept;
                let is_here = is_it && layout.stages[air.to] == stage as u8;
                match is_here && *first.get_or_insert(air.start) == air.start {
                    true => Fate::Corrupted,
                    false => Fate::Heard,
                }
            };
            let (sent, rounds, unanswered) = transfer(hops as u8, PACKETS, loses);
            let expected = (u32::from(PACKETS) + 1, 3, 0);
            assert_eq!(
                (sent, rounds, unanswered),
                expected,
                "stage {stage} of {hops}"
            );
        }
    }
}

/// A transfer of so many packets has two pauses.
const MANY: u16 = 6_000;

fn long(hops: u8) -> Layout {
    let mut layout = with_alternates(hops);
    layout.route.expected = NonZeroU16::new(MANY);
    layout
}

#[test]
fn a_long_round_pauses_now_and_then() {
    for last_even in [None, Channel::new(18).ok()] {
        let mut layout = long(3);
        layout.route.last_even = last_even;
        let bytes = object(usize::from(MANY) * 118);
        let words: Rc<RefCell<Vec<Instant>>> = Rc::default();
        let log = Rc::clone(&words);
        let last = layout.last();
        let mut net = layout.net(&bytes, TELOSB, move |air| {
            if header(&air).head.kind == Kind::Nack && air.from == last {
                log.borrow_mut().push(air.start);
            }
            Fate::Heard
        });
        let outcome = layout.run(&mut net, 40);
        assert_eq!(outcome.assert_whole(&net, &bytes).rounds, 2);
        let stats = net.engine(0).stats();
        assert_eq!((stats.data_sent, stats.unanswered), (MANY.into(), 0));
        let mut words = words.borrow().clone();
        words.dedup_by(|a, b| a.since(*b) < Duration::from_millis(20));
        // After the probe, 2,048 packets and 4,096, and at the end.
        assert_eq!(words.len(), 4, "{words:?}");
        let session = layout.session(last);
        let late = follow_ups(&layout.route, &session, &cadence(&layout)).late;
        let ended = outcome.of(last).map(|(at, _)| at).max();
        assert!(ended <= late.map(|late| start() + late), "{ended:?}");
    }
}

#[test]
fn a_chain_that_dies_in_a_long_round_is_missed_at_the_next_pause() {
    let layout = long(3);
    let bytes = object(usize::from(MANY) * 118);
    let mut net = layout.net(&bytes, TELOSB, ideal);
    // The odd relay of stage 1, and its backup.
    net.run_for(Duration::from_secs(2));
    for node in [1, 5] {
        net.command(node, Command::Stop);
    }
    let outcome = layout.run(&mut net, 40);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
    assert_eq!(net.engine(0).stats().data_sent, 2_048 + 2);
}

#[test]
fn a_source_whose_destination_is_gone_learns_it_at_the_next_pause() {
    let layout = long(3);
    let bytes = object(usize::from(MANY) * 118);
    let mut net = layout.net(&bytes, TELOSB, ideal);
    net.run_for(Duration::from_secs(2));
    net.command(layout.last(), Command::Stop);
    let outcome = layout.run(&mut net, 40);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(net.engine(0).stats().data_sent, 2_048 + 2);
}

#[test]
fn a_destination_that_is_deaf_in_a_pause_waits_for_no_more() {
    let layout = long(3);
    let last = layout.last();
    let bytes = object(usize::from(MANY) * 118);
    let sent = 2_048 + 2;
    let cadence = cadence(&layout);
    let deaf = start() + cadence.cycle() * (sent - 20);
    let mut net = layout.net(&bytes, TELOSB, move |air| {
        match air.to == last && air.start > deaf {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 40);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(outcome.end(last), Some(End::TimedOut));
    let ended = |n| outcome.of(n).map(|(at, _)| at).max().unwrap();
    // 4,000 packets more would have taken 17 s.
    let patience = layout.session(last).policy.inactivity + cadence.cycle() * 30;
    assert!(ended(last) < deaf + patience, "{:?}", ended(last));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    /// However long an object is: it arrives whole over links that lose little, and all nodes end.
    #[test]
    fn long_objects_arrive_over_links_that_lose_little(
        hops in 2..=6u8, packets in 2_000..=4_200u16, loss in 0..=20u64, seed: u64, parts: bool,
    ) {
        let mut layout = with_alternates(hops);
        layout.route.last_even = Channel::new(18).ok().filter(|_| parts);
        let last = layout.last();
        let bytes = object(usize::from(packets) * 118);
        let mut net = layout.net(&bytes, TELOSB, move |air| {
            let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
            if draw(&ids) < loss { Fate::Corrupted } else { Fate::Heard }
        });
        let outcome = layout.run(&mut net, 60);
        let active: Vec<_> = (0..=last).filter(|&n| net.engine(n).is_active()).collect();
        prop_assert!(active.is_empty(), "{active:?} hang");
        match outcome.complete() {
            Some(_) => {
                outcome.assert_whole(&net, &bytes);
            }
            None => prop_assert!(loss > 10, "nothing stood in the way"),
        }
    }
}
