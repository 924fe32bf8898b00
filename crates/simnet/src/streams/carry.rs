//! Streams on simulated nodes: the host's job over a simulated network, plus what only a simulator has: nodes that die,
//! recorders and the nodes' counts.
//!
//! Time base: simulated time. Invariant: recording changes nothing of a run. Tests:
//! `crates/simnet/tests/all/streams/`.

use super::ground::links;
use super::{pip, Carrier, CollectError, Ground, Onlookers, Recorder, Terms};
use crate::motes::{RunError, SimNetwork};
use serde::Serialize;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_engine::Engine;
use thalweg_host::job::{run, Watch};
use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::object::{Holds, Memory};
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::transfer::stream::{
    EventKind, Fetch, LinkReport, Stream, StreamPath, StreamSetup,
};
use thalweg_host::transfer::{burst, fastforward};
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::burst::Burst;
use thalweg_protocols::fastforward::{FastForward, STREAMS};
use thalweg_sim::Board;
use thalweg_units::{BitRate, Duration, NodeId, SimTime};

/// Details of an object that a stream carried, beside its summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Streamed {
    /// What became of the stream; the object as it arrived is in it.
    pub stream: Stream,
    /// Kbit/s with every byte on the air counted, as FastForward's evaluation does.
    pub throughput_kbps: f64,
    /// The path, node ids from source to sink.
    pub path: Vec<u16>,
}

/// An object that was fetched, or not.
pub type Carried = Outcome<Streamed>;

/// An object, and where it goes.
pub type Load = (StreamPlan, Arc<[u8]>);

/// Nodes are asleep for so long before the first call.
const BEFORE: Duration = Duration::from_secs(2);

/// What can be read off a simulated node.
pub(super) trait Counted: Engine + Holds {
    /// Adds what it counted as the sender of a link.
    fn count(&self, _link: &mut LinkReport) {}
    /// The length of its queue, for protocols whose queues are recorded.
    fn queued(&self) -> Option<usize> {
        None
    }
}

impl Counted for FastForward<Memory> {
    fn count(&self, link: &mut LinkReport) {
        // A node on the path of one stream has one role; its counts are at that index.
        let counts = (0..STREAMS).map(|at| self.counts(at));
        let counts = counts.max_by_key(|counts| counts.sent).unwrap_or_default();
        link.sent = counts.sent;
        link.retransmissions = counts.retransmissions;
        link.unacknowledged = counts.unacknowledged;
        link.overflows = counts.overflows;
        link.withheld = counts.withheld;
        link.duplicates = counts.duplicates;
        link.queue_peak = u32::from(counts.queue_peak);
        link.queue_mean = f64::from(counts.queue_sum) / f64::from(counts.taken.max(1));
    }
    fn queued(&self) -> Option<usize> {
        Some((0..STREAMS).map(|at| self.queue_len(at)).sum())
    }
}

impl Counted for Burst<Memory> {
    fn count(&self, link: &mut LinkReport) {
        let counts = self.counts();
        link.sent = counts.sent;
        link.retransmissions = counts.retransmissions;
        link.unacknowledged = counts.dropped;
        link.duplicates = counts.duplicates;
        link.queue_peak = u32::from(counts.queue_peak);
        link.queue_mean = f64::from(counts.queue_sum) / f64::from(counts.taken.max(1));
    }
}

/// Streams on one ground.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) ground: &'a Ground,
    pub(super) terms: &'a Terms,
    pub(super) seed: u64,
}

