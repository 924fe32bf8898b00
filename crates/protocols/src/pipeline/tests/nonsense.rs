//! Frames that make no sense, and a radio that misbehaves: no panic, no wrong bytes, an end.

use super::bench::{ideal, object, p3, pip, start, Memory, Node, TELOSB};
use crate::pipeline::{Command, End, Event, HopSetup, Pipeline};
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_engine::Request as Op;
use thalweg_engine::{drain, Engine, OpId, RadioEvent, RadioId, RadioOp, Refusal};
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId};
use thalweg_wire::hop::HopRoute;
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Purpose, Request, Tag};
use thalweg_wire::route::ObjectRange;
use thalweg_wire::{FrameBuf, WireError};

fn frame(mpdu: &[u8], sfd: Instant) -> RadioEvent<'_> {
    let end = sfd + Duration::from_micros(32 * (mpdu.len() as u64 + 3));
    RadioEvent::Frame {
        mpdu,
        sfd,
        end,
        rssi: Dbm(-60.0),
        lqi: 100,
    }
}

/// A frame that begins like one of the pipeline's: of any tag, hop, group and number.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(Kind::Data), Just(Kind::Request), Just(Kind::Nack)];
    let body = proptest::collection::vec(any::<u8>(), 0..=118);
    (kind, any::<u16>(), 0..=10u8, any::<bool>(), 0..400u16, body).prop_map(
        |(kind, id, hop, even, number, body)| {
            let group = if even { Group::Even } else { Group::Odd };
            let head = Head {
                kind,
                tag: Tag::of(id),
                hop,
                group,
            };
            let write = |w: &mut thalweg_wire::Writer<'_>| -> Result<(), WireError> {
                Header { head, number }.emit(w)?;
                w.bytes(&body).map(|_| ())
            };
            FrameBuf::build(write).unwrap().to_vec()
        },
    )
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..=125), plausible()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_received_makes_an_engine_panic_or_loop(
        frames in proptest::collection::vec((anything(), 0..5_000_000u64, any::<bool>()), 0..60),
        place in 0..8usize, one_path: bool,
    ) {
        let layout = if one_path { pip(3) } else { p3(3, 3) };
        let part = layout.part(place % layout.stages.len(), start(), &TELOSB);
        let mut engine = Pipeline::new(object(700));
        engine.handle_command(Instant::ZERO, Command::Start(part));
        let mut now = start();
        for (mpdu, wait, head) in frames {
            let mut ops = Vec::new();
            let timeout = drain(&mut engine, &mut (|r: Op<'_>| {
                if matches!(r.op, RadioOp::Stream { .. }) { ops.push(r.id) }
            }, |_| {})).unwrap();
            now += Duration::from_nanos(wait);
            if let Some(at) = timeout.filter(|at| *at <= now) {
                engine.handle_timeout(at);
            }
            for op in ops {
                engine.handle_radio(now, RadioId(0), RadioEvent::Sent { op, sfd: now });
            }
            if head {
                let bytes = &mpdu[..mpdu.len().min(5)];
                engine.handle_radio(now, RadioId(0), RadioEvent::Head { bytes, sfd: now });
            }
            engine.handle_radio(now, RadioId(0), frame(&mpdu, now));
        }
        let _ = drain(&mut engine, &mut (|_: Op<'_>| {}, |_| {})).unwrap();
    }

    #[test]
    fn nonsense_among_the_frames_of_a_transfer_changes_no_byte(
        frames in proptest::collection::vec((anything(), 0..200_000u64, 0..8usize), 1..80),
    ) {
        let layout = p3(3, 3);
        let object = object(40 * 118 - 60);
        let mut net = layout.net(&object, TELOSB, ideal);
        for (mpdu, wait, to) in frames {
            // What is a perfect frame of this very transfer is no nonsense.
            if Head::parse(&mpdu).is_ok_and(|head| head.tag == Tag::of(layout.route.transfer)) {
                continue;
            }
            net.run_for(Duration::from_micros(wait));
            let now = net.now();
            net.inject(to, frame(&mpdu, now));
        }
        let outcome = layout.run(&mut net, 60);
        outcome.assert_whole(&net, &object);
        prop_assert_eq!(outcome.end(0), Some(End::Complete));
    }
}

