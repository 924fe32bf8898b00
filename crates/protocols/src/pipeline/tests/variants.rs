//! What deviates from P3 as published: slim headers, no rounds, learning who is to speak.

use super::bench::{draw, ideal, object, p3, start, transfer, Layout, TELOSB};
use crate::pipeline::{Command, End, Event, Pipeline, Session, SetupError};
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate};
use thalweg_engine::Engine;
use thalweg_units::{Channel, NodeId};
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::{Format, Header, Kind, Nack, Purpose, Request, MAX_SLIM_PAYLOAD};
use thalweg_wire::route::{BlockSymbols, Learning, PayloadSize, Percent, Recovery, TrialRun};
use thalweg_wire::Reader;

fn fountain(spare: u8) -> Recovery {
    Recovery::Fountain {
        spare: Percent::new(spare).unwrap(),
    }
}

impl Layout {
    fn slim(mut self) -> Self {
        self.route.format = Format::Slim;
        self.route.payload = PayloadSize::max_of(Format::Slim);
        self
    }
    fn without_rounds(mut self, spare: u8) -> Self {
        self.route.recovery = fountain(spare);
        self
    }
    fn in_blocks(mut self, most: u8, spare: u8) -> Self {
        self.route.recovery = Recovery::Blocks {
            most: BlockSymbols::new(most).unwrap(),
            spare: Percent::new(spare).unwrap(),
        };
        self
    }
    fn tuned(mut self, run: u8) -> Self {
        let run = TrialRun::new(run).unwrap();
        self.route.learning = Learning::Channels { run };
        self
    }
    fn learning(mut self) -> Self {
        self.route.learning = Learning::LastSpeakers;
        self
    }
}

fn lossy(loss: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    move |air| {
        let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
        if draw(&ids) < loss {
            Fate::Corrupted
        } else {
            Fate::Heard
        }
    }
}

/// The kind of a frame of a pipeline, and what it asks if it is a request.
fn kind(mpdu: &[u8]) -> Option<(Kind, Option<Purpose>)> {
    let mut r = Reader::new(mpdu);
    let header = Header::parse(&mut r).ok()?;
    let request = Request::parse(&mut r).ok();
    let purpose = request.filter(|_| header.head.kind == Kind::Request);
    Some((header.head.kind, purpose.map(|request| request.purpose)))
}

#[test]
fn slim_frames_are_as_long_and_carry_three_bytes_more() {
    for hops in [1, 2, 5, 10] {
        let layout = p3(hops, 4).slim();
        let object = object(40 * 121);
        let (outcome, net) = transfer(&layout, &object, ideal);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.packets, complete.rounds), (40, 1));
        let cycles = (air_time(125) + TELOSB.relay_gap()) * (40 + u64::from(hops) - 1);
        let took = complete
            .last_packet
            .since(start().saturating_sub(SFD_OFFSET));
        assert_eq!(took + TELOSB.relay_gap(), cycles, "{hops} hops");
    }
}

#[test]
fn without_losses_a_fountain_takes_an_announcement_more_than_rounds() {
    let object = object(40 * 118);
    let layout = p3(4, 4).without_rounds(0);
    let (outcome, net) = transfer(&layout, &object, ideal);
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!((complete.packets, complete.rounds), (40, 1));
    let (rounds, net) = transfer(&p3(4, 4), &object, ideal);
    let before = rounds.assert_whole(&net, &object).last_packet;
    let announcement = (air_time(22) + TELOSB.relay_gap()) * 2;
    assert_eq!(complete.last_packet.since(before), announcement);
    assert_eq!(outcome.end(0), Some(End::Complete));
}

#[test]
fn spare_symbols_end_a_lossy_transfer_without_asking() {
    let object = object(100 * 118);
    let layout = p3(3, 2).without_rounds(60);
    let mut nacks = 0;
    let (outcome, net) = transfer(&layout, &object, {
        let mut some = lossy(100, 3);
        move |air| match kind(air.mpdu) {
            Some((Kind::Data, _)) => some(air),
            _ => Fate::Heard,
        }
    });
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!(complete.rounds, 1);
    for (at, event) in outcome.of(layout.last()) {
        nacks +=
            u32::from(matches!(event, Event::RoundReported { .. }) && at < complete.last_packet);
    }
    assert_eq!(nacks, 0);
    assert_eq!(net.engine(0).stats().data_sent, 160);
}

