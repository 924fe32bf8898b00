//! What runs share: sites and surveys, progress, and whether to stop.

use super::journal::Kept;
use super::sites::Sites;
use super::{ExperimentError, Result};
use crate::results::Row;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use thalweg_host::survey::{Survey, SurveyOutcome};
use thalweg_testbeds::Site;
use thalweg_units::Duration;

/// Is shown how many parts of how many are done; may stop the run.
pub type ProgressObserver<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// The runs of one experiment share this, over all threads.
pub struct RunContext<'a> {
    /// Sites and surveys so far.
    pub(super) sites: &'a Sites,
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
    kept: Option<&'a Kept<'a>>,
    observer: ProgressObserver<'a>,
}

impl<'a> RunContext<'a> {
    pub(super) fn new(
        sites: &'a Sites,
        total: u64,
        kept: Option<&'a Kept<'a>>,
        observer: ProgressObserver<'a>,
    ) -> Self {
        let context = Self {
            sites,
            done: AtomicU64::new(0),
            total,
            stopped: AtomicBool::new(false),
            kept,
            observer,
        };
        context.report(0);
        context
    }

    fn report(&self, done: u64) {
        if (self.observer)(done.min(self.total), self.total).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// `parts` more are done.
    pub(super) fn tick(&self, parts: u64) {
        self.report(self.done.fetch_add(parts, Ordering::Relaxed) + parts);
    }

    /// Breaks where the observer wanted to stop.
    pub(super) fn flow(&self) -> ControlFlow<()> {
        // Again, since a long part may tick rarely.
        self.report(self.done.load(Ordering::Relaxed));
        match self.stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// An error where the observer wanted to stop.
    pub(super) fn go_on(&self) -> Result<()> {
        match self.flow() {
            ControlFlow::Break(()) => Err(ExperimentError::Stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// The rows that `each` gives of a part, which is done then.
    pub(super) fn part<R>(&self, each: impl FnOnce() -> Result<R>) -> Result<R> {
        self.go_on()?;
        let result = each()?;
        self.tick(1);
        Ok(result)
    }

    /// The rows that `each` gives of setting number `place` of `seed`, a part, which is done then. They are kept:
    /// what is not done is less than a seed.
    pub(super) fn setting(
        &self,
        (seed, place): (u64, usize),
        each: impl FnOnce() -> Result<Vec<Row>>,
    ) -> Result<Vec<Row>> {
        self.part(|| match self.kept {
            Some(kept) => kept.setting((seed, place), each),
            None => each(),
        })
    }

    /// [`Sites::site`].
    pub(super) fn site(&self, testbed: &str, seed: u64) -> Result<Site> {
        self.sites.site(testbed, seed)
    }

    /// The links of `site`, as measured under `survey` where time begins and collected at its sink. Losses that were
    /// injected begin after the survey.
    pub(super) fn survey(
        &self,
        testbed: &str,
        site: &Site,
        survey: Survey,
    ) -> Result<Arc<SurveyOutcome>> {
        self.survey_later((testbed, site), survey, Duration::ZERO)
    }

    /// The same as measured so long after time begins.
    pub(super) fn survey_later(
        &self,
        of: (&str, &Site),
        survey: Survey,
        begins: Duration,
    ) -> Result<Arc<SurveyOutcome>> {
        self.sites.survey(of, survey, begins, &mut |_| self.flow())
    }
}

/// The threads that runs take.
pub struct Threads(rayon::ThreadPool);

impl Threads {
    /// So many, or as many as the process may use cores. They are its own: after a `fork` a child has none of the threads that
    /// all of a process share.
    ///
    /// # Errors
    /// [`ExperimentError::Threads`] where they cannot be had.
    pub fn new(jobs: Option<NonZeroUsize>) -> Result<Self> {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = jobs.unwrap_or_else(cores);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get());
        let refused = |why: rayon::ThreadPoolBuildError| {
            ExperimentError::Threads(format!("{jobs} threads: {why}"))
        };
        Ok(Self(pool.build().map_err(refused)?))
    }

    /// Does `work` on them.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

/// What `each` gives of `items`, worked out in parallel, in their order; of several errors the first.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    each: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    let results: Vec<Result<R, ExperimentError>> = items.par_iter().map(each).collect();
    results.into_iter().collect()
}

/// The rows that `each` gives of `items`, those of one item after another's.
pub(super) fn rows_in_order<T: Sync>(
    items: &[T],
    each: impl Fn(&T) -> Result<Vec<Row>> + Send + Sync,
) -> Result<Vec<Row>> {
    Ok(in_order(items, each)?.concat())
}
