//! Everything of P3 that rests on floods, as one engine: dissemination (section IV-D2), link
//! measurement and its collection (section IV-D1).
//!
//! Owns: the node's radio while active, and who uses it: [`crate::glossy`] floods on the control
//! channel, or a turn of [`crate::linkprobe`]. Time base: the node's clock, through the reference
//! times of floods. Invariants: an idle node listens on the control channel; the sink does one
//! thing at a time; whatever is lost, every order ends. Tests: `tests.rs`.

mod config;
mod event;
#[cfg(test)]
mod far_sweep_tests;
#[cfg(test)]
mod health_tests;
mod measuring;
#[cfg(test)]
mod relay_tests;
mod repeating;
mod sink;
#[cfg(test)]
mod sweep_tests;
mod sweeps;
#[cfg(test)]
mod tests;

pub use config::{beacon_interval, sweep_slot, Config, Idle};
pub use event::{Command, Event, Refused};

use crate::collection::{report_frame, Agenda, LinkReport, Links};
use crate::glossy::{self, Flood};
use crate::linkprobe::{BeaconTurn, LinkTable, Step};
use crate::radio;
use crate::ring::Fifo;
use crate::seals::{Guard, Unsealed};
use crate::sweep::{self, REACH};
use crate::timer::sooner;
use core::ops::RangeInclusive;
use measuring::Measuring;
use repeating::Repeating;
use sink::Task;
use sweeps::answer_course;
use thalweg_engine::{BoardTiming, Engine, OpId, RadioEvent, RadioId, Request, Wants, When};
use thalweg_units::{BatteryLevel, Channel, Duration, Instant, NodeId, Restarts};
use thalweg_wire::beacon::{Announce, Beacon};
use thalweg_wire::flood::{self, Campaign, Kind};
use thalweg_wire::report::Health;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::{phy, FrameBuf, Reader};

/// The names of operations that [`Floodnet`] uses.
pub const OPS: RangeInclusive<u16> = 0x0100..=0x03ff;
const TUNE: OpId = OpId(0x0300);
const BEACON: OpId = OpId(0x0301);

/// How long before its time a transmission is asked for: turnaround, SFD and software fit in.
const LEAD: Duration = Duration::from_millis(1);

/// The same on boards of `timing`: longer where the frame is copied before it is strobed.
pub(crate) fn lead(timing: &BoardTiming) -> Duration {
    let costs = timing.software.costs();
    let software = costs.atomic + costs.switch + costs.os + costs.retune * 2 + costs.strobe;
    let copy = timing.load_base + timing.load_byte * phy::MAX_MPDU as u64;
    let on_air = timing.turnaround + phy::SFD_OFFSET + BoardTiming::GUARD;
    match timing.software.is_serial() {
        true => LEAD.max(software + copy + on_air),
        false => LEAD,
    }
}

/// Who has the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Radio {
    Floods,
    /// A turn of link measurement, or a sweep, listening on this channel; `None` on the node that sends.
    Probing(Option<Channel>),
}

/// The links of a report that came in.
#[derive(Debug)]
enum Waiting {
    Report(Links),
    Levels(sweep::Rows),
}

impl Iterator for Waiting {
    type Item = LinkReport;
    fn next(&mut self) -> Option<LinkReport> {
        match self {
            Self::Report(links) => links.next(),
            Self::Levels(rows) => rows.next(),
        }
    }
}

