//! Experiments two at a time: the second fills the threads that the first leaves idle when few of its parts are left.
//! Rows come out in the experiments' order.

use super::{ExperimentRun, Lab, StepObserver};
use crate::Error;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use thalweg_lab::results::Row;

/// How many run at a time.
const AT_A_TIME: usize = 2;

impl Lab {
    /// Runs each of `runs` once, and gives `with` its rows, in order; `awaited` is called with the one that is waited
    /// for. Results of the same run share its rows.
    ///
    /// # Errors
    /// The first of a run or of `with`, in their order; nothing new is begun after it, and what runs is stopped.
    pub fn each<E: From<Error>>(
        &self,
        runs: &[ExperimentRun],
        observer: StepObserver<'_>,
        awaited: impl Fn(&ExperimentRun),
        mut with: impl FnMut(&ExperimentRun, Vec<Row>) -> Result<(), E>,
    ) -> Result<(), E> {
        let first_like = |one: &ExperimentRun| runs.iter().position(|other| other.is_same(one));
        let firsts: Vec<usize> = runs.iter().filter_map(first_like).collect();
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let observer = |step: super::Step<'_>| match is_over.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => observer(step),
        };
        let (sender, receiver) = sync_channel(runs.len());
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                let (sender, next, firsts, observer) = (sender.clone(), &next, &firsts, &observer);
                scope.spawn(move || loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(place) else {
                        return;
                    };
                    if firsts.get(place) != Some(&place) {
                        continue;
                    }
                    if sender.send((place, self.rows(run, observer))).is_err() {
                        return;
                    }
                });
            }
            drop(sender);
            let mut finished = BTreeMap::new();
            let all = runs.iter().zip(&firsts).try_for_each(|(one, first)| {
                if let Some(run) = runs.get(*first) {
                    awaited(run);
                }
                while !finished.contains_key(first) {
                    let ended = receiver.recv();
                    let without = |_| Error::Job("an experiment ended without rows".to_owned());
                    let (place, rows) = ended.map_err(without)?;
                    finished.insert(place, rows);
                }
                let rows = finished.remove(first).unwrap_or_else(|| Ok(Vec::new()))?;
                finished.insert(*first, Ok(rows.clone()));
                with(one, rows)
            });
            if all.is_err() {
                next.store(runs.len(), Ordering::Relaxed);
                is_over.store(true, Ordering::Relaxed);
            }
            all
        })
    }
}
