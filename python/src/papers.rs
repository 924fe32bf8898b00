//! The papers' results again, and rows that are judged. Tests: `tests/test_experiments.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::{raised, written};
use crate::experiment::{lab, told, Experiment, Report};
use crate::foreign;
use crate::table::again;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use thalweg::{results_of, ExperimentReport, ExperimentRun, Extent};
use thalweg_lab::experiment::Page;
use thalweg_lab::results::SEED;

/// The results of papers, beside what they report.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Reproduced {
    reports: Vec<ExperimentReport>,
    left_out: Vec<String>,
    call: String,
}

#[pymethods]
impl Reproduced {
    /// The reports by their experiments' ids, in the papers' order.
    #[getter]
    fn reports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reports = PyDict::new(py);
        for report in &self.reports {
            reports.set_item(
                &report.experiment.id,
                Report(report.clone()).into_pyobject(py)?,
            )?;
        }
        Ok(reports)
    }
    /// Experiments that the quick subset leaves out unless they are named.
    #[getter]
    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }
    /// Results that lie neither in their band nor where an exception excuses them, a line each.
    #[getter]
    fn misses(&self) -> Vec<String> {
        self.reports
            .iter()
            .flat_map(ExperimentReport::misses)
            .collect()
    }
    /// The report page, as `thalweg reproduce --report` writes it.
    fn html(&self) -> String {
        let (reports, command) = (&*self.reports, &*self.call);
        let page = Page {
            reports,
            to_come: &[],
            command,
            rows: None,
            simulated_by: None,
        };
        page.html()
    }
    /// Writes the report page to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        written(&path, fs::write(&path, self.html()))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let reports = self.reports.iter().cloned().map(Report).collect();
        let parts = (reports, self.left_out.clone(), self.call.clone());
        Ok((again(py, "reproduced_again")?, parts))
    }
    fn __len__(&self) -> usize {
        self.reports.len()
    }
    fn __repr__(&self) -> String {
        let (reports, misses) = (self.reports.len(), self.misses().len());
        format!("<thalweg.Reproduced: {reports} experiments, {misses} misses>")
    }
}

/// What makes it again.
type Parts = (Vec<Report>, Vec<String>, String);

/// Makes again what was pickled.
#[pyfunction]
pub(crate) fn reproduced_again(
    reports: Vec<Report>,
    left_out: Vec<String>,
    call: String,
) -> Reproduced {
    Reproduced {
        reports: reports.into_iter().map(|report| report.0).collect(),
        left_out,
        call,
    }
}

/// Runs the results of the papers and results `named`, all where none is.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    named: Vec<String>,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Reproduced> {
    let ask = Ask::new(arguments);
    let extent = match ask.is("quick")? {
        true => Extent::Quick,
        false => Extent::Full,
    };
    let seeds = ask.seeds()?;
    let (experiments, left_out) = results_of(&named, extent).map_err(raised)?;
    let run = |experiment: thalweg::Experiment| {
        let run = ExperimentRun::new(experiment)?;
        let run = match extent {
            Extent::Quick => run.quick()?,
            Extent::Full => run,
        };
        Ok(match &seeds {
            Some(seeds) => run.seeds(seeds.clone()),
            None => run,
        })
    };
    let runs: Result<Vec<ExperimentRun>, thalweg::Error> =
        experiments.into_iter().map(run).collect();
    let (runs, lab) = (runs.map_err(raised)?, lab(&ask)?);
    let reports = attend(py, ask.any("progress")?, move |desk| {
        let mut reports = Vec::new();
        let each = |run: &ExperimentRun, rows| {
            reports.push(run.judged(rows));
            Ok::<(), thalweg::Error>(())
        };
        lab.each(&runs, &|step| told(desk, step), |_| (), each)?;
        Ok(reports)
    })?;
    let names: Vec<String> = named.iter().map(|name| format!("{name:?}, ")).collect();
    let quick = if extent == Extent::Quick {
        "True"
    } else {
        "False"
    };
    let call = format!("thalweg.reproduce({}quick={quick})", names.concat());
    Ok(Reproduced {
        reports,
        left_out,
        call,
    })
}

/// The report of rows that are there already, such as those of many runs.
#[pyfunction]
pub(crate) fn judge(experiment: &Experiment, rows: &Bound<'_, PyAny>) -> PyResult<Report> {
    let rows = foreign::rows("rows", rows, |_| true)?;
    let seeds = rows.iter().filter_map(|row| row.number(SEED));
    let seeds: BTreeSet<u64> = seeds.map(|seed| seed as u64).collect();
    let run = ExperimentRun::new(experiment.experiment.clone()).map_err(raised)?;
    Ok(Report(run.seeds(seeds.into_iter().collect()).judged(rows)))
}