/// One node: floods, link measurement and collection. `NEIGHBOURS` is the capacity of its link
/// table, `NODES` that of the sink's orders: a node that is never sink takes `NODES = 0`.
///
/// RAM: about 1.8 kB, 50 bytes a neighbour and 18 bytes a node (14.4 kB for the defaults).
#[derive(Debug)]
pub struct Floodnet<const NEIGHBOURS: usize = 160, const NODES: usize = 256, G: Guard = Unsealed> {
    guard: G,
    id: NodeId,
    config: Config,
    timing: BoardTiming,
    flood: Flood,
    radio: Radio,
    table: LinkTable<NEIGHBOURS>,
    campaign: Campaign,
    measuring: Measuring,
    repeating: Option<Repeating>,
    agenda: Option<Agenda>,
    task: Task<NODES>,
    /// The application's flood that this node takes part in, to report its end.
    application: Option<(NodeId, u8)>,
    tune: Option<Channel>,
    beacon: Option<(Channel, Instant)>,
    /// The next beacon; before them an announcement to repeat, after them the report.
    beacon_frame: FrameBuf,
    /// A beacon was ordered and not answered yet.
    beacon_armed: bool,
    links: Option<Waiting>,
    health: Health,
    /// A frame that is being sent on came in then, and its content waits to be read.
    unattended: Option<Instant>,
    events: Fifo<Event, 8>,
}

impl<const NEIGHBOURS: usize, const NODES: usize> Floodnet<NEIGHBOURS, NODES> {
    /// Node `id` on a board of `timing`, listening on the control channel from the first drain on.
    pub const fn new(id: NodeId, config: Config, timing: BoardTiming) -> Self {
        Self::guarded(id, config, timing, Unsealed)
    }
}

impl<const NEIGHBOURS: usize, const NODES: usize, G: Guard> Floodnet<NEIGHBOURS, NODES, G> {
    /// The same with `guard`: a node that has seals acts on sealed orders alone.
    pub const fn guarded(id: NodeId, config: Config, timing: BoardTiming, guard: G) -> Self {
        Self {
            guard,
            id,
            config,
            timing,
            flood: Flood::new(id, config.glossy, timing),
            radio: Radio::Floods,
            table: LinkTable::EMPTY,
            campaign: Campaign::new(0),
            measuring: Measuring::Nothing,
            repeating: None,
            agenda: None,
            task: Task::Idle,
            application: None,
            tune: None,
            beacon: None,
            beacon_frame: FrameBuf::EMPTY,
            beacon_armed: false,
            links: None,
            health: Health::UNTOLD,
            unattended: None,
            events: Fifo::EMPTY,
        }
    }
    /// Its seals.
    pub const fn guard_mut(&mut self) -> &mut G {
        &mut self.guard
    }
    /// Its seals.
    pub const fn guard(&self) -> &G {
        &self.guard
    }
    /// This node's battery was measured: its reports carry `level` from now on; none before the first call.
    pub const fn set_battery(&mut self, level: BatteryLevel) {
        self.health.battery = Some(level);
    }
    /// This node has restarted: every report says so from now on. If only its power came, the reports of one sweep say so.
    pub const fn set_restarts(&mut self, restarts: Restarts) {
        self.health.restarts = Some(restarts);
    }
    /// [`Command::Listen`], which needs no order's room on the stack.
    pub fn listen(&mut self, now: Instant) {
        self.forget_reach();
        self.drop_all();
        self.flood.listen();
        self.run(now);
    }
    /// [`Command::Stop`], the same way.
    pub fn stop(&mut self, now: Instant) {
        self.forget_reach();
        self.drop_all();
        self.flood.stop();
        self.run(now);
    }
    /// An earlier sweep may have gone farther than the next order does.
    fn forget_reach(&mut self) {
        if !self.is_busy() {
            self.config.reach = REACH;
        }
    }
    /// Whether nothing is going on: no flood, no turn, no slots to come, no order of the sink. Only
    /// then should the radio be given to another engine.
    pub const fn is_idle(&self) -> bool {
        !self.flood.is_active()
            && !self.measuring.is_on()
            && self.agenda.is_none()
            && matches!(self.task, Task::Idle)
    }
    /// Whether an order of this node is being carried out.
    pub const fn has_order(&self) -> bool {
        !matches!(self.task, Task::Idle)
    }
    /// Whether an order would be refused: another one is being carried out, here or by the sink of
    /// a measurement.
    pub const fn is_busy(&self) -> bool {
        self.has_order() || self.measuring.is_on() || self.agenda.is_some()
    }
    /// Whether [`Engine::poll_radio`] has an operation.
    pub const fn wants_radio(&self) -> bool {
        self.flood.wants_radio() || self.tune.is_some() || self.beacon.is_some()
    }
    /// The payload of [`Event::Flooded`], until the engine is called again; none where the
    /// flood under way is not the application's.
    pub fn payload(&self) -> &[u8] {
        let mut content = Reader::new(self.flood.content());
        match Kind::parse_tag(&mut content) {
            Ok((Kind::Application, _)) => content.rest(),
            _ => &[],
        }
    }
    /// No frame of the flood in progress is to be on the air after `ends`.
    pub(crate) fn end_flood_by(&mut self, ends: Instant) {
        self.flood.end_by(ends);
    }
    /// The channel of floods.
    pub(crate) const fn channel(&self) -> Channel {
        self.flood.channel()
    }
    /// Floods are on `channel` from when this node listens for them next.
    pub(crate) const fn move_to(&mut self, channel: Channel) {
        self.flood.move_to(channel);
    }
    /// Whether it measures links at the moment, on whatever channel.
    pub(crate) const fn is_probing(&self) -> bool {
        matches!(self.radio, Radio::Probing(_))
    }
    /// This node's table of the links into it.
    pub const fn table(&self) -> &LinkTable<NEIGHBOURS> {
        &self.table
    }

