//! On ideal links everything happens exactly when the paper's arithmetic says.

use super::bench::{ideal, layout, object, p3, pip, start, Layout, TELOSB};
use crate::pipeline::End;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, SentFrame};
use thalweg_engine::{BoardTiming, Costs, Passing, Software};
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::{Format, Head, Kind, NACK_BODY_BYTES};
use thalweg_wire::route::{Hopping, PayloadSize, Scheme};

fn cycle(layout: &Layout, timing: &BoardTiming) -> Duration {
    air_time(7 + usize::from(layout.route.payload.bytes())) + timing.relay_gap()
}

/// The first preamble symbol of the source.
fn begin() -> Instant {
    start().saturating_sub(SFD_OFFSET)
}

#[test]
fn a_cycle_is_4537_us() {
    assert_eq!(cycle(&p3(3, 6), &TELOSB), Duration::from_micros(4_537));
}

#[test]
fn p3_takes_n_plus_h_minus_1_cycles() {
    for timing in [TELOSB, BoardTiming::IDEAL] {
        for hops in 1..=10u8 {
            let layout = p3(hops, 6);
            let object = object(40 * 118);
            let mut net = layout.net(&object, timing, ideal);
            let outcome = layout.run(&mut net, 10);
            let complete = outcome.assert_whole(&net, &object);
            assert_eq!(
                (complete.first_round, complete.rounds, complete.packets),
                (40, 1, 40)
            );
            let cycles = cycle(&layout, &timing) * (40 + u64::from(hops) - 1);
            let took = complete.last_packet.since(begin());
            assert_eq!(took + timing.relay_gap(), cycles, "{hops} hops");
            for n in 0..=layout.last() {
                let released = matches!(outcome.end(n), Some(End::Complete | End::Released));
                assert!(released, "node {n}: {:?}", outcome.end(n));
                assert_eq!(net.engine(n).stats().refused, 0);
            }
        }
    }
}

#[test]
fn pip_takes_2n_plus_h_minus_2_cycles() {
    for hops in 2..=10u8 {
        let layout = pip(hops);
        let object = object(40 * 118);
        let mut net = layout.net(&object, TELOSB, ideal);
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!((complete.first_round, complete.rounds), (40, 1));
        let cycles = cycle(&layout, &TELOSB) * (2 * 40 + u64::from(hops) - 2);
        let took = complete.last_packet.since(begin());
        assert_eq!(took + TELOSB.relay_gap(), cycles, "{hops} hops");
        assert_eq!(outcome.end(0), Some(End::Complete));
    }
}

#[test]
fn hopping_changes_channels_and_nothing_else() {
    for hops in 1..=10u8 {
        let layout = layout(Scheme::Pip(Hopping::EveryCyclePair), hops, 1);
        let object = object(40 * 118 - 5);
        let mut net = layout.net(&object, TELOSB, ideal);
        let outcome = layout.run(&mut net, 10);
        let complete = outcome.assert_whole(&net, &object);
        assert_eq!(
            (complete.first_round, complete.rounds),
            (40, 1),
            "{hops} hops"
        );
        assert_eq!(outcome.end(0), Some(End::Complete));
        let mut used: Vec<_> = net
            .sent()
            .iter()
            .filter(|f| f.from == 0)
            .map(|f| f.channel)
            .collect();
        used.sort();
        used.dedup();
        assert_eq!(used.len(), usize::from(hops + 1).min(4));
    }
}

#[test]
fn with_one_path_p3_is_as_fast_as_pip() {
    for hops in [2, 5] {
        let object = object(30 * 118);
        let times = [p3(hops, 1), pip(hops)].map(|layout| {
            let mut net = layout.net(&object, TELOSB, ideal);
            let outcome = layout.run(&mut net, 10);
            outcome.assert_whole(&net, &object).last_packet
        });
        assert_eq!(times[0], times[1]);
    }
}

/// The SFDs of the source's data frames.
fn data_sfds(sent: &[SentFrame]) -> Vec<Instant> {
    sent.iter()
        .filter(|f| f.from == 0 && is_data(&f.mpdu))
        .map(|f| f.start + SFD_OFFSET)
        .collect()
}

fn is_data(mpdu: &[u8]) -> bool {
    Head::parse(mpdu).is_ok_and(|h| h.kind == Kind::Data)
}

