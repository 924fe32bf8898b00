//! Fusion: a congestion-aware queue between application and MAC, over a collection tree.
//!
//! [`Node`] is the engine of a whole convergecast mote: [`Mac`] below, [`Router`] beside, the queue
//! with hop-by-hop flow control, delay and source rate limiting (thesis, chapter 4) in the middle,
//! the application on top. What is switched on is a [`Strategy`]. Time base: the node's clock.
//! Invariants: a packet that was made is delivered, dropped with a reason, or waits; the queue never
//! exceeds its limit; tokens never go below zero. Tests: `tests.rs`.

mod detector;
mod engine;
mod limiter;
mod queue;
mod recent;
mod source;
mod strategy;
#[cfg(test)]
mod tests;

pub use detector::{ChannelState, Detector};
pub use limiter::Limiter;
pub use queue::{Packet, Queue, MAX_QUEUE};
pub use source::{Application, Schedule};
pub use strategy::{Access, Detection, Feedback, Limit, RateLimit, Sampling, Strategy};

use crate::csma::{self, Mac, Outcome, Priority};
use crate::tree::{Role, Router, Routing};
use recent::{Recent, Sighting};
use source::Source;
use thalweg_engine::{Hear, OpId};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::addressed::{Congestion, Header};
use thalweg_wire::tree::{Data, Repr, DATA_HEADER_BYTES};
use thalweg_wire::FrameBuf;

/// The receiver's mode is asked for under this name.
const LISTEN: OpId = OpId(0x110);
/// Which frames are told of, under this one.
const HEAR: OpId = OpId(0x112);
/// Channel samples under this one.
const SAMPLE: OpId = OpId(0x111);
/// A packet that has crossed so many links goes round in circles.
const MAX_HOPS: u8 = 32;
/// Events that wait to be told; more never come of one call.
const MAX_EVENTS: usize = 16;

/// What a node is.
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
    /// Packets that its queue holds.
    pub queue: u8,
    /// Bytes of a data frame, without what hardware appends.
    pub frame_bytes: u8,
    /// Against congestion.
    pub strategy: Strategy,
    /// What its application does when it is not served.
    pub application: Application,
    /// Of backoffs and jitter.
    pub seed: u64,
}

/// Orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The radio is switched on, the first beacon planned.
    Start,
    /// The application makes readings.
    Offer(Schedule),
    /// The node fails: it neither hears nor sends any more.
    Stop,
    /// Routes stay as they are.
    Pin,
    /// From now on the radio sleeps between readings and is switched on so long before the next;
    /// what was known about congestion is forgotten then (section 5.3.6). For leaves.
    Doze {
        /// How long it listens before it sends.
        listen: Duration,
    },
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drop {
    /// The queue was full.
    Buffer,
    /// No transmission of it was acknowledged.
    Retries,
    /// The channel was busy for too long.
    ChannelBusy,
    /// It went round in circles.
    Hops,
}

