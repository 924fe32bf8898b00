//! Surveys a simulated network, plans a route and fetches an object with P3 or a variant, then again with PIP.
//!
//! [`thalweg_host::collector`] does the work. Each transfer runs in a fresh network, seeded by (seed, source), and
//! none learns from the one before. So results do not depend on order or interruptions.

use crate::explain::{LossMap, Recorder};
use crate::motes::{description, place, Motes, SimNetwork};
pub use error::CollectError;
pub use object::{random_object, Object};
pub use remote::Remote;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_host::collector::{
    Collector, FetchRequest, LineLoss, Patience, ProtocolPlan, Report, Search, TransferEnd,
    TransferObserver,
};
use thalweg_host::job::{Progress, Retry};
use thalweg_host::link_state::{LinkState, PlanRequest, PlanRequestError};
use thalweg_host::recovery::Sought;
use thalweg_host::registry::Pipelined;
use thalweg_host::segments::{Assembly, Attempt};
use thalweg_host::survey::{IdleCost, SurveyCost};
use thalweg_host::transfer::pipeline::{Node, TransferTerms};
use thalweg_medium::random::{derive, stream};
use thalweg_planner::{LinkQualities, Plan, Style};
use thalweg_sim::Capture;
use thalweg_testbeds::{Physics, Site, Testbed};
use thalweg_units::{Channel, Dbm, Duration, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// Is shown the progress of a band or protocol; may stop it.
pub type ProgressObserver<'a> = &'a mut dyn FnMut(&str, Progress) -> ControlFlow<()>;

/// The links of a measured testbed's file, with node `to` or the testbed's sink as base station; `None` for other
/// testbeds.
///
/// # Errors
/// [`PlanRequestError`] for nodes and channels that the testbed does not have.
pub fn measured(
    testbed: &Testbed,
    to: Option<NodeId>,
    channels: Option<&[Channel]>,
    seed: u64,
) -> Result<Option<LinkState>, PlanRequestError> {
    let Physics::Measured(measured) = &testbed.physics else {
        return Ok(None);
    };
    let place = place(testbed);
    place.check_channels(channels)?;
    let mut links = LinkQualities::new(testbed.len());
    for link in &measured.links {
        let (from, to) = (usize::from(link.from), usize::from(link.to));
        // The testbed's reader has checked nodes and ratios.
        let _ = links.record_prr(from, to, link.channel, link.prr, link.rssi_dbm.map(Dbm));
    }
    let sink = to.map_or(Ok(testbed.sink_index()), |node| place.index_of(node))?;
    let channels = channels.map(<[Channel]>::to_vec);
    let links =
        LinkState::new(place, links, sink, channels, (stream, seed)).sealed(testbed.sealing);
    Ok(Some(links))
}

/// Checks that an object can go from node `from` to node `to` of `testbed`, or to its sink. Its size is the protocol's
/// matter.
///
/// # Errors
/// [`PlanRequestError`].
pub fn check(
    testbed: &Testbed,
    (from, to): (Option<NodeId>, Option<NodeId>),
) -> Result<(), PlanRequestError> {
    let (place, sink) = (place(testbed), to.unwrap_or(testbed.sink));
    place.index_of(sink)?;
    from.map(|from| place.index_of(from)).transpose()?;
    match from == Some(sink) {
        true => Err(PlanRequestError::SourceIsSink(testbed.named(sink))),
        false => Ok(()),
    }
}

/// What is to be fetched.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<'a> {
    /// The request to the planner.
    pub request: &'a PlanRequest,
    /// What the source has.
    pub object: &'a Object,
    /// The plan to go by; without one, the planner's.
    pub plan: Option<&'a Arc<Plan>>,
    /// How long links are measured again where there is no route yet.
    pub patience: Patience,
}

/// A site that has surveyed itself.
pub struct Surveyed {
    /// As transfers find it: with its losses, which came after the survey.
    site: Site,
    collector: Collector,
    links: LinkState,
    cost: SurveyCost,
}

