//! Sweeps: an experiment at many points, in parts that are files of one folder. Tests: `tests/test_sweep.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::{bug, input, raised, refused};
use crate::experiment::{table, Experiment, Report};
use crate::foreign;
use crate::json;
use crate::testbed::Made;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use thalweg::sweep::{
    self, points, Axis, Design, Failed, Folder, Networks, Program, Shard, Step, Task, Values,
};
use thalweg::Value;
use thalweg_lab::experiment::Shape;

/// An experiment at many points, each with many seeds. Parts are named by all that their rows depend on.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Sweep(Arc<sweep::Sweep>);

#[pymethods]
impl Sweep {
    /// Points, each as a dict of keys.
    #[getter]
    fn points(&self) -> Vec<String> {
        self.0.points().iter().map(|point| point.words()).collect()
    }
    /// The seeds of each.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.seeds().to_vec()
    }
    /// Processor time of all runs on one core, in seconds, where the experiment says it.
    #[getter]
    fn cost_s(&self) -> Option<f64> {
        let runs = self.0.points().len() * self.0.seeds().len();
        Some(self.0.experiment().cpu_s? * runs as f64)
    }
    /// The parts that a folder misses, as texts that any process or machine can take.
    fn missing(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        let sweep = self.0.clone();
        let folder = attend(py, None, move |_| Folder::of(&folder, &sweep))?;
        let text = |task: Task| serde_json::to_string(&task).map_err(|why| bug(&why.to_string()));
        folder.missing().map(text).collect()
    }
    /// Makes the parts that a folder misses.
    fn _run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        arguments: Bound<'_, PyDict>,
    ) -> PyResult<usize> {
        let ask = Ask::new(arguments);
        let jobs: Option<NonZeroUsize> = ask.get("jobs", "a whole number from 1 on")?;
        let cores = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let (jobs, shard) = (jobs.unwrap_or_else(cores), shard(&ask)?);
        let sweep = self.0.clone();
        let done = attend(py, ask.any("progress")?, move |desk| {
            let (program, label) = (sweep.program(), &*sweep.experiment().id);
            let folder = Folder::of(&folder, &sweep)?;
            sweep::run(&folder, program, shard, jobs, &|step| match step {
                Step::Done { runs, of } => desk.tell(label, runs as u64, of as u64),
                Step::Failed(_) => ControlFlow::Continue(()),
            })
        })?;
        told(&done.failed).map(|()| done.made)
    }
    fn __len__(&self) -> usize {
        self.0.points().len() * self.0.seeds().len()
    }
    fn __repr__(&self) -> String {
        let (id, points) = (&self.0.experiment().id, self.0.points().len());
        format!(
            "<thalweg.Sweep {id}: {points} points, {} seeds>",
            self.0.seeds().len()
        )
    }
}

/// Runs that `failed`, the first in words.
///
/// # Errors
/// Where there are any.
fn told(failed: &[Failed]) -> PyResult<()> {
    let Some(Failed { why, .. }) = failed.first() else {
        return Ok(());
    };
    let count = failed.len();
    let line =
        format!("{count} runs failed, which column `error` says of their rows; the first: {why}");
    Err(raised(thalweg::Error::Job(line)))
}

/// Such as (3, 16): the third of sixteen.
fn shard(ask: &Ask<'_>) -> PyResult<Shard> {
    let Some((number, of)) = ask.get::<(usize, usize)>("shard", "such as (3, 16)")? else {
        return Ok(Shard::default());
    };
    let shard = format!("{number}/{of}").parse();
    shard.map_err(|why| input("shard", &format!("shard: {why}")))
}

/// The compiled half: parts are of the same build only where it is the same file.
fn program(py: Python<'_>) -> PyResult<Program> {
    let file: PathBuf = py
        .import("thalweg._thalweg")?
        .getattr("__file__")?
        .extract()?;
    Program::of(&file).map_err(|why| refused(format!("{}: {why}", file.display())))
}

