//! Calls that take long: work runs on a thread of its own, and the caller waits for it, ready for Ctrl-C and for progress.
//!
//! The worker never asks for the interpreter. The caller leaves it to others while it waits, and takes it every [`TICK`]
//! to look for signals and to tell progress. Time base: wall clock. Tests: `tests/test_calls.py`.

use crate::errors::{bug, raised};
use pyo3::prelude::*;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The caller waits no longer at a time.
const TICK: Duration = Duration::from_millis(50);
/// The stack of a worker, in bytes: that of a program's first thread.
const STACK: usize = 8 << 20;

/// What worker and caller share.
#[derive(Default)]
pub(crate) struct Desk {
    stop: AtomicBool,
    note: Mutex<Note>,
    changed: Condvar,
}

/// How far the work is.
#[derive(Default, Clone, PartialEq, Eq)]
struct Note {
    label: String,
    done: u64,
    total: u64,
    is_over: bool,
}

impl Desk {
    /// Tells that `label` has done so much of its total, and learns whether to stop.
    pub(crate) fn tell(&self, label: &str, done: u64, total: u64) -> ControlFlow<()> {
        let mut note = self.note();
        if note.label != label {
            label.clone_into(&mut note.label);
        }
        (note.done, note.total) = (done, total);
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
    fn note(&self) -> MutexGuard<'_, Note> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn end(&self) {
        self.note().is_over = true;
        self.changed.notify_all();
    }
    /// What the note says after a tick, or once all is over.
    fn wait(&self) -> Note {
        let note = self.note();
        let waited = self
            .changed
            .wait_timeout_while(note, TICK, |note| !note.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// What `work` gives. Meanwhile `progress` is called with (done, total, label) in the caller's thread: a function, or True
/// for a bar of tqdm. Whatever it raises stops the work and is raised, as is KeyboardInterrupt.
///
/// # Errors
/// That of the work; a bug where it panics.
pub(crate) fn attend<T: Send>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Desk) -> Result<T, thalweg::Error> + Send,
) -> PyResult<T> {
    let told = py
        .import("thalweg._progress")?
        .call_method1("told", (progress,))?;
    let desk = Desk::default();
    let done = thread::scope(|scope| {
        let worker = || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&desk)));
            desk.end();
            done
        };
        let worker = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, worker)?;
        let watched = watch(py, &desk, &told);
        // It is over, and about to end.
        let done = py.detach(|| worker.join());
        watched?;
        match done.and_then(|done| done) {
            Ok(done) => done.map_err(raised),
            Err(panic) => Err(bug(&words(&*panic))),
        }
    });
    let closed = told.call_method0("close");
    let done = done?;
    closed?;
    Ok(done)
}

/// Waits until all is over; the first thing that is raised meanwhile stops the work.
fn watch(py: Python<'_>, desk: &Desk, told: &Bound<'_, PyAny>) -> PyResult<()> {
    let (mut shown, mut raised) = (Note::default(), Ok(()));
    loop {
        let note = py.detach(|| desk.wait());
        let is_over = note.is_over;
        if raised.is_ok() {
            raised = py.check_signals();
            let is_new = note.total > 0 && note != shown;
            if raised.is_ok() && is_new {
                raised = told.call1((note.done, note.total, &*note.label)).map(drop);
                shown = note;
            }
            if raised.is_err() {
                desk.stop.store(true, Ordering::Relaxed);
            }
        }
        if is_over {
            return raised;
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
