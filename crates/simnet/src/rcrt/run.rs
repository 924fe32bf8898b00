//! One run: routes settle, flows begin, incidents happen, until every flow has ended.

use super::incident::Incident;
use super::mote::{Heard, Part, Says, Synthetic};
use super::outcome::Outcome;
use super::setup::{Settle, Setup, Transport, Tree};
use super::upper::{Sinks, Stage, Upper};
use crate::convergecast::{stack, RunError};
use std::ops::ControlFlow;
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::fusion::Fusion;
use thalweg_protocols::ifrc::Ifrc;
use thalweg_protocols::rcrt::sink::{policy, Sink};
use thalweg_protocols::rcrt::source::{Order, Source, Supply};
use thalweg_protocols::rcrt::{Base, Handed, Notes};
use thalweg_protocols::stack::{Application, Command, Config, Discipline, Event, Node, Open};
use thalweg_protocols::stack::{Readings, Schedule};
use thalweg_protocols::tree::Role;
use thalweg_sim::{Aired, Capture, Kind, Network, Observer, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{Duration, Instant, NodeId, SimTime};
use thalweg_wire::rcrt::{Rate, DATA_HEADER_BYTES};
use thalweg_wire::FrameBuf;

/// Nodes that a relay has routes down to: what RCRT's authors took.
pub(super) const DOWN: usize = 90;
/// Rates and parents are looked at as often.
const SAMPLE: Duration = Duration::from_secs(1);

/// A way has at most so many links: the stack drops what went over more.
const MOST_HOPS: usize = 32;

type Net<D, S, const QUEUE: usize> = Network<Node<D, Part<S>, DOWN, QUEUE>, Ether>;

/// Time between an application's readings where IFRC decides how many of them are sent: less than its rates
/// ever ask for.
const READINGS_EVERY: Duration = Duration::from_millis(60);

/// A discipline that may give its node a rate.
pub trait Paced: Discipline {
    /// Packets per second that the node may send itself; none where a sink decides, or nobody.
    fn rate(&self) -> Option<f64> {
        None
    }
}

impl Paced for Open {}

impl Paced for Fusion {}

impl Paced for Notes {}

impl Paced for Ifrc {
    fn rate(&self) -> Option<f64> {
        Some(f64::from(Self::rate(self)))
    }
}

/// A packet that came in at a base station.
struct Incoming {
    base: usize,
    origin: NodeId,
    number: u16,
    message: FrameBuf,
}

/// Sees what comes in; a run breaks there, so that the upper tier can answer.
struct Watch<'a> {
    outcome: &'a mut Outcome,
    incoming: Option<Incoming>,
}

impl Observer<Event<Heard>> for Watch<'_> {
    fn told(&mut self, _at: SimTime, node: usize, event: Event<Heard>) -> ControlFlow<()> {
        match event {
            Event::Above(Heard::Base(Handed::Packet {
                origin,
                number,
                message,
                ..
            })) => {
                self.incoming = Some(Incoming {
                    base: node,
                    origin,
                    number,
                    message,
                });
                return ControlFlow::Break(());
            }
            event => self.outcome.told(node, &event),
        }
        ControlFlow::Continue(())
    }
    fn aired(&mut self, frame: &Aired<'_>) {
        if frame.kind == Kind::Data {
            self.outcome.aired(frame);
        }
    }
}

/// Runs `setup` at `site` with `discipline` in every node's stack, whose queue has room for `QUEUE`; writes frames to
/// `capture`.
///
/// # Errors
/// Where the simulation fails, or nodes and boards do not suit each other.
pub fn run<D: Paced, const QUEUE: usize>(
    site: &Site,
    setup: &Setup,
    discipline: impl Fn(NodeId) -> D,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let bytes = usize::from(setup.payload_bytes);
    let supply =
        |n: usize, id: NodeId| Synthetic::new(id, setup.packets_of(n), bytes, setup.buffer);
    let mut upper = Sinks::new(sinks(setup));
    let nodes = (discipline, supply);
    drive::<D, _, QUEUE>(site, setup, nodes, &mut upper, seed, capture)
}

