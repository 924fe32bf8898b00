//! A bulk forwarder without loss repair, in CIT's variants (Österlind and Dunkels, SICS T2008:05).
//!
//! Owns one node's part: a paced source, a relay, a sink. The variants differ in when frames are
//! copied, see [`Forwarding`]. Time base: the node's clock. Invariants: packets leave a relay in the
//! order in which they came, each at most once; a frame that waits for a condition is sent after
//! [`Config::hold`] at the latest. Does not repair losses. Tests: `tests/`.

mod config;
mod orders;
#[cfg(test)]
mod tests;

pub use config::{Command, Config, Drop, Event, Exits, Forwarding, Role};

use crate::object::ObjectStore;
use crate::ring::Fifo;
use crate::timer::sooner;
use orders::{Orders, TxAnswer, Want};
use thalweg_engine::{Ability, Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::forward::{origin, Repr, MAX_PAYLOAD, ORIGIN_AT};
use thalweg_wire::FrameBuf;

/// Packets that a relay keeps until they can be sent; one waits in the radio besides.
const QUEUE: usize = 4;

/// What has become of the frame that was given to the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Nothing,
    /// A source has written it and waits until it is due.
    Prepared {
        number: u16,
    },
    /// It goes out as soon as it can.
    Direct {
        number: u16,
    },
    /// It waits for its condition.
    Waiting {
        number: u16,
        until: Instant,
    },
    /// It waited long enough and was called back.
    CalledBack {
        number: u16,
    },
}

/// Packets that a source has to send.
#[derive(Debug, Clone, Copy)]
struct Batch {
    next: u16,
    /// Packets that are not due yet.
    left: u16,
    /// Packets that are due.
    due: u16,
    payload_bytes: u8,
    interval: Duration,
    at: Instant,
}

/// A packet on its way through a node.
#[derive(Debug, Clone, Copy)]
struct Packet {
    number: u16,
    frame: FrameBuf,
}

/// A node.
#[derive(Debug)]
pub struct Forwarder<S> {
    id: NodeId,
    store: S,
    config: Option<Config>,
    orders: Orders,
    sending: Sending,
    queue: Fifo<Packet, QUEUE>,
    batch: Option<Batch>,
    /// The number taken in last.
    last: Option<u16>,
    /// Frames are sent without waiting until none is left.
    emptying: bool,
    events: Fifo<Event, 8>,
}

