//! Nodes with keys, and an outsider without: it records frames, replays them, and forges its own.

use super::bench::{adjacent, channels, id, object, Memory, MS, TELOSB};
use crate::collection::Collect;
use crate::floodnet::{self, Config};
use crate::linkprobe::NodeList;
use crate::mote::rendezvous::Schedule;
use crate::mote::{Command, Event, Mote, Refused};
use crate::pipeline::{self, Complete};
use crate::seals::{Kept, Seals};
use crate::sweep::Sweep;
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Fate, Net};
use thalweg_engine::RadioEvent;
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, NodeId};
use thalweg_wire::flood::{self, patch_relay, Course, Ntx};
use thalweg_wire::hop::{self, HopRoute};
use thalweg_wire::pipeline::{Format, Group, Head, Header, Kind, Nack, Purpose, Request, Tag};
use thalweg_wire::route::{Member, ObjectRange, Route, Scheme, WakeUpTurn};
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::{Key, MasterKey, SoftwareAes};
use thalweg_wire::FrameBuf;

const NODES: usize = 12;
const SINK: usize = 4;
const SOURCE: usize = 7;

pub(super) type Guarded = Option<Seals<SoftwareAes>>;
pub(super) type Node = Mote<Memory, 32, 16, Guarded>;

pub(super) fn seals(network: u8, kept: Kept) -> Seals<SoftwareAes> {
    let mut aes = SoftwareAes::default();
    let group = MasterKey::new(Key::new([network; 16])).group(&mut aes, 0);
    Seals::new(aes, group, kept)
}
pub(super) fn node(n: usize, guard: Guarded) -> Node {
    let (config, store) = (Config::default(), Memory::of(object(n)));
    Mote::guarded((id(n), guard), config, TELOSB, store)
}

/// A network of which each node has what `guard` gives it.
pub(super) fn network(guard: impl Fn(usize) -> Guarded) -> Net<Node> {
    let nodes = (0..NODES).map(|n| node(n, guard(n))).collect();
    let links =
        Box::new(
            |air: thalweg_engine::harness::Air<'_>| match adjacent(air.from, air.to) {
                true => Fate::Heard,
                false => Fate::Silent,
            },
        );
    let mut net = Net::new(nodes, TELOSB, links);
    net.run_for(MS(3));
    net
}
pub(super) fn secured() -> Net<Node> {
    network(|_| Some(seals(1, Kept::default())))
}

/// From 7 to 4 over two chains.
fn chains(transfer: u16, sink: usize, sealing: Sealing) -> Route {
    let mut route = Route::new(transfer, id(SOURCE), id(sink), Scheme::Thalweg, channels(4));
    for (node, stage, group) in [
        (2, 1, Group::Odd),
        (6, 1, Group::Even),
        (1, 2, Group::Odd),
        (5, 2, Group::Even),
    ] {
        let node = id(node);
        route.add(Member { node, stage, group }).unwrap();
    }
    (route.format, route.sealing) = (Format::Slim, sealing);
    route
}

pub(super) fn grant(net: &mut Net<Node>, n: usize, from: u32) {
    net.command(n, Command::Numbers { from, count: 40 });
}

/// What the sink had of a transfer that has just ended, and whether it was whole.
fn complete(net: &Net<Node>, events: &[(usize, Event)]) -> Option<Complete> {
    let complete = events.iter().find_map(|(n, event)| match event {
        Event::Pipeline(pipeline::Event::Complete(complete)) if *n == SINK => Some(*complete),
        _ => None,
    })?;
    let (received, sent) = (
        &net.engine(SINK).pipeline().store().received,
        object(SOURCE),
    );
    assert_eq!(
        received[..sent.len()],
        sent,
        "other bytes than the source's"
    );
    Some(complete)
}

/// Runs on for `time`; what happened.
pub(super) fn run(net: &mut Net<Node>, time: Duration) -> Vec<(usize, Event)> {
    net.run_for(time);
    let events = net.take_events().into_iter();
    events.map(|(_, n, event)| (n, event)).collect()
}
fn fetch(net: &mut Net<Node>, transfer: u16, from: u32) -> Vec<(usize, Event)> {
    grant(net, SINK, from);
    net.command(
        SINK,
        Command::Fetch(chains(transfer, SINK, Sealing::Sealed)),
    );
    run(net, Duration::from_secs(6))
}

