//! Experiments: what is run, and its report beside the paper's. Tests: `tests/test_experiments.py`.

use crate::ask::{unfit, Ask};
use crate::attend::{attend, Desk};
use crate::errors::{bug, input, raised, refused, written};
use crate::foreign;
use crate::json;
use crate::table::{again, escaped, Columns, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use thalweg::{ExperimentReport, ExperimentRun, Extent, Lab, Row, RunOption, Step};
use thalweg_lab::experiment::SpecError;
use thalweg_lab::results::{Column, ColumnKind, Judged, Value};

/// An experiment: what to run, what to measure of it, how to draw it.
#[pyclass(frozen, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) experiment: thalweg::Experiment,
    /// Testbeds that are values, by the names that its text has for them.
    pub(crate) testbeds: BTreeMap<String, Testbed>,
}

#[pymethods]
impl Experiment {
    /// The built-in experiment of that id, or the one in a file.
    #[staticmethod]
    fn load(name: PathBuf) -> PyResult<Self> {
        let experiment = thalweg::Experiment::load(&name.to_string_lossy());
        experiment.map(Self::from).map_err(of_spec)
    }
    /// The experiment that a file's text describes.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let experiment: Result<thalweg::Experiment, _> = text.parse();
        experiment.map(Self::from).map_err(of_spec)
    }
    /// The experiment that a dict says, by the keys of a file.
    #[staticmethod]
    fn of_dict(keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (table, testbeds) = table(keys)?;
        let text = toml::to_string(&table).map_err(refused)?;
        let experiment = text.parse().map_err(of_values)?;
        Ok(Self {
            experiment,
            testbeds,
        })
    }
    /// The same with other values: a dict of keys, each with the tables that it is in, as `run.payload`.
    fn with_(&self, changes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (changes, more) = table(changes)?;
        let changes = changes
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()));
        let changes: Vec<_> = changes.collect();
        let experiment = self.experiment.with(&changes).map_err(of_values)?;
        let mut testbeds = self.testbeds.clone();
        testbeds.extend(more);
        Ok(Self {
            experiment,
            testbeds,
        })
    }

    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        &self.experiment.id
    }
    /// What it is, in a line.
    #[getter]
    fn title(&self) -> &str {
        &self.experiment.title
    }
    /// The paper whose results it is to give again.
    #[getter]
    fn paper(&self) -> Option<&str> {
        self.experiment.paper.as_deref()
    }
    /// The seeds that it is run with where none are given.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.experiment.default_seeds()
    }
    /// Processor time of one seed on one core, in seconds, where it was measured.
    #[getter]
    const fn cpu_s(&self) -> Option<f64> {
        self.experiment.cpu_s
    }
    /// The text of its file.
    #[getter]
    fn text(&self) -> &str {
        &self.experiment.text
    }
    /// Writes the file that `thalweg run` takes.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        have_files(&self.testbeds)?;
        written(&path, fs::write(&path, &self.experiment.text))
    }
    /// What its file says.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::python(py, &self.experiment.json())
    }
    fn __repr__(&self) -> String {
        format!(
            "<thalweg.Experiment {}: {}>",
            self.experiment.id, self.experiment.title
        )
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let again = py.import("thalweg._thalweg")?.getattr("experiment_again")?;
        Ok((again, (self.experiment.text.clone(), self.testbeds.clone())))
    }
}

/// What pickles: a function, and what it takes.
type Reduced<'py> = (Bound<'py, PyAny>, (String, BTreeMap<String, Testbed>));

/// Makes again what was pickled.
#[pyfunction]
pub(crate) fn experiment_again(
    text: &str,
    testbeds: BTreeMap<String, Testbed>,
) -> PyResult<Experiment> {
    let experiment = Experiment::parse(text)?;
    Ok(Experiment {
        testbeds,
        ..experiment
    })
}

impl From<thalweg::Experiment> for Experiment {
    fn from(experiment: thalweg::Experiment) -> Self {
        Self {
            experiment,
            testbeds: BTreeMap::new(),
        }
    }
}

