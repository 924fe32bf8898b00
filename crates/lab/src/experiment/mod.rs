//! Experiments: data in (`experiments/<paper>/*.toml`), rows out, and from rows metrics, figures
//! and a judgement against the papers' claims (`papers/*.toml`).
//!
//! Flow: [`Experiment`] -> [`run`] -> rows -> [`crate::results`] -> [`Report`]. A kind of run is one file
//! here with its keys, their check, and its `rows`, and a line of [`KINDS`].
//! Invariant: rows depend on the experiment and the seeds alone, in value and order, whatever the
//! number of threads. Tests: beside each file, and `tests.rs`.

mod asymmetry;
#[cfg(test)]
mod bad_file_tests;
#[cfg(test)]
mod column_tests;
mod context;
mod control_loss;
mod convergecast;
mod correlation;
mod explained;
mod forwarding;
mod journal;
#[cfg(test)]
mod journal_tests;
mod keys;
mod kind;
mod link_channels;
mod manifest;
mod neighbourhood;
mod network;
mod overhead;
mod page;
mod pipelines;
mod place;
mod rcrt;
mod report;
mod run;
mod schema;
#[cfg(test)]
mod schema_tests;
mod sites;
mod spec;
mod streams;
#[cfg(test)]
mod tests;
mod transfers;

/// Every kind of run.
pub static KINDS: &[Entry] = &[
    Entry::of::<transfers::Transfers>(),
    Entry::of::<asymmetry::Asymmetry>(),
    Entry::of::<control_loss::ControlLoss>(),
    Entry::of::<link_channels::LinkChannels>(),
    Entry::of::<correlation::Correlation>(),
    Entry::of::<overhead::Overhead>(),
    Entry::of::<network::Network>(),
    Entry::of::<forwarding::ForwardingRuns>(),
    Entry::of::<pipelines::Pipelines>(),
    Entry::of::<convergecast::Convergecast>(),
    Entry::of::<neighbourhood::Neighbourhood>(),
    Entry::of::<streams::Streams>(),
    Entry::of::<streams::StreamBounds>(),
    Entry::of::<rcrt::Rcrt>(),
];

pub use context::{ProgressObserver, RunContext, Threads};
pub use explained::{Explained, ExplainedTransfer};
pub use journal::{digest_of, Journal, Kept, Program};
pub use keys::{Key, Keyed, Shape};
pub use kind::{Captures, Explains, Kind};
pub use manifest::Manifest;
pub use page::{Measurement, Page, PaperResults};
pub use report::Report;
pub use run::{Entry, Refused, Run, RunOption};
pub use schema::schema;
pub use sites::{faithful_survey, Sites};
pub use spec::{Experiment, Quick, SpecError, Taken};

use crate::results::{unfit, Row};
use std::collections::BTreeMap;
use thalweg_simnet::forwarding::ChainError;
use thalweg_simnet::motes::RunError;
use thalweg_testbeds::{Losses, Site, SiteError, TestbedError};

/// What a run comes to.
pub type Result<T, E = ExperimentError> = std::result::Result<T, E>;

/// Why an experiment gave no rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Its testbed cannot be had.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The testbed was not measured on the control channel that was asked for.
    #[error("control channel: {0}")]
    ControlChannel(String),
    /// A testbed cannot be such a site.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A simulated network did not do what it should.
    #[error(transparent)]
    Run(RunError),
    /// A simulated network of probes did not do what it should.
    #[error("simulation: {0}")]
    Sim(#[from] thalweg_sim::SimError),
    /// A network of probes could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] thalweg_sim::NetworkError),
    /// The testbed does not have what the experiment needs.
    #[error("{testbed}, seed {seed}: {why}")]
    Unfit {
        /// The testbed.
        testbed: String,
        /// The seed.
        seed: u64,
        /// What is missing.
        why: String,
    },
    /// A stream could not be run.
    #[error("streams: {0}")]
    Stream(thalweg_simnet::collect::CollectError),
    /// A chain of nodes could not be run.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The experiment does not take an option.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A seed that rows cannot tell.
    #[error("seed {0}: an experiment's seeds are from 0 to {max}", max = i64::MAX)]
    Seed(u64),
    /// So many threads cannot be had.
    #[error("{0}")]
    Threads(String),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl From<thalweg_simnet::collect::CollectError> for ExperimentError {
    fn from(failure: thalweg_simnet::collect::CollectError) -> Self {
        match failure {
            thalweg_simnet::collect::CollectError::Stopped => Self::Stopped,
            failure => Self::Stream(failure),
        }
    }
}

impl ExperimentError {
    /// `site` does not have what an experiment needs.
    fn unfit(site: &Site, why: String) -> Self {
        Self::Unfit {
            testbed: site.testbed.name.clone(),
            seed: site.seed,
            why,
        }
    }

    /// Whether the input is to blame, not the run.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Testbed(_)
            | Self::ControlChannel(_)
            | Self::Site(_)
            | Self::Unfit { .. }
            | Self::Seed(_)
            | Self::Refused(_) => true,
            Self::Stream(failure) => failure.is_input(),
            _ => false,
        }
    }
}

impl From<RunError> for ExperimentError {
    fn from(error: RunError) -> Self {
        match error {
            error if error.is_stop() => Self::Stopped,
            error => Self::Run(error),
        }
    }
}

