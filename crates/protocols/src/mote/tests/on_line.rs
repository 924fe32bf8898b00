//! Orders and events over a line: what is written is read back, and any bytes are read or refused.

use crate::collection::{Collect, LinkReport, Missing};
use crate::floodnet;
use crate::linkprobe::{Measure, NodeList};
use crate::mote::host::{max_order_bytes, MAX_EVENT_BYTES};
use crate::mote::{Command, Event, Refused};
use crate::pipeline::{self, Chain, Complete, End, SetupError};
use crate::sweep::Sweep;
use proptest::prelude::*;
use std::vec::Vec;
use thalweg_engine::Refusal;
use thalweg_units::{BatteryLevel, Channel, ChannelSet, Dbm, Duration, Instant, NodeId, Restarts};
use thalweg_wire::pipeline::{Counts, Group};
use thalweg_wire::route::{Channels, Member, Route, Scheme};
use thalweg_wire::{WireError, Writer};

type Order = Command<32>;

fn bytes_of(write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>) -> Vec<u8> {
    let mut room = [0; 1024];
    let mut w = Writer::new(&mut room);
    write(&mut w).unwrap();
    let len = w.len();
    room[..len].to_vec()
}

fn there_and_back(order: &Order) {
    let bytes = bytes_of(|w| order.emit(w));
    assert!(bytes.len() <= max_order_bytes(32), "{}", bytes.len());
    assert_eq!(Order::parse(&bytes).as_ref(), Ok(order));
    let cut = Order::parse(&bytes[..bytes.len() - 1]);
    assert!(cut.is_err(), "{cut:?}");
}

fn event_there_and_back(event: Event) {
    let bytes = bytes_of(|w| event.emit(w));
    assert!(bytes.len() <= MAX_EVENT_BYTES);
    if let Some(told) = told_length(bytes[0]) {
        assert_eq!(bytes.len(), told, "docs/line.md tells of {event:?}");
    }
    assert_eq!(Event::parse(&bytes), Ok(event));
    assert!(Event::parse(&bytes[..bytes.len() - 1]).is_err());
    let mut longer = bytes;
    longer.push(0);
    assert!(Event::parse(&longer).is_err());
}

/// The bytes of an event that begins with `first`, as the page of the line tells; none where they vary.
fn told_length(first: u8) -> Option<usize> {
    let page = include_str!("../../../../../docs/line.md");
    let events = page.split("## Events").nth(1).unwrap();
    let of = std::format!("| {first:x} |");
    let row = events.lines().find(|line| line.contains(&of)).unwrap();
    let fields = row.split('|').nth(3).unwrap();
    if fields.contains(" each)") || fields.contains(" 0, or") {
        return None;
    }
    // A list of reasons is one byte, unless one of them has more.
    if fields.trim().starts_with("0 ") {
        return (!fields.contains('(')).then_some(2);
    }
    // "(8, ns)" has eight bytes, "(2)" two.
    let lengths = fields.split('(').skip(1);
    let lengths = lengths.filter_map(|rest| {
        let digits = rest.split([')', ',']).next()?;
        digits.parse::<usize>().ok()
    });
    Some(1 + lengths.sum::<usize>())
}

