//! One object over a stream, from a node to the base station: the main job on nodes with two radios.

use super::{run, Carried, Carrier, CollectError, DualSurveyCost, Ground, Onlookers, Terms};
use crate::collect::{Object, ProgressObserver};
use crate::motes::place;
use serde::Serialize;
use thalweg_host::collector::RETRY;
use thalweg_host::job::{Progress, Watch};
use thalweg_host::outcome::over_plans;
use thalweg_host::transfer::stream;
use thalweg_medium::random::derive;
use thalweg_planner::streams::{Radios, StreamPlan};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::phy;
use thalweg_wire::stream::{HEADER_BYTES, MAX_PAYLOAD};

/// Payload bytes of a stream's packets for a request of `bytes`: at most what a packet holds.
pub fn payload(bytes: u8) -> u8 {
    bytes.clamp(1, MAX_PAYLOAD as u8)
}

/// Bytes of a full data frame (FCS included) of packets of `payload_bytes`, of which shares of losses are.
pub fn psdu_bytes(payload_bytes: u8) -> usize {
    HEADER_BYTES + usize::from(payload(payload_bytes)) + phy::FCS_BYTES
}

/// An object that was fetched, or not.
#[derive(Debug, Clone, Serialize)]
pub struct Collected {
    /// The transfer.
    #[serde(flatten)]
    pub outcome: Carried,
    /// The cost of the survey that the path was planned from.
    pub survey: DualSurveyCost,
}

/// How many packets an object makes at most.
pub const MAX_PACKETS: u32 = u16::MAX as u32 - 1;

/// How often the application requests missing packets.
const REPAIRS: u32 = 40;

/// A network of nodes with two radios that has measured its links.
pub struct Surveyed {
    ground: Ground,
    cost: DualSurveyCost,
    terms: Terms,
    sink: usize,
}

impl Surveyed {
    /// Has the nodes of `site` survey their links and report them to node `to`, or the testbed's sink. The
    /// site's losses come after.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn open(
        site: Site,
        to: Option<NodeId>,
        (carrier, payload_bytes): (Carrier, u8),
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let sink = place(&site.testbed).index_of(to.unwrap_or(site.testbed.sink))?;
        let (ground, cost) = Ground::surveyed(site, carrier.radios(), sink, observer)?;
        let stream = stream::StreamTerms {
            payload_bytes: payload(payload_bytes),
            repairs: REPAIRS,
            deadline: Duration::from_secs(1_200),
            ..stream::StreamTerms::default()
        };
        let terms = Terms {
            carrier,
            stream,
            ..Terms::default()
        };
        Ok(Self {
            ground,
            cost,
            terms,
            sink,
        })
    }

    /// The testbed.
    pub fn testbed(&self) -> &Testbed {
        &self.ground.site.testbed
    }
    fn path_from(&self, ground: &Ground, source: usize) -> Result<StreamPlan, CollectError> {
        let mut request = ground.request(source, self.sink, None);
        if self.terms.carrier.radios() == Radios::First {
            (request.radios, request.calling) = (Radios::First, None);
        }
        ground.plan(&request, &[])
    }

    /// The path of most hops that the measured links allow.
    fn longest_path(&self) -> Result<StreamPlan, CollectError> {
        let others = (0..self.testbed().len()).filter(|n| *n != self.sink);
        let mut failure = Err(CollectError::Unfit {
            testbed: self.testbed().name.clone(),
            why: "there is one node".to_owned(),
        });
        let mut longest: Option<StreamPlan> = None;
        for source in others {
            match self.path_from(&self.ground, source) {
                Ok(path)
                    if longest
                        .as_ref()
                        .is_none_or(|l| l.links.len() < path.links.len()) =>
                {
                    longest = Some(path);
                }
                Ok(_) => {}
                Err(why) => failure = Err(why),
            }
        }
        longest.map_or(failure, Ok)
    }

    /// Fetches `object` over a plan from node `from`, or from the node that is farthest from the sink of those
    /// that have one. Onlookers do not change the stream.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn fetch(
        &self,
        from: Option<NodeId>,
        object: &Object,
        watch: Watch<'_>,
        onlookers: &mut Onlookers,
    ) -> Result<Collected, CollectError> {
        let (ground, seed) = (&self.ground, self.ground.site.seed);
        let index = |node| place(self.testbed()).index_of(node);
        let first = match from.map(index).transpose()? {
            Some(source) => self.path_from(ground, source)?,
            None => self.longest_path()?,
        };
        let source = first.nodes.first().copied();
        let id = source.and_then(|n| self.testbed().id_of(n));
        let object = object.of(seed, id.unwrap_or(self.testbed().sink));
        let payload = u64::from(self.terms.stream.payload_bytes);
        let attempt = |plan: &StreamPlan, attempts: u32| {
            let path = ground.ids(&plan.nodes);
            let planned = Progress::Planned {
                source: path.first().copied().unwrap_or(self.testbed().sink),
                sink: path.last().copied().unwrap_or(self.testbed().sink),
                paths: 1,
                hops: plan.links.len() as u32,
                packets: (object.len() as u64).div_ceil(payload) as u32,
                part: (1, 1),
                expected: None,
            };
            if watch(planned).is_break() {
                return Err(CollectError::Stopped);
            }
            // Each attempt draws its own chance; the first has no number.
            let ids: Vec<u64> = (0..attempts).map(u64::from).collect();
            let (load, seed) = (
                [(plan.clone(), object.clone())],
                derive(seed, "stream", &ids),
            );
            let carried = run(ground, &load, &self.terms, seed, &mut *watch, onlookers)?;
            let outcome = carried.into_iter().next().ok_or(CollectError::Stopped)?;
            Ok((outcome, ()))
        };
        let mut remaining = self.ground.clone();
        let next = |plan: &StreamPlan, _: u32| {
            // Some unknown node of the path may be gone: avoid them all.
            let relays = plan.nodes.iter().copied();
            remaining.avoid(relays.filter(|n| Some(*n) != source && *n != self.sink));
            Some((self.path_from(&remaining, source?).ok()?, Duration::ZERO))
        };
        let (mut outcome, (), _) = over_plans(RETRY, first, attempt, next)?;
        let cost = &self.cost;
        outcome.summary.after(cost.seconds(), cost.network_joules());
        Ok(Collected {
            outcome,
            survey: self.cost.clone(),
        })
    }
}
