//! Objects of all nodes of a network: one after the other, or several at once into several base stations.
//! Tests: `tests/all/whole_network.rs`, `crates/cli/tests/all/whole_network.rs`.

use crate::{Error, Network};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_host::collector::clean_channels;
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::{Family, Pipelined};
use thalweg_protocols::seals::STATIONS;
use thalweg_simnet::campaign::{empty, CampaignError, InWave, Settings, Sources};
use thalweg_simnet::collect::ProgressObserver;
use thalweg_simnet::fetch::{CollectRequest, Explain, Report};
use thalweg_testbeds::{Site, Station};
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

/// A request for the objects of all nodes but the base stations.
#[derive(Debug)]
pub struct AllNodes<'a> {
    network: &'a Network,
    request: CollectRequest,
    site: Site,
    sinks: Vec<NodeId>,
    sources: Vec<NodeId>,
}

/// What happens while objects are collected.
#[derive(Debug)]
pub enum Visit<'a> {
    /// Links are measured: transfers one after the other begin.
    Surveyed,
    /// That of a node is next.
    Begins(NodeId),
    /// It has ended, with a report or why there is none.
    Ended(NodeId, Result<&'a Report, &'a Error>),
    /// One of several at once has ended, with the object where that is whole.
    InWave(&'a Outcome<InWave>, Option<&'a [u8]>),
}

impl Network {
    /// A request for the objects of all nodes but the base stations `to`, or the testbed's sink where none is named. Several
    /// base stations serve pipelines at once; others go one after the other.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn all_nodes(&self, to: &[NodeId]) -> Result<AllNodes<'_>, Error> {
        let (request, site) = (self.request()?, self.site()?);
        let sinks = match to {
            [] => vec![self.testbed().sink],
            named => named.to_vec(),
        };
        if sinks.len() > 1 && site.idle().is_some() {
            return Err(Error::Option {
                option: "idle",
                why: "several base stations rouse no network yet; name one".to_owned(),
            });
        }
        if sinks.len() > STATIONS && site.sealing() == Sealing::Sealed {
            return Err(Error::Option {
                option: "secure",
                why: format!("nodes with keys obey {STATIONS} base stations at most"),
            });
        }
        let nodes = self.testbed().nodes.iter().map(|node| node.id);
        Ok(AllNodes {
            network: self,
            request,
            site,
            sources: nodes.filter(|node| !sinks.contains(node)).collect(),
            sinks,
        })
    }
}

impl AllNodes<'_> {
    /// The nodes whose objects are collected.
    pub fn sources(&self) -> &[NodeId] {
        &self.sources
    }
    /// Whether several transfers go at once.
    pub fn is_at_once(&self) -> bool {
        self.pipeline().is_some()
    }
    /// What carries them at once.
    fn pipeline(&self) -> Option<Pipelined> {
        match (self.request.protocol.family, &self.sinks[..]) {
            (Family::Pipeline(variant), [_, _, ..]) => Some(variant),
            _ => None,
        }
    }

    /// Collects the objects of the nodes `left`. `visit` learns what becomes of each, and ends it by an error; `observer` may
    /// stop it.
    ///
    /// # Errors
    /// Those of `visit`; [`Error`], [`Error::Stopped`] where the observer stopped it.
    pub fn collect<E: From<Error>>(
        &self,
        left: Vec<NodeId>,
        observer: ProgressObserver<'_>,
        visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.pipeline() {
            Some(variant) => self.waves((variant, left), observer, visit),
            None => self.turns(left, observer, visit),
        }
    }

    fn turns<E: From<Error>>(
        &self,
        left: Vec<NodeId>,
        observer: ProgressObserver<'_>,
        visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let surveyed = self.network.survey(observer)?;
        visit(Visit::Surveyed)?;
        for node in left {
            visit(Visit::Begins(node))?;
            let request = CollectRequest {
                from: Some(node),
                ..self.request.clone()
            };
            let fetched = surveyed.fetch(&request, None, Explain::Nothing, observer);
            match fetched.map_err(Error::from) {
                Ok((report, _)) => visit(Visit::Ended(node, Ok(&report)))?,
                Err(Error::Stopped) => return Err(Error::Stopped.into()),
                Err(why) => visit(Visit::Ended(node, Err(&why)))?,
            }
        }
        Ok(())
    }

    fn waves<E: From<Error>>(
        &self,
        (variant, left): (Pipelined, Vec<NodeId>),
        observer: ProgressObserver<'_>,
        visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut settings = self.settings(variant);
        settings.sources = Sources::These(left);
        let mut failed = None;
        let mut done = |turn: &Outcome<InWave>, object: Option<&[u8]>| match visit(Visit::InWave(
            turn, object,
        )) {
            Ok(()) => Continue(()),
            Err(why) => {
                failed = Some(why);
                Break(())
            }
        };
        let mut watch = |progress| observer("", progress);
        let emptied = empty(&self.site, &settings, &mut watch, &mut done);
        match (emptied, failed) {
            (_, Some(why)) => Err(why),
            (Ok(_), None) => Ok(()),
            (Err(why), None) => Err(Error::from(why).into()),
        }
    }

    /// The settings of transfers into all sinks at once.
    fn settings(&self, variant: Pipelined) -> Settings {
        let (site, request) = (&self.site, &self.request);
        let offered = site.testbed.channels;
        let channels = (request.channels.clone())
            .or_else(|| clean_channels(offered))
            .unwrap_or_else(|| offered.iter().collect());
        let stations = self.sinks.iter().map(|node| Station::Node(*node)).collect();
        let (object, measured) = (request.object.clone(), channels.into_iter().collect());
        let mut settings = Settings::of(site, variant, stations, measured, object, request.payload);
        settings.waves.channels.clone_from(&request.channels);
        settings.patience = request.patience;
        settings.waves.route.hops = request.hops.map(usize::from);
        settings.waves.route.max_paths = request
            .paths
            .map(usize::from)
            .or(settings.waves.route.max_paths);
        settings
    }
}

impl From<CampaignError> for Error {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Run(why) if why.is_stop() => Self::Stopped,
            CampaignError::Run(why) if !why.is_input() => Self::Job(why.to_string()),
            why => Self::Input(why.to_string()),
        }
    }
}