#[test]
fn a_fountain_whose_announcements_are_lost_ends_all_the_same() {
    let object = object(50 * 118);
    let layout = p3(4, 4).without_rounds(10);
    let (outcome, net) = transfer(&layout, &object, |air| match kind(air.mpdu) {
        Some((_, Some(Purpose::Announce))) => Fate::Silent,
        _ => Fate::Heard,
    });
    outcome.assert_whole(&net, &object);
}

#[test]
fn nacks_of_a_fountain_name_no_packets() {
    let object = object(50 * 118);
    let layout = p3(2, 4).without_rounds(0);
    let (outcome, net) = transfer(&layout, &object, |air| {
        if let Ok(header) = Header::parse(&mut Reader::new(air.mpdu)) {
            if header.head.kind == Kind::Nack {
                let mut body = Reader::new(air.mpdu);
                Header::parse(&mut body).unwrap();
                assert!(Nack::parse(body).unwrap().vector.is_empty());
            }
            if header.head.kind == Kind::Data && header.number % 7 == 0 && header.number < 50 {
                return Fate::Corrupted;
            }
        }
        Fate::Heard
    });
    let complete = outcome.assert_whole(&net, &object);
    // Eight symbols of its own were lost, and as many others will do.
    assert_eq!((complete.first_round, complete.rounds), (42, 2));
    assert!(net.engine(0).stats().data_sent >= 58);
}

/// What happens to frames on `channel` between two stages.
fn bad(channel: u8, share: u64, seed: u64) -> impl FnMut(Air<'_>) -> Fate {
    let channel = Channel::new(channel).unwrap();
    move |air| {
        let ids = [seed, air.from as u64, air.to as u64, air.number as u64];
        match air.channel == channel && air.to == 1 && draw(&ids) < share {
            true => Fate::Corrupted,
            false => Fate::Heard,
        }
    }
}

#[test]
fn a_trial_finds_the_rotation_without_the_bad_channel() {
    // One hop: two channels. The destination's own is bad.
    let object = object(400 * 118);
    let layout = p3(1, 2).tuned(20);
    let (outcome, net) = transfer(&layout, &object, bad(26, 400, 1));
    let complete = outcome.assert_whole(&net, &object);
    // Under rotation 0 eight of twenty are lost, under the other none: all that comes after is whole.
    assert_eq!((complete.rounds, complete.packets), (2, 400));
    assert!(net.engine(0).stats().data_sent < 415);
}

#[test]
fn a_channel_that_goes_bad_is_left() {
    let object = object(400 * 118);
    for run_of in [8, 20] {
        let layout = p3(1, 2).tuned(run_of);
        let (outcome, net) = transfer(&layout, &object, {
            let mut sent = 0;
            move |air| {
                sent += 1;
                // Channel 26 goes at the 150th frame, and with it all that comes this way.
                match air.channel.number() == 26 && air.to == 1 && sent > 150 {
                    true => Fate::Silent,
                    false => Fate::Heard,
                }
            }
        });
        let complete = outcome.assert_whole(&net, &object);
        assert!(complete.rounds <= 4, "{complete:?}");
    }
}

#[test]
fn without_losses_a_trial_costs_an_exchange() {
    for hops in [1, 2, 4, 6, 10] {
        let object = object(300 * 118);
        let (outcome, net) = transfer(&p3(hops, 4).tuned(24), &object, ideal);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.rounds, complete.first_round), (2, 300), "{hops}");
        assert_eq!(net.engine(0).stats().data_sent, 300, "{hops}");
    }
}

