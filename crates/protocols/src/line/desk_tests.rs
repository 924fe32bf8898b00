//! A desk opposite a host's end of the line.

use super::*;
use crate::line::WINDOW;
use crate::mote::Command;
use std::collections::VecDeque;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::host::{Carries, LastWords, Limits, Name};

const ORDER: usize = 300;
type OfTen = Desk<ORDER, 10>;

#[derive(Default)]
struct Queue(VecDeque<Item>);

enum Item {
    Event(u64, Vec<u8>),
    Begin,
    Bytes(u32, Vec<u8>),
}

impl Outbox for Queue {
    fn front(&self) -> Option<Waiting<'_>> {
        Some(match self.0.front()? {
            Item::Event(at, bytes) => Waiting::Event(Instant::from_nanos(*at), bytes),
            Item::Begin => Waiting::Begin,
            Item::Bytes(offset, bytes) => Waiting::Bytes(*offset, bytes),
        })
    }
    fn take(&mut self, bytes: usize) {
        if let Some(Item::Bytes(offset, all)) = self.0.front_mut() {
            all.drain(..bytes);
            *offset += bytes as u32;
            if !all.is_empty() {
                return;
            }
        }
        self.0.pop_front();
    }
}

/// A desk and a host's end of its line, which share a clock.
struct Line {
    desk: OfTen,
    host: Link,
    now: Instant,
}

impl Line {
    fn new() -> Self {
        let about = About {
            boot: 7,
            node: NodeId::new(1).unwrap(),
            carries: Carries::Pipelines,
            board: Name::new("test").unwrap(),
            limits: Limits {
                nodes: 10,
                order_bytes: 200,
                object_bytes: 1_000,
            },
            last_words: LastWords::EMPTY,
        };
        Self {
            desk: Desk::new(about, Instant::ZERO),
            host: Link::new(End::Host, 9, None, Instant::ZERO),
            now: Instant::ZERO,
        }
    }
    /// Lets both ends say what they have, and gives what the host wants and what it hears.
    fn exchange(&mut self) -> (Vec<String>, Vec<Vec<u8>>) {
        let (mut wanted, mut heard) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            self.now += Duration::from_millis(10);
            self.desk.timeout(self.now);
            if self.host.due() <= self.now {
                let _ = self.host.timeout(self.now);
            }
            let mut frame = [0; MAX_STUFFED];
            let len = self.host.transmit(self.now, &mut frame);
            let mut bytes = &frame[..len];
            while let Some(what) = self.desk.receive(self.now, &mut bytes, || self.now) {
                wanted.push(format!("{what:?}"));
            }
            let len = self.desk.transmit(self.now, &mut frame);
            let mut bytes = &frame[..len];
            while let Some(event) = self.host.receive(self.now, &mut bytes) {
                if let LinkEvent::Message(message) | LinkEvent::Note(message) = event {
                    heard.push(message.to_vec());
                }
            }
        }
        (wanted, heard)
    }
    fn say(&mut self, message: &Message<'_>) {
        let mut room = [0; MAX_MESSAGE];
        let len = written(message, &mut room).unwrap();
        self.host.send(&room[..len]).unwrap();
    }
}

fn parsed(heard: &[Vec<u8>]) -> Vec<Message<'_>> {
    heard.iter().map(|m| Message::parse(m).unwrap()).collect()
}

