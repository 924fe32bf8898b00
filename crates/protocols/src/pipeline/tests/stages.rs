//! Stages that learn: trials that a NACK tells, stretches, and what becomes of lost directions.

use super::bench::{draw, ideal, object, p3, transfer, Layout, Outcome};
use crate::pipeline::Event;
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate};
use thalweg_wire::phy::air_time;
use thalweg_wire::pipeline::{Group, Header, Kind};
use thalweg_wire::route::{Learning, TrialRun};
use thalweg_wire::Reader;

impl Layout {
    pub(super) fn by_stages(mut self, run: u8) -> Self {
        let run = TrialRun::new(run).unwrap();
        self.route.learning = Learning::Stages { run };
        self
    }
}

fn header(mpdu: &[u8]) -> Option<Header> {
    Header::parse(&mut Reader::new(mpdu)).ok()
}

/// Packets of each round.
fn rounds(outcome: &Outcome) -> Vec<u16> {
    let sent = |event| match event {
        Event::RoundSent { sent, .. } => Some(sent),
        _ => None,
    };
    outcome.of(0).filter_map(|(_, event)| sent(event)).collect()
}

/// Loses `loss` per mille of the data that `to` receives, whoever sends it.
fn lossy_at(to: usize, loss: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    move |air| {
        let data = header(air.mpdu).is_some_and(|h| h.head.kind == Kind::Data);
        if data && air.to == to && draw(&[seed, air.start.as_nanos()]) < loss {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    }
}

/// What the stage of `relay` sends together with it is lost `loss` of a thousand times.
fn beating(layout: &Layout, relay: usize, loss: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    let stages = layout.stages.clone();
    let mut last = None;
    move |air| {
        let data = header(air.mpdu).is_some_and(|h| h.head.kind == Kind::Data);
        if data && air.from == relay {
            last = Some(air.start);
        }
        let together = stages[air.from] == stages[relay] && last == Some(air.start);
        let forward = stages[air.to] > stages[air.from];
        if data && together && forward && draw(&[seed, air.start.as_nanos()]) < loss {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    }
}

#[test]
fn without_losses_short_transfers_have_a_trial_and_long_ones_stretches() {
    for hops in [1, 2, 4, 6, 10] {
        let object = object(300 * 118);
        let (outcome, net) = transfer(&p3(hops, 4).by_stages(16), &object, ideal);
        let complete = outcome.assert_whole(&net, &object);
        let first = 16 * u16::from(hops + 1).min(4);
        assert_eq!(rounds(&outcome), [first, 300 - first], "{hops}");
        assert_eq!((complete.rounds, complete.first_round), (2, 300), "{hops}");
    }
    let object = object(2_000 * 118);
    let (outcome, net) = transfer(&p3(3, 4).by_stages(16), &object, ideal);
    assert_eq!(outcome.assert_whole(&net, &object).first_round, 2_000);
    assert_eq!(rounds(&outcome), [64, 256, 512, 1_168]);
}

#[test]
fn where_much_is_lost_other_orders_and_speakers_are_tried() {
    let object = object(3_000 * 118);
    let layout = p3(4, 6).by_stages(16);
    let (outcome, net) = transfer(&layout, &object, lossy_at(layout.last(), 200, 1));
    outcome.assert_whole(&net, &object);
    // Two more orders, then a stretch, and each of three speakers a dozen times.
    let rounds = rounds(&outcome);
    assert_eq!(rounds[..3], [64, 64, 64]);
    assert!(
        rounds[3..].contains(&256) && rounds[3..].contains(&36),
        "{rounds:?}"
    );
}

#[test]
fn who_beats_at_a_middle_stage_is_found_and_kept_silent() {
    let object = object(8_000 * 118);
    let layout = p3(4, 6).by_stages(16);
    let beats = 7;
    let (outcome, net) = transfer(&layout, &object, beating(&layout, beats, 500, 3));
    outcome.assert_whole(&net, &object);
    let rounds = rounds(&outcome);
    // Nine relays of its group, six times each.
    assert!(rounds.contains(&(2 * 6 * 9)), "{rounds:?}");
    // From then on nothing is lost.
    assert!(
        rounds.last().is_some_and(|last| *last > 3_000),
        "{rounds:?}"
    );
    let forwarded = net.engine(beats).stats().forwarded;
    assert!(forwarded < 2_500, "{forwarded} of 4000, {rounds:?}");
}

#[test]
fn who_misses_a_nack_hears_that_of_the_other_group() {
    let object = object(400 * 118);
    let layout = p3(4, 4).by_stages(16);
    // The source's own channel is the worst, so all change theirs after the trial.
    let (outcome, net) = transfer(&layout, &object, {
        let mut some = lossy_at(layout.last(), 300, 5);
        move |air| {
            let nack = header(air.mpdu).filter(|h| h.head.kind == Kind::Nack);
            match (
                nack.is_some_and(|h| h.head.group == Group::Odd),
                air.channel.number(),
            ) {
                (true, _) => Fate::Silent,
                (false, 26) => some(air),
                _ => Fate::Heard,
            }
        }
    });
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!((complete.rounds, net.engine(0).stats().unanswered), (2, 0));
}

#[test]
fn a_channel_that_goes_bad_at_one_stage_is_left_there() {
    let object = object(1_500 * 118);
    // Stage 2 hears nothing on channel 25 from some moment on: relays 5 to 8.
    let layout = p3(4, 4).by_stages(16);
    let (outcome, net) = transfer(&layout, &object, {
        let mut data = 0;
        move |air| {
            data += 1;
            let bad = data > 9_000 && air.channel.number() == 25 && (5..=8).contains(&air.to);
            if bad {
                Fate::Silent
            } else {
                Fate::Heard
            }
        }
    });
    let complete = outcome.assert_whole(&net, &object);
    assert!(complete.rounds <= 9, "{complete:?}");
}

#[test]
fn what_a_trial_told_is_asked_for_again() {
    let object = object(400 * 118);
    let layout = p3(1, 2).by_stages(20);
    let mut nacks = 0;
    let (outcome, net) = transfer(&layout, &object, {
        let mut some = lossy_at(1, 500, 5);
        move |air| {
            let nack = header(air.mpdu).is_some_and(|h| h.head.kind == Kind::Nack);
            nacks += u32::from(nack && air.to == 0);
            match (nack && nacks <= 2, air.channel.number()) {
                (true, _) => Fate::Silent,
                (false, 26) => some(air),
                _ => Fate::Heard,
            }
        }
    });
    let complete = outcome.assert_whole(&net, &object);
    // Half of what the destination's own channel carries is lost, and nothing after the trial.
    assert_eq!(complete.rounds, 2);
    assert!(net.engine(0).stats().unanswered > 0);
}

#[test]
fn nacks_are_as_long_as_what_they_tell() {
    let object = object(500 * 118);
    let layout = p3(3, 4).by_stages(16);
    // Lost the first time, from all that send them at once.
    let mut first = [3, 70, 71, 300].map(|number| (number, None));
    let (outcome, net) = transfer(&layout, &object, move |air| {
        if let Some(header) = header(air.mpdu) {
            let lost = first
                .iter_mut()
                .find(|(number, _)| *number == header.number);
            match header.head.kind {
                // One of the trial, three of the rest, none: numbers of two bytes.
                Kind::Nack => {
                    let numbers = [2, 6, 0][usize::from(header.number)];
                    assert_eq!(air_time(air.mpdu.len()), air_time(7 + 5 + 3 + numbers));
                }
                Kind::Data
                    if air.to == 9
                        && lost
                            .is_some_and(|(_, at)| *at.get_or_insert(air.start) == air.start) =>
                {
                    return Fate::Corrupted;
                }
                _ => {}
            }
        }
        Fate::Heard
    });
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!(complete.rounds, 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_control_packet_is_lost_the_object_arrives(
        hops in 1..=6u8, paths in 4..=8u8, run_of in 1..=24u8, packets in 1..1_200usize,
        loss in 0..=120u64, lost_control in 0..=500u64, seed: u64,
    ) {
        let layout = p3(hops, paths).by_stages(run_of);
        let object = object(packets * 118);
        let (outcome, net) = transfer(&layout, &object, move |air| {
            let control = header(air.mpdu).is_some_and(|h| h.head.kind != Kind::Data);
            let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
            let share = if control { lost_control / u64::from(hops) } else { loss };
            if draw(&ids) < share { Fate::Corrupted } else { Fate::Heard }
        });
        outcome.assert_whole(&net, &object);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_lost_while_senders_are_tried_the_object_arrives(
        hops in 2..=5u8, paths in 4..=8u8, packets in 3_000..6_000usize, who: usize, beats in 200..=900u64,
        lost_control in 0..=300u64, seed: u64,
    ) {
        let layout = p3(hops, paths).by_stages(16);
        let relay = 1 + who % (layout.last() - 1);
        let object = object(packets * 118);
        let (outcome, net) = transfer(&layout, &object, {
            let mut beating = beating(&layout, relay, beats, seed);
            move |air| {
                let control = header(air.mpdu).is_some_and(|h| h.head.kind != Kind::Data);
                let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
                if control && draw(&ids) < lost_control / u64::from(hops) {
                    return Fate::Corrupted;
                }
                beating(air)
            }
        });
        outcome.assert_whole(&net, &object);
    }
}