/// What `journal` has of `run` with `seeds` at `sites`.
pub fn resume<'a>(journal: &'a Journal, run: &Run, sites: &Sites, seeds: &[u64]) -> Kept<'a> {
    journal.kept(run.keys(), sites, seeds)
}

/// SHA-256, in hexadecimal, of all that rows of `run` at `sites` depend on beside the program and the seed: its keys, the
/// contents of files that they name, testbeds that are values, losses.
pub fn digest(run: &Run, sites: &Sites) -> String {
    journal::digest(run.keys(), sites)
}

/// All that the rows of `run` depend on with `losses`, but program and seed: its keys as they are read, the digests of the
/// files that they name, and that of its testbed where that is a value, one of `known` by their names.
pub fn inputs(run: &Run, losses: &Losses, known: &BTreeMap<String, String>) -> String {
    let (kind, keys) = run.keys();
    let mut known = known.clone();
    known.retain(|name, _| run.testbed() == Some(name));
    journal::described(kind, keys, (losses, &known))
}

/// Whether rows can tell each of `seeds`: they have signed numbers of 64 bits, as tables of other programs.
///
/// # Errors
/// [`ExperimentError::Seed`]
pub fn check_seeds(seeds: &[u64]) -> Result<()> {
    match seeds.iter().find(|seed| i64::try_from(**seed).is_err()) {
        Some(seed) => Err(ExperimentError::Seed(*seed)),
        None => Ok(()),
    }
}

/// Runs `run` with each of `seeds`. `sites` keeps what later runs can use again; what is `kept` is taken from there,
/// and what is done is kept there. A seed whose network has no routes gives rows that say so where another's has some; they
/// are not kept.
pub fn run(
    run: &Run,
    seeds: &[u64],
    sites: &Sites,
    kept: Option<&Kept<'_>>,
    observer: ProgressObserver<'_>,
) -> Result<Vec<Row>> {
    check_seeds(seeds)?;
    let rows_of = |seed: &u64| kept.and_then(|kept| kept.of(*seed));
    let left = seeds.iter().filter(|seed| rows_of(seed).is_none()).count();
    let context = RunContext::new(sites, left as u64 * run.parts(), kept, observer);
    rows_of_seeds(seeds, run, &context, |seed| {
        if let Some(rows) = rows_of(&seed) {
            return Ok(rows.clone());
        }
        let rows = run.rows(seed, &context)?;
        let columns = run.columns();
        debug_assert_eq!(rows.iter().find_map(|row| unfit(row, &columns)), None);
        if let Some(kept) = kept {
            kept.keep(seed, &rows);
        }
        Ok(rows)
    })
}

/// The rows that `each` gives of `seeds`, in their order, and of seeds that are not [`fit`] those that say so.
fn rows_of_seeds(
    seeds: &[u64],
    run: &Run,
    context: &RunContext<'_>,
    each: impl Fn(u64) -> Result<Vec<Row>> + Send + Sync,
) -> Result<Vec<Row>> {
    let of_seeds = fit(seeds, run, context, each)?;
    let rows = seeds.iter().zip(of_seeds).map(|(seed, rows)| match rows {
        Ok(rows) => Ok(rows),
        Err(why) => run.rows_without(*seed, &why.to_string()).ok_or(why),
    });
    Ok(rows.collect::<Result<Vec<_>>>()?.concat())
}

/// What `each` gives of `seeds`, in their order. A seed whose network does not have what `run` needs is told as such where
/// another's has it: what the others gave is not lost with it.
///
/// # Errors
/// The first of all, where none gave anything; the first of any other kind.
fn fit<R: Send>(
    seeds: &[u64],
    run: &Run,
    context: &RunContext<'_>,
    each: impl Fn(u64) -> Result<R> + Send + Sync,
) -> Result<Vec<Result<R>>> {
    let mut of_seeds = context::in_order(seeds, |seed| match each(*seed) {
        Err(why @ ExperimentError::Unfit { .. }) => {
            context.tick(run.parts());
            Ok(Err(why))
        }
        done => Ok(Ok(done?)),
    })?;
    if of_seeds.iter().all(Result::is_err) && !of_seeds.is_empty() {
        of_seeds.swap_remove(0)?;
    }
    Ok(of_seeds)
}

/// Runs the transfers of `run` again, watched: where their packets were lost.
///
/// # Errors
/// [`ExperimentError`]; [`ExperimentError::Refused`] where `run` is of another kind.
pub fn explain(
    run: &Run,
    seeds: &[u64],
    sites: &Sites,
    observer: ProgressObserver<'_>,
) -> Result<Explained> {
    let explains = run.explains();
    let explains = explains.ok_or(Refused::NotUsed(RunOption::Explain))?;
    let context = RunContext::new(sites, seeds.len() as u64 * run.parts(), None, observer);
    let of_seeds = fit(seeds, run, &context, |seed| {
        explains.explain(seed, &context)
    })?;
    let of_seeds = of_seeds.into_iter().flatten();
    let transfers = of_seeds.flat_map(|of_seed| of_seed.transfers);
    Ok(Explained {
        transfers: transfers.collect(),
    })
}
