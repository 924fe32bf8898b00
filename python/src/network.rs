//! One network: its links as it measures them, a plan over them, an object that is fetched. Tests: `tests/test_network.py`.

use crate::ask::{unfit, Ask};
use crate::attend::{attend, Desk};
use crate::errors::{bug, raised};
use crate::frames::Log;
use crate::json;
use crate::losses::Losses;
use crate::table::{Columns, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg::{Explain, Network, Object, Progress, Surveyed, OBJECT_BYTES};
use thalweg_host::link_state::{LinkState, PlanSummary};
use thalweg_lab::plots;
use thalweg_sim::Capture;

/// The network `site` with the request that `ask` has: what is not given is as on the command line.
fn network(site: &Testbed, ask: &Ask<'_>) -> PyResult<Network> {
    const FEW: &str = "a whole number from 1 to 255";
    let testbed = &site.testbed;
    let network = Network::of(testbed.clone())
        .seed(ask.seed()?)
        .from(ask.node("source", testbed)?)
        .to(ask.node("sink", testbed)?)
        .channels(ask.channels("channels")?)
        .payload(ask.get("payload", "a whole number from 1 to 118")?)
        .paths(ask.get("paths", FEW)?)
        .hops(ask.get("hops", FEW)?)
        .age(ask.seconds("age_s")?)
        .idle(ask.seconds("idle_s")?)
        .patience(ask.seconds("patience_s")?)
        .at(ask.seconds("at_s")?)
        .losses(ask.losses()?)
        .object(object(ask)?);
    let protocol: Option<String> = ask.get("protocol", "the name of a protocol")?;
    let network = match protocol {
        Some(name) => network.protocol(&name),
        None => Ok(network),
    };
    let control = ask.channel("control_channel")?;
    let network = network.and_then(|network| network.control_channel(control));
    network.map_err(raised)
}

/// The object of the source: bytes, or so many random ones.
fn object(ask: &Ask<'_>) -> PyResult<Object> {
    let Some(value) = ask.any("object")? else {
        return Ok(Object::Random {
            bytes: OBJECT_BYTES,
        });
    };
    if let Ok(bytes) = value.extract::<Vec<u8>>() {
        return Ok(Object::Bytes(Arc::from(bytes)));
    }
    let bytes = value.extract::<u32>();
    let unfit = |_| unfit("object", "bytes, or how many random ones", &value);
    Ok(Object::Random {
        bytes: bytes.map_err(unfit)?,
    })
}

/// Tells `desk` how far `label`, a protocol or a band, is.
fn told(desk: &Desk, label: &str, progress: Progress, packets: &mut u64) -> ControlFlow<()> {
    let (what, done, total) = match progress {
        Progress::Planned { packets: of, .. } => {
            *packets = u64::from(of);
            ("packets", 0, *packets)
        }
        Progress::Measuring { turn, of } => ("measuring links", u64::from(turn), u64::from(of)),
        Progress::Collecting { complete, of } => {
            ("collecting link tables", u64::from(complete), u64::from(of))
        }
        Progress::Packets { received, .. } => ("packets", u64::from(received), *packets),
        Progress::OutOfReach { waited, .. } => {
            let [waited, of] = [waited.0, waited.1].map(|time| time.as_secs_f64() as u64);
            ("out of reach, links are measured again", waited, of)
        }
        Progress::WakingUp | Progress::Wave { .. } => ("waking up", 0, *packets),
    };
    match label {
        "" => desk.tell(what, done, total),
        label => desk.tell(&format!("{label}: {what}"), done, total),
    }
}

/// The links of a network as it measured them itself, a row for each sender, receiver and channel, and what that cost.
#[pyclass(frozen, extends = Table, module = "thalweg")]
pub(crate) struct Survey {
    cost: String,
}

#[pymethods]
impl Survey {
    /// How long it took, and what it cost, as `to_dict()["survey"]` of a transfer.
    #[getter]
    fn cost<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loaded(py, &self.cost)
    }
}