#[test]
fn an_exchange_takes_what_the_formula_says() {
    let hopping = |hops| layout(Scheme::Pip(Hopping::EveryCyclePair), hops, 1);
    for hops in 1..=10u8 {
        for layout in [
            p3(hops, 6),
            pip(hops),
            p3(hops, 4).payload(8),
            pip(hops).payload(8),
            hopping(hops).payload(118),
        ] {
            let payload = usize::from(layout.route.payload.bytes());
            let object = object(20 * payload);
            // Packet 13 does not arrive at the destination in the first round.
            let last = layout.last();
            let (mut frame, mut of_source) = (usize::MAX, 0);
            let mut net = layout.net(&object, TELOSB, move |air| {
                if !is_data(air.mpdu) {
                    return Fate::Heard;
                }
                if air.from == 0 && air.number != frame {
                    (frame, of_source) = (air.number, of_source + 1);
                }
                if of_source <= 20 && air.to == last && air.mpdu[5] == 13 {
                    return Fate::Corrupted;
                }
                Fate::Heard
            });
            let outcome = layout.run(&mut net, 10);
            let complete = outcome.assert_whole(&net, &object);
            assert_eq!(
                (complete.first_round, complete.rounds),
                (19, 2),
                "{hops} {payload}"
            );
            let cadence = layout.part(0, start(), &TELOSB).cadence;
            let expected = cadence.exchange(cadence.nack_bytes(3), u64::from(cadence.copies()));
            let sfds = data_sfds(net.sent());
            assert_eq!(sfds.len(), 21);
            assert_eq!(
                sfds[20].since(sfds[19]),
                expected,
                "{hops} hops, payload {payload}"
            );
            for pair in sfds[..20].windows(2) {
                assert_eq!(pair[1].since(pair[0]), cadence.data_period());
            }
        }
    }
}

/// P3, section IV-G: packets of equal length, so that control takes a cycle a hop as data does.
#[test]
fn an_exchange_as_published_takes_2h_and_3_cycles() {
    for hops in 1..=10 {
        let cadence = p3(hops, 6).part(0, start(), &TELOSB).cadence;
        let shape = cadence.nack_shape(500);
        assert_eq!((shape.segments, shape.vector_bytes), (1, 63));
        let took = cadence.exchange(cadence.nack_bytes(63), 2);
        assert_eq!(took, cadence.cycle() * (2 * u64::from(hops) + 3));
    }
}

#[test]
fn a_compact_exchange_over_four_hops_takes_31_ms() {
    let mut layout = p3(4, 6);
    layout.route.format = Format::Slim;
    layout.route.payload = PayloadSize::max_of(Format::Slim);
    let cadence = layout.part(0, start(), &TELOSB).cadence;
    let took = cadence.exchange(Format::Slim.header_bytes() + NACK_BODY_BYTES + 63, 2);
    assert_eq!(
        took.as_micros(),
        4_537 + 3 * 3_392 + 5 * 1_145 + 4 * 2_841 + 2_841
    );
}

#[test]
fn control_frames_never_meet_data() {
    // A frame that met another would be lost, and with it a round or an exchange.
    for layout in (1..=10).flat_map(|h| [p3(h, 6), p3(h, 2), pip(h), p3(h, 1)]) {
        for payload in [1, 20, 118] {
            let layout = layout.clone().payload(payload);
            let object = object(9 * usize::from(payload) + 1);
            let mut net = layout.net(&object, TELOSB, ideal);
            let outcome = layout.run(&mut net, 10);
            let complete = outcome.assert_whole(&net, &object);
            assert_eq!(
                (complete.rounds, complete.first_round),
                (1, complete.packets)
            );
            assert_eq!(net.engine(0).stats().unanswered, 0);
            assert_eq!(outcome.end(0), Some(End::Complete));
        }
    }
}

/// Where software copies one thing after the other the way back is shorter than the way forth: with one group alone that
/// counts, as the other group's frames come in between.
#[test]
fn two_groups_take_turns_in_slots_that_are_alike() {
    let micros = Duration::from_micros;
    let copying = BoardTiming {
        load_byte: micros(17),
        software: Software::Serial(Costs {
            read_byte: micros(28),
            os: micros(483),
            ..Costs::NOTHING
        }),
        ..BoardTiming::IDEAL
    };
    let cadence = |layout: Layout| layout.part(0, start(), &copying).cadence;
    let two = cadence(p3(3, 2));
    assert_eq!(two.data_period(), two.cycle());
    let one = cadence(pip(3));
    let back = copying.relaying(125, Passing::Copied).back;
    assert_eq!(one.data_period(), one.cycle() + air_time(125) + back);
    assert!(one.data_period() < one.cycle() * 2);
}
