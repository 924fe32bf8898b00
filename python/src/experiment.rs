//! Experiments: what is run, and its report beside the paper's. Tests: `tests/test_experiments.py`.

use crate::ask::Ask;
use crate::attend::{attend, Desk};
use crate::errors::{bug, raised, refused};
use crate::json;
use crate::table::{escaped, Columns, Table};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use thalweg::{ExperimentReport, ExperimentRun, Lab, Row, RunOption, Step};
use thalweg_lab::results::{Judged, Value};

/// An experiment: what to run, what to measure of it, how to draw it.
#[pyclass(frozen, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Experiment(thalweg::Experiment);

#[pymethods]
impl Experiment {
    /// The built-in experiment of that id, or the one in a file.
    #[staticmethod]
    fn load(name: PathBuf) -> PyResult<Self> {
        let experiment = thalweg::Experiment::load(&name.to_string_lossy());
        experiment.map(Self).map_err(refused)
    }
    /// The experiment that a file's text describes.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let experiment = thalweg::Experiment::parse(Path::new("experiment"), text);
        experiment.map(Self).map_err(refused)
    }

    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }
    /// What it is, in a line.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }
    /// The paper whose results it is to give again.
    #[getter]
    fn paper(&self) -> Option<&str> {
        self.0.paper.as_deref()
    }
    /// The seeds that it is run with where none are given.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.default_seeds()
    }
    /// Processor time of one seed on one core, in seconds, where it was measured.
    #[getter]
    const fn cpu_s(&self) -> Option<f64> {
        self.0.cpu_s
    }
    /// The text of its file.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }
    /// Writes the file that `thalweg run` takes.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        Ok(fs::write(path, &self.0.text)?)
    }
    /// What its file says.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::python(py, &self.0.json())
    }
    fn __repr__(&self) -> String {
        format!("<thalweg.Experiment {}: {}>", self.0.id, self.0.title)
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let parse = py.get_type::<Self>().getattr("parse")?;
        Ok((parse, (self.0.text.clone(),)))
    }
}

/// What is run of `experiment`, and where, as `ask` has it.
fn asked(experiment: &Experiment, ask: &Ask<'_>) -> PyResult<(ExperimentRun, Lab)> {
    let losses = ask.losses()?;
    let control = ask.channel("control_channel")?;
    let testbed: Option<String> = ask.get("testbed", "a testbed's name or file")?;
    let options = [
        ask.get("routes", "a whole number from 1 on")?
            .map(RunOption::Routes),
        testbed.clone().map(RunOption::Testbed),
        control.map(RunOption::ControlChannel),
        (!losses.is_empty()).then_some(RunOption::Loss),
    ];
    let options: Vec<RunOption> = options.into_iter().flatten().collect();
    let mut run = ExperimentRun::new(experiment.0.clone()).map_err(raised)?;
    if ask.is("quick")? {
        run = run.quick().map_err(raised)?;
    }
    if !options.is_empty() {
        run = run.with(&options).map_err(raised)?;
    }
    if let Some(seeds) = ask.get("seeds", "seeds from 0 on, such as range(1, 31)")? {
        run = run.seeds(seeds);
    }
    let lab = lab(ask)?
        .lossy(&run, &losses)
        .map_err(raised)?
        .flooding_on(control);
    let lab = match testbed {
        Some(name) => lab.within(&name).map_err(raised)?,
        None => lab,
    };
    Ok((run, lab))
}

/// A lab with a pool of threads of its own: one that all calls shared would be dead in a process that was forked.
fn lab(ask: &Ask<'_>) -> PyResult<Lab> {
    let jobs: Option<NonZeroUsize> = ask.get("jobs", "a whole number from 1 on")?;
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Lab::new(Some(jobs.unwrap_or_else(cores))).map_err(raised)
}

/// Tells `desk` of a step.
fn told(desk: &Desk, step: Step<'_>) -> ControlFlow<()> {
    match step {
        Step::Done { id, done, total } => desk.tell(id, done, total),
        Step::Kept { .. } | Step::NotKept { .. } => ControlFlow::Continue(()),
    }
}

