//! What deviates from P3 as published: slim headers, and channels that are learned.

use super::bench::{draw, ideal, object, p3, start, transfer, Layout, TELOSB};
use proptest::prelude::*;
use thalweg_engine::harness::{Air, Fate};
use thalweg_units::Channel;
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::{Format, Header, Kind};
use thalweg_wire::route::{PayloadSize, TrialRun};
use thalweg_wire::Reader;

impl Layout {
    fn slim(mut self) -> Self {
        self.route.format = Format::Slim;
        self.route.payload = PayloadSize::max_of(Format::Slim);
        self
    }
    fn tuned(mut self, run: u8) -> Self {
        self.route.tuning = TrialRun::new(run);
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
fn on_a_single_channel_there_is_nothing_to_try() {
    let object = object(300 * 118);
    for hops in [1, 4] {
        let (outcome, net) = transfer(&p3(hops, 1).tuned(16), &object, ideal);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!(complete.first_round, 300, "{hops}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_completes_whatever_is_lost(
        hops in 1..=8u8, paths in 2..=8u8, slim: bool,
        run in proptest::option::of(1..=40u8), len in 1..20_000usize, loss in 0..=250u64, seed: u64,
    ) {
        let mut layout = p3(hops, paths);
        if slim { layout = layout.slim(); }
        if let Some(run) = run { layout = layout.tuned(run); }
        // A single chain of many hops bears little.
        let loss = if paths < 6 { loss / u64::from(hops) } else { loss };
        let object = object(len);
        let (outcome, net) = transfer(&layout, &object, lossy(loss, seed));
        outcome.assert_whole(&net, &object);
    }
}
