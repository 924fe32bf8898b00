//! Objects that are fetched. Tests: `tests/test_network.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::{input, raised};
use crate::frames::Log;
use crate::json;
use crate::losses::Losses;
use crate::network::{asked, told};
use crate::plan::Plan;
use crate::table::{again, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use thalweg::{Explain, Network};
use thalweg_sim::Capture;

/// What became of an object.
// It is what its JSON says, and what is too large for that.
#[derive(Deserialize)]
#[pyclass(frozen, get_all, module = "thalweg")]
pub(crate) struct Collected {
    protocol: String,
    testbed: String,
    source: u16,
    sink: u16,
    bytes: u64,
    verified: bool,
    goodput_kbps: f64,
    utilisation: Option<f64>,
    rounds: u32,
    first_round_reliability: Option<f64>,
    active_nodes: u32,
    hops: u32,
    paths: u32,
    energy_j: Option<f64>,
    network_energy_j: Option<f64>,
    duration_s: f64,
    waited_s: f64,
    attempts: u32,
    failure: Option<String>,
    seed: u64,
    #[serde(skip)]
    object: Option<Py<PyBytes>>,
    #[serde(skip)]
    frames: Option<Py<Table>>,
    #[serde(skip)]
    losses: Option<Py<Losses>>,
    #[serde(skip)]
    json: String,
}

#[pymethods]
impl Collected {
    /// What `thalweg collect --json` prints, but for where the command line stored the object.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loaded(py, &self.json)
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let parts = (
            self.json.clone(),
            self.object.as_ref().map(|object| object.clone_ref(py)),
            self.frames.as_ref().map(|frames| frames.clone_ref(py)),
            self.losses.as_ref().map(|losses| losses.clone_ref(py)),
        );
        Ok((again(py, "collected_again")?, parts))
    }
    fn __repr__(&self) -> String {
        let Self {
            protocol,
            source,
            sink,
            bytes,
            goodput_kbps,
            hops,
            ..
        } = self;
        let whole = match (&self.failure, self.verified) {
            (_, true) => format!("{bytes} bytes, whole, {goodput_kbps:.1} kbit/s"),
            (Some(why), _) => why.clone(),
            (None, _) => "not whole".to_owned(),
        };
        format!("<thalweg.Collected {protocol}, node {source} to {sink}, {hops} hops: {whole}>")
    }
}

/// What pickles: a function, and what it takes.
type Reduced<'py> = (Bound<'py, PyAny>, Parts);
type Parts = (
    String,
    Option<Py<PyBytes>>,
    Option<Py<Table>>,
    Option<Py<Losses>>,
);

/// Fetches an object.
#[pyfunction]
pub(crate) fn collect(
    py: Python<'_>,
    site: &Testbed,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Collected> {
    let ask = Ask::new(arguments);
    let network = asked(begun(site, &ask)?, &ask)?;
    network.check_options().map_err(raised)?;
    let log = ask.is("frames")?.then(Log::default);
    let explain = match ask.is("explain")? {
        true => Explain::Maps,
        false => Explain::Nothing,
    };
    let kept = log.clone();
    let (report, maps) = attend(py, ask.any("progress")?, move |desk| {
        let mut packets = 0;
        let mut observer = |label: &str, progress| told(desk, label, progress, &mut packets);
        let surveyed = network.survey(&mut observer)?;
        let capture = kept.map(|log| Box::new(log) as Box<dyn Capture>);
        Ok(surveyed.fetch(&network.request()?, capture, explain, &mut observer)?)
    })?;
    let frames = log.map(|log| Py::new(py, log.table(&site.testbed)?));
    let object = report
        .object()
        .map(|object| PyBytes::new(py, object).unbind());
    let losses = maps.map(|maps| Py::new(py, Losses::of(py, &maps)?));
    collected_again(
        json::text(&report)?,
        object,
        frames.transpose()?,
        losses.transpose()?,
    )
}

/// What became of an object, by its JSON; made again where it was pickled.
#[pyfunction]
#[pyo3(signature = (json, object, frames, losses))]
pub(crate) fn collected_again(
    json: String,
    object: Option<Py<PyBytes>>,
    frames: Option<Py<Table>>,
    losses: Option<Py<Losses>>,
) -> PyResult<Collected> {
    let said: Collected = json::said(&json)?;
    Ok(Collected {
        object,
        frames,
        losses,
        json,
        ..said
    })
}

/// The network that the transfer begins with: that of the plan, where there is one.
fn begun(site: &Testbed, ask: &Ask<'_>) -> PyResult<Network> {
    let Some(plan) = ask.get::<PyRef<'_, Plan>>("plan", "a plan")? else {
        return Ok(Network::of(site.testbed.clone()));
    };
    for (name, end) in plan.ends() {
        if let Some(node) = ask.node(name, &site.testbed)?.filter(|node| *node != end) {
            let line = format!("{name}: the plan's is node {end}, not {node}");
            return Err(input(name, &line));
        }
    }
    let network = plan.network();
    match network.testbed().digest() == site.testbed.digest() {
        true => Ok(network),
        false => Err(input("plan", "plan: is of another network")),
    }
}
