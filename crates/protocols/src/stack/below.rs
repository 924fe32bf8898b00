//! The stack below applications and transports: it relays what others send, and gives the MAC one frame
//! at a time, in the order of its queue, beacons first.
//!
//! Time base: the node's clock. What becomes of packets is returned, not told: [`super::Node`] passes it
//! on. Invariant: while a packet is in the MAC's hands it is the queue's first. Tests: `tests.rs`.

use super::recent::{Recent, Sighting};
use super::{
    ChannelState, Discipline, Drop, Fill, Gate, Gone, Hop, Overheard, Packet, Passing, Room,
    Sender, Wish, MAX_QUEUE,
};
use crate::csma::{self, Mac, Outcome};
use crate::fifo::Fifo;
use crate::tree::{Role, Router, Routes, Routing};
use thalweg_engine::{Activity, Hear, OpId, RadioEvent, RadioOp, Request};
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{Data, Repr, Stamp, Way, STAMP_AT};
use thalweg_wire::FrameBuf;

/// The receiver's mode is asked for under this name.
const LISTEN: OpId = OpId(0x110);
/// Channel samples under this one.
const SAMPLE: OpId = OpId(0x111);
/// Which frames are told of, under this one.
const HEAR: OpId = OpId(0x112);
/// A packet that has crossed so many links goes round in circles.
const MAX_HOPS: u8 = 32;

/// What a node is, whatever holds back its queue and stands on top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Its address.
    pub id: NodeId,
    /// The channel.
    pub channel: Channel,
    /// Its medium access.
    pub mac: csma::Config,
    /// What it does in the tree.
    pub role: Role,
    /// How the tree is found.
    pub routing: Routing,
    /// Packets that its queue holds: 1 to [`MAX_QUEUE`].
    pub queue: u8,
    /// Of backoffs and jitter.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InHand {
    Nothing,
    /// The queue's first packet.
    Packet,
    Beacon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    Off,
    On,
}

/// What an event did to packets.
#[derive(Debug)]
pub(super) enum Done {
    /// A packet came in from a neighbour, for the first time or round a circle.
    Came(NodeId, Packet, Fate),
    /// A packet has left.
    Went(Packet, Gone),
    /// A beacon has.
    Beacon,
    /// Nothing, nor anything that the MAC waits for: the channel was sampled.
    Sample,
}

/// What became of a packet that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// This is its destination.
    Arrived,
    /// The same, which it had reached before.
    ArrivedAgain,
    /// It is in the queue.
    Queued,
    /// It was dropped.
    Dropped(Drop),
}

/// Medium access, routes, queue and discipline of a node. `DOWN` is how many nodes can be reached on
/// the way down: at a relay those of its subtree, at the sink all; none where nothing goes down.
#[derive(Debug)]
pub struct Stack<D, const DOWN: usize = 0> {
    id: NodeId,
    channel: Channel,
    mac: Mac,
    routes: Routes<DOWN>,
    queue: Fifo<Packet, MAX_QUEUE>,
    discipline: D,
    recent: Recent,
    /// What the MAC has.
    in_hand: InHand,
    beacon: Option<FrameBuf>,
    /// Of the last frame.
    sequence: u8,
    /// Of the last packet of its own.
    number: u16,
    power: Power,
    switch: Option<Power>,
    hear: Option<Hear>,
    wish: Wish,
    doze: Option<Duration>,
    wake_at: Option<Instant>,
}

impl<D: Discipline, const DOWN: usize> Stack<D, DOWN> {
    pub(super) fn new(config: Config, discipline: D) -> Self {
        let Config { id, role, seed, .. } = config;
        Self {
            id,
            channel: config.channel,
            mac: Mac::new(config.mac, config.channel, seed),
            routes: Routes::new(id, role, config.routing, Instant::ZERO, seed),
            queue: Fifo::new(usize::from(config.queue.max(1))),
            discipline,
            recent: Recent::EMPTY,
            in_hand: InHand::Nothing,
            beacon: None,
            sequence: 0,
            number: 0,
            power: Power::Off,
            switch: None,
            hear: None,
            wish: Wish::Nothing,
            doze: None,
            wake_at: None,
        }
    }

