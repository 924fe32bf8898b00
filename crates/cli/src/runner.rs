//! Shows how far experiments are, for `run` and `reproduce`: progress, kept rows, Ctrl-C.
//! Time base: wall clock. Tests: `tests/all/resume.rs`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg::{ExperimentRun, Explained, Lab, Row, Step};

use crate::args::STORE;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;
use crate::pace::Pace;
use crate::progress::{Reporter, Verbosity};

/// Runs experiments in a lab, and shows their progress.
pub(crate) struct Runner {
    pub(crate) lab: Lab,
    interrupt: Interrupt,
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

/// A lab that takes `jobs` threads, or all. Unfinished work is kept with the results in `out`, or beside the store.
pub(crate) fn lab(out: Option<&Path>, jobs: Option<NonZeroUsize>) -> Result<Lab, Failure> {
    let lab = Lab::new(jobs)?;
    let folder: PathBuf = out.unwrap_or(Path::new(STORE)).join("runs");
    Ok(match std::env::current_exe() {
        Ok(program) => lab.keeping_in(&folder, program),
        Err(_) => lab,
    })
}

impl Runner {
    /// One that runs experiments in `lab`.
    pub(crate) fn new(lab: Lab, say: Verbosity) -> Self {
        Self {
            lab,
            interrupt: Interrupt::on_signals(),
            status: Mutex::new(Status {
                reporter: Reporter::to_stderr(say),
                pace: Pace::new(),
                id: None,
            }),
            say,
        }
    }

    /// The rows of `run`.
    pub(crate) fn rows(&self, run: &ExperimentRun) -> Result<Vec<Row>, Failure> {
        let rows = self.lab.rows(run, &|step| self.show(step));
        rows.map_err(|error| self.stopped(error))
    }

    /// Gives the rows of each of `runs` to `with`, in order.
    pub(crate) fn each(
        &self,
        runs: &[ExperimentRun],
        mut with: impl FnMut(&ExperimentRun, Vec<Row>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let awaited = |run: &ExperimentRun| {
            self.status().id = Some(run.experiment().id.clone());
        };
        let all = self
            .lab
            .each(runs, &|step| self.show(step), awaited, |run, rows| {
                with(run, rows).map_err(Ended::Failed)
            });
        all.map_err(|ended| match ended {
            Ended::Failed(failure) => failure,
            Ended::Run(error) => self.stopped(error),
        })
    }

    /// The failure that `error` of a run is.
    fn stopped(&self, error: thalweg::Error) -> Failure {
        match (error, self.lab.kept_in()) {
            (thalweg::Error::Stopped, Some(folder)) => {
                let kept = folder.display();
                Failure::Job(format!(
                    "stopped; the same command goes on with what {kept} has"
                ))
            }
            (thalweg::Error::Stopped, None) => Failure::Job("stopped".to_owned()),
            (error, _) => error.into(),
        }
    }

    /// Writes the frames of the first run with the first of its seeds to `file`.
    pub(crate) fn capture(&self, run: &ExperimentRun, file: &Path) -> Result<(), Failure> {
        let mut made = None;
        self.lab.capture(run, |testbed| {
            let capture = made.insert(Capture::create(file)?);
            let frames = capture.transmissions(&testbed.nodes);
            frames.map_err(Failure::job)
        })?;
        made.map_or(Ok(()), Capture::finish)
    }

    /// Where the transfers of `run` lost their packets.
    pub(crate) fn explained(&self, run: &ExperimentRun) -> Result<Explained, Failure> {
        Ok(self.lab.explain(run, &|step| self.show(step))?)
    }

    fn show(&self, step: Step<'_>) -> ControlFlow<()> {
        if self.interrupt.is_set() {
            return ControlFlow::Break(());
        }
        match step {
            Step::Done { id, done, total } => self.show_done(id, done, total),
            Step::Kept { id, seeds, of } => {
                self.note(&format!(
                    "{id}: {seeds} of {of} seeds taken from an earlier run"
                ));
            }
            Step::NotKept { why } => self.note(&format!("what is done is not kept: {why}")),
        }
        ControlFlow::Continue(())
    }

    fn show_done(&self, id: &str, done: u64, total: u64) {
        let Status {
            reporter,
            pace,
            id: shown,
        } = &mut *self.status();
        if shown.as_ref().is_some_and(|shown| shown != id) {
            return;
        }
        let detail = match pace.left(id, done, total).as_str() {
            "" => "runs".to_owned(),
            left => format!("runs, {left}"),
        };
        reporter.counted(id, &detail, done, total);
    }

    /// Shows a line that is of no run.
    pub(crate) fn note(&self, line: &str) {
        self.status().reporter.line(&format!("thalweg: {line}"));
    }

    /// Takes the progress bar away, and reports what was assumed of networks' files.
    pub(crate) fn finish(&self) {
        self.status().reporter.finish();
        for (name, assumed) in self.lab.assumed() {
            network::report_assumed(&name, &assumed, self.say);
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a sequence of experiments ended.
enum Ended {
    Run(thalweg::Error),
    Failed(Failure),
}

impl From<thalweg::Error> for Ended {
    fn from(error: thalweg::Error) -> Self {
        Self::Run(error)
    }
}
