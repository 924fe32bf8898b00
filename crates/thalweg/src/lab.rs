//! Experiments: one, or all of a paper, with the networks, threads and kept rows that they share.
//!
//! Rows depend on an experiment and its seeds alone, whatever runs beside them. Time base: simulated time; rows that are
//! kept live by the wall clock. Tests: `tests/all/lab.rs`, `crates/cli/tests/all/{report,resume}.rs`.

mod sequence;

use crate::Error;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_lab::experiment::{
    self, Experiment, ExperimentError, Explained, Journal, Refused, Report, RunOption, Sites,
    Threads,
};
use thalweg_lab::results::{Claims, Extent, Row};
use thalweg_sim::Capture;
use thalweg_testbeds::{Assumed, Loss, Losses, Testbed};
use thalweg_units::Channel;

/// The network that is read from standard input.
const STANDARD_INPUT: &str = "-";

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// This many of its parts are done.
    Done {
        /// The experiment's id.
        id: &'a str,
        /// Parts that are done.
        done: u64,
        /// All parts.
        total: u64,
    },
    /// An earlier run has rows for it.
    Kept {
        /// The experiment's id.
        id: &'a str,
        /// Seeds that it has whole.
        seeds: usize,
        /// All seeds.
        of: usize,
    },
    /// Rows cannot be kept for a later run.
    NotKept {
        /// Why not.
        why: &'a str,
    },
}

/// Is shown each step, from any thread; may stop the run.
pub type StepObserver<'a> = &'a (dyn Fn(Step<'_>) -> ControlFlow<()> + Sync);

/// An experiment to be run, and with which seeds.
///
/// ```
/// # fn main() -> Result<(), thalweg::Error> {
/// use thalweg::{ExperimentRun, Lab};
/// let run = ExperimentRun::of("cit.fig6")?.quick()?;
/// let report = Lab::new(None)?.report(&run, &|_| std::ops::ControlFlow::Continue(()))?;
/// assert!(report.results.iter().all(|result| result.measured.value.is_finite()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ExperimentRun {
    experiment: Experiment,
    seeds: Vec<u64>,
    extent: Extent,
    claims: Claims,
}

impl ExperimentRun {
    /// The built-in experiment of that id, or the one in the file of that name, with its own seeds.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn of(name: &str) -> Result<Self, Error> {
        let experiment = Experiment::load(name).map_err(|why| Error::Input(why.to_string()))?;
        Self::new(experiment)
    }

    /// `experiment` with its own seeds.
    ///
    /// # Errors
    /// [`Error`] where its paper's file has a fault.
    pub fn new(experiment: Experiment) -> Result<Self, Error> {
        Ok(Self {
            seeds: experiment.default_seeds(),
            extent: Extent::Full,
            claims: claims(&experiment, &[])?,
            experiment,
        })
    }

    /// The same in the quick subset, with its seeds and routes.
    ///
    /// # Errors
    /// [`Error`] of kind input where it cannot be with so many routes.
    pub fn quick(mut self) -> Result<Self, Error> {
        self.experiment.seeds = self.experiment.quick.seeds;
        if let Some(routes) = self.experiment.quick.routes {
            self.take(RunOption::Routes(routes))?;
        }
        self.seeds = self.experiment.default_seeds();
        // The quick subset's values are those of its own seeds.
        self.extent = Extent::Quick;
        Ok(self)
    }

    /// The same with these seeds.
    #[must_use]
    pub fn seeds(self, seeds: Vec<u64>) -> Self {
        Self {
            seeds,
            extent: Extent::Full,
            ..self
        }
    }

    /// The same with `options`. A paper's claims are about its own network: in another none counts.
    ///
    /// # Errors
    /// [`Error::Refused`] for an option that the experiment does not take.
    pub fn with(mut self, options: &[RunOption]) -> Result<Self, Error> {
        self.claims = claims(&self.experiment, options)?;
        for option in options {
            self.take(option.clone())?;
        }
        Ok(self)
    }
    fn take(&mut self, option: RunOption) -> Result<(), Error> {
        let taken = self.experiment.run.take(option);
        taken.map_err(|why| self.refused(why))
    }
    fn refused(&self, why: Refused) -> Error {
        Error::Refused {
            experiment: self.experiment.id.clone(),
            why,
        }
    }

    /// What is run.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }
    /// Whether it is the quick subset.
    pub const fn extent(&self) -> Extent {
        self.extent
    }
    /// With which seeds.
    pub fn with_seeds(&self) -> &[u64] {
        &self.seeds
    }
    /// The report of its `rows`, judged against its paper's claims.
    pub fn judged(&self, rows: Vec<Row>) -> Report {
        Report::new(
            &self.experiment,
            &self.seeds,
            rows,
            &self.claims,
            self.extent,
        )
    }

    /// Whether the rows of `other` serve: some results are of the same run.
    fn is_same(&self, other: &Self) -> bool {
        self.experiment.run == other.experiment.run && self.seeds == other.seeds
    }
}

