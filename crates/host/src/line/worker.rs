//! The thread behind a [`super::LineNetwork`]: reads, writes, acknowledges, beats, and opens the line again.
//!
//! Invariants: no wait is longer than [`TURN`] but the opening of a line; nothing is read while news wait for
//! room, so that the station waits too.

use super::{look, since, Heard, Open, Shared, Stream};
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

/// The longest wait for bytes: orders are looked for after each.
const TURN: Duration = Duration::from_millis(10);
/// From one attempt to open the line to the next.
const REOPEN: Duration = Duration::from_millis(500);
/// From one question for the time to the next.
const ASK: thalweg_units::Duration = thalweg_units::Duration::from_millis(250);
/// Object bytes that a station may send before it hears more.
const CREDIT: u32 = 64 << 10;
/// What is written at once.
const WRITE: usize = 4 * MAX_STUFFED;

/// An order on its way.
struct Going {
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
    news: SyncSender<Heard>,
    /// What there was no room for.
    waiting: VecDeque<Heard>,
    shared: Arc<Mutex<Shared>>,
    going: Option<Going>,
    number: u16,
    /// Object bytes of this session, and how many are allowed.
    received: u32,
    allowed: u32,
    asked: Instant,
    /// Bytes that are written next.
    out: Vec<u8>,
}

/// Whether somebody still wants the line.
#[derive(PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

impl Worker {
    pub(super) fn new(
        open: Box<dyn Open>,
        orders: Receiver<Vec<u8>>,
        news: SyncSender<Heard>,
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
            going: None,
            number: 0,
            received: 0,
            allowed: 0,
            asked: Instant::ZERO,
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
        let mut shared = look(&self.shared);
        match opened {
            Ok(stream) => {
                shared.closed = None;
                self.stream = Some(stream);
            }
            Err(why) => shared.closed = Some(crate::store::plain(&why)),
        }
    }
    fn close(&mut self, why: &io::Error) {
        look(&self.shared).closed = Some(crate::store::plain(why));
        (self.stream, self.out) = (None, Vec::new());
        if self.link.is_up() {
            self.link.leave(self.now());
            self.down(Lost::Silent);
        }
    }

    /// The next order, where there is room for one.
    fn take_order(&mut self) -> Wanted {
        if self.going.is_some() {
            return Wanted::Yes;
        }
        match self.orders.try_recv() {
            // Those of a session that is over were not carried out.
            Ok(bytes) if self.link.is_up() => self.go(bytes),
            Ok(_) | Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Wanted::No,
        }
        Wanted::Yes
    }
    fn go(&mut self, bytes: Vec<u8>) {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.going = Some(Going {
            number,
            bytes,
            at: 0,
        });
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        if self.link.due() <= now {
            if let Some(told) = self.link.timeout(now) {
                self.session(told);
            }
        }
        self.say(now);
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
        self.heard(&room[..len]);
        Ok(())
    }

