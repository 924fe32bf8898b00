//! Calls that take long: work runs on a thread of its own, and the caller waits for it, ready for Ctrl-C and for progress.
//!
//! The worker never asks for the interpreter. The caller leaves it to others while it waits, and takes it every [`TICK`]
//! to look for signals and to tell progress. Some steps of a simulation take seconds: a worker that was told to stop and is in
//! the middle of one is left to end by itself, and what it gives is dropped. Time base: wall clock. Tests: `tests/test_calls.py`.

use crate::errors::{bug, raised};
use pyo3::prelude::*;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The caller waits no longer at a time.
const TICK: Duration = Duration::from_millis(50);
/// A worker that was told to stop has so long to do so before the caller goes on without it.
const GRACE: Duration = Duration::from_millis(200);
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
    /// What the note says after `time`, or once all is over.
    fn wait(&self, time: Duration) -> Note {
        let note = self.note();
        let waited = self
            .changed
            .wait_timeout_while(note, time, |note| !note.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// What `work` gives. Meanwhile `progress` is called with (done, total, label) in the caller's thread: a function, or True
/// for a bar of tqdm. Whatever it raises stops the work and is raised, as is KeyboardInterrupt.
///
/// # Errors
/// That of the work; a bug where it panics.
pub(crate) fn attend<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Desk) -> Result<T, thalweg::Error> + Send + 'static,
) -> PyResult<T> {
    let told = py
        .import("thalweg._progress")?
        .call_method1("told", (progress,))?;
    let desk = Arc::new(Desk::default());
    let its = desk.clone();
    let worker = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&its)));
        its.end();
        done
    };
    let worker = thread::Builder::new().stack_size(STACK).spawn(worker)?;
    let watched = watch(py, &desk, &told);
    let closed = told.call_method0("close");
    watched?;
    closed?;
    // It is over, and about to end.
    match py.detach(|| worker.join()).and_then(|done| done) {
        Ok(done) => done.map_err(raised),
        Err(panic) => Err(bug(&words(&*panic))),
    }
}

/// Waits until all is over. The first thing that is raised meanwhile stops the work, and is the error.
fn watch(py: Python<'_>, desk: &Desk, told: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut shown = Note::default();
    loop {
        let note = py.detach(|| desk.wait(TICK));
        let is_over = note.is_over;
        let is_new = note.total > 0 && note != shown;
        let heard = py.check_signals().and_then(|()| match is_new {
            true => told.call1((note.done, note.total, &*note.label)).map(drop),
            false => Ok(()),
        });
        if heard.is_err() {
            desk.stop.store(true, Ordering::Relaxed);
            py.detach(|| desk.wait(GRACE));
        }
        heard?;
        if is_over {
            return Ok(());
        }
        shown = note;
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
