//! Experiments: data in (`experiments/<paper>/*.toml`), rows out, and from rows metrics, figures
//! and a judgement against the papers' claims (`papers/*.toml`).
//!
//! Flow: [`Experiment`] -> [`run`] -> [`Row`]s -> [`MetricSpec::measure`] -> [`Claims::judge`] ->
//! [`Report`]. A kind of run is one file here with its keys, their check, and its `rows`.
//! Invariant: rows depend on the experiment and the seeds alone, in value and order, whatever the
//! number of threads. Tests: beside each file, and `tests.rs`.

mod asymmetry;
mod claims;
mod control_loss;
mod convergecast;
mod correlation;
mod figure;
mod forwarding;
mod keys;
mod link_channels;
mod metric;
mod neighbourhood;
mod network;
mod options;
mod overhead;
mod page;
mod pipelines;
mod probe;
mod report;
mod row;
mod sites;
mod spec;
mod stages;
mod streams;
#[cfg(test)]
mod tests;
mod transfers;

pub use asymmetry::Asymmetry;
pub use claims::{Claim, Claims, ClaimsError, Judged};
pub use control_loss::ControlLoss;
pub use convergecast::{Convergecast, Detail};
pub use correlation::Correlation;
pub use figure::{Axis, FigureSpec, Mark, Over, ReferenceSpec};
pub use forwarding::{ForwardingRuns, Measure};
pub use link_channels::LinkChannels;
pub use metric::{mean_and_interval, Confidence, Measured, MetricSpec, Statistic};
pub use neighbourhood::Neighbourhood;
pub use network::Network;
pub use options::{NotUsed, RunOption};
pub use overhead::Overhead;
pub use page::{page, short, span};
pub use pipelines::{PipName, Pipelines};
pub use report::Report;
pub use row::{csv, Row, Value};
pub use sites::{faithful_survey, Sites};
pub use spec::{Experiment, Quick, Run, SpecError};
pub use stages::Stages;
pub use streams::{StreamBounds, Streams};
pub use transfers::{Explained, ExplainedTransfer, Floors, Mishap, RouteSpec, Transfers};

use crate::field::RunError;
use crate::forwarding::ChainError;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use thalweg_testbeds::{SiteError, TestbedError};

/// Why an experiment gave no rows.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Its testbed cannot be had.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
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
    Stream(crate::streams::StreamFailure),
    /// A chain of nodes is not one.
    #[error(transparent)]
    Chain(ChainError),
    /// What was asked for is nothing that it does.
    #[error(transparent)]
    NotUsed(#[from] NotUsed),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl From<crate::streams::StreamFailure> for ExperimentError {
    fn from(failure: crate::streams::StreamFailure) -> Self {
        match failure {
            crate::streams::StreamFailure::Stopped => Self::Stopped,
            failure => Self::Stream(failure),
        }
    }
}

impl ExperimentError {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Testbed(_) | Self::Site(_) | Self::Unfit { .. } | Self::NotUsed(_) => true,
            Self::Stream(failure) => failure.is_input(),
            _ => false,
        }
    }
}

impl From<ChainError> for ExperimentError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Network(error) => Self::Network(error),
            ChainError::Sim(error) => Self::Sim(error),
            ChainError::Stopped => Self::Stopped,
            error @ ChainError::Hops { .. } => Self::Chain(error),
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

/// Told of each part that is done: how many, of how many. It may break off.
pub type ProgressObserver<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// Counts parts done, over all threads.
pub(crate) struct Ticker<'a> {
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
    observer: ProgressObserver<'a>,
}

