//! What `run` and `reproduce` run experiments with: threads, what an earlier command kept, progress, Ctrl-C.
//! Time base: wall clock. Tests: `tests/resume.rs`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_lab::experiment::{
    self, Experiment, ExperimentError, Explained, Journal, Refused, Run, RunOption, Sites, Threads,
};
use thalweg_lab::results::Row;
use thalweg_testbeds::{Loss, Losses};

use crate::args::STORE;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;
use crate::pace::Pace;
use crate::progress::{Reporter, Verbosity};

/// The network that is read from standard input.
const STANDARD_INPUT: &str = "-";

/// What runs experiments, and tells how far they are.
pub(crate) struct Runner {
    sites: Sites,
    journal: Journal,
    threads: Threads,
    keep: Keep,
    interrupt: Interrupt,
    over: AtomicBool,
    telling: Mutex<Telling>,
    say: Verbosity,
}

/// How far what runs is.
struct Telling {
    reporter: Reporter,
    pace: Pace,
    /// The one that is told of, where several run at once.
    id: Option<String>,
}

/// What is kept of a run that does not finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Seeds,
    /// What the run reads from standard input is not known again.
    Nothing,
}

impl Runner {
    /// One that takes `jobs` threads, or all. What it has not finished is kept with the results in `out`, or beside
    /// the store.
    pub(crate) fn new(
        out: Option<&Path>,
        jobs: Option<NonZeroUsize>,
        say: Verbosity,
    ) -> Result<Self, Failure> {
        let folder: PathBuf = out.unwrap_or(Path::new(STORE)).join("runs");
        Ok(Self {
            sites: Sites::default(),
            journal: Journal::in_folder(&folder),
            threads: Threads::new(jobs).map_err(failure)?,
            keep: Keep::Seeds,
            interrupt: Interrupt::on_signals(),
            over: AtomicBool::new(false),
            telling: Mutex::new(Telling {
                reporter: Reporter::to_stderr(say),
                pace: Pace::new(),
                id: None,
            }),
            say,
        })
    }

    /// The same in the network `name`, which is loaded now: standard input has it once.
    pub(crate) fn within(self, name: &str) -> Result<Self, Failure> {
        self.sites.testbed(name).map_err(failure)?;
        let keep = match name {
            STANDARD_INPUT => Keep::Nothing,
            _ => self.keep,
        };
        Ok(Self { keep, ..self })
    }

    /// The same with losses on `links` of every network of `experiment`.
    pub(crate) fn lossy(self, experiment: &Experiment, links: &[Loss]) -> Result<Self, Failure> {
        if links.is_empty() {
            return Ok(self);
        }
        let unused = || refused(&experiment.id, &Refused::NotUsed(RunOption::Loss));
        let psdu_bytes = experiment.run.lossy_frame_bytes().ok_or_else(unused)?;
        let losses = Losses {
            links: links.to_vec(),
            psdu_bytes,
        };
        Ok(Self {
            sites: Sites::with_losses(losses),
            ..self
        })
    }

    /// The rows of `run` with `seeds`; `id` names it in the progress.
    pub(crate) fn rows(&self, id: &str, run: &Run, seeds: &[u64]) -> Result<Vec<Row>, Failure> {
        let observer = |done: u64, total: u64| self.told(id, done, total);
        let resume = || experiment::resume(&self.journal, run, &self.sites, seeds);
        let kept = (self.keep == Keep::Seeds).then(resume);
        let seeds_kept = kept.as_ref().map_or(0, |kept| kept.seeds());
        if seeds_kept > 0 {
            let (n, m) = (seeds_kept, seeds.len());
            let line = format!("thalweg: {id}: {n} of {m} seeds taken from an earlier run");
            self.telling().reporter.line(&line);
        }
        let rows = || experiment::run(run, seeds, &self.sites, kept.as_ref(), &observer);
        let rows = self.threads.run(rows);
        if let Some(why) = self.journal.failure() {
            let line = format!("thalweg: what is done is not kept: {why}");
            self.telling().reporter.line(&line);
        }
        rows.map_err(|error| match (error, self.journal.folder()) {
            (ExperimentError::Stopped, Some(folder)) => {
                let kept = folder.display();
                Failure::Job(format!(
                    "stopped; the same command goes on with what {kept} has"
                ))
            }
            (error, _) => failure(error),
        })
    }

    /// Writes the frames of the first run with the first of `seeds` to `file`.
    pub(crate) fn capture(
        &self,
        experiment: &Experiment,
        seeds: &[u64],
        file: &Path,
    ) -> Result<(), Failure> {
        let (Some(run), Some(seed)) = (experiment.run.captures(), seeds.first()) else {
            let unused = Refused::NotUsed(RunOption::Pcap);
            return Err(refused(&experiment.id, &unused));
        };
        let testbed = self.sites.testbed(run.testbed()).map_err(failure)?;
        let capture = Capture::create(file)?;
        let frames = capture.transmissions(&testbed.nodes);
        let frames = frames.map_err(Failure::job)?;
        run.capture(*seed, &self.sites, frames).map_err(failure)?;
        capture.finish()
    }

    /// Where the transfers of `experiment` lost their packets.
    pub(crate) fn explained(
        &self,
        experiment: &Experiment,
        seeds: &[u64],
    ) -> Result<Explained, Failure> {
        let observer = |done: u64, total: u64| self.told(&experiment.id, done, total);
        let explained = || experiment::explain(&experiment.run, seeds, &self.sites, &observer);
        self.threads.run(explained).map_err(failure)
    }

    fn told(&self, id: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.interrupt.is_set() || self.over.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let Telling {
            reporter,
            pace,
            id: told,
        } = &mut *self.telling();
        if told.as_ref().is_some_and(|told| told != id) {
            return ControlFlow::Continue(());
        }
        let left = pace.left(id, done, total);
        reporter.counted(id, &left, done, total);
        if !reporter.has_bar() && pace.is_minute() {
            reporter.line(&format!("thalweg: {id}: {done} of {total}, {left}"));
        }
        ControlFlow::Continue(())
    }

    /// Tells a line that is of no run.
    pub(crate) fn note(&self, line: &str) {
        self.telling().reporter.line(&format!("thalweg: {line}"));
    }

    /// Tells of `id` alone from now on, of all that runs at once.
    pub(crate) fn tell_of(&self, id: &str) {
        self.telling().id = Some(id.to_owned());
    }

    /// Breaks off what runs, since its results are of no use any more.
    pub(crate) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Takes away what was kept, since results are where they belong.
    pub(crate) fn done(&self) {
        self.journal.remove();
    }

    /// Takes the progress bar away, and says what the files of networks left open.
    pub(crate) fn finish(&self) {
        self.telling().reporter.finish();
        for (name, assumed) in self.sites.assumed() {
            network::tell(&name, &assumed, self.say);
        }
    }

    fn telling(&self) -> MutexGuard<'_, Telling> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Testbed(error) => error.into(),
        error if error.is_input() => Failure::input(error),
        error => Failure::job(error),
    }
}

/// What an experiment has no use for, or cannot be with.
pub(crate) fn refused(id: &str, why: &Refused) -> Failure {
    Failure::Input(format!("{id}: {why}"))
}
