//! What is asked: an experiment, points and seeds.

use super::format::Format;
use super::networks::Networks;
use super::points::{below_run, Values};
use super::task::{kind_of, words, AtPoint, Keys, Point};
use crate::Error;
use std::collections::BTreeSet;
use thalweg_lab::experiment::{check_seeds, Experiment, Program};
use thalweg_testbeds::{Loss, Losses};

/// More runs are a slip of the keyboard, or two sweeps: as many parts take 230 MB of memory, and 70 MB of manifest.
pub const MAX_RUNS: usize = 1_000_000;
/// A part takes so much processor time, in seconds: little is lost with a process, and files are few.
const PART_S: f64 = 5.0;
/// What a run takes where its file does not say it, in seconds.
const RUN_S: f64 = 1.0;

/// An experiment at many points, each with many seeds.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub(super) experiment: Experiment,
    pub(super) points: Vec<Point>,
    pub(super) seeds: Vec<u64>,
    pub(super) losses: Vec<Loss>,
    pub(super) program: Program,
    pub(super) format: Format,
    pub(super) networks: Networks,
    /// Of the experiment without a point.
    pub(super) base: String,
    repeated: usize,
}

impl Sweep {
    /// `experiment` at `points`, each with each of `seeds`, as `program` runs it. A point that is there twice counts once.
    ///
    /// # Errors
    /// [`Error`] of kind input where there is nothing to run, or too much, or where a point cannot be.
    pub fn new(
        experiment: Experiment,
        points: Vec<Values>,
        seeds: Vec<u64>,
        program: Program,
    ) -> Result<Self, Error> {
        Self::over(Networks::default(), experiment, points, seeds, program)
    }

    /// The same where `networks` are values that experiment or points name.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn over(
        networks: Networks,
        experiment: Experiment,
        points: Vec<Values>,
        seeds: Vec<u64>,
        program: Program,
    ) -> Result<Self, Error> {
        let mut sweep = Self {
            experiment,
            points: Vec::new(),
            seeds,
            losses: Vec::new(),
            program,
            format: Format::default(),
            networks,
            base: String::new(),
            repeated: 0,
        };
        let (one, unlike) = (sweep.seeds.len(), BTreeSet::from_iter(&sweep.seeds).len());
        if points.is_empty() || one == 0 {
            return Err(Error::Input("no points, or no seeds".to_owned()));
        }
        if one != unlike {
            return Err(Error::Input("a seed is given twice".to_owned()));
        }
        check_seeds(&sweep.seeds)?;
        let runs = points.len().checked_mul(one);
        if runs.is_none_or(|runs| runs > MAX_RUNS) {
            let (points, most) = (points.len(), MAX_RUNS);
            let why = format!("{points} points with {one} seeds are more than {most} runs");
            return Err(Error::Input(why));
        }
        sweep.at(points)?;
        Ok(sweep)
    }

    /// The same with losses on `links` of every network.
    ///
    /// # Errors
    /// [`Error`] of kind input where the experiment has no use for them.
    pub fn lossy(mut self, links: &[Loss]) -> Result<Self, Error> {
        if links.is_empty() {
            return Ok(self);
        }
        self.losses = links.to_vec();
        let points = self.points.iter().map(|point| point.at.clone()).collect();
        self.at(points)?;
        Ok(self)
    }

    /// The same with parts in `format`.
    ///
    /// # Errors
    /// [`Error::Input`] where this program cannot write it.
    pub fn format(self, format: Format) -> Result<Self, Error> {
        let format = format.checked()?;
        Ok(Self { format, ..self })
    }

    /// Takes `points`, where the experiment can be at each of them.
    fn at(&mut self, points: Vec<Values>) -> Result<(), Error> {
        let known = self.networks.digests();
        let of = |at: &Values| {
            let found = AtPoint::of(&self.experiment, at, (&self.losses, &known));
            found.map_err(|why| Error::Input(format!("{}: {why}", words(at))))
        };
        self.base = of(&Values::new())?.id;
        let (mut seen, mut networks) = (BTreeSet::new(), BTreeSet::new());
        let (mut taken, count) = (Vec::new(), points.len());
        for at in points {
            let found = of(&at)?;
            networks.extend(found.run.testbed().map(str::to_owned));
            if seen.insert(found.id.clone()) {
                taken.push(Point { id: found.id, at });
            }
        }
        let sites = self.networks.sites(&Losses::default())?;
        for network in networks {
            sites.testbed(&network)?;
        }
        self.repeated = count - taken.len();
        self.points = taken;
        Ok(())
    }

    /// The experiment.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }
    /// Its points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
    /// The seeds of each.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }
    /// What runs it.
    pub const fn program(&self) -> &Program {
        &self.program
    }
    /// How many points were left out, since they are like others.
    pub const fn repeated(&self) -> usize {
        self.repeated
    }

    /// The keys of all points, and what their columns hold.
    pub(super) fn keys(&self) -> Keys {
        let keys: BTreeSet<&String> = self.points.iter().flat_map(|p| p.at.keys()).collect();
        let kind = |key: &String| {
            let values = self.points.iter().filter_map(|point| point.at.get(key));
            let shape = self.experiment.run.shape(below_run(key));
            (key.clone(), kind_of(shape, values))
        };
        keys.into_iter().map(kind).collect()
    }

    /// As many points are in a part.
    pub(super) fn points_a_part(&self) -> usize {
        let cost = self.experiment.cpu_s.unwrap_or(RUN_S).max(1e-3);
        ((PART_S / cost).round() as usize).max(1)
    }
}
