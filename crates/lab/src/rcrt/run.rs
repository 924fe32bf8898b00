//! One run: routes settle, flows begin, incidents happen, until every flow has ended.

use super::mote::{Heard, Part, Says, Synthetic};
use super::outcome::Outcome;
use super::setup::{Incident, Setup, Transport};
use super::upper::Upper;
use crate::convergecast::{stack, RunError};
use std::ops::ControlFlow;
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::rcrt::sink::{policy, Sink};
use thalweg_protocols::rcrt::source::{Config as SourceConfig, Order, Source};
use thalweg_protocols::rcrt::{Base, Handed};
use thalweg_protocols::stack::{Application, Command, Config, Discipline, Event, Node};
use thalweg_protocols::stack::{Readings, Schedule};
use thalweg_protocols::tree::Role;
use thalweg_sim::{Aired, Capture, Kind, Network, Observer, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{Duration, Instant, NodeId, SimTime};
use thalweg_wire::rcrt::{Rate, DATA_HEADER_BYTES};
use thalweg_wire::FrameBuf;

/// Nodes that a relay has routes down to: what RCRT's authors took.
const DOWN: usize = 90;
/// Rates and parents are looked at as often.
const SAMPLE: Duration = Duration::from_secs(1);

type Net<D> = Network<Node<D, Part, DOWN>, Ether>;

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

/// Runs `setup` at `site` with `discipline` in every node's stack; writes frames to `capture`.
///
/// # Errors
/// Where the simulation fails, or nodes and boards do not suit each other.
pub fn run<D: Discipline>(
    site: &Site,
    setup: &Setup,
    discipline: impl Fn(NodeId) -> D,
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
            mac: setup.mac,
            role: if is_base { Role::Sink } else { Role::Router },
            routing: setup.routing,
            queue: setup.queue,
            seed: derive(seed, "node", &[n as u64]),
        };
        Node::new(config, discipline(id(n)), part(setup, n, id(n)))
    };
    let engines = (0..testbed.len()).map(engine).collect();
    let mut network: Net<D> = Network::on(Ether::new(reach, seed), &[board], engines, seed)?;
    network.capture(capture).map_err(SimError::from)?;
    let begins = SimTime::ZERO + setup.settle;
    let mut outcome = Outcome::new(setup, (0..testbed.len()).map(id).collect(), begins);
    for n in 0..testbed.len() {
        network.command(n, Command::Start);
    }
    let mut watch = Watch {
        outcome: &mut outcome,
        incoming: None,
    };
    network.run_with(begins, &mut watch)?;
    let mut upper = Upper::new(sinks(setup));
    let mut agenda = agenda(setup, begins, seed);
    let ends = begins + setup.limit;
    let mut sample = begins;
    while network.now() < ends && !outcome.is_over() {
        let now = network.now();
        if sample <= now {
            let parent = |n: usize| network.engine(n).stack().router().parent();
            outcome.sample(now, upper.sinks(), parent);
            sample = now + SAMPLE;
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
        let now = Instant::from_nanos(network.now().as_nanos());
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
    let parent = |n: usize| network.engine(n).stack().router().parent();
    outcome.sample(network.now(), upper.sinks(), parent);
    network.capture(None).map_err(SimError::from)?;
    outcome.finish(network.now(), network.stats().air_frames);
    Ok(outcome)
}

fn part(setup: &Setup, n: usize, id: NodeId) -> Part {
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
        Transport::Rcrt(_) => {
            let supply = Synthetic::new(id, setup.packets_of(n), bytes, setup.buffer);
            Part::Source(Box::new(Source::new(SourceConfig::PAPER, supply)))
        }
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