impl Surveyed {
    /// Switches `site` on and has node `to` survey it for `protocol`, or the testbed's sink.
    /// `channels` are those of the pipeline; where none are named, the four that Wi-Fi leaves
    /// alone, or on measured links the four that link the network best. The site's losses
    /// befall its transfers, and not the survey, which is made again for silent nodes with so much `patience`.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn open(
        site: Site,
        (to, protocol): (Option<NodeId>, Pipelined),
        channels: Option<&[Channel]>,
        patience: Patience,
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let sink = to.unwrap_or(site.testbed.sink);
        let description = description(&site, sink, channels);
        description.place.check_channels(channels)?;
        let index = description.place.index_of(sink)?;
        let mut collector = Collector::new(description, 0, LineLoss::Ends);
        let mut motes = Motes::open(&site.undisturbed(), derive(site.seed, "survey", &[]))?;
        let mut watch = |progress| observer("", progress);
        motes.nodes.hear(&[index]);
        let sought = Sought {
            within: patience.known,
            ..Sought::all_but(&[])
        };
        let surveyed = collector.survey(&mut motes.nodes, protocol, sought, &mut watch)?;
        let links = collector.description().link_state(surveyed.links.clone());
        let took = motes.network().now();
        let age = site.age();
        let idle = site.idle().map(|rested| IdleCost {
            rested_s: rested.as_secs_f64(),
            node_energy_j: rested.as_secs_f64() * collector.description().place.currents.resting_w,
            rousing_s: surveyed.rousing.as_secs_f64(),
        });
        let rests_again = site.idle().map(|_| age);
        let site = site.aged(Duration::from_nanos(took.as_nanos()) + age)?;
        // Its transfers begin then.
        let links = links.measured_at(took).as_of(took + age);
        Ok(Self {
            cost: SurveyCost {
                idle,
                ..surveyed.cost(links.routing_channel())
            },
            site: site.idling(rests_again),
            collector,
            links,
        })
    }

    /// `request` with its source, where that is named, or far by a file of measured links, as for a plan without a survey.
    fn sourced(&self, request: &PlanRequest) -> Result<PlanRequest, PlanRequestError> {
        let file = measured(&self.site.testbed, Some(self.sink()), None, self.site.seed)?;
        let from = match (request.from, file) {
            (None, Some(file)) => Some(self.site.testbed.nodes[file.far_source(request)?].id),
            (from, _) => from,
        };
        Ok(PlanRequest { from, ..*request })
    }
    fn sink(&self) -> NodeId {
        self.collector.description().sink
    }
    /// `plan`, where it leads from the source of `request` to the sink of this network.
    fn given(&self, plan: &Plan, request: &PlanRequest) -> Result<Plan, PlanRequestError> {
        let testbed = self.testbed();
        let ends = (testbed.id_of(plan.source), testbed.id_of(plan.sink));
        let mut nodes = plan.active_nodes().into_iter();
        let is_here = nodes.all(|(node, _)| node < testbed.len())
            && ends.1 == Some(self.sink())
            && (request.from.is_none() || ends.0 == request.from);
        match is_here {
            true => Ok(plan.clone()),
            false => Err(PlanRequestError::Plan(
                "the plan is another network's, or another transfer's".to_owned(),
            )),
        }
    }

    /// The plan for `request`, `given` or the planner's, and the request with its source.
    fn planned(
        &self,
        request: &PlanRequest,
        given: Option<&Arc<Plan>>,
    ) -> Result<(Result<Plan, PlanRequestError>, PlanRequest), PlanRequestError> {
        Ok(match given {
            Some(plan) => {
                let from = self.testbed().id_of(plan.source);
                (self.given(plan, request), PlanRequest { from, ..*request })
            }
            None => {
                let request = self.sourced(request)?;
                (self.links.plan(&request), request)
            }
        })
    }

    /// The network and its links.
    pub fn links(&self) -> &LinkState {
        &self.links
    }
    /// What the survey cost.
    pub const fn cost(&self) -> &SurveyCost {
        &self.cost
    }
    /// The testbed.
    pub fn testbed(&self) -> &Testbed {
        &self.site.testbed
    }

    /// The node that has the object: of the plan, or `from` where there is none yet.
    fn source(
        &self,
        planned: &Result<Plan, PlanRequestError>,
        from: Option<NodeId>,
    ) -> Result<usize, CollectError> {
        match (planned, from) {
            (Ok(plan), _) => Ok(plan.source),
            (Err(_), Some(from)) => Ok(self.links.place().index_of(from)?),
            (Err(why), None) => Err(why.clone().into()),
        }
    }

    /// A fresh network in which `source` has the object.
    fn motes(&self, source: usize, object: &Object) -> Result<Motes, CollectError> {
        let from = self.testbed().nodes[source].id;
        let seed = derive(self.site.seed, "transfer", &[u64::from(from.get())]);
        let mut motes = Motes::open(&self.site, seed)?;
        motes.offer(source, object.of(self.site.seed, from));
        motes.nodes.hear(&[self.links.sink()]);
        Ok(motes)
    }

    /// Plans and fetches the object in a fresh network, and where the protocol has several paths again with PIP.
    /// Where there is no route yet, the network measures its links again. Frames go to `capture`; with `maps`,
    /// each transfer leaves one that shows where its packets were lost. Neither changes the report.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; a transfer that fails is a
    /// report.
    pub fn fetch(
        &self,
        fetched: Fetched<'_>,
        capture: Option<Box<dyn Capture>>,
        maps: Option<&mut Vec<LossMap>>,
        observer: ProgressObserver<'_>,
    ) -> Result<Report, CollectError> {
        let (object, patience) = (fetched.object, fetched.patience);
        fetched.request.packets()?;
        let (planned, request) = &self.planned(fetched.request, fetched.plan)?;
        let source = self.source(planned, request.from)?;
        let mut motes = self.motes(source, object)?;
        let mut collector = self.collector.clone();
        let mut watch = |progress| observer("", progress);
        let search = &mut Search::new(patience, self.links.links());
        let found = match planned {
            Ok(_) => None,
            Err(_) => collector.find_route(&mut motes.nodes, (request, search), &mut watch)?,
        };
        let (links, plan) = match (&found, planned) {
            (Some((links, plan)), _) => (links, plan),
            (None, Ok(plan)) => (&self.links, plan),
            (None, Err(why)) => return Err(CollectError::no_route(why.clone(), search.waited())),
        };
        let mut cost = self.cost.clone();
        cost.collecting_s += motes.network().now().as_secs_f64();
        if capture.is_some() {
            motes.network().capture(capture)?;
        }
        let request = FetchRequest {
            link_state: links,
            plan_request: *request,
            plan: Arc::new(plan.clone()),
            survey: Some(cost),
            // As in the papers what breaks off is counted; Thalweg tries again, as over a line.
            retry: match request.protocol.measures_again() {
                true => TransferTerms::default().retry,
                false => Retry::NEVER,
            },
            patience: Some(patience),
        };
        let mut onlooker = Onlooker {
            observer,
            maps,
            recorder: None,
            power: motes.board().tx_power,
            labels: &self.links.place().labels,
        };
        let mut assembly = Assembly::default();
        let nodes = &mut motes.nodes;
        let mut report = collector.fetch(nodes, &request, &mut assembly, &mut onlooker)?;
        let is_pipeline = request.plan.style != Style::Hops;
        // The baseline is not sealed.
        let has_baseline =
            request.plan_request.protocol.has_paths() && collector.sealing() == Sealing::Open;
        if has_baseline && is_pipeline && report.parts == 1 {
            let pip = collector.compare(nodes, &request, &mut onlooker)?;
            report.baseline = Some(pip);
        }
        motes.network().capture(None)?;
        Ok(report)
    }
}