/// The same where `upper` runs beside the base stations, and `supply` makes what a node by index and number sends.
///
/// # Errors
/// As [`run`].
pub(crate) fn drive<D: Paced, S: Supply, const QUEUE: usize>(
    site: &Site,
    setup: &Setup,
    (discipline, supply): (impl Fn(NodeId) -> D, impl Fn(usize, NodeId) -> S),
    upper: &mut impl Upper,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let (mut board, _) = stack(&site.board)?;
    board.tx_power = setup.power.unwrap_or(site.board.tx_power);
    let testbed = &site.testbed;
    let id = |n: usize| testbed.id_of(n).unwrap_or(NodeId::MAX);
    let reach = Reach::of_environment(&site.environment, board.chip, setup.channel, board.tx_power);
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
        Node::new(
            config,
            discipline(id(n)),
            part(setup, n, || supply(n, id(n))),
        )
    };
    let engines = (0..testbed.len()).map(engine).collect();
    let mut network: Net<D, S, QUEUE> =
        Network::on(Ether::new(reach, seed), &[board], engines, seed)?;
    network.capture(capture).map_err(SimError::from)?;
    let mut outcome = Outcome::new(setup, (0..testbed.len()).map(id).collect());
    for n in 0..testbed.len() {
        network.command(n, Command::Start);
    }
    let index_of = |id: NodeId| testbed.index_of(id);
    let mut stopped = settle(setup, &mut network, &mut outcome, upper, index_of)?;
    let begins = network.now();
    if setup.tree == Tree::Static {
        (0..testbed.len()).for_each(|n| network.command(n, Command::Pin));
    }
    outcome.begin(begins);
    upper.begin(instant(begins));
    let mut agenda = agenda(setup, begins, seed);
    let ends = begins + setup.limit;
    let mut sample = begins;
    while network.now() < ends && stopped.is_continue() {
        let now = network.now();
        if upper.is_over(instant(now), &outcome) {
            break;
        }
        if sample <= now {
            look(&mut outcome, &network, upper.sinks());
            sample = now + SAMPLE;
            stopped = upper.look(instant(now), Stage::Running);
        }
        while let Some((_, n, command)) = agenda.pop_if(|(at, ..)| *at <= now) {
            network.command(n, command);
        }
        let due = upper
            .poll_timeout()
            .map(|at| SimTime::from_nanos(at.as_nanos()));
        let next = [Some(sample), due, agenda.last().map(|(at, ..)| *at)];
        let until = next.into_iter().flatten().fold(ends, SimTime::min);
        let mut watch = Watch {
            outcome: &mut outcome,
            incoming: None,
        };
        network.run_with(until, &mut watch)?;
        let incoming = watch.incoming;
        let now = instant(network.now());
        if let Some(packet) = incoming {
            outcome.arrived(network.now(), packet.origin, packet.number, &packet.message);
            upper.receive(now, packet.base, packet.origin, &packet.message);
        }
        if upper.poll_timeout().is_some_and(|at| at <= now) {
            upper.handle_timeout(now);
        }
        while let Some((base, send)) = upper.poll_message(now) {
            outcome.answered(&send);
            network.command(base, Command::Above(Says::Send(send)));
        }
        upper.tell(now, &mut outcome);
    }
    look(&mut outcome, &network, upper.sinks());
    network.capture(None).map_err(SimError::from)?;
    outcome.finish(network.now(), network.stats().air_frames);
    Ok(outcome)
}

/// Notes rates and parents.
fn look<D: Paced, S: Supply, const QUEUE: usize>(
    outcome: &mut Outcome,
    network: &Net<D, S, QUEUE>,
    sinks: &[Sink],
) {
    let stack = |n: usize| network.engine(n).stack();
    let now = network.now();
    outcome.sample(now, sinks, |n| stack(n).router().parent());
    outcome.sample_nodes(now, |n| stack(n).discipline().rate());
}

/// The clock of what runs beside base stations is true.
const fn instant(at: SimTime) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

