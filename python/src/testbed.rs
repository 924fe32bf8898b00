//! Testbeds as values: made from a name, a file or links, drawn, taken apart into tables. Tests: `tests/test_testbed.py`.

use crate::ask;
use crate::attend::attend;
use crate::errors::{input, raised, refused, written};
use crate::foreign;
use crate::table::{Columns, Table};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg::{LinkRow, Row, Value};
use thalweg_lab::plots;
use thalweg_testbeds::{Physics, Site, TraceLink};

/// A network: its nodes and whence its links come. A seed makes of it a building, or plays measured links.
#[pyclass(frozen, from_py_object, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Testbed {
    pub(crate) testbed: Arc<thalweg::Testbed>,
    pub(crate) made: Made,
}

/// What gives the same testbed again.
#[derive(Clone)]
pub(crate) enum Made {
    /// A built-in testbed's name, or a file on this machine.
    Named(String),
    /// Its links.
    Of(Arc<[LinkRow]>),
}

#[pymethods]
impl Testbed {
    /// A built-in testbed, or the one in a file.
    #[staticmethod]
    fn load(name: PathBuf) -> PyResult<Self> {
        if name.as_os_str() == "-" {
            return Err(refused(
                "a testbed is a name, a file or a table; `-` is none",
            ));
        }
        let testbed = thalweg::Testbed::load(&name).map_err(|why| raised(why.into()))?;
        let is_built_in = thalweg::Testbed::built_in().any(|known| Path::new(known) == name);
        let name = match is_built_in {
            true => name,
            false => std::path::absolute(&name).unwrap_or(name),
        };
        Ok(Self {
            testbed: Arc::new(testbed),
            made: Made::Named(name.to_string_lossy().into_owned()),
        })
    }
    /// The testbed called `name` whose links are the rows of a table: src, dst, prr, perhaps channel and rssi_dbm.
    #[staticmethod]
    #[pyo3(signature = (table, *, name = "links"))]
    fn of_links(table: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let rows = foreign::rows("links", table, |name| LINK.contains(&name))?;
        all_there(&rows)?;
        let links = rows.iter().enumerate().map(|(at, row)| link(at, row));
        let links: Vec<LinkRow> = links.collect::<PyResult<_>>()?;
        let testbed = thalweg::Testbed::of_links(name, &links);
        Ok(Self {
            testbed: Arc::new(testbed.map_err(|why| raised(why.into()))?),
            made: Made::Of(links.into()),
        })
    }
    /// Names of the built-in testbeds.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        thalweg::Testbed::built_in().collect()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.testbed.name
    }
    /// What it is, in a line.
    #[getter]
    fn description(&self) -> &str {
        &self.testbed.description
    }
    /// The board of its nodes.
    #[getter]
    fn board(&self) -> &str {
        &self.testbed.board_name
    }
    /// The node that data goes to by default.
    #[getter]
    fn sink(&self) -> u16 {
        self.testbed.sink.get()
    }
    /// The channels that may be used.
    #[getter]
    fn channels(&self) -> Vec<u16> {
        self.testbed
            .channels
            .iter()
            .map(|channel| channel.number().into())
            .collect()
    }
    /// The channel of floods.
    #[getter]
    fn control_channel(&self) -> u8 {
        self.testbed.control.number()
    }
    /// What its file leaves open, and what was made of it.
    #[getter]
    fn assumed(&self) -> Vec<String> {
        self.testbed
            .assumed
            .iter()
            .map(ToString::to_string)
            .collect()
    }
    /// How many nodes it has.
    fn __len__(&self) -> usize {
        self.testbed.len()
    }
    /// Its nodes: number, label, and where they are with `seed`, as far as that is known.
    #[pyo3(signature = (*, seed = None))]
    fn nodes(&self, py: Python<'_>, seed: Option<Bound<'_, PyAny>>) -> PyResult<Table> {
        let site = self.site(py, seed)?;
        let places = site.environment.ears.iter().map(|ear| ear.placement);
        let places: Vec<_> = places.take(self.testbed.len()).collect();
        let of = |value: fn(&thalweg_medium::Placement) -> f64| {
            places.iter().map(move |place| place.as_ref().map(value))
        };
        let ids = || self.testbed.nodes.iter().map(|node| node.id);
        Columns::default()
            .whole("node", ids().map(|id| Some(i64::from(id.get()))))
            .texts("label", ids().map(|id| self.testbed.label(id)))
            .numbers("x_m", of(|place| place.position.x_m))
            .numbers("y_m", of(|place| place.position.y_m))
            .whole(
                "floor",
                places.iter().map(|place| place.map(|p| i64::from(p.floor))),
            )
            .table()
    }
    /// A map with `seed` as SVG.
    #[pyo3(signature = (*, seed = None))]
    fn svg(&self, py: Python<'_>, seed: Option<Bound<'_, PyAny>>) -> PyResult<String> {
        Ok(plots::site(&self.site(py, seed)?).to_svg())
    }
    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.svg(py, None)
    }
    /// The name that stands for it in an experiment, and itself where that name alone says nothing.
    fn _named(&self) -> (String, Option<Self>) {
        self.clone().named()
    }
    fn __repr__(&self) -> String {
        let (name, nodes, sink) = (&self.testbed.name, self.testbed.len(), self.testbed.sink);
        format!("<thalweg.Testbed {name}: {nodes} nodes, sink {sink}>")
    }
    /// Its measured links: src, dst, channel, prr, rssi_dbm, as they were given; those of several visits on average. None
    /// of a testbed whose links a seed draws.
    #[getter]
    fn links(&self) -> PyResult<Option<Table>> {
        self.link_rows().map(|links| table(&links)).transpose()
    }
    /// SHA-256 of all that it says, in hexadecimal: testbeds of the same digest are the same.
    #[getter]
    fn digest(&self) -> String {
        self.testbed.digest()
    }
    /// Writes its measured links as a CSV that `thalweg --testbed` takes.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let none = "a testbed whose links a seed draws has none to save: name its file";
        let links = self.link_rows().ok_or_else(|| refused(none))?;
        let mut text = String::from("src,dst,channel,prr,rssi_dbm\n");
        for LinkRow {
            src,
            dst,
            channel,
            prr,
            rssi_dbm,
        } in &*links
        {
            let channel = channel.map_or_else(String::new, |on| on.to_string());
            let level = rssi_dbm.map_or_else(String::new, |dbm| dbm.to_string());
            text.push_str(&format!("{src},{dst},{channel},{prr},{level}\n"));
        }
        written(&path, fs::write(&path, text))
    }
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<Self>();
        match &self.made {
            Made::Named(name) => Ok((class.getattr("load")?, (name,).into_pyobject(py)?)),
            Made::Of(links) => {
                let again = py.import("thalweg._links")?.getattr("again")?;
                let columns = table(links)?.lists(py)?;
                Ok((again, (columns, &self.testbed.name).into_pyobject(py)?))
            }
        }
    }
}

