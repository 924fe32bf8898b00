//! The engine: a [`Stack`] and the layer on top of it, and what passes between them. Tests: `tests.rs`.

use super::lower::{Stack, SAMPLE};
use super::recent::Sighting;
use super::{Config, Discipline, Drop, Gone, Packet, Upper, MAX_QUEUE};
use crate::csma::Outcome;
use crate::ring::Fifo;
use crate::timer::sooner;
use thalweg_engine::{Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::tree::Data;
use thalweg_wire::FrameBuf;

/// A packet that has crossed so many links goes round in circles.
const MAX_HOPS: u8 = 32;
/// Events that wait; the node's own packets are taken while there is room for theirs.
const MAX_EVENTS: usize = 16;

/// Orders. `C` is what the layer above the stack is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<C> {
    /// The radio is switched on, the first beacon planned.
    Start,
    /// The node fails: it neither hears nor sends any more.
    Stop,
    /// The tree stays as it is.
    Pin,
    /// From now on the radio sleeps between packets of its own and is switched on so long before the
    /// next; what was known about congestion is forgotten then (Fusion, section 5.3.6). For leaves.
    Doze {
        /// How long it listens before it sends.
        listen: Duration,
    },
    /// For the layer above the stack.
    Upper(C),
}

/// Events of a node. `V` are those of the layer above its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<V> {
    /// The stack took a packet of the node's own.
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
    /// A packet is gone from here.
    Gone {
        /// The packet's origin.
        origin: NodeId,
        /// Its number there.
        number: u16,
        /// Passed on, or why not.
        how: Gone,
    },
    /// The node follows another parent from now on, its first one included.
    Parent {
        /// Who; none where it has lost the one that it had.
        parent: Option<NodeId>,
    },
    /// Of the layer above the stack.
    Upper(V),
}

/// A mote with the discipline `D` and `T` on top; `DOWN` and `QUEUE` as in [`Stack`].
#[derive(Debug)]
pub struct Node<D, T: Upper, const DOWN: usize = 0, const QUEUE: usize = MAX_QUEUE> {
    stack: Stack<D, DOWN, QUEUE>,
    above: T,
    /// Of the last packet of its own.
    number: u16,
    events: Fifo<Event<T::Event>, MAX_EVENTS>,
}

impl<D: Discipline, T: Upper, const DOWN: usize, const QUEUE: usize> Node<D, T, DOWN, QUEUE> {
    /// A node, switched off, whose clock has just begun.
    pub fn new(config: Config, discipline: D, above: T) -> Self {
        Self::new_at(Instant::ZERO, config, discipline, above)
    }
    /// The same at a later time.
    pub fn new_at(now: Instant, config: Config, discipline: D, above: T) -> Self {
        Self {
            stack: Stack::new(now, config, discipline),
            above,
            number: 0,
            events: Fifo::EMPTY,
        }
    }
    /// What it stands on.
    pub const fn stack(&self) -> &Stack<D, DOWN, QUEUE> {
        &self.stack
    }
    /// What stands on that.
    pub const fn above(&self) -> &T {
        &self.above
    }