/// What is told to the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A reading of so many packets was made, so many of which were skipped.
    Made {
        /// Packets.
        packets: u16,
        /// Of them, or of those before that still waited, not sent at all.
        skipped: u16,
    },
    /// The stack did not take so many packets, and the application gave them up.
    Skipped {
        /// Packets.
        packets: u16,
    },
    /// The stack took a packet of the application's.
    Taken {
        /// Its number.
        number: u16,
    },
    /// A packet came in from a neighbour, for the first time.
    Received {
        /// The neighbour.
        from: NodeId,
        /// The packet's origin.
        origin: NodeId,
        /// Its number there.
        number: u16,
        /// Links that it has crossed.
        hops: u8,
    },
    /// A packet was dropped here.
    Dropped {
        /// The packet's origin.
        origin: NodeId,
        /// Its number there.
        number: u16,
        /// Why.
        why: Drop,
    },
    /// The next hop acknowledged a packet, which is gone from here.
    Passed {
        /// The packet's origin.
        origin: NodeId,
        /// Its number there.
        number: u16,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InHand {
    Nothing,
    Packet,
    Beacon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    Off,
    On,
}

/// The engine.
#[derive(Debug)]
pub struct Node {
    config: Config,
    mac: Mac,
    router: Router,
    queue: Queue,
    detector: Detector,
    limiter: Limiter,
    source: Source,
    recent: Recent,
    /// What the MAC has.
    in_hand: InHand,
    sequence: u8,
    beacon: Option<FrameBuf>,
    power: Power,
    switch: Option<Power>,
    hear: Option<Hear>,
    doze: Option<Duration>,
    wake_at: Option<Instant>,
    parent_state: Congestion,
    /// Packets that a congested node may send although its parent is congested.
    allowance: u8,
    quiet_until: Instant,
    sample: bool,
    events: [Option<Event>; MAX_EVENTS],
    first_event: usize,
    event_count: usize,
}

impl Node {
    /// A node, switched off.
    pub fn new(config: Config) -> Self {
        Self {
            mac: Mac::new(config.mac, config.channel, config.seed),
            router: Router::new(
                config.id,
                config.role,
                config.routing,
                Instant::ZERO,
                config.seed,
            ),
            queue: Queue::new(config.queue),
            detector: Detector::new(config.strategy.detection),
            limiter: Limiter::new(config.strategy.rate_limit),
            source: Source::new(config.application),
            recent: Recent::new(),
            in_hand: InHand::Nothing,
            sequence: 0,
            beacon: None,
            power: Power::Off,
            switch: None,
            hear: None,
            doze: None,
            wake_at: None,
            parent_state: Congestion::Clear,
            allowance: 0,
            quiet_until: Instant::ZERO,
            sample: false,
            events: [None; MAX_EVENTS],
            first_event: 0,
            event_count: 0,
            config,
        }
    }

    /// Its part of the tree.
    pub const fn router(&self) -> &Router {
        &self.router
    }
    /// Its queue.
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }
    /// Its rate limiter.
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }
    /// Its medium access.
    pub const fn mac(&self) -> &Mac {
        &self.mac
    }
    /// Packets of its application that were made and not taken.
    pub const fn waiting(&self) -> u16 {
        self.source.waiting
    }
    /// Whether it is congested itself.
    pub fn congestion(&self) -> Congestion {
        self.detector.congestion(&self.queue)
    }

    fn tell(&mut self, event: Event) {
        let place = (self.first_event + self.event_count) % MAX_EVENTS;
        if self.event_count < MAX_EVENTS {
            if let Some(slot) = self.events.get_mut(place) {
                *slot = Some(event);
                self.event_count += 1;
            }
        }
    }

    /// Whether back-pressure stops this node's packets.
    fn is_blocked(&self) -> bool {
        self.config.strategy.has_flow_control()
            && self.parent_state == Congestion::Congested
            && self.allowance == 0
    }

    /// Takes packets of the application's, as long as there is room for them.
    fn admit(&mut self, now: Instant) {
        while self.source.waiting > 0 {
            let held = match self.source.application {
                Application::Insists => false,
                Application::Fills => self.queue.is_full() || !self.limiter.admits(now),
                Application::Skips | Application::Waits => {
                    self.source.outstanding || self.queue.is_full() || !self.limiter.admits(now)
                }
            };
            if held {
                if self.source.application == Application::Skips {
                    let skipped = core::mem::take(&mut self.source.waiting);
                    self.tell(Event::Skipped { packets: skipped });
                }
                return;
            }
            self.source.waiting -= 1;
            self.source.number = self.source.number.wrapping_add(1);
            let (origin, number) = (self.config.id, self.source.number);
            self.tell(Event::Taken { number });
            let room = usize::from(self.config.frame_bytes).saturating_sub(DATA_HEADER_BYTES);
            let payload = FrameBuf::build(|w| {
                for k in 0..room {
                    w.u8(number as u8 ^ k as u8)?;
                }
                Ok(())
            });
            let packet = Packet {
                origin,
                number,
                hops: 0,
                payload: payload.unwrap_or(FrameBuf::EMPTY),
            };
            if self.config.role == Role::Sink {
                continue;
            }
            if self.queue.push(packet) {
                self.source.outstanding = true;
                self.limiter.spend();
                self.detector.queue_changed(now, &self.queue);
            } else {
                let why = Drop::Buffer;
                self.tell(Event::Dropped {
                    origin,
                    number,
                    why,
                });
            }
        }
    }

    /// Gives the MAC something to do, or stops it.
    fn pump(&mut self, now: Instant) {
        if self.power == Power::Off {
            return;
        }
        self.admit(now);
        if self.config.strategy.access == Access::Prioritised {
            let priority = match self.congestion() {
                Congestion::Congested => Priority::High,
                Congestion::Clear => Priority::Normal,
            };
            self.mac.set_priority(priority);
        }
        match self.in_hand {
            InHand::Packet if self.is_blocked() => self.mac.hold(),
            InHand::Packet => self.mac.release(now),
            InHand::Beacon => {}
            InHand::Nothing => self.next_frame(now),
        }
    }

    fn next_frame(&mut self, now: Instant) {
        if let Some(beacon) = self.beacon.take() {
            self.in_hand = InHand::Beacon;
            self.mac.offer(now, &beacon, None);
            return;
        }
        if self.is_blocked() {
            return;
        }
        let (Some(parent), Some(packet)) = (self.router.parent(), self.queue.head()) else {
            return;
        };
        self.sequence = self.sequence.wrapping_add(1);
        let data = Data {
            link: Header {
                sequence: self.sequence,
                to: Some(parent),
                from: self.config.id,
            },
            congestion: Congestion::Clear,
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
        if now < self.quiet_until {
            self.mac.defer(self.quiet_until);
        }
    }

    fn finish(&mut self, now: Instant, outcome: Outcome) {
        let what = core::mem::replace(&mut self.in_hand, InHand::Nothing);
        if what == InHand::Packet {
            if self.parent_state == Congestion::Congested {
                self.allowance = self.allowance.saturating_sub(1);
            }
            if let Some(packet) = self.queue.pop() {
                let (origin, number) = (packet.origin, packet.number);
                self.tell(match outcome {
                    Outcome::Acknowledged(_) | Outcome::Broadcast => {
                        Event::Passed { origin, number }
                    }
                    Outcome::NoAck => Event::Dropped {
                        origin,
                        number,
                        why: Drop::Retries,
                    },
                    Outcome::ChannelBusy => Event::Dropped {
                        origin,
                        number,
                        why: Drop::ChannelBusy,
                    },
                });
                if origin == self.config.id {
                    self.source.outstanding = false;
                }
                self.detector.queue_changed(now, &self.queue);
            }
            if let Outcome::Acknowledged(state) = outcome {
                if self.config.strategy.feedback != Feedback::Overhearing {
                    self.parent_says(state);
                }
            }
        }
        self.fall_asleep(now);
    }

    fn parent_says(&mut self, state: Congestion) {
        let rises = state == Congestion::Congested && self.parent_state == Congestion::Clear;
        self.parent_state = state;
        if rises {
            // One more packet, so that its own children learn of it.
            self.allowance = u8::from(self.congestion() == Congestion::Congested);
        }
    }

    /// A good frame of a neighbour.
    fn heard(&mut self, now: Instant, end: Instant, mpdu: &[u8]) {
        let Ok(frame) = Repr::parse(mpdu) else { return };
        let (link, state) = match &frame {
            Repr::Data(data) => (data.link, data.congestion),
            Repr::Beacon(beacon) => (beacon.link, beacon.congestion),
        };
        self.router.heard(now, &link);
        let parent = self.router.parent();
        let by_parent = parent == Some(link.from);
        if by_parent && self.config.strategy.feedback != Feedback::Acknowledgements {
            self.parent_says(state);
        }
        match frame {
            Repr::Beacon(beacon) => self.router.beacon(now, &beacon),
            Repr::Data(data) if link.to == Some(self.config.id) => self.receive(now, &data),
            Repr::Data(data) => {
                let strategy = &self.config.strategy;
                if let (true, Some(delay)) = (by_parent, strategy.delay) {
                    self.quiet_until = end + delay;
                    if self.in_hand == InHand::Packet {
                        self.mac.defer(self.quiet_until);
                    }
                }
                // A sink forwards by wire what it receives: its children go by what it is sent.
                let to_sink = link.to == parent && parent.is_some_and(|p| self.router.is_sink(p));
                if by_parent || to_sink {
                    let (origin, number) = (data.origin, data.number);
                    self.limiter.heard(now, origin, number, self.config.id);
                }
            }
        }
    }

    /// A packet for this node.
    fn receive(&mut self, now: Instant, data: &Data<'_>) {
        let (origin, number) = (data.origin, data.number);
        let feedback = match self.config.strategy.feedback {
            Feedback::Overhearing => Congestion::Clear,
            Feedback::Acknowledgements | Feedback::Both => self.congestion(),
        };
        self.mac.acknowledge(data.link.sequence, feedback);
        let hops = data.hops.saturating_add(1);
        let sighting = self.recent.see(origin, number, hops);
        if sighting == Sighting::Again {
            return;
        }
        self.tell(Event::Received {
            from: data.link.from,
            origin,
            number,
            hops,
        });
        if self.config.role == Role::Sink {
            return;
        }
        let was_congested = self.congestion() == Congestion::Congested;
        let Ok(payload) = FrameBuf::from_slice(data.payload) else {
            return;
        };
        let packet = Packet {
            origin,
            number,
            hops,
            payload,
        };
        let why = if hops >= MAX_HOPS || sighting == Sighting::Round {
            Some(Drop::Hops)
        } else if self.queue.push(packet) {
            self.detector.queue_changed(now, &self.queue);
            None
        } else {
            Some(Drop::Buffer)
        };
        if let Some(why) = why {
            self.tell(Event::Dropped {
                origin,
                number,
                why,
            });
        }
        if was_congested && self.parent_state == Congestion::Congested {
            // This child has not heard of it.
            self.allowance = (self.allowance + 1).min(self.config.queue);
        }
    }

    /// A dozing leaf that has nothing to send sleeps until shortly before its next reading.
    fn fall_asleep(&mut self, now: Instant) {
        let (Some(listen), Some(next)) = (self.doze, self.source.poll_timeout()) else {
            return;
        };
        let wake = next.saturating_sub(listen);
        let idle = self.queue.is_empty() && self.mac.is_idle() && self.source.waiting == 0;
        if idle && self.power == Power::On && wake > now {
            self.turn(now, Power::Off);
            self.wake_at = Some(wake);
        }
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

    fn wake(&mut self, now: Instant) {
        self.wake_at = None;
        self.turn(now, Power::On);
        self.parent_state = Congestion::Clear;
        self.allowance = 0;
        self.quiet_until = Instant::ZERO;
    }
}
