//! Testbeds as values: made from a name, a file or links, drawn, taken apart into tables. Tests: `tests/test_testbed.py`.

use crate::ask;
use crate::errors::{raised, refused};
use crate::table::{Columns, Table};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_lab::plots;
use thalweg_testbeds::Site;

/// A network: its nodes and whence its links come. A seed makes of it a building, or plays measured links.
#[pyclass(frozen, module = "thalweg")]
#[derive(Clone)]
pub(crate) struct Testbed {
    pub(crate) testbed: Arc<thalweg::Testbed>,
    /// The name or file that gives the same.
    name: String,
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
        // A file is the same wherever the value goes on this machine.
        let is_built_in = thalweg::Testbed::built_in().any(|known| Path::new(known) == name);
        let name = match is_built_in {
            true => name,
            false => std::path::absolute(&name).unwrap_or(name),
        };
        Ok(Self {
            testbed: Arc::new(testbed),
            name: name.to_string_lossy().into_owned(),
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
    fn channels(&self) -> Vec<u8> {
        self.testbed
            .channels
            .iter()
            .map(|channel| channel.number())
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
    fn nodes(&self, seed: Option<Bound<'_, PyAny>>) -> PyResult<Table> {
        let site = self.site(seed)?;
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
    fn svg(&self, seed: Option<Bound<'_, PyAny>>) -> PyResult<String> {
        Ok(plots::site(&self.site(seed)?).to_svg())
    }
    fn _repr_svg_(&self) -> PyResult<String> {
        self.svg(None)
    }
    fn __repr__(&self) -> String {
        let (name, nodes, sink) = (&self.testbed.name, self.testbed.len(), self.testbed.sink);
        format!("<thalweg.Testbed {name}: {nodes} nodes, sink {sink}>")
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let load = py.get_type::<Self>().getattr("load")?;
        Ok((load, (self.name.clone(),)))
    }
}

impl Testbed {
    fn site(&self, seed: Option<Bound<'_, PyAny>>) -> PyResult<Site> {
        Ok(Site::new(self.testbed.clone(), ask::seed(seed)?))
    }
}