fn claims(experiment: &Experiment, options: &[RunOption]) -> Result<Claims, Error> {
    let claims = experiment.claims(options);
    claims.map_err(|why| Error::Job(why.to_string()))
}

/// The built-in results of the papers and results `named`, each once, in their own order, all where none is named; and
/// the ids of those that the quick subset leaves out.
///
/// # Errors
/// [`Error`] of kind input where there is no such paper or result.
pub fn results_of(
    named: &[String],
    extent: Extent,
) -> Result<(Vec<Experiment>, Vec<String>), Error> {
    let all = Experiment::built_in().map_err(|why| Error::Job(why.to_string()))?;
    let names = |e: &Experiment, name: &String| e.id == *name || e.paper.as_ref() == Some(name);
    if let Some(unknown) = named
        .iter()
        .find(|name| !all.iter().any(|e| names(e, name)))
    {
        return Err(Error::NoResult {
            name: unknown.clone(),
            papers: Experiment::papers(&all).join(", "),
        });
    }
    let is_wanted = |e: &Experiment| named.is_empty() || named.iter().any(|name| names(e, name));
    let wanted = all
        .into_iter()
        .filter(|e| e.paper.is_some() && is_wanted(e));
    let is_taken = |e: &Experiment| extent == Extent::Full || e.is_quick(named);
    let (taken, left_out): (Vec<_>, Vec<_>) = wanted.partition(is_taken);
    Ok((taken, left_out.into_iter().map(|e| e.id).collect()))
}

/// Runs experiments.
pub struct Lab {
    sites: Sites,
    journal: Option<Journal>,
    threads: Threads,
}

impl Lab {
    /// One that takes `jobs` threads, or as many as the machine has cores. It keeps nothing for later runs.
    ///
    /// # Errors
    /// [`Error`] where so many threads cannot be had.
    pub fn new(jobs: Option<NonZeroUsize>) -> Result<Self, Error> {
        Ok(Self {
            sites: Sites::default(),
            journal: None,
            threads: Threads::new(jobs.map(checked).transpose()?)?,
        })
    }

    /// The same, which keeps the rows of a run that does not end in `folder`, for the next run of the same `program`: a
    /// file that changes when the engines do, such as the executable.
    #[must_use]
    pub fn keeping_in(self, folder: &Path, program: PathBuf) -> Self {
        let journal = Some(Journal::in_folder(folder, program));
        Self { journal, ..self }
    }

    /// The same with floods on channel `control`, if one was asked for.
    #[must_use]
    pub fn flooding_on(self, control: Option<Channel>) -> Self {
        let sites = self.sites.flooding_on(control);
        Self { sites, ..self }
    }

