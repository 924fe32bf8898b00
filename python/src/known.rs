//! What there is, as tables. Tests: `tests/test_experiments.py`, `tests/test_network.py`.

use crate::errors::raised;
use crate::table::{Columns, Table};
use pyo3::prelude::*;
use thalweg_lab::results::name_of;

/// The built-in experiments: id, what each measures, its seeds, and what they take.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Table> {
    let all = thalweg::experiments().map_err(raised)?;
    let each = || all.iter();
    Columns::default()
        .texts("id", each().map(|e| Some(&e.id)))
        .texts("title", each().map(|e| Some(&e.title)))
        .texts("paper", each().map(|e| e.paper.as_ref()))
        .whole("seeds", each().map(|e| i64::try_from(e.seeds).ok()))
        .whole("claims", each().map(|e| i64::try_from(e.claims).ok()))
        .numbers("cpu_s", each().map(|e| e.cpu_s))
        .table()
}

/// The protocols: what each is, whose idea, what it needs and takes.
#[pyfunction]
pub(crate) fn protocols() -> PyResult<Table> {
    let all = thalweg::protocols().map_err(raised)?;
    let each = || all.iter();
    let takes = |p: &thalweg::KnownProtocol| {
        let names: Vec<String> = p.takes.iter().map(name_of).collect();
        names.join(" ")
    };
    Columns::default()
        .texts("name", each().map(|p| Some(p.name)))
        .texts("about", each().map(|p| Some(p.about)))
        .texts("origin", each().map(|p| Some(name_of(&p.origin))))
        .texts("needs", each().map(|p| Some(name_of(&p.needs))))
        .texts("boards", each().map(|p| Some(p.boards.join(" "))))
        .texts("takes", each().map(|p| Some(takes(p))))
        .table()
}