impl<S: ObjectStore> Forwarder<S> {
    /// A node that has no part yet; `store` holds what it sends and takes what it receives.
    pub const fn new(id: NodeId, store: S) -> Self {
        Self {
            id,
            store,
            config: None,
            orders: Orders::NONE,
            sending: Sending::Nothing,
            queue: Fifo::EMPTY,
            batch: None,
            last: None,
            emptying: false,
            events: Fifo::EMPTY,
        }
    }
    /// What was received, and what is sent.
    pub const fn store(&self) -> &S {
        &self.store
    }
    /// The same, mutable.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    fn emit(&mut self, event: Event) {
        // There is room: each call into the engine causes one event.
        self.events.tell(event);
    }

    fn join(&mut self, config: Config) {
        self.orders = Orders::NONE;
        self.orders.cancel();
        self.queue = Fifo::EMPTY;
        (self.sending, self.batch, self.last) = (Sending::Nothing, None, None);
        self.emptying = false;
        self.orders.want(Want::Readout(config.readout()));
        if config.forwarding == Forwarding::Resending {
            if let Some(frame) = self.own(0, config.payload_bytes) {
                self.orders.load(frame);
            }
        }
        self.orders.want(Want::Listen(config.listen));
        self.config = Some(config);
    }

    /// Packet `number` as this node sends it.
    fn own(&self, number: u16, payload_bytes: u8) -> Option<FrameBuf> {
        let mut payload = [0; MAX_PAYLOAD];
        let payload = payload.get_mut(..usize::from(payload_bytes))?;
        let offset = u32::from(number) * u32::from(payload_bytes);
        self.store.read(offset, payload);
        self.framed(number, payload)
    }
    fn framed(&self, number: u16, payload: &[u8]) -> Option<FrameBuf> {
        let repr = Repr {
            previous: self.id,
            number,
            payload,
        };
        repr.frame().ok()
    }

    /// Something came in of which only the beginning was read, and which is counted where it is the
    /// previous hop's.
    fn noticed(&mut self, config: &Config, head: &[u8]) {
        let told = head.get(usize::from(ORIGIN_AT)..).unwrap_or_default();
        let mut hops = config.previous.iter().flatten();
        if let Some(previous) = hops.find(|p| told.starts_with(&origin(**p))) {
            let repr = Repr {
                previous: *previous,
                number: 0,
                payload: &[],
            };
            self.took(config, &repr);
        }
    }

    /// A packet of the previous hop came in.
    fn took(&mut self, config: &Config, repr: &Repr<'_>) {
        let counted = config.forwarding == Forwarding::Resending;
        if !counted && self.last.replace(repr.number) == Some(repr.number) {
            return;
        }
        match config.role {
            Role::End => {
                if !counted {
                    let offset = u32::from(repr.number) * repr.payload.len() as u32;
                    if self.store.write(offset, repr.payload).is_err() {
                        return;
                    }
                }
                let (number, previous) = (repr.number, repr.previous);
                self.emit(Event::Received { number, previous });
            }
            Role::Relay => {
                let number = repr.number;
                let Some(frame) = self.framed(number, repr.payload) else {
                    return;
                };
                if self.queue.push(Packet { number, frame }).is_err() {
                    let why = Drop::QueueFull;
                    self.emit(Event::Dropped { number, why });
                }
            }
        }
    }

    /// Gives the radio the next frame, if it has none.
    fn send_next(&mut self, now: Instant) {
        let Some(config) = self.config else { return };
        if self.sending == Sending::Nothing && self.queue.is_empty() {
            self.prepare(&config);
        }
        match (self.sending, self.batch.as_mut()) {
            (Sending::Prepared { number }, Some(batch)) if batch.due > 0 => {
                batch.due -= 1;
                return self.send(&config, number);
            }
            (Sending::Nothing, _) => {}
            _ => return,
        }
        let Some(Packet { number, frame }) = self.queue.pop() else {
            self.emptying = false;
            return;
        };
        if config.forwarding != Forwarding::Resending {
            self.orders.load(frame);
        }
        let waits = config.role == Role::Relay && config.forwarding == Forwarding::Conditional;
        match config.previous[0].filter(|_| waits && !self.emptying) {
            Some(previous) => {
                let (channel, until) = (config.exits.of(number), now + config.hold);
                self.orders.send_upon(previous, channel, config.cca);
                self.sending = Sending::Waiting { number, until };
            }
            None => self.send(&config, number),
        }
    }
    fn send(&mut self, config: &Config, number: u16) {
        let channel = config.exits.of(number);
        self.orders.want(Want::Send(channel, config.cca));
        self.sending = Sending::Direct { number };
    }

    /// Writes a source's next packet while the one before it is on its way through others.
    fn prepare(&mut self, config: &Config) {
        let Some(batch) = self.batch.as_mut().filter(|b| b.left > 0 || b.due > 0) else {
            return;
        };
        let (number, payload_bytes) = (batch.next, batch.payload_bytes);
        batch.next = batch.next.wrapping_add(1);
        if config.forwarding != Forwarding::Resending {
            if let Some(frame) = self.own(number, payload_bytes) {
                self.orders.load(frame);
            }
        }
        self.sending = Sending::Prepared { number };
    }

    fn answered(&mut self, answer: TxAnswer) {
        let was = core::mem::replace(&mut self.sending, Sending::Nothing);
        let (Sending::Direct { number }
        | Sending::Prepared { number }
        | Sending::Waiting { number, .. }
        | Sending::CalledBack { number }) = was
        else {
            return;
        };
        match (answer, was) {
            (TxAnswer::Sent, _) => {}
            (TxAnswer::Refused, Sending::CalledBack { .. }) => {
                // Still in hand, ahead of those that wait.
                if let Some(config) = self.config {
                    self.orders.want(Want::Load);
                    self.send(&config, number);
                }
                return;
            }
            (TxAnswer::Refused, _) => {
                let why = Drop::Refused;
                self.emit(Event::Dropped { number, why });
            }
        }
        if self.batch.is_some_and(|b| b.left == 0 && b.due == 0) {
            self.batch = None;
            self.emit(Event::SentAll);
        }
    }
}

impl<S: ObjectStore> Engine for Forwarder<S> {
    type Command = Command;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{Cca, Conditional, Load, Readout};
        (radio == RadioId(0)).then_some(Wants::of(&[Cca, Conditional, Load, Readout]))
    }

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Join(config) => self.join(config),
            Command::Send {
                packets,
                payload_bytes,
                after,
                interval,
            } => {
                let due = if after.is_zero() { packets.min(1) } else { 0 };
                self.batch = Some(Batch {
                    next: 0,
                    left: packets - due,
                    due,
                    payload_bytes: payload_bytes.min(MAX_PAYLOAD as u8),
                    interval,
                    at: now + if due > 0 { interval } else { after },
                });
            }
            Command::Arm { payload_bytes } => {
                let number = 0;
                if let Some(frame) = self.own(number, payload_bytes.min(MAX_PAYLOAD as u8)) {
                    let _ = self.queue.push(Packet { number, frame });
                }
            }
        }
        self.send_next(now);
    }

    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        if let Some(answer) = self.orders.answer(&event) {
            self.answered(answer);
        }
        if let (RadioEvent::Frame { mpdu, .. }, Some(config)) = (event, self.config) {
            if config.forwarding == Forwarding::Resending {
                self.noticed(&config, mpdu);
            } else if let Ok(repr) = Repr::parse(mpdu) {
                if config.previous.contains(&Some(repr.previous)) {
                    self.took(&config, &repr);
                }
            }
        }
        self.send_next(at);
    }

    fn handle_timeout(&mut self, at: Instant) {
        if let Some(batch) = self.batch.as_mut().filter(|b| b.left > 0 && b.at <= at) {
            batch.left -= 1;
            batch.due += 1;
            batch.at = batch.at.max(at.saturating_sub(batch.interval)) + batch.interval;
            if batch.at <= at {
                batch.at = at + batch.interval;
            }
        }
        if let Sending::Waiting { number, until } = self.sending {
            if until <= at {
                self.sending = Sending::CalledBack { number };
                self.emptying = true;
                self.orders.want(Want::Cancel);
            }
        }
        self.send_next(at);
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.orders.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let batch = self.batch.filter(|b| b.left > 0).map(|b| b.at);
        let held = match self.sending {
            Sending::Waiting { until, .. } => Some(until),
            _ => None,
        };
        sooner(batch, held)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