#[test]
fn a_request_that_contradicts_itself_is_not_believed() {
    let layout = p3(1, 1);
    let mut engine = Pipeline::new(Memory::default());
    let part = layout.part(1, start(), &TELOSB);
    engine.handle_command(Instant::ZERO, Command::Start(part));
    let mut ask = |packets, object_len, expected| {
        let (purpose, following, digest) = (Purpose::Report, 0, [0; 8]);
        let request = Request {
            packets,
            object_len,
            digest,
            following,
            purpose,
        };
        let head = Head {
            kind: Kind::Request,
            tag: Tag::of(5),
            hop: 0,
            group: Group::Odd,
        };
        let mpdu = FrameBuf::build(|w| {
            Header { head, number: 0 }.emit(w)?;
            request.emit(w)
        });
        engine.handle_radio(start(), RadioId(0), frame(&mpdu.unwrap(), start()));
        assert_eq!(engine.stats().packets, expected);
    };
    // The length does not fit the number; it does; then another transfer is announced.
    ask(3, 118 * 3 + 1, 0);
    ask(4, 118 * 3 + 1, 4);
    ask(0, 0, 4);
    let told = core::iter::from_fn(|| engine.poll_event());
    assert!(told
        .into_iter()
        .all(|event| !matches!(event, Event::Complete(_))));
}

#[test]
fn packets_of_another_transfer_or_stage_or_beyond_the_object_are_not_taken() {
    let layout = p3(1, 1);
    let mut engine = Pipeline::new(Memory::default());
    let part = layout.part(1, start(), &TELOSB);
    engine.handle_command(Instant::ZERO, Command::Start(part));
    let head = |kind, id, hop| Head {
        kind,
        tag: Tag::of(id),
        hop,
        group: Group::Odd,
    };
    let own = layout.route.transfer;
    let request = Request {
        packets: 4,
        object_len: 118 * 4,
        digest: [0; 8],
        following: 0,
        purpose: Purpose::Report,
    };
    let asked = FrameBuf::build(|w| {
        let head = head(Kind::Request, own, 0);
        Header { head, number: 0 }.emit(w)?;
        request.emit(w)
    });
    engine.handle_radio(start(), RadioId(0), frame(&asked.unwrap(), start()));
    for (id, hop, number, taken) in [
        (own + 1, 0, 0, 0),
        (own, 1, 0, 0),
        (own, 0, 4, 0),
        (own, 0, 3, 1),
    ] {
        let head = head(Kind::Data, id, hop);
        let data = FrameBuf::build(|w| {
            Header { head, number }.emit(w)?;
            w.bytes(&[7; 118]).map(|_| ())
        });
        engine.handle_radio(start(), RadioId(0), frame(&data.unwrap(), start()));
        let told = (engine.stats().received, engine.store().writes);
        assert_eq!(told, (taken, u32::from(taken)), "{id} {hop} {number}");
    }
}

#[test]
fn a_radio_that_refuses_everything_ends_the_transfer() {
    for why in [
        Refusal::NoSuch,
        Refusal::Late {
            by: Duration::from_secs(1),
        },
    ] {
        let mut engine = Pipeline::new(object(1_000));
        let part = p3(2, 2).part(0, start(), &TELOSB);
        engine.handle_command(Instant::ZERO, Command::Start(part));
        let mut ends = Vec::new();
        for _ in 0..100 {
            let mut ids: Vec<OpId> = Vec::new();
            let port = &mut (|r: Op<'_>| ids.push(r.id), |e| ends.push(e));
            drain(&mut engine, port).unwrap();
            for op in ids {
                engine.handle_radio(start(), RadioId(0), RadioEvent::Refused { op, why });
            }
        }
        assert_eq!(ends.last(), Some(&Event::Finished(End::RadioFailed)));
    }
}

#[test]
fn an_idle_pipeline_asks_nothing() {
    let mut engine = Node::new(Memory::default());
    engine.handle_radio(start(), RadioId(0), frame(&[1, 2, 3], start()));
    engine.handle_timeout(start());
    engine.handle_command(start(), Command::Stop);
    assert!(engine.poll_radio().is_none());
    assert_eq!(engine.poll_timeout(), None);
    assert_eq!(engine.poll_event(), None);
}

#[test]
fn a_node_of_a_transfer_hop_by_hop_counts_refusals_and_calls_on() {
    let hops = [1, 2].map(|n| (NodeId::new(n).unwrap(), Channel::LAST));
    let setup = HopSetup {
        route: HopRoute::new(1, &hops, ObjectRange::ALL, 100).unwrap(),
        position: 1,
        control: Channel::LAST,
        answer: Duration::from_millis(2),
        seed: 1,
    };
    let mut engine = Node::new(Memory::default());
    engine.handle_command(start(), Command::StartHop(setup, None));
    for refused in 0..4 {
        let mut calls: Vec<OpId> = Vec::new();
        let mut order = |r: Op<'_>| match r.op {
            RadioOp::Listen { .. } => {}
            _ => calls.push(r.id),
        };
        drain(&mut engine, &mut (&mut order, |_| {})).unwrap();
        assert_eq!(engine.stats().refused, refused);
        for op in calls {
            let why = Refusal::NoSuch;
            engine.handle_radio(start(), RadioId(0), RadioEvent::Refused { op, why });
        }
        engine.handle_timeout(engine.poll_timeout().unwrap());
    }
}