proptest! {
    #[test]
    fn orders_round_trip(
        (first, count) in (0u16..60_000, 1u16..=32),
        bits in 1u16..,
        (beacons, floor, level) in (1u8.., any::<u8>(), any::<i8>()),
        steps in (100u16.., 20u16..=255, any::<u16>()),
        (transfer, room) in any::<(u16, u64)>(),
        (hops, relays) in (2u8..=10, 0u16..=40),
    ) {
        let nodes = NodeList::<32>::range(first, count).unwrap();
        let (channels, time) = (ChannelSet::from_bits(bits), |steps: u16| Duration::from_micros(100) * u64::from(steps));
        let measure = Measure::new(nodes.clone(), channels, beacons, time(steps.0)).unwrap();
        there_and_back(&Command::Measure(measure));
        there_and_back(&Command::Collect(Collect { nodes: nodes.clone(), floor }));
        let sweep = Sweep::new(nodes, channels, beacons % 15 + 1, (time(steps.1), time(steps.2)), level);
        if let Ok(sweep) = sweep {
            there_and_back(&Command::Sweep(sweep));
        }
        there_and_back(&Command::Stop);
        there_and_back(&Command::Numbers { from: room as u32, count: bits });
        let list: Vec<Channel> = Channel::all().take(usize::from(hops) + 1).collect();
        let channels = Channels::new(&list).unwrap();
        let id = |n| NodeId::new(n).unwrap();
        let mut route = Route::new(transfer, id(1), id(2), Scheme::P3, channels);
        for n in 0..relays {
            let stage = n as u8 % (hops - 1) + 1;
            let group = if n % 3 == 0 { Group::Odd } else { Group::Even };
            route.add(Member { node: id(100 + n), stage, group }).unwrap();
        }
        there_and_back(&Command::Fetch(route));
        there_and_back(&Command::FetchTogether { route, room: Duration::from_nanos(room) });
    }

    #[test]
    fn events_round_trip(
        (a, b, c) in any::<(u16, u16, u16)>(),
        (s, t, u) in any::<(u8, u8, u8)>(),
        times in any::<(u64, u64)>(),
        (node, other) in (0..=NodeId::MAX.get(), 0..=NodeId::MAX.get()),
        (channel, rssi) in (0..16usize, any::<i8>()),
        digest: [u8; 8],
        frames: Option<u8>,
    ) {
        let (node, other) = (NodeId::new(node).unwrap(), NodeId::new(other).unwrap());
        let (at, then) = (Instant::from_nanos(times.0), Instant::from_nanos(times.1));
        let time = Duration::from_nanos(times.1);
        let link = LinkReport { from: node, to: other, channel: Channel::from_index(channel), received: s, rssi: Dbm(f64::from(rssi)) };
        let missing = Missing { node, received: s, frames };
        let complete = Complete {
            len: u32::from(a) << 9, object_len: u32::from(b) << 16, digest,
            packets: a, first_round: b, rounds: c, last_packet: at,
        };
        use floodnet::Event as Floods;
        for event in [
            Floods::Flooded { initiator: node, sequence: s, relay: t, reference: at },
            Floods::FloodFinished { initiator: node, sequence: s, sent: t, heard: u },
            Floods::FloodDone { reference: at, quiet: then },
            Floods::Probing { node, turn: a, of: b },
            Floods::Measured { nodes: a, time },
            Floods::Link(link),
            Floods::Progress { complete: a, of: b },
            Floods::Missing(missing),
            Floods::Battery { node, level: BatteryLevel::of_code(s) },
            Floods::Restarted { node, restarts: Restarts::of_code(s | 1).unwrap() },
            Floods::Collected { complete: a, missing: b, time },
            Floods::Refused(floodnet::Refused::Busy),
            Floods::Refused(floodnet::Refused::TooLong),
            Floods::Refused(floodnet::Refused::Silent),
            Floods::Refused(floodnet::Refused::NoNumber),
            Floods::Refused(floodnet::Refused::Radio(Refusal::Late { by: time })),
            Floods::Refused(floodnet::Refused::Radio(Refusal::ChannelBusy)),
            Floods::Refused(floodnet::Refused::Radio(Refusal::Empty)),
            Floods::Refused(floodnet::Refused::Radio(Refusal::Superseded)),
            Floods::Refused(floodnet::Refused::Radio(Refusal::BadLength)),
            Floods::Refused(floodnet::Refused::Radio(Refusal::NoSuch)),
        ] {
            event_there_and_back(Event::Floods(event));
        }
        use pipeline::Event as Pipe;
        for event in [
            Pipe::Progress { received: a },
            Pipe::RoundSent { round: a, sent: b },
            Pipe::RoundReported { round: a, received: b, packets: c },
            Pipe::Degraded { group: Group::Odd, chain: Chain::Alternate },
            Pipe::Degraded { group: Group::Even, chain: Chain::Planned },
            Pipe::Counted { group: Group::Even, counts: Counts::new(&digest).unwrap() },
            Pipe::Counted { group: Group::Odd, counts: Counts::new(&[s, t]).unwrap() },
            Pipe::Complete(complete),
        ] {
            event_there_and_back(Event::Pipeline(event));
        }
        event_there_and_back(Event::WakeUp { reference: at, start: then });
    }

    #[test]
    fn any_bytes_are_an_order_or_an_event_or_refused(
        bytes in proptest::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..200),
    ) {
        if let Ok(order) = Order::parse(&bytes) {
            there_and_back(&order);
        }
        if let Ok(event) = Event::parse(&bytes) {
            prop_assert_eq!(bytes_of(|w| event.emit(w)), bytes);
        }
    }
}

#[test]
fn every_reason_and_end_round_trips() {
    for end in [
        End::Complete,
        End::Released,
        End::GaveUp,
        End::TimedOut,
        End::NotCalled,
        End::RadioFailed,
        End::Stopped,
        End::NotNeeded,
    ] {
        event_there_and_back(Event::Pipeline(pipeline::Event::Finished(end)));
    }
    for why in [
        SetupError::Busy,
        SetupError::NoSuchStage,
        SetupError::TooManyPackets,
        SetupError::PayloadTooSmallForControl,
        SetupError::ConditionalNeedsOnePath,
        SetupError::PayloadTooLarge,
        SetupError::NoteTooLong,
    ] {
        event_there_and_back(Event::Pipeline(pipeline::Event::Refused(why)));
    }
    for why in [
        Refused::Busy,
        Refused::NotSink,
        Refused::BadRoute,
        Refused::TooLate,
        Refused::Sealing,
    ] {
        event_there_and_back(Event::Refused(why));
    }
    event_there_and_back(Event::Joined);
}

#[test]
fn an_order_for_more_nodes_than_there_is_room_for_is_refused() {
    let nodes = NodeList::<64>::range(1, 33).unwrap();
    let bytes = bytes_of(|w| Command::Collect(Collect { nodes, floor: 1 }).emit(w));
    assert_eq!(Order::parse(&bytes), Err(WireError::NoRoom));
    assert!(Command::<64>::parse(&bytes).is_ok());
    // A node twice, and a measurement of nothing.
    let twice = [2, 1, 2, 0, 7, 0, 7, 0];
    assert_eq!(Order::parse(&twice), Err(WireError::Malformed));
    assert_eq!(
        Order::parse(&[1, 0, 0, 1, 100, 0, 1, 0, 7, 0]),
        Err(WireError::Malformed)
    );
}