    fn tell(&mut self, event: Event<T::Event>) {
        // There is room: a call causes two events from below, and `admit` looks for it.
        self.events.tell(event);
    }
    /// Takes the node's own packets and goes on with the frame in hand.
    fn pump(&mut self, now: Instant) {
        if self.stack.is_on() {
            self.admit(now);
            self.stack.pump(now);
        }
    }
    /// Takes packets of the layer above, as long as it has any. Each may cause two events.
    fn admit(&mut self, now: Instant) {
        while self.events.len() + 2 <= MAX_EVENTS {
            let stack = &mut self.stack;
            let Some((direction, payload)) =
                self.above.next(now, |direction| stack.room(now, direction))
            else {
                return;
            };
            self.number = self.number.wrapping_add(1);
            let packet = Packet {
                direction,
                origin: self.stack.id,
                number: self.number,
                hops: 0,
                payload,
            };
            self.tell(Event::Taken {
                number: self.number,
            });
            if self.stack.ends_here(direction) {
                self.above.arrived(now, &packet);
            } else if let Err(why) = self.stack.enqueue(now, packet) {
                self.gone(now, &packet, Gone::Dropped(why));
            } else {
                self.stack.discipline.admitted(direction);
            }
        }
    }
    /// A packet for this node, which came in for the first time or round a circle.
    fn receive(&mut self, now: Instant, data: &Data<'_>, sighting: Sighting) {
        let Ok(payload) = FrameBuf::from_slice(data.payload) else {
            return;
        };
        let packet = Packet {
            direction: data.direction,
            origin: data.origin,
            number: data.number,
            hops: data.hops.saturating_add(1),
            payload,
        };
        self.tell(Event::Received {
            from: data.link.from,
            origin: packet.origin,
            number: packet.number,
            hops: packet.hops,
        });
        let is_round = sighting == Sighting::Round;
        if self.stack.ends_here(packet.direction) {
            if !is_round {
                self.above.arrived(now, &packet);
            }
        } else if is_round || packet.hops >= MAX_HOPS {
            self.gone(now, &packet, Gone::Dropped(Drop::Hops));
        } else if let Err(why) = self.stack.enqueue(now, packet) {
            self.gone(now, &packet, Gone::Dropped(why));
        }
    }
    /// The MAC is done with its frame.
    fn finish(&mut self, now: Instant, outcome: Outcome) {
        if let Some((packet, how)) = self.stack.finish(now, outcome) {
            self.gone(now, &packet, how);
        }
        self.stack.rest(now, self.above.idle_until());
    }
    fn gone(&mut self, now: Instant, packet: &Packet, how: Gone) {
        let (origin, number) = (packet.origin, packet.number);
        self.tell(Event::Gone {
            origin,
            number,
            how,
        });
        if origin == self.stack.id {
            self.above.gone(now, packet, how);
        }
    }
}

impl<D: Discipline, T: Upper, const DOWN: usize, const QUEUE: usize> Engine
    for Node<D, T, DOWN, QUEUE>
{
    type Command = Command<T::Command>;
    type Event = Event<T::Event>;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| self.stack.wants())
    }

    fn handle_command(&mut self, now: Instant, command: Self::Command) {
        match command {
            Command::Start => self.stack.start(now),
            Command::Stop => {
                self.stack.stop(now);
                self.above.stop();
            }
            Command::Pin => self.stack.routes.up.pin(),
            Command::Doze { listen } => {
                self.stack.doze = Some(listen);
                self.stack.rest(now, self.above.idle_until());
            }
            Command::Upper(order) => self.above.handle_command(now, order),
        }
        self.pump(now);
    }

    fn handle_radio(&mut self, now: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        if let RadioEvent::Sensed {
            op: SAMPLE,
            power,
            activity,
        } = event
        {
            // What waits goes by it from the next event on.
            return self.stack.sampled(now, power, activity);
        }
        if let Some(outcome) = self.stack.mac.handle_radio(now, &event) {
            self.finish(now, outcome);
        } else if let RadioEvent::Frame { mpdu, end, lqi, .. } = event {
            if let Some((data, sighting)) = self.stack.heard(now, end, mpdu, lqi) {
                self.receive(now, &data, sighting);
            }
        }
        self.pump(now);
    }

    fn handle_timeout(&mut self, at: Instant) {
        self.above.handle_timeout(at);
        if let Some(outcome) = self.stack.handle_timeout(at) {
            self.finish(at, outcome);
        }
        self.pump(at);
    }

    #[inline]
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.stack.poll_radio()
    }
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        sooner(self.stack.poll_timeout(), self.above.poll_timeout())
    }
    #[inline]
    fn poll_event(&mut self) -> Option<Self::Event> {
        let router = &mut self.stack.routes.up;
        let own = self.events.pop();
        own.or_else(|| router.poll_change().map(|parent| Event::Parent { parent }))
            .or_else(|| self.above.poll_event().map(Event::Upper))
    }
}
