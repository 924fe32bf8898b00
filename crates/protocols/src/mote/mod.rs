//! The whole node: floods, link measurement, collection and pipelines share one radio.
//!
//! Owns: which engine has the radio. A node listens for floods; a wake-up message (P3, section IV-D2) gives the radio
//! to the pipeline of the nodes that it names and puts all others to sleep. Time base: the node's clock. Invariants:
//! one engine has the radio at a time, and what it left pending is cancelled before the next one starts; a node outside
//! of a transfer is reachable by floods within [`rendezvous::PERIOD`]; every order ends in an event, unless
//! [`Command::Stop`] ends it; until transfers begin together, all nodes relay floods. Deviations: README.md. Tests:
//! `tests/`.

mod below;
mod cold_start;
mod company;
mod event;
mod guard;
pub mod host;
mod idle;
mod muster;
pub mod rendezvous;
mod setup;
mod sinks;
#[cfg(test)]
mod tests;
mod waking;

pub use event::{Command, Event, Refused};
pub use muster::Mustered;
pub use setup::{setup, AnyAdaptation};

use company::Company;
use muster::Mustering;
use setup::handover;
use waking::{Call, First, WakeUp};

use crate::floodnet::{self, Floodnet};
use crate::glossy::{flood_spacing, flood_time, slot_time};
use crate::object::ObjectStore;
use crate::pipeline::{self, Pipeline};
use crate::ring::Fifo;
use crate::rouse::{self, Train};
use crate::seals::{Guard, Unsealed};
use crate::timer::sooner;
use core::mem;
use rendezvous::{Listening, Schedule, Which};
use sinks::Sinks;
use thalweg_engine::{BoardTiming, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants};
use thalweg_units::{BatteryLevel, Duration, Instant, NodeId, Restarts};
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::hop::HopRoute;
use thalweg_wire::route::{Assembler, Route, Scheme, MAX_SEGMENT_BYTES};
use thalweg_wire::FrameBuf;

/// The name of the operations of this layer; those of the engines below begin at 0x0100.
const OWN: OpId = OpId(1);

/// Slots that a wake-up of Thalweg lasts after it has had time for one hop more than its route has, for nodes that
/// missed it. Then all nodes end its flood, however often they have sent it.
const LATE_SLOTS: u64 = 2;

/// Who has the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Floods and what rests on them.
    Floods,
    /// A pipeline.
    Transfer,
    /// No engine: asleep until this instant.
    Asleep(Instant),
    /// Floods, until this instant unless something comes.
    Window(Instant),
    /// No engine, as the node is idle: asleep until this instant.
    Resting(Instant),
    /// Floods and trains, until this instant unless something comes.
    Sampling(Instant),
}

/// An order of the sink.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Order<const NODES: usize> {
    Floods(floodnet::Command<NODES>),
    Fetch {
        route: Route,
        room: Duration,
    },
    FetchHops(HopRoute),
    /// These sources, as they are written.
    Muster(FrameBuf),
}

/// Whether other nodes may be asleep at times that this one does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    InStep,
    MaySleep,
}

/// What the sink does beyond its floods' own work.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Work<const NODES: usize> {
    Nothing,
    /// The order waits until all nodes listen, at this instant.
    Waiting(Instant, Order<NODES>),
    /// Floods rouse those that sleep, until this instant.
    Rousing(Instant, Order<NODES>),
    Waking(WakeUp),
    /// A train rouses those that rest; the order comes after it.
    Calling(Order<NODES>),
    Mustering(Mustering),
}

/// One node. `S` holds the objects; `NEIGHBOURS` and `NODES` as of [`Floodnet`].
#[derive(Debug)]
pub struct Mote<
    S: ObjectStore,
    const NEIGHBOURS: usize = 160,
    const NODES: usize = 256,
    G: Guard = Unsealed,
