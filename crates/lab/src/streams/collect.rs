//! One object over a stream, from a node to the base station: the main job on nodes with two radios.

use super::{
    run_called, run_watched, Carrier, DualLinks, DualSurveyCost, Ground, Onlookers, Outcome,
    StreamFailure, Terms,
};
use crate::collect::{Object, ProgressObserver};
use serde::Serialize;
use std::sync::Arc;
use thalweg_gateway::job::Watch;
use thalweg_gateway::outcome::Core;
use thalweg_medium::random::derive;
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::{Radios, StreamPlan};
use thalweg_protocols::p3dual::MAX_PACKETS;
use thalweg_testbeds::Site;
use thalweg_units::{BitRate, Duration, NodeId};
use thalweg_wire::{phy, stream};

/// What is to be fetched, and how.
#[derive(Debug, Clone)]
pub struct Order {
    /// The network; its nodes have two radios. Its losses come after the survey.
    pub site: Site,
    /// The node that has the object; the farthest that can be reached where none is named.
    pub from: Option<NodeId>,
    /// The base station; the testbed's where none is named.
    pub to: Option<NodeId>,
    /// What carries it.
    pub carrier: Carrier,
    /// Payload bytes of a packet; what is too many is cut to the most there can be.
    pub payload_bytes: u8,
    /// At most so many node-distinct paths, of P3 over two radios; one where nobody says.
    pub paths: Option<u8>,
}

/// Bytes of a full data frame (FCS included) of packets of `payload_bytes`, of which shares of losses are.
pub fn psdu_bytes(payload_bytes: u8) -> usize {
    let payload = usize::from(payload_bytes).clamp(1, stream::MAX_PAYLOAD);
    stream::HEADER_BYTES + payload + phy::FCS_BYTES
}

/// What is told of an object over a stream beside what is told of all.
#[derive(Debug, Clone, Serialize)]
pub struct Streamed {
    /// What became of the stream; the object as it arrived is in it.
    pub stream: Outcome,
    /// Kbit/s with every byte on the air counted, as FastForward's evaluation does.
    pub throughput_kbps: f64,
    /// The path, node ids from source to sink.
    pub path: Vec<u16>,
    /// Of P3 over two radios: its stages, node ids from the source's to the sink's, and what became of them.
    pub stages: Option<StagesReport>,
    /// What it took to know the links that the path was planned from.
    pub survey: DualSurveyCost,
}

/// An object that was fetched, or not.
pub type Collected = thalweg_gateway::outcome::Outcome<Streamed>;

/// Stages, and what became of the packets in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StagesReport {
    /// Node ids, stage by stage.
    pub nodes: Vec<Vec<u16>>,
    /// Packets at the sink after the first round, 0 to 1; none where it did not hear that round's end.
    pub first_round: Option<f64>,
    /// Data packets that the source sent, all rounds.
    pub source_sent: u32,
    /// Frames that relays could not send in time.
    pub late: u32,
}

/// The application asks for what is missing as often as this.
const REPAIRS: u32 = 40;

/// A network that has measured its links, and the path that an object is to take.
pub struct Prepared {
    ground: Ground,
    plan: StreamPlan,
    stages: Option<StagePlan>,
    survey: DualSurveyCost,
    terms: Terms,
    object: Arc<[u8]>,
}

/// Has the network survey itself and plans a path for `object` from what it measured.
///
/// # Errors
/// [`StreamFailure`].
pub fn prepare(
    order: &Order,
    object: &Object,
    observer: ProgressObserver<'_>,
) -> Result<Prepared, StreamFailure> {
    let (testbed, seed) = (&order.site.testbed, order.site.seed);
    let unfit = |why: String| StreamFailure::Unfit {
        testbed: testbed.name.clone(),
        why,
    };
    let payload_bytes = order.payload_bytes.clamp(1, stream::MAX_PAYLOAD as u8);
    let packets = object.bytes().div_ceil(u64::from(payload_bytes));
    let most = match order.carrier {
        Carrier::P3Dual => MAX_PACKETS as u64,
        _ => u64::from(u16::MAX) - 1,
    };
    if !(1..=most).contains(&packets) {
        return Err(unfit(format!(
            "the object makes {packets} packets of {payload_bytes} B; a stream has 1 to {most}"
        )));
    }
    let index = |id: NodeId| {
        let known = testbed.index_of(id);
        known.ok_or_else(|| unfit(format!("there is no node {id}")))
    };
    let sink = order.to.map_or(Ok(testbed.sink_index()), index)?;
    let source = order.from.map(index).transpose()?;
    if source == Some(sink) {
        let id = testbed.id_of(sink).unwrap_or(testbed.sink);
        return Err(unfit(format!("node {id} is both source and sink")));
    }
    let ground = Ground::new(order.site.clone())?;
    let radios = match order.carrier {
        Carrier::Burst | Carrier::Pip(_) => Radios::First,
        Carrier::FastForward(_) | Carrier::P3Dual => Radios::Alternating,
    };
    let (links, survey) = DualLinks::measure(&ground.site, radios, sink, observer)?;
    let plan = plan(&ground, &links, radios, source, sink)?;
    let stages = match order.carrier {
        Carrier::P3Dual => {
            let paths = usize::from(order.paths.unwrap_or(1));
            Some(ground.stages_from(&links, &plan, paths)?)
        }
        _ => None,
    };
    let terms = Terms {
        carrier: order.carrier,
        payload_bytes,
        repairs: REPAIRS,
        deadline: Duration::from_secs(1_200),
        ..Terms::default()
    };
    let source = testbed.id_of(plan.nodes[0]).unwrap_or(testbed.sink);
    Ok(Prepared {
        object: object.of(seed, source),
        ground,
        plan,
        stages,
        survey,
        terms,
    })
}