    /// The same in the network `name`, which is loaded now: standard input has it once, and cannot be recognised by a
    /// later run.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn within(self, name: &str) -> Result<Self, Error> {
        self.sites.testbed(name)?;
        let journal = self.journal.filter(|_| name != STANDARD_INPUT);
        Ok(Self { journal, ..self })
    }

    /// The same, where `testbed` is called `name`, whatever else is called so: experiments whose `run.testbed` is `name` run
    /// over it. After [`Self::flooding_on`].
    ///
    /// # Errors
    /// [`Error::Option`] where it was not measured on the channel of floods that was asked for.
    pub fn knowing(self, name: &str, testbed: impl Into<Arc<Testbed>>) -> Result<Self, Error> {
        let sites = self.sites.knowing(name, testbed)?;
        Ok(Self { sites, ..self })
    }

    /// SHA-256, in hexadecimal, of all that rows of `run` depend on beside the program and the seed: its keys, files that
    /// they name, testbeds that are values, losses.
    pub fn digest(&self, run: &ExperimentRun) -> String {
        experiment::digest(&run.experiment.run, &self.sites)
    }

    /// The same with losses on `links` of every network of `run`.
    ///
    /// # Errors
    /// [`Error::Refused`] where the experiment has no use for them.
    pub fn lossy(self, run: &ExperimentRun, links: &[Loss]) -> Result<Self, Error> {
        if links.is_empty() {
            return Ok(self);
        }
        let psdu_bytes = run.experiment.run.lossy_frame_bytes();
        let psdu_bytes =
            psdu_bytes.ok_or_else(|| run.refused(Refused::NotUsed(RunOption::Loss)))?;
        let losses = Losses {
            links: links.to_vec(),
            psdu_bytes,
        };
        let sites = self.sites.losing(losses);
        Ok(Self { sites, ..self })
    }

    /// The losses on every network.
    pub fn losses(&self) -> &Losses {
        self.sites.losses()
    }
    /// The networks so far whose files leave something open, with what was made of it.
    pub fn assumed(&self) -> Vec<(String, Vec<Assumed>)> {
        self.sites.assumed()
    }
    /// The network `name`, as experiments find it.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn testbed(&self, name: &str) -> Result<Arc<Testbed>, Error> {
        Ok(self.sites.testbed(name)?)
    }

    /// The rows of `run`.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Stopped`] where the observer stopped it.
    pub fn rows(&self, run: &ExperimentRun, observer: StepObserver<'_>) -> Result<Vec<Row>, Error> {
        let (id, seeds) = (&*run.experiment.id, &*run.seeds);
        let what = &run.experiment.run;
        let step = |done, total| observer(Step::Done { id, done, total });
        let journal = self.journal.as_ref();
        let kept = journal.map(|journal| experiment::resume(journal, what, &self.sites, seeds));
        let whole = kept.as_ref().map_or(0, |kept| kept.seeds());
        if whole > 0 {
            let kept = Step::Kept {
                id,
                seeds: whole,
                of: seeds.len(),
            };
            if observer(kept).is_break() {
                return Err(Error::Stopped);
            }
        }
        let rows = || experiment::run(what, seeds, &self.sites, kept.as_ref(), &step);
        let rows = self.threads.run(rows);
        if let Some(why) = journal.and_then(Journal::failure) {
            // A run is not worth less for it.
            let _ = observer(Step::NotKept { why: &why });
        }
        Ok(rows?)
    }

    /// The report of `run`.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn report(&self, run: &ExperimentRun, observer: StepObserver<'_>) -> Result<Report, Error> {
        Ok(run.judged(self.rows(run, observer)?))
    }

    /// Gives the frames of the first run with the first seed of `run` to the capture that `open` makes for its network.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Refused`] where experiments of its kind have no such run.
    pub fn capture<E: From<Error>>(
        &self,
        run: &ExperimentRun,
        open: impl FnOnce(&Testbed) -> Result<Box<dyn Capture>, E>,
    ) -> Result<(), E> {
        let captures = run.experiment.run.captures();
        let (Some(captures), Some(seed)) = (captures, run.seeds.first()) else {
            return Err(run.refused(Refused::NotUsed(RunOption::Pcap)).into());
        };
        let testbed = self.testbed(captures.testbed())?;
        let frames = open(&testbed)?;
        let captured = captures.capture(*seed, &self.sites, frames);
        Ok(captured.map_err(Error::from)?)
    }

    /// Where the transfers of `run` lost their packets.
    ///
    /// # Errors
    /// As [`Self::rows`]; [`Error::Refused`] where experiments of its kind have no transfers.
    pub fn explain(
        &self,
        run: &ExperimentRun,
        observer: StepObserver<'_>,
    ) -> Result<Explained, Error> {
        let id = &*run.experiment.id;
        let step = |done, total| observer(Step::Done { id, done, total });
        let what = &run.experiment.run;
        let explained = || experiment::explain(what, &run.seeds, &self.sites, &step);
        Ok(self.threads.run(explained)?)
    }

    /// Where rows of a run that did not end are, if there are any.
    pub fn kept_in(&self) -> Option<&Path> {
        self.journal.as_ref().and_then(Journal::folder)
    }
    /// Removes the rows that were kept, since what was made of them is safe.
    pub fn forget(&self) {
        if let Some(journal) = &self.journal {
            journal.remove();
        }
    }
}

/// No machine has more cores, and each thread takes memory.
const MOST_JOBS: usize = 1024;

/// So many threads, where they are not too many.
pub(crate) fn checked(jobs: NonZeroUsize) -> Result<NonZeroUsize, Error> {
    let refused = || Error::Option {
        option: "jobs",
        why: format!("expected 1 to {MOST_JOBS} threads, got {jobs}"),
    };
    (jobs.get() <= MOST_JOBS)
        .then_some(jobs)
        .ok_or_else(refused)
}

impl From<ExperimentError> for Error {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Testbed(error) => error.into(),
            ExperimentError::Stopped => Self::Stopped,
            ExperimentError::ControlChannel(why) => Self::Option {
                option: "control-channel",
                why,
            },
            error if error.is_input() => Self::Input(error.to_string()),
            error => Self::Job(error.to_string()),
        }
    }
}
