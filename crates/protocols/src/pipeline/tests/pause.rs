//! Thalweg: the pause of all stages, in which the destination says that the first packets came.

use super::bench::{draw, ideal, object, start, with_spares, Layout, TELOSB};
use crate::pipeline::{Cadence, Command, End};
use crate::thalweg::follows;
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

const PACKETS: u16 = 200;

fn header(air: &Air<'_>) -> Header {
    Header::parse(&mut Reader::new(air.mpdu)).unwrap()
}

fn cadence(layout: &Layout) -> Cadence {
    Cadence::new(&layout.session(0), &TELOSB)
}

/// What the source sent, and how many rounds there were, where frames have the fate that `fate` says, of these packets.
fn transfer(
    hops: u8,
    packets: u16,
    mut fate: impl FnMut(&Layout, &Air<'_>) -> Fate + 'static,
) -> (u32, u16, u32) {
    let layout = with_spares(hops);
    let bytes = object(usize::from(packets) * 118);
    let judged = with_spares(hops);
    let mut net = layout.net(&bytes, TELOSB, move |air| fate(&judged, &air));
    let outcome = layout.run(&mut net, 10);
    let complete = outcome.assert_whole(&net, &bytes);
    assert_eq!(outcome.end(0), Some(End::Complete));
    let stats = net.engine(0).stats();
    (stats.data_sent, complete.rounds, stats.unanswered)
}

#[test]
fn in_the_pauses_nothing_is_on_the_air_but_the_word() {
    // The first packet is lost: there is another pause.
    for (hops, of, pauses) in (2..=8).flat_map(|hops| [(hops, &[][..], 1), (hops, &[0], 2)]) {
        let layout = with_spares(hops);
        let judged = with_spares(hops);
        let mut loses = missing(of);
        let heard: Rc<RefCell<Vec<(Instant, Kind)>>> = Rc::default();
        let log = Rc::clone(&heard);
        let bytes = object(usize::from(PACKETS) * 118);
        let mut net = layout.net(&bytes, TELOSB, move |air| {
            log.borrow_mut().push((air.start, header(&air).head.kind));
            loses(&judged, &air)
        });
        let outcome = layout.run(&mut net, 10);
        outcome.assert_whole(&net, &bytes);
        let cadence = cadence(&layout);
        let under_way = u64::from(hops) - 1;
        for (pause, packets) in [16, 48].into_iter().enumerate().take(pauses) {
            let begins = start() + cadence.cycle() * (packets + under_way);
            // The SFD is over .16 ms after the first symbol.
            let begins = (begins + cadence.pause() * pause as u64)
                .saturating_sub(Duration::from_micros(200));
            let within = |at: Instant| at >= begins && at < begins + cadence.pause();
            let heard = heard.borrow();
            let kinds: Vec<Kind> = (heard.iter())
                .filter_map(|(at, kind)| within(*at).then_some(*kind))
                .collect();
            let of = std::format!("pause {pause} over {hops} hops: {kinds:?}");
            assert!(kinds.iter().all(|kind| *kind == Kind::Nack), "{of}");
            // A copy over each group, heard by a relay at least.
            assert!(kinds.len() >= 2 * usize::from(hops), "{of}");
        }
    }
}

#[test]
fn objects_of_any_length_go_through_the_pause() {
    for hops in 2..=8 {
        for packets in (1..=80).chain([200]) {
            let (sent, rounds, unanswered) = transfer(hops, packets, |_, _| Fate::Heard);
            let expected = (u32::from(packets), 1, 0);
            assert_eq!(
                (sent, rounds, unanswered),
                expected,
                "{packets} packets over {hops} hops"
            );
        }
    }
}

#[test]
fn a_source_that_hears_no_word_asks_after_the_pause() {
    let pause = start() + Duration::from_millis(90);
    let lost = move |layout: &Layout, air: &Air<'_>| match air.from == layout.last()
        && air.start < pause
    {
        true => Fate::Silent,
        false => Fate::Heard,
    };
    // The look, and the rest.
    assert_eq!(transfer(4, PACKETS, lost), (PACKETS.into(), 2, 0));
}

/// Loses packets `of` at the destination, the first time that they come.
fn missing(of: &'static [u16]) -> impl FnMut(&Layout, &Air<'_>) -> Fate {
    move |layout, air| {
        let header = header(air);
        let is_it = header.head.kind == Kind::Data && of.contains(&header.number);
        let first = start() + cadence(layout).cycle() * (u64::from(header.number) + 10);
        match is_it && air.to == layout.last() && air.start < first {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    }
}

#[test]
fn after_a_few_lost_packets_there_is_another_pause() {
    let sent = u32::from(PACKETS);
    // All but a few are there at the end of the first round.
    for (lost, of) in [
        (1, &[0][..]),
        (1, &[7]),
        (6, &[0, 1, 2, 3, 4, 5]),
        (3, &[3, 20, 41]),
    ] {
        assert_eq!(
            transfer(4, PACKETS, missing(of)),
            (sent + lost, 2, 0),
            "{of:?}"
        );
    }
    // Without the last packet before a pause, or with too few of a group, the destination says nothing. The source asks, and is
    // told of another look, or that all is well.
    for (rounds, of) in [
        (3, &[15][..]),
        (3, &[0, 2, 4, 6]),
        (2, &[1, 47]),
        (2, &[1, 20, 22, 24]),
        (3, &[1, 20, 22, 24, 26]),
    ] {
        let lost = of.len() as u32;
        assert_eq!(
            transfer(4, PACKETS, missing(of)),
            (sent + lost, rounds, 0),
            "{of:?}"
        );
    }
    // What is under way in the pause is missed at the end.
    assert_eq!(transfer(4, PACKETS, missing(&[16])), (sent + 1, 2, 0));
}

#[test]
fn a_relay_that_loses_what_it_would_keep_loses_no_more() {
    for hops in 2..=6u16 {
        for stage in 1..hops {
            let kept = 16 + hops - 1 - stage;
            let mut lost = 0;
            let loses = move |layout: &Layout, air: &Air<'_>| {
                let header = header(air);
                let is_it = header.head.kind == Kind::Data && header.number == kept;
                lost += u32::from(is_it && layout.stages[air.to] == stage as u8);
                match is_it && layout.stages[air.to] == stage as u8 && lost <= 2 {
                    true => Fate::Corrupted,
                    false => Fate::Heard,
                }
            };
            let (sent, rounds, unanswered) = transfer(hops as u8, PACKETS, loses);
            let expected = (u32::from(PACKETS) + 1, 2, 0);
            assert_eq!(
                (sent, rounds, unanswered),
                expected,
                "stage {stage} of {hops}"
            );
        }
    }
}

#[test]
fn the_next_transfer_of_the_same_nodes_pauses_anew() {
    let mut layout = with_spares(4);
    let bytes = object(usize::from(PACKETS) * 118);
    let mut net = layout.net(&bytes, TELOSB, ideal);
    let _ = layout.run(&mut net, 10);
    layout.route.transfer += 1;
    let begin = net.now() + Duration::from_millis(100);
    for n in 0..=layout.last() {
        let part = layout.part(n, begin, &TELOSB);
        net.command(n, Command::Start(part));
    }
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.assert_whole(&net, &bytes).rounds, 1);
}