/// All nodes of `to` hear `mpdu` now.
pub(super) fn heard_by(net: &mut Net<Node>, to: impl IntoIterator<Item = usize>, mpdu: &[u8]) {
    for n in to {
        let now = net.now();
        let frame = RadioEvent::Frame {
            mpdu,
            sfd: now,
            end: now,
            rssi: Dbm(-50.0),
            lqi: 100,
        };
        net.inject(n, frame);
    }
}
/// The floods of node `of` that were sent, the first frame of each.
pub(super) fn floods(net: &Net<Node>, of: usize) -> Vec<FrameBuf> {
    let frames = net.sent().iter().filter(|sent| sent.from == of);
    let mut all: Vec<FrameBuf> = Vec::new();
    for sent in frames {
        let Ok(flood) = flood::Repr::parse(&sent.mpdu) else {
            continue;
        };
        if flood.initiator == id(of) && flood.relay == 0 {
            all.push(FrameBuf::from_slice(&sent.mpdu).unwrap());
        }
    }
    all
}
/// A flood of `content`, as if `by` had begun it.
pub(super) fn flood(by: NodeId, sequence: u8, content: &[u8]) -> FrameBuf {
    let (course, relay) = (Course::Outwards(Ntx::THREE), 0);
    let repr = flood::Repr {
        sequence,
        initiator: by,
        course,
        relay,
        content,
    };
    FrameBuf::build(|w| repr.emit(w)).unwrap()
}
/// The rendezvous that nodes keep to.
fn schedules(net: &Net<Node>) -> Vec<Option<Schedule>> {
    (0..NODES).map(|n| net.engine(n).schedule).collect()
}
/// Nobody joins anything, measures anything, or keeps to other rendezvous than `before` within ten seconds.
fn assert_nothing_happens(net: &mut Net<Node>, before: &[Option<Schedule>], what: &str) {
    let events = run(net, Duration::from_secs(10));
    let is_order = |event: &Event| {
        matches!(
            event,
            Event::Joined | Event::WakeUp { .. } | Event::Pipeline(_)
        ) || matches!(event, Event::Floods(floodnet::Event::Flooded { .. }))
    };
    let bad: Vec<_> = events.iter().filter(|(_, event)| is_order(event)).collect();
    assert!(bad.is_empty(), "{what}: {bad:?}");
    assert_eq!(schedules(net), before, "{what}");
}

#[test]
fn a_sealed_transfer_arrives_and_the_next_does() {
    let mut net = secured();
    for (transfer, from) in [(1, 10), (2, 20), (3, 1_000_000)] {
        let events = fetch(&mut net, transfer, from);
        let complete = complete(&net, &events).unwrap();
        assert_eq!((complete.packets, complete.rounds), (21, 1));
    }
    assert!(net.engine(2).pipeline().stats().forged == 0);
}

#[test]
fn without_keys_every_frame_is_as_before() {
    let frames = |guard: fn() -> Guarded| {
        let mut net = network(|_| guard());
        net.command(SINK, Command::Fetch(chains(1, SINK, Sealing::Open)));
        let events = run(&mut net, Duration::from_secs(6));
        assert!(complete(&net, &events).is_some());
        net.sent()
            .iter()
            .map(|sent| sent.mpdu.to_vec())
            .collect::<Vec<_>>()
    };
    let nodes =
        (0..NODES).map(|n| Mote::new(id(n), Config::default(), TELOSB, Memory::of(object(n))));
    let links =
        Box::new(
            |air: thalweg_engine::harness::Air<'_>| match adjacent(air.from, air.to) {
                true => Fate::Heard,
                false => Fate::Silent,
            },
        );
    let nodes: Vec<Mote<Memory, 32, 16>> = nodes.collect();
    let mut plain = Net::new(nodes, TELOSB, links);
    plain.run_for(MS(3));
    plain.command(SINK, Command::Fetch(chains(1, SINK, Sealing::Open)));
    plain.run_for(Duration::from_secs(6));
    let plain: Vec<_> = plain.sent().iter().map(|sent| sent.mpdu.to_vec()).collect();
    assert_eq!(frames(|| None), plain);
}

