//! The host's end of a session with a base station, without a clock and without I/O: orders in, notices out.
//!
//! [`super::worker`] keeps one beside a line in real time, [`super::stepped`] one beside a station whose time it makes
//! pass. Time base: network time, as the callers tell it. Invariant: one order is on its way at a time.

use super::{lock, LineNotice, Shared};
use crate::network::NetworkTime;
use crate::object::MAX_BYTES;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use thalweg_protocols::line::station::Event;
use thalweg_protocols::line::{Link, LinkEvent, Lost};
use thalweg_protocols::mote::Command;
use thalweg_units::Instant;
use thalweg_wire::host::{
    About, End, Message, OrderPart, MAX_MESSAGE, MAX_ORDER_PART, MAX_STUFFED,
};
use thalweg_wire::Writer;

/// The period of requests for the station's time.
const TIME_PERIOD: thalweg_units::Duration = thalweg_units::Duration::from_millis(250);
/// Object bytes that a station may send before it gets more credit.
const CREDIT: u32 = 64 << 10;
/// The most bytes of a write.
const WRITE: usize = 4 * MAX_STUFFED;

/// An order that is being sent.
struct OrderInFlight {
    number: u16,
    bytes: Vec<u8>,
    at: usize,
}

pub(super) struct Conversation {
    link: Link,
    /// Notices that were not taken yet.
    pub(super) notices: VecDeque<LineNotice>,
    shared: Arc<Mutex<Shared>>,
    in_flight: Option<OrderInFlight>,
    number: u16,
    /// Object bytes of this session, and how many are allowed.
    received: u32,
    allowed: u32,
    /// When the station's time was last requested.
    time_requested: Instant,
}

impl Conversation {
    /// A host's end; `seed` differs from start to start.
    pub(super) fn new(seed: u32, shared: Arc<Mutex<Shared>>) -> Self {
        Self {
            link: Link::new(End::Host, seed, None, Instant::ZERO),
            notices: VecDeque::new(),
            shared,
            in_flight: None,
            number: 0,
            received: 0,
            allowed: 0,
            time_requested: Instant::ZERO,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.is_up()
    }
    /// Whether an order is still on its way.
    pub(super) const fn has_order(&self) -> bool {
        self.in_flight.is_some()
    }
    /// Sends an order, in the place of one that is on its way.
    pub(super) fn order(&mut self, bytes: Vec<u8>) {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.in_flight = Some(OrderInFlight {
            number,
            bytes,
            at: 0,
        });
    }
    /// The line is gone.
    pub(super) fn leave(&mut self, now: Instant) {
        if self.link.is_up() {
            self.link.leave(now);
            self.down(Lost::Silent);
        }
    }

    /// When it must be called again at the latest.
    pub(super) fn due(&self) -> Instant {
        self.link.due()
    }
    /// Does what is due.
    pub(super) fn step(&mut self, now: Instant) {
        if self.link.due() <= now {
            if let Some(event) = self.link.timeout(now) {
                self.session(now, event);
            }
        }
        self.send_orders(now);
    }
    /// Adds what is to be written to `out`, up to a few messages.
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) {
        let mut frame = [0; MAX_STUFFED];
        while out.len() < WRITE {
            match self.link.transmit(now, &mut frame) {
                0 => break,
                len => out.extend_from_slice(&frame[..len]),
            }
        }
    }

    /// Fills the window.
    fn send_orders(&mut self, now: Instant) {
        if !self.link.is_up() {
            return;
        }
        while self.link.room() > 0 {
            if self.allowed.wrapping_sub(self.received) < CREDIT / 2 {
                self.allowed = self.received.wrapping_add(CREDIT);
                let until = self.allowed;
                self.send(&Message::Credit { until });
            } else if let Some(mut in_flight) = self.in_flight.take() {
                let rest = &in_flight.bytes[in_flight.at..];
                let bytes = &rest[..rest.len().min(MAX_ORDER_PART)];
                let part = match bytes.len() < rest.len() {
                    true => OrderPart::More,
                    false => OrderPart::Last,
                };
                let message = Message::Order {
                    number: in_flight.number,
                    part,
                    bytes,
                };
                self.send(&message);
                in_flight.at += bytes.len();
                self.in_flight = (part == OrderPart::More).then_some(in_flight);
            } else {
                break;
            }
        }
        if now >= self.time_requested + TIME_PERIOD {
            self.time_requested = now;
            let asked = now.as_nanos();
            let mut room = [0; MAX_MESSAGE];
            if let Some(len) = written(&Message::TimeAsked { asked }, &mut room) {
                // It fails without a session, which makes no difference.
                let _ = self.link.note(&room[..len]);
            }
        }
    }
    fn send(&mut self, message: &Message<'_>) {
        let mut room = [0; MAX_MESSAGE];
        if let Some(len) = written(message, &mut room) {
            // There is room for one.
            let _ = self.link.send(&room[..len]);
        }
    }

