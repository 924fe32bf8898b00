//! The thread behind a [`super::LineNetwork`]: reads, writes, acknowledges, beats, and opens the line again.
//!
//! Invariants: no wait but the opening of a line is longer than [`TURN`]; nothing is read while notices wait for
//! room, so that the station waits too.

use super::{lock, since, LineNotice, Open, Shared, Stream};
use crate::network::NetworkTime;
use crate::object::MAX_BYTES;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Wall, SystemTime};
use thalweg_protocols::line::station::Event;
use thalweg_protocols::line::{Link, LinkEvent, Lost};
use thalweg_protocols::mote::Command;
use thalweg_units::Instant;
use thalweg_wire::host::{
    About, End, Message, OrderPart, MAX_MESSAGE, MAX_ORDER_PART, MAX_STUFFED,
};
use thalweg_wire::Writer;

/// The longest wait for bytes. Orders are checked after each.
const TURN: Duration = Duration::from_millis(10);
/// The pause between attempts to open the line.
const REOPEN: Duration = Duration::from_millis(500);
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

pub(super) struct Worker {
    open: Box<dyn Open>,
    stream: Option<Box<dyn Stream>>,
    opened: Wall,
    link: Link,
    orders: Receiver<Vec<u8>>,
    news: SyncSender<LineNotice>,
    /// Notices that found no room.
    waiting: VecDeque<LineNotice>,
    shared: Arc<Mutex<Shared>>,
    in_flight: Option<OrderInFlight>,
    number: u16,
    /// Object bytes of this session, and how many are allowed.
    received: u32,
    allowed: u32,
    /// When the station's time was last requested.
    time_requested: Instant,
    /// Bytes that are written next.
    out: Vec<u8>,
}

/// Whether the line is still in use.
#[derive(PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

impl Worker {
    pub(super) fn new(
        open: Box<dyn Open>,
        orders: Receiver<Vec<u8>>,
        news: SyncSender<LineNotice>,
        shared: Arc<Mutex<Shared>>,
        opened: Wall,
    ) -> Self {
        Self {
            open,
            stream: None,
            opened,
            link: Link::new(End::Host, seed(), None, Instant::ZERO),
            orders,
            news,
            waiting: VecDeque::new(),
            shared,
            in_flight: None,
            number: 0,
            received: 0,
            allowed: 0,
            time_requested: Instant::ZERO,
            out: Vec::new(),
        }
    }

    pub(super) fn run(mut self) {
        let mut reopen = Wall::now();
        loop {
            if self.take_order() == Wanted::No {
                return;
            }
            self.hand_on();
            if self.stream.is_none() {
                if Wall::now() >= reopen {
                    reopen = Wall::now() + REOPEN;
                    self.open();
                } else {
                    std::thread::sleep(TURN);
                }
                continue;
            }
            if let Err(why) = self.turn() {
                self.close(&why);
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(since(self.opened).as_nanos())
    }

    fn open(&mut self) {
        let opened = self.open.open();
        let mut shared = lock(&self.shared);
        match opened {
            Ok(stream) => {
                shared.closed = None;
                self.stream = Some(stream);
            }
            Err(why) => shared.closed = Some(crate::store::plain(&why)),
        }
    }
    fn close(&mut self, why: &io::Error) {
        lock(&self.shared).closed = Some(crate::store::plain(why));
        (self.stream, self.out) = (None, Vec::new());
        if self.link.is_up() {
            self.link.leave(self.now());
            self.down(Lost::Silent);
        }
    }

    /// The next order, where there is room for one.
    fn take_order(&mut self) -> Wanted {
        if self.in_flight.is_some() {
            return Wanted::Yes;
        }
        match self.orders.try_recv() {
            // Orders of an earlier session are dropped.
            Ok(bytes) if self.link.is_up() => self.go(bytes),
            Ok(_) | Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Wanted::No,
        }
        Wanted::Yes
    }
    fn go(&mut self, bytes: Vec<u8>) {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.in_flight = Some(OrderInFlight {
            number,
            bytes,
            at: 0,
        });
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        if self.link.due() <= now {
            if let Some(event) = self.link.timeout(now) {
                self.session(event);
            }
        }
        self.send_orders(now);
        self.write(now)?;
        if !self.waiting.is_empty() {
            std::thread::sleep(TURN);
            return Ok(());
        }
        let within = Duration::from_nanos(self.link.due().since(self.now()).as_nanos());
        let mut room = [0; 2_048];
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let within = within.clamp(Duration::from_millis(1), TURN);
        let len = stream.read(&mut room, within)?;
        self.read_bytes(&room[..len]);
        Ok(())
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

    fn write(&mut self, now: Instant) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        loop {
            let mut frame = [0; MAX_STUFFED];
            while self.out.len() < WRITE {
                match self.link.transmit(now, &mut frame) {
                    0 => break,
                    len => self.out.extend_from_slice(&frame[..len]),
                }
            }
            if self.out.is_empty() {
                return Ok(());
            }
            let len = stream.write(&self.out)?;
            self.out.drain(..len);
            if !self.out.is_empty() {
                return Ok(());
            }
        }
    }

    fn read_bytes(&mut self, bytes: &[u8]) {
        let now = self.now();
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
                Err(event) => self.session(event),
            }
        }
    }

    /// A session begins or ends.
    fn session(&mut self, event: LinkEvent<'static>) {
        match event {
            LinkEvent::Up(Some(about)) => self.up(about),
            // A host behind the line is no base station.
            LinkEvent::Up(None) => self.link.leave(self.now()),
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
            self.waiting.push_back(LineNotice::Restarted(about.node));
        }
        (self.received, self.allowed, self.in_flight) = (0, 0, None);
        self.time_requested = Instant::ZERO;
        // Stops what an earlier session ordered.
        let mut room = [0; 8];
        let mut w = Writer::new(&mut room);
        if Command::<0>::Stop.emit(&mut w).is_ok() {
            let len = w.len();
            self.go(room[..len].to_vec());
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
            self.waiting.push_back(LineNotice::Silent(about.node));
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
                        self.waiting.push_back(LineNotice::Event(at, event));
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
            Message::Unread { why, .. } => self.waiting.push_back(LineNotice::Unread(why)),
            Message::TimeTold { asked, heard, told } => {
                let host = [asked, now.as_nanos()].map(NetworkTime::from_nanos);
                let readings = &mut lock(&self.shared).readings;
                readings.add((host[0], host[1]), (heard, told));
            }
            // A host's.
            Message::Order { .. } | Message::Credit { .. } | Message::TimeAsked { .. } => {}
        }
    }

    /// Hands notices on, as far as there is room.
    fn hand_on(&mut self) {
        while let Some(notice) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(notice)) = self.news.try_send(notice) {
                self.waiting.push_front(notice);
                return;
            }
        }
    }
}

fn written(message: &Message<'_>, room: &mut [u8]) -> Option<usize> {
    let mut w = Writer::new(room);
    message.emit(&mut w).ok().map(|()| w.len())
}

/// Another number after each start: the time is one.
fn seed() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| (since.as_nanos() / 1_000) as u32) ^ std::process::id().rotate_left(16)
}
