//! A node by hand: what it asks of its radios, and what it makes of what they say.

use super::*;
use crate::object::{NoRoom, ObjectInfo};
use std::vec::Vec;
use thalweg_units::{Channel, Channel900, Dbm, Duration, NodeId};
use thalweg_wire::stream::{Range, MAX_MISSING};

#[derive(Debug, Default)]
struct Memory(Vec<(u32, usize)>);
impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: 0,
            digest: [0; 8],
        }
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        into.fill(offset as u8);
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        self.0.push((offset, bytes.len()));
        Ok(())
    }
}

const CYCLE: Duration = Duration::from_micros(4_400);
const GAP: Duration = Duration::from_micros(1_000);

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}
/// Stage 0 sends at 2.4 GHz, stage 1 at 900 MHz, to stage 2.
fn node(stage: u8) -> P3Dual<Memory> {
    let links = [
        Tuning::Ghz2_4(Channel::LAST),
        Tuning::Mhz900(Channel900::new(3).unwrap()),
    ];
    let place = usize::from(stage);
    let mut node = P3Dual::new(Memory::default());
    let config = Config {
        stream: 5,
        source: id(9),
        stage,
        inward: place.checked_sub(1).map(|link| links[link]),
        outward: links.get(place).copied(),
        hops: 2,
        payload_bytes: 10,
        cycle: CYCLE,
        gap: GAP,
    };
    node.handle_command(at(0), Command::Join(config));
    let mut listens = 0;
    while let Some(request) = node.poll_radio() {
        assert!(matches!(request.op, RadioOp::Listen { .. }));
        listens += 1;
    }
    assert_eq!(listens, if stage == 1 { 2 } else { 1 });
    node
}
/// What it sends now: on which radio, when, what.
fn sends(node: &mut P3Dual<Memory>) -> Option<(u8, When, Vec<u8>)> {
    let mut sent = None;
    while let Some(request) = node.poll_radio() {
        if let RadioOp::Stream { mpdu, when, .. } = request.op {
            assert!(sent.is_none(), "one at a time");
            sent = Some((request.radio.0, when, mpdu.to_vec()));
        }
    }
    sent
}
fn hear(node: &mut P3Dual<Memory>, us: u64, radio: u8, mpdu: &[u8]) {
    let event = RadioEvent::Frame {
        mpdu,
        sfd: at(us),
        end: at(us),
        rssi: Dbm(-60.0),
        lqi: 106,
    };
    node.handle_radio(at(us), RadioId(radio), event);
}
fn packet(stage: u8, number: u16, content: Content<'_>) -> FrameBuf {
    Packet {
        link: Header {
            sequence: stage,
            to: None,
            from: id(9),
        },
        stream: 5,
        round: 0,
        number,
        content,
    }
    .frame()
    .unwrap()
}
fn data(stage: u8, number: u16) -> FrameBuf {
    packet(stage, number, Content::Data(&[7; 10]))
}
fn missing(stage: u8, round: u8, ranges: &[(u16, u16)]) -> FrameBuf {
    let mut all = [None; MAX_MISSING];
    for (to, (first, count)) in all.iter_mut().zip(ranges) {
        *to = Some(Range {
            first: *first,
            count: *count,
        });
    }
    Missing {
        link: Header {
            sequence: stage,
            to: None,
            from: id(9),
        },
        stream: 5,
        round,
        ranges: all,
    }
    .frame()
    .unwrap()
}

#[test]
fn a_relay_sends_on_one_radio_what_came_in_on_the_other() {
    let mut relay = node(1);
    hear(&mut relay, 100, 0, &data(0, 4));
    let radio = RadioId(0);
    let when = When::AfterRxOn { radio, gap: GAP };
    assert_eq!(sends(&mut relay), Some((1, when, data(1, 4).to_vec())));
    // Its own stage's, another radio's and a later stage's are not for it.
    for (radio, frame) in [(0, data(1, 5)), (1, data(0, 5)), (0, data(3, 5))] {
        hear(&mut relay, 200, radio, &frame);
        assert_eq!(sends(&mut relay), None);
    }
    // What is missing goes the other way.
    hear(&mut relay, 300, 1, &missing(2, 0, &[(3, 2)]));
    let radio = RadioId(1);
    let when = When::AfterRxOn { radio, gap: GAP };
    let passed = missing(1, 0, &[(3, 2)]).to_vec();
    assert_eq!(sends(&mut relay), Some((0, when, passed)));
}

