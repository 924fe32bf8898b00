//! Objects of many nodes at once, by a protocol that collects so: RCRT. Tests: `tests/all/whole_network.rs`,
//! `crates/cli/tests/all/whole_network.rs`.

use crate::{Error, Network};
use std::collections::BTreeMap;
use thalweg_host::line::LineNetwork;
use thalweg_host::registry::Family;
use thalweg_host::transfer::rcrt::PAYLOAD_BYTES;
use thalweg_host::transfer::session::{SessionRequest, DEMAND};
use thalweg_sim::Capture;
use thalweg_simnet::gather::{psdu_bytes, Collection, GatherError, Observer, Report, Scenario};
use thalweg_testbeds::Site;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

/// What is asked of many nodes at once, beside what [`Network`] says.
#[derive(Debug, Clone)]
pub struct Gathering {
    /// The nodes whose objects are collected; none for all but the base station.
    pub sources: Vec<NodeId>,
    /// The policy by which the base station shares its capacity.
    pub policy: String,
    /// What each node asks for, in packets per second.
    pub demand: f64,
    /// What happens to nodes meanwhile.
    pub scenario: Scenario,
}

impl Default for Gathering {
    /// All nodes, alike.
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            policy: "fair".to_owned(),
            demand: DEMAND,
            scenario: Scenario::default(),
        }
    }
}

impl Network {
    /// Collects objects of many nodes at once in the simulated network; frames go to `capture`. If the observer stops it, the
    /// report has what came until then. It also lists objects that did not arrive.
    ///
    /// # Errors
    /// [`Error::NotTaken`] for protocols that bring one object; [`Error`].
    pub fn gather(
        &self,
        of: &Gathering,
        capture: Option<Box<dyn Capture>>,
        observer: Observer<'_>,
    ) -> Result<Report, Error> {
        let collection = self.checked(of)?;
        let site = Site::new(self.testbed().clone(), self.seed_value());
        let site = match self.sealing() {
            Sealing::Sealed => site.secured(Sealing::Sealed),
            // As its file says.
            Sealing::Open => site,
        };
        let bytes = psdu_bytes(collection.payload) + usize::from(site.sealing().mic_bytes());
        let site = site.with_losses(self.link_losses(), bytes)?;
        Ok(collection.gather(&site, capture, observer)?)
    }

    /// The same of nodes behind the line that `open` gives. Packets are as long as nodes make them, and objects are what
    /// nodes have.
    ///
    /// # Errors
    /// As [`Self::gather`]; [`Error::Option`] where a payload is asked for; those of `open`.
    pub fn gather_behind<E: From<Error>>(
        &self,
        of: &Gathering,
        open: impl FnOnce() -> Result<LineNetwork, E>,
        observer: Observer<'_>,
    ) -> Result<Report, E> {
        if self.payload_bytes().is_some() {
            let why = "nodes behind a line choose the length of their packets themselves";
            let (option, why) = ("payload", why.to_owned());
            return Err(Error::Option { option, why }.into());
        }
        let (mut line, testbed) = (open()?, self.testbed());
        let sink = line.station().map_or(testbed.sink, |about| about.node);
        let collection = self.collection(of, sink)?;
        let gathered = collection.behind(&mut line, (testbed, self.seed_value()), observer);
        Ok(gathered.map_err(Error::from)?)
    }

    /// Checks `of` against the network, before anything runs.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn check_gathering(&self, of: &Gathering) -> Result<(), Error> {
        self.checked(of).map(drop)
    }
    fn checked(&self, of: &Gathering) -> Result<Collection, Error> {
        let testbed = self.testbed();
        let sink = self.request_ref().to.unwrap_or(testbed.sink);
        let collection = self.collection(of, sink)?;
        collection.check(testbed)?;
        Ok(collection)
    }

    fn collection(&self, of: &Gathering, sink: NodeId) -> Result<Collection, Error> {
        let request = self.request_ref();
        let Family::Rcrt(rates) = request.protocol.family else {
            return Err(Error::NotTaken {
                option: "more than one source",
                protocol: request.protocol.name,
            });
        };
        let others = || {
            let ids = self.testbed().nodes.iter().map(|node| node.id);
            ids.filter(|id| *id != sink).collect()
        };
        let sources: Vec<NodeId> = match of.sources.is_empty() {
            true => others(),
            false => of.sources.clone(),
        };
        Ok(Collection {
            request: SessionRequest {
                sources: sources.iter().map(|node| node.get()).collect(),
                policy: of.policy.clone(),
                demand: of.demand,
                demands: BTreeMap::new(),
                duration_s: None,
            },
            rates: rates.config(),
            to: request.to,
            payload: self.payload_bytes().unwrap_or(PAYLOAD_BYTES),
            object: request.object.clone(),
            scenario: of.scenario.clone(),
        })
    }
}

impl From<GatherError> for Error {
    fn from(error: GatherError) -> Self {
        match error.is_input() {
            true => Self::Input(error.to_string()),
            false => Self::Job(error.to_string()),
        }
    }
}
