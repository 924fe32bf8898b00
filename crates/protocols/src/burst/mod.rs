//! Burst forwarding over one radio: store, then forward a burst (Duquennoy, Österlind and Dunkels,
//! SenSys 2011, the "LPHT" of FastForward's evaluation).
//!
//! Owns a node: it sleeps and listens on its own channel now and then; a neighbour's first packet,
//! repeated until it is heard, keeps it awake for the rest of the burst, which it then sends on to the
//! next hop in the same way. Only the two ends of a burst are awake. Time base: the node's clock.
//! Invariants: a burst is taken by an empty queue and is no longer than it; numbers taken in only rise.
//! Not modelled: phase-locked wake-ups, flash as a buffer. Tests: `crates/simnet/tests/all/streams/`.

mod packet;

use crate::object::ObjectStore;
use crate::radio;
use crate::ring::Fifo;
use packet::{More, Packet};
use thalweg_engine::{Ability, Answering, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp};
use thalweg_engine::{Request, Wants, When};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::addressed::{Ack, Header};
use thalweg_wire::FrameBuf;

pub use packet::{HEADER_BYTES, MAX_PAYLOAD};

/// The most packets of a burst.
pub const MAX_BURST: usize = 32;

/// Constants of a node, and its place on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The channel on which this node is sent to.
    pub own: Channel,
    /// The next hop and the channel on which it is sent to; none at the sink.
    pub next: Option<(NodeId, Channel)>,
    /// Packets of a burst: what a queue holds.
    pub burst: usize,
    /// How often a sleeping node listens, and for how long.
    pub wake_interval: Duration,
    /// See above.
    pub wake_time: Duration,
    /// How long a sender waits for an acknowledgement.
    pub ack_timeout: Duration,
    /// How often a packet within a burst is sent before the burst starts again.
    pub attempts: u8,
    /// For how long a burst's first packet is tried, in wake intervals, before the packet is dropped.
    pub patience: u8,
    /// A burst that falls silent for so long is over.
    pub silence: Duration,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
}

/// Orders to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Take this place.
    Join(Config),
    /// Send so many packets of the object.
    Send(u16),
}

/// Events of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The sink was given a packet.
    Received {
        /// Which.
        number: u16,
    },
    /// A packet was given up.
    Dropped {
        /// Which.
        number: u16,
    },
}

/// What happened at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets handed to the radio, each once.
    pub sent: u32,
    /// And again, wake-ups among them.
    pub retransmissions: u32,
    /// Packets that were given up.
    pub dropped: u32,
    /// Packets received again.
    pub duplicates: u32,
    /// Most packets in the queue.
    pub queue_peak: u16,
    /// Packets taken into the queue, and its lengths then, summed.
    pub taken: u32,
    /// See above.
    pub queue_sum: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Until then, as the next two.
    Asleep(Instant),
    Listening(Instant),
    /// A burst comes in.
    Taking(Instant),
    /// A burst goes out: this many of it are left.
    Giving(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Idle,
    OnAir { op: Option<OpId> },
    Waiting { until: Instant },
}

#[derive(Debug, Clone, Copy)]
enum Want {
    Listen(Channel),
    Sleep,
    Answer(Answering),
    Load(Channel),
    Again(Channel),
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    number: u16,
    payload: FrameBuf,
}

/// A node.
#[derive(Debug)]
pub struct Burst<S> {
    id: NodeId,
    store: S,
    config: Option<Config>,
    state: State,
    queue: Fifo<Queued, MAX_BURST>,
    /// Packets of a source that are not in the queue yet: the next, and the end.
    batch: (u16, u16),
    last: Option<u16>,
    sending: Sending,
    frame: FrameBuf,
    sequence: u8,
    attempts: u32,
    /// The first packet of a burst is tried until then.
    first_until: Option<Instant>,
    wants: Fifo<Want, 8>,
    ops: u16,
    events: Fifo<Event, 8>,
    counts: Counts,
}

