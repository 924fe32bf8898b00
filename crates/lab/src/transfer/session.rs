//! A network under the command of its sink: link survey, then transfers one after the other.
//!
//! Owns the simulated network and talks to it only as a gateway would: orders to the sink's node,
//! events from it. What it sees besides (energy, the engines' counts) goes into reports only.

use super::object::{digest, Memory};
use crate::testbed::Testbed;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_medium::Environment;
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::{Group as PlanGroup, LinkQualities, Place as PlanPlace, Plan};
use thalweg_protocols::collection::Collect;
use thalweg_protocols::linkprobe::{Measure, NodeList};
use thalweg_protocols::mote::{self, Mote};
use thalweg_protocols::object::ObjectStore;
use thalweg_protocols::pipeline::{self, Complete, End};
use thalweg_protocols::floodnet;
use thalweg_sim::{boards, Board, Energy, Network, SimError};
use thalweg_units::{BitRate, ChannelSet, Duration, Instant, NodeId, SimTime};
use thalweg_wire::phy;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Hopping, Member, PayloadSize, Percent, Route, Scheme};

use super::report::Outcome;

/// The most nodes that a sink's orders can name.
pub const MAX_NODES: usize = 256;

/// The engine of every node.
pub type Node = Mote<Memory, 160, MAX_NODES>;

/// How links are measured (P3, equation 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// On which channels.
    pub channels: ChannelSet,
    /// Beacons of each node on each channel, N_b.
    pub beacons: u8,
    /// Between beacons, IPI.
    pub interval: Duration,
}

impl Survey {
    /// Ten beacons (N_b of P3, section IV-D1) every 10 ms on each of `channels`.
    pub fn of(channels: ChannelSet) -> Self {
        Self { channels, beacons: 10, interval: Duration::from_millis(10) }
    }
}

/// What a survey brought, and what it cost.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The links.
    pub links: LinkQualities,
    /// Time of the measurement.
    pub measuring: Duration,
    /// Time of the collection.
    pub collecting: Duration,
    /// Nodes whose tables did not come in.
    pub missing: Vec<NodeId>,
}

/// How an object travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Over all paths of the plan.
    P3,
    /// Over one of them.
    Pip,
    /// Over one of them, its channels changing every two cycles.
    PipHopping,
}

impl Protocol {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P3 => "p3",
            Self::Pip => "pip",
            Self::PipHopping => "pip-hopping",
        }
    }
}

/// Terms of a transfer besides its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// Reception ratio below which relays of the last but one stage keep silent.
    pub threshold: Option<Percent>,
    /// After how many seconds a transfer is given up.
    pub deadline_s: u16,
    /// How often the sink tries to wake a route from which nothing comes.
    pub attempts: u32,
}

impl Default for Terms {
    /// Packets of the largest size, a threshold of 95 %, ten minutes, three attempts.
    fn default() -> Self {
        Self {
            payload: PayloadSize::MAX,
            threshold: Percent::new(95),
            deadline_s: 600,
            attempts: 3,
        }
    }
}

/// What is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A node's beacons begin.
    Measuring {
        /// Its turn, from 0.
        turn: u16,
        /// Of how many.
        of: u16,
    },
    /// A round of the collection is over.
    Collecting {
        /// Complete tables.
        complete: u16,
        /// Of how many.
        of: u16,
    },
    /// The wake-up floods have begun.
    WakingUp,
    /// Packets arrived at the sink.
    Packets {
        /// Rounds so far, from 1.
        round: u32,
        /// How many packets are there.
        received: u32,
        /// Object bits so far per time from the first wake-up packet.
        goodput: BitRate,
    },
}