#[test]
fn an_order_in_parts_is_handed_out_whole_and_what_cannot_be_read_is_refused() {
    let mut line = Line::new();
    assert_eq!(line.exchange().0, ["Fresh"]);
    let mut order = [0; ORDER];
    let mut w = Writer::new(&mut order);
    let stop: Order<'_, 10> = Order::Mote(Command::Stop);
    stop.emit(&mut w).unwrap();
    let len = w.len();
    let part = |part, number, bytes| Message::Order {
        number,
        part,
        bytes,
    };
    let (first, last) = order[..len].split_at(len / 2);
    line.say(&part(OrderPart::More, 1, first));
    line.say(&part(OrderPart::Last, 1, last));
    let (wanted, heard) = line.exchange();
    assert_eq!((wanted, heard.len()), (vec![format!("Order({stop:?})")], 0));
    line.say(&part(OrderPart::Last, 2, &[0xff; 5]));
    let (wanted, heard) = line.exchange();
    let unread = |number, why| Message::Unread { number, why };
    assert_eq!(wanted, [] as [&str; 0]);
    assert_eq!(parsed(&heard), [unread(2, Unread::Malformed)]);
    // Longer than the base station said, and then than there is room for.
    for number in [3, 4] {
        for _ in 0..number - 1 {
            line.say(&part(OrderPart::More, number, &[1; 90]));
        }
        line.say(&part(OrderPart::Last, number, &[1; 90]));
        let (wanted, heard) = line.exchange();
        assert_eq!(wanted, [] as [&str; 0]);
        assert_eq!(parsed(&heard), [unread(number, Unread::TooLong)]);
    }
    line.say(&part(OrderPart::Last, 5, &order[..len]));
    assert_eq!(line.exchange().0.len(), 1, "the next one is read again");
}

#[test]
fn bytes_wait_for_credit_and_follow_each_other() {
    let mut line = Line::new();
    line.exchange();
    let bytes: Vec<u8> = (0..150).collect();
    let items = [
        Item::Event(5, vec![1, 2]),
        Item::Event(5, vec![3]),
        Item::Event(6, vec![4]),
        Item::Begin,
        Item::Bytes(0, bytes[..100].to_vec()),
        Item::Bytes(100, bytes[100..].to_vec()),
        Item::Bytes(700, vec![9]),
    ];
    let mut queue = Queue(items.into_iter().collect());
    line.desk.fill_window(&mut queue);
    let (_, heard) = line.exchange();
    let event = |at, bytes| Message::Event {
        at: Instant::from_nanos(at),
        bytes,
    };
    let both = [event(5, &[2, 1, 2, 1, 3][..]), event(6, &[1, 4])];
    assert_eq!(parsed(&heard)[..2], both);
    assert_eq!(parsed(&heard)[2..], [Message::Begin]);
    // Without credit nothing of the object goes.
    line.desk.fill_window(&mut queue);
    assert_eq!(line.exchange().1, [] as [Vec<u8>; 0]);
    line.say(&Message::Credit { until: 120 });
    line.exchange();
    line.desk.fill_window(&mut queue);
    let object = |offset, bytes| Message::Object { offset, bytes };
    let (_, heard) = line.exchange();
    assert_eq!(parsed(&heard), [object(0, &bytes[..120])]);
    line.say(&Message::Credit { until: 500 });
    line.exchange();
    line.desk.fill_window(&mut queue);
    let (_, heard) = line.exchange();
    let rest = [object(120, &bytes[120..]), object(700, &[9])];
    assert_eq!(parsed(&heard), rest);
    assert!(queue.0.is_empty());
}

#[test]
fn the_window_bounds_what_leaves_the_queue() {
    let mut line = Line::new();
    line.exchange();
    let events = (0..20).map(|at| Item::Event(at, vec![1]));
    let mut queue = Queue(events.collect());
    line.desk.fill_window(&mut queue);
    assert_eq!(queue.0.len(), 20 - WINDOW);
}

#[test]
fn the_time_is_the_nodes() {
    let mut line = Line::new();
    line.exchange();
    let mut room = [0; MAX_MESSAGE];
    let len = written(&Message::TimeAsked { asked: 4 }, &mut room).unwrap();
    line.host.note(&room[..len]).unwrap();
    let before = line.now;
    let (_, heard) = line.exchange();
    let [Message::TimeTold { asked, heard, told }] = parsed(&heard)[..] else {
        panic!("{heard:?}");
    };
    assert!(asked == 4 && heard == told && heard > before);
}
