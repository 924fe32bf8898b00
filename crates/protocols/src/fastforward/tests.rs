//! A node by hand: what it asks of its radios, and what it makes of what they say.

use super::sender::{Sender, Verdict};
use super::*;
use crate::object::{NoRoom, ObjectInfo};
use std::vec::Vec;
use thalweg_engine::{Answering, OpId, RadioOp};
use thalweg_units::{Channel, Channel900, Dbm, Tuning};
use thalweg_wire::addressed::{Congestion, Header};

#[derive(Debug, Default)]
struct Memory {
    len: u32,
    received: Vec<(u32, usize)>,
}
impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: self.len,
            digest: [0; 8],
        }
    }
    fn read(&self, _offset: u32, into: &mut [u8]) {
        into.fill(1);
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        self.received.push((offset, bytes.len()));
        Ok(())
    }
}

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}
fn low(n: u8) -> Tuning {
    Tuning::Mhz900(Channel900::new(n).unwrap())
}
fn high(n: u8) -> Tuning {
    Tuning::Ghz2_4(Channel::new(n).unwrap())
}
/// Source 3, relay 2, sink 1.
fn call(version: Version) -> Call {
    Call {
        stream: 5,
        round: 0,
        version,
        payload_bytes: 10,
        path: Path::new(&[id(3), id(2), id(1)], &[high(11), low(1)]).unwrap(),
        ranges: [None; MAX_RANGES],
    }
}
fn node(n: u16, queue: usize) -> FastForward<Memory> {
    let config = Config {
        queue,
        ..Config::default()
    };
    FastForward::new(id(n), config, Memory::default())
}