/// The values in a dict, and the testbeds among them by the names that stand for them.
pub(crate) fn table(
    values: &Bound<'_, PyAny>,
) -> PyResult<(toml::Table, BTreeMap<String, Testbed>)> {
    let plain = values.py().import("thalweg._plain")?;
    let (json, testbeds): (String, _) = plain.call_method1("text", (values,))?.extract()?;
    let table = serde_json::from_str(&json);
    let table = table.map_err(|why| refused(format!("an experiment's keys: {why}")))?;
    Ok((table, testbeds))
}

/// Files name their testbeds.
///
/// # Errors
/// What to do with the first of `testbeds`, which are values.
fn have_files(testbeds: &BTreeMap<String, Testbed>) -> PyResult<()> {
    let Some(name) = testbeds.keys().next() else {
        return Ok(());
    };
    let line = format!(
        "run.testbed: {name} has no file, which this needs; save(\"{name}.csv\") writes one: name that"
    );
    Err(input("run.testbed", &line))
}

/// The exception that `why` an experiment is none is: its place is the key.
fn of_spec(why: SpecError) -> PyErr {
    if let SpecError::Unknown(name) = &why {
        let what = "thalweg.experiments() has what there is";
        return refused(format!(
            "no experiment and no file is called {name:?}; {what}"
        ));
    }
    let line = why.to_string();
    match why.key() {
        Some(key) => input(key, &line),
        None => refused(line),
    }
}

/// The same of values that did not come as text: there is no line.
fn of_values(why: SpecError) -> PyErr {
    match why {
        SpecError::Malformed {
            key: Some(key),
            why,
            ..
        } => input(&key, &format!("{key}: {why}")),
        SpecError::Malformed { why, .. } => refused(why),
        why => of_spec(why),
    }
}

/// What is run of `experiment`, and where, as `ask` has it.
fn asked(experiment: &Experiment, ask: &Ask<'_>) -> PyResult<(ExperimentRun, Lab)> {
    let losses = ask.losses()?;
    let control = ask.channel("control_channel")?;
    let testbed = ask.any("testbed")?.map(|value| named(&value)).transpose()?;
    let options = [
        ask.get("routes", "a whole number from 1 on")?
            .map(RunOption::Routes),
        testbed
            .as_ref()
            .map(|(name, _)| RunOption::Testbed(name.clone())),
        control.map(RunOption::ControlChannel),
        (!losses.is_empty()).then_some(RunOption::Loss),
    ];
    let options: Vec<RunOption> = options.into_iter().flatten().collect();
    let mut run = ExperimentRun::new(experiment.experiment.clone()).map_err(raised)?;
    if ask.is("quick")? {
        run = run.quick().map_err(raised)?;
    }
    if !options.is_empty() {
        run = run.with(&options).map_err(raised)?;
    }
    if let Some(seeds) = ask.seeds()? {
        run = run.seeds(seeds);
    }
    let lab = lab(ask)?
        .lossy(&run, &losses)
        .map_err(raised)?
        .flooding_on(control);
    let mut values = experiment.testbeds.clone();
    let lab = match testbed {
        Some((name, Some(value))) => {
            values.insert(name, value);
            lab
        }
        Some((name, None)) => lab.within(&name).map_err(raised)?,
        None => lab,
    };
    let mut values = values.into_iter();
    let lab = values.try_fold(lab, |lab, (name, value)| lab.knowing(&name, value.testbed));
    Ok((run, lab.map_err(raised)?))
}

/// The name that stands for a testbed, and the testbed where it is a value.
fn named(testbed: &Bound<'_, PyAny>) -> PyResult<(String, Option<Testbed>)> {
    if let Ok(name) = testbed.extract::<PathBuf>() {
        return Ok((name.to_string_lossy().into_owned(), None));
    }
    let value = testbed.extract::<Testbed>();
    let value = value.map_err(|_| unfit("testbed", "a testbed, or its name or file", testbed))?;
    Ok(value.named())
}

