//! Surveys of nodes with keys: links and batteries are those that nodes told, whatever an outsider records or makes up.

use super::bench::{draw, id, MS, TELOSB};
use super::sealed::{flood, floods, grant, heard_by, node, run, seals, Node};
use super::sealed_hops::{order, route, row};
use crate::floodnet;
use crate::linkprobe::NodeList;
use crate::mote::{Command, Event};
use crate::seals::Kept;
use crate::sweep::{Sweep, BEACON_BYTES, SLOT};
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_units::{BatteryLevel, Channel, ChannelSet, Duration};
use thalweg_wire::flood as wire;
use thalweg_wire::hop::Subject;
use thalweg_wire::levels::Levels;
use thalweg_wire::sweep::Beacon;
use thalweg_wire::FrameBuf;

const NODES: usize = 5;

fn channels() -> ChannelSet {
    [15, 26].iter().map(|c| Channel::new(*c).unwrap()).collect()
}
fn sweep(nodes: usize) -> Sweep<16> {
    let nodes = NodeList::range(0, nodes as u16).unwrap();
    Sweep::new(nodes, channels(), 2, (SLOT, MS(100)), -86).unwrap()
}
/// A row of nodes that hear each other well; without keys if it is open.
fn network(is_open: bool) -> Net<Node> {
    if !is_open {
        return row(NODES, 0, 1);
    }
    let links = |air: Air<'_>| match air.from.abs_diff(air.to) == 1 {
        true => Fate::Heard,
        false => Fate::Silent,
    };
    let nodes = (0..NODES).map(|n| node(n, None)).collect();
    let mut net = Net::new(nodes, TELOSB, Box::new(links));
    net.run_for(MS(3));
    net
}
/// From, to, channel, and how many beacons came through.
type Link = (u16, u16, u8, u8);

fn links(events: &[(usize, Event)]) -> Vec<Link> {
    let of = |(n, event): &(usize, Event)| match event {
        Event::Floods(floodnet::Event::Link(link)) if *n == 0 => Some((
            link.from.get(),
            link.to.get(),
            link.channel.number(),
            link.received,
        )),
        _ => None,
    };
    let mut all: Vec<Link> = events.iter().filter_map(of).collect();
    all.sort_unstable();
    all
}
/// The links that a survey brings while an outsider does something every millisecond: it sees the frames of the last.
fn surveyed(net: &mut Net<Node>, mut outsider: impl FnMut(&mut Net<Node>, usize)) -> Vec<Link> {
    net.command(0, Command::Sweep(sweep(NODES)));
    let (mut events, mut seen) = (Vec::new(), net.sent().len());
    for _ in 0..4_000 {
        events.extend(run(net, MS(1)));
        let before = std::mem::replace(&mut seen, net.sent().len());
        outsider(net, before);
    }
    events.extend(run(net, Duration::from_secs(4)));
    links(&events)
}

#[test]
fn beacons_of_others_and_recorded_ones_make_no_link() {
    let mut net = network(false);
    grant(&mut net, 0, 10);
    let told = surveyed(&mut net, |_, _| {});
    assert_eq!(told.len(), (NODES - 1) * 2 * 2, "{told:?}");
    assert!(told.iter().all(|(.., received)| *received == 2));
    for is_open in [true, false] {
        let mut net = network(is_open);
        if !is_open {
            grant(&mut net, 0, 10);
        }
        // A recorded beacon is sent again once it has ended, at the earliest.
        let mut older: [Vec<Vec<u8>>; 2] = Default::default();
        let with_others = surveyed(&mut net, |net, from| {
            let sent = net.sent()[from..].iter().map(|sent| sent.mpdu.clone());
            let new = std::mem::replace(&mut older[1], sent.collect());
            for mpdu in std::mem::replace(&mut older[0], new) {
                let Ok(beacon) = Beacon::parse(&mpdu) else {
                    continue;
                };
                // As it was, to all; and as if the farthest had sent it.
                heard_by(net, 0..NODES, &mpdu);
                let forged = Beacon {
                    from: id(NODES - 1),
                    ..beacon
                };
                let forged = FrameBuf::build(|w| forged.emit(w, BEACON_BYTES.into())).unwrap();
                heard_by(net, 0..NODES - 2, &forged);
            }
        });
        assert_eq!(with_others == told, !is_open, "{with_others:?}");
    }
}

