//! The packet pipeline that P3 and PIP share: one object from a source, stage 0, over relays at
//! stages 1 to H-1 to a destination, stage H (P3, section IV). What differs between protocols, and
//! while a transfer runs, is an [`Adaptation`].
//!
//! Time base: the node's clock; stages follow one another by what they receive, so clocks need
//! no agreement beyond when to begin listening. Invariants: every wait ends by itself; a node
//! that is not in a transfer asks nothing of its radio. Not modelled: flash times (P3, IV-G).
//! Tests: `tests/` beside this file.

mod adaptation;
mod air;
mod cadence;
mod context;
mod destination;
mod end;
mod events;
mod hop;
mod missing;
mod pauses;
mod relay;
mod session;
mod source;
#[cfg(test)]
mod tests;

pub use adaptation::{Adaptation, Beat, Chain, Fixed, Reception, Retune, Tally};
pub use air::OPS;
pub use cadence::{Cadence, NackShape};
pub use context::Setup;
pub use events::{Complete, End, Event, Stats};
pub use hop::HopSetup;
pub use session::{GiveUp, Lengths, Policy, Retry, Session, SetupError};

use crate::object::ObjectStore;
use crate::ring::Fifo;
use crate::seals::{Guard, Unsealed};
use crate::timer::sooner;
use air::{Air, TxAnswer};
use context::{Context, Flow, Held, Packets, Resources};
use core::ops::ControlFlow::{Break, Continue};
use core::ops::DerefMut;
use destination::Destination;
use hop::{Cx, HopTransfer};
use relay::Relay;
use source::Source;
use thalweg_engine::{Ability, Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_units::{Duration, Instant};
use thalweg_wire::route::Role;
use thalweg_wire::FrameBuf;

/// Orders to a pipeline.
#[derive(Debug, Clone, Copy)]
pub enum Command<A> {
    /// Take part in a transfer. Refused while another one is under way.
    Start(Setup<A>),
    /// Take a place on a route that carries blocks hop by hop, as a source with this report of the last sweep where that is
    /// wanted. Refused while another transfer is under way.
    StartHop(HopSetup, Option<FrameBuf>),
    /// Leave the transfer under way at once, without telling anyone.
    Stop,
}

// There is no heap to put it on, and a mote needs room for the largest anyway.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum State {
    Source(Source),
    Relay(Relay),
    Destination(Destination),
}

/// A transfer under way.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Active<A> {
    Pipeline { setup: Setup<A>, state: State },
    Hop(HopTransfer),
}

/// One node's part in packet pipelines, one transfer after the other. `S` holds the objects, `A` is
/// whichever [`Adaptation`] a transfer has: an enum of those that a node knows, or a box.
#[derive(Debug)]
pub struct Pipeline<S, A, G = Unsealed> {
    store: S,
    guard: G,
    active: Option<Active<A>>,
    resources: Resources,
}

impl<S: ObjectStore, A: DerefMut<Target = dyn Adaptation>> Pipeline<S, A> {
    /// A pipeline whose objects are in `store`.
    pub fn new(store: S) -> Self {
        Self::guarded(store, Unsealed)
    }
}

impl<S: ObjectStore, A: DerefMut<Target = dyn Adaptation>, G: Guard> Pipeline<S, A, G> {
    /// A pipeline whose objects are in `store`, and whose requests and NACKs are sealed by `guard`, where a transfer is.
    pub fn guarded(store: S, guard: G) -> Self {
        Self {
            store,
            guard,
            active: None,
            resources: Resources {
                air: Air::IDLE,
                packets: Packets::EMPTY,
                events: Fifo::EMPTY,
                stats: Stats::default(),
                held: Held::Nothing,
            },
        }
    }

    /// Where the objects are.
    pub const fn store(&self) -> &S {
        &self.store
    }
    /// Where the objects are.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
    /// Its seals.
    pub const fn guard_mut(&mut self) -> &mut G {
        &mut self.guard
    }
    /// The `len` bytes of [`Event::Report`].
    pub fn report(&mut self, len: u8) -> &[u8] {
        let bytes = self.resources.packets.bytes_mut();
        bytes.get(..usize::from(len)).unwrap_or_default()
    }
    /// Whether [`Engine::poll_radio`] has an operation.
    pub fn wants_radio(&self) -> bool {
        self.resources.air.wants_radio()
    }
    /// Whether it has an operation for the radio and nothing to tell: what stands above has nothing to do before it is asked
    /// for.
    pub fn only_wants_radio(&self) -> bool {
        self.wants_radio() && self.resources.events.is_empty()
    }
    /// What was counted in the transfer under way, or in the last one.
    pub const fn stats(&self) -> &Stats {
        &self.resources.stats
    }
    /// Whether a transfer is under way.
    pub const fn is_active(&self) -> bool {
        self.active.is_some()
    }
    /// When the source of the transfer under way begins.
    #[cfg(test)]
    pub(crate) fn start_of_active(&self) -> Option<Instant> {
        match self.active.as_ref()? {
            Active::Pipeline { setup, .. } => Some(setup.session.start),
            Active::Hop(_) => None,
        }
    }

