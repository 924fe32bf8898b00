//! The nodes of a site on their tree: routes settle, flows begin, incidents happen.
//!
//! The sinks beside the base stations are an experiment's ([`run`]) or a session's ([`TreeNetwork`](super::TreeNetwork)).
//! Time base: simulated time.

use super::incident::Incident;
use super::mote::{Program, ProgramEvent, ProgramOrder, Synthetic};
use super::outcome::Outcome;
use super::pacing::{HasRate, Pacing};
use super::program::{program, seals};
use super::setup::{Flow, Settle, Setup, Transport, Tree};
use super::upper::Sinks;
use crate::convergecast::{stack, RunError};
use crate::security::simulated_keys;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::fusion::Fusion;
use thalweg_protocols::ifrc::{self, Ifrc};
use thalweg_protocols::rcrt::sink::Sink;
use thalweg_protocols::rcrt::source::{Order, Supply};
use thalweg_protocols::rcrt::{Handed, Notes, Send};
use thalweg_protocols::stack::{Command, Config, Discipline, Event, Node, Open};
use thalweg_protocols::stack::{Schedule, MAX_QUEUE};
use thalweg_protocols::tree::Role;
use thalweg_sim::{Aired, Capture, Kind, Network, Observer, SimError};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Duration, Instant, NodeId, SimTime};
use thalweg_wire::rcrt::Rate;

/// Nodes that a relay has routes down to: what RCRT's authors took.
const DOWN: usize = 90;
/// How often rates and parents are sampled.
const SAMPLE: Duration = Duration::from_secs(1);

/// A route has at most so many links: the stack drops packets after more.
const MOST_HOPS: usize = 32;

/// Time between an application's readings where IFRC decides how many of them are sent: less than its rates
/// ever ask for.
const READINGS_EVERY: Duration = Duration::from_millis(60);

/// Room in a node's queue under IFRC.
const IFRC_QUEUE: usize = ifrc::QUEUE as usize;

/// A base station, by index, and what it handed up.
type Incoming = (usize, Handed);

/// Notes events; a run breaks at each packet in, so that the sink beside the base station can answer.
struct Watch<'a> {
    outcome: &'a mut Outcome,
    incoming: Option<Incoming>,
}

impl Observer<Event<ProgramEvent>> for Watch<'_> {
    fn event(&mut self, _at: SimTime, node: usize, event: Event<ProgramEvent>) -> ControlFlow<()> {
        match event {
            Event::Upper(ProgramEvent::Base(handed)) => {
                self.incoming = Some((node, handed));
                return ControlFlow::Break(());
            }
            event => self.outcome.node_event(node, &event),
        }
        ControlFlow::Continue(())
    }
    fn aired(&mut self, frame: &Aired<'_>) {
        if frame.kind == Kind::Data {
            self.outcome.aired(frame);
        }
    }
}

/// The nodes of a site, switched on.
pub(super) struct Trees<D: Discipline, S: Supply, const QUEUE: usize> {
    pub(super) network: Network<Node<D, Program<S>, DOWN, QUEUE>, Ether>,
    pub(super) testbed: Arc<Testbed>,
    /// What happened since [`Self::settle`]; before, nothing is noted.
    pub(super) outcome: Outcome,
    setup: Setup,
    seed: u64,
    agenda: Agenda,
    /// When to sample next.
    sample: SimTime,
}

impl<D: HasRate, S: Supply, const QUEUE: usize> Trees<D, S, QUEUE> {
    /// The nodes of `site`, each with a discipline in its stack and a supply of packets. Flows begin at once, unless
    /// [`Self::settle`] comes first.
    pub(super) fn open(
        site: &Site,
        setup: Setup,
        (discipline, supply): (impl Fn(NodeId) -> D, impl Fn(usize, NodeId) -> S),
        seed: u64,
        capture: Option<Box<dyn Capture>>,
    ) -> Result<Self, RunError> {
        let (mut board, _) = stack(&site.board)?;
        board.tx_power = setup.power.unwrap_or(site.board.tx_power);
        let testbed = site.testbed.clone();
        let id = |n: usize| testbed.id_of(n).unwrap_or(NodeId::MAX);
        let reach =
            Reach::of_environment(&site.environment, board.chip, setup.channel, board.tx_power);
        let keys = setup.sealed.map(|_| simulated_keys(site.seed));
        let engine = |n: usize| {
            let is_base = setup.bases.contains(&n);
            let config = Config {
                id: id(n),
                channel: setup.channel,
                mac: if is_base { setup.base_mac } else { setup.mac },
                role: if is_base { Role::Sink } else { Role::Router },
                routing: setup.routing,
                queue: setup.queue,
                seed: derive(seed, "node", &[n as u64]),
            };
            let seals = keys.as_ref().and_then(|keys| seals(&setup, keys, id(n)));
            let program = program(&setup, n, || supply(n, id(n)), seals);
            Node::new(config, discipline(id(n)), program)
        };
        let engines = (0..testbed.len()).map(engine).collect();
        let mut network = Network::on(Ether::new(reach, seed), &[board], engines, seed)?;
        network.capture(capture).map_err(SimError::from)?;
        for n in 0..testbed.len() {
            network.command(n, Command::Start);
        }
        Ok(Self {
            network,
            testbed,
            outcome: Outcome::default(),
            agenda: agenda(&setup, SimTime::ZERO, seed),
            setup,
            seed,
            sample: SimTime::ZERO,
        })
    }

