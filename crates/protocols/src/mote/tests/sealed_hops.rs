//! Nodes with keys, hop by hop, and an outsider without: whatever it records or makes up, it costs itself alone.

use super::bench::{draw, id, object, MS, TELOSB};
use super::sealed::{grant, heard_by, node, run, seals, Node};
use crate::mote::Command;
use crate::mote::Event;
use crate::pipeline::{self, End};
use crate::seals::Kept;
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::RadioEvent;
use thalweg_units::{Channel, Duration};
use thalweg_wire::hop::{Block, Frame, HopRoute, Place, MAX_SEALED_PAYLOAD};
use thalweg_wire::route::ObjectRange;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::FrameBuf;

/// Neighbours of a row of nodes with keys lose `percent` of all frames.
pub(super) fn row(nodes: usize, percent: u64, seed: u64) -> Net<Node> {
    let links = move |air: Air<'_>| {
        let lost = draw(&[seed, air.number as u64, air.to as u64]) % 100 < percent;
        match air.from.abs_diff(air.to) == 1 && !lost {
            true => Fate::Heard,
            false => Fate::Silent,
        }
    };
    let nodes = (0..nodes).map(|n| node(n, Some(seals(1, Kept::default()))));
    let mut net = Net::new(nodes.collect(), TELOSB, Box::new(links));
    net.run_for(MS(3));
    net
}

pub(super) fn route(transfer: u16, nodes: usize) -> HopRoute {
    let list = [15, 20, 25].map(|c| Channel::new(c).unwrap());
    let nodes: Vec<_> = (0..nodes)
        .map(|at| (id(nodes - 1 - at), list[at % 3]))
        .collect();
    let route = HopRoute::new(transfer, &nodes, ObjectRange::ALL, MAX_SEALED_PAYLOAD).unwrap();
    route.secured(Sealing::Sealed).unwrap()
}

pub(super) fn order(net: &mut Net<Node>, route: HopRoute, from: u32) {
    grant(net, 0, from);
    net.command(0, Command::FetchHops(route));
}

/// Whether the sink of `events` has the object of node `source`, and nothing else.
fn is_whole(net: &Net<Node>, events: &[(usize, Event)], source: usize) -> bool {
    let has = |of: &dyn Fn(&pipeline::Event) -> bool| {
        let mut own = events.iter().filter(|(n, _)| *n == 0);
        own.any(|(_, event)| matches!(event, Event::Pipeline(event) if of(event)))
    };
    let is_complete = has(&|event| matches!(event, pipeline::Event::Complete(_)));
    let is_over = has(&|event| matches!(event, pipeline::Event::Finished(End::Complete)));
    let (received, sent) = (&net.engine(0).pipeline().store().received, object(source));
    is_complete && is_over && received.get(..sent.len()) == Some(&sent[..])
}

#[test]
fn objects_arrive_sealed_over_links_that_lose_half_of_all_frames() {
    for (nodes, percent, seed) in [(2, 50, 1), (5, 50, 2), (9, 30, 3)] {
        let mut net = row(nodes, percent, seed);
        for (transfer, from) in [(1, 10), (2, 11)] {
            order(&mut net, route(transfer, nodes), from);
            let events = run(&mut net, Duration::from_secs(30));
            assert!(is_whole(&net, &events, nodes - 1), "{nodes}, {percent} %");
        }
    }
}

/// Frames that an outsider makes up for a transfer whose number it has heard.
fn forged(transfer: u16, step: u32) -> Vec<(usize, FrameBuf)> {
    let block = Block {
        base: 0,
        count: 1,
        place: Place::Last,
    };
    let mic = step.to_le_bytes();
    let sealed = |frame: Frame<'_>| {
        let mut mpdu = frame.frame().unwrap();
        mpdu.append(&mic).unwrap();
        mpdu
    };
    let ack = |by, base| Frame::Ack {
        transfer,
        by,
        base,
        here: u16::MAX,
    };
    let payload = &[0xee; MAX_SEALED_PAYLOAD as usize];
    let data = |by, number| Frame::Data {
        transfer,
        by,
        number,
        payload,
    };
    let (by, number) = (2, (step % 24) as u16);
    let call = Frame::Call {
        to: 1,
        route: route(transfer, 4),
    };
    [
        (
            0,
            Frame::Poll {
                transfer,
                by,
                block,
            },
        ),
        (0, data(2, number)),
        (0, Frame::Called { transfer, by }),
        (1, data(1, number)),
        (2, ack(2, 0)),
        (3, ack(1, 16)),
        (3, call),
    ]
    .map(|(to, frame)| (to, sealed(frame)))
    .to_vec()
}