    /// [`Command::Start`], which needs no other order's room on the stack.
    #[inline(never)]
    pub fn join(&mut self, now: Instant, setup: Setup<A>) {
        if let Err(why) = self.start(now, setup) {
            self.emit(Event::Refused(why));
        }
    }
    /// [`Command::StartHop`], the same way.
    #[inline(never)]
    pub fn join_hops(&mut self, now: Instant, setup: HopSetup, report: Option<&[u8]>) {
        if let Err(why) = self.start_hop(now, setup, report) {
            self.emit(Event::Refused(why));
        }
    }
    /// [`Command::Stop`], the same way.
    pub fn stop(&mut self) {
        if self.active.is_some() {
            self.finish(End::Stopped);
        }
    }

    fn start(&mut self, now: Instant, mut setup: Setup<A>) -> Result<(), SetupError> {
        if self.active.is_some() {
            return Err(SetupError::Busy);
        }
        setup.session.check()?;
        self.resources.stats = Stats::default();
        // Listens in any case.
        let _ = setup.adaptation.advance(now);
        // Who joins too late for a part has none.
        if let Some((_, end)) = setup.adaptation.leaves().filter(|leaves| leaves.0 <= now) {
            self.finish(end);
            return Ok(());
        }
        let mut cx = (self.resources).context(&mut setup, &mut self.store, &mut self.guard);
        let state = match cx.session.role {
            Role::Source => State::Source(Source::start(&mut cx, now)?),
            Role::Relay { stage, group }
            | Role::Backup { stage, group }
            | Role::Alternate { stage, group } => State::Relay(Relay::new(stage, group, &cx, now)),
            Role::Destination => State::Destination(Destination::new(&mut cx, now)),
        };
        cx.listen();
        let over = cx.session.start + cx.session.policy.deadline;
        self.active = Some(Active::Pipeline { setup, state });
        // A node that stood still may begin when all is over: it leaves at once.
        if over <= now {
            self.handle_timeout(now);
        }
        Ok(())
    }