/// Links as a table.
fn table(links: &[LinkRow]) -> PyResult<Table> {
    let each = || links.iter();
    Columns::default()
        .whole("src", each().map(|link| Some(i64::from(link.src))))
        .whole("dst", each().map(|link| Some(i64::from(link.dst))))
        .whole("channel", each().map(|link| link.channel.map(i64::from)))
        .numbers("prr", each().map(|link| Some(link.prr)))
        .numbers("rssi_dbm", each().map(|link| link.rssi_dbm))
        .table()
}

/// The columns of links, of which the first three are needed.
const LINK: [&str; 5] = ["src", "dst", "prr", "channel", "rssi_dbm"];

/// The columns that links need have values in `rows`, if there are any: else they may have other names.
fn all_there(rows: &[Row]) -> PyResult<()> {
    let known: BTreeSet<&String> = rows.iter().flat_map(|row| row.0.keys()).collect();
    let lacking: Vec<&str> = (LINK.into_iter().take(3))
        .filter(|name| !known.iter().any(|known| known == name))
        .collect();
    if rows.is_empty() || lacking.is_empty() {
        return Ok(());
    }
    let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
    let (lacking, known) = (lacking.join(", "), known.join(", "));
    let line = format!("links: expected the columns src, dst and prr; without values: {lacking}; there are {known}");
    Err(input("links", &line))
}

/// The link in row number `at`.
fn link(at: usize, row: &Row) -> PyResult<LinkRow> {
    let place = format!("row {at}");
    let expected = |what: &str, expected: &str| {
        let got = match row.0.get(what) {
            None => "none".to_owned(),
            Some(Value::Text(text)) => format!("the text {text:?}"),
            Some(number) => number.to_string(),
        };
        input(
            &place,
            &format!("links, {place}: {what}: expected {expected}, got {got}"),
        )
    };
    let node = |what: &str| {
        let number = whole(row, what).and_then(|n| u16::try_from(n).ok());
        number.ok_or_else(|| expected(what, "a node's number, 0 to 65533"))
    };
    let channel = match row.0.contains_key("channel") {
        true => {
            let number = whole(row, "channel").and_then(|n| u8::try_from(n).ok());
            Some(number.ok_or_else(|| expected("channel", "11 to 26"))?)
        }
        false => None,
    };
    if matches!(row.0.get("rssi_dbm"), Some(Value::Text(_))) {
        return Err(expected("rssi_dbm", "a level from -120 to 20 dBm"));
    }
    Ok(LinkRow {
        src: node("src")?,
        dst: node("dst")?,
        channel,
        prr: row
            .number("prr")
            .ok_or_else(|| expected("prr", "a ratio from 0 to 1"))?,
        rssi_dbm: row.number("rssi_dbm"),
    })
}

/// The whole number in `column`; pandas writes those of a column with gaps with a point.
fn whole(row: &Row, column: &str) -> Option<i64> {
    let number = row.number(column)?;
    (number.fract() == 0.0 && number.abs() < 1e9).then_some(number as i64)
}

impl Testbed {
    /// The name that stands for it in an experiment, and itself where that name alone says nothing.
    pub(crate) fn named(self) -> (String, Option<Self>) {
        match &self.made {
            Made::Named(name) => (name.clone(), None),
            Made::Of(_) => (self.testbed.name.clone(), Some(self)),
        }
    }
    /// The links that were given, or that its file has.
    fn link_rows(&self) -> Option<Arc<[LinkRow]>> {
        match (&self.made, &self.testbed.physics) {
            (Made::Of(links), _) => Some(links.clone()),
            (Made::Named(_), Physics::Measured(measured)) => {
                let id = |index: u16| Some(self.testbed.id_of(index.into())?.get());
                let row = |link: &TraceLink| {
                    Some(LinkRow {
                        src: id(link.from)?,
                        dst: id(link.to)?,
                        channel: Some(link.channel.number()),
                        prr: link.prr,
                        rssi_dbm: link.rssi_dbm,
                    })
                };
                Some(measured.links.iter().filter_map(row).collect())
            }
            (Made::Named(_), _) => None,
        }
    }
    /// What it is with `seed`.
    fn site(&self, py: Python<'_>, seed: Option<Bound<'_, PyAny>>) -> PyResult<Site> {
        let (testbed, seed) = (self.testbed.clone(), ask::seed(seed)?);
        attend(py, None, move |_| Ok(Site::new(testbed, seed)))
    }
}
