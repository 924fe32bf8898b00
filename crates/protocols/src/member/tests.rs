//! A mote that is called to a session, and back. Whole networks: `.ci/emulated.py`, `crates/simnet/tests/all/member.rs`.

use super::*;
use crate::object::{Lends, NoObject};
use crate::rcrt::source::Source;
use std::format;
use std::string::String;
use std::vec::Vec;
use thalweg_engine::drain;
use thalweg_units::Dbm;
use thalweg_wire::flood::{Campaign, Course, Kind, Ntx};
use thalweg_wire::rcrt::{Up, UpBody};

impl Lends for NoObject {
    type Loan = Self;

    fn lend(&self) -> Self {
        *self
    }
}

type Sensor = Member<NoObject, Source<Packets<NoObject>>, 8, 0>;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// What a node asks of its radio, by the operations' names, and when its time-out is.
fn asks(node: &mut Sensor) -> (Vec<String>, Option<Instant>) {
    let mut all = Vec::new();
    let name = |request: Request<'_>| {
        let text = format!("{:?}", request.op);
        let end = text.find([' ', '(']).unwrap_or(text.len());
        all.push(match request.op {
            RadioOp::Hear(hear) => format!("{hear:?}"),
            _ => String::from(&text[..end]),
        });
    };
    let due = drain(node, &mut (name, |_| ())).unwrap();
    (all, due)
}
fn hears(node: &mut Sensor, now: Instant, mpdu: &[u8]) -> (Vec<String>, Option<Instant>) {
    let frame = RadioEvent::Frame {
        mpdu,
        sfd: now,
        end: now,
        rssi: Dbm(-60.0),
        lqi: 110,
    };
    node.handle_radio(now, RadioId(0), frame);
    asks(node)
}
/// Lets time-outs come until there is none before `until`; all that it asks for meanwhile.
fn waits(node: &mut Sensor, until: Instant) -> Vec<String> {
    let (mut all, mut due) = asks(node);
    while let Some(now) = due.filter(|due| *due <= until) {
        node.handle_timeout(now);
        let (more, next) = asks(node);
        assert!(next.is_none_or(|next| next > now), "a time-out stays due");
        all.extend(more);
        due = next;
    }
    all
}

/// A flood of node 1 that calls node 7, which is to send a packet a second, to a session in 50 ms.
fn muster() -> FrameBuf {
    let muster = Muster {
        until_start: Duration::from_millis(50),
        sources: &[7, 0, 0, 2],
    };
    let content = FrameBuf::build(|w| {
        Kind::Application.emit(Campaign::default(), w)?;
        muster.emit(w)
    });
    let flood = flood::Repr {
        sequence: 3,
        initiator: id(1),
        course: Course::Outwards(Ntx::ONE),
        relay: 0,
        content: &content.unwrap(),
    };
    FrameBuf::build(|w| flood.emit(w)).unwrap()
}

fn sensor() -> Sensor {
    let config = floodnet::Config::default();
    let timing = thalweg_engine::BoardTiming::IDEAL;
    Member::new(id(7), config, timing, NoObject)
}

/// A node that has begun its session.
fn in_session() -> Sensor {
    let mut node = sensor();
    assert_eq!(asks(&mut node).0, ["Listen"]);
    hears(&mut node, at(100), &muster());
    let asked = waits(&mut node, at(200));
    assert!(node.has_session());
    let taken = asked.iter().position(|op| op == "Sleep").unwrap();
    assert_eq!(asked[taken..taken + 3], ["Sleep", "Listen", "Addressed"]);
    node
}

#[test]
fn a_muster_makes_a_mote_a_source_and_a_train_makes_it_a_mote_again() {
    let mut node = in_session();
    // Without a route its question waits; a beacon of the base station shows one.
    let beacon = thalweg_wire::tree::LqiBeacon {
        link: thalweg_wire::addressed::Header {
            sequence: 1,
            to: None,
            from: id(1),
        },
        stamp: thalweg_wire::tree::Stamp::default(),
        route: Some(thalweg_wire::tree::LqiRoute {
            cost: 0,
            hops: 0,
            parent: id(1),
        }),
    };
    let beacon = FrameBuf::build(|w| beacon.emit(w)).unwrap();
    hears(&mut node, at(210), &beacon);
    assert!(waits(&mut node, at(300)).contains(&String::from("Stream")));
    let packet = node.running.as_ref().unwrap().tree.stack().queue().next();
    let up = Up::parse(&packet.unwrap().payload).map(|up| up.what);
    assert!(matches!(up, Ok(UpBody::Open { demand, .. }) if demand.per_s() == 1.0));

    let rouse = Rouse { train: 1, left: 90 };
    let rouse = FrameBuf::build(|w| rouse.emit(w)).unwrap();
    let (asked, _) = hears(&mut node, at(400), &rouse);
    assert!(!node.has_session());
    assert_eq!(asked[..4], ["Sleep", "Everything", "Cancel", "Listen"]);
}

#[test]
fn a_node_that_its_station_has_left_goes_back() {
    let mut node = in_session();
    waits(
        &mut node,
        at(150) + PATIENCE.saturating_sub(Duration::from_secs(1)),
    );
    assert!(node.has_session());
    let asked = waits(&mut node, at(250) + PATIENCE);
    assert!(!node.has_session());
    let left = asked.iter().position(|op| op == "Everything").unwrap();
    assert_eq!(
        asked[left - 1..left + 3],
        ["Sleep", "Everything", "Cancel", "Listen"]
    );
}

#[test]
fn a_flood_of_another_kind_ends_a_session_too() {
    let mut node = in_session();
    hears(&mut node, at(300), &muster());
    assert!(!node.has_session(), "it is to begin again");
    waits(&mut node, at(400));
    assert!(node.has_session());
}
