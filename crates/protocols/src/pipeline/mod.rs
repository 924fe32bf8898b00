//! The packet pipeline that P3 and PIP share: one object from a source, stage 0, over relays at
//! stages 1 to H-1 to a destination, stage H (P3, section IV; what is specific to either is in
//! [`crate::p3`] and [`crate::pip`]).
//!
//! Time base: the node's clock; stages follow one another by what they receive, so clocks need
//! no agreement beyond when to begin listening. Invariants: every wait ends by itself; a node
//! that is not in a transfer asks nothing of its radio. Not modelled: flash times (P3, IV-G).
//! Tests: `tests/` beside this file.

mod air;
mod cadence;
mod context;
mod destination;
mod events;
mod packets;
mod relay;
mod session;
mod source;
#[cfg(test)]
mod tests;

pub use air::OPS;
pub use cadence::{Cadence, NackShape};
pub use events::{Complete, End, Event, Stats};
pub use session::{GiveUp, Policy, Session, SetupError};

use crate::object::ObjectStore;
use crate::p3::Tuner;
use crate::pip::Hopper;
use air::{Air, TxAnswer};
use context::{Context, Flow};
use core::ops::ControlFlow::{Break, Continue};
use destination::Destination;
use events::Events;
use packets::PacketSet;
use relay::Relay;
use source::Source;
use thalweg_engine::{BoardTiming, Engine, RadioEvent, RadioId, Request};
use thalweg_units::Instant;
use thalweg_wire::phy::SFD_OFFSET;
use thalweg_wire::pipeline::Tag;
use thalweg_wire::route::{Hopping, Place};

/// Orders to a pipeline.
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Take part in a transfer. Refused while another one is under way.
    Start(Session),
    /// Leave the transfer under way at once, without telling anyone.
    Stop,
}

// There is no heap to put it on, and a mote needs room for the largest anyway.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Role {
    Source(Source),
    Relay(Relay),
    Destination(Destination),
}

/// A transfer under way.
#[derive(Debug)]
struct Active {
    session: Session,
    cadence: Cadence,
    tag: Tag,
    /// Relays and the destination leave then in any case; the source has its own.
    deadline: Instant,
    hopper: Option<Hopper>,
    tuner: Option<Tuner>,
    role: Role,
}

/// One node's part in packet pipelines, one transfer after the other.
#[derive(Debug)]
pub struct Pipeline<S: ObjectStore> {
    timing: BoardTiming,
    store: S,
    active: Option<Active>,
    air: Air,
    packets: PacketSet,
    events: Events,
    stats: Stats,
}

impl<S: ObjectStore> Pipeline<S> {
    /// A pipeline on a board of `timing`, the same on all boards of a transfer, whose objects
    /// are in `store`.
    pub fn new(timing: BoardTiming, store: S) -> Self {
        Self {
            timing,
            store,
            active: None,
            air: Air::IDLE,
            packets: PacketSet::EMPTY,
            events: Events::EMPTY,
            stats: Stats::default(),
        }
    }

    /// Where the objects are.
    pub fn store(&self) -> &S {
        &self.store
    }
    /// Where the objects are.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
    /// Whether [`Engine::poll_radio`] has an operation.
    pub fn wants_radio(&self) -> bool {
        self.air.wants_radio()
    }
    /// What was counted in the transfer under way, or in the last one.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// The transfer under way.
    pub fn session(&self) -> Option<&Session> {
        self.active.as_ref().map(|active| &active.session)
    }
    /// The slots of the transfer under way.
    pub fn cadence(&self) -> Option<&Cadence> {
        self.active.as_ref().map(|active| &active.cadence)
    }

    fn start(&mut self, now: Instant, session: Session) -> Result<(), SetupError> {
        if self.active.is_some() {
            return Err(SetupError::Busy);
        }
        session.check()?;
        self.stats = Stats::default();
        let cadence = Cadence::new(&session, &self.timing);
        // Half way between the last byte before and the latest moment to retune.
        let ahead = SFD_OFFSET + self.timing.turnaround + self.timing.forward_software / 2;
        let (channels, stage) = (session.channels, session.stage());
        let (start, cycle) = (session.start, cadence.cycle());
        let mut hopper = match session.policy.hopping {
            Hopping::Fixed => None,
            Hopping::EveryCyclePair => {
                let mut hopper = Hopper::new(channels, cycle, start, stage, ahead);
                hopper.advance(now);
                Some(hopper)
            }
        };
        let mut tuner = session.tuning.map(|run| {
            let silence = cadence.silence();
            Tuner::new(channels, stage, (start, cycle), run, ahead, silence)
        });
        let tag = Tag::of(session.transfer);
        let mut cx = Context {
            session: &session,
            cadence: &cadence,
            tag,
            hopper: &mut hopper,
            tuner: &mut tuner,
            store: &mut self.store,
            air: &mut self.air,
            packets: &mut self.packets,
            events: &mut self.events,
            stats: &mut self.stats,
        };
        let role = match session.place {
            Place::Source => Role::Source(Source::start(&mut cx, now)?),
            Place::Relay { stage, group } => Role::Relay(Relay::new(stage, group, &cx, now)),
            Place::Destination => {
                cx.store.begin();
                Role::Destination(Destination::new(&mut cx, now))
            }
        };
        cx.listen();
        let deadline = session.start + session.policy.deadline + session.policy.inactivity;
        self.active = Some(Active {
            session,
            cadence,
            tag,
            deadline,
            hopper,
            tuner,
            role,
        });
        Ok(())
    }

