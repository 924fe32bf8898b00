//! The layers below applications and transports: medium access, routes, queue and discipline of a node.
//!
//! Gives the MAC one frame at a time, in the order of the queue, beacons first. [`super::Node`] reports what became of
//! packets. Time base: the node's clock. Invariant: while the MAC has a packet, it is the queue's first. Tests:
//! `tests.rs`.

use super::recent::{Recent, Sighting};
use super::{ChannelState, Discipline, Drop, Fill, Gate, Gone, Hop, Overheard, Packet, Room};
use super::{Config, MAX_QUEUE};
use crate::csma::{Mac, Outcome};
use crate::radio;
use crate::ring::Fifo;
use crate::timer::sooner;
use crate::tree::{Role, Router, Routes};
use thalweg_engine::{Ability, Activity, Hear, OpId, RadioOp, Request, Wants};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{Data, Direction, Notice, Repr, Stamp, STAMP_AT};
use thalweg_wire::{FrameBuf, WireError, Writer};

/// The receiver's mode is asked for under this name.
const LISTEN: OpId = OpId(0x0410);
/// Channel samples under this one.
pub(super) const SAMPLE: OpId = OpId(0x0411);
/// Which frames to report, under this one.
const HEAR: OpId = OpId(0x0412);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InHand {
    Nothing,
    /// The queue's first packet.
    Packet,
    /// A beacon, or a notice.
    Beacon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    Off,
    On,
}

/// The lower layers of a node. `DOWN` is how many nodes can be reached on the way down: at a relay those of its
/// subtree, at the sink all; none where nothing goes down. `QUEUE` is how many packets there is room for.
#[derive(Debug)]
pub struct Stack<D, const DOWN: usize = 0, const QUEUE: usize = MAX_QUEUE> {
    pub(super) id: NodeId,
    channel: Channel,
    pub(super) mac: Mac,
    pub(super) routes: Routes<DOWN>,
    queue: Fifo<Packet, QUEUE>,
    /// Packets of others that it takes.
    transit: usize,
    pub(super) discipline: D,
    recent: Recent,
    /// What the MAC has.
    in_hand: InHand,
    beacon: Option<FrameBuf>,
    /// Of the last frame.
    sequence: u8,
    power: Power,
    switch: Option<Power>,
    hear: Option<Hear>,
    /// How long it listens before it sends, if it sleeps otherwise.
    pub(super) doze: Option<Duration>,
    wake_at: Option<Instant>,
}

impl<D: Discipline, const DOWN: usize, const QUEUE: usize> Stack<D, DOWN, QUEUE> {
    pub(super) fn new(now: Instant, config: Config, discipline: D) -> Self {
        let Config { id, role, seed, .. } = config;
        let router = Router::new(id, role, config.routing, now, seed);
        Self {
            id,
            channel: config.channel,
            mac: Mac::new(config.mac, config.channel, seed),
            routes: Routes::new(router),
            queue: Fifo::new(config.queue.room()),
            transit: config.queue.transit(),
            discipline,
            recent: Recent::new(config.routing.remembered()),
            in_hand: InHand::Nothing,
            beacon: None,
            sequence: 0,
            power: Power::Off,
            switch: None,
            hear: None,
            doze: None,
            wake_at: None,
        }
    }
    /// What it wants of its radio.
    pub(super) fn wants(&self) -> Wants {
        let own = Wants {
            address: Some(self.id),
            channels: ChannelSet::EMPTY.with(self.channel),
            ..Wants::of(&[Ability::Hear])
        };
        own.and(self.mac.wants()).and(self.discipline.wants())
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

    pub(super) fn start(&mut self, now: Instant) {
        if self.mac.is_idle() {
            // What the MAC had when the node was stopped is still in the queue.
            self.in_hand = InHand::Nothing;
        }
        self.set_power(now, Power::On);
        self.hear = Some(match self.routes.up.overhears() {
            true => Hear::Everything,
            false => self.discipline.hears(),
        });
    }
    pub(super) fn stop(&mut self, now: Instant) {
        self.set_power(now, Power::Off);
        self.mac.withdraw();
    }
    pub(super) fn is_on(&self) -> bool {
        self.power == Power::On
    }
    /// Switches the node: the radio itself, unless the medium access does that.
    fn set_power(&mut self, now: Instant, power: Power) {
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
            self.set_power(now, Power::Off);
            self.wake_at = Some(wake);
        }
    }

