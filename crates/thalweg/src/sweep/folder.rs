//! The folder of a sweep: parts, and a manifest of what was asked.
//!
//! Parts that are done stay as they are when more points or seeds are asked for; what they lack is divided again. Invariants: a
//! file has its name when it is whole; parts of the same points and seeds are never there twice; processes that ask the
//! same at any time divide it the same, since full parts that are done leave a whole number of full parts.
//! Tests: `folder_tests.rs`.

use super::ask::Sweep;
use super::files::{cannot, listed, parts_at, write, PARTIAL};
use super::format::Points;
use super::task::{Point, Task};
use crate::Error;
use manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MANIFEST: &str = "manifest.json";
/// Nobody writes so long.
const RUBBISH: Duration = Duration::from_secs(86_400);

/// A part: where its points are among the manifest's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Part {
    seed: u64,
    points: Vec<usize>,
    name: String,
}

/// A folder that holds a sweep, or some of it.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    manifest: Manifest,
    /// Parts that are there, by name.
    done: HashMap<String, Points>,
}

impl Folder {
    /// The folder at `path`, made where it is not there, with what `sweep` asks for.
    ///
    /// # Errors
    /// [`Error`] of kind input where the folder holds something else; of kind job where it cannot be read or written.
    pub fn of(path: &Path, sweep: &Sweep) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(|why| cannot(path, "write", &why))?;
        let earlier = match Manifest::read(path)? {
            Some(manifest) => Some(manifest),
            // Others may be about to name their manifest.
            None if listed(path)?.iter().all(|name| name.ends_with(PARTIAL)) => None,
            None => {
                let why = "is not empty, and holds no sweep; name another folder";
                return Err(Error::Input(format!("{}: {why}", path.display())));
            }
        };
        let done = parts_at(path, sweep.format)?;
        let manifest = Manifest::of(sweep, earlier.as_ref(), &done);
        if let Some(what) = earlier.as_ref().and_then(|old| old.differs(&manifest)) {
            let path = path.display();
            let why = format!("{path}: holds parts of {what}; name another folder");
            return Err(Error::Input(why));
        }
        if earlier.as_ref() != Some(&manifest) {
            let text =
                serde_json::to_string(&manifest).map_err(|why| Error::Job(why.to_string()))?;
            write(path, MANIFEST, (text + "\n").as_bytes())?;
        }
        sweep.networks.write(path)?;
        let path = path.to_owned();
        Ok(Self {
            path,
            manifest,
            done,
        })
    }

    /// What stands in the folder at `path`.
    ///
    /// # Errors
    /// [`Error`] of kind input where it holds no sweep.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let none = || Error::Input(format!("{}: holds no sweep", path.display()));
        let manifest = Manifest::read(path)?.ok_or_else(none)?;
        let done = parts_at(path, manifest.format)?;
        let path = path.to_owned();
        Ok(Self {
            path,
            manifest,
            done,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment's id and text.
    pub(super) fn text(&self) -> (&str, &str) {
        (&self.manifest.experiment, &self.manifest.text)
    }

    /// The points that were asked for.
    pub fn asked(&self) -> &[Point] {
        let points = &self.manifest.points;
        points.get(..self.manifest.asked).unwrap_or(points)
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.manifest.parts.len()
    }

    /// Part number `n`, as it is asked of whoever runs it.
    pub fn task(&self, n: usize) -> Option<Task> {
        let m = &self.manifest;
        let part = m.parts.get(n)?;
        Some(Task {
            name: part.name.clone(),
            experiment: m.experiment.clone(),
            text: m.text.clone(),
            seed: part.seed,
            keys: m.keys.clone(),
            points: (part.points.iter())
                .filter_map(|n| m.points.get(*n).cloned())
                .collect(),
            losses: m.losses.clone(),
            networks: m.networks.clone(),
            format: m.format,
        })
    }

    /// How many runs part number `n` has.
    pub fn runs_of(&self, n: usize) -> usize {
        self.manifest.parts.get(n).map_or(0, |p| p.points.len())
    }

    /// Whether part number `n` was there when the folder was looked at.
    pub fn is_done(&self, n: usize) -> bool {
        self.found(n).is_some()
    }

    /// Whether all points of part number `n` had rows then; none where it was not there.
    pub(super) fn found(&self, n: usize) -> Option<Points> {
        let part = self.manifest.parts.get(n)?;
        self.done.get(&part.name).copied()
    }

    /// Parts that were not there then, in order.
    pub fn missing(&self) -> impl Iterator<Item = Task> + '_ {
        let missing = (0..self.parts()).filter(|n| !self.is_done(*n));
        missing.filter_map(|n| self.task(n))
    }

    /// Whether the file of `task` is there now.
    pub fn has(&self, task: &Task) -> bool {
        task.is_in(&self.path)
    }

    /// Marks `task` as begun; false where it is marked already, by one who is at it or who has died.
    ///
    /// # Errors
    /// [`Error`] of kind job where nothing can be written.
    pub(super) fn claim(&self, task: &Task) -> Result<Claim, Error> {
        let path = self.path.join(format!("{}.{PARTIAL}", task.name));
        match File::create_new(&path) {
            Ok(_) => Ok(Claim::Ours),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(Claim::Theirs),
            Err(why) => Err(cannot(&path, "write", &why)),
        }
    }

    /// Takes the mark of `task` away.
    pub(super) fn release(&self, task: &Task) {
        // Where that fails the mark is rubbish in a day.
        let _ = fs::remove_file(self.path.join(format!("{}.{PARTIAL}", task.name)));
    }

    /// Takes away what processes that have died left in the folder: of parts that are there, or more than a day ago.
    ///
    /// # Errors
    /// [`Error`] of kind job where the folder cannot be read.
    pub fn tidy(&self) -> Result<(), Error> {
        let done = parts_at(&self.path, self.manifest.format)?;
        let ending = format!(".{PARTIAL}");
        for name in listed(&self.path)? {
            let path = self.path.join(&name);
            let is_there = || {
                let stem = name.split_once('.').map(|(stem, _)| stem);
                stem.is_some_and(|stem| done.contains_key(stem))
            };
            let age = || path.metadata().ok()?.modified().ok()?.elapsed().ok();
            if name.ends_with(&ending) && (is_there() || age().is_some_and(|age| age > RUBBISH)) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// How far it is.
    pub fn status(&self) -> Status {
        let m = &self.manifest;
        let missing: Vec<usize> = (0..self.parts()).filter(|n| !self.is_done(*n)).collect();
        let runs = |parts: &mut dyn Iterator<Item = &Part>| parts.map(|p| p.points.len()).sum();
        let seeds: BTreeSet<u64> = (missing.iter())
            .filter_map(|n| m.parts.get(*n).map(|part| part.seed))
            .collect();
        Status {
            experiment: m.experiment.clone(),
            points: m.asked,
            seeds: m.seeds.len(),
            parts: m.parts.len(),
            done: m.parts.len() - missing.len(),
            with_failures: (0..self.parts())
                .filter(|n| self.found(*n) == Some(Points::SomeFailed))
                .count(),
            runs: runs(&mut m.parts.iter()),
            runs_missing: runs(&mut missing.iter().filter_map(|n| m.parts.get(*n))),
            cpu_s: m.cpu_s,
            seeds_missing: seeds.into_iter().collect(),
            missing,
        }
    }
}

/// Whose a part is that is to be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Ours,
    Theirs,
}

/// How far a sweep is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The experiment's id.
    pub experiment: String,
    /// Points that were asked for.
    pub points: usize,
    /// Seeds that were asked for.
    pub seeds: usize,
    /// Parts.
    pub parts: usize,
    /// Parts that are there.
    pub done: usize,
    /// Those of them in which a point failed.
    pub with_failures: usize,
    /// Runs of all parts: one point with one seed each.
    pub runs: usize,
    /// Runs of parts that are missing.
    pub runs_missing: usize,
    /// Processor time of a run, in seconds, where the experiment says it.
    pub cpu_s: Option<f64>,
    /// Seeds of parts that are missing.
    pub seeds_missing: Vec<u64>,
    /// Numbers of parts that are missing, from 0.
    pub missing: Vec<usize>,
}

impl Status {
    /// Processor time of what is missing, in seconds, where the experiment says it.
    pub fn cost_s(&self) -> Option<f64> {
        Some(self.cpu_s? * self.runs_missing as f64)
    }

    /// Numbers, from 1, of those of `of` shards that have parts missing.
    pub fn shards_missing(&self, of: NonZeroUsize) -> Vec<usize> {
        let of_each = self.missing.iter().map(|part| part % of.get() + 1);
        of_each.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

mod manifest;
#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