#[test]
fn a_recorded_wake_up_does_nothing_at_any_time() {
    let mut net = secured();
    fetch(&mut net, 1, 10);
    let recorded = floods(&net, SINK);
    assert!(!recorded.is_empty());
    run(&mut net, Duration::from_secs(30));
    let before = schedules(&net);
    for (after, why) in [
        (0, "at once"),
        (1, "a second later"),
        (86_400, "a day later"),
    ] {
        run(&mut net, Duration::from_secs(after));
        for (mpdu, sequence) in recorded.iter().zip(100..) {
            for relay in [0, 1, 5] {
                let mut again = *mpdu;
                // A sequence number of the MAC that no node has seen.
                again[2] = sequence + relay;
                patch_relay(&mut again, relay);
                heard_by(&mut net, 0..NODES, &again);
                run(&mut net, MS(50));
            }
        }
        assert_nothing_happens(&mut net, &before, why);
    }
    for n in 0..NODES {
        let kept = net.engine(n).guard().as_ref().unwrap().kept();
        *net.engine_mut(n) = node(n, Some(seals(1, kept)));
        let listen = net.now();
        net.inject(n, RadioEvent::Corrupt { sfd: listen });
    }
    for mpdu in &recorded {
        heard_by(&mut net, 0..NODES, mpdu);
        run(&mut net, MS(50));
    }
    assert_nothing_happens(&mut net, &[None; NODES], "after a restart");
}

/// Its own floods, recorded and sent back while it wakes others, do not change when the sink begins.
#[test]
fn a_sink_does_not_listen_to_itself() {
    let mut net = secured();
    fetch(&mut net, 1, 10);
    let recorded = floods(&net, SINK);
    grant(&mut net, SINK, 50);
    net.command(SINK, Command::Fetch(chains(2, SINK, Sealing::Sealed)));
    let mut events = Vec::new();
    for step in 0..700 {
        events.extend(run(&mut net, MS(1)));
        let mut again = recorded[0];
        again[2] = 100 + step as u8 % 100;
        heard_by(&mut net, [SINK], &again);
    }
    events.extend(run(&mut net, Duration::from_secs(6)));
    let begun = events
        .iter()
        .filter(|(_, event)| matches!(event, Event::WakeUp { .. }));
    assert_eq!(begun.count(), 1);
    assert!(complete(&net, &events).is_some());
}

#[test]
fn whoever_has_no_key_gives_no_order() {
    for (guard, who) in [
        (None, "no keys"),
        (Some(seals(2, Kept::default())), "another's keys"),
    ] {
        let mut net = network(|n| match n {
            9 => guard.clone(),
            _ => Some(seals(1, Kept::default())),
        });
        let sealing = match guard {
            Some(_) => Sealing::Sealed,
            None => Sealing::Open,
        };
        let mut route = chains(1, 9, sealing);
        route.deadline_s = 2;
        grant(&mut net, 9, 50);
        net.command(9, Command::Fetch(route));
        let events = run(&mut net, Duration::from_secs(12));
        let joined = events.iter().any(|(n, e)| *n != 9 && *e == Event::Joined);
        assert!(!joined, "{who}");
        let sent = net
            .sent()
            .iter()
            .any(|sent| sent.from == SOURCE && is_data(&sent.mpdu));
        assert!(!sent, "{who}: the source sent its object");
        assert!(net.engine(9).pipeline().store().received.is_empty());
    }
}

fn is_data(mpdu: &[u8]) -> bool {
    Head::parse(mpdu).is_ok_and(|head| head.kind == Kind::Data)
}

#[test]
fn forged_orders_of_every_kind_are_relayed_at_most() {
    let mut net = secured();
    fetch(&mut net, 1, 10);
    let before = schedules(&net);
    let mut contents: Vec<Vec<u8>> = Vec::new();
    for sealing in [Sealing::Open, Sealing::Sealed] {
        let route = chains(9, SINK, sealing);
        let until = Duration::from_millis(60);
        let segment = FrameBuf::build(|w| {
            w.u8(0)?;
            route.segment(0, WakeUpTurn::First, until, w)
        });
        let plain = segment.unwrap().to_vec();
        // As it is, and with a forged trailer.
        let mut sealed = plain.clone();
        sealed[0] |= 8;
        sealed.extend(99_u32.to_le_bytes());
        sealed.extend([0x5a; 8]);
        contents.extend([plain, sealed]);
    }
    // A muster, an announcement of beacons, a schedule, a sweep: kinds 0 to 4, with anything in them.
    for kind in 0..=4_u8 {
        for filler in [0x00, 0x11, 0xff] {
            contents.push([&[kind][..], &[filler; 40]].concat());
        }
    }
    contents.push([&[0, 0x11, 10, 0][..]].concat());
    for (content, sequence) in contents.iter().zip(100..) {
        let forged = flood(id(SINK), sequence, content);
        heard_by(&mut net, [0, 5, 10, SOURCE], &forged);
        run(&mut net, MS(60));
    }
    let nodes = [SINK, 5, 6, SOURCE].map(|n| (id(n), Channel::LAST));
    let route = HopRoute::new(3, &nodes, ObjectRange::ALL, 100).unwrap();
    let call = hop::Frame::Call { to: 0, route };
    heard_by(&mut net, [SOURCE], &call.frame().unwrap());
    assert_nothing_happens(&mut net, &before, "forged orders");
}

