//! Nodes that call each other by hand: who repeats the call, and until when.

use super::*;
use crate::object::{NoRoom, ObjectInfo};
use std::vec::Vec;
use thalweg_units::{Channel, Channel900, Dbm, Tuning};
use thalweg_wire::stages::Stages;

#[derive(Debug, Default)]
struct Memory;
impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: 95,
            digest: [0; 8],
        }
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        into.fill(offset as u8);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        Ok(())
    }
}

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}
/// Node 1 is the source, 2 and 3 are relays of one stage, 4 is the sink.
fn call() -> StageCall {
    let links = [
        Tuning::Ghz2_4(Channel::LAST),
        Tuning::Mhz900(Channel900::new(3).unwrap()),
    ];
    let nodes = [(1, 0), (2, 1), (3, 1), (4, 2)].map(|(n, stage)| (id(n), stage));
    StageCall {
        stream: 5,
        attempt: 0,
        payload_bytes: 10,
        cycle: Duration::from_micros(4_400),
        gap: Duration::from_micros(1_000),
        start_in: Duration::ZERO,
        stages: Stages::new(nodes, &links).unwrap(),
    }
}

struct Bench {
    node: Node<Memory>,
    calls: Vec<Vec<u8>>,
    listens: Vec<(u8, Channel)>,
    events: Vec<NodeEvent>,
}

impl Bench {
    fn new(n: u16) -> Self {
        Self {
            node: Node::new(id(n), fastforward::Config::default(), Memory),
            calls: Vec::new(),
            listens: Vec::new(),
            events: Vec::new(),
        }
    }
    fn drain(&mut self, now: Instant) {
        while let Some(Request { radio, id, op }) = self.node.poll_radio() {
            let mut sent = false;
            match op {
                RadioOp::Listen { channel, .. } => self.listens.push((radio.0, channel)),
                RadioOp::Stream { mpdu, cca, .. } if id == CALL => {
                    assert_eq!(cca, Cca::Require);
                    self.calls.push(mpdu.to_vec());
                    sent = true;
                }
                _ => {}
            }
            if sent {
                let event = RadioEvent::Sent { op: id, sfd: now };
                self.node.handle_radio(now, radio, event);
            }
        }
        while let Some(event) = self.node.poll_event() {
            self.events.push(event);
        }
    }
    /// Lets it do what is due until `until`.
    fn run(&mut self, until: Instant) {
        while let Some(due) = self.node.poll_timeout().filter(|due| *due <= until) {
            self.node.handle_timeout(due);
            self.drain(due);
            assert!(self.node.poll_timeout().is_none_or(|next| next > due));
        }
    }
    fn hear(&mut self, at: Instant, mpdu: &[u8]) {
        let event = RadioEvent::Frame {
            mpdu,
            sfd: at,
            end: at,
            rssi: Dbm(-60.0),
            lqi: 106,
        };
        self.node.handle_radio(at, RadioId(1), event);
        self.drain(at);
    }
    fn take_calls(&mut self) -> usize {
        core::mem::take(&mut self.calls).len()
    }
}

#[test]
fn a_sink_calls_until_all_of_the_stage_before_were_heard() {
    let mut sink = Bench::new(4);
    sink.node.handle_command(ms(0), NodeCommand::Open(call()));
    sink.run(ms(100));
    let (_, first) = StageCall::parse(&sink.calls[0]).unwrap();
    let (_, last) = StageCall::parse(sink.calls.last().unwrap()).unwrap();
    // The beginning is the same instant in every repetition.
    assert!(sink.take_calls() > 10 && last.start_in < first.start_in);
    let of = |n: u16| last.frame(0, id(n)).unwrap();
    sink.hear(ms(101), &of(2));
    sink.run(ms(150));
    assert!(sink.take_calls() > 3, "node 3 was not heard yet");
    sink.hear(ms(151), &of(3));
    sink.run(ms(300));
    assert_eq!(sink.take_calls(), 0);
}

#[test]
fn a_relay_passes_the_call_on_and_turns_to_its_links() {
    let mut relay = Bench::new(2);
    let start_in = Duration::from_millis(400);
    let called = StageCall { start_in, ..call() };
    relay.hear(ms(50), &called.frame(0, id(4)).unwrap());
    relay.run(ms(100));
    let (header, passed) = StageCall::parse(&relay.calls[0]).unwrap();
    assert_eq!((header.from, passed.stages), (id(2), called.stages));
    let left = passed.start_in.as_micros();
    assert!((390_000..400_000).contains(&left), "{left}");
    // Once the source repeats it the relay is quiet, but for a sink that does not know.
    relay.hear(ms(110), &passed.frame(0, id(1)).unwrap());
    relay.take_calls();
    relay.run(ms(200));
    assert_eq!(relay.take_calls(), 0);
    relay.hear(ms(201), &passed.frame(1, id(4)).unwrap());
    relay.run(ms(300));
    assert_eq!(relay.take_calls(), 1);
    relay.listens.clear();
    relay.run(ms(445));
    let links = [(0, Channel::LAST), (1, Channel::new(13).unwrap())];
    assert!(
        links.iter().all(|on| relay.listens.contains(on)),
        "{:?}",
        relay.listens
    );
    // Nothing comes: it sleeps again.
    relay.run(ms(1500));
    assert_eq!(relay.events, [NodeEvent::Left]);
}

#[test]
fn a_source_begins_when_the_call_says() {
    let mut source = Bench::new(1);
    let start_in = Duration::from_millis(200);
    let called = StageCall { start_in, ..call() };
    source.hear(ms(10), &called.frame(0, id(3)).unwrap());
    source.run(ms(209));
    assert!(
        source.take_calls() >= 1,
        "its repetition is its acknowledgement"
    );
    assert_eq!(source.events, []);
    source.run(ms(211));
    assert_eq!(source.events, [NodeEvent::Begun { packets: 10 }]);
}

#[test]
fn a_sink_that_hears_nothing_says_so_and_strangers_do_nothing() {
    let mut sink = Bench::new(4);
    sink.node.handle_command(ms(0), NodeCommand::Open(call()));
    sink.run(ms(3000));
    let silent = NodeEvent::Pipeline(Event::Ended(End::Silent));
    assert_eq!(sink.events, [silent, NodeEvent::Left]);
    let mut relay = Bench::new(2);
    relay.node.handle_command(ms(0), NodeCommand::Open(call()));
    relay.drain(ms(0));
    assert_eq!(relay.events, [NodeEvent::Refused]);
    let mut stranger = Bench::new(9);
    stranger.hear(ms(5), &call().frame(0, id(4)).unwrap());
    stranger.run(ms(900));
    assert_eq!((stranger.take_calls(), stranger.events.len()), (0, 0));
    for bytes in [&[][..], &[0x41; 30]] {
        stranger.hear(ms(901), bytes);
    }
}
