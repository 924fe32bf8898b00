//! Runs experiments for `run` and `reproduce`: threads, rows kept by an earlier command, progress, Ctrl-C.
//! Time base: wall clock. Tests: `tests/all/resume.rs`.

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
use thalweg_units::Channel;

use crate::args::STORE;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;
use crate::pace::Pace;
use crate::progress::{Reporter, Verbosity};

/// The network that is read from standard input.
const STANDARD_INPUT: &str = "-";

/// Runs experiments, and shows their progress.
pub(crate) struct Runner {
    sites: Sites,
    journal: Journal,
    threads: Threads,
    keep: Keep,
    interrupt: Interrupt,
    stopped: AtomicBool,
    status: Mutex<Status>,
    say: Verbosity,
}

/// The progress display.
struct Status {
    reporter: Reporter,
    pace: Pace,
    /// The experiment that is shown, where several run at once.
    id: Option<String>,
}

/// What an unfinished run leaves for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Seeds,
    /// The network from standard input cannot be recognised again.
    Nothing,
}

impl Runner {
    /// One that takes `jobs` threads, or all. Unfinished work is kept with the results in `out`, or beside the store.
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
            stopped: AtomicBool::new(false),
            status: Mutex::new(Status {
                reporter: Reporter::to_stderr(say),
                pace: Pace::new(),
                id: None,
            }),
            say,
        })
    }

    /// The same with floods on channel `control`, if one was asked for.
    pub(crate) fn flooding_on(self, control: Option<Channel>) -> Self {
        let sites = self.sites.flooding_on(control);
        Self { sites, ..self }
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

    /// The losses on every network.
    pub(crate) fn losses(&self) -> &Losses {
        self.sites.losses()
    }

    /// The rows of `run` with `seeds`; `id` names it in the progress.
    pub(crate) fn rows(&self, id: &str, run: &Run, seeds: &[u64]) -> Result<Vec<Row>, Failure> {
        let observer = |done: u64, total: u64| self.show(id, done, total);
        let resume = || experiment::resume(&self.journal, run, &self.sites, seeds);
        let kept = (self.keep == Keep::Seeds).then(resume);
        let seeds_kept = kept.as_ref().map_or(0, |kept| kept.seeds());
        if seeds_kept > 0 {
            let (n, m) = (seeds_kept, seeds.len());
            let line = format!("thalweg: {id}: {n} of {m} seeds taken from an earlier run");
            self.status().reporter.line(&line);
        }
        let rows = || experiment::run(run, seeds, &self.sites, kept.as_ref(), &observer);
        let rows = self.threads.run(rows);
        if let Some(why) = self.journal.failure() {
            let line = format!("thalweg: what is done is not kept: {why}");
            self.status().reporter.line(&line);
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
        let observer = |done: u64, total: u64| self.show(&experiment.id, done, total);
        let explained = || experiment::explain(&experiment.run, seeds, &self.sites, &observer);
        self.threads.run(explained).map_err(failure)
    }

    fn show(&self, id: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.interrupt.is_set() || self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let Status {
            reporter,
            pace,
            id: shown,
        } = &mut *self.status();
        if shown.as_ref().is_some_and(|shown| shown != id) {
            return ControlFlow::Continue(());
        }
        let left = pace.left(id, done, total);
        reporter.counted(id, &left, done, total);
        ControlFlow::Continue(())
    }

    /// Shows a line that is of no run.
    pub(crate) fn note(&self, line: &str) {
        self.status().reporter.line(&format!("thalweg: {line}"));
    }

    /// Shows only `id` from now on, of all that runs at once.
    pub(crate) fn show_only(&self, id: &str) {
        self.status().id = Some(id.to_owned());
    }

    /// Stops what runs: its results are of no use any more.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Removes the rows kept, since the results are written.
    pub(crate) fn done(&self) {
        self.journal.remove();
    }

    /// Takes the progress bar away, and reports what was assumed of networks' files.
    pub(crate) fn finish(&self) {
        self.status().reporter.finish();
        for (name, assumed) in self.sites.assumed() {
            network::report_assumed(&name, &assumed, self.say);
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Testbed(error) => error.into(),
        error if error.is_input() => Failure::input(error),
        error => Failure::job(error),
    }
}

/// An option that an experiment does not take.
pub(crate) fn refused(id: &str, why: &Refused) -> Failure {
    Failure::Input(format!("{id}: {why}"))
}