    /// Its medium access.
    pub const fn mac(&self) -> &Mac {
        &self.mac
    }
    /// Its part of the tree.
    pub const fn router(&self) -> &Router {
        &self.routes.up
    }
    /// What holds back its queue.
    pub const fn discipline(&self) -> &D {
        &self.discipline
    }
    /// The packets that wait, next first.
    pub fn queue(&self) -> impl Iterator<Item = &Packet> + '_ {
        self.queue.iter()
    }
    /// Its address.
    pub const fn id(&self) -> NodeId {
        self.id
    }
    pub(super) fn is_on(&self) -> bool {
        self.power == Power::On
    }

    pub(super) fn start(&mut self, now: Instant) {
        if self.mac.is_idle() {
            // What the MAC had when the node was stopped is still in the queue.
            self.in_hand = InHand::Nothing;
        }
        self.turn(now, Power::On);
        self.hear = Some(if self.routes.up.overhears() {
            Hear::Everything
        } else {
            self.discipline.hears()
        });
    }
    pub(super) fn stop(&mut self, now: Instant) {
        self.turn(now, Power::Off);
        self.mac.withdraw();
    }
    pub(super) fn pin(&mut self) {
        self.routes.up.pin();
    }
    pub(super) fn doze(&mut self, now: Instant, listen: Duration, idle_until: Option<Instant>) {
        self.doze = Some(listen);
        self.rest(now, idle_until);
    }

    /// Switches the node: the radio itself, unless the medium access does that.
    fn turn(&mut self, now: Instant, power: Power) {
        self.power = power;
        match power {
            Power::On => self.mac.start(now),
            Power::Off => self.mac.stop(),
        }
        if !self.mac.switches_radio() {
            self.switch = Some(power);
        }
    }

    /// A dozing leaf that has nothing to send sleeps until shortly before its next packet.
    pub(super) fn rest(&mut self, now: Instant, idle_until: Option<Instant>) {
        let (Some(listen), Some(next)) = (self.doze, idle_until) else {
            return;
        };
        let wake = next.saturating_sub(listen);
        let is_idle = self.queue.is_empty() && self.mac.is_idle();
        if is_idle && self.is_on() && wake > now {
            self.turn(now, Power::Off);
            self.wake_at = Some(wake);
        }
    }

    /// Whether a packet of the layer above would be taken.
    pub(super) fn room(&mut self, now: Instant, way: Way) -> Room {
        if self.queue.is_full() || !self.discipline.admits(now, way) {
            Room::Taken
        } else {
            Room::Free
        }
    }
    /// Makes a packet of what the layer above sends.
    pub(super) fn address(&mut self, way: Way, payload: FrameBuf) -> Packet {
        self.number = self.number.wrapping_add(1);
        Packet {
            way,
            origin: self.id,
            number: self.number,
            hops: 0,
            payload,
        }
    }
    /// Adds a packet of the layer above.
    pub(super) fn admit(&mut self, now: Instant, packet: Packet) -> Fate {
        if self.ends_here(packet.way) {
            return Fate::Arrived;
        }
        let fate = self.enqueue(now, packet);
        if fate == Fate::Queued {
            self.discipline.admitted(packet.way);
        }
        fate
    }

    fn ends_here(&self, way: Way) -> bool {
        match way {
            Way::Up => self.routes.up.role() == Role::Sink,
            Way::Down { to } => to == self.id,
        }
    }
    fn enqueue(&mut self, now: Instant, packet: Packet) -> Fate {
        match self.queue.push(packet) {
            Ok(()) => {
                self.queue_changed(now);
                Fate::Queued
            }
            Err(_) => Fate::Dropped(Drop::Buffer),
        }
    }
    fn queue_changed(&mut self, now: Instant) {
        let fill = Fill {
            packets: self.queue.len() as u8,
            limit: self.queue.room() as u8,
        };
        self.discipline.queued(now, fill);
    }

    /// Gives the MAC something to do, or stops it.
    pub(super) fn pump(&mut self, now: Instant) {
        self.mac.set_priority(self.discipline.priority());
        match self.in_hand {
            InHand::Packet => match self.gate(now) {
                Gate::Held => self.mac.hold(),
                // What began its backoff before the pause was put off when the pause began.
                Gate::Until(_) | Gate::Open => self.mac.release(now),
            },
            InHand::Beacon => {}
            InHand::Nothing => self.next_frame(now),
        }
    }
    fn gate(&self, now: Instant) -> Gate {
        let next = self.queue.front();
        next.map_or(Gate::Held, |packet| self.discipline.gate(now, packet.way))
    }

    fn next_frame(&mut self, now: Instant) {
        if let Some(beacon) = self.beacon.take() {
            self.in_hand = InHand::Beacon;
            self.mac.offer(now, &beacon, None);
            return;
        }
        let gate = self.gate(now);
        let Some(packet) = self.queue.front().filter(|_| gate != Gate::Held) else {
            return;
        };
        let Some(to) = self.routes.next_hop(now, packet.way) else {
            return;
        };
        self.sequence = self.sequence.wrapping_add(1);
        let data = Data {
            link: Header {
                sequence: self.sequence,
                to: Some(to),
                from: self.id,
            },
            stamp: Stamp::default(),
            way: packet.way,
            origin: packet.origin,
            number: packet.number,
            hops: packet.hops,
            payload: &packet.payload,
        };
        let Ok(frame) = FrameBuf::build(|w| data.emit(w)) else {
            return;
        };
        self.in_hand = InHand::Packet;
        self.mac.offer(now, &frame, Some(self.sequence));
        if let Gate::Until(until) = gate {
            self.mac.defer(until);
        }
    }

    pub(super) fn handle_radio(&mut self, now: Instant, event: &RadioEvent<'_>) -> Option<Done> {
        if let RadioEvent::Sensed {
            op: SAMPLE,
            power,
            activity,
        } = *event
        {
            self.sampled(now, power, activity);
            return Some(Done::Sample);
        }
        match (self.mac.handle_radio(now, event), *event) {
            (Some(outcome), _) => self.finish(now, outcome),
            (None, RadioEvent::Frame { mpdu, end, .. }) => self.heard(now, end, mpdu),
            (None, _) => None,
        }
    }
    fn sampled(&mut self, now: Instant, power: Dbm, activity: Activity) {
        let is_busy = activity != Activity::Idle || power.0 >= self.mac.carrier().0;
        let channel = if is_busy {
            ChannelState::Busy
        } else {
            ChannelState::Free
        };
        self.discipline.sampled(now, channel);
    }

    pub(super) fn handle_timeout(&mut self, at: Instant) -> Option<Done> {
        if self.wake_at.is_some_and(|wake| wake <= at) {
            self.wake_at = None;
            self.turn(at, Power::On);
            self.discipline.forget();
        }
        if self.is_on() && is_due(self.routes.up.poll_timeout(), at) {
            self.sequence = self.sequence.wrapping_add(1);
            self.beacon = self.routes.up.build_beacon(at, self.sequence);
        }
        if is_due(self.discipline.poll_timeout(), at) {
            self.wish = self.discipline.handle_timeout(at);
        }
        let outcome = self.mac.handle_timeout(at)?;
        self.finish(at, outcome)
    }

    #[inline]
    pub(super) fn poll_radio(&mut self) -> Option<Request<'_>> {
        if let Some(power) = self.switch.take() {
            let op = match power {
                Power::On => RadioOp::Listen {
                    channel: self.channel,
                    head_bytes: 0,
                },
                Power::Off => RadioOp::Sleep,
            };
            return Some(Request::new(LISTEN, op));
        }
        if let Some(hear) = self.hear.take() {
            return Some(Request::new(HEAR, RadioOp::Hear(hear)));
        }
        if core::mem::replace(&mut self.wish, Wish::Nothing) == Wish::Sample {
            return Some(Request::new(SAMPLE, RadioOp::Sense));
        }
        self.mac.patch(STAMP_AT, self.discipline.stamp());
        self.mac.poll_radio()
    }

    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let beacon = match self.power {
            Power::On => self.routes.up.poll_timeout(),
            Power::Off => None,
        };
        let own = sooner(self.mac.poll_timeout(), self.discipline.poll_timeout());
        sooner(sooner(own, beacon), self.wake_at)
    }

    /// The MAC is done with its frame.
    fn finish(&mut self, now: Instant, outcome: Outcome) -> Option<Done> {
        if core::mem::replace(&mut self.in_hand, InHand::Nothing) != InHand::Packet {
            return Some(Done::Beacon);
        }
        let packet = self.queue.pop()?;
        self.queue_changed(now);
        self.discipline.sent(packet.way, outcome);
        let gone = match outcome {
            Outcome::Acknowledged(_) | Outcome::Broadcast => Gone::Passed,
            Outcome::NoAck => Gone::Dropped(Drop::Retries),
            Outcome::ChannelBusy => Gone::Dropped(Drop::ChannelBusy),
        };
        Some(Done::Went(packet, gone))
    }

    /// A good frame of a neighbour.
    fn heard(&mut self, now: Instant, end: Instant, mpdu: &[u8]) -> Option<Done> {
        let frame = Repr::parse(mpdu).ok()?;
        let (link, stamp) = match &frame {
            Repr::Data(data) => (data.link, data.stamp),
            Repr::Beacon(beacon) => (beacon.link, beacon.stamp),
        };
        self.routes.up.heard(now, &link);
        let parent = self.routes.up.parent();
        let mut heard = Overheard {
            from: link.from,
            sender: if parent == Some(link.from) {
                Sender::Parent
            } else {
                Sender::Other
            },
            stamp,
            end,
            packet: None,
        };
        let data = match frame {
            Repr::Beacon(beacon) => {
                self.discipline.heard(now, &heard);
                self.routes.up.beacon(now, &beacon);
                return None;
            }
            Repr::Data(data) => data,
        };
        let mut passing = Passing {
            way: data.way,
            origin: data.origin,
            number: data.number,
            to: Hop::Elsewhere,
        };
        if link.to == Some(self.id) {
            let hops = data.hops.saturating_add(1);
            let sighting = self.recent.see(data.origin, data.number, hops);
            passing.to = match sighting {
                Sighting::Again => Hop::HereAgain,
                Sighting::New | Sighting::Round => Hop::Here,
            };
            heard.packet = Some(passing);
            self.discipline.heard(now, &heard);
            self.mac
                .acknowledge(link.sequence, self.discipline.answer());
            return self.receive(now, &data, sighting);
        }
        if link.to == parent && parent.is_some_and(|p| self.routes.up.is_sink(p)) {
            passing.to = Hop::Sink;
        }
        heard.packet = Some(passing);
        let pause = self.discipline.heard(now, &heard);
        if let (Some(until), InHand::Packet) = (pause, self.in_hand) {
            self.mac.defer(until);
        }
        None
    }

    /// A packet for this node.
    fn receive(&mut self, now: Instant, data: &Data<'_>, sighting: Sighting) -> Option<Done> {
        // Back on its way round a circle, it says nothing about where its origin is.
        if data.way == Way::Up && sighting != Sighting::Round {
            self.routes.down.learn(now, data.origin, data.link.from);
        }
        if sighting == Sighting::Again {
            return None;
        }
        let packet = Packet {
            way: data.way,
            origin: data.origin,
            number: data.number,
            hops: data.hops.saturating_add(1),
            payload: FrameBuf::from_slice(data.payload).ok()?,
        };
        let fate = match (self.ends_here(packet.way), sighting) {
            (true, Sighting::Round) => Fate::ArrivedAgain,
            (true, _) => Fate::Arrived,
            (false, Sighting::Round) => Fate::Dropped(Drop::Hops),
            (false, _) if packet.hops >= MAX_HOPS => Fate::Dropped(Drop::Hops),
            (false, _) => self.enqueue(now, packet),
        };
        Some(Done::Came(data.link.from, packet, fate))
    }
}

fn is_due(timeout: Option<Instant>, at: Instant) -> bool {
    timeout.is_some_and(|due| due <= at)
}

/// The sooner of two; this is asked after every event of every node.
#[inline]
pub(super) fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}