    /// What its board's operations cost.
    pub(crate) const fn timing(&self) -> &BoardTiming {
        &self.timing
    }

    fn emit(&mut self, event: Event) {
        self.events.tell(event);
    }

    /// Drops everything in progress.
    fn drop_all(&mut self) {
        if core::mem::take(&mut self.beacon_armed) {
            self.flood.take_back();
        }
        // What a sweep that is over measured may still be asked for.
        if self.measuring.is_on() || matches!(self.measuring, Measuring::BeaconTurn(_)) {
            self.measuring = Measuring::Nothing;
        }
        (self.repeating, self.agenda, self.task) = (None, None, Task::Idle);
        (self.tune, self.beacon, self.radio) = (None, None, Radio::Floods);
        (self.application, self.links) = (None, None);
        self.events.clear();
    }

    /// Takes the events of the floods below.
    fn attend(&mut self) {
        while let Some(event) = self.flood.poll_event() {
            match event {
                glossy::Event::Started {
                    sequence,
                    reference,
                } => self.sink_flood_started(sequence, reference),
                glossy::Event::Received {
                    initiator,
                    sequence,
                    relay,
                    reference,
                } => self.handle_content(initiator, sequence, relay, reference),
                glossy::Event::Finished {
                    initiator,
                    sequence,
                    reference,
                    sent,
                    heard,
                } => {
                    if initiator == self.id && reference.is_none() {
                        self.end_unsent(sequence, Refused::Silent);
                    }
                    if self.application == Some((initiator, sequence)) {
                        self.application = None;
                        self.emit(Event::FloodFinished {
                            initiator,
                            sequence,
                            sent,
                            heard,
                        });
                    }
                }
                glossy::Event::Refused { sequence, why } => {
                    self.end_unsent(sequence, Refused::Radio(why));
                }
            }
        }
    }

    fn handle_content(&mut self, initiator: NodeId, sequence: u8, relay: u8, reference: Instant) {
        let Some(kind) = self.kind_to_act_on(initiator) else {
            return;
        };
        let content = self.flood.content();
        match kind {
            Kind::Application => {
                self.application = Some((initiator, sequence));
                self.emit(Event::Flooded {
                    initiator,
                    sequence,
                    relay,
                    reference,
                });
            }
            // Two sinks at once: one's own order goes on.
            Kind::Announce if self.has_order() => {}
            Kind::Announce => {
                if let Ok(announce) = Announce::parse(content) {
                    self.agenda = None;
                    self.begin_turn(announce, reference);
                }
            }
            Kind::Schedule => {
                let agenda = Agenda::parse(content, reference, self.id);
                self.agenda = agenda.and_then(|agenda| self.inwards_or_flooded(agenda));
            }
            Kind::Report => {
                if let Ok(content) = FrameBuf::from_slice(content) {
                    self.sink_report(initiator, content);
                }
            }
            Kind::Sweep | Kind::Repeat => self.on_announcement((initiator, kind), relay, reference),
            Kind::Levels => {
                if let Some(content) = self.opened_levels(initiator) {
                    self.sink_levels(initiator, content);
                }
            }
        }
    }