/// The sweep that `arguments` ask for.
#[pyfunction]
pub(crate) fn sweep_of(
    py: Python<'_>,
    experiment: &Experiment,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Sweep> {
    let ask = Ask::new(arguments);
    let mut testbeds = experiment.testbeds.clone();
    let points = match (ask.any("over")?, ask.any("points")?) {
        (Some(over), None) => {
            let (over, more) = table(&over)?;
            testbeds.extend(more);
            grid(&over)?
        }
        (None, Some(rows)) => of_table(&rows, &experiment.experiment)?,
        (None, None) => grid(&toml::Table::new())?,
        (Some(_), Some(_)) => return Err(input("over", "expected either over= or points=")),
    };
    let mut values = testbeds.iter();
    let networks = values.try_fold(
        Networks::default(),
        |networks, (name, value)| match &value.made {
            Made::Of(links) => networks.and(name, links.clone()),
            Made::Named(_) => Ok(networks),
        },
    );
    let networks = networks.map_err(raised)?;
    let seeds = ask.seeds()?;
    let seeds = seeds.unwrap_or_else(|| experiment.experiment.default_seeds());
    let (experiment, program) = (experiment.experiment.clone(), program(py)?);
    let sweep = sweep::Sweep::over(networks, experiment, points, seeds, program);
    let losses = ask.losses()?;
    let sweep = sweep.and_then(|sweep| sweep.lossy(&losses));
    Ok(Sweep(Arc::new(sweep.map_err(raised)?)))
}

/// Each value of each key with each of the others.
fn grid(over: &toml::Table) -> PyResult<Vec<Values>> {
    let axis = |(key, values): (&String, &toml::Value)| match values {
        toml::Value::Array(values) => Axis::of(key, values.clone()),
        value => Axis::of(key, vec![value.clone()]),
    };
    let axes: Vec<Axis> = over
        .iter()
        .map(axis)
        .collect::<Result<_, _>>()
        .map_err(raised)?;
    points(&axes, Design::Grid, 1).map_err(raised)
}

/// A point a row, a key of `experiment` a column. pandas writes the whole numbers of a column with gaps with a point.
fn of_table(rows: &Bound<'_, PyAny>, experiment: &thalweg::Experiment) -> PyResult<Vec<Values>> {
    let is_whole = |key: &str| {
        let mut shape = experiment
            .run
            .shape(key.strip_prefix("run.").unwrap_or(key));
        while let Some(Shape::List(of) | Shape::Maybe(of)) = shape {
            shape = Some(*of);
        }
        matches!(shape, Some(Shape::Whole))
    };
    let value = |key: &str, value: Value| match value {
        Value::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 && is_whole(key) => (x as i64).into(),
        Value::Whole(n) => n.into(),
        Value::Number(x) => x.into(),
        Value::Text(text) => text.into(),
    };
    let rows = foreign::rows("points", rows, |_| true)?.into_iter();
    let of_row = |(key, v): (String, Value)| {
        let value = value(&key, v);
        (key, value)
    };
    let point = rows.map(|row| row.0.into_iter().map(of_row).collect());
    Ok(point.collect())
}

/// `n` points that `design` draws by `seed`, as columns; each of `spans` is text as `thalweg sweep --over` takes it.
#[pyfunction]
pub(crate) fn drawn<'py>(
    py: Python<'py>,
    design: &str,
    spans: Vec<String>,
    n: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = spans.iter().map(|text| Axis::parse(text));
    let axes: Vec<Axis> = axes.collect::<Result<_, _>>().map_err(raised)?;
    let design = match design {
        "random" => Design::Random(n),
        _ => Design::LatinHypercube(n),
    };
    let mut columns: BTreeMap<String, Vec<toml::Value>> = BTreeMap::new();
    for point in points(&axes, design, seed).map_err(raised)? {
        for (key, value) in point {
            columns.entry(key).or_default().push(value);
        }
    }
    json::python(py, &columns)
}

/// Makes one part, which is a text of `Sweep.missing`, in a folder that has its networks. Any process of the same build can.
#[pyfunction]
pub(crate) fn run_part(py: Python<'_>, folder: PathBuf, part: &str) -> PyResult<()> {
    let task: Task = serde_json::from_str(part).map_err(|why| refused(format!("a part: {why}")))?;
    let program = program(py)?;
    attend(py, None, move |desk| {
        let made = task.run(&folder, &program, &|done| {
            desk.tell(&task.name, done as u64, task.points.len() as u64)
        })?;
        task.write(&folder, &made)
    })
}

/// Raises what failed of the parts that a folder has.
#[pyfunction]
pub(crate) fn raise_failed(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    let failed: Vec<Vec<Failed>> = attend(py, None, move |_| {
        let folder = Folder::open(&folder)?;
        let failed = (0..folder.parts()).map(|n| folder.failed(n));
        failed.collect()
    })?;
    told(&failed.concat())
}

/// The columns of what a folder has, and what they hold, in a word.
#[pyfunction]
pub(crate) fn columns(folder: PathBuf) -> PyResult<BTreeMap<String, String>> {
    let folder = Folder::open(&folder).map_err(raised)?;
    let columns = folder.columns().map_err(raised)?.into_iter();
    Ok(columns
        .map(|(name, kind)| (name, kind.to_string()))
        .collect())
}

/// The reports of what a folder has, by point, in the order of points.
#[pyfunction]
pub(crate) fn reports(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let reports = attend(py, None, move |_| Folder::open(&folder)?.reports())?.into_iter();
    reports
        .map(|(point, report)| (point.words(), Report(report)))
        .into_py_dict(py)
}