/// Gives routes their time.
fn settle<D: Paced, S: Supply, const QUEUE: usize>(
    setup: &Setup,
    network: &mut Net<D, S, QUEUE>,
    outcome: &mut Outcome,
    upper: &mut impl Upper,
    index_of: impl Fn(NodeId) -> Option<usize>,
) -> Result<ControlFlow<()>, RunError> {
    let (Settle::For(most) | Settle::UntilRoutes(most)) = setup.settle;
    let ends = SimTime::ZERO + most;
    let of = setup.flows.len();
    loop {
        let parent = |n: &usize| index_of(network.engine(*n).stack().router().parent()?);
        let is_base = |n: &usize| setup.bases.contains(n);
        let way = |n: usize| std::iter::successors(Some(n), parent).take(MOST_HOPS + 1);
        let has_way = |flow: &&super::setup::Flow| way(flow.node).any(|n| is_base(&n));
        let routed = setup.flows.iter().filter(has_way).count();
        let stage = Stage::Settling { routed, of };
        let stopped = upper.look(instant(network.now()), stage);
        let is_settled = matches!(setup.settle, Settle::UntilRoutes(_)) && routed == of;
        if stopped.is_break() || is_settled || network.now() >= ends {
            return Ok(stopped);
        }
        let until = (network.now() + SAMPLE).min(ends);
        let incoming = None;
        network.run_with(until, &mut Watch { outcome, incoming })?;
    }
}

fn part<S: Supply>(setup: &Setup, n: usize, supply: impl FnOnce() -> S) -> Part<S> {
    let bytes = usize::from(setup.payload_bytes);
    if setup.bases.contains(&n) {
        return Part::Base(Box::new(Base::new()));
    }
    match setup.transport {
        // As many bytes on the air as with a transport.
        Transport::BestEffort => Part::Readings(Readings::new(
            Application::Insists,
            bytes + DATA_HEADER_BYTES,
        )),
        Transport::Ifrc => Part::Readings(Readings::new(Application::Fills, bytes)),
        Transport::Rcrt(_) => Part::Source(Box::new(Source::new(setup.source, supply()))),
    }
}

fn sinks(setup: &Setup) -> Vec<Sink> {
    let Transport::Rcrt(sinks) = &setup.transport else {
        return Vec::new();
    };
    let sink = |s: &super::setup::Sink| policy::named(&s.policy).map(|p| Sink::new(s.config, p));
    sinks.iter().filter_map(sink).collect()
}

type Agenda = Vec<(SimTime, usize, Command<Says>)>;

/// What nodes are told in the course of a run, the last first. Flows begin within one packet of their
/// time, each at a phase of its own.
fn agenda(setup: &Setup, begins: SimTime, seed: u64) -> Agenda {
    let flow = |flow: &super::setup::Flow| {
        let period = Duration::from_secs_f64(1.0 / flow.demand.max(1e-3));
        let ids = [flow.node as u64, u64::from(flow.sink)];
        let phase = uniform(&mut stream(seed, "workload", &ids)) * period.as_secs_f64();
        let at = begins + flow.at + Duration::from_secs_f64(phase);
        let first = Instant::from_nanos(at.as_nanos());
        let order = match setup.transport {
            Transport::BestEffort => Says::Readings(Schedule {
                first,
                period,
                until: first + period * u64::from(flow.packets),
                burst: 1,
            }),
            Transport::Ifrc => Says::Readings(Schedule {
                first,
                period: READINGS_EVERY,
                until: Instant::from_nanos((begins + setup.limit).as_nanos()),
                burst: 1,
            }),
            Transport::Rcrt(_) => Says::Source(Order::Open {
                flow: thalweg_wire::rcrt::Flow {
                    sink: flow.sink,
                    number: 0,
                },
                connection: 1,
                demand: Rate::from_per_s(flow.demand),
            }),
        };
        (at, flow.node, Command::Above(order))
    };
    let mut agenda: Agenda = setup.flows.iter().map(flow).collect();
    for &(at, n, what) in &setup.incidents {
        let at = begins + at;
        match what {
            Incident::Dies => agenda.push((at, n, Command::Stop)),
            Incident::Starts => {
                agenda.push((at, n, Command::Start));
                let resume = Says::Source(Order::Resume);
                agenda.push((at, n, Command::Above(resume)));
            }
        }
    }
    agenda.sort_by_key(|(at, ..)| *at);
    agenda.reverse();
    agenda
}