    /// What the flood of `initiator` carries that came in, if this node is to act on it. It is being relayed meanwhile.
    fn kind_to_act_on(&mut self, initiator: NodeId) -> Option<Kind> {
        let content = self.flood.raw_content();
        let (kind, _) = Kind::parse_tag(&mut Reader::new(content)).ok()?;
        let is_sealed = flood::is_sealed(content);
        let acts = match (self.guard.seals(), kind) {
            (None, _) => !is_sealed,
            // Its own floods come from no other node.
            (Some(_), _) if initiator == self.id || !is_sealed => false,
            // What reads them checks them: reports are no orders, and an announcement may come again.
            (Some(_), Kind::Sweep | Kind::Repeat | Kind::Levels) => true,
            (Some(seals), _) => seals.obeys(initiator, content),
        };
        acts.then_some(kind)
    }

    fn begin_turn(&mut self, announce: Announce, reference: Instant) {
        self.campaign = announce.campaign;
        self.table.begin(announce.campaign);
        let (control, lead) = (self.config.control, lead(&self.timing));
        let turn = BeaconTurn::new(announce, reference, self.id, control, lead);
        self.measuring = Measuring::BeaconTurn(turn);
    }

    /// Does everything that is due.
    fn run(&mut self, now: Instant) {
        self.unattended = None;
        loop {
            self.attend();
            if let Some(step) = self.measuring.step_of_turn(now) {
                self.take_step(step);
            } else if let Some(step) = self.measuring.step_of_sweep(now) {
                self.take_sweep_step(now, step);
            } else if self.repeating_due().is_some_and(|due| due <= now) {
                self.repeat_announcement(now);
            } else if self.agenda_due().is_some_and(|due| due <= now) {
                self.report(now);
            } else if !self.run_task(now) {
                return;
            }
        }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Leave => {
                self.flood.stop();
                self.radio = Radio::Probing(None);
            }
            Step::Tune(channel) => {
                self.tune = Some(channel);
                self.radio = Radio::Probing(Some(channel));
            }
            Step::Beacon {
                channel,
                number,
                sfd,
            } => {
                let beacon = Beacon {
                    from: self.id,
                    campaign: self.campaign,
                    channel,
                    number,
                };
                let bytes = usize::from(self.config.beacon_bytes);
                if let Ok(frame) = FrameBuf::build(|w| beacon.emit(w, bytes)) {
                    self.beacon_frame = frame;
                    self.beacon = Some((channel, sfd));
                }
            }
            Step::Return => {
                self.measuring = Measuring::Nothing;
                self.radio = Radio::Floods;
                self.flood.listen();
            }
        }
    }

    fn agenda_due(&self) -> Option<Instant> {
        let (slot, _) = self.agenda.as_ref()?.peek()?;
        Some(slot.saturating_sub(lead(&self.timing)))
    }

    /// Begins the flood of this node's next slot.
    fn report(&mut self, now: Instant) {
        let Some(agenda) = &mut self.agenda else {
            return;
        };
        let Some((slot, frame)) = agenda.peek() else {
            return;
        };
        let (campaign, floor, long) = (agenda.campaign, agenda.floor, agenda.slot);
        agenda.advance();
        if agenda.peek().is_none() {
            self.agenda = None;
        }
        // A slot that has passed is lost: the sink asks again.
        if slot <= now {
            return;
        }
        if let Some(parameters) = self.swept(campaign) {
            let course = answer_course(parameters, long);
            return self.report_levels(now, slot, course);
        }
        if let Ok(Some(content)) = report_frame(&self.table, campaign, floor, frame, self.health) {
            let n_tx = self.config.report_n_tx;
            // Fits: a report's frame is built to.
            let _ = self.flood.start(now, &content, n_tx, When::At(slot));
        }
    }

    fn count_beacon(&mut self, event: &RadioEvent<'_>, listening: Channel) {
        let RadioEvent::Frame {
            mpdu, rssi, sfd, ..
        } = *event
        else {
            return;
        };
        let Measuring::BeaconTurn(turn) = &self.measuring else {
            return self.count_in_sweep((mpdu, sfd), rssi, listening);
        };
        let Ok(beacon) = Beacon::parse(mpdu) else {
            return;
        };
        let announce = turn.announce;
        let wanted = (announce.node, announce.campaign, listening);
        if (beacon.from, beacon.campaign, beacon.channel) == wanted {
            self.table.record(beacon.from, listening, rssi);
        }
    }
}