    /// Calls `f` on the role of the transfer under way, and ends it where `f` says so.
    fn act(&mut self, f: impl FnOnce(&mut Role, &mut Context<'_, S>) -> Flow) {
        let Some(active) = &mut self.active else {
            return;
        };
        let mut cx = Context {
            session: &active.session,
            cadence: &active.cadence,
            tag: active.tag,
            hopper: &mut active.hopper,
            tuner: &mut active.tuner,
            store: &mut self.store,
            air: &mut self.air,
            packets: &mut self.packets,
            events: &mut self.events,
            stats: &mut self.stats,
        };
        if let Break(end) = f(&mut active.role, &mut cx) {
            self.finish(end);
        }
    }

    fn finish(&mut self, end: End) {
        self.active = None;
        self.air.sleep();
        self.events.push(Event::Finished(end));
    }
}

impl<S: ObjectStore> Engine for Pipeline<S> {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Start(session) => {
                if let Err(why) = self.start(now, session) {
                    self.events.push(Event::Refused(why));
                }
            }
            Command::Stop => {
                if self.active.is_some() {
                    self.finish(End::Stopped);
                }
            }
        }
    }

    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let answer = self.air.answer(&event);
        let held = self.air.held_answer(&event);
        self.act(|role, cx| {
            if let Some(answer) = held {
                if let Role::Relay(relay) = role {
                    relay.let_go(cx, answer);
                }
                return Continue(());
            }
            if let Some(answer) = answer {
                cx.stats.refused += u32::from(matches!(answer, TxAnswer::Refused(_)));
                return match (role, answer) {
                    (Role::Source(source), answer) => source.answered(cx, answer),
                    (Role::Relay(relay), TxAnswer::Sent(_)) => relay.sent(cx),
                    (Role::Relay(relay), TxAnswer::Refused(_)) => relay.refused(),
                    (Role::Destination(destination), _) => {
                        destination.answered(cx);
                        Continue(())
                    }
                };
            }
            match (role, event) {
                (Role::Relay(relay), RadioEvent::Head { bytes, sfd }) => relay.head(cx, bytes, sfd),
                (Role::Relay(relay), RadioEvent::Frame { mpdu, sfd, .. }) => {
                    relay.frame(cx, mpdu, sfd);
                }
                (Role::Relay(relay), RadioEvent::Corrupt { .. }) => relay.corrupt(),
                (Role::Source(source), RadioEvent::Frame { mpdu, sfd, .. }) => {
                    source.frame(cx, mpdu, sfd);
                }
                (Role::Destination(destination), RadioEvent::Frame { mpdu, sfd, end, .. }) => {
                    return destination.frame(cx, mpdu, (sfd, end))
                }
                _ => {}
            }
            Continue(())
        });
    }

    fn handle_timeout(&mut self, at: Instant) {
        let deadline = self.active.as_ref().map(|active| active.deadline);
        self.act(|role, cx| {
            if cx
                .hopper
                .as_ref()
                .is_some_and(|hopper| hopper.next_window() <= at)
            {
                if let Some(hopper) = cx.hopper {
                    hopper.advance(at);
                }
                cx.listen();
            }
            let due = |tuner: &&mut Tuner| tuner.next().is_some_and(|next| next <= at);
            if cx
                .tuner
                .as_mut()
                .filter(due)
                .is_some_and(|tuner| tuner.advance(at))
            {
                cx.listen();
            }
            let late = deadline.is_some_and(|deadline| at >= deadline);
            match role {
                Role::Source(source) => source.timeout(cx, at),
                Role::Relay(relay) if late || at >= relay.deadline() => {
                    return Break(relay.silence());
                }
                Role::Destination(destination)
                    if late || at >= destination.deadline(&cx.session.policy) =>
                {
                    return Break(destination.silence());
                }
                Role::Relay(_) | Role::Destination(_) => {}
            }
            Continue(())
        });
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.air.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        let policy = &active.session.policy;
        let role = match &active.role {
            Role::Source(source) => source.deadline(),
            Role::Relay(relay) => Some(relay.deadline().min(active.deadline)),
            Role::Destination(d) => Some(d.deadline(policy).min(active.deadline)),
        };
        let window = active.hopper.as_ref().map(Hopper::next_window);
        let change = active.tuner.as_ref().and_then(Tuner::next);
        role.into_iter().chain(window).chain(change).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