impl<S: ObjectStore> Burst<S> {
    /// A node without a place.
    pub fn new(id: NodeId, store: S) -> Self {
        Self {
            id,
            store,
            config: None,
            state: State::Asleep(Instant::ZERO),
            queue: Fifo::EMPTY,
            batch: (0, 0),
            last: None,
            sending: Sending::Idle,
            frame: FrameBuf::EMPTY,
            sequence: 0,
            attempts: 0,
            first_until: None,
            wants: Fifo::EMPTY,
            ops: 0,
            events: Fifo::EMPTY,
            counts: Counts::default(),
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
    /// What happened so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn want(&mut self, want: Want) {
        let _ = self.wants.push(want); // one event leads to four at most
    }

    /// Sleeps until this node's next wake-up; they keep their phase.
    fn sleep(&mut self, now: Instant, config: &Config) {
        self.want(Want::Sleep);
        let interval = config.wake_interval.as_nanos().max(1);
        let phase = u64::from(self.id.get()).wrapping_mul(0x9e37_79b9) % interval;
        let since = (now.as_nanos() + interval - phase) % interval;
        let until = now + Duration::from_nanos(interval - since);
        self.state = State::Asleep(until);
    }

    /// Fills a source's queue.
    fn fill(&mut self, config: &Config) {
        while self.batch.0 < self.batch.1 && !self.queue.is_full() {
            let mut payload = [0; MAX_PAYLOAD];
            let bytes = usize::from(config.payload_bytes).min(MAX_PAYLOAD);
            let (number, payload) = (self.batch.0, &mut payload[..bytes]);
            self.store.read(u32::from(number) * bytes as u32, payload);
            let Ok(payload) = FrameBuf::from_slice(payload) else {
                return;
            };
            let _ = self.queue.push(Queued { number, payload });
            self.batch.0 += 1;
            self.took();
        }
    }

    /// A packet was taken into the queue.
    fn took(&mut self) {
        let length = self.queue.len() as u16;
        let counts = &mut self.counts;
        counts.queue_peak = counts.queue_peak.max(length);
        counts.taken += 1;
        counts.queue_sum += u32::from(length);
    }

    /// Begins a burst with what is in the queue, or sleeps.
    fn give(&mut self, now: Instant) {
        let Some(config) = self.config else { return };
        self.fill(&config);
        if self.queue.is_empty() || config.next.is_none() {
            return self.sleep(now, &config);
        }
        self.want(Want::Answer(Answering::Withheld));
        let left = self.queue.len();
        self.state = State::Giving(left);
        self.first_until = Some(now + config.wake_interval * u64::from(config.patience));
        self.send(&config, left);
    }

    /// Gives the radio the packet at the front of the queue.
    fn send(&mut self, config: &Config, left: usize) {
        let (Some((to, channel)), Some(front)) = (config.next, self.queue.front()) else {
            return;
        };
        self.sequence = self.sequence.wrapping_add(1);
        let packet = Packet {
            link: Header {
                sequence: self.sequence,
                to: Some(to),
                from: self.id,
            },
            more: if left > 1 { More::Follows } else { More::Last },
            number: front.number,
            payload: &front.payload,
        };
        let Ok(frame) = packet.frame() else { return };
        self.frame = frame;
        self.attempts = 1;
        self.counts.sent += 1;
        self.sending = Sending::OnAir { op: None };
        self.want(Want::Listen(channel));
        self.want(Want::Load(channel));
    }

    /// The packet at the front of the queue is there, or given up.
    fn gone(&mut self, now: Instant, delivered: bool) {
        let State::Giving(left) = self.state else {
            return;
        };
        self.sending = Sending::Idle;
        self.first_until = None;
        if let Some(Queued { number, .. }) = self.queue.pop() {
            if !delivered {
                self.counts.dropped += 1;
                self.events.tell(Event::Dropped { number });
            }
        }
        match (self.config, left) {
            (Some(config), 2..) => {
                self.state = State::Giving(left - 1);
                self.send(&config, left - 1);
            }
            // A source goes on with its next burst when the next hop has passed this one on.
            (Some(config), _) if self.batch.0 < self.batch.1 => {
                self.fill(&config);
                self.give(now);
            }
            (Some(config), _) => self.sleep(now, &config),
            (None, _) => {}
        }
    }

    fn heard(&mut self, now: Instant, mpdu: &[u8]) {
        let Some(config) = self.config else { return };
        let Ok(packet) = Packet::parse(mpdu) else {
            return;
        };
        let busy = matches!(self.state, State::Giving(_));
        if packet.link.to != Some(self.id) || busy {
            return;
        }
        let number = packet.number;
        let is_new = self.last.is_none_or(|last| packet.number > last);
        if !is_new {
            self.counts.duplicates += 1;
        } else if config.next.is_none() {
            let offset = u32::from(number) * u32::from(config.payload_bytes);
            self.last = Some(number);
            // What there is no room for is not reported, so it is asked for again.
            if self.store.write(offset, packet.payload).is_ok() {
                self.events.tell(Event::Received { number });
            }
        } else if let Ok(payload) = FrameBuf::from_slice(packet.payload) {
            if self.queue.push(Queued { number, payload }).is_ok() {
                self.last = Some(number);
                self.took();
            }
        }
        match packet.more {
            // Another burst for a queue that holds part of one: no more than fits.
            More::Follows if self.queue.is_full() => self.give(now),
            More::Follows => self.state = State::Taking(now + config.silence),
            More::Last => self.give(now),
        }
    }
}

impl<S: ObjectStore> Engine for Burst<S> {
    type Command = Command;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then_some(Wants {
            address: Some(self.id),
            ..Wants::of(&[Ability::Stream, Ability::Load, Ability::Answer])
        })
    }

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Join(config) => {
                self.config = Some(config);
                self.queue = Fifo::new(config.burst);
                self.sending = Sending::Idle;
                (self.batch, self.last) = ((0, 0), None);
                self.sleep(now, &config);
            }
            Command::Send(packets) => {
                self.batch = (0, packets);
                self.give(now);
            }
        }
    }

    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let Some(config) = self.config else { return };
        if let (Some(op), Sending::OnAir { op: Some(own) }) = (event.answers(), self.sending) {
            if op == own {
                let until = at + config.ack_timeout;
                self.sending = Sending::Waiting { until };
            }
            return;
        }
        let RadioEvent::Frame { mpdu, .. } = event else {
            return;
        };
        match Ack::parse(mpdu) {
            Ok(ack) if ack.sequence == self.sequence && self.sending != Sending::Idle => {
                self.gone(at, true);
            }
            Ok(_) => {}
            Err(_) => self.heard(at, mpdu),
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        let Some(config) = self.config else { return };
        match self.state {
            State::Asleep(until) if until <= at => {
                self.want(Want::Listen(config.own));
                self.want(Want::Answer(Answering::Clear));
                self.state = State::Listening(at + config.wake_time);
            }
            State::Listening(until) if until <= at => self.sleep(at, &config),
            State::Taking(until) if until <= at => self.give(at),
            _ => {}
        }
        if matches!(self.sending, Sending::Waiting { until } if until <= at) {
            let again = match self.first_until {
                Some(until) => at < until,
                None => self.attempts < u32::from(config.attempts),
            };
            match (again, self.first_until, config.next) {
                (true, _, Some((_, channel))) => {
                    self.attempts += 1;
                    self.counts.retransmissions += 1;
                    self.sending = Sending::OnAir { op: None };
                    self.want(Want::Again(channel));
                }
                // The next hop has gone on without it: the rest is a burst of its own.
                (false, None, _) => {
                    self.sending = Sending::Idle;
                    self.give(at);
                }
                _ => self.gone(at, false),
            }
        }
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let want = self.wants.pop()?;
        self.ops = self.ops.wrapping_add(1);
        let id = OpId(self.ops);
        if let (Want::Load(_) | Want::Again(_), Sending::OnAir { op }) = (want, &mut self.sending) {
            *op = Some(id);
        }
        let op = match want {
            Want::Listen(channel) => radio::listen(channel),
            Want::Sleep => RadioOp::Sleep,
            Want::Answer(answering) => RadioOp::Answer(answering),
            Want::Load(channel) => radio::stream(&self.frame, channel, When::Now),
            Want::Again(channel) => radio::transmit(channel, Cca::Skip),
        };
        Some(Request::new(id, op))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.config?;
        let state = match self.state {
            State::Asleep(until) | State::Listening(until) | State::Taking(until) => Some(until),
            State::Giving(_) => None,
        };
        let ack = match self.sending {
            Sending::Waiting { until } => Some(until),
            _ => None,
        };
        state.into_iter().chain(ack).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
