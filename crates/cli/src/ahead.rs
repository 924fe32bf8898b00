//! Experiments two at a time: the second fills the threads that the first leaves idle when few of its parts are left.
//! Rows come out in the experiments' order, and do not depend on what runs beside. Tests: `tests/all/report.rs`, `tests/all/resume.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use thalweg_lab::experiment::{Experiment, RunOption};
use thalweg_lab::results::Row;

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::run::seeds_of;
use crate::runner::Runner;

/// So many run at a time.
const AT_A_TIME: usize = 2;

/// An experiment to be run.
pub(crate) struct PlannedRun {
    /// In the quick subset with its seeds and routes.
    pub(crate) experiment: Experiment,
    pub(crate) seeds: Vec<u64>,
}

impl PlannedRun {
    /// `experiment` as the command line has it.
    pub(crate) fn of(experiment: &Experiment, args: &ReproduceArgs) -> Result<Self, Failure> {
        let mut experiment = experiment.clone();
        if args.quick {
            experiment.seeds = experiment.quick.seeds;
            if let Some(routes) = experiment.quick.routes {
                let taken = experiment.run.take(RunOption::Routes(routes));
                taken.map_err(Failure::input)?;
            }
        }
        let seeds = seeds_of(args.seeds, &experiment);
        Ok(Self { experiment, seeds })
    }

    /// Whether the rows of `other` serve: some results are of the same run.
    fn is_run(&self, other: &Self) -> bool {
        self.experiment.run == other.experiment.run && self.seeds == other.seeds
    }
}

/// Runs each of `planned` once, and gives `with` its rows, in order.
///
/// # Errors
/// The first of a run or of `with`, in their order; nothing new is begun after it.
pub(crate) fn each(
    runner: &Runner,
    planned: &[PlannedRun],
    mut with: impl FnMut(&PlannedRun, Vec<Row>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let first_like = |one: &PlannedRun| planned.iter().position(|other| other.is_run(one));
    let runs: Vec<usize> = planned.iter().filter_map(first_like).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(planned.len());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            let (sender, next, runs) = (sender.clone(), &next, &runs);
            scope.spawn(move || loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(PlannedRun { experiment, seeds }) = planned.get(place) else {
                    return;
                };
                if runs.get(place) != Some(&place) {
                    continue;
                }
                let rows = runner.rows(&experiment.id, &experiment.run, seeds);
                if sender.send((place, rows)).is_err() {
                    return;
                }
            });
        }
        drop(sender);
        let mut finished = BTreeMap::new();
        let all = planned.iter().zip(&runs).try_for_each(|(one, run)| {
            if let Some(PlannedRun { experiment, .. }) = planned.get(*run) {
                runner.show_only(&experiment.id);
            }
            while !finished.contains_key(run) {
                let (place, rows) = (receiver.recv())
                    .map_err(|_| Failure::Job("an experiment ended without rows".to_owned()))?;
                finished.insert(place, rows);
            }
            let rows = finished.remove(run).unwrap_or_else(|| Ok(Vec::new()))?;
            finished.insert(*run, Ok(rows.clone()));
            with(one, rows)
        });
        if all.is_err() {
            next.store(planned.len(), Ordering::Relaxed);
            runner.stop();
        }
        all
    })
}
