//! Thalweg: a destination that hears its two groups on channels of their own.

use super::bench::{draw, ideal, object, with_alternates, Layout, Memory, TELOSB};
use crate::pipeline::{Command, Complete, End, Event};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate};
use thalweg_units::{Channel, Duration};
use thalweg_wire::pipeline::{Group, Head, Header, Kind};
use thalweg_wire::route::Progress;
use thalweg_wire::Reader;

/// 59,000 bytes.
const PACKETS: u16 = 488;

fn bytes() -> Memory {
    object(usize::from(PACKETS) * 118)
}
fn channel(number: u8) -> Channel {
    Channel::new(number).unwrap()
}
/// On which the destination hears the even group; the odd one comes on 26.
const EVEN: u8 = 18;

fn parted(hops: u8) -> Layout {
    let mut layout = with_alternates(hops);
    layout.route.last_even = Some(channel(EVEN));
    layout
}

/// Runs a transfer of 4 hops whose destination hears nothing on channel `bad` from that transmission on; what it
/// says at the end, and how many packets the source sent.
fn gone_bad(bad: u8, from: usize) -> (Complete, u16) {
    let layout = parted(4);
    let last = layout.last();
    let is_gone = move |air: &Air<'_>| air.to == last && air.channel == channel(bad);
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        match is_gone(&air) && air.number > from {
            true => Fate::Silent,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    assert_eq!(outcome.end(0), Some(End::Complete));
    let complete = outcome.assert_whole(&net, &bytes());
    (complete, net.engine(0).stats().data_sent as u16)
}

#[test]
fn a_destination_follows_both_groups() {
    for hops in 2..=8 {
        let layout = parted(hops);
        let last = layout.last();
        let mut net = layout.net(&bytes(), TELOSB, move |air| {
            let head = Head::parse(air.mpdu).ok().filter(|_| air.to == last);
            if let Some(head) = head.filter(|head| head.kind == Kind::Data) {
                let number = match head.group {
                    Group::Odd => 26,
                    Group::Even => EVEN,
                };
                assert_eq!(air.channel, channel(number));
            }
            Fate::Heard
        });
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &bytes());
        // A probe, and the rest.
        let expected = (2, PACKETS);
        assert_eq!((complete.rounds, complete.first_round), expected, "{hops}");
        assert_eq!(outcome.end(last), Some(End::Complete));
        assert_eq!(net.engine(0).stats().unanswered, 0, "{hops} hops");
    }
}

#[test]
fn the_group_whose_channel_goes_bad_comes_on_the_others() {
    for bad in [26, EVEN] {
        // Some hundred packets have come by then.
        let (complete, sent) = gone_bad(bad, 800);
        assert_eq!(complete.rounds, 3, "channel {bad}");
        let lost = PACKETS - complete.first_round;
        assert!((130..=220).contains(&lost), "channel {bad}: {lost}");
        assert_eq!(sent, PACKETS + lost, "no packet is sent in vain any more");
    }
}

/// The last packets of a probe say nothing of the sink's channel: whichever hop they are lost at, the group is
/// degraded.
#[test]
fn a_group_that_falls_silent_in_a_probe_is_degraded() {
    let layout = parted(4);
    let stages = layout.stages.clone();
    let mut net = layout.net(&bytes(), TELOSB, move |air| {
        let Header { head, number } = Header::parse(&mut Reader::new(air.mpdu)).unwrap();
        let is_lost = head.kind == Kind::Data && head.group == Group::Even && number >= 10;
        match is_lost && stages[air.to] == 2 {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    });
    let outcome = layout.run(&mut net, 10);
    // Three probes: the second is a long one, and the third is at its alternate relays.
    assert_eq!(net.engine(0).stats().data_sent, 16 + 32 + 16);
    let is_degraded = |event| {
        matches!(
            event,
            Event::Degraded {
                group: Group::Even,
                ..
            }
        )
    };
    assert!(outcome
        .of(layout.last())
        .any(|(_, event)| is_degraded(event)));
}

/// A channel may bring beginnings alone: the request's first copy lets the destination stay for the second, which is on
/// the other. It listens there when the source asks again.
#[test]
fn a_channel_that_brings_beginnings_alone_ends_no_transfer() {
    for (hops, bad) in (2..=8).flat_map(|hops| [(hops, 26), (hops, EVEN)]) {
        let layout = parted(hops);
        let last = layout.last();
        let mut net = layout.net(&bytes(), TELOSB, move |air| {
            match air.to == last && air.channel == channel(bad) && air.number > 1_500 {
                true => Fate::Corrupted,
                false => Fate::Heard,
            }
        });
        let outcome = layout.run(&mut net, 10);
        outcome.assert_whole(&net, &bytes());
    }
}

#[test]
fn what_arrived_is_kept_and_the_next_attempt_brings_the_rest() {
    for hops in 2..=6 {
        let mut layout = parted(hops);
        let last = layout.last();
        let mut net = layout.net(&bytes(), TELOSB, ideal);
        net.run_for(Duration::from_millis(1_000));
        net.command(0, Command::Stop);
        let _ = layout.run(&mut net, 10);
        layout.route.transfer += 1;
        layout.route.progress = Progress::Kept;
        let begin = net.now() + Duration::from_millis(100);
        for n in 0..=last {
            net.command(n, Command::Start(layout.part(n, begin, &TELOSB)));
        }
        let outcome = layout.run(&mut net, 10);
        outcome.assert_whole(&net, &bytes());
        let sent = net.engine(0).stats().data_sent;
        assert!(sent < 320, "{hops} hops: {sent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, and whichever channel goes bad whenever: every node ends, and what is said to be whole is.
    #[test]
    fn it_ends_and_what_is_whole_is_the_object(
        hops in 2..=8u8, loss in 0..=150u64, seed: u64, bad in 0..3usize, from in 0..4_000usize,
    ) {
        let layout = parted(hops);
        let last = layout.last();
        let bad = [26, EVEN, 11].map(channel)[bad];
        let mut net = layout.net(&bytes(), TELOSB, move |air| {
            let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
            let is_gone = air.to == last && air.channel == bad && air.number > from;
            if is_gone || draw(&ids) < loss { Fate::Corrupted } else { Fate::Heard }
        });
        let outcome = layout.run(&mut net, 19);
        let active: Vec<_> = (0..=last).filter(|&n| net.engine(n).is_active()).collect();
        prop_assert!(active.is_empty(), "{active:?} hang");
        if outcome.complete().is_some() {
            outcome.assert_whole(&net, &bytes());
        }
        let is_easy = loss < 10 && (bad == channel(11) || from > 1_500);
        prop_assert!(outcome.complete().is_some() || !is_easy, "nothing stood in the way");
    }
}
