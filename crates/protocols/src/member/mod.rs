//! A node that takes part in sessions of RCRT: a [`Mote`], and while a session lasts a tree's stack in its place.
//!
//! A muster of the base station begins a session ([`crate::mote::Mustered`]). Whatever rouses a network or floods it ends one: a
//! node that hears such a frame is a mote again, and sends it on. Time base: the node's clock. Invariants: one of both has
//! the radio; what the other left pending there is cancelled first; a node that hears nothing of its base station for
//! [`PATIENCE`] goes back. Not owned: the transport ([`crate::rcrt`]), what is above it ([`Seat`]). Tests:
//! `crates/simnet/tests/all/member.rs`.

mod given;
mod seat;

pub use seat::{Packets, Seat, FLOW};

use crate::csma;
use crate::floodnet;
use crate::line::station::{Event, NotBegun};
use crate::mote::{self, Mote, Mustered};
use crate::object::ObjectStore;
use crate::rcrt::Send;
use crate::seals::{Guard, Unsealed};
use crate::stack::{self, Node, Open, Queue};
use crate::tree::{Role, Routing};
use core::fmt;
use thalweg_engine::{
    Ability, BoardTiming, Engine, Hear, OpId, RadioEvent, RadioId, RadioOp, Request, Wants,
};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::muster::{Muster, MAX_SOURCES};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::rouse::Rouse;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::{flood, FrameBuf};

/// The name of the operations of this layer.
const OWN: OpId = OpId(3);

/// A node that heard nothing of its base station for so long is a mote again: it missed the end, or nobody ended it. Feedback
/// comes every few minutes at the lowest rates.
pub const PATIENCE: Duration = Duration::from_secs(3_600);

/// Medium access in a session.
pub const MAC: csma::Config = csma::Config::IEEE_802_15_4;
/// How trees are found: as in TinyOS 1.x, but with a beacon each four seconds, as a session begins without a tree.
pub const ROUTING: Routing = Routing::Lqi {
    interval: Duration::from_secs(4),
};
/// Packets that wait.
pub const QUEUE: Queue = Queue {
    packets: 10,
    own: 1,
};

/// The stack of a session: ways down to all sources.
type Tree<T> = Node<Open, T, MAX_SOURCES, 11>;

/// An order.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Command<const NODES: usize> {
    /// To the mote. It ends a session.
    Mote(mote::Command<NODES>),
    /// A session of these sources, each with the rate that it wants, as a muster has them. It ends another one.
    Session(FrameBuf),
    /// To a source of the session that runs; dropped where none does.
    Send(Send),
}

/// What a muster of this node's is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mustering {
    Nothing,
    Begin,
    End,
}

/// A session that is to begin.
#[derive(Debug, Clone, Copy)]
struct Next {
    by: NodeId,
    start: Instant,
    /// What this node wants, where it is a source.
    rate: Option<Rate>,
}

/// What the radio is to do before the mote has it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clearing {
    /// Drop what the stack left.
    Sleep,
    /// Report all frames again.
    Hear,
}

/// A session at this node.
#[derive(Debug)]
struct Running<T: stack::Upper<Event: fmt::Debug>> {
    tree: Tree<T>,
    station: NodeId,
    /// The last cause, and that by which something came from there.
    at: Instant,
    heard: Instant,
}

/// The node. `S` holds its objects, `T` is above the stack; `NEIGHBOURS` and `NODES` as of [`Mote`].
#[derive(Debug)]
pub struct Member<
    S: ObjectStore,
    T: Seat<S>,
    const NEIGHBOURS: usize,
    const NODES: usize,
    G: Guard = Unsealed,
> {
    mote: Mote<S, NEIGHBOURS, NODES, G>,
    channel: Channel,
    running: Option<Running<T>>,
    next: Option<Next>,
    mustering: Mustering,
    clearing: Option<Clearing>,
    /// To an order that begins a session. Events are long, and this is looked at in each drain.
    answer: Option<Result<(), NotBegun>>,
}

impl<S: ObjectStore, T: Seat<S>, const NEIGHBOURS: usize, const NODES: usize>
    Member<S, T, NEIGHBOURS, NODES>
{
    /// Node `id`, as [`Mote::new`]. Sessions are on the channel of floods.
    #[inline]
    pub fn new(id: NodeId, config: floodnet::Config, timing: BoardTiming, store: S) -> Self {
        Self::unguarded(id, config, timing, store)
    }
}