/// Runs an experiment.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    experiment: &Experiment,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Report> {
    let ask = Ask::new(arguments);
    let (run, lab) = asked(experiment, &ask)?;
    let report = attend(py, ask.any("progress")?, |desk| {
        lab.report(&run, &|step| told(desk, step))
    })?;
    Ok(Report(report))
}

/// The results of an experiment beside the paper's.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Report(pub(crate) ExperimentReport);

#[pymethods]
impl Report {
    /// The experiment.
    #[getter]
    fn experiment(&self) -> Experiment {
        Experiment(self.0.experiment.clone())
    }
    /// The seeds that it was run with.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.seeds.clone()
    }
    /// What was observed: those of `rows.csv`.
    #[getter]
    fn rows(&self) -> PyResult<Table> {
        of_rows(&self.0.labelled_rows())
    }
    /// What was measured of it, beside what the paper reports.
    #[getter]
    fn results(&self) -> PyResult<Table> {
        of_results(&self.0.results)
    }
    /// The figures by name, as SVG.
    #[getter]
    fn figures(&self) -> BTreeMap<String, String> {
        self.0.figures.iter().cloned().collect()
    }
    /// Results that lie neither in their band nor where an exception excuses them, a line each.
    #[getter]
    fn misses(&self) -> Vec<String> {
        self.0.misses()
    }
    /// What `thalweg run --json` prints, an entry for each line.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::python(py, &self.0.results)
    }
    /// Writes rows, results and figures to a folder, as `thalweg run --out` does.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        fs::create_dir_all(&folder)?;
        let files = self.0.files().map_err(|why| bug(&why.to_string()))?;
        let mut files = files.into_iter();
        Ok(files.try_for_each(|(name, text)| fs::write(folder.join(name), text))?)
    }
    fn __repr__(&self) -> String {
        let (id, rows) = (&self.0.experiment.id, self.0.rows.len());
        let (results, seeds) = (self.0.results.len(), self.0.seeds.len());
        format!("<thalweg.Report {id}: {results} results of {rows} rows, {seeds} seeds>")
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let title = escaped(&self.0.experiment.title);
        let figures: String = self.0.figures.iter().map(|(_, svg)| svg.as_str()).collect();
        let results = Py::new(py, self.results()?)?.call_method0(py, "_repr_html_")?;
        Ok(format!("<h3>{title}</h3>{figures}{results}"))
    }
}

/// `rows` as a table: their columns by name, each of the type that its values have.
fn of_rows(rows: &[Row]) -> PyResult<Table> {
    let mut names: Vec<&String> = rows.iter().flat_map(|row| row.0.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let column = |columns: Columns, name: &String| {
        let values = || rows.iter().map(|row| row.0.get(name));
        if values()
            .flatten()
            .any(|value| matches!(value, Value::Text(_)))
        {
            return columns.texts(name, values().map(|v| v.map(ToString::to_string)));
        }
        match values()
            .flatten()
            .any(|value| matches!(value, Value::Number(_)))
        {
            true => columns.numbers(name, values().map(|v| v.and_then(Value::number))),
            false => columns.whole(name, values().map(|v| v.and_then(whole))),
        }
    };
    names.into_iter().fold(Columns::default(), column).table()
}

const fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Whole(n) => Some(*n),
        _ => None,
    }
}

fn of_results(results: &[Judged]) -> PyResult<Table> {
    let each = || results.iter();
    let end = |span: Option<[f64; 2]>, at: usize| span.and_then(|span| span.get(at).copied());
    Columns::default()
        .texts("id", each().map(|r| Some(&r.id)))
        .texts("metric", each().map(|r| Some(r.measured.label())))
        .numbers("value", each().map(|r| Some(r.measured.value)))
        .texts("unit", each().map(|r| Some(&r.measured.unit)))
        .numbers("low", each().map(|r| end(r.measured.ci95, 0)))
        .numbers("high", each().map(|r| end(r.measured.ci95, 1)))
        .whole("seeds", each().map(|r| i64::try_from(r.measured.n).ok()))
        .numbers("reference", each().map(|r| r.reference))
        .numbers("band_low", each().map(|r| end(r.band, 0)))
        .numbers("band_high", each().map(|r| end(r.band, 1)))
        .flags("within", each().map(|r| r.within))
        .texts(
            "why",
            each().map(|r| r.excuse.as_ref().map(|excuse| &excuse.why)),
        )
        .table()
}