/// Why a session could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The testbed has more nodes than a sink can order about.
    #[error("{nodes} nodes: link measurement and transfers take at most {MAX_NODES}")]
    TooManyNodes {
        /// How many it has.
        nodes: usize,
    },
    /// Boards of another kind are not simulated yet.
    #[error("board {0}: transfers run on telosb boards")]
    Board(&'static str),
    /// The route does not fit into what a wake-up message can say.
    #[error("a route of {hops} hops and {relays} relays does not fit a wake-up message")]
    Route {
        /// Its hops.
        hops: usize,
        /// Its relays.
        relays: usize,
    },
    /// The survey's terms are out of range.
    #[error("link measurement: {0}")]
    Measure(#[from] thalweg_protocols::linkprobe::MeasureError),
    /// The sink's node refused an order.
    #[error("the sink refused an order: {0}")]
    Refused(String),
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// The simulator could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] thalweg_sim::NetworkError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

/// A network and its gateway.
pub struct Session {
    name: String,
    ids: Vec<NodeId>,
    places: Option<Vec<PlanPlace>>,
    net: Network<Node>,
    board: Board,
    seed: u64,
    transfers: u16,
}

/// An observer of progress; it may break off.
pub type Observer<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;

impl Session {
    /// The nodes of `testbed` in `environment`, switched on; `seed` draws what differs between
    /// runs in the same environment.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(
        testbed: &Testbed,
        environment: Arc<Environment>,
        seed: u64,
    ) -> Result<Self, SessionError> {
        let ids: Vec<NodeId> = testbed.nodes.iter().map(|n| n.id).collect();
        if ids.len() > MAX_NODES {
            return Err(SessionError::TooManyNodes { nodes: ids.len() });
        }
        let board = match testbed.board {
            crate::testbed::Board::TelosB => boards::telosb(),
            other => return Err(SessionError::Board(other.name())),
        };
        let places = environment
            .ears
            .iter()
            .map(|ear| {
                ear.placement.map(|p| PlanPlace {
                    x_m: p.position.x_m,
                    y_m: p.position.y_m,
                    z_m: p.position.z_m,
                    floor: p.floor,
                })
            })
            .collect();
        let engines = ids
            .iter()
            .map(|id| {
                Node::new(*id, floodnet::Config::default(), board.timing, Memory::default())
            })
            .collect();
        let net = Network::new(environment, std::slice::from_ref(&board), engines, seed)?;
        let name = testbed.name.clone();
        Ok(Self { name, ids, places, net, board, seed, transfers: 0 })
    }

    /// The simulated network, for captures, faults and traces.
    pub fn network(&mut self) -> &mut Network<Node> {
        &mut self.net
    }
    /// The board of the nodes.
    pub fn board(&self) -> &Board {
        &self.board
    }
    /// Where the nodes are, if known.
    pub fn places(&self) -> Option<&[PlanPlace]> {
        self.places.as_deref()
    }

    /// Has the network measure its links and report them to node `sink`.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn survey(
        &mut self,
        sink: usize,
        survey: Survey,
        observer: Observer<'_>,
    ) -> Result<Surveyed, SessionError> {
        let ids = self.ids.clone();
        let nodes = NodeList::of(ids.iter().copied())
            .map_err(|why| SessionError::Refused(why.to_string()))?;
        let measure = Measure::new(nodes.clone(), survey.channels, survey.beacons, survey.interval)?;
        let mut surveyed = Surveyed {
            links: LinkQualities::new(ids.len()),
            measuring: Duration::ZERO,
            collecting: Duration::ZERO,
            missing: Vec::new(),
        };
        if let Some(places) = self.places.clone() {
            // One place for each node: both come from the environment.
            let _ = surveyed.links.set_places(places);
        }
        // Twice equation 1 and a minute: a bound, not a schedule.
        let turn = Duration::from_millis(10)
            + survey.interval * u64::from(survey.beacons) * survey.channels.len() as u64;
        let patience = turn * (2 * ids.len() as u64) + Duration::from_secs(60);
        self.order(sink, mote::Command::Measure(measure), patience, |_, event| match event {
            mote::Event::Floods(floodnet::Event::Probing { turn, of, .. }) => {
                told(observer(Step::Measuring { turn, of }))
            }
            mote::Event::Floods(floodnet::Event::Measured { time, .. }) => {
                surveyed.measuring = time;
                Break(Ok(()))
            }
            _ => Continue(()),
        })?;
        let index = |id: NodeId| ids.iter().position(|i| *i == id);
        let sent = u32::from(survey.beacons);
        let collect = mote::Command::Collect(Collect { nodes, floor: 1 });
        self.order(sink, collect, patience * 4, |_, event| match event {
            mote::Event::Floods(floodnet::Event::Link(link)) => {
                if let (Some(from), Some(to)) = (index(link.from), index(link.to)) {
                    let (received, rssi) = (u32::from(link.received).min(sent), Some(link.rssi));
                    // Both nodes are in the table, and no more is received than was sent.
                    let _ = surveyed.links.record(from, to, link.channel, received, sent, rssi);
                }
                Continue(())
            }
            mote::Event::Floods(floodnet::Event::Progress { complete, of }) => {
                told(observer(Step::Collecting { complete, of }))
            }
            mote::Event::Floods(floodnet::Event::Missing(missing)) => {
                surveyed.missing.push(missing.node);
                Continue(())
            }
            mote::Event::Floods(floodnet::Event::Collected { time, .. }) => {
                surveyed.collecting = time;
                Break(Ok(()))
            }
            _ => Continue(()),
        })?;
        Ok(surveyed)
    }

    /// Gives the sink's node an order and hands its events to `handler` until that breaks.
    fn order(
        &mut self,
        sink: usize,
        command: mote::Command<MAX_NODES>,
        patience: Duration,
        mut handler: impl FnMut(SimTime, mote::Event) -> ControlFlow<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        self.net.command(sink, command);
        self.follow(sink, patience, |at, event| match event {
            mote::Event::Refused(why) => Break(Err(SessionError::Refused(format!("{why:?}")))),
            mote::Event::Floods(floodnet::Event::Refused(why)) => {
                Break(Err(SessionError::Refused(format!("{why:?}"))))
            }
            event => handler(at, event),
        })
    }

    /// Offers `object` at node `source`.
    pub fn offer(&mut self, source: usize, object: Arc<[u8]>) {
        self.net.engine_mut(source).store_mut().offer(object);
    }

    /// Fetches the object that the plan's source offers. The outcome tells of a failure; what
    /// arrived comes with it where it is whole.
    ///
    /// # Errors
    /// [`SessionError`] where nothing can be said of the transfer.
    pub fn fetch(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        terms: &Terms,
        observer: Observer<'_>,
    ) -> Result<(Outcome, Option<Vec<u8>>), SessionError> {
        let active = active_nodes(plan, protocol);
        let mut log = Log::new(self.cycle(terms));
        for attempt in 1..=terms.attempts.max(1) {
            let route = self.route(plan, protocol, terms)?;
            self.net.engine_mut(plan.sink).store_mut().clear();
            self.run_transfer(plan.sink, &active, route, &mut log, observer)?;
            let nothing_came = log.received == 0 && log.complete.is_none();
            if !(nothing_came && attempt < terms.attempts && protocol == Protocol::P3) {
                break;
            }
        }
        Ok(self.outcome(plan, protocol, &active, terms, &log))
    }

    fn cycle(&self, terms: &Terms) -> Cycle {
        Cycle {
            payload_bytes: usize::from(terms.payload.bytes()),
            gap: self.board.timing.relay_gap(),
            ..Cycle::default()
        }
    }

    /// The plan as a wake-up message tells it.
    fn route(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        terms: &Terms,
    ) -> Result<Route, SessionError> {
        let relays = plan.stages.iter().map(Vec::len).sum();
        let too_much = SessionError::Route { hops: plan.hops, relays };
        let Some(channels) = Channels::new(&plan.channels) else { return Err(too_much) };
        self.transfers = self.transfers.wrapping_add(1);
        let scheme = match protocol {
            Protocol::P3 => Scheme::P3,
            Protocol::Pip => Scheme::Pip(Hopping::Fixed),
            Protocol::PipHopping => Scheme::Pip(Hopping::EveryCyclePair),
        };
        let (source, sink) = (self.ids[plan.source], self.ids[plan.sink]);
        let mut route = Route::new(self.transfers, source, sink, scheme, channels);
        route.payload = terms.payload;
        route.deadline_s = terms.deadline_s;
        let stage = |at: usize| at as u8;
        let added = match protocol {
            Protocol::P3 => {
                route.threshold = terms.threshold;
                plan.stages.iter().enumerate().try_for_each(|(at, members)| {
                    members.iter().try_for_each(|m| {
                        let group = match m.group {
                            PlanGroup::Odd => Group::Odd,
                            PlanGroup::Even => Group::Even,
                        };
                        route.add(Member { node: self.ids[m.node], stage: stage(at + 1), group })
                    })
                })
            }
            Protocol::Pip | Protocol::PipHopping => {
                let relays = &plan.pip.path[1..plan.pip.path.len() - 1];
                relays.iter().enumerate().try_for_each(|(at, node)| {
                    let group = Group::Odd;
                    route.add(Member { node: self.ids[*node], stage: stage(at + 1), group })
                })
            }
        };
        added.map_err(|_| too_much)?;
        Ok(route)
    }

    /// One wake-up and what follows, until the sink's part is over.
    fn run_transfer(
        &mut self,
        sink: usize,
        active: &[usize],
        route: Route,
        log: &mut Log,
        observer: Observer<'_>,
    ) -> Result<(), SessionError> {
        let patience = Duration::from_secs(u64::from(route.deadline_s) + 30);
        // The sink's node begins at the next meeting of its network, so the energy spent up to
        // the first wake-up packet is read when that is out.
        self.order(sink, mote::Command::Fetch(route), patience, |at, event| match event {
            mote::Event::WakeUp { .. } => {
                log.note(at, event);
                match observer(Step::WakingUp) {
                    Continue(()) => Break(Ok(())),
                    Break(()) => Break(Err(SessionError::Stopped)),
                }
            }
            _ => Continue(()),
        })?;
        if log.energy_before.is_none() {
            log.energy_before = Some(active.iter().map(|n| self.net.energy(*n)).collect());
        }
        self.follow(sink, patience, |at, event| {
            if let Some(step) = log.note(at, event) {
                if observer(step).is_break() {
                    return Break(Err(SessionError::Stopped));
                }
            }
            match log.complete.is_some() || log.end.is_some() {
                true => Break(Ok(())),
                false => Continue(()),
            }
        })?;
        log.energy_after = Some(active.iter().map(|n| self.net.energy(*n)).collect());
        if log.end.is_some() {
            return Ok(());
        }
        // The object is there; the sink's node lingers until the source knows.
        self.follow(sink, patience, |at, event| {
            log.note(at, event);
            match log.end {
                Some(_) => Break(Ok(())),
                None => Continue(()),
            }
        })
    }

    /// Hands the sink's events to `handler` until that breaks.
    fn follow(
        &mut self,
        sink: usize,
        patience: Duration,
        mut handler: impl FnMut(SimTime, mote::Event) -> ControlFlow<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        let deadline = self.net.now() + patience;
        let mut outcome = Err(SessionError::Refused(format!("no end within {patience}")));
        self.net.run_until(deadline, |at, node, event| {
            if node != sink {
                return Continue(());
            }
            match handler(at, event) {
                Continue(()) => Continue(()),
                Break(end) => {
                    outcome = end;
                    Break(())
                }
            }
        })?;
        outcome
    }

    fn outcome(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        active: &[usize],
        terms: &Terms,
        log: &Log,
    ) -> (Outcome, Option<Vec<u8>>) {
        let source = self.net.engine(plan.source).pipeline();
        let (stats, info) = (*source.stats(), source.store().info());
        let object = log.complete.map(|c| {
            self.net.engine_mut(plan.sink).store_mut().take(c.len as usize)
        });
        // What the sink can know: length and digest came with the source's requests.
        let verified = match (&object, &log.complete) {
            (Some(bytes), Some(c)) => {
                bytes.len() == c.object_len as usize && digest(bytes) == c.digest
            }
            _ => false,
        };
        let duration = log.duration();
        let bytes = if verified { u64::from(info.len) } else { 0 };
        let goodput = BitRate::of_bytes(bytes, duration);
        let spent = |energies: &Option<Vec<Energy>>| {
            energies.iter().flatten().map(Energy::joules).sum::<f64>()
        };
        let packets = f64::from(stats.packets.max(1));
        let rounds = log.complete.map_or(u32::from(stats.rounds), |c| u32::from(c.rounds));
        let first = log.complete.map_or(log.first_round, |c| Some(c.first_round));
        let outcome = Outcome {
            protocol: protocol.name().to_owned(),
            testbed: self.name.clone(),
            source: self.ids[plan.source].get(),
            sink: self.ids[plan.sink].get(),
            bytes,
            verified,
            goodput_kbps: goodput.kbps(),
            utilisation: goodput.bps() / self.cycle(terms).effective_rate().bps(),
            rounds,
            first_round_reliability: first.map(|f| f64::from(f) / packets),
            retransmitted: (stats.data_sent > 0)
                .then(|| f64::from(stats.retransmitted()) / f64::from(stats.data_sent)),
            active_nodes: active.len() as u32,
            hops: plan.hops as u32,
            paths: if protocol == Protocol::P3 { plan.path_count() as u32 } else { 1 },
            energy_j: spent(&log.energy_after) - spent(&log.energy_before),
            duration_s: duration.as_secs_f64(),
            wake_up_s: log.wake_up.as_secs_f64(),
            failure: (!verified).then(|| log.failure()),
            seed: self.seed,
        };
        (outcome, object.filter(|_| verified))
    }
}