/// At any time of a transfer its nodes hear forged frames of every kind: data too.
#[test]
fn forged_frames_cost_nothing_but_themselves() {
    let mut net = row(4, 10, 7);
    order(&mut net, route(5, 4), 10);
    let (mut events, mut counted) = (Vec::new(), 0);
    for step in 0..600 {
        events.extend(run(&mut net, MS(1)));
        for (to, mpdu) in forged(5, step) {
            heard_by(&mut net, [to], &mpdu);
        }
    }
    events.extend(run(&mut net, Duration::from_secs(20)));
    for n in 0..4 {
        counted += u32::from(net.engine(n).pipeline().stats().forged);
    }
    assert!(counted > 500, "they were heard: {counted}");
    assert!(is_whole(&net, &events, 3));
}

fn calls(net: &Net<Node>) -> Vec<FrameBuf> {
    let calls = net.sent().iter().filter(|sent| Frame::is_call(&sent.mpdu));
    let calls = calls.map(|sent| FrameBuf::from_slice(&sent.mpdu).unwrap());
    calls.collect()
}

fn assert_nobody_joins(net: &mut Net<Node>, mpdus: &[FrameBuf], what: &str) {
    for mpdu in mpdus {
        heard_by(net, 0..4, mpdu);
        let events = run(net, MS(20));
        let joined = events.iter().any(|(_, event)| *event == Event::Joined);
        assert!(!joined, "{what}");
    }
}

#[test]
fn a_recorded_call_is_obeyed_by_nobody_at_any_time() {
    let mut net = row(4, 0, 1);
    order(&mut net, route(1, 4), 10);
    let events = run(&mut net, Duration::from_secs(20));
    assert!(is_whole(&net, &events, 3));
    let recorded = calls(&net);
    assert!(recorded.len() >= 3);
    for (after, what) in [
        (0, "at once"),
        (1, "a second later"),
        (86_400, "a day later"),
    ] {
        run(&mut net, Duration::from_secs(after));
        assert_nobody_joins(&mut net, &recorded, what);
    }
    for n in 0..4 {
        let kept = net.engine(n).guard().as_ref().unwrap().kept();
        *net.engine_mut(n) = node(n, Some(seals(1, kept)));
        let sfd = net.now();
        net.inject(n, RadioEvent::Corrupt { sfd });
    }
    assert_nobody_joins(&mut net, &recorded, "after a restart");
}

#[test]
fn a_call_with_a_changed_bit_is_obeyed_by_nobody() {
    let mut net = row(4, 0, 1);
    order(&mut net, route(1, 4), 10);
    let mut sink = Vec::new();
    for _ in 0..20 {
        run(&mut net, MS(1));
        sink = calls(&net);
        if !sink.is_empty() {
            break;
        }
    }
    // Nodes that never heard it get it with one bit changed each; the position that is called is not under the tag.
    let mut other = row(4, 0, 2);
    let call = sink[0];
    for bit in 5 * 8..call.len() * 8 {
        let mut flipped = call;
        flipped[bit / 8] ^= 1 << (bit % 8);
        heard_by(&mut other, 0..4, &flipped);
        let events = run(&mut other, MS(1));
        let joined = events.iter().any(|(_, event)| *event == Event::Joined);
        assert!(!joined, "bit {bit}");
    }
    heard_by(&mut other, [1], &call);
    let events = run(&mut other, MS(1));
    assert!(events.contains(&(1, Event::Joined)), "as it was sent");
}