/// At any time of a transfer its ends and relays hear forged requests, releases and NACKs.
#[test]
fn forged_control_frames_change_nothing() {
    let mut net = secured();
    grant(&mut net, SINK, 10);
    net.command(SINK, Command::Fetch(chains(5, SINK, Sealing::Sealed)));
    let head = |kind, hop, group| Head {
        kind,
        tag: Tag::of(5),
        hop,
        group,
    };
    let (mut events, mut forged) = (Vec::new(), 0);
    for step in 0..400_u32 {
        events.extend(run(&mut net, MS(1)));
        let group = [Group::Odd, Group::Even][step as usize % 2];
        for (purpose, hop, to) in [
            (Purpose::Release, 2, SINK),
            (Purpose::Report, 2, SINK),
            (Purpose::Release, 0, 2),
            (Purpose::Across, 0, 6),
        ] {
            let request = Request {
                packets: 1,
                object_len: 7,
                digest: *b"forged..",
                following: 0,
                purpose,
            };
            let mpdu = FrameBuf::build(|w| {
                let head = head(Kind::Request, hop, group);
                Header { head, number: 0 }.emit_as(Format::Slim, w)?;
                request.emit(w)?;
                w.bytes(&step.to_le_bytes()).map(|_| ())
            });
            heard_by(&mut net, [to], &mpdu.unwrap());
        }
        let nack = Nack {
            first: 0,
            missing: 0,
            following: 0,
            vector: &step.to_le_bytes(),
        };
        for (to, hop) in [(SOURCE, 1), (2, 2), (5, 3)] {
            let mpdu = FrameBuf::build(|w| {
                let head = head(Kind::Nack, hop, group);
                Header { head, number: 0 }.emit_as(Format::Slim, w)?;
                nack.emit(w)
            });
            heard_by(&mut net, [to], &mpdu.unwrap());
        }
    }
    events.extend(run(&mut net, Duration::from_secs(6)));
    for n in [SINK, SOURCE, 2, 5, 6] {
        forged += u32::from(net.engine(n).pipeline().stats().forged);
    }
    assert!(forged > 100, "they were heard: {forged}");
    let complete = complete(&net, &events).unwrap();
    assert_eq!(complete.object_len as usize, object(SOURCE).len());
    assert_eq!(complete.digest, [object(SOURCE)[0]; 8], "the source's own");
}

#[test]
fn orders_for_another_kind_of_network_are_refused() {
    let refused = |net: &mut Net<Node>, order| {
        net.command(SINK, order);
        let events = run(net, MS(50)).into_iter();
        events
            .filter(|(n, _)| *n == SINK)
            .map(|(_, event)| event)
            .collect::<Vec<_>>()
    };
    let mut net = secured();
    let nodes = [SOURCE, 6, 5, SINK].map(|n| (id(n), Channel::LAST));
    let hops = HopRoute::new(3, &nodes, ObjectRange::ALL, 100).unwrap();
    let sealed_hops = hops.secured(Sealing::Sealed).unwrap();
    for order in [
        Command::Fetch(chains(1, SINK, Sealing::Open)),
        Command::FetchHops(hops),
        Command::Collect(Collect {
            nodes: NodeList::range(0, 12).unwrap(),
            floor: 1,
        }),
    ] {
        assert_eq!(refused(&mut net, order), [Event::Refused(Refused::Sealing)]);
    }
    let list: ChannelSet = [Channel::LAST].into_iter().collect();
    let sweep = Sweep::new(
        NodeList::range(0, 12).unwrap(),
        list,
        1,
        (MS(2), MS(4)),
        -94,
    );
    let no_number = [Event::Floods(floodnet::Event::Refused(
        floodnet::Refused::NoNumber,
    ))];
    assert_eq!(refused(&mut net, Command::Sweep(sweep.unwrap())), no_number);
    let order = Command::Fetch(chains(1, SINK, Sealing::Sealed));
    assert_eq!(refused(&mut net, order), no_number);
    assert_eq!(
        refused(&mut net, Command::FetchHops(sealed_hops)),
        no_number
    );
    let mut open = network(|_| None);
    for order in [
        Command::FetchHops(sealed_hops),
        Command::Fetch(chains(1, SINK, Sealing::Sealed)),
        Command::Numbers { from: 1, count: 2 },
    ] {
        assert_eq!(
            refused(&mut open, order),
            [Event::Refused(Refused::Sealing)]
        );
    }
}
