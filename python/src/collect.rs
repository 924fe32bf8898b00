//! Objects that are fetched. Tests: `tests/test_network.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::{input, raised};
use crate::frames::Log;
use crate::json;
use crate::losses::Losses;
use crate::network::{asked, told};
use crate::plan::Plan;
use crate::table::Table;
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use thalweg::{Explain, Network};
use thalweg_sim::Capture;

/// What became of an object.
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
    object: Option<Py<PyBytes>>,
    frames: Option<Py<Table>>,
    losses: Option<Py<Losses>>,
    json: String,
}

#[pymethods]
impl Collected {
    /// What `thalweg collect --json` prints, but for where the command line stored the object.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loaded(py, &self.json)
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
    let (report, maps) = attend(py, ask.any("progress")?, |desk| {
        let mut packets = 0;
        let mut observer = |label: &str, progress| told(desk, label, progress, &mut packets);
        let surveyed = network.survey(&mut observer)?;
        let capture = log.clone().map(|log| Box::new(log) as Box<dyn Capture>);
        Ok(surveyed.fetch(&network.request()?, capture, explain, &mut observer)?)
    })?;
    let s = report.summary().clone();
    let frames = log.map(|log| Py::new(py, log.table(&site.testbed)?));
    Ok(Collected {
        source: s.source.get(),
        sink: s.sink.get(),
        object: report
            .object()
            .map(|object| PyBytes::new(py, object).unbind()),
        frames: frames.transpose()?,
        losses: maps.map(|maps| Py::new(py, Losses(maps))).transpose()?,
        json: json::text(&report)?,
        protocol: s.protocol,
        testbed: s.testbed,
        bytes: s.bytes,
        verified: s.verified,
        goodput_kbps: s.goodput_kbps,
        utilisation: s.utilisation,
        rounds: s.rounds,
        first_round_reliability: s.first_round_reliability,
        active_nodes: s.active_nodes,
        hops: s.hops,
        paths: s.paths,
        energy_j: s.energy_j,
        network_energy_j: s.network_energy_j,
        duration_s: s.duration_s,
        waited_s: s.waited_s,
        attempts: s.attempts,
        failure: s.failure,
        seed: s.seed,
    })
}

/// The network that the transfer begins with: that of the plan, where there is one.
fn begun(site: &Testbed, ask: &Ask<'_>) -> PyResult<Network> {
    let Some(plan) = ask.get::<PyRef<'_, Plan>>("plan", "a plan")? else {
        return Ok(Network::of(site.testbed.clone()));
    };
    let network = plan.network();
    match network.testbed().digest() == site.testbed.digest() {
        true => Ok(network),
        false => Err(input("plan", "plan: is of another network")),
    }
}
