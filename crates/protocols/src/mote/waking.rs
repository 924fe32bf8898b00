//! Wake-ups: those that this sink floods, segment by segment, and those that the node hears.
//!
//! Owns: when floods of segments follow each other, when a transfer begins, and who answers which call. Time base: the
//! node's clock. Tests: `tests/`.

use super::rendezvous::{RendezvousTimes, Schedule};
use super::setup::{first_frame, follow_ups, handover, hop_setup, setup_with, AnyAdaptation};
use super::{Duty, Event, Mote, Refused, Work};
use crate::floodnet;
use crate::glossy::{flood_spacing, flood_time, Insistence};
use crate::object::ObjectStore;
use crate::pipeline::Setup;
use crate::seals::{Guard, Hardware as _};
use thalweg_engine::{Engine, RadioEvent, When};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::hop::{self, HopRoute};
use thalweg_wire::route::{Route, Scheme, Segment, WakeUpTurn, LEAST_SEGMENT_BYTES};
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::FrameBuf;

/// The step of times in segments.
const MILLISECOND: Duration = Duration::from_millis(1);

/// The sink's wake-up under way.
#[derive(Debug)]
pub(super) struct WakeUp {
    pub(super) route: Route,
    /// The next segment.
    pub(super) next: u8,
    /// The first flood of all whose transfers begin together.
    pub(super) first: First,
    /// When the source begins, by the last segment; none before the first.
    pub(super) start: Option<Instant>,
}

/// The first flood of all wake-ups whose transfers begin together.
#[derive(Debug, Clone, Copy)]
pub(super) enum First {
    /// It is this node's own.
    Own {
        /// When it was ordered.
        ordered: Instant,
        /// For how long the transfer waits for the wake-ups of other sinks.
        room: Duration,
    },
    /// It is another sink's.
    Others {
        /// When its transfer begins, and this one is to begin.
        start: Instant,
        /// The rendezvous that it set; none if only later floods were heard.
        rendezvous: Option<RendezvousTimes>,
    },
}

/// Whether other sinks' wake-ups may still come before a transfer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Further {
    /// There is no time for one.
    None,
    /// They may, and need all nodes to carry them.
    MayCome,
}