impl Run<'_> {
    /// Carries all `loads`: FastForward at the same time, since a sink can take two; others one by one.
    pub(super) fn go(
        self,
        loads: &[Load],
        observer: Watch<'_>,
        onlookers: &mut Onlookers,
    ) -> Result<Vec<Carried>, CollectError> {
        let at_once = match self.terms.carrier {
            Carrier::FastForward(_) => loads.len().max(1),
            _ => 1,
        };
        let mut carried = Vec::new();
        for loads in loads.chunks(at_once) {
            carried.extend(self.together(loads, &mut *observer, onlookers)?);
        }
        Ok(carried)
    }

    fn together(
        self,
        loads: &[Load],
        observer: Watch<'_>,
        onlookers: &mut Onlookers,
    ) -> Result<Vec<Carried>, CollectError> {
        let (ground, stream) = (self.ground, self.terms.stream);
        let Some((plan, object)) = loads.first() else {
            return Ok(Vec::new());
        };
        let plan = match self.terms.carrier {
            Carrier::Pip(board) => {
                let run = (stream.payload_bytes, self.seed);
                let (plan, stream) = pip::run(ground, board, (plan, object), run, observer)?;
                return Ok(vec![self.outcome((&plan, object), stream)]);
            }
            Carrier::Burst => &ground.on_one_radio(plan),
            Carrier::FastForward(_) => plan,
        };
        let lane = |plan, object| {
            let ids: Vec<NodeId> = ground.site.testbed.nodes.iter().map(|n| n.id).collect();
            StreamPath::new(plan, &ids, object, stream.payload_bytes)
        };
        let first = lane(plan, object)?;
        let watching = (observer, onlookers);
        match self.terms.carrier {
            Carrier::FastForward(version) => {
                let lanes = loads.iter().map(|(plan, object)| lane(plan, object));
                let lanes = lanes.collect::<Result<_, _>>()?;
                let setup = fastforward::streams(version, lanes, stream)?;
                self.carry(setup, loads, watching)
            }
            Carrier::Burst | Carrier::Pip(_) => {
                let loads = [(plan.clone(), object.clone())];
                self.carry(burst::stream(first, stream), &loads, watching)
            }
        }
    }

    /// The nodes' board.
    fn board(&self) -> Board {
        Board {
            bus: self.terms.bus,
            ..self.ground.site.board.clone()
        }
    }

    /// Fetches `loads` by `setup` in a fresh network.
    fn carry<E: Counted>(
        self,
        setup: StreamSetup<E>,
        loads: &[Load],
        (observer, onlookers): (Watch<'_>, &mut Onlookers),
    ) -> Result<Vec<Carried>, CollectError> {
        let Self { ground, terms, .. } = self;
        let network = SimNetwork::of(&ground.site, &self.board(), &setup.node, self.seed);
        let mut network = network.map_err(RunError::from)?;
        let mut stations = Vec::new();
        for (plan, object) in loads {
            let ends = [plan.nodes.first(), plan.nodes.last()];
            if let [Some(source), _] = ends {
                network.offer(*source, object.clone());
            }
            stations.extend(ends.into_iter().flatten().copied());
        }
        if let Some((plan, _)) = loads.first() {
            onlookers.attach(&mut network.net, ground, terms.carrier.name(), plan)?;
        }
        let first_call = SimTime::ZERO + BEFORE;
        if let Some((node, after, fault)) = terms.death {
            network.net.fault_at(first_call + after, node, fault);
        }
        // What takes long to settle is set up while others sleep.
        let ordered = match setup.set_up.1 >= BEFORE {
            true => SimTime::ZERO,
            false => first_call,
        };
        let slept = network.net.run_until(ordered, |_, _, _| Continue(()));
        slept.map_err(RunError::from)?;
        network.hear(&stations);
        let mut watched = Watched {
            network,
            path: loads
                .first()
                .map_or_else(Vec::new, |(plan, _)| plan.nodes.clone()),
            classify: setup.classify,
            recorder: &mut onlookers.recorder,
            has_begun: false,
            has_ended: false,
        };
        let mut fetch = Fetch::new(setup).within(watched.network.ids());
        let streams = run(&mut watched, &mut fetch, observer);
        let (streams, mut network) = (streams?, watched.network);
        onlookers.capture = network.net.take_capture();
        let carried = streams
            .into_iter()
            .zip(loads)
            .map(|(mut stream, (plan, object))| {
                let node = |hop: usize| network.net.engine(plan.nodes[hop]);
                stream.links = links(network.ids(), plan, |hop, link| node(hop).count(link));
                self.outcome((plan, object), stream)
            });
        Ok(carried.collect())
    }

    fn ids(&self, nodes: &[usize]) -> Vec<u16> {
        let ids = self.ground.ids(nodes).into_iter();
        ids.map(NodeId::get).collect()
    }

    /// The outcome of `stream`.
    fn outcome(&self, (plan, object): (&StreamPlan, &[u8]), stream: Stream) -> Carried {
        let (testbed, terms) = (&self.ground.site.testbed, self.terms);
        let id = |n: &usize| testbed.id_of(*n).unwrap_or(testbed.sink);
        let path = &plan.nodes;
        let time = Duration::from_nanos((stream.seconds * 1e9) as u64);
        let goodput = BitRate::of_bytes(object.len() as u64, time).kbps();
        let summary = Summary {
            protocol: terms.carrier.name().to_owned(),
            testbed: testbed.name.clone(),
            source: path.first().map_or(testbed.sink, id),
            sink: path.last().map_or(testbed.sink, id),
            bytes: object.len() as u64,
            verified: stream.verified,
            sealed: false,
            goodput_kbps: if stream.verified { goodput } else { 0.0 },
            utilisation: None,
            rounds: stream.rounds,
            first_round_reliability: None,
            active_nodes: path.len() as u32,
            hops: plan.links.len() as u32,
            paths: 1,
            energy_j: stream.joules,
            network_energy_j: stream.network_joules,
            cold: None,
            waited_s: 0.0,
            duration_s: match stream.verified {
                true => stream.seconds,
                false => stream.elapsed_seconds,
            },
            attempts: 1,
            failure: (!stream.verified).then(|| stream.failure()),
            seed: self.ground.site.seed,
        };
        let details = Streamed {
            throughput_kbps: stream.throughput().kbps(),
            stream,
            path: self.ids(path),
        };
        Carried { summary, details }
    }
}