    /// Calls `f` on the role of the transfer under way, and ends it where `f` says so.
    fn act(&mut self, f: impl FnOnce(&mut State, &mut Context<'_>) -> Flow) {
        let Some(Active::Pipeline { setup, state }) = &mut self.active else {
            return;
        };
        let mut cx = (self.resources).context(setup, &mut self.store, &mut self.guard);
        if let Break(end) = f(state, &mut cx) {
            self.finish(end);
        }
    }

    fn start_hop(
        &mut self,
        now: Instant,
        setup: HopSetup,
        report: Option<&[u8]>,
    ) -> Result<(), SetupError> {
        if self.active.is_some() {
            return Err(SetupError::Busy);
        }
        // A block takes the memory of the packets that an earlier transfer knew of.
        (self.resources.stats, self.resources.held) = (Stats::default(), Held::Nothing);
        let mut cx = (self.resources).hop_context(&mut self.store, &mut self.guard);
        self.active = Some(Active::Hop(HopTransfer::start(setup, report, now, &mut cx)));
        Ok(())
    }

    /// The same for a transfer hop by hop; whether there is one.
    fn act_hop(&mut self, f: impl FnOnce(&mut HopTransfer, &mut Cx<'_>) -> Flow) -> bool {
        let Some(Active::Hop(hop)) = &mut self.active else {
            return false;
        };
        let mut cx = (self.resources).hop_context(&mut self.store, &mut self.guard);
        if let Break(end) = f(hop, &mut cx) {
            self.resources.packets.clear();
            self.finish(end);
        }
        true
    }

    /// Something came in. A relay has a gap's time for it.
    #[inline]
    fn heard(&mut self, at: Instant, event: &RadioEvent<'_>) {
        if let Some(Active::Hop(_)) = &self.active {
            if let RadioEvent::Frame { mpdu, .. } = *event {
                self.act_hop(|hop, cx| hop.frame(at, cx, mpdu));
            }
            return;
        }
        self.act(|state, cx| {
            match (state, *event) {
                (State::Relay(relay), RadioEvent::Frame { mpdu, sfd, .. }) => {
                    return relay.frame(cx, mpdu, sfd);
                }
                (State::Relay(relay), RadioEvent::Head { bytes, sfd }) => {
                    relay.head(cx, bytes, sfd);
                }
                (State::Relay(relay), RadioEvent::Corrupt { sfd }) => relay.corrupt(cx, sfd),
                (State::Source(source), RadioEvent::Frame { mpdu, sfd, .. }) => {
                    source.frame(cx, mpdu, sfd);
                }
                (State::Destination(_), RadioEvent::Head { bytes, sfd }) => {
                    Destination::head(cx, bytes, sfd);
                }
                (State::Destination(destination), RadioEvent::Frame { mpdu, sfd, end, .. }) => {
                    return destination.frame(cx, mpdu, (sfd, end))
                }
                _ => {}
            }
            Continue(())
        });
    }

    /// The radio answered an operation.
    fn answered(&mut self, at: Instant, event: &RadioEvent<'_>) {
        let answer = self.resources.air.answer(event);
        let held = self.resources.air.held_answer(event);
        let is_hop = self.act_hop(|hop, cx| match answer {
            Some(answer) => hop.answered(at, cx, answer),
            None => Continue(()),
        });
        if is_hop {
            return;
        }
        self.act(|state, cx| {
            if let Some(answer) = held {
                if let State::Relay(relay) = state {
                    relay.let_go(cx, answer);
                }
                return Continue(());
            }
            let Some(answer) = answer else {
                return Continue(());
            };
            cx.stats.refused += u32::from(matches!(answer, TxAnswer::Refused(_)));
            match state {
                State::Source(source) => return source.answered(cx, answer),
                State::Relay(relay) => return relay.answered(cx, answer),
                State::Destination(destination) => destination.answered(cx),
            }
            Continue(())
        });
    }

    fn finish(&mut self, end: End) {
        self.active = None;
        self.resources.air.sleep();
        self.emit(Event::Finished(end));
    }
    fn emit(&mut self, event: Event) {
        self.resources.events.tell(event);
    }
}

impl<S: ObjectStore, A: DerefMut<Target = dyn Adaptation>, G: Guard> Engine for Pipeline<S, A, G> {
    type Command = Command<A>;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{AfterRx, At, Conditional, Heads, Load, Stream, Synchrony};
        let abilities = [AfterRx, At, Conditional, Heads, Load, Stream, Synchrony];
        (radio == RadioId(0)).then(|| Wants {
            after_rx_step: Duration::from_nanos(500),
            ..Wants::of(&abilities)
        })
    }

    fn handle_command(&mut self, now: Instant, command: Command<A>) {
        match command {
            Command::Start(setup) => self.join(now, setup),
            Command::StartHop(setup, report) => self.join_hops(now, setup, report.as_deref()),
            Command::Stop => self.stop(),
        }
    }

    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        match event.answers() {
            None => self.heard(at, &event),
            Some(_) => self.answered(at, &event),
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        if self.act_hop(|hop, cx| hop.timeout(at, cx)) {
            return;
        }
        self.act(|state, cx| {
            if cx.adaptation.next().is_some_and(|next| next <= at) {
                let retune = cx.adaptation.advance(at);
                cx.retune(retune);
            }
            if let Some((_, end)) = cx.adaptation.leaves().filter(|leaves| leaves.0 <= at) {
                return Break(end);
            }
            let late = at >= cx.session.ends();
            match state {
                State::Source(source) => source.timeout(cx, at),
                State::Relay(relay) if late => return Break(relay.silence()),
                State::Relay(relay) => return relay.timeout(cx, at),
                State::Destination(destination)
                    if late || at >= destination.deadline(cx.session, cx.stats.received) =>
                {
                    return Break(destination.silence());
                }
                State::Destination(_) => {}
            }
            Continue(())
        });
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.resources.air.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let (setup, state) = match self.active.as_ref()? {
            Active::Pipeline { setup, state } => (setup, state),
            Active::Hop(hop) => return Some(hop.next()),
        };
        let session = &setup.session;
        let due = match state {
            State::Source(source) => source.deadline(),
            State::Relay(relay) => Some(relay.next(&setup.cadence).min(session.ends())),
            State::Destination(d) => {
                let deadline = d.deadline(session, self.resources.stats.received);
                Some(deadline.min(session.ends()))
            }
        };
        let leaves = setup.adaptation.leaves().map(|(leaves, _)| leaves);
        sooner(due, sooner(setup.adaptation.next(), leaves))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.resources.events.pop()
    }
}