    pub(super) fn now(&self) -> SimTime {
        self.network.now()
    }

    /// Waits until routes have settled; then flows begin and are noted. Once a second `progress` is shown how many of how
    /// many sources have a route to a base station, and may stop it.
    pub(super) fn settle(
        &mut self,
        mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RunError> {
        let (Settle::For(most) | Settle::UntilRoutes(most)) = self.setup.settle;
        let nodes = 0..self.testbed.len();
        let ids = nodes.clone().map(|n| self.testbed.id_of(n));
        let ids = ids.map(|id| id.unwrap_or(NodeId::MAX)).collect();
        self.outcome = Outcome::new(&self.setup, ids);
        let ends = SimTime::ZERO + most;
        let of = self.setup.flows.len();
        let stopped = loop {
            let routed = self
                .setup
                .flows
                .iter()
                .filter(|f| self.has_route(f))
                .count();
            let stopped = progress(routed, of);
            let is_settled = matches!(self.setup.settle, Settle::UntilRoutes(_)) && routed == of;
            if stopped.is_break() || is_settled || self.now() >= ends {
                break stopped;
            }
            let until = (self.now() + SAMPLE).min(ends);
            let (outcome, incoming) = (&mut self.outcome, None);
            (self.network).run_with(until, &mut Watch { outcome, incoming })?;
        };
        let begins = self.now();
        if self.setup.tree == Tree::Static {
            nodes.for_each(|n| self.network.command(n, Command::Pin));
        }
        self.outcome.begin(begins);
        self.agenda = agenda(&self.setup, begins, self.seed);
        self.sample = begins;
        Ok(stopped)
    }
    fn has_route(&self, flow: &Flow) -> bool {
        let parent = |n: &usize| {
            let parent = self.network.engine(*n).stack().router().parent()?;
            self.testbed.index_of(parent)
        };
        let mut route = std::iter::successors(Some(flow.node), parent).take(MOST_HOPS + 1);
        route.any(|n| self.setup.bases.contains(&n))
    }

    /// Runs until a base station hands something up, but at most to `until`, the next sample or the next order to a node.
    /// `sinks` are sampled each second.
    pub(super) fn next(
        &mut self,
        until: SimTime,
        sinks: &[Sink],
    ) -> Result<Option<Incoming>, SimError> {
        let now = self.now();
        if self.sample <= now {
            self.take_sample(sinks);
            self.sample = now + SAMPLE;
        }
        while let Some((_, n, command)) = self.agenda.pop_if(|(at, ..)| *at <= now) {
            self.network.command(n, command);
        }
        let next = self.agenda.last().map_or(until, |(at, ..)| until.min(*at));
        let mut watch = Watch {
            outcome: &mut self.outcome,
            incoming: None,
        };
        (self.network).run_with(next.min(self.sample), &mut watch)?;
        let incoming = watch.incoming;
        if let Some((
            _,
            Handed::Packet {
                origin,
                number,
                message,
                ..
            },
        )) = &incoming
        {
            (self.outcome).arrived(self.network.now(), *origin, *number, message);
        }
        Ok(incoming)
    }
    /// Base station `base` sends a message down.
    pub(super) fn send(&mut self, base: usize, send: Send) {
        self.outcome.sent_down(&send);
        (self.network).command(base, Command::Upper(ProgramOrder::Send(send)));
    }
    /// The outcome.
    pub(super) fn finish(mut self, sinks: &[Sink]) -> Result<Outcome, SimError> {
        self.take_sample(sinks);
        self.network.capture(None).map_err(SimError::from)?;
        let air_frames = self.network.stats().air_frames;
        self.outcome.finish(self.network.now(), air_frames);
        Ok(self.outcome)
    }

    /// Notes rates and parents.
    fn take_sample(&mut self, sinks: &[Sink]) {
        let (now, network) = (self.network.now(), &self.network);
        let stack = |n: usize| network.engine(n).stack();
        self.outcome
            .sample(now, sinks, |n| stack(n).router().parent());
        self.outcome
            .sample_nodes(now, |n| stack(n).discipline().rate());
    }
}

/// Runs `setup` at `site`, every node with `pacing` in its stack; writes frames to `capture`.
///
/// # Errors
/// Where the simulation fails, or nodes and boards do not suit each other.
pub fn run(
    site: &Site,
    setup: &Setup,
    pacing: Pacing,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let is_base = |id| {
        let mut bases = setup.bases.iter();
        bases.any(|n| site.testbed.id_of(*n) == Some(id))
    };
    match pacing {
        Pacing::Open => run_paced::<_, MAX_QUEUE>(site, setup, |_| Open, seed, capture),
        Pacing::Notes => run_paced::<_, MAX_QUEUE>(site, setup, |_| Notes, seed, capture),
        Pacing::Fusion(strategy) => {
            let fusion = |id| Fusion::new(id, strategy);
            run_paced::<_, MAX_QUEUE>(site, setup, fusion, seed, capture)
        }
        Pacing::Ifrc => {
            let ifrc = |id: NodeId| match is_base(id) {
                true => Ifrc::base(id),
                false => Ifrc::new(id),
            };
            run_paced::<_, IFRC_QUEUE>(site, setup, ifrc, seed, capture)
        }
    }
}

/// [`run`] with `discipline` in every node's stack, whose queue has room for `QUEUE`.
fn run_paced<D: HasRate, const QUEUE: usize>(
    site: &Site,
    setup: &Setup,
    discipline: impl Fn(NodeId) -> D,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let bytes = usize::from(setup.payload_bytes);
    let supply =
        |n: usize, id: NodeId| Synthetic::new(id, setup.packets_of(n), bytes, setup.buffer);
    let nodes = (discipline, supply);
    let mut trees = Trees::<D, _, QUEUE>::open(site, setup.clone(), nodes, seed, capture)?;
    let _ = trees.settle(|_, _| ControlFlow::Continue(()))?;
    let mut upper = Sinks::of(setup);
    let ends = trees.now() + setup.limit;
    while trees.now() < ends && !trees.outcome.is_done() {
        let due = upper.poll_timeout();
        let due = due.map_or(ends, |at| SimTime::from_nanos(at.as_nanos()));
        let incoming = trees.next(due.min(ends), &upper.sinks)?;
        let now = instant(trees.now());
        if let Some((
            base,
            Handed::Packet {
                origin, message, ..
            },
        )) = incoming
        {
            upper.receive(now, base, origin, &message);
        }
        if upper.poll_timeout().is_some_and(|at| at <= now) {
            upper.handle_timeout(now);
        }
        while let Some((base, send)) = upper.poll_message(now) {
            trees.send(base, send);
        }
        upper.report(now, &mut trees.outcome);
    }
    Ok(trees.finish(&upper.sinks)?)
}

/// Sinks beside base stations have an exact clock.
const fn instant(at: SimTime) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

type Agenda = Vec<(SimTime, usize, Command<ProgramOrder>)>;

/// Orders to nodes in the course of a run, the last first. Flows begin within one packet of their
/// time, each at a phase of its own.
fn agenda(setup: &Setup, begins: SimTime, seed: u64) -> Agenda {
    let flow = |flow: &Flow| {
        let period = Duration::from_secs_f64(1.0 / flow.demand.max(1e-3));
        let ids = [flow.node as u64, u64::from(flow.sink)];
        let phase = uniform(&mut stream(seed, "workload", &ids)) * period.as_secs_f64();
        let at = begins + flow.at + Duration::from_secs_f64(phase);
        let first = Instant::from_nanos(at.as_nanos());
        let order = match setup.transport {
            Transport::BestEffort => ProgramOrder::Readings(Schedule {
                first,
                period,
                until: first + period * u64::from(flow.packets),
                burst: 1,
            }),
            Transport::Ifrc => ProgramOrder::Readings(Schedule {
                first,
                period: READINGS_EVERY,
                until: Instant::from_nanos((begins + setup.limit).as_nanos()),
                burst: 1,
            }),
            Transport::Rcrt(_) => ProgramOrder::Source(Order::Open {
                flow: thalweg_wire::rcrt::Flow {
                    sink: flow.sink,
                    number: 0,
                },
                connection: 1,
                demand: Rate::from_per_s(flow.demand),
            }),
        };
        (at, flow.node, Command::Upper(order))
    };
    let mut agenda: Agenda = setup.flows.iter().map(flow).collect();
    for &(at, n, what) in &setup.incidents {
        let at = begins + at;
        match what {
            Incident::Dies => agenda.push((at, n, Command::Stop)),
            Incident::Starts => {
                agenda.push((at, n, Command::Start));
                let resume = ProgramOrder::Source(Order::Resume);
                agenda.push((at, n, Command::Upper(resume)));
            }
        }
    }
    agenda.sort_by_key(|(at, ..)| *at);
    agenda.reverse();
    agenda
}