/// A network whose queues on the first stream's path are recorded while it flows.
struct Watched<'a, E: Engine> {
    network: SimNetwork<E>,
    path: Vec<usize>,
    classify: fn(&E::Event) -> (usize, EventKind),
    recorder: &'a mut Option<Recorder>,
    has_begun: bool,
    has_ended: bool,
}

impl<E: Counted> Layered for Watched<'_, E> {
    type Inner = SimNetwork<E>;

    fn inner(&self) -> &SimNetwork<E> {
        &self.network
    }
    fn inner_mut(&mut self) -> &mut SimNetwork<E> {
        &mut self.network
    }
    fn pass_on(&mut self, station: NodeId, order: E::Command) -> Result<(), NetworkFault> {
        self.has_ended = false;
        self.network.order(station, order)
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<SimNetwork<E>>, NetworkFault> {
        let Some(recorder) = self.recorder else {
            return self.network.next(until);
        };
        loop {
            let then = recorder.due(self.network.now()).min(until);
            let notice = self.network.next(then)?;
            if let Notice::Event(_, by, event) = &notice {
                let is_sink = self.path.last().map(|n| self.network.ids()[*n]) == Some(*by);
                match (self.classify)(event) {
                    (0, EventKind::Begun) => self.has_begun = true,
                    (0, EventKind::Ended(_)) if is_sink => self.has_ended = true,
                    _ => {}
                }
            }
            if self.has_begun && !self.has_ended {
                let queued = self
                    .path
                    .iter()
                    .map(|n| self.network.net.engine(*n).queued());
                if let Some(lengths) = queued.collect::<Option<Vec<_>>>() {
                    recorder.sample(self.network.now(), lengths.into_iter());
                }
            }
            if then >= until || !matches!(notice, Notice::Nothing) {
                return Ok(notice);
            }
        }
    }
}