/// A wake-up message that was heard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// This node's setup for the transfer, if it is part of it.
    pub(super) setup: Option<Setup<AnyAdaptation>>,
    /// When the source begins.
    pub(super) start: Instant,
    /// After how many seconds the transfer is given up.
    pub(super) deadline_s: u16,
    pub(super) further: Further,
    /// The rendezvous set by the first flood of all transfers that begin then; none if only later ones were heard.
    pub(super) rendezvous: Option<RendezvousTimes>,
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// Floods the next segment of the wake-up message.
    pub(super) fn flood_segment(&mut self, now: Instant) {
        let Work::Waking(wake_up) = &mut self.work else {
            return;
        };
        // Segments have whole milliseconds, rounded up.
        let (begin, until_start) = match (wake_up.first, wake_up.start) {
            (First::Own { room, .. }, None) => {
                let needed = Self::wake_up_time(&wake_up.route, &self.config, self.floods.timing());
                (When::Now, needed + room)
            }
            // Half of one less is the nearest.
            (First::Own { .. }, Some(start)) => {
                let left = start.since(now + first_frame(self.floods.timing()));
                (When::Now, left.saturating_sub(MILLISECOND / 2))
            }
            // Transfers disturb each other least where they begin at one instant: whole milliseconds after this flood.
            (First::Others { start, .. }, _) => {
                let left = start.since(now + floodnet::lead(self.floods.timing()));
                let whole = MILLISECOND * (left.as_nanos() / MILLISECOND.as_nanos());
                (When::At(start.saturating_sub(whole)), whole)
            }
        };
        let (route, next) = (&wake_up.route, usize::from(wake_up.next));
        let turn = match wake_up.first {
            First::Own { .. } => WakeUpTurn::First,
            First::Others { .. } => WakeUpTurn::Later,
        };
        match FrameBuf::build(|w| route.segment(next, turn, until_start, w)) {
            Ok(payload) => {
                wake_up.next += 1;
                let insistence = match route.scheme {
                    Scheme::Thalweg => Insistence::Throughout,
                    Scheme::P3 | Scheme::Pip(_) | Scheme::PipCit | Scheme::HopByHop => {
                        Insistence::Begins
                    }
                };
                let flood = floodnet::Command::Flood {
                    payload,
                    insistence,
                    begin,
                };
                self.floods.handle_command(now, flood);
            }
            Err(_) => {
                self.work = Work::Nothing;
                self.emit(Event::Refused(Refused::BadRoute));
            }
        }
    }

    /// Takes a segment of another sink's wake-up, whose flood began at `reference`: its route may be complete now.
    #[inline(never)]
    pub(super) fn handle_segment(&mut self, segment: Segment, by: NodeId, reference: Instant) {
        if let Ok(route) = &self.assembler.route() {
            // The transfer's key is by the number of the sink's floods.
            if route.sealing == Sealing::Open || route.sink == by {
                self.handle_route(route, segment, reference);
            }
        }
    }

    /// `route` is complete with `segment`, whose flood began at `reference`.
    fn handle_route(&mut self, route: &Route, segment: Segment, reference: Instant) {
        let bytes = route.wake_up_bytes();
        let ahead = first_frame(self.floods.timing());
        let apart = flood_spacing(bytes, self.config.n_tx, self.floods.timing()) + ahead;
        let start = reference + segment.until_start;
        let ends = start.saturating_sub(handover(self.floods.timing()));
        self.floods.end_flood_by(ends);
        let rendezvous = match segment.turn {
            WakeUpTurn::First => {
                let ahead = apart * u64::from(segment.index) + ahead;
                Some(self.rendezvous_times(route, reference.saturating_sub(ahead), start))
            }
            WakeUpTurn::Later => self.pending_call.as_ref().and_then(|call| call.rendezvous),
        };
        let further = self.further_after(route, segment);
        // Of transfers that begin together, the one that this node is needed for.
        match &mut self.pending_call {
            Some(call) if call.setup.is_some() => call.further = further,
            _ => {
                if let Some(seals) = self.floods.guard_mut().seals() {
                    seals.note_call(route.sink, segment.index);
                }
                self.note_call(route, start, further, rendezvous);
            }
        }
    }

    /// A call takes much of the stack while it is made.
    #[inline(never)]
    fn note_call(
        &mut self,
        route: &Route,
        start: Instant,
        further: Further,
        rendezvous: Option<RendezvousTimes>,
    ) {
        self.pending_call = Some(self.call(route, start, further, rendezvous));
    }

    /// Whether others may follow the wake-up of `route`, whose `segment` was heard.
    #[inline(never)]
    fn further_after(&self, route: &Route, segment: Segment) -> Further {
        let (config, timing) = (&self.config, self.floods.timing());
        let spacing = flood_spacing(route.wake_up_bytes(), config.n_tx, timing);
        let own = Self::wake_up_time(route, config, timing);
        let own = own.saturating_sub(spacing * u64::from(segment.index));
        let least = HEADER_BYTES + 1 + LEAST_SEGMENT_BYTES + route.sealing.trailer_bytes();
        let one_more = flood_time(least, config.reach, config.n_tx, timing);
        match segment.until_start >= own + one_more {
            true => Further::MayCome,
            false => Further::None,
        }
    }

    /// The rendezvous set by the wake-up of `route`, whose first flood was ordered at `first`.
    pub(super) fn rendezvous_times(
        &self,
        route: &Route,
        first: Instant,
        start: Instant,
    ) -> RendezvousTimes {
        let follow_ups = follow_ups(route, (self.floods.timing(), G::Cipher::MIC_SYMBOLS));
        RendezvousTimes::new(first, route.phase, start, follow_ups)
    }

    /// What `route`, whose source begins at `start`, calls this node to.
    pub(super) fn call(
        &self,
        route: &Route,
        start: Instant,
        further: Further,
        rendezvous: Option<RendezvousTimes>,
    ) -> Call {
        Call {
            setup: setup_with(
                (route, self.id),
                start,
                (self.floods.timing(), G::Cipher::MIC_SYMBOLS),
            ),
            start,
            deadline_s: route.deadline_s,
            further,
            rendezvous,
        }
    }

    /// The sink's flood is out, and has announced the source's start.
    pub(super) fn flood_began(&mut self, segment: Segment, reference: Instant) {
        let start = reference + segment.until_start;
        let Work::Waking(wake_up) = &mut self.work else {
            return;
        };
        if let Some(seals) = self.floods.guard_mut().seals() {
            seals.note_own_call(self.id, segment.index);
        }
        // Nodes take it from the last segment, which tells it in whole milliseconds.
        if wake_up.start.replace(start).is_none() {
            self.emit(Event::WakeUp { reference, start });
        }
    }

    /// A flood of this sink is over: sends the next segment, or begins the transfer.
    #[inline(never)]
    pub(super) fn go_on_waking(&mut self, now: Instant) {
        let Work::Waking(wake_up) = &self.work else {
            return;
        };
        if usize::from(wake_up.next) < wake_up.route.segments() {
            return self.flood_segment(now);
        }
        // Every flood has begun, so the first has.
        let (route, first) = (&wake_up.route, wake_up.first);
        let call = wake_up.start.map(|start| {
            let rendezvous = match first {
                First::Own { ordered, .. } => Some(self.rendezvous_times(route, ordered, start)),
                First::Others { rendezvous, .. } => rendezvous,
            };
            self.call(route, start, Further::None, rendezvous)
        });
        self.work = Work::Nothing;
        if let Some(seals) = self.floods.guard_mut().seals() {
            seals.call_own();
        }
        match call {
            Some(call) => self.join(now, &call),
            None => self.emit(Event::Refused(Refused::BadRoute)),
        }
    }

    /// Answers the wake-up message that is complete, if one is.
    pub(super) fn answer_call(&mut self, now: Instant) {
        let waits = |call: &Call| call.further == Further::MayCome;
        let waits = self.pending_call.as_ref().is_some_and(waits);
        if waits && self.call_due().is_some_and(|due| now < due) {
            return;
        }
        // A sink that is at work leaves other sinks' transfers to others.
        let is_at_work = matches!(
            self.work,
            Work::Waking(_) | Work::Rousing(..) | Work::Calling(_) | Work::Mustering(_)
        );
        let is_free = !is_at_work && !self.floods.has_order();
        if !is_free {
            self.pending_call = None;
        } else if self.pending_call.is_some() {
            self.join_called(now);
        }
    }

    /// When a call is to be answered even though no flood has ended since.
    pub(super) fn call_due(&self) -> Option<Instant> {
        let ahead = handover(self.floods.timing());
        let start = self.pending_call.as_ref().map(|call| call.start);
        start.map(|start| start.saturating_sub(ahead))
    }

    #[inline(never)]
    fn join_called(&mut self, now: Instant) {
        if let Some(call) = self.pending_call.take() {
            self.join(now, &call);
        }
    }

    /// Joins a transfer, or goes to rest while it lasts.
    #[inline(never)]
    fn join(&mut self, now: Instant, call: &Call) {
        let Call {
            ref setup,
            start,
            deadline_s,
            rendezvous,
            ..
        } = *call;
        let until = start + Duration::from_secs(u64::from(deadline_s));
        let before = self.schedule.filter(|schedule| !schedule.is_done(now));
        // A later flood sets no rendezvous: the node keeps to those that it knows, or stays awake.
        let schedule = match rendezvous {
            Some(rendezvous) => Some(Schedule::new(rendezvous, until, before)),
            None => before.map(|schedule| schedule.prolonged(until)),
        };
        self.schedule = schedule.or(self.schedule);
        match setup {
            Some(setup) => {
                if self.has_work() {
                    self.work = Work::Nothing;
                    self.emit(Event::Refused(Refused::Busy));
                }
                self.floods.stop(now);
                self.duty = Duty::Transfer;
                self.share_transfer_key();
                self.pipeline.join(now, *setup);
                self.emit(Event::Joined);
                self.attend(now);
            }
            None => {
                let Some(schedule) = schedule else { return };
                if let Work::Waiting(_, order) = &self.work {
                    let again = self.rendezvous_for(now, order);
                    if let Work::Waiting(at, _) = &mut self.work {
                        *at = again;
                    }
                }
                self.rest(now, schedule);
            }
        }
    }

    /// What the floods' seals know of the transfer that begins, the pipeline's must know.
    fn share_transfer_key(&mut self) {
        let called = (self.floods.guard_mut().seals()).and_then(|seals| seals.called());
        if let Some(seals) = self.pipeline.guard_mut().seals() {
            seals.begin(called);
        }
    }

    /// Takes `position` on `route`.
    pub(super) fn join_hops(&mut self, now: Instant, route: HopRoute, position: u8) {
        let is_asked = position == 0 && route.subject == hop::Subject::Report;
        let report = is_asked.then(|| self.floods.levels()).flatten();
        self.floods.stop(now);
        self.duty = Duty::Transfer;
        self.pending_call = None;
        let (control, timing) = (self.floods.channel(), self.floods.timing());
        let setup = hop_setup((route, position), control, timing);
        self.share_transfer_key();
        self.pipeline.join_hops(now, setup, report.as_deref());
        self.emit(Event::Joined);
        self.attend(now);
    }

    /// Whether the sink of `route` made `call`, as far as a node without keys can know.
    fn obeys_call(&mut self, route: &HopRoute, call: &[u8]) -> bool {
        let is_of_network = route.sealing() == self.guard().sealing();
        let seals = self.floods.guard_mut().seals();
        is_of_network && seals.is_none_or(|seals| seals.obeys_call(route.sink(), call))
    }

    /// Whether `event` is a call of this node, which then takes its place, unless it has something else to do.
    pub(super) fn is_called(&mut self, now: Instant, event: &RadioEvent<'_>) -> bool {
        let RadioEvent::Frame { mpdu, .. } = event else {
            return false;
        };
        if !hop::Frame::is_call(mpdu) {
            return false;
        }
        if let Ok(hop::Frame::Call { to, route }) = hop::Frame::parse(mpdu) {
            let is_own = route.nodes().get(usize::from(to)) == Some(&self.id);
            if is_own && !self.has_order() && self.obeys_call(&route, mpdu) {
                self.join_hops(now, route, to);
            }
        }
        true
    }
}
