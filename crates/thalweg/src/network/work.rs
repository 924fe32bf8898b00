//! What is done with a network: surveyed, planned, an object collected.

use super::Network;
use crate::error::Error;
use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;
use thalweg_host::collector::Report as PipelineReport;
use thalweg_host::job::Progress;
use thalweg_host::link_state::{LinkState, PlanRequest, PlanSummary};
use thalweg_host::registry::{Family, Hardware, Pipelined};
use thalweg_host::security::{Security, WithNumbers};
use thalweg_host::survey::SurveyCost;
use thalweg_host::transfer::pipeline::{Order, TransferTerms};
use thalweg_planner::Plan;
use thalweg_protocols::mote::Event;
use thalweg_simnet::collect::{self, ProgressObserver, Remote};
use thalweg_simnet::fetch::{CollectRequest, Explain, Report, Surveyed};
use thalweg_simnet::streams;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;
use thalweg_wire::phy;
use thalweg_wire::pipeline::HEADER_BYTES;
use thalweg_wire::seal::frame::Sealing;

impl Network {
    /// The site: the testbed's nodes as the seed draws them, aged, with the losses.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn site(&self) -> Result<Site, Error> {
        let request = self.request()?;
        let testbed = match self.at {
            None => self.testbed.clone(),
            Some(at) => Arc::new(
                Testbed::clone(&self.testbed)
                    .surveyed_at(at)
                    .map_err(|why| Error::Option { option: "at", why })?,
            ),
        };
        let payload = request.payload.bytes();
        let (site, psdu) = match request.protocol.hardware() {
            Hardware::Synchronous | Hardware::Tree => {
                let psdu = HEADER_BYTES + usize::from(payload) + phy::FCS_BYTES;
                (Site::new(testbed, self.seed), psdu)
            }
            Hardware::TwoRadios => {
                let most = streams::payload(payload);
                if self.payload.is_some_and(|bytes| bytes > most) {
                    return Err(self.payload_holds(most));
                }
                let site = Site::with_all_radios(testbed, self.seed)?;
                (site, streams::psdu_bytes(payload))
            }
        };
        let site = match self.age {
            Some(age) => site.aged(age)?,
            None => site,
        };
        let site = site.idling(self.idle);
        let site = match self.sealing {
            Sealing::Sealed => site.secured(Sealing::Sealed),
            // As its file says.
            Sealing::Open => site,
        };
        let site = site.with_losses(&self.losses, psdu)?;
        request.check(&site.testbed)?;
        Ok(site)
    }

    /// The simulated network surveys its links; then objects of any of its nodes can be fetched.
    ///
    /// # Errors
    /// [`Error`].
    pub fn survey(&self, observer: ProgressObserver<'_>) -> Result<Surveyed, Error> {
        self.check_options()?;
        Ok(self.request()?.survey(self.site()?, observer)?)
    }

    /// Surveys the simulated network, plans, and fetches the object of `node`. A transfer that fails is a report, too.
    ///
    /// # Errors
    /// [`Error`] where there is nothing to report.
    pub fn collect(&self, node: u16) -> Result<Report, Error> {
        let node = NodeId::new(node).map_err(|why| Error::Option {
            option: "from",
            why: why.to_string(),
        })?;
        self.clone().from(Some(node)).run(&mut |_, _| Continue(()))
    }

    /// The same from the node of [`Self::from`], or a far one. `observer` is shown the progress, and may stop it.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn run(
        &self,
        observer: &mut dyn FnMut(&str, Progress) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        let surveyed = self.survey(observer)?;
        let (report, _) = surveyed.fetch(&self.request()?, None, Explain::Nothing, observer)?;
        Ok(report)
    }

    /// The protocol as a pipeline, which `what` needs.
    ///
    /// # Errors
    /// [`Error::NotTaken`] for protocols of other families.
    pub fn pipeline(&self, what: &'static str) -> Result<Pipelined, Error> {
        match self.request.protocol.family {
            Family::Pipeline(pipelined) => Ok(pipelined),
            _ => Err(Error::NotTaken {
                option: what,
                protocol: self.request.protocol.name,
            }),
        }
    }

    /// The links for a plan: from the testbed's file, or surveyed at the simulated site.
    ///
    /// # Errors
    /// [`Error`].
    pub fn links(&self, observer: ProgressObserver<'_>) -> Result<LinkState, Error> {
        match self.links_of_file()? {
            Some(links) => Ok(links),
            None => Ok(self.surveyed(observer)?.0),
        }
    }

    /// The links as a survey of the network finds them, and what that costs: links of a file are surveyed in simulation, as a
    /// transfer goes by what its survey found.
    ///
    /// # Errors
    /// [`Error`].
    pub fn links_and_cost(
        &self,
        observer: ProgressObserver<'_>,
    ) -> Result<(LinkState, SurveyCost), Error> {
        self.links_of_file()?;
        self.surveyed(observer)
    }

    /// The links that the testbed's file has; none where it has none.
    fn links_of_file(&self) -> Result<Option<LinkState>, Error> {
        let protocol = self.pipeline("plan")?;
        let CollectRequest {
            from, to, channels, ..
        } = &self.request;
        collect::check(&self.testbed, (*from, *to))?;
        self.request()?.plan_request(protocol).packets()?;
        let channels = channels.as_deref();
        let links = collect::measured(&self.testbed, *to, channels, self.seed)?;
        Ok(links)
    }

    /// The links as the simulated network surveys them, and what that costs.
    fn surveyed(&self, observer: ProgressObserver<'_>) -> Result<(LinkState, SurveyCost), Error> {
        let protocol = self.pipeline("plan")?;
        let site = Site::new(self.testbed.clone(), self.seed).idling(self.idle);
        let channels = self.request.channels.as_deref();
        let ends = (self.request.to, protocol);
        let patience = self.request()?.patience;
        let surveyed = collect::Surveyed::open(site, ends, channels, patience, observer)?;
        Ok((surveyed.links().clone(), surveyed.cost().clone()))
    }

    /// Plans the transfer over `links`: as the planner has it, and as people read it.
    ///
    /// # Errors
    /// [`Error`] of kind input where there is no route.
    pub fn plan(&self, links: &LinkState) -> Result<(Plan, PlanSummary), Error> {
        let protocol = self.pipeline("plan")?;
        let request = self.request()?.plan_request(protocol);
        let plan = links.plan(&request)?;
        Ok(self.summarised(links, &request, plan))
    }

    /// The same over `paths`, lists of nodes that end at the base station, on the request's channels where it names some.
    /// What is unlikely to work is reported by warnings.
    ///
    /// ```
    /// # fn main() -> Result<(), thalweg::Error> {
    /// # use std::ops::ControlFlow::Continue;
    /// use thalweg::Network;
    /// use thalweg_units::NodeId;
    /// let network = Network::open("line5")?.protocol("pip")?;
    /// let links = network.links(&mut |_, _| Continue(()))?;
    /// let path = [5, 3, 1].map(|id| NodeId::new(id).unwrap()).to_vec();
    /// let (plan, told) = network.plan_over(&links, &[path])?;
    /// assert_eq!(told.hops, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`] of kind input where that cannot be.
    pub fn plan_over(
        &self,
        links: &LinkState,
        paths: &[Vec<NodeId>],
    ) -> Result<(Plan, PlanSummary), Error> {
        let protocol = self.pipeline("plan")?;
        let request = self.request()?.plan_request(protocol);
        let plan = links.plan_over(&request, paths, self.request.channels.as_deref())?;
        Ok(self.summarised(links, &request, plan))
    }

    /// `plan` with its text for people.
    fn summarised(
        &self,
        links: &LinkState,
        request: &PlanRequest,
        plan: Plan,
    ) -> (Plan, PlanSummary) {
        let protocol = request.protocol.over(&plan);
        // The packets that will be sent: slim ones hold more.
        let terms = protocol.terms(TransferTerms {
            payload: request.payload,
            ..TransferTerms::default()
        });
        let of = (request.bytes, terms.payload.bytes());
        let planned = PlanSummary::new(links, protocol.name, of, &plan);
        (plan, planned)
    }

    /// The same job in a network behind base station `sink`: survey, plan, fetch. Transfers are
    /// numbered after `transfers`; where the network is secured, its keys and numbers are `security`'s.
    ///
    /// # Errors
    /// [`Error`] where there is nothing to report.
    pub fn remote<N: thalweg_host::network::Network<Order = Order, Event = Event>>(
        &self,
        network: &mut N,
        (sink, transfers): (NodeId, u16),
        security: Option<&Security>,
        observer: ProgressObserver<'_>,
    ) -> Result<PipelineReport, Error> {
        let protocol = self.pipeline("port")?;
        let (request, site) = (self.request()?, self.site()?);
        let keys = security.map(|security| security.keys.clone());
        if (site.sealing() == Sealing::Sealed) != keys.is_some() {
            let why =
                "security: a secured network behind a port needs its keys, and no other has any";
            return Err(Error::Input(why.to_owned()));
        }
        if keys.is_some() && !protocol.is_sealed() {
            let why = format!(
                "security: {} is not sealed; thalweg and hop-by-hop are",
                protocol.name
            );
            return Err(Error::Input(why));
        }
        let network = &mut WithNumbers { network, security };
        let (planned, patience) = (request.plan_request(protocol), request.patience);
        let (wanted, channels) = ((sink, &planned, patience), request.channels.as_deref());
        let mut remote = Remote::survey(
            network,
            (&site, keys),
            wanted,
            channels,
            transfers,
            observer,
        )?;
        Ok(remote.fetch((&planned, patience), observer)?)
    }
}
