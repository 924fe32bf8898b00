//! Where packets were lost: a picture, and a table. Tests: `tests/test_network.py`.

use crate::json;
use crate::table::{again, Columns, Table};
use pyo3::prelude::*;
use thalweg::Maps;
use thalweg_simnet::explain::{Cause, HopLoss, LossMap};
use thalweg_simnet::streams::{LinkMap, StreamMap, Why};

/// Where the packets of a transfer were lost, and why.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Losses {
    /// A row for each hop of each round (of streams, for each link): what entered, what arrived, and what was lost by each
    /// cause.
    #[pyo3(get)]
    table: Py<Table>,
    /// What `thalweg collect --explain` prints.
    #[pyo3(get)]
    text: String,
    json: String,
    svg: Option<String>,
}

#[pymethods]
impl Losses {
    /// What `thalweg collect --explain --json` prints of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loaded(py, &self.json)
    }
    /// The picture; none of what went hop by hop.
    fn svg(&self) -> Option<&str> {
        self.svg.as_deref()
    }
    fn _repr_svg_(&self) -> Option<&str> {
        self.svg()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let (text, json, svg) = (self.text.clone(), self.json.clone(), self.svg.clone());
        let parts = (self.table.clone_ref(py), text, json, svg);
        Ok((again(py, "losses_again")?, parts))
    }
}

/// What pickles: a function, and what it takes.
type Reduced<'py> = (
    Bound<'py, PyAny>,
    (Py<Table>, String, String, Option<String>),
);

/// Makes again what was pickled.
#[pyfunction]
#[pyo3(signature = (table, text, json, svg))]
pub(crate) const fn losses_again(
    table: Py<Table>,
    text: String,
    json: String,
    svg: Option<String>,
) -> Losses {
    Losses {
        table,
        text,
        json,
        svg,
    }
}

impl Losses {
    /// What `maps` say.
    pub(crate) fn of(py: Python<'_>, maps: &Maps) -> PyResult<Self> {
        let table = match maps {
            Maps::Pipeline(maps) => of_pipelines(maps),
            Maps::Stream(map) => of_stream(map),
        };
        Ok(Self {
            table: Py::new(py, table?)?,
            text: maps.to_text().join("\n"),
            json: json::text(maps)?,
            svg: maps.to_svg(),
        })
    }
}

/// `name` as a column's.
fn column(name: &impl serde::Serialize) -> String {
    thalweg_lab::results::name_of(name).replace('-', "_")
}

fn of_pipelines(maps: &[LossMap]) -> PyResult<Table> {
    let mut rows: Vec<(&str, u32, u32, &HopLoss)> = Vec::new();
    for map in maps {
        for round in &map.rounds {
            let row = |hop| (&*map.protocol, round.attempt, round.round, hop);
            rows.extend(round.hops.iter().map(row));
        }
    }
    let whole = |n: u32| Some(i64::from(n));
    let rows = || rows.iter();
    let columns = Columns::default()
        .texts("protocol", rows().map(|row| Some(row.0)))
        .whole("attempt", rows().map(|row| whole(row.1)))
        .whole("round", rows().map(|row| whole(row.2)))
        .whole("stage", rows().map(|row| i64::try_from(row.3.stage).ok()))
        .texts("group", rows().map(|row| Some(row.3.group.name())))
        .whole("channel", rows().map(|row| Some(i64::from(row.3.channel))))
        .whole("entered", rows().map(|row| whole(row.3.entered)))
        .whole("arrived", rows().map(|row| whole(row.3.arrived)));
    let by_cause = |columns: Columns, cause: &Cause| {
        columns.whole(
            &column(cause),
            rows().map(|row| whole(row.3.lost.of(*cause))),
        )
    };
    Cause::ALL.iter().fold(columns, by_cause).table()
}

fn of_stream(map: &StreamMap) -> PyResult<Table> {
    let rows = || map.links.iter();
    let whole = |n: u32| Some(i64::from(n));
    let columns = Columns::default()
        .whole("src", rows().map(|link| Some(i64::from(link.from))))
        .whole("dst", rows().map(|link| Some(i64::from(link.to))))
        .texts("on", rows().map(|link| Some(&link.on)))
        .whole("packets", rows().map(|link| whole(link.packets)))
        .whole("tries", rows().map(|link| whole(link.tries)))
        .whole("arrived", rows().map(|link| whole(link.arrived)));
    let by_cause = |columns: Columns, why: &Why| {
        let failed = |link: &LinkMap| whole(link.failed.get(why).copied().unwrap_or(0));
        columns.whole(&column(why), rows().map(failed))
    };
    Why::ALL.iter().fold(columns, by_cause).table()
}
