//! One object over a stream, from a node to the base station: the main job on nodes with two radios.

use super::ground::path_of;
use super::{
    run, Carried, Carrier, DualLinks, DualSurveyCost, Ground, Onlookers, StreamFailure, Terms,
};
use crate::collect::{Object, ProgressObserver};
use serde::Serialize;
use std::sync::Arc;
use thalweg_gateway::carry::stream;
use thalweg_gateway::job::Watch;
use thalweg_medium::random::derive;
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::{Radios, StreamPlan};
use thalweg_protocols::p3dual::MAX_PACKETS;
use thalweg_testbeds::Site;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::phy;
use thalweg_wire::stream::{HEADER_BYTES, MAX_PAYLOAD};

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
    let payload = usize::from(payload_bytes).clamp(1, MAX_PAYLOAD);
    HEADER_BYTES + payload + phy::FCS_BYTES
}

/// An object that was fetched, or not.
#[derive(Debug, Clone, Serialize)]
pub struct Collected {
    /// The transfer.
    #[serde(flatten)]
    pub outcome: Carried,
    /// What it took to know the links that the path was planned from.
    pub survey: DualSurveyCost,
}

/// The application asks for what is missing as often as this.
const REPAIRS: u32 = 40;

/// A network that has measured its links, and the path that an object is to take.
pub struct Prepared {
    ground: Ground,
    plan: StagePlan,
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
    let payload_bytes = order.payload_bytes.clamp(1, MAX_PAYLOAD as u8);
    let packets = object.bytes().div_ceil(u64::from(payload_bytes));
    let most = match order.carrier {
        Carrier::Stages(_) => MAX_PACKETS as u64,
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
        Carrier::FastForward(_) | Carrier::Stages(_) => Radios::Alternating,
    };
    let (links, survey) = DualLinks::measure(&ground.site, radios, sink, observer)?;
    let path = plan(&ground, &links, radios, source, sink)?;
    let plan = match order.carrier {
        Carrier::Stages(_) => {
            let paths = usize::from(order.paths.unwrap_or(1));
            ground.stages_from(&links, &path, paths)?
        }
        _ => StagePlan::from(&path),
    };
    let terms = Terms {
        carrier: order.carrier,
        stream: stream::Terms {
            payload_bytes,
            repairs: REPAIRS,
            deadline: Duration::from_secs(1_200),
            ..stream::Terms::default()
        },
        ..Terms::default()
    };
    let source = testbed.id_of(path.nodes[0]).unwrap_or(testbed.sink);
    Ok(Prepared {
        object: object.of(seed, source),
        ground,
        plan,
        survey,
        terms,
    })
}

impl Prepared {
    /// Nodes from source to sink, one of each stage.
    pub fn path(&self) -> Vec<NodeId> {
        let path = path_of(&self.plan).into_iter();
        path.filter_map(|n| self.ground.site.testbed.id_of(n))
            .collect()
    }
    /// Packets that the object makes.
    pub fn packets(&self) -> u64 {
        let payload = u64::from(self.terms.stream.payload_bytes);
        (self.object.len() as u64).div_ceil(payload)
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
        let (ground, seed) = (&self.ground, derive(self.ground.site.seed, "stream", &[]));
        let loads = [(self.plan, self.object)];
        let carried = run(ground, &loads, &self.terms, seed, watch, onlookers)?;
        let outcome = carried
            .into_iter()
            .next()
            .ok_or_else(|| StreamFailure::Unfit {
                testbed: ground.site.testbed.name.clone(),
                why: "nothing was run".to_owned(),
            })?;
        Ok(Collected {
            outcome,
            survey: self.survey,
        })
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
