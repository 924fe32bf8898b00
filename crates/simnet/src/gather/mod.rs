//! Objects of many nodes at once over RCRT, in a simulated network or behind a line: the request, the run and the report.
//!
//! The job is a [`Session`] whose keeper waits for [`Objects`], the network a [`TreeNetwork`] whose routes have settled. Not
//! modelled: how sources get the order to begin. Behind a line ([`behind`](Collection::behind)) nothing is simulated. Tests: `tests.rs`.

mod behind;
mod report;
mod scenario;
#[cfg(test)]
mod tests;

pub use report::{Flowed, Node, Report};
pub use scenario::{Scenario, ScenarioError};

use crate::collect::{check, CollectError, Object};
use crate::convergecast;
use crate::rcrt::{Incident, Settle, Setup, TreeNetwork};
use crate::security::simulated_security;
use report::Context;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_host::job::{run, Failure};
use thalweg_host::network::{Network, NetworkTime};
use thalweg_host::object::Proof;
use thalweg_host::security::NetworkKeys;
use thalweg_host::transfer::rcrt::{self, Objects, Stored, MAX_PAYLOAD_BYTES};
use thalweg_host::transfer::session::{Session, SessionRequest, SessionRequestError};
use thalweg_medium::chip::{CC2420, NRF52840};
use thalweg_medium::random::derive;
use thalweg_protocols::rcrt::sink::Config;
use thalweg_sim::Capture;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::{phy, rcrt as wire, tree};

/// A request to collect from many nodes.
#[derive(Debug, Clone)]
pub struct Collection {
    /// The sources and their rates.
    pub request: SessionRequest,
    /// Constants of the sink.
    pub rates: Config,
    /// The base station; without one, the testbed's sink.
    pub to: Option<NodeId>,
    /// Object bytes in a packet.
    pub payload: u8,
    /// What each source has.
    pub object: Object,
    /// What happens to nodes.
    pub scenario: Scenario,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatherError {
    /// The request fits no network.
    #[error(transparent)]
    SessionRequest(#[from] SessionRequestError),
    /// A payload that fits into no frame.
    #[error("a packet of rcrt holds 1 to {MAX_PAYLOAD_BYTES} bytes, not {0}")]
    Payload(u8),
    /// The network is secured.
    #[error("the network is secured, and rcrt-published is not sealed")]
    NotSealed,
    /// The network is secured, and behind a line.
    #[error("security: sessions behind a port are not sealed yet; thalweg and hop-by-hop are")]
    NotSealedYet,
    /// It does not fit this network.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The network cannot be simulated.
    #[error(transparent)]
    Run(#[from] convergecast::RunError),
    /// The session broke off.
    #[error(transparent)]
    Session(#[from] Failure),
}

impl GatherError {
    /// Whether the input is to blame, not the run.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::SessionRequest(_) | Self::Payload(_) | Self::NotSealed | Self::NotSealedYet => {
                true
            }
            Self::Collect(error) => error.is_input(),
            Self::Run(_) | Self::Session(_) => false,
        }
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Routes settle.
    Routes {
        /// Sources that have a route to the base station.
        found: usize,
        /// Sources.
        of: usize,
    },
    /// Packets come.
    Packets(rcrt::Progress),
}

/// Is shown the progress once a second of the network's time; may stop it.
pub type Observer<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Time for routes at most: what the experiments give them.
const SETTLE: Duration = Duration::from_secs(600);

/// Bytes of the frame, check sum included, in which a packet of `payload` object bytes crosses a link.
pub const fn psdu_bytes(payload: u8) -> usize {
    tree::DATA_HEADER_BYTES + wire::DATA_HEADER_BYTES + payload as usize + phy::FCS_BYTES
}

impl Collection {
    fn sink(&self, testbed: &Testbed) -> NodeId {
        self.to.unwrap_or(testbed.sink)
    }

    /// Checks it against `testbed`.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn check(&self, testbed: &Testbed) -> Result<(), GatherError> {
        self.request.check()?;
        if !(1..=MAX_PAYLOAD_BYTES).contains(&self.payload) {
            return Err(GatherError::Payload(self.payload));
        }
        check(testbed, (None, self.to)).map_err(CollectError::from)?;
        for source in self.request.nodes() {
            check(testbed, (Some(source), self.to)).map_err(CollectError::from)?;
        }
        let happens_to = |node: &NodeId| check(testbed, (Some(*node), None));
        for node in self.scenario.nodes().filter(|node| *node != testbed.sink) {
            happens_to(&node).map_err(CollectError::from)?;
        }
        Ok(())
    }

    /// Gathers at `site`; frames go to `capture`. If the observer stops it, the report has what came until then. It also
    /// lists objects that did not arrive.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn gather(
        &self,
        site: &Site,
        capture: Option<Box<dyn Capture>>,
        observer: Observer<'_>,
    ) -> Result<Report, GatherError> {
        let testbed = &site.testbed;
        self.check(testbed)?;
        check_chip(site)?;
        let security = self.security(site)?;
        let proof = |id| (security.as_ref()).map_or(Proof::Digest, |(keys, _)| keys.proof(id));
        let supply = |id: NodeId| {
            let has_it = self.request.sources.contains(&id.get());
            let object = has_it.then(|| self.object.of(site.seed, id));
            Stored::proving(proof(id), object.unwrap_or_default(), self.payload)
        };
        let number = security.as_ref().map(|(_, number)| *number);
        let (setup, seed) = (self.setup(site, number), derive(site.seed, "rcrt run", &[]));
        let mut network = TreeNetwork::open(site, setup, supply, seed, capture)?;
        let routes = network.settle(|found, of| observer(Progress::Routes { found, of }))?;
        let begins = network.now();
        let wanted = self.request.nodes().map(|id| (id, Some(supply(id).info())));
        let keeper = Objects::new(begins, wanted, |progress| {
            observer(Progress::Packets(progress))
        });
        let (here, keeper) = ((self.sink(testbed), begins), keeper.proved_by(proof));
        let mut job = Session::new(here, &self.request, None, self.rates, keeper)?;
        if let Some((keys, number)) = &security {
            job = job.sealed(|node| keys.session(node, (here.0, *number)));
        }
        let result = match routes {
            ControlFlow::Continue(()) => run(&mut network, &mut job, &mut |_| routes),
            ControlFlow::Break(()) => Err(Failure::Cancelled),
        };
        let (objects, shown) = job.finish(network.now());
        match result.and(shown) {
            Ok(()) | Err(Failure::Cancelled) => {}
            Err(why) => return Err(why.into()),
        }
        let context = Context {
            testbed,
            collection: self,
            sink: self.sink(testbed),
            seed: site.seed,
            settled: Some(begins.since(NetworkTime::ZERO)),
            begins,
            sealing: site.sealing(),
        };
        let ran = network.finish()?;
        let seen = context.simulated(&ran);
        Ok(Report::new(&context, objects.finish(), seen))
    }