/// Lets the source send until it has nothing to send, and gives the numbers; ends are none.
fn round(source: &mut P3Dual<Memory>, us: &mut u64) -> Vec<Option<u16>> {
    let mut all = Vec::new();
    let mut due = None;
    while let Some((radio, when, mpdu)) = sends(source) {
        assert_eq!((radio, when), (0, due.map_or(When::Now, When::At)));
        let packet = Packet::parse(&mpdu).unwrap();
        all.push((packet.content != Content::End).then_some(packet.number));
        *us += 4_400;
        let sfd = at(*us);
        due = Some(sfd + CYCLE);
        source.handle_radio(at(*us), RadioId(0), RadioEvent::Sent { op: OWN, sfd });
    }
    all
}

#[test]
fn a_source_sends_in_every_cycle_and_then_what_is_missing() {
    let (mut source, mut us) = (node(0), 1_000);
    source.handle_command(at(us), Command::Send(5));
    let all = [Some(0), Some(1), Some(2), Some(3), Some(4)];
    assert_eq!(round(&mut source, &mut us)[..5], all);
    // Nothing is said: it tells the end again.
    let due = source.poll_timeout().unwrap();
    source.handle_timeout(due);
    us = due.as_nanos() / 1000;
    assert_eq!(round(&mut source, &mut us), [None; 3]);
    hear(&mut source, us, 0, &missing(1, 7, &[(0, 1)]));
    assert_eq!(sends(&mut source), None, "of another round");
    hear(&mut source, us, 0, &missing(1, 0, &[(1, 1), (3, 2)]));
    let again = [Some(1), Some(3), Some(4), None, None, None];
    assert_eq!(round(&mut source, &mut us), again);
    hear(&mut source, us, 0, &missing(1, 1, &[]));
    assert_eq!(source.poll_event(), Some(Event::Ended(End::Complete)));
    assert_eq!((sends(&mut source), source.poll_timeout()), (None, None));
}

#[test]
fn a_source_that_nobody_answers_gives_up() {
    let (mut source, mut us) = (node(0), 1_000);
    source.handle_command(at(us), Command::Send(1));
    let mut times = 0;
    while source.poll_event() != Some(Event::Ended(End::Silent)) {
        round(&mut source, &mut us);
        let Some(due) = source.poll_timeout() else {
            panic!("it waits for nothing")
        };
        us = due.as_nanos() / 1000;
        source.handle_timeout(due);
        times += 1;
    }
    assert_eq!(times, u32::from(ASKED_AT_MOST) + 1);
}

#[test]
fn a_late_frame_of_the_source_goes_out_at_once() {
    let mut source = node(0);
    source.handle_command(at(0), Command::Send(2));
    let first = sends(&mut source).unwrap();
    let why = Refusal::Late {
        by: Duration::from_micros(3),
    };
    source.handle_radio(at(9), RadioId(0), RadioEvent::Refused { op: OWN, why });
    assert_eq!(sends(&mut source), Some((0, When::Now, first.2)));
    assert_eq!(source.counts().late, 1);
}

#[test]
fn a_sink_says_what_is_missing_once_the_end_has_passed() {
    let mut sink = node(2);
    for number in [0, 2, 2] {
        hear(&mut sink, 100, 1, &data(1, number));
    }
    let received = |number, round| Some(Event::Received { number, round });
    assert_eq!(sink.poll_event(), received(0, 0));
    assert_eq!(sink.poll_event(), received(2, 0));
    assert_eq!(sink.poll_event(), None, "each once");
    let end = packet(1, 4, Content::End);
    hear(&mut sink, 1_000, 1, &end);
    hear(&mut sink, 5_400, 1, &end);
    let over = Event::RoundOver {
        round: 0,
        have: 2,
        packets: 4,
    };
    assert_eq!(sink.poll_event(), Some(over));
    assert_eq!(sink.poll_event(), None);
    let due = sink.poll_timeout().unwrap();
    assert_eq!(due, at(1_000) + CYCLE * 3);
    sink.handle_timeout(due);
    let said = missing(2, 0, &[(1, 1), (3, 1)]).to_vec();
    assert_eq!(sends(&mut sink), Some((1, When::Now, said)));
    for number in [1, 3] {
        hear(&mut sink, 30_000, 1, &data(1, number));
        assert!(sink.poll_event().is_some());
    }
    hear(&mut sink, 40_000, 1, &end);
    let due = sink.poll_timeout().unwrap();
    sink.handle_timeout(due);
    assert_eq!(sends(&mut sink).unwrap().2, missing(2, 0, &[]).to_vec());
    let told: Vec<Event> = core::iter::from_fn(|| sink.poll_event()).collect();
    assert_eq!(told.last(), Some(&Event::Ended(End::Complete)));
    assert_eq!(sink.store_mut().0, [(0, 10), (20, 10), (10, 10), (30, 10)]);
}