/// Everyone who takes part.
fn active_nodes(plan: &Plan, protocol: Protocol) -> Vec<usize> {
    match protocol {
        Protocol::P3 => plan.active_nodes().into_iter().map(|(node, _)| node).collect(),
        Protocol::Pip | Protocol::PipHopping => plan.pip.path.clone(),
    }
}

fn told(flow: ControlFlow<()>) -> ControlFlow<Result<(), SessionError>> {
    match flow {
        Continue(()) => Continue(()),
        Break(()) => Break(Err(SessionError::Stopped)),
    }
}

/// What the sink told of one transfer, all its attempts together.
struct Log {
    cycle: Cycle,
    /// First symbol of the first wake-up packet: by the sink's clock, and by true time.
    began: Option<(Instant, SimTime)>,
    wake_up: Duration,
    /// When the last attempt failed.
    failed: Option<SimTime>,
    received: u32,
    round: u32,
    first_round: Option<u16>,
    complete: Option<Complete>,
    end: Option<End>,
    refused: Option<pipeline::SetupError>,
    energy_before: Option<Vec<Energy>>,
    energy_after: Option<Vec<Energy>>,
}

impl Log {
    fn new(cycle: Cycle) -> Self {
        Self {
            cycle,
            began: None,
            wake_up: Duration::ZERO,
            failed: None,
            received: 0,
            round: 1,
            first_round: None,
            complete: None,
            end: None,
            refused: None,
            energy_before: None,
            energy_after: None,
        }
    }