    /// The keys of `site` and the number of its session, where it is secured.
    fn security(&self, site: &Site) -> Result<Option<(Arc<NetworkKeys>, u32)>, GatherError> {
        let Some(security) = simulated_security(site) else {
            return Ok(None);
        };
        if self.rates == Config::PAPER {
            return Err(GatherError::NotSealed);
        }
        let number = security.session_number().map_err(Failure::from)?;
        Ok(Some((security.keys, number)))
    }
    /// The run's; it has the session's `number` where that is sealed.
    fn setup(&self, site: &Site, number: Option<u32>) -> Setup {
        let testbed = &site.testbed;
        let sources = self
            .request
            .nodes()
            .map(|id| (id, self.request.demand_of(id)));
        let setup = Setup::session(site, self.sink(testbed), sources);
        let mut flows = setup.flows;
        for flow in &mut flows {
            let joins = testbed.id_of(flow.node);
            let joins = joins.and_then(|id| self.scenario.joins(id));
            flow.at = joins.unwrap_or(Duration::ZERO);
        }
        let incident = |(at, node, what): (Duration, NodeId, Incident)| {
            Some((at, testbed.index_of(node)?, what))
        };
        Setup {
            flows,
            settle: Settle::UntilRoutes(SETTLE),
            incidents: self.scenario.incidents().filter_map(incident).collect(),
            sealed: number.map(|number| (self.sink(testbed), number)),
            ..setup
        }
    }
}

/// Whether the nodes of `site` carry trees.
fn check_chip(site: &Site) -> Result<(), GatherError> {
    if [CC2420, NRF52840].contains(site.board.chip) {
        return Ok(());
    }
    let chip = site.board.chip.name;
    let why = format!("rcrt needs a CC2420 or an nRF52840, not the {chip}");
    let testbed = site.testbed.name.clone();
    Err(CollectError::Unfit { testbed, why }.into())
}