#[test]
fn nobody_takes_a_long_exchange_for_a_lost_pipeline() {
    // Ten hops; the first packets after the trial do not reach the destination.
    let object_of_500 = object(500 * 118);
    let layout = p3(10, 4).tuned(16);
    let (last, mut struck) = (layout.last(), 0);
    let (outcome, net) = transfer(&layout, &object_of_500, move |air| {
        let header = Header::parse(&mut Reader::new(air.mpdu));
        let data = header.is_ok_and(|h| h.head.kind == Kind::Data && h.number >= 64);
        if data && air.to == last && struck < 4 {
            struck += 1;
            return Fate::Corrupted;
        }
        Fate::Heard
    });
    let complete = outcome.assert_whole(&net, &object_of_500);
    assert_eq!(complete.rounds, 3);
    // A NACK of many segments, all of which the destination sends before anybody answers.
    let many = object(2_000 * 10);
    let (outcome, net) = transfer(&p3(4, 4).payload(10).tuned(16), &many, ideal);
    assert_eq!(outcome.assert_whole(&net, &many).rounds, 2);
}

#[test]
fn blocks_without_losses_take_an_announcement_more_than_rounds() {
    let object = object(100 * 118);
    let (outcome, net) = transfer(&p3(4, 4).in_blocks(32, 5), &object, ideal);
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!((complete.packets, complete.rounds), (100, 1));
    let (rounds, plain) = transfer(&p3(4, 4), &object, ideal);
    let before = rounds.assert_whole(&plain, &object).last_packet;
    let announcement = (air_time(22) + TELOSB.relay_gap()) * 2;
    assert_eq!(complete.last_packet.since(before), announcement);
    // Five blocks, one spare symbol of each.
    assert_eq!(net.engine(0).stats().data_sent, 105);
}

#[test]
fn nacks_of_blocks_tell_how_many_of_each() {
    let object = object(100 * 118);
    let layout = p3(2, 4).in_blocks(32, 0);
    let (outcome, net) = transfer(&layout, &object, |air| {
        let mut body = Reader::new(air.mpdu);
        let Ok(header) = Header::parse(&mut body) else {
            return Fate::Heard;
        };
        if header.head.kind == Kind::Nack {
            let nack = Nack::parse(body).unwrap();
            if nack.missing > 0 {
                assert_eq!((nack.missing, nack.vector), (4, &[1, 0, 3, 0, 0][..]));
            }
        }
        let lost = [0, 2, 7, 12].contains(&header.number);
        if header.head.kind == Kind::Data && lost {
            return Fate::Corrupted;
        }
        Fate::Heard
    });
    let complete = outcome.assert_whole(&net, &object);
    assert_eq!((complete.first_round, complete.rounds), (96, 2));
    // None of its own packets came again: 100 packets, four repairs, one to spare for each block.
    assert_eq!(net.engine(0).stats().data_sent, 106);
}

#[test]
fn a_block_that_loses_all_of_its_packets_comes_out_of_repair_alone() {
    let object = object(60 * 118);
    let layout = p3(3, 4).in_blocks(20, 10);
    let (outcome, net) = transfer(&layout, &object, |air| {
        match Header::parse(&mut Reader::new(air.mpdu)) {
            Ok(h) if h.head.kind == Kind::Data && h.number < 60 && h.number % 3 == 1 => {
                Fate::Corrupted
            }
            _ => Fate::Heard,
        }
    });
    outcome.assert_whole(&net, &object);
}

#[test]
fn blocks_whose_announcements_are_lost_come_out_all_the_same() {
    let object = object(50 * 118);
    let layout = p3(4, 4).in_blocks(16, 20);
    let (outcome, net) = transfer(&layout, &object, |air| match kind(air.mpdu) {
        Some((_, Some(Purpose::Announce))) => Fate::Silent,
        _ => Fate::Heard,
    });
    outcome.assert_whole(&net, &object);
}