/// A lab with threads of its own: those of a pool that all calls shared would be gone in a process that was forked.
pub(crate) fn lab(ask: &Ask<'_>) -> PyResult<Lab> {
    Lab::new(ask.get("jobs", "a whole number from 1 on")?).map_err(raised)
}

/// Tells `desk` of a step.
pub(crate) fn told(desk: &Desk, step: Step<'_>) -> ControlFlow<()> {
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
    let report = attend(py, ask.any("progress")?, move |desk| {
        lab.report(&run, &|step| told(desk, step))
    })?;
    Ok(Report(report))
}

/// The results of an experiment beside the paper's.
#[pyclass(frozen, from_py_object, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Report(pub(crate) ExperimentReport);

#[pymethods]
impl Report {
    /// The experiment.
    #[getter]
    fn experiment(&self) -> Experiment {
        self.0.experiment.clone().into()
    }
    /// The seeds that it was run with.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.seeds.clone()
    }
    /// What was observed: those of `rows.csv`.
    #[getter]
    fn rows(&self) -> PyResult<Table> {
        of_rows(&self.0.labelled_rows(), &self.0.columns())
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
    /// Its experiment's text, whether of the quick subset and beside its paper's claims, seeds and rows: that makes it again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let report = &self.0;
        let is_quick = report.extent == Extent::Quick;
        let is_claimed = !report.unanswered.is_empty()
            || report.results.iter().any(|result| result.judged.is_some());
        let (text, seeds) = (report.experiment.text.clone(), report.seeds.clone());
        let rows = Py::new(py, self.rows()?)?;
        Ok((
            again(py, "report_again")?,
            (text, is_quick, is_claimed, seeds, rows),
        ))
    }
    /// Writes rows, results and figures to a folder, as `thalweg run --out` does.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        written(&folder, fs::create_dir_all(&folder))?;
        let files = self.0.files().map_err(|why| bug(&why.to_string()))?;
        let mut files = files.into_iter();
        files.try_for_each(|(name, text)| {
            let path = folder.join(name);
            written(&path, fs::write(&path, text))
        })
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

/// What makes a report again.
type Parts = (String, bool, bool, Vec<u64>, Py<Table>);

/// Makes again what was pickled.
#[pyfunction]
pub(crate) fn report_again(
    text: &str,
    is_quick: bool,
    is_claimed: bool,
    seeds: Vec<u64>,
    rows: &Bound<'_, PyAny>,
) -> PyResult<Report> {
    let experiment = Experiment::parse(text)?.experiment;
    let options: &[RunOption] = match is_claimed {
        true => &[],
        false => &[RunOption::Loss],
    };
    let claims = experiment.claims(options);
    let claims = claims.map_err(|why| bug(&why.to_string()))?;
    let extent = match is_quick {
        true => Extent::Quick,
        false => Extent::Full,
    };
    let rows = foreign::rows("rows", rows, |_| true)?;
    let report = ExperimentReport::new(&experiment, &seeds, rows, &claims, extent);
    Ok(Report(report))
}

/// `rows` as a table of the `declared` columns, also those that no row has.
fn of_rows(rows: &[Row], declared: &[Column]) -> PyResult<Table> {
    let column = |columns: Columns, column: &Column| {
        let values = || rows.iter().map(|row| row.0.get(column.name));
        let whole = || values().map(|value| value.and_then(whole));
        let columns = match column.kind {
            ColumnKind::Whole => columns.whole(column.name, whole()),
            ColumnKind::Number => {
                columns.numbers(column.name, values().map(|v| v.and_then(Value::number)))
            }
            ColumnKind::Text => {
                columns.texts(column.name, values().map(|v| v.map(ToString::to_string)))
            }
            ColumnKind::YesNo => columns.flags(column.name, whole().map(|v| v.map(|n| n != 0))),
        };
        columns.described(column.unit, column.about)
    };
    declared.iter().fold(Columns::default(), column).table()
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