    /// Whether a packet of the layer above would be taken.
    pub(super) fn room(&mut self, now: Instant, direction: Direction) -> Room {
        match !self.queue.is_full() && self.discipline.admits(now, direction) {
            true => Room::Free,
            false => Room::Taken,
        }
    }
    pub(super) fn ends_here(&self, direction: Direction) -> bool {
        match direction {
            Direction::Up => self.routes.up.role() == Role::Sink,
            Direction::Down { to } => to == self.id,
        }
    }
    pub(super) fn enqueue(&mut self, now: Instant, mut packet: Packet) -> Result<(), Drop> {
        if packet.origin != self.id && self.queue.len() >= self.transit {
            return Err(Drop::Buffer);
        }
        let fill = Fill {
            packets: self.queue.len() as u8 + 1,
            limit: self.queue.room() as u8,
        };
        (self.discipline).enters(packet.direction, fill, &mut packet.payload);
        self.queue.push(packet).map_err(|_| Drop::Buffer)?;
        self.queue_changed(now);
        Ok(())
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
            InHand::Packet if self.gate(now) == Gate::Held => self.mac.hold(),
            // A pause that began meanwhile has put its backoff off already.
            InHand::Packet => self.mac.release(now),
            InHand::Beacon => {}
            InHand::Nothing => self.next_frame(now),
        }
    }
    fn gate(&self, now: Instant) -> Gate {
        let next = self.queue.front();
        next.map_or(Gate::Held, |packet| {
            self.discipline.gate(now, packet.direction)
        })
    }
    fn next_frame(&mut self, now: Instant) {
        if let Some(beacon) = self.beacon.take() {
            return self.offer_to_all(now, |w| w.bytes(&beacon).map(|_| ()));
        }
        if self.is_on() && self.discipline.poll_notice() {
            let notice = Notice {
                link: Header {
                    sequence: 0,
                    to: None,
                    from: self.id,
                },
                stamp: Stamp::default(),
            };
            return self.offer_to_all(now, |w| notice.emit(w));
        }
        let gate = self.gate(now);
        let next = self.queue.front().filter(|_| gate != Gate::Held);
        let next = next.and_then(|p| Some((p, self.routes.next_hop(now, p.direction)?)));
        let Some((packet, to)) = next else { return };
        let data = Data {
            link: Header {
                sequence: 0,
                to: Some(to),
                from: self.id,
            },
            stamp: Stamp::default(),
            direction: packet.direction,
            origin: packet.origin,
            number: packet.number,
            hops: packet.hops,
            payload: &packet.payload,
        };
        let Ok(frame) = Self::frame(|w| data.emit(w)) else {
            return;
        };
        self.in_hand = InHand::Packet;
        self.mac.offer(now, &frame, Some(0));
        self.number();
        if let Gate::Until(until) = gate {
            self.mac.defer(until);
        }
    }

    /// Gives the MAC a frame to all, if it fits.
    fn offer_to_all(
        &mut self,
        now: Instant,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) {
        if let Ok(frame) = Self::frame(write) {
            self.in_hand = InHand::Beacon;
            self.mac.offer(now, &frame, None);
            self.number();
        }
    }
    /// The frame in hand gets the next number.
    fn number(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.mac.number(self.sequence);
    }
    /// A frame with room for the discipline's tail.
    fn frame(
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| {
            write(w)?;
            (0..D::TAIL_BYTES).try_for_each(|_| w.u8(0).map(|_| ()))
        })
    }

    /// The MAC is done with its frame: the packet in it, and how it left.
    pub(super) fn finish(&mut self, now: Instant, outcome: Outcome) -> Option<(Packet, Gone)> {
        if core::mem::replace(&mut self.in_hand, InHand::Nothing) != InHand::Packet {
            return None;
        }
        let packet = self.queue.pop()?;
        self.queue_changed(now);
        self.discipline.sent(packet.direction, outcome);
        let how = match outcome {
            Outcome::Acknowledged(_) | Outcome::Broadcast => Gone::Passed,
            Outcome::NoAck => Gone::Dropped(Drop::Retries),
            Outcome::ChannelBusy => Gone::Dropped(Drop::ChannelBusy),
        };
        Some((packet, how))
    }

    /// A good frame of a neighbour, received with `lqi`: the packet in it, if it is for this node and not
    /// a repetition.
    pub(super) fn heard<'a>(
        &mut self,
        now: Instant,
        end: Instant,
        mpdu: &'a [u8],
        lqi: u8,
    ) -> Option<(Data<'a>, Sighting)> {
        let (whole, bytes) = (mpdu, mpdu.len().checked_sub(D::TAIL_BYTES)?);
        let (mpdu, tail) = whole.split_at_checked(bytes)?;
        let frame = Repr::parse(mpdu).ok()?;
        let link = *frame.link();
        self.routes.up.heard(now, &link);
        let parent = self.routes.up.parent();
        let parent_is_sink = parent.is_some_and(|parent| self.routes.up.is_sink(parent));
        let hop = match &frame {
            Repr::Data(data) if link.to == Some(self.id) => Hop::Here(self.sighting(data)),
            Repr::Data(_) if link.to == parent && parent_is_sink => Hop::Sink,
            Repr::Data(_) | Repr::Beacon(_) | Repr::LqiBeacon(_) | Repr::Notice(_) => {
                Hop::Elsewhere
            }
        };
        let heard = Overheard {
            frame: &frame,
            by_parent: parent == Some(link.from),
            hop,
            tail,
            end,
        };
        let pause = self.discipline.heard(now, &heard);
        if let (Some(until), InHand::Packet) = (pause, self.in_hand) {
            self.mac.defer(until);
        }
        match (frame, hop) {
            (Repr::Data(data), Hop::Here(sighting)) => {
                let answer = self.discipline.answer();
                self.mac
                    .acknowledge(now, link.sequence, answer, whole.len());
                // Back from a circle, it says nothing about where its origin is.
                match (data.direction, sighting) {
                    (Direction::Up, Sighting::Round) => self.routes.up.went_round(),
                    (Direction::Up, _) => self.routes.learn(now, data.origin, link.from),
                    (Direction::Down { .. }, _) => {}
                }
                (sighting != Sighting::Again).then_some((data, sighting))
            }
            (Repr::Data(_) | Repr::Notice(_), _) => None,
            (Repr::Beacon(beacon), _) => {
                self.routes.up.beacon(now, &beacon);
                None
            }
            (Repr::LqiBeacon(beacon), _) => {
                self.routes.up.lqi_beacon(now, &beacon, lqi);
                None
            }
        }
    }

    fn sighting(&mut self, data: &Data<'_>) -> Sighting {
        match data.direction {
            // Its own comes back. Where no loop can be, it only was on its way while the tree changed.
            Direction::Up if data.origin == self.id && self.routes.up.may_loop() => Sighting::Round,
            _ => self.recent.sight(data.origin, data.number, data.hops),
        }
    }

    pub(super) fn sampled(&mut self, now: Instant, power: Dbm, activity: Activity) {
        let is_busy = activity != Activity::Idle || power.0 >= self.mac.carrier().0;
        let channel = match is_busy {
            true => ChannelState::Busy,
            false => ChannelState::Free,
        };
        self.discipline.sampled(now, channel);
    }
    pub(super) fn handle_timeout(&mut self, at: Instant) -> Option<Outcome> {
        let is_due = |timeout: Option<Instant>| timeout.is_some_and(|due| due <= at);
        if is_due(self.wake_at) {
            self.wake_at = None;
            self.set_power(at, Power::On);
            self.discipline.forget();
        }
        if self.is_on() && is_due(self.routes.up.poll_timeout()) {
            self.beacon = self.routes.up.build_beacon(at, 0);
        }
        if is_due(self.discipline.poll_timeout()) {
            self.discipline.handle_timeout(at);
        }
        let retries = self.mac.retries();
        let outcome = self.mac.handle_timeout(at);
        if self.mac.retries() > retries && self.routes.up.overhears() {
            // Neighbours estimate links by the gaps: every transmission counts (Fusion, section 2.3.2).
            self.number();
        }
        outcome
    }

    #[inline]
    pub(super) fn poll_radio(&mut self) -> Option<Request<'_>> {
        if let Some(power) = self.switch.take() {
            let op = match power {
                Power::On => radio::listen(self.channel),
                Power::Off => RadioOp::Sleep,
            };
            return Some(Request::new(LISTEN, op));
        }
        if let Some(hear) = self.hear.take() {
            return Some(Request::new(HEAR, RadioOp::Hear(hear)));
        }
        if self.discipline.poll_sample() {
            return Some(Request::new(SAMPLE, RadioOp::Sense));
        }
        self.mac.patch(STAMP_AT, self.discipline.stamp());
        if D::TAIL_BYTES > 0 {
            if let Some(tail) = self.mac.tail_mut(D::TAIL_BYTES) {
                self.discipline.write_tail(tail);
            }
        }
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
}