impl<S: ObjectStore, T: Seat<S>, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Member<S, T, NEIGHBOURS, NODES, G>
{
    /// The same, as [`Mote::unguarded`]. A node that gets seals takes part in no session.
    #[inline]
    pub fn unguarded(id: NodeId, config: floodnet::Config, timing: BoardTiming, store: S) -> Self
    where
        G: Default,
    {
        Self {
            mote: Mote::unguarded(id, config, timing, store),
            channel: config.glossy.channel,
            running: None,
            next: None,
            mustering: Mustering::Nothing,
            clearing: None,
            answer: None,
        }
    }
    /// Whether a session runs here, or is about to.
    pub const fn has_session(&self) -> bool {
        self.running.is_some() || matches!(self.mustering, Mustering::Begin)
    }

    fn order(&mut self, now: Instant, command: mote::Command<NODES>) {
        let had_session = self.has_session();
        self.leave(now);
        // What ends a session gives way to what comes next.
        if self.mustering != Mustering::Nothing {
            self.mote.handle_command(now, mote::Command::Stop);
            self.mustering = Mustering::Nothing;
        }
        let is_stop = matches!(command, mote::Command::Stop);
        self.mote.handle_command(now, command);
        if is_stop && had_session {
            self.mustering = Mustering::End;
            self.mote.muster(now, FrameBuf::EMPTY);
        }
    }
    fn begin(&mut self, now: Instant, sources: FrameBuf) {
        self.leave(now);
        self.mote.handle_command(now, mote::Command::Stop);
        let refused = match self.mote.guard().sealing() {
            // Musters have no seal, so no node would come.
            Sealing::Sealed => Some(NotBegun::NotCarried),
            Sealing::Open if sources.is_empty() => Some(NotBegun::TooMany),
            Sealing::Open if sources.len() > 4 * MAX_SOURCES => Some(NotBegun::TooMany),
            Sealing::Open => None,
        };
        if let Some(why) = refused {
            self.answer = Some(Err(why));
            return;
        }
        self.mustering = Mustering::Begin;
        self.mote.muster(now, sources);
    }

    /// Takes what the mote was called to, or has called others to.
    fn attend(&mut self) {
        let Some(Mustered { by, start }) = self.mote.take_mustered() else {
            return;
        };
        let id = self.mote.id();
        let sources = self.mote.mustered_sources();
        let (rate, is_one) = (Muster::rate_of(sources, id), !sources.is_empty());
        if by == id {
            self.mustering = Mustering::Nothing;
        }
        self.next = is_one.then_some(Next { by, start, rate });
    }
    /// Takes the radio for the session that begins now. A tree is larger than a mote's stack should be, and on it while it is
    /// made: not inlined, so that no other call pays for it.
    #[inline(never)]
    fn enter(&mut self, now: Instant, next: Next) {
        self.mote.pause(now);
        let config = stack::Config {
            id: self.mote.id(),
            channel: self.channel,
            mac: MAC,
            role: T::ROLE,
            routing: ROUTING,
            queue: QUEUE,
            seed: u64::from(self.mote.id().get()) << 32 ^ now.as_nanos(),
        };
        let seat = T::take(self.mote.store_mut());
        let Running { tree, .. } = self.running.insert(Running {
            tree: Tree::new_at(now, config, Open, seat),
            station: next.by,
            at: now,
            heard: now,
        });
        tree.handle_command(now, stack::Command::Start);
        if let Some(order) = next.rate.and_then(T::begin) {
            tree.handle_command(now, stack::Command::Upper(order));
        }
        if T::ROLE == Role::Sink {
            self.answer = Some(Ok(()));
        }
    }
    /// Whether it is a mote and nothing else, as it mostly is.
    const fn is_mote(&self) -> bool {
        self.running.is_none() && self.next.is_none() && self.clearing.is_none()
    }
    /// Gives the radio back to the mote.
    fn leave(&mut self, now: Instant) {
        self.next = None;
        if self.running.take().is_some() {
            self.clearing = Some(Clearing::Sleep);
            self.mote.resume(now);
        }
    }
    /// Does what is due.
    fn run(&mut self, now: Instant) {
        self.attend();
        if let Some(next) = self.next.take_if(|next| next.start <= now) {
            self.enter(now, next);
        }
        if self.given_up().is_some_and(|at| at <= now) {
            self.leave(now);
        }
    }
    /// When a session of which nothing is heard is over here. At the base station the host ends it.
    fn given_up(&self) -> Option<Instant> {
        let running = self.running.as_ref().filter(|_| T::ROLE != Role::Sink);
        running.map(|running| running.heard + PATIENCE)
    }
    /// An event of the mote's; a muster that is refused is none.
    fn told(&mut self, event: mote::Event) -> Event {
        let is_refusal = matches!(
            event,
            mote::Event::Refused(_) | mote::Event::Floods(floodnet::Event::Refused(_))
        );
        match (is_refusal, self.mustering) {
            (true, Mustering::Begin) => {
                self.mustering = Mustering::Nothing;
                Event::NotBegun(NotBegun::NotCalled)
            }
            _ => Event::Mote(event),
        }
    }
}