/// The links of `links`, a row for each sender, receiver and channel.
fn table(links: &LinkState) -> PyResult<Table> {
    let ids: Vec<_> = links
        .place()
        .ids
        .iter()
        .map(|id| i64::from(id.get()))
        .collect();
    let links = links.links();
    let mut rows = Vec::new();
    for (from, src) in ids.iter().enumerate() {
        for (to, dst) in ids.iter().enumerate() {
            let on = links.channels().iter();
            let known = on.filter_map(|on| Some((src, dst, on, links.quality(from, to, on)?)));
            rows.extend(known);
        }
    }
    let rows = || rows.iter();
    Columns::default()
        .whole("src", rows().map(|row| Some(*row.0)))
        .whole("dst", rows().map(|row| Some(*row.1)))
        .whole("channel", rows().map(|row| Some(i64::from(row.2.number()))))
        .numbers("prr", rows().map(|row| Some(row.3.prr)))
        .numbers("rssi_dbm", rows().map(|row| row.3.rssi.map(|rssi| rssi.0)))
        .table()
}

/// Surveys a network.
#[pyfunction]
pub(crate) fn survey(
    py: Python<'_>,
    site: &Testbed,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Py<Survey>> {
    let ask = Ask::new(arguments);
    let network = network(site, &ask)?;
    network.pipeline("protocol").map_err(raised)?;
    let surveyed = attend(py, ask.any("progress")?, |desk| {
        network.survey(&mut |label, progress| told(desk, label, progress, &mut 0))
    })?;
    let Surveyed::Pipeline(surveyed, _) = &surveyed else {
        return Err(bug("a pipeline was surveyed as a stream"));
    };
    let cost = json::text(surveyed.cost())?;
    let survey = PyClassInitializer::from(table(surveyed.links())?).add_subclass(Survey { cost });
    Py::new(py, survey)
}

/// A plan: who relays where, on which channels, and what to expect.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Plan {
    summary: PlanSummary,
    svg: String,
}

#[pymethods]
impl Plan {
    /// The node that has the object.
    #[getter]
    const fn source(&self) -> u16 {
        self.summary.source
    }
    /// The base station.
    #[getter]
    const fn sink(&self) -> u16 {
        self.summary.sink
    }
    /// Hops of the route.
    #[getter]
    const fn hops(&self) -> usize {
        self.summary.hops
    }
    /// Node-distinct paths, source and sink included.
    #[getter]
    fn paths(&self) -> Vec<Vec<u16>> {
        self.summary.paths.clone()
    }
    /// Reasons for doubt.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.summary.warnings.clone()
    }
    /// The relays, a row for each, with the stage that they are at and the channel that they receive on.
    #[getter]
    fn stages(&self) -> PyResult<Table> {
        let mut rows = Vec::new();
        for stage in &self.summary.stages {
            let even = stage.even_channel.unwrap_or(stage.channel);
            for (group, channel, nodes) in [
                ("odd", stage.channel, &stage.odd),
                ("even", even, &stage.even),
            ] {
                rows.extend(
                    nodes
                        .iter()
                        .map(|node| (stage.stage, group, *node, channel)),
                );
            }
        }
        let rows = || rows.iter();
        Columns::default()
            .whole("stage", rows().map(|row| i64::try_from(row.0).ok()))
            .texts("group", rows().map(|row| Some(row.1)))
            .whole("node", rows().map(|row| Some(i64::from(row.2))))
            .whole("channel", rows().map(|row| Some(i64::from(row.3))))
            .table()
    }
    /// What to expect: goodput, rounds, time, energy.
    #[getter]
    fn expected<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::python(py, &self.summary.prediction)
    }
    /// What `thalweg plan --json` prints.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::python(py, &self.summary)
    }
    fn _repr_svg_(&self) -> &str {
        &self.svg
    }
    fn __repr__(&self) -> String {
        let PlanSummary {
            source,
            sink,
            hops,
            paths,
            protocol,
            ..
        } = &self.summary;
        let (paths, goodput) = (paths.len(), self.summary.prediction.goodput_kbps);
        format!("<thalweg.Plan {protocol}, node {source} to {sink}: {hops} hops, {paths} paths, {goodput:.1} kbit/s expected>")
    }
}

/// Plans a transfer.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, site: &Testbed, arguments: Bound<'_, PyDict>) -> PyResult<Plan> {
    let ask = Ask::new(arguments);
    let network = network(site, &ask)?;
    network.pipeline("protocol").map_err(raised)?;
    let (plan, summary, links) = attend(py, ask.any("progress")?, |desk| {
        let links = network.links(&mut |label, progress| told(desk, label, progress, &mut 0))?;
        let (plan, summary) = network.plan(&links)?;
        Ok((plan, summary, links))
    })?;
    Ok(Plan {
        svg: plots::plan(&plan, links.links()).to_svg(),
        summary,
    })
}

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
    let network = network(site, &ask)?;
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
