//! What there is: protocols with their boards and what they take, and experiments with their cost.
//! Tests: `crates/cli/tests/all/{help,experiments}.rs`.

use crate::Error;
use serde::Serialize;
use thalweg_host::registry::{Hardware, OptionName, Origin, Protocol, PROTOCOLS};
use thalweg_lab::experiment::Experiment;
use thalweg_lab::results::Claim;
use thalweg_medium::chip::CC2420;
use thalweg_sim::boards;
use thalweg_simnet::motes::check_pipelines;

/// A protocol with all that is known of it before it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownProtocol {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whose idea it is.
    pub origin: Origin,
    /// What its boards must have.
    pub needs: Hardware,
    /// The built-in boards that have it.
    pub boards: Vec<String>,
    /// What can be said of its transfers.
    pub takes: &'static [OptionName],
    /// The commands that know it; experiments name it in their files.
    pub commands: Vec<&'static str>,
}

/// Every protocol, in the registry's order.
///
/// # Errors
/// [`Error::Job`] for a board's file with a fault, which a test rules out.
pub fn protocols() -> Result<Vec<KnownProtocol>, Error> {
    PROTOCOLS.iter().map(KnownProtocol::new).collect()
}

impl KnownProtocol {
    fn new(protocol: &'static Protocol) -> Result<Self, Error> {
        let mut fitting = Vec::new();
        for name in boards::names() {
            let board = boards::load(name).map_err(|why| Error::Job(why.to_string()))?;
            let fits = match protocol.hardware() {
                Hardware::Synchronous => check_pipelines(&board).is_ok(),
                Hardware::Tree => *board.chip == CC2420,
                Hardware::TwoRadios => board.second.is_some(),
            };
            if fits {
                fitting.push(name.to_owned());
            }
        }
        Ok(Self {
            name: protocol.name,
            about: protocol.about,
            origin: protocol.origin,
            needs: protocol.hardware(),
            boards: fitting,
            takes: protocol.takes(),
            commands: commands(protocol),
        })
    }
}

/// A built-in experiment with all that is known of it before it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownExperiment {
    /// Its id.
    pub id: String,
    /// What it measures.
    pub title: String,
    /// The paper whose result it is.
    pub paper: Option<String>,
    /// How many seeds it is run with.
    pub seeds: u64,
    /// How many of its paper's claims have a band.
    pub claims: usize,
    /// Processor time of all seeds on one core, in seconds.
    pub cpu_s: Option<f64>,
}

/// Every built-in experiment, paper by paper.
///
/// # Errors
/// [`Error::Job`] for a file with a fault, which a test rules out.
pub fn experiments() -> Result<Vec<KnownExperiment>, Error> {
    let all = Experiment::built_in().map_err(|why| Error::Job(why.to_string()))?;
    let known = |e: Experiment| {
        let claims = e.claims(&[]).map_err(|why| Error::Job(why.to_string()))?;
        let is_judged = |c: &&Claim| c.id == e.id && c.judgement.is_some();
        Ok(KnownExperiment {
            claims: claims.claims.iter().filter(is_judged).count(),
            cpu_s: e.cpu_s.map(|s| s * e.seeds as f64),
            seeds: e.seeds,
            id: e.id,
            title: e.title,
            paper: e.paper,
        })
    };
    all.into_iter().map(known).collect()
}

fn commands(protocol: &Protocol) -> Vec<&'static str> {
    let takes = |(what, _): &(OptionName, &str)| protocol.takes().contains(what);
    let more = [
        (OptionName::Plan, "plan"),
        (OptionName::Timeline, "timeline"),
    ];
    let more = more.into_iter().filter(takes).map(|(_, name)| name);
    ["collect"].into_iter().chain(more).collect()
}