impl Prepared {
    /// Node ids from source to sink.
    pub fn path(&self) -> Vec<u16> {
        self.ids(&self.plan.nodes)
    }
    /// Packets that the object makes.
    pub fn packets(&self) -> u64 {
        let payload = u64::from(self.terms.payload_bytes);
        (self.object.len() as u64).div_ceil(payload)
    }
    fn ids(&self, nodes: &[usize]) -> Vec<u16> {
        let testbed = &self.ground.site.testbed;
        let ids = nodes.iter().filter_map(|n| testbed.id_of(*n));
        ids.map(NodeId::get).collect()
    }

    /// Fetches the object. The stream is the same whoever looks on.
    ///
    /// # Errors
    /// [`StreamFailure`].
    pub fn fetch(
        self,
        watch: Watch<'_>,
        onlookers: &mut Onlookers,
    ) -> Result<Collected, StreamFailure> {
        let (ground, terms, object) = (&self.ground, &self.terms, &self.object);
        let (testbed, seed) = (&ground.site.testbed, ground.site.seed);
        let run_seed = derive(seed, "stream", &[]);
        let (outcome, stages) = match &self.stages {
            None => {
                let plan = (self.plan.clone(), object.to_vec());
                let run = run_watched(ground, &plan, terms, run_seed, watch, onlookers);
                (run?, None)
            }
            Some(plan) => {
                let run = run_called(ground, plan, object, terms, run_seed, watch, onlookers)?;
                let report = StagesReport {
                    nodes: plan.stages.iter().map(|nodes| self.ids(nodes)).collect(),
                    first_round: run.first_round,
                    source_sent: run.source_sent,
                    late: run.late,
                };
                (run.stream, Some(report))
            }
        };
        let path = self.path();
        let stage_sizes = || stages.iter().flat_map(|s| &s.nodes).map(Vec::len);
        let active = match &stages {
            Some(_) => stage_sizes().sum(),
            None => path.len(),
        };
        let time = Duration::from_nanos((outcome.seconds * 1e9) as u64);
        let goodput = BitRate::of_bytes(object.len() as u64, time).kbps();
        let id = |n: Option<&usize>| n.and_then(|n| testbed.id_of(*n)).unwrap_or(testbed.sink);
        let core = Core {
            protocol: terms.carrier.name().to_owned(),
            testbed: testbed.name.clone(),
            source: id(self.plan.nodes.first()),
            sink: id(self.plan.nodes.last()),
            bytes: object.len() as u64,
            verified: outcome.verified,
            goodput_kbps: if outcome.verified { goodput } else { 0.0 },
            utilisation: None,
            rounds: outcome.rounds,
            first_round_reliability: None,
            active_nodes: active as u32,
            hops: self.plan.links.len() as u32,
            paths: stage_sizes().max().unwrap_or(1) as u32,
            energy_j: Some(outcome.joules),
            duration_s: outcome.seconds,
            attempts: 1,
            failure: (!outcome.verified).then(|| outcome.failure()),
            seed,
        };
        let extra = Streamed {
            throughput_kbps: outcome.throughput().kbps(),
            stream: outcome,
            path,
            stages,
            survey: self.survey,
        };
        Ok(Collected { core, extra })
    }
}

/// The plan from `source`, or from the node that is farthest from the sink of those that have one.
fn plan(
    ground: &Ground,
    links: &DualLinks,
    radios: Radios,
    source: Option<usize>,
    sink: usize,
) -> Result<StreamPlan, StreamFailure> {
    let from = |source: usize| {
        let mut request = ground.request(source, sink, None);
        if radios == Radios::First {
            (request.radios, request.calling) = (Radios::First, None);
        }
        ground.plan_from(links, &request)
    };
    if let Some(source) = source {
        return from(source);
    }
    let place = |n: usize| {
        ground
            .site
            .environment
            .ears
            .get(n)
            .and_then(|ear| ear.placement)
    };
    let away = |n: usize| match (place(n), place(sink)) {
        (Some(a), Some(b)) => a.position.distance_m(&b.position),
        _ => 0.0,
    };
    let mut others: Vec<usize> = (0..ground.site.testbed.len())
        .filter(|n| *n != sink)
        .collect();
    others.sort_by(|a, b| away(*b).total_cmp(&away(*a)).then(a.cmp(b)));
    let mut last = None;
    for source in others {
        match from(source) {
            Ok(plan) => return Ok(plan),
            Err(why) => last = last.or(Some(why)),
        }
    }
    Err(last.unwrap_or_else(|| StreamFailure::Unfit {
        testbed: ground.site.testbed.name.clone(),
        why: "there is one node".to_owned(),
    }))
}
