//! The thread behind a [`super::LineNetwork`]: reads, writes, acknowledges, beats, and opens the line again.
//!
//! Invariants: no wait but the opening of a line is longer than [`TURN`]; nothing is read while notices wait for
//! room, so that the station waits too.

use super::conversation::Conversation;
use super::{lock, since, Closed, LineNotice, Open, Shared, Stream};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Wall, SystemTime};
use thalweg_units::Instant;

/// The longest wait for bytes. Orders are checked after each.
const TURN: Duration = Duration::from_millis(10);
/// The pause between attempts to open the line.
const REOPEN: Duration = Duration::from_millis(500);
pub(super) struct Worker {
    open: Box<dyn Open>,
    stream: Option<Box<dyn Stream>>,
    opened: Wall,
    talk: Conversation,
    orders: Receiver<Vec<u8>>,
    news: SyncSender<LineNotice>,
    shared: Arc<Mutex<Shared>>,
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
            talk: Conversation::new(seed(), Arc::clone(&shared)),
            orders,
            news,
            shared,
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
            Err(why) => shared.closed = Some(Closed::of(&why)),
        }
    }
    fn close(&mut self, why: &io::Error) {
        lock(&self.shared).closed = Some(Closed::of(why));
        (self.stream, self.out) = (None, Vec::new());
        self.talk.leave(self.now());
    }

    /// The next order, where there is room for one.
    fn take_order(&mut self) -> Wanted {
        if self.talk.has_order() {
            return Wanted::Yes;
        }
        match self.orders.try_recv() {
            // Orders of an earlier session are dropped.
            Ok(bytes) if self.talk.is_up() => self.talk.order(bytes),
            Ok(_) | Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Wanted::No,
        }
        Wanted::Yes
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        self.talk.step(now);
        self.write(now)?;
        if !self.talk.notices.is_empty() {
            std::thread::sleep(TURN);
            return Ok(());
        }
        let within = Duration::from_nanos(self.talk.due().since(self.now()).as_nanos());
        let mut room = [0; 2_048];
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let within = within.clamp(Duration::from_millis(1), TURN);
        let len = stream.read(&mut room, within)?;
        self.talk.receive(self.now(), &room[..len]);
        Ok(())
    }

    fn write(&mut self, now: Instant) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        loop {
            self.talk.transmit(now, &mut self.out);
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

    /// Hands notices on, as far as there is room.
    fn hand_on(&mut self) {
        while let Some(notice) = self.talk.notices.pop_front() {
            if let Err(TrySendError::Full(notice)) = self.news.try_send(notice) {
                self.talk.notices.push_front(notice);
                return;
            }
        }
    }
}

/// Another number after each start: the time is one.
fn seed() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| (since.as_nanos() / 1_000) as u32) ^ std::process::id().rotate_left(16)
}