/// A transfer of so many packets that there are pauses in its first round, each after some 2,000.
const MANY: u16 = 6_000;

fn long(hops: u8) -> Layout {
    let mut layout = with_spares(hops);
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
        assert_eq!(outcome.assert_whole(&net, &bytes).rounds, 1);
        let stats = net.engine(0).stats();
        assert_eq!((stats.data_sent, stats.unanswered), (MANY.into(), 0));
        let mut words = words.borrow().clone();
        words.dedup_by(|a, b| a.since(*b) < Duration::from_millis(20));
        // After 16 packets, 2,064 and 4,112, and at the end.
        assert_eq!(words.len(), 4, "{words:?}");
        let session = layout.session(last);
        let late = follows(&layout.route, &session, &cadence(&layout)).late;
        let ended = outcome.of(last).map(|(at, _)| at).max();
        assert!(ended <= late.map(|late| start() + late), "{ended:?}");
    }
}

#[test]
fn a_chain_that_dies_in_a_long_round_is_missed_at_the_next_pause() {
    let layout = long(3);
    let bytes = object(usize::from(MANY) * 118);
    let mut net = layout.net(&bytes, TELOSB, ideal);
    // The odd relay of stage 1, and who stands by it.
    net.run_for(Duration::from_secs(2));
    for node in [1, 5] {
        net.command(node, Command::Stop);
    }
    let outcome = layout.run(&mut net, 40);
    assert_eq!(outcome.end(0), Some(End::GaveUp));
    assert_eq!(outcome.end(layout.last()), Some(End::Released));
    assert_eq!(net.engine(0).stats().data_sent, 2_048 + 16 + 2);
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
    assert_eq!(net.engine(0).stats().data_sent, 2_048 + 16 + 2);
}

#[test]
fn a_destination_that_is_deaf_in_a_pause_waits_for_no_more() {
    let layout = long(3);
    let last = layout.last();
    let bytes = object(usize::from(MANY) * 118);
    let sent = 2_048 + 16 + 2;
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

    /// However long an object is, and whatever was expected of it: it arrives whole over links that lose little, and all nodes
    /// end.
    #[test]
    fn wrong_expectations_do_no_harm(
        hops in 2..=6u8, packets in 1..=2_300u16, expected in 0..=8_000u16, loss in 0..=20u64, seed: u64, parts: bool,
    ) {
        let mut layout = with_spares(hops);
        layout.route.expected = NonZeroU16::new(expected);
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