#[test]
fn a_source_of_blocks_is_a_mote() {
    // All that a source has in RAM, and the packet that symbols are made of on its stack: less than half
    // of a TelosB's.
    let bytes = size_of::<Pipeline<crate::object::NoObject>>() + MAX_SLIM_PAYLOAD;
    assert!(bytes < 5_000, "{bytes} bytes");
    let layout = p3(2, 4).in_blocks(32, 0);
    let of = |n: u16| Session::from_route(&layout.route, NodeId::new(n).unwrap(), start()).unwrap();
    let mut source = Pipeline::new(TELOSB, crate::object::NoObject);
    source.handle_command(start(), Command::Start(of(0)));
    assert_eq!(source.poll_event(), None, "it needs no store that codes");
    let mut sink = Pipeline::new(TELOSB, crate::object::NoObject);
    sink.handle_command(start(), Command::Start(of(layout.last() as u16)));
    assert_eq!(
        sink.poll_event(),
        Some(Event::Refused(SetupError::NoFountain))
    );
}

#[test]
fn a_store_that_does_not_code_has_no_part_in_a_fountain() {
    let layout = p3(2, 4).without_rounds(0);
    let session = Session::from_route(&layout.route, NodeId::new(0).unwrap(), start()).unwrap();
    let mut bare = Pipeline::new(TELOSB, crate::object::NoObject);
    bare.handle_command(start(), Command::Start(session));
    let told = core::iter::from_fn(|| bare.poll_event()).collect::<Vec<_>>();
    assert_eq!(told, [Event::Refused(SetupError::NoFountain)]);
}

#[test]
fn one_last_speaker_is_chosen_where_equal_powers_would_beat() {
    let object = object(300 * 118);
    let layout = p3(3, 6).learning();
    let (outcome, net) = transfer(&layout, &object, ideal);
    let complete = outcome.assert_whole(&net, &object);
    // The trial is a round of its own, and the first of what is counted comes after it.
    assert_eq!((complete.first_round, complete.rounds), (300, 2));
    // Stage 2 is nodes 7 to 12; of each group one forwards what comes after the trial.
    let forwarded: Vec<u32> = (7..13).map(|n| net.engine(n).stats().forwarded).collect();
    let talking = forwarded.iter().filter(|&&n| n > 100).count();
    let silent = forwarded.iter().filter(|&&n| n < 20).count();
    assert_eq!((talking, silent), (2, 4), "{forwarded:?}");
}

#[test]
fn a_chosen_speaker_that_dies_does_not_hold_the_object_back() {
    let object = object(200 * 118);
    let layout = p3(3, 6).learning();
    let (outcome, net) = transfer(&layout, &object, {
        let mut frames = 0;
        move |air| {
            frames += usize::from(kind(air.mpdu).is_some_and(|(kind, _)| kind == Kind::Data));
            // Whoever speaks most at stage 2 falls silent in the middle.
            match air.from {
                7 | 8 if frames > 3_000 => Fate::Silent,
                _ => Fate::Heard,
            }
        }
    });
    outcome.assert_whole(&net, &object);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_completes_whatever_is_lost(
        hops in 1..=8u8, paths in 2..=8u8, slim: bool, spare in proptest::option::of(0..=30u8),
        most in proptest::option::of(1..=128u8),
        learning in proptest::option::of((0..3u8, 1..=40u8)), len in 1..20_000usize, loss in 0..=250u64, seed: u64,
    ) {
        let mut layout = p3(hops, paths);
        if slim { layout = layout.slim(); }
        match (spare, most) {
            (Some(spare), Some(most)) => layout = layout.in_blocks(most, spare),
            (Some(spare), None) => layout = layout.without_rounds(spare),
            (None, _) => {}
        }
        match learning {
            None => {}
            Some((0, _)) => layout = layout.learning(),
            Some((1, run)) => layout = layout.tuned(run),
            Some((_, run)) => layout = layout.by_stages(run),
        }
        // A single chain of many hops bears little.
        let loss = if paths < 6 { loss / u64::from(hops) } else { loss };
        let object = object(len);
        let (outcome, net) = transfer(&layout, &object, lossy(loss, seed));
        outcome.assert_whole(&net, &object);
    }
}
