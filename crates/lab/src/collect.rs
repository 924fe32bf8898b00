//! The main job: survey a network, plan a route, fetch an object with P3, and the same with PIP.
//!
//! A [`Collector`] surveys once and then fetches from any node. Each transfer runs in a network
//! of its own, switched on afresh with a seed derived from (seed, source), so that a campaign over
//! all nodes gives the same results however often it is interrupted.

use crate::testbed::{Physics, Testbed, TestbedError};
use crate::transfer::{
    Outcome, Protocol, Session, SessionError, Step, Survey, Surveyed, Terms,
};
use serde::Serialize;
use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;
use thalweg_medium::random::{derive, stream};
use thalweg_medium::Environment;
use thalweg_planner::channels::spread_order;
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::pairs::best_channels;
use thalweg_planner::{plan, LinkRule, Plan, PlanError, Prediction, RouteRequest, Topology};
use thalweg_sim::Capture;
use thalweg_units::{Channel, ChannelSet, NodeId};
use thalweg_wire::route::PayloadSize;

/// The channels that P3 uses: those that Wi-Fi leaves alone (P3, section IV-D2).
pub const CLEAN_CHANNELS: [u8; 4] = [15, 20, 25, 26];

/// What is to be fetched, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// From which node; the planner picks a far one where none is named.
    pub from: Option<NodeId>,
    /// To which node; the testbed's sink where none is named.
    pub to: Option<NodeId>,
    /// The object.
    pub object: Object,
    /// Over all paths, or over one.
    pub protocol: Protocol,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// At most this many paths.
    pub paths: Option<u8>,
    /// Exactly this many hops.
    pub hops: Option<u8>,
}

/// What the source has.
#[derive(Debug, Clone)]
pub enum Object {
    /// So many bytes, drawn from (seed, source).
    Random {
        /// How many.
        bytes: u32,
    },
    /// These.
    Bytes(Arc<[u8]>),
}

/// What is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Links are measured: turns done, of all nodes.
    Measuring {
        /// Turns begun.
        done: u64,
        /// Nodes.
        total: u64,
    },
    /// Link tables are collected.
    Collecting {
        /// Complete tables.
        done: u64,
        /// Nodes.
        total: u64,
    },
    /// A route was found.
    Planned {
        /// From which node.
        from: NodeId,
        /// To which node.
        to: NodeId,
        /// H.
        hops: usize,
        /// M.
        paths: usize,
    },
    /// A transfer's wake-up has begun.
    WakingUp {
        /// Whose.
        protocol: Protocol,
    },
    /// Packets arrive.
    Packets {
        /// By which protocol.
        protocol: Protocol,
        /// Round, from 1.
        round: u32,
        /// Packets at the sink.
        received: u64,
        /// Packets of the object.
        total: u64,
        /// Goodput so far.
        goodput_kbps: f64,
    },
}

/// Told of progress; may break off.
pub type ProgressObserver<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// One finished job.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The transfer.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the planner had expected of it.
    pub predicted: Prediction,
    /// PIP over one of the same paths, on the same channels.
    pub baseline: Option<Outcome>,
    /// Reception channels of stages 0 to H.
    pub channels: Vec<u8>,
    /// What it took to know the links.
    pub survey: SurveyCost,
    /// The object as it arrived, where it did.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
}

/// The cost of a survey.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SurveyCost {
    /// Measuring links (P3, equation 1), in seconds.
    pub measuring_s: f64,
    /// Collecting what was measured, in seconds.
    pub collecting_s: f64,
    /// Directed links on the routing channel that were heard.
    pub links: usize,
    /// Nodes whose tables did not come in.
    pub missing: Vec<u16>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The testbed cannot be had.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// A node that the testbed does not have.
    #[error("{testbed}: has no node {node} (its nodes are {first} to {last})")]
    UnknownNode {
        /// The testbed.
        testbed: String,
        /// The node named.
        node: NodeId,
        /// The testbed's first node.
        first: NodeId,
        /// Its last.
        last: NodeId,
    },
    /// Source and sink are the same.
    #[error("node {0} is both source and sink; an object travels between two nodes")]
    SourceIsSink(NodeId),
    /// A channel that the testbed does not offer.
    #[error("{testbed}: channel {channel} is not available (available: {available})")]
    Channel {
        /// The testbed.
        testbed: String,
        /// The channel named.
        channel: Channel,
        /// Those it has.
        available: String,
    },
    /// The object makes too many packets.
    #[error("{bytes} bytes make {packets} packets of {payload} B; a transfer takes at most {max}")]
    TooLarge {
        /// Bytes of the object.
        bytes: u64,
        /// Packets that they make.
        packets: u64,
        /// Bytes of a packet.
        payload: u8,
        /// The most packets.
        max: u16,
    },
    /// The object has no byte.
    #[error("the object is empty; there is nothing to send")]
    Empty,
    /// No pair of nodes will do.
    #[error("{testbed}: no node is linked to node {sink}")]
    NoSource {
        /// The testbed.
        testbed: String,
        /// The sink.
        sink: NodeId,
    },
    /// There is no route; the message names nodes as the testbed does.
    #[error("{0}")]
    Plan(String),
    /// The network did not do what it should.
    #[error(transparent)]
    Session(SessionError),
    /// The capture file failed.
    #[error("capture: {0}")]
    Capture(#[from] thalweg_sim::CaptureError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl CollectError {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        !matches!(self, Self::Session(_) | Self::Capture(_) | Self::Stopped)
            || matches!(self, Self::Session(SessionError::TooManyNodes { .. } | SessionError::Board(_)))
    }
}

