//! One part of a sweep, with all that its rows depend on: text that another process or machine can take.
//!
//! Invariant: a part's name is the digest of program, keys, files, losses, seed and format, so whoever runs the part
//! under its name writes the same bytes.

use super::format::Format;
use super::points::Values;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use thalweg_lab::experiment::{
    self, digest_of, Experiment, ExperimentError, Program, Run, Sites, Threads,
};
use thalweg_lab::results::{Row, Value};
use thalweg_testbeds::{Loss, Losses};

/// A point's columns begin so.
pub(super) const AT: &str = "at.";
/// The column of a point's id.
pub(super) const POINT: &str = "point";
/// So many digits of a digest are a point's id, and so many a part's name.
const ID: usize = 16;
const NAME: usize = 32;

/// A point, and its id: the digest of what an experiment's rows at it depend on, but program and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The id.
    pub id: String,
    /// What the keys have there.
    pub at: Values,
}

impl Point {
    /// What the keys have there, in words.
    pub fn words(&self) -> String {
        words(&self.at)
    }
}

/// `at` in words.
pub(super) fn words(at: &Values) -> String {
    if at.is_empty() {
        return "the experiment as it is".to_owned();
    }
    let each = at.iter().map(|(key, value)| format!("{key} = {value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// What is asked of whoever runs a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The part's name, which its file has.
    pub name: String,
    /// The experiment's id.
    pub experiment: String,
    /// The experiment, as its file says it.
    pub text: String,
    /// The seed.
    pub seed: u64,
    /// Keys that have a column, whether or not its points have a value for them.
    pub keys: Vec<String>,
    /// At which points.
    pub points: Vec<Point>,
    /// Losses on links.
    pub losses: Vec<String>,
    /// What the file is.
    pub format: Format,
}

/// What is run at a point.
pub(super) struct AtPoint {
    pub(super) run: Run,
    losses: Losses,
    pub(super) id: String,
}

impl AtPoint {
    /// `experiment` with the values of `at` and `losses`.
    ///
    /// # Errors
    /// Why it cannot be, on one line.
    pub(super) fn of(
        experiment: &Experiment,
        at: &Values,
        losses: &[Loss],
    ) -> Result<Self, String> {
        let values = at.iter().filter_map(|(key, value)| {
            let (_, path) = key.split_once('.')?;
            Some((path, value.clone()))
        });
        let run = experiment.run.with(values)?;
        let psdu_bytes = match losses {
            [] => 0,
            _ => (run.lossy_frame_bytes())
                .ok_or_else(|| "loss is not for experiments of this kind".to_owned())?,
        };
        let losses = Losses {
            links: losses.to_vec(),
            psdu_bytes,
        };
        let digest = digest_of([&*experiment::inputs(&run, &losses)]);
        let id = digest.chars().take(ID).collect();
        Ok(Self { run, losses, id })
    }
}

/// The name of the part of `points` with `seed`, in columns for `keys`, as `program` makes it.
pub(super) fn name_of<'a>(
    program: &Program,
    (keys, format): (&[String], Format),
    points: impl Iterator<Item = &'a Point>,
    seed: u64,
) -> String {
    let mut parts = vec![
        program.as_str().to_owned(),
        seed.to_string(),
        format.extension().to_owned(),
        keys.join(" "),
    ];
    for point in points {
        parts.extend([point.id.clone(), point.words()]);
    }
    let digest = digest_of(parts.iter().map(String::as_str));
    digest.chars().take(NAME).collect()
}

impl Task {
    /// The file's name.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.format.extension())
    }

    /// Runs it on one thread, as `program`, and gives its file's bytes. The observer is shown how many of its points are
    /// done, often, and may stop it.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Job`] where this program or the files here are others than those that the part is named after.
    pub fn run(
        &self,
        program: &Program,
        observer: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
    ) -> Result<Vec<u8>, Error> {
        let experiment = Experiment::parse(Path::new(&self.experiment), &self.text)
            .map_err(|why| Error::Input(why.to_string()))?;
        let losses: Vec<Loss> = (self.losses.iter())
            .map(|loss| loss.parse())
            .collect::<Result<_, _>>()
            .map_err(Error::Input)?;
        let at = |point: &Point| {
            AtPoint::of(&experiment, &point.at, &losses)
                .map_err(|why| Error::Input(format!("{}: {why}", point.words())))
        };
        let runs: Vec<AtPoint> = self.points.iter().map(at).collect::<Result<_, _>>()?;
        let is_same = self.points.iter().zip(&runs).all(|(p, at)| p.id == at.id);
        let columns = (&*self.keys, self.format);
        if !is_same || self.name != name_of(program, columns, self.points.iter(), self.seed) {
            let why = "is of another build, or a file that it names has changed";
            return Err(Error::Job(format!("part {} {why}", self.name)));
        }
        let mut rows = Vec::new();
        let threads = Threads::new(Some(std::num::NonZeroUsize::MIN))?;
        threads.run(|| self.rows(&runs, &mut rows, observer))?;
        let names: Vec<String> = self.keys.iter().map(|key| format!("{AT}{key}")).collect();
        let mut columns = BTreeSet::from([POINT]);
        columns.extend(names.iter().map(String::as_str));
        let of_rows = experiment.run.columns().into_iter();
        columns.extend(of_rows.map(|column| column.name));
        self.format.encoded(&columns, &rows)
    }

    /// Adds the rows at all points to `rows`.
    fn rows(
        &self,
        runs: &[AtPoint],
        rows: &mut Vec<Row>,
        observer: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
    ) -> Result<(), Error> {
        // Points share what their networks have in common, where nothing is lost differently.
        let mut sites = Sites::default();
        for (n, (point, at)) in self.points.iter().zip(runs).enumerate() {
            if *sites.losses() != at.losses {
                sites = Sites::with_losses(at.losses.clone());
            }
            let go_on = |_, _| observer(n);
            let of_point = experiment::run(&at.run, &[self.seed], &sites, None, &go_on);
            let of_point = of_point.map_err(|why| match why {
                ExperimentError::Stopped => Error::Stopped,
                why => Error::Job(format!("seed {}, {}: {why}", self.seed, point.words())),
            })?;
            rows.extend(of_point.into_iter().map(|row| self.labelled(row, point)));
        }
        match observer(self.points.len()) {
            ControlFlow::Break(()) => Err(Error::Stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn labelled(&self, mut row: Row, point: &Point) -> Row {
        for (key, value) in &point.at {
            row.set(&format!("{AT}{key}"), cell(value));
        }
        row.with(POINT, &*point.id).with("seed", self.seed)
    }
}

/// What a row says of a key's value: a number or a text as it is, anything else as a file would.
fn cell(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(n) => Value::Whole(*n),
        toml::Value::Float(x) => Value::Number(*x),
        toml::Value::String(text) => Value::Text(text.clone()),
        other => Value::Text(other.to_string()),
    }
}
