//! One part of a sweep, with all that its rows depend on: text that another process or machine can take.
//!
//! Invariant: a part's name is the digest of program, keys, files, losses, seed and format, so whoever runs the part
//! under its name writes the same bytes.

use super::files::write;
use super::format::{Columns, Format};
use super::points::{below_run, Values};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use thalweg_lab::experiment::Shape;
use thalweg_lab::experiment::{
    self, digest_of, Experiment, ExperimentError, Program, Run, Sites, Threads,
};
use thalweg_lab::results::{ColumnKind, Row, Value, SEED};
use thalweg_testbeds::{Loss, Losses};

/// A point's columns begin so.
pub(super) const AT: &str = "at.";
/// The column of a point's id.
pub(super) const POINT: &str = "point";
/// How many digits of a digest are a point's id, and a part's name.
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

/// The keys of a sweep's points, and what their columns hold.
pub type Keys = BTreeMap<String, ColumnKind>;

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
    /// Keys that have a column, whether or not its points have a value for them, and what it holds.
    pub keys: Keys,
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
        let values = at.iter();
        let values = values.map(|(key, value)| (below_run(key), value.clone()));
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
    (keys, format): (&Keys, Format),
    points: impl Iterator<Item = &'a Point>,
    seed: u64,
) -> String {
    let mut parts = vec![
        program.as_str().to_owned(),
        seed.to_string(),
        format.extension().to_owned(),
        format!("{keys:?}"),
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
        let columns = (&self.keys, self.format);
        if !is_same || self.name != name_of(program, columns, self.points.iter(), self.seed) {
            let why = "is of another build, or a file that it names has changed";
            return Err(Error::Job(format!("part {} {why}", self.name)));
        }
        let mut rows = Vec::new();
        let threads = Threads::new(Some(std::num::NonZeroUsize::MIN))?;
        threads.run(|| self.rows(&runs, &mut rows, observer))?;
        self.format.encoded(&self.columns(&experiment), &rows)
    }

    /// The columns of its rows, which are those of `experiment`.
    pub(super) fn columns(&self, experiment: &Experiment) -> Columns {
        let mut columns = Columns::from([(POINT.to_owned(), ColumnKind::Text)]);
        let at = |(key, kind): (&String, &ColumnKind)| (format!("{AT}{key}"), *kind);
        columns.extend(self.keys.iter().map(at));
        let of_rows = experiment.run.columns().into_iter();
        columns.extend(of_rows.map(|column| (column.name.to_owned(), column.kind)));
        columns
    }

    /// Writes `bytes`, which [`Self::run`] gave, as its file in `folder`: there whole or not at all.
    ///
    /// # Errors
    /// [`Error`] of kind job where it cannot be written.
    pub fn write(&self, folder: &Path, bytes: &[u8]) -> Result<(), Error> {
        match write(folder, &self.file(), bytes) {
            // Another has made it meanwhile, and tidied.
            Err(_) if folder.join(self.file()).exists() => Ok(()),
            written => written,
        }
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
        row.with(POINT, &*point.id).with(SEED, self.seed)
    }
}

/// What a row says of a key's value: a number or a text as it is, anything else as a file would.
fn cell(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(n) => Value::Whole(*n),
        toml::Value::Float(x) => Value::Number(*x),
        toml::Value::Boolean(yes) => Value::Whole(i64::from(*yes)),
        toml::Value::String(text) => Value::Text(text.clone()),
        toml::Value::Array(list) => match &**list {
            // As in files, one value is a list of one.
            [one] => cell(one),
            _ => Value::Text(value.to_string()),
        },
        other => Value::Text(other.to_string()),
    }
}

/// What the column of a key of `shape` holds, which has `values` at points. It hangs on these as little as it can, so that
/// more points leave it as it is.
pub(super) fn kind_of<'a>(
    shape: Option<Shape>,
    values: impl Iterator<Item = &'a toml::Value>,
) -> ColumnKind {
    let mut values = values.map(cell);
    if values.any(|value| value.number().is_none()) {
        return ColumnKind::Text;
    }
    let mut shape = shape;
    while let Some(Shape::List(of) | Shape::Maybe(of)) = shape {
        shape = Some(*of);
    }
    match shape {
        Some(Shape::Whole) => ColumnKind::Whole,
        Some(Shape::YesNo) => ColumnKind::YesNo,
        Some(Shape::Text | Shape::Name(_)) => ColumnKind::Text,
        _ => ColumnKind::Number,
    }
}