/// Whether a frame is for motes: of a flood, or of a train that rouses them.
fn is_motes(mpdu: &[u8]) -> bool {
    Rouse::parse(mpdu).is_ok() || flood::Repr::parse(mpdu).is_ok()
}

impl<S: ObjectStore, T: Seat<S>, const NEIGHBOURS: usize, const NODES: usize, G: Guard> Engine
    for Member<S, T, NEIGHBOURS, NODES, G>
{
    type Command = Command<NODES>;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        let tree = Wants {
            address: Some(self.mote.id()),
            ..Wants::of(&[Ability::Hear])
        };
        let mote = self.mote.wants(radio)?;
        Some(mote.and(tree).and(MAC.wants()))
    }

    fn handle_command(&mut self, now: Instant, command: Command<NODES>) {
        match command {
            Command::Mote(command) => self.order(now, command),
            Command::Session(sources) => self.begin(now, sources),
            Command::Send(send) => {
                if let (Some(running), Some(order)) = (&mut self.running, T::send(send)) {
                    let tree = &mut running.tree;
                    tree.handle_command(now, stack::Command::Upper(order));
                }
            }
        }
        self.run(now);
    }

    #[inline]
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        if self.is_mote() {
            self.mote.handle_radio(at, radio, event);
            // A relay's answer waits for nothing else.
            if self.mote.is_mustered() {
                self.run(at);
            }
            return;
        }
        if self.running.is_some() && T::ROLE != Role::Sink {
            if let RadioEvent::Frame { mpdu, .. } = event {
                if is_motes(mpdu) {
                    self.leave(at);
                }
            }
        }
        match &mut self.running {
            Some(running) => {
                running.at = at;
                running.tree.handle_radio(at, radio, event);
            }
            None => self.mote.handle_radio(at, radio, event),
        }
        self.run(at);
    }

    fn handle_timeout(&mut self, at: Instant) {
        match &mut self.running {
            Some(running) => running.tree.handle_timeout(at),
            None => self.mote.handle_timeout(at),
        }
        self.run(at);
    }

    #[inline]
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        if self.is_mote() {
            return self.mote.poll_radio();
        }
        let (clearing, op) = match self.clearing {
            Some(Clearing::Sleep) => (Some(Clearing::Hear), RadioOp::Sleep),
            Some(Clearing::Hear) => (None, RadioOp::Hear(Hear::Everything)),
            None => {
                // The one that has paused is done after what it takes back.
                let own = self.mote.poll_radio();
                let running = self.running.as_mut();
                return own.or_else(|| running?.tree.poll_radio());
            }
        };
        self.clearing = clearing;
        Some(Request::new(OWN, op))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let below = match &self.running {
            Some(running) => running.tree.poll_timeout(),
            None => self.mote.poll_timeout(),
        };
        let next = self.next.as_ref().map(|next| next.start);
        [below, next, self.given_up()].into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.mote.poll_event() {
            return Some(self.told(event));
        }
        if let Some(answer) = self.answer.take() {
            return Some(answer.map_or_else(Event::NotBegun, |()| Event::Begun));
        }
        let running = self.running.as_mut()?;
        while let Some(event) = running.tree.poll_event() {
            match event {
                stack::Event::Received { origin, .. } if origin == running.station => {
                    running.heard = running.at;
                }
                stack::Event::Upper(event) => {
                    if let Some(handed) = T::told(event) {
                        return Some(Event::Handed(handed));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