impl<const NEIGHBOURS: usize, const NODES: usize, G: Guard> Engine
    for Floodnet<NEIGHBOURS, NODES, G>
{
    type Command = Command<NODES>;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| self.flood.wants())
    }

    fn handle_command(&mut self, now: Instant, command: Command<NODES>) {
        self.forget_reach();
        match command {
            Command::Listen => return self.listen(now),
            Command::Stop => return self.stop(now),
            Command::Flood {
                payload,
                insistence,
                begin,
            } => self.order_flood(now, &payload, insistence, begin),
            Command::Measure(measure) => self.order_measure(now, measure),
            Command::Collect(collect) => self.order_collect(now, collect),
            Command::Sweep(sweep) => self.order_sweep(now, sweep),
        }
        self.run(now);
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        // Frames of a hostile air come faster than any time-out: each is read before the next is taken.
        if self.unattended.is_some() && matches!(event, RadioEvent::Frame { .. }) {
            self.run(at);
        }
        if radio != RadioId(0) {
            return;
        }
        if event.answers() == Some(BEACON) {
            self.beacon_armed = false;
        }
        match self.radio {
            Radio::Probing(listening) if event.answers().is_none() => {
                if let Some(channel) = listening {
                    self.count_beacon(&event, channel);
                }
            }
            Radio::Probing(_) => self.flood.handle_radio(&event, None),
            Radio::Floods => {
                // A node that missed the announcement lacks the key of its beacons.
                if self.guard.sealing() == Sealing::Open {
                    self.join_sweep(&event);
                }
                self.flood.handle_radio(&event, self.ring());
            }
        }
        match event {
            // A relay has a gap's time to send it on; what it carries takes longer to read.
            RadioEvent::Frame { .. } if self.flood.wants_radio() => self.unattended = Some(at),
            _ => self.run(at),
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        self.flood.handle_timeout(at);
        self.run(at);
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        // What the floods take back comes before what a turn wants.
        if self.flood.wants_radio() {
            return self.flood.poll_radio();
        }
        if let Some(channel) = self.tune.take() {
            return Some(Request::new(TUNE, radio::listen(channel)));
        }
        let (channel, sfd) = self.beacon.take()?;
        self.beacon_armed = true;
        let beacon = radio::stream(&self.beacon_frame, channel, When::At(sfd));
        Some(Request::new(BEACON, beacon))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = sooner(self.measuring.due(), self.agenda_due());
        let own = sooner(own, sooner(self.task_due(), self.repeating_due()));
        sooner(own, sooner(self.flood.poll_timeout(), self.unattended))
    }

    fn poll_event(&mut self) -> Option<Event> {
        if let Some(links) = &mut self.links {
            if let Some(link) = links.next() {
                return Some(Event::Link(link));
            }
            self.links = None;
        }
        self.events.pop().or_else(|| self.poll_collection())
    }
}