    fn note(&mut self, at: SimTime, event: mote::Event) -> Option<Step> {
        match event {
            mote::Event::WakeUp { reference, start } => {
                let first = reference.saturating_sub(phy::SFD_OFFSET);
                self.began.get_or_insert((first, at));
                self.wake_up = start.since(first);
                (self.end, self.round) = (None, 1);
                None
            }
            mote::Event::Pipeline(event) => self.note_pipeline(at, event),
            mote::Event::Floods(_) | mote::Event::Joined | mote::Event::Refused(_) => None,
        }
    }

    fn note_pipeline(&mut self, at: SimTime, event: pipeline::Event) -> Option<Step> {
        match event {
            pipeline::Event::Progress { received } => {
                self.received = u32::from(received);
                let bytes = u64::from(self.received) * self.cycle.payload_bytes as u64;
                let since = self.began.map_or(Duration::ZERO, |(_, began)| at.since(began));
                let goodput = BitRate::of_bytes(bytes, since);
                return Some(Step::Packets { round: self.round, received: self.received, goodput });
            }
            pipeline::Event::RoundReported { round, received, .. } => {
                if round == 0 {
                    self.first_round = Some(received);
                }
                self.round = u32::from(round) + 2;
            }
            pipeline::Event::Complete(complete) => {
                self.complete = Some(complete);
                self.received = u32::from(complete.packets);
            }
            pipeline::Event::Finished(end) => {
                self.end = Some(end);
                self.failed = Some(at);
            }
            pipeline::Event::Refused(why) => {
                self.refused = Some(why);
                self.end = Some(End::Stopped);
                self.failed = Some(at);
            }
            pipeline::Event::RoundSent { .. } => {}
        }
        None
    }

    /// From the first wake-up packet to the last data packet, by the sink's clock; to the end of
    /// the last attempt where the object did not arrive.
    fn duration(&self) -> Duration {
        match (self.began, self.complete, self.failed) {
            (Some((began, _)), Some(complete), _) => complete.last_packet.since(began),
            (Some((_, began)), None, Some(failed)) => failed.since(began),
            _ => Duration::ZERO,
        }
    }

    fn failure(&self) -> String {
        match (self.refused, self.complete, self.end) {
            (Some(why), _, _) => why.to_string(),
            (_, Some(_), _) => "what arrived has another digest than the object".to_owned(),
            (_, _, Some(End::GaveUp)) => "gave up: requests stayed unanswered".to_owned(),
            (_, _, Some(End::TimedOut)) if self.received == 0 => "nothing arrived".to_owned(),
            (_, _, Some(End::TimedOut)) => "nothing arrived any more".to_owned(),
            (_, _, Some(End::Released)) => "the source gave up".to_owned(),
            (_, _, end) => format!("ended early: {end:?}"),
        }
    }
}