impl From<SessionError> for CollectError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Stopped => Self::Stopped,
            SessionError::Sim(thalweg_sim::SimError::Capture(error)) => Self::Capture(error),
            error => Self::Session(error),
        }
    }
}

/// A surveyed testbed.
pub struct Collector {
    testbed: Testbed,
    environment: Arc<Environment>,
    seed: u64,
    surveyed: Surveyed,
    sink: usize,
    /// Pipeline channels, counted back from the sink.
    channels: Vec<Channel>,
    routing_channel: Channel,
    rule: LinkRule,
}

impl Collector {
    /// Draws the site of `testbed` from `seed`, switches it on and has node `to` survey it.
    /// `channels` are those of the pipeline; where none are named, the four that Wi-Fi leaves
    /// alone, or on measured links the four that link the network best.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn open(
        testbed: Testbed,
        to: Option<NodeId>,
        channels: Option<&[Channel]>,
        seed: u64,
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let sink = match to {
            Some(node) => index_of(&testbed, node)?,
            None => testbed.sink_index(),
        };
        for channel in channels.unwrap_or_default() {
            if !testbed.channels.contains(*channel) {
                return Err(CollectError::Channel {
                    testbed: testbed.name.clone(),
                    channel: *channel,
                    available: join(testbed.channels.iter()),
                });
            }
        }
        let clean: Vec<Channel> =
            CLEAN_CHANNELS.iter().filter_map(|c| Channel::new(*c).ok()).collect();
        let clean_will_do = !matches!(testbed.physics, Physics::Measured(_))
            && clean.iter().all(|c| testbed.channels.contains(*c));
        let wanted = channels.map(<[Channel]>::to_vec).or(clean_will_do.then_some(clean));
        let surveyed_channels: ChannelSet = match &wanted {
            Some(list) => list.iter().copied().collect(),
            None => testbed.channels,
        };
        let environment = Arc::new(testbed.realise(seed));
        let mut session = Session::open(&testbed, environment.clone(), derive(seed, "survey", &[]))?;
        let mut steps = |step: Step| match step {
            Step::Measuring { turn, of } => {
                observer(Progress::Measuring { done: u64::from(turn), total: u64::from(of) })
            }
            Step::Collecting { complete, of } => {
                observer(Progress::Collecting { done: u64::from(complete), total: u64::from(of) })
            }
            Step::WakingUp | Step::Packets { .. } => Continue(()),
        };
        let surveyed = session.survey(sink, Survey::of(surveyed_channels), &mut steps)?;
        let floor = testbed.board.chip().noise_floor;
        let rule = LinkRule { floor, ..LinkRule::default() };
        let (channels, routing_channel) = match wanted {
            Some(list) => {
                let routing = if list.contains(&Channel::LAST) {
                    Channel::LAST
                } else {
                    best_channels(&surveyed.links, &rule, 1).first().copied().unwrap_or(list[0])
                };
                (spread_order(&list, routing), routing)
            }
            None => {
                let best = best_channels(&surveyed.links, &rule, CLEAN_CHANNELS.len());
                let routing = best.first().copied().unwrap_or(Channel::LAST);
                (best, routing)
            }
        };
        Ok(Self { testbed, environment, seed, surveyed, sink, channels, routing_channel, rule })
    }

    /// The testbed.
    pub fn testbed(&self) -> &Testbed {
        &self.testbed
    }
    /// What the survey brought.
    pub fn surveyed(&self) -> &Surveyed {
        &self.surveyed
    }
    /// The node that data goes to.
    pub fn sink(&self) -> NodeId {
        self.testbed.nodes[self.sink].id
    }
    /// The site.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// The request to the planner that `request` makes, for a source.
    fn route_request(&self, source: usize, request: &Request, packets: u32) -> RouteRequest {
        let mut route = RouteRequest::new(source, self.sink);
        route.channels.clone_from(&self.channels);
        route.routing_channel = self.routing_channel;
        route.rule = self.rule;
        route.fallback = self.rule.weaker();
        route.max_paths = request.paths.map(usize::from);
        route.hops = request.hops.map(usize::from);
        route.transfer.packets = packets;
        route.transfer.cycle = Cycle {
            payload_bytes: usize::from(request.payload.bytes()),
            ..route.transfer.cycle
        };
        route
    }

    /// Plans the route of `request`.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn plan(&self, request: &Request) -> Result<Plan, CollectError> {
        let source = match request.from {
            Some(node) => index_of(&self.testbed, node)?,
            None => self.far_source(request)?,
        };
        if source == self.sink {
            return Err(CollectError::SourceIsSink(self.sink()));
        }
        let packets = packets_of(request)?;
        let route = self.route_request(source, request, packets);
        let mut rng = stream(self.seed, "plan", &[source as u64, self.sink as u64]);
        plan(&self.surveyed.links, &route, &mut rng).map_err(|why| self.named(&why))
    }

    /// A node far from the sink that the network joins to it by enough paths; where it has not
    /// enough for any node, one with the most.
    fn far_source(&self, request: &Request) -> Result<usize, CollectError> {
        /// Beyond this P3's channels come round a second time within a node's interference range.
        const MAX_HOPS: usize = 6;
        let links = &self.surveyed.links;
        let topology = Topology::new(links, self.routing_channel, &self.rule);
        let hops = topology.hops_from(self.sink);
        let mut sources: Vec<(usize, usize)> = (0..hops.len())
            .filter(|n| *n != self.sink)
            .filter_map(|n| hops[n].map(|h| (h, n)))
            .collect();
        sources.sort_by_key(|(h, n)| (std::cmp::Reverse(*h), *n));
        let mut best: Option<(usize, usize)> = None;
        for (_, source) in &sources {
            let mut route = self.route_request(*source, request, 1);
            route.fallback.clear();
            route.max_hops = MAX_HOPS;
            let enough = route.min_paths;
            let mut rng = stream(self.seed, "source", &[*source as u64]);
            // One or two hops are no job for a pipeline, if there is anything else.
            let paths = match plan(links, &route, &mut rng) {
                Ok(p) if (3..=MAX_HOPS).contains(&p.hops) => p.path_count().min(enough),
                Ok(p) if p.hops == 2 => 1,
                _ => 0,
            };
            if best.is_none_or(|(most, _)| paths > most) {
                best = Some((paths, *source));
            }
            if paths == enough {
                break;
            }
        }
        best.map(|(_, n)| n).ok_or_else(|| CollectError::NoSource {
            testbed: self.testbed.name.clone(),
            sink: self.sink(),
        })
    }

    /// Fetches the object over `plan`, and again with PIP where `request` is for P3. What is on
    /// the air goes to `capture`.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; a transfer that fails is a
    /// report.
    pub fn fetch(
        &self,
        request: &Request,
        plan: &Plan,
        capture: Option<Box<dyn Capture>>,
        observer: ProgressObserver<'_>,
    ) -> Result<Report, CollectError> {
        let total = u64::from(packets_of(request)?);
        let (from, to) = (self.testbed.nodes[plan.source].id, self.sink());
        let (hops, paths) = (plan.hops, plan.path_count());
        if observer(Progress::Planned { from, to, hops, paths }).is_break() {
            return Err(CollectError::Stopped);
        }
        let seed = derive(self.seed, "transfer", &[u64::from(from.get())]);
        let mut session = Session::open(&self.testbed, self.environment.clone(), seed)?;
        session.offer(plan.source, self.object(request, from));
        if capture.is_some() {
            session.network().capture(capture)?;
        }
        let terms = Terms { payload: request.payload, ..Terms::default() };
        let mut run = |session: &mut Session, protocol: Protocol| {
            let mut steps = |step: Step| match step {
                Step::WakingUp => observer(Progress::WakingUp { protocol }),
                Step::Packets { round, received, goodput } => observer(Progress::Packets {
                    protocol,
                    round,
                    received: u64::from(received),
                    total,
                    goodput_kbps: goodput.kbps(),
                }),
                Step::Measuring { .. } | Step::Collecting { .. } => Continue(()),
            };
            session.fetch(plan, protocol, &terms, &mut steps)
        };
        let (mut outcome, object) = run(&mut session, request.protocol)?;
        outcome.seed = self.seed;
        let baseline = match request.protocol {
            Protocol::P3 => {
                let (mut baseline, _) = run(&mut session, Protocol::Pip)?;
                baseline.seed = self.seed;
                Some(baseline)
            }
            Protocol::Pip | Protocol::PipHopping => None,
        };
        session.network().capture(None)?;
        let predicted = match request.protocol {
            Protocol::P3 => plan.prediction.clone(),
            Protocol::Pip | Protocol::PipHopping => plan.pip.prediction.clone(),
        };
        Ok(Report {
            outcome,
            predicted,
            baseline,
            channels: plan.channels.iter().map(|c| c.number()).collect(),
            survey: self.survey_cost(),
            object,
        })
    }

    /// What it took to know the links.
    pub fn survey_cost(&self) -> SurveyCost {
        SurveyCost {
            measuring_s: self.surveyed.measuring.as_secs_f64(),
            collecting_s: self.surveyed.collecting.as_secs_f64(),
            links: self.surveyed.links.summary(self.routing_channel).heard_pairs,
            missing: self.surveyed.missing.iter().map(|n| n.get()).collect(),
        }
    }

    fn object(&self, request: &Request, from: NodeId) -> Arc<[u8]> {
        match &request.object {
            Object::Bytes(bytes) => bytes.clone(),
            Object::Random { bytes } => {
                random_object(derive(self.seed, "object", &[u64::from(from.get())]), *bytes as usize)
            }
        }
    }

    /// The planner's error in the testbed's names for nodes.
    fn named(&self, why: &PlanError) -> CollectError {
        let id = |n: &usize| self.testbed.id_of(*n).map_or(0, NodeId::get);
        CollectError::Plan(match why {
            PlanError::Unreachable { source_node, sink, channel, reached, far, .. } => format!(
                "no route from node {} to node {} on channel {channel}: node {} reaches {reached} \
                 other nodes, at most {far} hops away",
                id(source_node),
                id(sink),
                id(source_node)
            ),
            PlanError::NoPath { hops, source_node, sink, shortest } => format!(
                "no path of exactly {hops} hops from node {} to node {}: the shortest has \
                 {shortest}",
                id(source_node),
                id(sink)
            ),
            other => other.to_string(),
        })
    }
}