/// Passes on the progress of a simulated network, and maps where packets were lost.
struct Onlooker<'a> {
    observer: ProgressObserver<'a>,
    maps: Option<&'a mut Vec<LossMap>>,
    recorder: Option<Recorder>,
    /// The nodes' transmit power.
    power: Dbm,
    /// What they are called.
    labels: &'a BTreeMap<NodeId, String>,
}

impl TransferObserver<SimNetwork<Node>> for Onlooker<'_> {
    type Error = CollectError;

    fn begin(
        &mut self,
        nodes: &mut SimNetwork<Node>,
        choice: &ProtocolPlan,
        (_, terms): (&Attempt, &TransferTerms),
    ) -> Result<(), CollectError> {
        // What is lost on a hop is repeated there: a map of losses shows pipelines.
        if self.maps.is_some() && choice.plan.style != Style::Hops {
            let scheme = choice.protocol.scheme;
            self.recorder = Some(Recorder::start(nodes, &choice.plan, scheme, terms)?);
        }
        Ok(())
    }
    fn progress(&mut self, protocol: &str, progress: Progress) -> ControlFlow<()> {
        (self.observer)(protocol, progress)
    }
    fn end(
        &mut self,
        nodes: &mut SimNetwork<Node>,
        _ended: &TransferEnd<'_>,
    ) -> Result<(), CollectError> {
        if let (Some(maps), Some(recorder)) = (&mut self.maps, self.recorder.take()) {
            let mut map = recorder.finish(nodes, self.power);
            let labels = self.labels.iter();
            map.labels = labels
                .map(|(id, label)| (id.get(), label.clone()))
                .collect();
            maps.push(map);
        }
        Ok(())
    }
}

mod error;
mod object;
mod remote;
#[cfg(test)]
mod tests;