impl<'a> Ticker<'a> {
    fn new(total: u64, observer: ProgressObserver<'a>) -> Self {
        let ticker = Self {
            done: AtomicU64::new(0),
            total,
            stopped: AtomicBool::new(false),
            observer,
        };
        ticker.tell(0);
        ticker
    }
    fn tell(&self, done: u64) {
        if (self.observer)(done.min(self.total), self.total).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
    /// `parts` more are done.
    fn tick(&self, parts: u64) {
        self.tell(self.done.fetch_add(parts, Ordering::Relaxed) + parts);
    }
    /// Whether the observer wanted to stop.
    fn stopped(&self) -> bool {
        // Asked again, since a long part may tick rarely.
        self.tell(self.done.load(Ordering::Relaxed));
        self.stopped.load(Ordering::Relaxed)
    }
    fn go_on(&self) -> Result<(), ExperimentError> {
        if self.stopped() {
            Err(ExperimentError::Stopped)
        } else {
            Ok(())
        }
    }
}

/// What `each` gives of `items`, worked out in parallel, in their order; of several errors the first.
fn in_order<T: Sync, R: Send>(
    items: &[T],
    each: impl Fn(&T) -> Result<R, ExperimentError> + Send + Sync,
) -> Result<Vec<R>, ExperimentError> {
    let results: Vec<Result<R, ExperimentError>> = items.par_iter().map(each).collect();
    results.into_iter().collect()
}

/// The rows that `each` gives of `items`, those of one item after another's.
fn rows_in_order<T: Sync>(
    items: &[T],
    each: impl Fn(&T) -> Result<Vec<Row>, ExperimentError> + Send + Sync,
) -> Result<Vec<Row>, ExperimentError> {
    Ok(in_order(items, each)?.concat())
}

/// Runs `run` with each of `seeds`. `sites` keeps what later runs can use again.
///
/// # Errors
/// [`ExperimentError`].
pub fn run(
    run: &Run,
    seeds: &[u64],
    sites: &Sites,
    observer: ProgressObserver<'_>,
) -> Result<Vec<Row>, ExperimentError> {
    let ticker = Ticker::new(seeds.len() as u64 * run.parts(), observer);
    match run {
        Run::Transfers(t) => t.rows(seeds, sites, &ticker),
        Run::LinkChannels(l) => l.rows(seeds, sites, &ticker),
        Run::Correlation(c) => c.rows(seeds, sites, &ticker),
        Run::Overhead(o) => o.rows(seeds, sites, &ticker),
        Run::Asymmetry(a) => a.rows(seeds, sites, &ticker),
        Run::ControlLoss(c) => c.rows(seeds, sites, &ticker),
        Run::Network(n) => n.rows(seeds, sites, &ticker),
        Run::Forwarding(f) => f.rows(seeds, sites, &ticker),
        Run::Pipelines(p) => p.rows(seeds, sites, &ticker),
        Run::Convergecast(c) => c.rows(seeds, sites, &ticker),
        Run::Neighbourhood(n) => n.rows(seeds, sites, &ticker),
        Run::Streams(s) => s.rows(seeds, sites, &ticker),
        Run::Stages(s) => s.rows(seeds, sites, &ticker),
        Run::StreamBounds(b) => b.rows(seeds, &ticker),
    }
}

/// Runs the transfers of `run` again, watched: where their packets were lost.
///
/// # Errors
/// [`ExperimentError`]; [`ExperimentError::NotUsed`] where `run` is of another kind.
pub fn explain(
    run: &Run,
    seeds: &[u64],
    sites: &Sites,
    observer: ProgressObserver<'_>,
) -> Result<Explained, ExperimentError> {
    let Run::Transfers(transfers) = run else {
        return Err(NotUsed(RunOption::Explain).into());
    };
    let ticker = Ticker::new(seeds.len() as u64 * run.parts(), observer);
    transfers.explain(seeds, sites, &ticker)
}

impl Run {
    /// Parts per seed that progress is counted in.
    fn parts(&self) -> u64 {
        match self {
            Self::Transfers(t) => t.parts(),
            Self::LinkChannels(l) => l.parts(),
            Self::Correlation(c) => c.parts(),
            Self::Overhead(_) => overhead::PARTS,
            Self::Asymmetry(a) => a.parts(),
            Self::ControlLoss(c) => c.parts(),
            Self::Network(n) => n.parts(),
            Self::Forwarding(f) => f.parts(),
            Self::Pipelines(p) => p.parts(),
            Self::Convergecast(c) => c.parts(),
            Self::Neighbourhood(n) => n.parts(),
            Self::Streams(s) => s.parts(),
            Self::Stages(s) => s.parts(),
            Self::StreamBounds(_) => 1,
        }
    }
}