    /// Fills the window.
    fn say(&mut self, now: Instant) {
        if !self.link.is_up() {
            return;
        }
        while self.link.room() > 0 {
            if self.allowed.wrapping_sub(self.received) < CREDIT / 2 {
                self.allowed = self.received.wrapping_add(CREDIT);
                let until = self.allowed;
                self.send(&Message::Credit { until });
            } else if let Some(mut going) = self.going.take() {
                let rest = &going.bytes[going.at..];
                let bytes = &rest[..rest.len().min(MAX_ORDER_PART)];
                let part = match bytes.len() < rest.len() {
                    true => OrderPart::More,
                    false => OrderPart::Last,
                };
                let message = Message::Order {
                    number: going.number,
                    part,
                    bytes,
                };
                self.send(&message);
                going.at += bytes.len();
                self.going = (part == OrderPart::More).then_some(going);
            } else {
                break;
            }
        }
        if now >= self.asked + ASK {
            self.asked = now;
            let asked = now.as_nanos();
            let mut room = [0; MAX_MESSAGE];
            if let Some(len) = written(&Message::TimeAsked { asked }, &mut room) {
                // There is a session; without one, nobody wants to know.
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

    fn heard(&mut self, bytes: &[u8]) {
        let now = self.now();
        let mut rest = bytes;
        // What a message says is copied out, since it is the link's.
        let mut room = [0; MAX_MESSAGE];
        loop {
            let told = match self.link.receive(now, &mut rest) {
                None => return,
                Some(LinkEvent::Message(message) | LinkEvent::Note(message)) => {
                    room[..message.len()].copy_from_slice(message);
                    Ok(message.len())
                }
                Some(LinkEvent::Up(about)) => Err(LinkEvent::Up(about)),
                Some(LinkEvent::Down(why)) => Err(LinkEvent::Down(why)),
                Some(LinkEvent::Foreign(version)) => Err(LinkEvent::Foreign(version)),
            };
            match told {
                Ok(len) => {
                    if let Ok(message) = Message::parse(&room[..len]) {
                        self.message(now, &message);
                    }
                }
                Err(told) => self.session(told),
            }
        }
    }

    /// A session begins or ends.
    fn session(&mut self, told: LinkEvent<'static>) {
        match told {
            LinkEvent::Up(Some(about)) => self.up(about),
            // A host behind the line is no base station.
            LinkEvent::Up(None) => self.link.leave(self.now()),
            LinkEvent::Down(why) => self.down(why),
            LinkEvent::Foreign(version) => {
                self.down(Lost::Restarted);
                look(&self.shared).foreign = Some(version);
            }
            LinkEvent::Message(_) | LinkEvent::Note(_) => {}
        }
    }
    fn up(&mut self, about: About) {
        let last = look(&self.shared).last.replace(about);
        let anew = last.is_some_and(|last| last.boot != about.boot);
        if anew {
            self.waiting.push_back(Heard::Restarted(about.node));
        }
        (self.received, self.allowed, self.going) = (0, 0, None);
        self.asked = Instant::ZERO;
        // Whatever an earlier session ordered: nobody waits for it any more.
        let mut room = [0; 8];
        let mut w = Writer::new(&mut room);
        if Command::<0>::Stop.emit(&mut w).is_ok() {
            let len = w.len();
            self.go(room[..len].to_vec());
        }
        let mut shared = look(&self.shared);
        if anew {
            shared.readings.forget();
        }
        (shared.station, shared.foreign) = (Some(about), None);
        shared.received.clear();
    }
    fn down(&mut self, why: Lost) {
        self.going = None;
        let mut shared = look(&self.shared);
        shared.received.clear();
        let Some(about) = shared.station.take() else {
            return;
        };
        // Where it began anew after a start, its next session says so.
        let boot = self.link.peer().map(|about| about.boot);
        if why != Lost::Restarted || boot.is_none_or(|boot| boot == about.boot) {
            self.waiting.push_back(Heard::Silent(about.node));
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
                        self.waiting.push_back(Heard::Told(at, event));
                    }
                    rest = more;
                }
            }
            Message::Begin => look(&self.shared).received.clear(),
            Message::Object { offset, bytes } => {
                self.received = self.received.wrapping_add(bytes.len() as u32);
                let (from, end) = (offset as usize, offset as usize + bytes.len());
                if end <= MAX_BYTES {
                    let received = &mut look(&self.shared).received;
                    if received.len() < end {
                        received.resize(end, 0);
                    }
                    received[from..end].copy_from_slice(bytes);
                }
            }
            Message::Unread { why, .. } => self.waiting.push_back(Heard::Unread(why)),
            Message::TimeTold { asked, heard, told } => {
                let host = [asked, now.as_nanos()].map(NetworkTime::from_nanos);
                let readings = &mut look(&self.shared).readings;
                readings.add((host[0], host[1]), (heard, told));
            }
            // A host's.
            Message::Order { .. } | Message::Credit { .. } | Message::TimeAsked { .. } => {}
        }
    }

    /// Hands news on, as far as there is room.
    fn hand_on(&mut self) {
        while let Some(heard) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(heard)) = self.news.try_send(heard) {
                self.waiting.push_front(heard);
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