/// Whether `request` can be asked of `testbed` at all: what is known before its links are.
///
/// # Errors
/// [`CollectError`] of bad input.
pub fn check(testbed: &Testbed, request: &Request) -> Result<(), CollectError> {
    let sink = request.to.unwrap_or(testbed.sink);
    index_of(testbed, sink)?;
    if let Some(from) = request.from {
        index_of(testbed, from)?;
        if from == sink {
            return Err(CollectError::SourceIsSink(sink));
        }
    }
    packets_of(request).map(|_| ())
}

/// `bytes` random bytes of `seed`.
pub fn random_object(seed: u64, bytes: usize) -> Arc<[u8]> {
    let mut rng = stream(seed, "object bytes", &[]);
    let mut object = vec![0; bytes];
    rand::RngCore::fill_bytes(&mut rng, &mut object);
    object.into()
}

fn packets_of(request: &Request) -> Result<u32, CollectError> {
    let bytes = match &request.object {
        Object::Random { bytes } => u64::from(*bytes),
        Object::Bytes(bytes) => bytes.len() as u64,
    };
    let payload = request.payload.bytes();
    let packets = bytes.div_ceil(u64::from(payload));
    let max = thalweg_wire::pipeline::MAX_PACKETS;
    match u32::try_from(packets) {
        Ok(0) => Err(CollectError::Empty),
        Ok(n) if n <= u32::from(max) => Ok(n),
        _ => Err(CollectError::TooLarge { bytes, packets, payload, max }),
    }
}

fn index_of(testbed: &Testbed, node: NodeId) -> Result<usize, CollectError> {
    let ids = || testbed.nodes.iter().map(|n| n.id);
    testbed.index_of(node).ok_or_else(|| CollectError::UnknownNode {
        testbed: testbed.name.clone(),
        node,
        first: ids().min().unwrap_or(node),
        last: ids().max().unwrap_or(node),
    })
}

fn join(channels: impl Iterator<Item = Channel>) -> String {
    channels.map(|c| c.to_string()).collect::<Vec<_>>().join(" ")
}
