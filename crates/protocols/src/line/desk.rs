//! A base station's end of its line, above [`Link`]: orders in, events and object bytes out, credit, the time.
//!
//! Time base: the line's clock, but for events' and the time that is reported, which are the node's. Invariants: an order is
//! handed out whole or refused; object bytes go out only where the host has room for them; what waits belongs to one host,
//! and is dropped when another comes. Not owned: the queue ([`Outbox`]), which interrupts may fill. Tests: `desk_tests.rs`,
//! `crates/simnet/tests/all/line/`.

use super::station::{Order, MAX_EVENT_BYTES};
use super::{Link, LinkEvent};
use thalweg_units::Instant;
use thalweg_wire::host::{
    About, End, Message, OrderPart, Unread, MAX_MESSAGE, MAX_OBJECT_BYTES, MAX_STUFFED,
};
use thalweg_wire::Writer;

/// Bytes of a message beside those of its events.
const EVENTS_HEADER: usize = 10;

/// What waits for the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting<'a> {
    /// An event of this time of the node's, at most [`MAX_EVENT_BYTES`].
    Event(Instant, &'a [u8]),
    /// An object begins.
    Begin,
    /// Bytes of it, from this offset on.
    Bytes(u32, &'a [u8]),
}

/// The queue for the line, which has a bound.
pub trait Outbox {
    /// What waits longest.
    fn front(&self) -> Option<Waiting<'_>>;
    /// Removes `bytes` of the front message, which are sent; only an object's bytes may stay in part.
    fn take(&mut self, bytes: usize);
}

/// What a host wants.
#[derive(Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub enum Wanted<'a, const NODES: usize> {
    /// It has just come: whatever waits is of an earlier one, and so is a session that runs.
    Fresh,
    /// This is to be carried out.
    Order(Order<'a, NODES>),
}

/// The desk of a base station whose orders have at most `ORDER` bytes and name `NODES` nodes.
#[derive(Debug)]
pub struct Desk<const ORDER: usize, const NODES: usize> {
    about: About,
    link: Link,
    order: [u8; ORDER],
    /// More than there is room for where it is too long.
    order_len: usize,
    /// Object bytes sent to this host, and how many may be.
    sent: u32,
    until: u32,
}

impl<const ORDER: usize, const NODES: usize> Desk<ORDER, NODES> {
    /// The desk of a base station that says `about` of itself. Orders may have `about.limits.order_bytes`, and `ORDER` at
    /// most.
    pub const fn new(about: About, now: Instant) -> Self {
        Self {
            link: Link::new(End::Station, about.boot, Some(about), now),
            about,
            order: [0; ORDER],
            order_len: 0,
            sent: 0,
            until: 0,
        }
    }
    /// What it says of itself.
    pub const fn about(&self) -> &About {
        &self.about
    }
    /// Whether there is a host.
    pub const fn is_up(&self) -> bool {
        self.link.is_up()
    }
    /// When [`Self::timeout`] is due, by the line's clock.
    pub fn due(&self) -> Instant {
        self.link.due()
    }
    /// Does what is due.
    pub fn timeout(&mut self, now: Instant) {
        if self.link.due() <= now {
            // Messages for a host that is gone are dropped when another comes.
            let _ = self.link.timeout(now);
        }
    }

    /// Takes from `bytes`, which came by the line at `now`, up to what the host wants next. `clock` is the node's, for a
    /// host that asks for the time.
    pub fn receive(
        &mut self,
        now: Instant,
        bytes: &mut &[u8],
        mut clock: impl FnMut() -> Instant,
    ) -> Option<Wanted<'_, NODES>> {
        let mut room = [0; MAX_MESSAGE];
        loop {
            let len = match self.link.receive(now, bytes)? {
                LinkEvent::Message(message) | LinkEvent::Note(message) => {
                    let place = room.get_mut(..message.len())?;
                    place.copy_from_slice(message);
                    message.len()
                }
                LinkEvent::Up(None) => {
                    (self.order_len, self.sent, self.until) = (0, 0, 0);
                    return Some(Wanted::Fresh);
                }
                // Two base stations do not talk to each other.
                LinkEvent::Up(Some(_)) => {
                    self.link.leave(now);
                    continue;
                }
                LinkEvent::Down(_) | LinkEvent::Foreign(_) => continue,
            };
            let message = Message::parse(room.get(..len).unwrap_or(&[]));
            match message {
                Ok(Message::Order {
                    number,
                    part,
                    bytes,
                }) => {
                    self.add_part(bytes);
                    if part == OrderPart::Last {
                        let len = core::mem::take(&mut self.order_len);
                        match self.read_order(len) {
                            Ok(()) => {}
                            Err(why) => {
                                self.send(&Message::Unread { number, why });
                                continue;
                            }
                        }
                        return self.order_of(len);
                    }
                }
                Ok(Message::Credit { until }) => self.until = until,
                Ok(Message::TimeAsked { asked }) => self.tell_time(asked, &mut clock),
                // Only base stations send the others.
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn add_part(&mut self, bytes: &[u8]) {
        let until = self.order_len + bytes.len();
        if let Some(place) = self.order.get_mut(self.order_len..until) {
            place.copy_from_slice(bytes);
        }
        self.order_len = until.min(ORDER + 1);
    }

    /// Whether the order of `len` bytes that is in can be read.
    fn read_order(&self, len: usize) -> Result<(), Unread> {
        let most = usize::from(self.about.limits.order_bytes).min(ORDER);
        let bytes = self.order.get(..len).filter(|_| len <= most);
        let bytes = bytes.ok_or(Unread::TooLong)?;
        match Order::<NODES>::parse(bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err(Unread::Malformed),
        }
    }
    fn order_of(&self, len: usize) -> Option<Wanted<'_, NODES>> {
        let order = Order::parse(self.order.get(..len)?);
        order.ok().map(Wanted::Order)
    }

    /// The time goes as a note: it is of use only while it is fresh, and the host asks again.
    fn tell_time(&mut self, asked: u64, clock: &mut impl FnMut() -> Instant) {
        let now = clock();
        let told = Message::TimeTold {
            asked,
            heard: now,
            told: now,
        };
        let mut room = [0; MAX_MESSAGE];
        if let Some(len) = written(&told, &mut room) {
            let _ = self.link.note(&room[..len]);
        }
    }
    /// A host that does not read its window finds out when its job times out.
    fn send(&mut self, message: &Message<'_>) {
        let mut room = [0; MAX_MESSAGE];
        if let Some(len) = written(message, &mut room) {
            let _ = self.link.send(&room[..len]);
        }
    }

    /// Hands messages of what waits in `outbox` to the line while its window has room.
    pub fn fill_window(&mut self, outbox: &mut impl Outbox) {
        while self.link.room() > 0 {
            let mut room = [0; MAX_MESSAGE];
            let Some(len) = self.next_message(outbox, &mut room) else {
                return;
            };
            // There is room for one.
            let _ = self.link.send(&room[..len]);
        }
    }
    /// Writes the next frame for the line to `into`, and says how long it is: 0 where there is none.
    pub fn transmit(&mut self, now: Instant, into: &mut [u8; MAX_STUFFED]) -> usize {
        self.link.transmit(now, into)
    }

    fn next_message(&mut self, outbox: &mut impl Outbox, room: &mut [u8]) -> Option<usize> {
        match outbox.front()? {
            Waiting::Event(at, _) => {
                let mut bytes = [0; MAX_MESSAGE];
                let len = events_at(at, outbox, &mut bytes);
                let bytes = bytes.get(..len)?;
                written(&Message::Event { at, bytes }, room)
            }
            Waiting::Begin => {
                outbox.take(0);
                written(&Message::Begin, room)
            }
            Waiting::Bytes(offset, _) => {
                // Credit that the host has not given yet is none.
                let allowed = self.until.wrapping_sub(self.sent) as usize;
                let allowed = match allowed > i32::MAX as usize {
                    true => 0,
                    false => allowed.min(MAX_OBJECT_BYTES),
                };
                let mut bytes = [0; MAX_OBJECT_BYTES];
                let len = bytes_from(offset, outbox, bytes.get_mut(..allowed)?);
                if len == 0 {
                    return None;
                }
                self.sent = self.sent.wrapping_add(len as u32);
                let bytes = bytes.get(..len)?;
                written(&Message::Object { offset, bytes }, room)
            }
        }
    }
}

/// Moves the events of time `at` that are in front of `outbox` to `into`, each after its length, and says how many bytes
/// these are.
fn events_at(at: Instant, outbox: &mut impl Outbox, into: &mut [u8; MAX_MESSAGE]) -> usize {
    let mut used = 0;
    while let Some(Waiting::Event(when, event)) = outbox.front() {
        let len = event.len().min(MAX_EVENT_BYTES);
        let until = used + 1 + len;
        if when != at || used + len + EVENTS_HEADER > MAX_MESSAGE {
            break;
        }
        if let Some([first, rest @ ..]) = into.get_mut(used..until) {
            *first = len as u8;
            rest.copy_from_slice(&event[..len]);
        }
        outbox.take(len);
        used = until;
    }
    used
}

/// Moves bytes from `offset` on that follow each other in front of `outbox` to `into`, and says how many.
fn bytes_from(offset: u32, outbox: &mut impl Outbox, into: &mut [u8]) -> usize {
    let mut used = 0;
    while let Some(Waiting::Bytes(at, bytes)) = outbox.front() {
        let follows = offset.wrapping_add(used as u32) == at;
        let len = bytes.len().min(into.len() - used);
        if !follows || len == 0 {
            break;
        }
        into[used..used + len].copy_from_slice(&bytes[..len]);
        outbox.take(len);
        used += len;
    }
    used
}

fn written(message: &Message<'_>, room: &mut [u8]) -> Option<usize> {
    let mut w = Writer::new(room);
    message.emit(&mut w).ok().map(|()| w.len())
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
