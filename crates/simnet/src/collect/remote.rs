//! The same over any network behind the host's seam, such as a base station on a line.

use super::CollectError;
use super::ProgressObserver;
use crate::motes::description;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_host::collector::{
    Collector, Description, FetchRequest, LineLoss, Patience, Report, Search, TransferEnd,
    TransferObserver,
};
use thalweg_host::job::Progress;
use thalweg_host::link_state::{LinkState, PlanRequest};
use thalweg_host::network::Network;
use thalweg_host::recovery::Sought;
use thalweg_host::security::NetworkKeys;
use thalweg_host::segments::Assembly;
use thalweg_host::survey::{SurveyCost, SurveyOutcome};
use thalweg_host::transfer::pipeline::{Order, TransferTerms};
use thalweg_protocols::mote::Event;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, NodeId};

/// A surveyed network that the caller keeps, such as one behind a base station's line. Transfers update its links for the
/// next plan.
pub struct Remote<'a, N> {
    network: &'a mut N,
    collector: Collector,
    links: LinkState,
    cost: SurveyCost,
}

impl<'a, N: Network<Order = Order, Event = Event>> Remote<'a, N> {
    /// Has base station `sink` of `network` survey the nodes that `site` names, for `request`. It is made again for silent
    /// nodes, which have these `keys`, with so much patience, unless there is a route and all others have reported: a planner that picks the source
    /// has a second survey, whose floods go farther. Transfers are numbered after
    /// `transfers`: nodes remember numbers for a while.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn survey(
        network: &'a mut N,
        (site, keys): (&Site, Option<Arc<NetworkKeys>>),
        (sink, request, patience): (NodeId, &PlanRequest, Patience),
        channels: Option<&[Channel]>,
        transfers: u16,
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let description = Description {
            keys,
            ..description(site, sink, channels)
        };
        description.place.check_channels(channels)?;
        description.place.index_of(sink)?;
        let mut collector = Collector::new(description, transfers, LineLoss::Waits);
        let mut watch = |progress| observer("", progress);
        let description = collector.description().clone();
        let serves = |surveyed: &SurveyOutcome, made| {
            let links = || description.link_state(surveyed.links.clone());
            (request.from.is_some() || made > 1) && links().plan(request).is_ok()
        };
        let sought = Sought {
            within: patience.known,
            serves: &serves,
            ..Sought::all_but(&[])
        };
        let surveyed = collector.survey(network, request.protocol, sought, &mut watch)?;
        let links = collector.description().link_state(surveyed.links.clone());
        let links = links.measured_at(network.now());
        Ok(Self {
            cost: surveyed.cost(links.routing_channel()),
            network,
            collector,
            links,
        })
    }

    /// Plans for `request`, and fetches its source's object; with so much `patience` where no route serves.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; one that fails is a report.
    pub fn fetch(
        &mut self,
        (request, patience): (&PlanRequest, Patience),
        observer: ProgressObserver<'_>,
    ) -> Result<Report, CollectError> {
        let links = self.links.as_of(self.network.now());
        let (links, plan) = match links.plan(request) {
            Ok(plan) => (links, plan),
            Err(why) => {
                let mut watch = |progress| observer("", progress);
                let search = &mut Search::new(patience, links.links());
                let wanted = (request, &mut *search);
                let found = self.collector.find_route(self.network, wanted, &mut watch);
                found?.ok_or_else(|| CollectError::no_route(why, search.waited()))?
            }
        };
        let request = FetchRequest {
            link_state: &links,
            plan_request: *request,
            plan: Arc::new(plan),
            survey: Some(self.cost.clone()),
            retry: TransferTerms::default().retry,
            patience: Some(patience),
        };
        let mut learner = Learner {
            observer,
            links: &mut self.links,
        };
        let assembly = &mut Assembly::default();
        (self.collector).fetch(self.network, &request, assembly, &mut learner)
    }
}

/// Passes on progress, and updates the links from what transfers saw.
struct Learner<'a> {
    observer: ProgressObserver<'a>,
    links: &'a mut LinkState,
}

impl<N> TransferObserver<N> for Learner<'_> {
    type Error = CollectError;

    fn progress(&mut self, protocol: &str, progress: Progress) -> ControlFlow<()> {
        (self.observer)(protocol, progress)
    }
    fn end(&mut self, _network: &mut N, ended: &TransferEnd<'_>) -> Result<(), CollectError> {
        self.links.observe(ended.hops);
        Ok(())
    }
}