> {
    id: NodeId,
    config: floodnet::Config,
    floods: Floodnet<NEIGHBOURS, NODES, G>,
    pipeline: Pipeline<S, AnyAdaptation, G>,
    assembler: Assembler,
    duty: Duty,
    schedule: Option<Schedule>,
    others: Others,
    company: Company,
    sinks: Sinks,
    work: Work<NODES>,
    train: Train,
    /// When it last had something to do; none where the network has idled for long.
    active: Option<Instant>,
    /// When it last knew that all nodes are awake, or listen at rendezvous; none as before.
    reached: Option<Instant>,
    /// What was just heard, and is not answered yet.
    pending_call: Option<Call>,
    mustered: Option<Mustered>,
    sleep: bool,
    events: Fifo<Event, 16>,
    /// When a frame came of which the rest is still to be done: what answers it goes out first, within a gap.
    unattended: Option<Instant>,
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize> Mote<S, NEIGHBOURS, NODES> {
    /// Node `id` on a board of `timing` with the objects of `store`.
    pub fn new(id: NodeId, config: floodnet::Config, timing: BoardTiming, store: S) -> Self {
        Self::guarded((id, Unsealed), config, timing, store)
    }
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// The same with seals in `guard`: a node that has some obeys sealed orders alone, and its base station's.
    pub fn guarded(
        (id, guard): (NodeId, G),
        config: floodnet::Config,
        timing: BoardTiming,
        store: S,
    ) -> Self
    where
        G: Clone,
    {
        Self::with_guards((id, [guard.clone(), guard]), config, timing, store)
    }
    /// The same of one that may get seals by [`Self::set_guard`].
    #[inline]
    pub fn unguarded(id: NodeId, config: floodnet::Config, timing: BoardTiming, store: S) -> Self
    where
        G: Default,
    {
        Self::with_guards((id, [G::default(), G::default()]), config, timing, store)
    }
    #[inline]
    fn with_guards(
        (id, [floods, pipeline]): (NodeId, [G; 2]),
        config: floodnet::Config,
        timing: BoardTiming,
        store: S,
    ) -> Self {
        Self {
            id,
            config,
            floods: Floodnet::guarded(id, config, timing, floods),
            pipeline: Pipeline::guarded(store, pipeline),
            assembler: Assembler::EMPTY,
            duty: Duty::Floods,
            schedule: None,
            others: Others::InStep,
            company: Company::NONE,
            sinks: Sinks::NONE,
            work: Work::Nothing,
            train: Train::new(config.glossy.channel, &timing),
            active: Some(Instant::ZERO),
            reached: Some(Instant::ZERO),
            pending_call: None,
            mustered: None,
            sleep: false,
            events: Fifo::EMPTY,
            unattended: None,
        }
    }
    /// This node's address.
    pub const fn id(&self) -> NodeId {
        self.id
    }
    /// The pipeline: its store, its counts.
    pub const fn pipeline(&self) -> &Pipeline<S, AnyAdaptation, G> {
        &self.pipeline
    }
    /// As [`Pipeline::upcoming`].
    pub fn upcoming(&self) -> Option<(u32, usize)> {
        self.pipeline.upcoming()
    }
    /// Where the objects are.
    pub fn store_mut(&mut self) -> &mut S {
        self.pipeline.store_mut()
    }
    /// This node's battery was measured: survey reports carry `level` from now on. The firmware calls it before the
    /// first survey and after each measurement; never on a node without a battery.
    pub const fn set_battery(&mut self, level: BatteryLevel) {
        self.floods.set_battery(level);
    }
    /// This node has restarted since power came: survey reports tell so from now on. The firmware calls it at its start.
    pub const fn set_restarts(&mut self, restarts: Restarts) {
        self.floods.set_restarts(restarts);
    }
    /// Whether no order is waiting or being carried out and the radio listens for floods.
    pub fn is_idle(&self) -> bool {
        let is_free = !self.has_work() && !self.train.is_on() && self.pending_call.is_none();
        self.duty == Duty::Floods && is_free && self.floods.is_idle()
    }

    /// From the first wake-up packet to the source's first: the floods of the route's segments
    /// follow each other at their spacing, the last reaches all stages, H hops and one to spare.
    pub fn wake_up_time(
        route: &Route,
        config: &floodnet::Config,
        timing: &BoardTiming,
    ) -> Duration {
        let bytes = route.wake_up_bytes();
        let before = route.segments().saturating_sub(1) as u64;
        let hops = route.channels.hops() + 1;
        let last = match route.scheme {
            Scheme::Thalweg => {
                // The sink sends it N_tx times.
                let least = 2 * u64::from(config.n_tx.get());
                slot_time(bytes, timing) * (u64::from(hops) + LATE_SLOTS).max(least)
            }
            _ => flood_time(bytes, hops, config.n_tx, timing),
        };
        flood_spacing(bytes, config.n_tx, timing) * before + last + handover(timing)
    }

    fn emit(&mut self, event: Event) {
        self.events.tell(event);
    }

    fn queue_order(&mut self, now: Instant, order: Order<NODES>) {
        if self.duty == Duty::Transfer || self.has_order() || self.floods.is_busy() {
            return self.emit(Event::Refused(Refused::Busy));
        }
        let at = self.rendezvous_for(now, &order);
        self.work = Work::Waiting(at, order);
    }

    /// When `order` may begin.
    fn rendezvous_for(&self, now: Instant, order: &Order<NODES>) -> Instant {
        let which = match order {
            // Nodes far away do not know how long to listen for it.
            Order::Fetch { .. } | Order::Floods(_) | Order::Muster(_) if !self.sinks.know_me() => {
                Which::Whole
            }
            Order::Fetch { route, .. } if !route.has_phase() => Which::Regular,
            Order::Fetch { .. } | Order::FetchHops(_) | Order::Floods(_) | Order::Muster(_) => {
                Which::All
            }
        };
        self.schedule
            .map_or(now, |schedule| schedule.rendezvous_after(now, which))
    }

    /// An order to fetch together with others: at once where they have been called already, since
    /// all nodes listen until they begin.
    fn queue_together(&mut self, now: Instant, route: Route, room: Duration) {
        let order = Order::Fetch { route, room };
        let Some(start) = self.pending_call.as_ref().map(|call| call.start) else {
            return self.queue_order(now, order);
        };
        let needed = Self::wake_up_time(&route, &self.config, self.floods.timing());
        if self.has_order() || self.floods.is_busy() {
            self.emit(Event::Refused(Refused::Busy));
        } else if start.since(now) < needed {
            self.emit(Event::Refused(Refused::TooLate));
        } else {
            self.work = Work::Waiting(now, order);
        }
    }

    /// Whether an order of this node waits or is being carried out.
    fn has_order(&self) -> bool {
        self.has_work() || self.floods.has_order()
    }
    const fn has_work(&self) -> bool {
        !matches!(self.work, Work::Nothing)
    }

    fn take_floods(&mut self, now: Instant) {
        self.duty = Duty::Floods;
        self.floods.listen(now);
    }

    /// The same of what waited. An order takes much of the stack, and only sinks have any.
    #[inline(never)]
    fn carry_out_waiting(&mut self, now: Instant) {
        if let Work::Waiting(_, order) = mem::replace(&mut self.work, Work::Nothing) {
            self.carry_out(now, order);
        }
    }

    fn carry_out(&mut self, now: Instant, order: Order<NODES>) {
        if !matches!(self.duty, Duty::Floods | Duty::Transfer) {
            self.take_floods(now);
        }
        if self.must_call(now, &order) {
            return self.call_by_train(now, order);
        }
        self.carry_out_awake(now, order);
    }

    /// The same where no node that it is for rests.
    fn carry_out_awake(&mut self, now: Instant, order: Order<NODES>) {
        // Calls are repeated until sleeping nodes listen.
        let is_called_by_floods = !matches!(order, Order::FetchHops(_));
        if is_called_by_floods && self.must_rouse() {
            return self.rouse(now, order);
        }
        match order {
            Order::FetchHops(route) => {
                let own = self.id;
                let seals = self.floods.guard_mut().seals();
                if seals.is_some_and(|seals| !seals.begin_call(own)) {
                    let why = floodnet::Refused::NoNumber;
                    return self.emit(Event::Floods(floodnet::Event::Refused(why)));
                }
                let (reference, start) = (now, now);
                self.emit(Event::WakeUp { reference, start });
                self.join_hops(now, route, route.hops());
            }
            Order::Floods(command) => self.floods.handle_command(now, command),
            Order::Muster(sources) => self.begin_mustering(now, sources),
            Order::Fetch { mut route, room } => {
                let needed = Self::wake_up_time(&route, &self.config, self.floods.timing());
                let called = self.pending_call.take();
                let called = called.filter(|call| call.start.since(now) >= needed);
                if route.has_phase() {
                    let phase = self.schedule.map(|schedule| schedule.phase_at(now));
                    route.phase = phase.unwrap_or_default();
                }
                self.work = Work::Waking(WakeUp {
                    route,
                    next: 0,
                    first: match called {
                        None => First::Own { ordered: now, room },
                        Some(Call {
                            start, rendezvous, ..
                        }) => First::Others { start, rendezvous },
                    },
                    start: None,
                });
                self.flood_segment(now);
            }
        }
    }

    /// How long it listens after a rendezvous.
    fn listens(&self) -> Listening {
        // No order's frames are longer.
        let slot = slot_time(HEADER_BYTES + 1 + MAX_SEGMENT_BYTES, self.floods.timing());
        // All hops that a transfer may have, where copying relays need longer for them.
        let hop = match self.floods.timing().software.is_serial() {
            true => slot,
            false => Duration::ZERO,
        };
        let whole = rendezvous::LISTEN.max(hop * (u64::from(self.config.reach) + 1));
        let near = |slots: u8| slot * (u64::from(slots) + rendezvous::MARGIN);
        Listening {
            whole,
            near: self.sinks.slots().map_or(whole, near).min(whole),
        }
    }

    /// Sleeps until the next window, or listens on where none is to come or one is open.
    fn rest(&mut self, now: Instant, schedule: Schedule) {
        match schedule.window_after(now, self.listens()) {
            Some((opens, _)) if opens > now => {
                self.floods.stop(now);
                self.sleep = true;
                self.duty = Duty::Asleep(opens);
            }
            Some((_, closes)) => self.duty = Duty::Window(closes),
            None => self.duty = Duty::Floods,
        }
    }

    /// Does what is due in this layer.
    fn run(&mut self, now: Instant) {
        if self.unattended.take().is_some() {
            self.attend(now);
        }
        match self.duty {
            Duty::Asleep(until) if until <= now => {
                let listens = self.listens();
                let window = self
                    .schedule
                    .and_then(|schedule| schedule.window_after(now, listens));
                self.duty = window.map_or(Duty::Floods, |(_, closes)| Duty::Window(closes));
                self.floods.listen(now);
            }
            Duty::Window(until) if until <= now => match self.schedule {
                Some(schedule) if self.floods.is_idle() => self.rest(now, schedule),
                _ => self.duty = Duty::Floods,
            },
            _ => {}
        }
        if self.call_due().is_some_and(|due| due <= now) {
            self.answer_call(now);
        }
        if matches!(self.work, Work::Waiting(at, _) if at <= now) {
            self.carry_out_waiting(now);
        }
        self.attend(now);
        self.idle(now);
        self.look(now);
    }

    fn own_timeout(&self) -> Option<Instant> {
        let duty = match self.duty {
            Duty::Asleep(until)
            | Duty::Window(until)
            | Duty::Resting(until)
            | Duty::Sampling(until) => Some(until),
            Duty::Floods | Duty::Transfer => None,
        };
        let order = match self.work {
            Work::Waiting(at, _) => Some(at),
            Work::Nothing
            | Work::Rousing(..)
            | Work::Waking(_)
            | Work::Calling(_)
            | Work::Mustering(_) => None,
        };
        let own = sooner(sooner(duty, order), self.call_due());
        let idle = sooner(self.train.poll_timeout(), self.rest_due());
        let idle = sooner(idle, self.look_due());
        sooner(sooner(own, idle), self.unattended)
    }
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard> Engine
    for Mote<S, NEIGHBOURS, NODES, G>
{
    type Command = Command<NODES>;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        let floods = self.floods.wants(radio)?;
        Some(floods.and(self.pipeline.wants(radio)?))
    }

    fn handle_command(&mut self, now: Instant, command: Command<NODES>) {
        self.settle_for_order(now);
        if command
            .sealing()
            .is_some_and(|of| of != self.guard().sealing())
        {
            return self.emit(Event::Refused(Refused::Sealing));
        }
        match command {
            Command::Numbers { from, count } => {
                if let Some(seals) = self.floods.guard_mut().seals() {
                    seals.grant(from, count);
                }
            }
            Command::Measure(m) => {
                self.queue_order(now, Order::Floods(floodnet::Command::Measure(m)));
            }
            Command::Collect(c) => {
                self.queue_order(now, Order::Floods(floodnet::Command::Collect(c)));
            }
            Command::Sweep(s) => {
                self.queue_order(now, Order::Floods(floodnet::Command::Sweep(s)));
            }
            Command::Fetch(route) | Command::FetchTogether { route, .. }
                if route.sink != self.id =>
            {
                self.emit(Event::Refused(Refused::NotSink));
            }
            Command::Fetch(route) => {
                let room = Duration::ZERO;
                self.queue_order(now, Order::Fetch { route, room });
            }
            Command::FetchTogether { route, room } => self.queue_together(now, route, room),
            Command::FetchHops(route) if route.sink() != self.id => {
                self.emit(Event::Refused(Refused::NotSink));
            }
            Command::FetchHops(route) => self.queue_order(now, Order::FetchHops(route)),
            Command::Stop => {
                self.pipeline.stop();
                (self.work, self.pending_call) = (Work::Nothing, None);
                self.sleep = false;
                self.train.stop();
                self.take_floods(now);
            }
        }
        self.run(now);
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let is_of_pipeline = match event.answers() {
            Some(op) => pipeline::OPS.contains(&op.0),
            None => self.duty == Duty::Transfer,
        };
        if is_of_pipeline {
            self.pipeline.handle_radio(at, radio, event);
            // What it sends has a gap's time, and nothing else is due here.
            return match self.duty == Duty::Transfer && self.pipeline.only_wants_radio() {
                true => self.note_transfer(at),
                false => self.run(at),
            };
        }
        self.note_company(&event);
        match event.answers() {
            Some(op) if op == rouse::OP => self.train.handle_radio(at, &event),
            Some(op) if !floodnet::OPS.contains(&op.0) => {}
            None if matches!(self.duty, Duty::Asleep(_) | Duty::Resting(_)) => {}
            None if self.is_roused(at, &event) || self.is_called(at, &event) => {}
            Some(_) | None => self.floods.handle_radio(at, radio, event),
        }
        let has_floods = matches!(
            self.duty,
            Duty::Floods | Duty::Window(_) | Duty::Sampling(_)
        );
        match event {
            // A relay has a gap's time to send it on; a route that it carries takes longer to read.
            RadioEvent::Frame { .. } if has_floods && self.floods.wants_radio() => {
                self.unattended = Some(at);
            }
            _ => self.run(at),
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        if self.floods.poll_timeout().is_some_and(|due| due <= at) {
            self.floods.handle_timeout(at);
        }
        if self.pipeline.poll_timeout().is_some_and(|due| due <= at) {
            self.pipeline.handle_timeout(at);
        }
        self.train.handle_timeout(at);
        self.run(at);
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        // The engine that left is polled first: what it cancels is its own.
        match self.duty {
            Duty::Transfer | Duty::Asleep(_) | Duty::Resting(_) if self.floods.wants_radio() => {
                self.floods.poll_radio()
            }
            Duty::Transfer => self.pipeline.poll_radio(),
            _ if mem::take(&mut self.sleep) => Some(Request::new(OWN, RadioOp::Sleep)),
            _ if self.pipeline.wants_radio() => self.pipeline.poll_radio(),
            _ if self.floods.wants_radio() => self.floods.poll_radio(),
            _ => self.train.poll_radio(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let below = sooner(self.floods.poll_timeout(), self.pipeline.poll_timeout());
        sooner(below, self.own_timeout())
    }

    fn poll_event(&mut self) -> Option<Event> {
        let own = self.events.pop();
        match self.unattended {
            Some(_) => own,
            // What is left below are the rest of a report's links.
            None => own.or_else(|| self.floods.poll_event().map(Event::Floods)),
        }
    }
}
