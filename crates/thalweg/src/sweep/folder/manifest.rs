//! What was asked of a sweep, and how it is divided into parts.

use super::super::ask::Sweep;
use super::super::files::cannot;
use super::super::format::{Format, Points};
use super::super::networks::Digests;
use super::super::task::{name_of, Keys, Point};
use super::{Part, MANIFEST};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use thalweg_lab::experiment::Program;

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) generator: String,
    pub(super) program: Program,
    /// The experiment's id.
    pub(super) experiment: String,
    /// Processor time of a run, in seconds.
    pub(super) cpu_s: Option<f64>,
    /// The digest of its keys and the files that they name, and its text.
    pub(super) base: String,
    pub(super) text: String,
    pub(super) losses: Vec<String>,
    /// Networks that are values.
    pub(super) networks: Digests,
    pub(super) format: Format,
    pub(super) keys: Keys,
    pub(super) seeds: Vec<u64>,
    /// How many of the points were asked for; others are of earlier parts.
    pub(super) asked: usize,
    pub(super) points: Vec<Point>,
    pub(super) parts: Vec<Part>,
    /// Parts that are done, and of which none of this was asked.
    pub(super) earlier: Vec<Part>,
}

impl Manifest {
    /// What `sweep` asks for, where `done` of `earlier` is there.
    pub(super) fn of(
        sweep: &Sweep,
        earlier: Option<&Self>,
        done: &HashMap<String, Points>,
    ) -> Self {
        let mut points = sweep.points.clone();
        let asked = points.len();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (place, point) in points.iter().enumerate() {
            places.insert(point.id.clone(), place);
        }
        let known = earlier.into_iter().flat_map(|old| &old.points);
        for point in known {
            if !places.contains_key(&point.id) {
                places.insert(point.id.clone(), points.len());
                points.push(point.clone());
            }
        }
        let kept = earlier.map_or_else(Vec::new, |old| old.kept(done, &places));
        let seeds: HashSet<u64> = sweep.seeds.iter().copied().collect();
        let is_asked = |part: &Part| {
            seeds.contains(&part.seed) && part.points.iter().any(|place| *place < asked)
        };
        let (of_it, mut others): (Vec<Part>, Vec<Part>) = kept.into_iter().partition(is_asked);
        others.sort();
        let mut by_seed: BTreeMap<u64, Vec<Part>> = BTreeMap::new();
        for part in of_it {
            by_seed.entry(part.seed).or_default().push(part);
        }
        // Those of earlier points stay; where one is another now, its points are others, too.
        let mut networks = sweep.networks.digests();
        for (name, digest) in earlier.into_iter().flat_map(|old| &old.networks) {
            let kept = networks.entry(name.clone());
            kept.or_insert_with(|| digest.clone());
        }
        let mut manifest = Self {
            generator: "thalweg".to_owned(),
            program: sweep.program.clone(),
            experiment: sweep.experiment.id.clone(),
            cpu_s: sweep.experiment.cpu_s,
            base: sweep.base.clone(),
            text: sweep.experiment.text.clone(),
            losses: sweep.losses.iter().map(ToString::to_string).collect(),
            networks,
            format: sweep.format,
            keys: sweep.keys(),
            seeds: sweep.seeds.clone(),
            asked,
            points,
            parts: Vec::new(),
            earlier: others,
        };
        for seed in &sweep.seeds {
            let kept = by_seed.remove(seed).unwrap_or_default();
            let parts = manifest.divided(sweep, *seed, kept);
            manifest.parts.extend(parts);
        }
        manifest.without_strangers()
    }

    /// The parts of `seed`: those that are `kept`, and what they lack of what is asked, in as few as it takes.
    fn divided(&self, sweep: &Sweep, seed: u64, mut kept: Vec<Part>) -> Vec<Part> {
        let covered: HashSet<usize> = kept.iter().flat_map(|p| p.points.iter().copied()).collect();
        let lacking: Vec<usize> = (0..self.asked).filter(|n| !covered.contains(n)).collect();
        for points in lacking.chunks(sweep.points_a_part()) {
            let of_it = points.iter().filter_map(|n| self.points.get(*n));
            let columns = (&self.keys, self.format);
            kept.push(Part {
                seed,
                name: name_of(&self.program, columns, of_it, seed),
                points: points.to_vec(),
            });
        }
        kept.sort();
        kept
    }

    /// The parts that are `done`, their points at new `places`.
    fn kept(&self, done: &HashMap<String, Points>, places: &HashMap<String, usize>) -> Vec<Part> {
        let all = self.parts.iter().chain(&self.earlier);
        let moved = |part: &Part| {
            let place = |n: &usize| places.get(&self.points.get(*n)?.id).copied();
            Some(Part {
                points: part.points.iter().map(place).collect::<Option<_>>()?,
                ..part.clone()
            })
        };
        let done = all.filter(|part| done.contains_key(&part.name));
        done.filter_map(moved).collect()
    }

    /// The same without points that were not asked for and of which there is no part.
    fn without_strangers(mut self) -> Self {
        let parts = || self.parts.iter().chain(&self.earlier);
        let used: BTreeSet<usize> = parts()
            .flat_map(|part| part.points.iter().copied())
            .chain(0..self.asked)
            .collect();
        let places: HashMap<usize, usize> = used.iter().copied().zip(0..).collect();
        for part in self.parts.iter_mut().chain(&mut self.earlier) {
            for place in &mut part.points {
                *place = places.get(place).copied().unwrap_or(*place);
            }
        }
        let points = self.points.into_iter().enumerate();
        let points = points.filter(|(n, _)| used.contains(n));
        self.points = points.map(|(_, point)| point).collect();
        self
    }

    /// That in the folder at `path`, where there is one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let file = path.join(MANIFEST);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(cannot(&file, "read", &why)),
        };
        let manifest = serde_json::from_str(&text);
        let foreign = |_| Error::Input(format!("{}: is no sweep's", file.display()));
        manifest.map(Some).map_err(foreign)
    }

    /// What its parts are of that those of `new` are not, in a few words.
    pub(super) fn differs(&self, new: &Self) -> Option<String> {
        if self.experiment != new.experiment {
            return Some(format!("the experiment {:?}", self.experiment));
        }
        if self.program != new.program {
            return Some("another build of thalweg".to_owned());
        }
        if self.base != new.base || self.losses != new.losses {
            return Some("the experiment with other keys, files or losses".to_owned());
        }
        if self.format != new.format {
            return Some(format!("the format {}", self.format));
        }
        if self.keys != new.keys {
            return Some(match self.keys.is_empty() {
                true => "the experiment as it is".to_owned(),
                false => {
                    let keys = self
                        .keys
                        .iter()
                        .map(|(key, kind)| format!("{key} ({kind})"));
                    format!("a sweep over {}", keys.collect::<Vec<_>>().join(", "))
                }
            });
        }
        let ids: HashMap<String, &str> = (new.points.iter().take(new.asked))
            .map(|point| (point.words(), &*point.id))
            .collect();
        let has_changed = |point: &&Point| {
            let id = ids.get(&point.words());
            id.is_some_and(|id| *id != point.id)
        };
        let changed = self.points.iter().find(has_changed)?;
        Some(format!("{} with files that have changed", changed.words()))
    }
}