#[test]
fn reports_of_others_and_recorded_ones_tell_nothing() {
    let battery = |events: &[(usize, Event)]| {
        let of = |(_, event): &(usize, Event)| {
            matches!(event, Event::Floods(floodnet::Event::Battery { .. }))
        };
        events.iter().any(of)
    };
    for is_open in [true, false] {
        let mut net = network(is_open);
        let mut recorded: Vec<FrameBuf> = Vec::new();
        let mut last = Vec::new();
        for turn in 0..3 {
            if !is_open {
                grant(&mut net, 0, 10 + 30 * turn);
            }
            net.command(0, Command::Sweep(sweep(NODES)));
            let mut events = Vec::new();
            for step in 0..4_000_u32 {
                events.extend(run(&mut net, MS(1)));
                let campaign = net.engine(0).floods.table().campaign();
                let (Some(campaign), 0) = (campaign, step % 5) else {
                    continue;
                };
                let head = Levels {
                    campaign,
                    rows: 0,
                    battery: Some(BatteryLevel::of_code(0)),
                };
                let content = FrameBuf::build(|w| {
                    w.u8(campaign.number() << 4 | wire::Kind::Levels as u8)?;
                    w.u8(0x80 | head.rows)?.u8(0)?.u32(step).map(|_| ())
                });
                let mut content = content.unwrap();
                for sealed in [0, 8] {
                    content[0] = content[0] & !8 | sealed;
                    let forged = flood(id(3), step as u8, &content);
                    heard_by(&mut net, [0], &forged);
                }
                if let Some(mpdu) = recorded.get(step as usize / 5 % recorded.len().max(1)) {
                    let mut again = *mpdu;
                    again[2] = step as u8;
                    heard_by(&mut net, [0], &again);
                }
            }
            events.extend(run(&mut net, Duration::from_secs(4)));
            assert_eq!(battery(&events), is_open);
            recorded = (1..NODES).flat_map(|n| floods(&net, n)).collect();
            last = links(&events);
        }
        if !is_open {
            assert_eq!(last.len(), (NODES - 1) * 2 * 2);
        }
    }
}

/// A sweep's announcement is an order like others.
#[test]
fn a_recorded_announcement_is_obeyed_by_nobody() {
    let mut net = network(false);
    grant(&mut net, 0, 10);
    assert!(!surveyed(&mut net, |_, _| {}).is_empty());
    let recorded = floods(&net, 0);
    run(&mut net, Duration::from_secs(5));
    let before = net.sent().len();
    for (mpdu, sequence) in recorded.iter().zip(100..) {
        let mut again = *mpdu;
        again[2] = sequence;
        heard_by(&mut net, 1..NODES, &again);
        run(&mut net, Duration::from_secs(1));
    }
    let initiator = |mpdu: &[u8]| wire::Repr::parse(mpdu).map(|flood| flood.initiator);
    let sent = net.sent()[before..].iter();
    let others = sent.filter(|sent| initiator(&sent.mpdu) != Ok(id(0)));
    assert_eq!(others.count(), 0, "no beacon and no report");
}

/// Each link of a row is good for half a second at a time, and then perhaps not: nodes repeat what they heard, sealed, and
/// what the sink said is known at the end of the row.
#[test]
fn repeated_announcements_reach_the_end_of_a_row() {
    let taking_part = |reach: u8, seed: u64| {
        let links = move |air: Air<'_>| {
            let half = air.start.as_nanos() / 500_000_000;
            let is_good = draw(&[seed, half, air.from.min(air.to) as u64]) % 100 < 60;
            match air.from.abs_diff(air.to) == 1 && is_good {
                true => Fate::Heard,
                false => Fate::Silent,
            }
        };
        let nodes = (0..10).map(|n| node(n, Some(seals(1, Kept::default()))));
        let mut net = Net::new(nodes.collect(), TELOSB, Box::new(links));
        net.run_for(MS(3));
        grant(&mut net, 0, 10);
        net.command(0, Command::Sweep(sweep(10).reaching(reach)));
        run(&mut net, Duration::from_secs(20));
        let campaign = |n: usize| net.engine(n).floods.table().campaign();
        (0..10).filter(|n| campaign(*n) == campaign(0)).count()
    };
    let all = |reach: u8| (1..=6).map(|seed| taking_part(reach, seed)).sum::<usize>();
    let (near, far) = (all(6), all(31));
    assert!(near <= 40, "{near}");
    assert!(far >= 52, "{far}");
}

/// A node whose flooded report was lost is asked for it hop by hop, sealed as it would have flooded it.
#[test]
fn a_report_is_fetched_hop_by_hop() {
    let mut net = row(NODES, 10, 3);
    grant(&mut net, 0, 10);
    net.command(0, Command::Sweep(sweep(NODES)));
    run(&mut net, Duration::from_secs(20));
    let mut asked = route(3, NODES);
    asked.subject = Subject::Report;
    order(&mut net, asked, 60);
    let events = run(&mut net, Duration::from_secs(3));
    let links = links(&events);
    assert!(links.len() >= 2, "{links:?}");
    let (from, to) = (NODES as u16 - 2, NODES as u16 - 1);
    assert!(links.iter().all(|link| (link.0, link.1) == (from, to)));
}
