//! One part of a sweep, with all that its rows depend on: text that another process or machine can take.
//!
//! Invariant: a part's name is the digest of program, keys, files, losses, seed and format, so whoever runs the part
//! under its name writes the same bytes.

use super::files::{has_content, write};
use super::format::{Columns, Format, Points};
use super::networks::{Digests, Networks};
use super::points::{below_run, Values};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use thalweg_lab::experiment::Shape;
use thalweg_lab::experiment::{
    self, digest_of, Experiment, ExperimentError, Program, Run, Threads,
};
use thalweg_lab::results::{ColumnKind, Row, Value, SEED};
use thalweg_testbeds::{Loss, Losses};

/// A point's columns begin so.
pub(super) const AT: &str = "at.";
/// The column that says why a point has no rows.
pub(super) const ERROR: &str = "error";
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
    /// Networks that are values: their digests, by name. The folder has their links.
    pub networks: Digests,
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
    /// `experiment` with the values of `at` and `losses`, where `known` are networks that are values.
    ///
    /// # Errors
    /// Why it cannot be, on one line.
    pub(super) fn of(
        experiment: &Experiment,
        at: &Values,
        (losses, known): (&[Loss], &Digests),
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
        let digest = digest_of([&*experiment::inputs(&run, &losses, known)]);
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

/// What running a part gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its file.
    pub bytes: Vec<u8>,
    /// Points without rows.
    pub failed: Vec<Failed>,
}

/// A point that failed with a seed, or a part as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The part's name.
    pub part: String,
    /// Seed, point and cause, on one line.
    pub why: String,
}

impl Task {
    /// The name of its file, where all its points have rows or some failed.
    pub(super) fn file(&self, points: Points) -> String {
        format!("{}.{}", self.name, self.format.ending(points))
    }

    /// Whether its file is in `folder`.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        let mut files = Points::BOTH
            .map(|points| folder.join(self.file(points)))
            .into_iter();
        files.any(|file| has_content(&file))
    }

    /// Runs it on one thread, as `program`, for `folder`. A point that fails leaves the others alone. The observer is shown how
    /// many points are done, often, and may stop it.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Job`] where this program or the files here are others than those that the part is named after.
    pub fn run(
        &self,
        folder: &Path,
        program: &Program,
        observer: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
    ) -> Result<Made, Error> {
        let experiment = Experiment::parse(Path::new(&self.experiment), &self.text)
            .map_err(|why| Error::Input(why.to_string()))?;
        let losses: Vec<Loss> = (self.losses.iter())
            .map(|loss| loss.parse())
            .collect::<Result<_, _>>()
            .map_err(Error::Input)?;
        let at = |point: &Point| {
            AtPoint::of(&experiment, &point.at, (&losses, &self.networks))
                .map_err(|why| Error::Input(format!("{}: {why}", point.words())))
        };
        let runs: Vec<AtPoint> = self.points.iter().map(at).collect::<Result<_, _>>()?;
        let is_same = self.points.iter().zip(&runs).all(|(p, at)| p.id == at.id);
        let columns = (&self.keys, self.format);
        if !is_same || self.name != name_of(program, columns, self.points.iter(), self.seed) {
            let why = "is of another build, or a file that it names has changed";
            return Err(Error::Job(format!("part {} {why}", self.name)));
        }
        let networks = Networks::read(folder, &self.networks)?;
        let threads = Threads::new(Some(std::num::NonZeroUsize::MIN))?;
        let (rows, failed) = threads.run(|| self.rows(&runs, &networks, observer))?;
        let bytes = self.format.encoded(&self.columns(&experiment), &rows)?;
        Ok(Made { bytes, failed })
    }

    /// The columns of its rows, which are those of `experiment`.
    pub(super) fn columns(&self, experiment: &Experiment) -> Columns {
        let of_all = [POINT, ERROR].map(|name| (name.to_owned(), ColumnKind::Text));
        let mut columns = Columns::from(of_all);
        let at = |(key, kind): (&String, &ColumnKind)| (format!("{AT}{key}"), *kind);
        columns.extend(self.keys.iter().map(at));
        let of_rows = experiment.run.columns().into_iter();
        columns.extend(of_rows.map(|column| (column.name.to_owned(), column.kind)));
        columns
    }

    /// Writes what [`Self::run`] gave as its file in `folder`: there whole or not at all.
    ///
    /// # Errors
    /// [`Error`] of kind job where it cannot be written.
    pub fn write(&self, folder: &Path, made: &Made) -> Result<(), Error> {
        let points = match made.failed.is_empty() {
            true => Points::All,
            false => Points::SomeFailed,
        };
        match write(folder, &self.file(points), &made.bytes) {
            // Another has made it meanwhile, and tidied.
            Err(_) if self.is_in(folder) => Ok(()),
            written => written,
        }
    }

    /// The rows at all points, and what failed.
    fn rows(
        &self,
        runs: &[AtPoint],
        networks: &Networks,
        observer: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
    ) -> Result<(Vec<Row>, Vec<Failed>), Error> {
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        // Points share what their networks have in common, where nothing is lost differently.
        let mut sites = networks.sites(&Losses::default())?;
        for (n, (point, at)) in self.points.iter().zip(runs).enumerate() {
            if *sites.losses() != at.losses {
                sites = networks.sites(&at.losses)?;
            }
            let go_on = |_, _| observer(n);
            match experiment::run(&at.run, &[self.seed], &sites, None, &go_on) {
                Ok(of_point) => {
                    rows.extend(of_point.into_iter().map(|row| self.labelled(row, point)));
                }
                Err(ExperimentError::Stopped) => return Err(Error::Stopped),
                Err(why) => {
                    let why = why.to_string().lines().collect::<Vec<_>>().join("; ");
                    failed.push(self.failed(&point.words(), &why));
                    rows.push(self.labelled(Row::new().with(ERROR, why), point));
                }
            }
        }
        match observer(self.points.len()) {
            ControlFlow::Break(()) => Err(Error::Stopped),
            ControlFlow::Continue(()) => Ok((rows, failed)),
        }
    }

    /// `why` the point with `words` failed.
    pub(super) fn failed(&self, words: &str, why: &str) -> Failed {
        let (part, why) = (
            self.name.clone(),
            format!("seed {}, {words}: {why}", self.seed),
        );
        Failed { part, why }
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
