//! Who stands in a scenario's network: a node, some of whose frames go wrong, or an outsider.
//!
//! Where sessions are asked for, nodes are those that take part in them: the base station one kind, all others another.
//! Invariant: a node's engine is called as by any driver: one cause at a time, instants that never go back, drained in
//! between. Time base: the node's clock.

use crate::outsider::Outsider;
use crate::script::FrameFault;
use crate::shelf::{Node, Sensor, Shelf, Station};
use thalweg_engine::{Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_host::transfer::pipeline::MAX_NODES;
use thalweg_protocols::line::station::Event;
use thalweg_protocols::member::Command;
use thalweg_units::{Dbm, Duration, Instant};
use thalweg_wire::FrameBuf;

/// Whoever has a radio.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Party {
    /// A node of a network without sessions.
    Mote(Box<Victim<Node>>),
    /// The base station of one with sessions.
    Station(Box<Victim<Station>>),
    /// Another node of such a network.
    Sensor(Box<Victim<Sensor>>),
    /// Somebody else.
    Outsider(Outsider),
}

/// Orders to a node of the network or to an outsider.
pub(crate) type Order = Command<MAX_NODES>;

/// What is the same for all nodes, and what an outsider does instead.
macro_rules! each {
    ($party:expr, $victim:ident => $what:expr, $outsider:ident => $other:expr) => {
        match $party {
            Party::Mote($victim) => $what,
            Party::Station($victim) => $what,
            Party::Sensor($victim) => $what,
            Party::Outsider($outsider) => $other,
        }
    };
}

impl Party {
    /// From now on, `each` happens to the next `count` frames of a node.
    pub(crate) fn strike(&mut self, each: FrameFault, count: u8) {
        each!(self, victim => victim.strike(each, count), _outsider => ());
    }
    /// A node's objects.
    pub(crate) fn shelf(&mut self) -> Option<&mut Shelf> {
        each!(self, victim => Some(victim.node.store_mut()), _outsider => None)
    }
}

/// A node, and what is to happen to its frames.
pub(crate) struct Victim<N> {
    pub(crate) node: N,
    /// What happens to the next frames, and to how many.
    next: Option<(FrameFault, u8)>,
    held: Option<Held>,
    /// No time-out is due before: a frame that comes by a time-out leaves the node work for the same instant, which a driver
    /// takes for an engine that never ends.
    not_before: Instant,
}

/// A frame that is handed over later.
struct Held {
    due: Instant,
    mpdu: FrameBuf,
    sfd: Instant,
    end: Instant,
    rssi: Dbm,
    lqi: u8,
}

/// How much later a frame comes that was to come when something else did.
const NEXT: Duration = Duration::from_micros(1);
/// How much later the node goes on after such a frame.
const AFTER: Duration = Duration::from_nanos(1);

impl<N: Engine> Victim<N> {
    pub(crate) const fn new(node: N) -> Self {
        Self {
            node,
            next: None,
            held: None,
            not_before: Instant::ZERO,
        }
    }
    /// From now on, `each` happens to the next `count` frames.
    const fn strike(&mut self, each: FrameFault, count: u8) {
        self.next = Some((each, count));
    }
    fn fault(&mut self) -> Option<FrameFault> {
        let (each, count) = self.next.take()?;
        self.next = count.checked_sub(2).map(|_| (each, count - 1));
        (count > 0).then_some(each)
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let RadioEvent::Frame {
            mpdu,
            sfd,
            end,
            rssi,
            lqi,
        } = event
        else {
            return self.node.handle_radio(at, radio, event);
        };
        let later = |due: Instant| {
            let mpdu = FrameBuf::from_slice(mpdu);
            mpdu.ok().map(|mpdu| Held {
                due,
                mpdu,
                sfd,
                end,
                rssi,
                lqi,
            })
        };
        match self.fault() {
            None => self.node.handle_radio(at, radio, event),
            Some(FrameFault::Lose {}) => {
                (self.node).handle_radio(at, radio, RadioEvent::Corrupt { sfd });
            }
            Some(FrameFault::Delay { us }) => {
                self.held = later(at + Duration::from_micros(u64::from(us)));
            }
            Some(FrameFault::Double {}) => {
                self.held = later(at);
                self.node.handle_radio(at, radio, event);
            }
            Some(FrameFault::Flip { bit }) => {
                let Ok(mut mpdu) = FrameBuf::from_slice(mpdu) else {
                    return;
                };
                flip(&mut mpdu, bit);
                let event = RadioEvent::Frame {
                    mpdu: &mpdu,
                    sfd,
                    end,
                    rssi,
                    lqi,
                };
                self.node.handle_radio(at, radio, event);
            }
        }
    }
    fn handle_timeout(&mut self, at: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= at);
        if is_due(self.node.poll_timeout()) {
            if let Some(held) = self.held.as_mut().filter(|held| held.due <= at) {
                held.due = at + NEXT;
            }
            return self.node.handle_timeout(at);
        }
        if let Some(held) = self.held.take_if(|held| held.due <= at) {
            let event = RadioEvent::Frame {
                mpdu: &held.mpdu,
                sfd: held.sfd,
                end: held.end,
                rssi: held.rssi,
                lqi: held.lqi,
            };
            self.node.handle_radio(at, RadioId(0), event);
            self.not_before = at + AFTER;
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let held = self.held.as_ref().map(|held| held.due);
        let due = [self.node.poll_timeout(), held].into_iter().flatten().min();
        due.map(|due| due.max(self.not_before))
    }
}

/// Flips bit `bit` of `mpdu`, modulo its length.
pub(crate) fn flip(mpdu: &mut [u8], bit: u16) {
    let bits = (mpdu.len() * 8).max(1);
    let bit = usize::from(bit) % bits;
    if let Some(byte) = mpdu.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}

impl Engine for Party {
    type Command = Order;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        each!(self, victim => victim.node.wants(radio),
            _outsider => (radio == RadioId(0)).then(Outsider::wants))
    }
    fn handle_command(&mut self, now: Instant, order: Order) {
        match (self, order) {
            (Self::Mote(victim), Command::Mote(order)) => victim.node.handle_command(now, order),
            (Self::Station(victim), order) => victim.node.handle_command(now, order),
            (Self::Sensor(victim), order) => victim.node.handle_command(now, order),
            // It carries no sessions.
            (Self::Mote(_), Command::Session(_) | Command::Send(_)) | (Self::Outsider(_), _) => {}
        }
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        each!(self, victim => victim.handle_radio(at, radio, event),
            outsider => outsider.handle_radio(event));
    }
    fn handle_timeout(&mut self, at: Instant) {
        each!(self, victim => victim.handle_timeout(at), _outsider => ());
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        each!(self, victim => victim.node.poll_radio(), outsider => outsider.poll_radio())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, victim => victim.poll_timeout(), _outsider => None)
    }
    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Mote(victim) => victim.node.poll_event().map(Event::Mote),
            Self::Station(victim) => victim.node.poll_event(),
            Self::Sensor(victim) => victim.node.poll_event(),
            Self::Outsider(_) => None,
        }
    }
}