/// What a node asks for, in short, and the names of its operations.
fn asked(node: &mut FastForward<Memory>) -> Vec<(u8, &'static str, OpId)> {
    let mut all = Vec::new();
    while let Some(request) = node.poll_radio() {
        let what = match request.op {
            RadioOp::Listen { .. } => "listen",
            RadioOp::Sleep => "sleep",
            RadioOp::Answer(Answering::Withheld) => "withhold",
            RadioOp::Answer(Answering::Clear) => "answer",
            RadioOp::Stream { .. } => "send",
            RadioOp::Transmit { .. } => "again",
            _ => "other",
        };
        all.push((request.radio.0, what, request.id));
    }
    all
}
fn short(all: &[(u8, &'static str, OpId)]) -> Vec<(u8, &'static str)> {
    all.iter().map(|(radio, what, _)| (*radio, *what)).collect()
}
fn hear(node: &mut FastForward<Memory>, us: u64, radio: u8, mpdu: &[u8]) {
    let event = RadioEvent::Frame {
        mpdu,
        sfd: at(us),
        end: at(us),
        rssi: Dbm(-60.0),
        lqi: 106,
    };
    node.handle_radio(at(us), RadioId(radio), event);
}
fn packet(number: u16, from: u16, to: u16) -> FrameBuf {
    Packet {
        link: Header {
            sequence: number as u8 + 1,
            to: Some(id(to)),
            from: id(from),
        },
        stream: 5,
        round: 0,
        number,
        content: Content::Data(&[9; 10]),
    }
    .frame()
    .unwrap()
}
fn ack(sequence: u8) -> [u8; 3] {
    let congestion = Congestion::Clear;
    Ack {
        sequence,
        congestion,
    }
    .bytes()
}

/// A relay that has been called and has called.
fn relay(version: Version, queue: usize) -> FastForward<Memory> {
    let mut node = node(2, queue);
    let frame = call(version).frame(1, id(1), id(2)).unwrap();
    hear(&mut node, 10_000, 1, &frame);
    assert_eq!(node.poll_timeout(), Some(at(30_000)), "it settles first");
    node.handle_timeout(at(30_000));
    let all = asked(&mut node);
    assert_eq!(short(&all), [(1, "listen"), (1, "answer"), (1, "send")]);
    let sent = RadioEvent::Sent {
        op: all[2].2,
        sfd: at(31_000),
    };
    node.handle_radio(at(35_000), RadioId(1), sent);
    hear(&mut node, 35_500, 1, &ack(1));
    // It listens where it will hear acknowledgements, then where it will hear packets.
    let answers = match version {
        Version::NoAck => "withhold",
        _ => "answer",
    };
    assert_eq!(
        short(&asked(&mut node)),
        [(1, "withhold"), (1, "listen"), (0, answers), (0, "listen")]
    );
    node
}

#[test]
fn a_full_queue_withholds_and_room_lets_go() {
    let mut node = relay(Version::Full, 2);
    hear(&mut node, 40_000, 0, &packet(0, 3, 2));
    let first = asked(&mut node);
    assert_eq!(short(&first), [(1, "send")]);
    hear(&mut node, 45_000, 0, &packet(1, 3, 2));
    assert_eq!(short(&asked(&mut node)), [(0, "withhold")]);
    // Not taken, so that it may come again.
    hear(&mut node, 50_000, 0, &packet(2, 3, 2));
    assert_eq!((node.queue_len(0), node.counts(0).withheld), (2, 1));
    let sent = RadioEvent::Sent {
        op: first[0].2,
        sfd: at(50_200),
    };
    node.handle_radio(at(50_500), RadioId(1), sent);
    hear(&mut node, 51_000, 1, &ack(1));
    assert_eq!(short(&asked(&mut node)), [(1, "send"), (0, "answer")]);
    hear(&mut node, 55_000, 0, &packet(2, 3, 2));
    hear(&mut node, 60_000, 0, &packet(2, 3, 2));
    assert_eq!((node.queue_len(0), node.counts(0).duplicates), (2, 1));
}

#[test]
fn without_back_pressure_it_overflows() {
    let mut node = relay(Version::NoBackPressure, 1);
    for number in 0..4 {
        hear(
            &mut node,
            40_000 + 5_000 * u64::from(number),
            0,
            &packet(number, 3, 2),
        );
    }
    let counts = node.counts(0);
    assert_eq!(
        (counts.overflows, counts.withheld, node.queue_len(0)),
        (3, 0, 1)
    );
    assert!(asked(&mut node)
        .iter()
        .all(|(_, what, _)| *what != "withhold"));
}

#[test]
fn a_packet_is_repeated_dropped_and_the_third_ends_the_stream() {
    let mut node = relay(Version::Full, 12);
    for number in 0..4 {
        hear(&mut node, 40_000, 0, &packet(number, 3, 2));
    }
    let (mut now, mut sends, mut agains) = (40_000, 0, 0);
    loop {
        let all = asked(&mut node);
        let Some((_, what, op)) = all.iter().find(|(_, w, _)| ["send", "again"].contains(w)) else {
            break;
        };
        match *what {
            "send" => sends += 1,
            _ => agains += 1,
        }
        now += 4_000;
        let sfd = at(now);
        node.handle_radio(at(now), RadioId(1), RadioEvent::Sent { op: *op, sfd });
        let due = node.poll_timeout().unwrap();
        let wait = due.as_nanos() / 1000 - now;
        assert!((1_000..1_512).contains(&wait), "{wait}");
        now += wait;
        node.handle_timeout(due);
    }
    assert_eq!((sends, agains), (3, 3 * 29));
    let neighbour = id(1);
    assert_eq!(
        node.poll_event(),
        Some(Event::Ended {
            stream: 5,
            why: End::Broken { neighbour },
            packets: None
        })
    );
    assert!(node.is_idle() && node.counts(0).unacknowledged == 3);
}

#[test]
fn strangers_and_other_rounds_are_not_heard() {
    let mut node = relay(Version::Full, 4);
    hear(&mut node, 40_000, 0, &packet(0, 7, 2));
    hear(&mut node, 40_000, 1, &packet(0, 3, 2));
    hear(&mut node, 40_000, 0, &packet(0, 3, 9));
    for junk in [&[][..], &[0; 3], &[0x61, 0x88, 1, 2, 3], &[0xff; 120]] {
        hear(&mut node, 40_000, 0, junk);
    }
    assert_eq!((node.queue_len(0), node.counts(0).taken), (0, 0));
}

#[test]
fn a_sleeping_node_wakes_eight_times_a_second() {
    let mut node = node(4, 4);
    node.handle_command(at(0), Command::Sleep);
    let first = node.poll_timeout().unwrap();
    node.handle_timeout(first);
    assert_eq!(short(&asked(&mut node)), [(1, "listen"), (1, "answer")]);
    let asleep = node.poll_timeout().unwrap();
    assert_eq!(asleep.since(first), Duration::from_millis(14));
    node.handle_timeout(asleep);
    assert_eq!(short(&asked(&mut node)), [(1, "sleep")]);
    assert_eq!(
        node.poll_timeout().unwrap().since(first),
        Duration::from_millis(125)
    );
}

#[test]
fn an_acknowledgement_that_comes_late_counts_for_the_copy_on_its_way() {
    let mut sender = Sender::new(1);
    let sent = |op| RadioEvent::Sent { op, sfd: at(0) };
    let timeout = Some(Duration::from_millis(1));
    sender.begin(9);
    sender.submitted(OpId(1));
    assert_eq!(sender.acknowledged(9), None, "nothing was sent yet");
    assert_eq!(sender.answered(at(0), &sent(OpId(2)), timeout), None);
    assert_eq!(sender.answered(at(0), &sent(OpId(1)), timeout), None);
    assert_eq!(sender.timeout(at(999), 3), None);
    assert_eq!(sender.timeout(at(1_000), 3), Some(Verdict::Again));
    sender.submitted(OpId(3));
    assert_eq!(sender.acknowledged(8), None);
    assert_eq!(sender.acknowledged(9), None);
    let verdict = sender.answered(at(2_000), &sent(OpId(3)), timeout);
    assert_eq!(
        (verdict, sender.is_idle()),
        (Some(Verdict::Delivered), true)
    );
}