    /// Bytes have come.
    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) {
        if !self.link.is_up() {
            lock(&self.shared).heard.take(bytes);
        }
        let mut rest = bytes;
        // A message is copied, since it borrows the link.
        let mut room = [0; MAX_MESSAGE];
        loop {
            let received = match self.link.receive(now, &mut rest) {
                None => return,
                Some(LinkEvent::Message(message) | LinkEvent::Note(message)) => {
                    room[..message.len()].copy_from_slice(message);
                    Ok(message.len())
                }
                Some(LinkEvent::Up(about)) => Err(LinkEvent::Up(about)),
                Some(LinkEvent::Down(why)) => Err(LinkEvent::Down(why)),
                Some(LinkEvent::Foreign(version)) => Err(LinkEvent::Foreign(version)),
            };
            match received {
                Ok(len) => {
                    if let Ok(message) = Message::parse(&room[..len]) {
                        self.message(now, &message);
                    }
                }
                Err(event) => self.session(now, event),
            }
        }
    }

    /// A session begins or ends.
    fn session(&mut self, now: Instant, event: LinkEvent<'static>) {
        match event {
            LinkEvent::Up(Some(about)) => self.up(about),
            // A host behind the line is no base station.
            LinkEvent::Up(None) => self.link.leave(now),
            LinkEvent::Down(why) => self.down(why),
            LinkEvent::Foreign(version) => {
                self.down(Lost::Restarted);
                lock(&self.shared).foreign = Some(version);
            }
            LinkEvent::Message(_) | LinkEvent::Note(_) => {}
        }
    }
    fn up(&mut self, about: About) {
        let last = lock(&self.shared).last.replace(about);
        let has_restarted = last.is_some_and(|last| last.boot != about.boot);
        if has_restarted {
            self.notices.push_back(LineNotice::Restarted(about.node));
        }
        (self.received, self.allowed, self.in_flight) = (0, 0, None);
        self.time_requested = Instant::ZERO;
        // Stops what an earlier session ordered.
        let mut room = [0; 8];
        let mut w = Writer::new(&mut room);
        if Command::<0>::Stop.emit(&mut w).is_ok() {
            let len = w.len();
            self.order(room[..len].to_vec());
        }
        let mut shared = lock(&self.shared);
        if has_restarted {
            shared.readings.forget();
        }
        (shared.station, shared.foreign) = (Some(about), None);
        shared.received.clear();
    }
    fn down(&mut self, why: Lost) {
        self.in_flight = None;
        let mut shared = lock(&self.shared);
        shared.received.clear();
        let Some(about) = shared.station.take() else {
            return;
        };
        // Where the station has restarted, its next session reports that.
        let boot = self.link.peer().map(|about| about.boot);
        if why != Lost::Restarted || boot.is_none_or(|boot| boot == about.boot) {
            self.notices.push_back(LineNotice::Silent(about.node));
        }
    }

    fn message(&mut self, now: Instant, message: &Message<'_>) {
        match *message {
            Message::Event { at, bytes } => {
                let mut rest = bytes;
                while let Some((len, more)) = rest.split_first() {
                    let Some((event, more)) = more.split_at_checked(usize::from(*len)) else {
                        return;
                    };
                    if let Ok(event) = Event::parse(event) {
                        self.notices.push_back(LineNotice::Event(at, event));
                    }
                    rest = more;
                }
            }
            Message::Begin => lock(&self.shared).received.clear(),
            Message::Object { offset, bytes } => {
                self.received = self.received.wrapping_add(bytes.len() as u32);
                let (from, end) = (offset as usize, offset as usize + bytes.len());
                if end <= MAX_BYTES {
                    let received = &mut lock(&self.shared).received;
                    received.count += bytes.len();
                    let received = &mut received.bytes;
                    if received.len() < end {
                        received.resize(end, 0);
                    }
                    received[from..end].copy_from_slice(bytes);
                }
            }
            Message::Unread { why, .. } => self.notices.push_back(LineNotice::Unread(why)),
            Message::TimeTold { asked, heard, told } => {
                let host = [asked, now.as_nanos()].map(NetworkTime::from_nanos);
                let readings = &mut lock(&self.shared).readings;
                readings.add((host[0], host[1]), (heard, told));
            }
            // A host's.
            Message::Order { .. } | Message::Credit { .. } | Message::TimeAsked { .. } => {}
        }
    }
}

fn written(message: &Message<'_>, room: &mut [u8]) -> Option<usize> {
    let mut w = Writer::new(room);
    message.emit(&mut w).ok().map(|()| w.len())
}
