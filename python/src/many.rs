//! Objects of many nodes: of all, one after the other or into several base stations; and at once, by RCRT.
//! Tests: `tests/test_many.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::{input, raised};
use crate::frames::Log;
use crate::json;
use crate::network::asked;
use crate::table::{again, Columns, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use std::cell::Cell;
use thalweg::registry::OptionName;
use thalweg::{Error, GatherProgress, GatherReport, Gathering, Network, Scenario, Summary, Visit};
use thalweg_sim::Capture;

/// What became of the objects of all nodes.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct CollectedAll {
    #[pyo3(get)]
    nodes: Py<Table>,
    #[pyo3(get)]
    objects: Py<PyDict>,
    #[pyo3(get)]
    seed: u64,
}

#[pymethods]
impl CollectedAll {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.nodes.bind(py).len()
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (of, whole) = (self.__len__(py)?, self.objects.bind(py).len());
        Ok(format!("<thalweg.CollectedAll: {whole} of {of} objects>"))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, All)> {
        let (nodes, objects) = (self.nodes.clone_ref(py), self.objects.clone_ref(py));
        Ok((again(py, "all_again")?, (nodes, objects, self.seed)))
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.nodes.call_method0(py, "_repr_html_")
    }
}

/// What makes it again.
type All = (Py<Table>, Py<PyDict>, u64);

/// Makes again what was pickled.
#[pyfunction]
pub(crate) const fn all_again(nodes: Py<Table>, objects: Py<PyDict>, seed: u64) -> CollectedAll {
    CollectedAll {
        nodes,
        objects,
        seed,
    }
}

/// What became of one.
struct Turn {
    source: u16,
    summary: Option<Summary>,
    failure: Option<String>,
    object: Option<Vec<u8>>,
}

impl Turn {
    fn of(summary: &Summary, object: Option<&[u8]>) -> Self {
        Self {
            source: summary.source.get(),
            summary: Some(summary.clone()),
            failure: summary.failure.clone(),
            object: object.map(<[u8]>::to_vec),
        }
    }
}

/// Collects the objects of all nodes but the base stations.
#[pyfunction]
pub(crate) fn collect_all(
    py: Python<'_>,
    site: &Testbed,
    arguments: Bound<'_, PyDict>,
) -> PyResult<CollectedAll> {
    let ask = Ask::new(arguments);
    let network = asked(Network::of(site.testbed.clone()), &ask)?;
    let sinks = ask.nodes("sinks", network.testbed())?;
    let network = network.to(sinks.first().copied());
    network.check_options().map_err(raised)?;
    let mut takes = vec![("all-nodes", OptionName::AllNodes)];
    takes.extend((sinks.len() > 1).then_some(("more than one base station", OptionName::Sinks)));
    let mut takes = takes.into_iter();
    takes
        .try_for_each(|(option, what)| network.takes(option, what))
        .map_err(raised)?;
    let turns = attend(py, ask.any("progress")?, move |desk| {
        let all = network.all_nodes(&sinks)?;
        let of = all.sources().len() as u64;
        let (mut turns, done) = (Vec::new(), Cell::new(0));
        let mut observer = |_: &str, _| desk.tell("nodes", done.get(), of);
        all.collect(all.sources().to_vec(), &mut observer, &mut |visit| {
            match visit {
                Visit::Surveyed | Visit::Begins(_) => return Ok::<(), Error>(()),
                Visit::Ended(_, Ok(report)) => {
                    turns.push(Turn::of(report.summary(), report.object()));
                }
                Visit::Ended(node, Err(why)) => turns.push(Turn {
                    source: node.get(),
                    summary: None,
                    failure: Some(why.to_string()),
                    object: None,
                }),
                Visit::InWave(turn, object) => turns.push(Turn::of(&turn.summary, object)),
            }
            done.set(turns.len() as u64);
            Ok(())
        })?;
        Ok(turns)
    })?;
    Ok(CollectedAll {
        nodes: Py::new(py, table(&turns)?)?,
        objects: objects(py, turns.iter().map(|t| (t.source, t.object.as_deref())))?,
        seed: ask.seed("seed")?.unwrap_or(1),
    })
}

/// A row for each node, in the order in which their transfers ended.
fn table(turns: &[Turn]) -> PyResult<Table> {
    let each = || turns.iter();
    let number = |of: fn(&Summary) -> Option<f64>| {
        each().map(move |turn| turn.summary.as_ref().and_then(of))
    };
    let whole = |of: fn(&Summary) -> i64| each().map(move |turn| turn.summary.as_ref().map(of));
    let bytes = |s: &Summary| i64::try_from(s.bytes).unwrap_or(i64::MAX);
    Columns::default()
        .whole("source", each().map(|turn| Some(i64::from(turn.source))))
        .whole("sink", whole(|s| i64::from(s.sink.get())))
        .flags("verified", each().map(|turn| Some(turn.object.is_some())))
        .texts("failure", each().map(|turn| turn.failure.as_ref()))
        .whole("bytes", whole(bytes))
        .numbers("goodput_kbps", number(|s| Some(s.goodput_kbps)))
        .whole("rounds", whole(|s| i64::from(s.rounds)))
        .whole("hops", whole(|s| i64::from(s.hops)))
        .whole("paths", whole(|s| i64::from(s.paths)))
        .numbers("energy_j", number(|s| s.energy_j))
        .numbers("duration_s", number(|s| Some(s.duration_s)))
        .table()
}

/// The objects that are whole, by their nodes.
fn objects<'a>(
    py: Python<'_>,
    all: impl Iterator<Item = (u16, Option<&'a [u8]>)>,
) -> PyResult<Py<PyDict>> {
    let objects = PyDict::new(py);
    for (node, object) in all {
        if let Some(bytes) = object {
            objects.set_item(node, PyBytes::new(py, bytes))?;
        }
    }
    Ok(objects.unbind())
}

/// What became of objects that were collected at once.
#[pyclass(frozen, get_all, module = "thalweg")]
pub(crate) struct Gathered {
    /// A row for each object.
    nodes: Py<Table>,
    /// Each rate that the base station set: for which node, since when, and how much.
    rates: Py<Table>,
    objects: Py<PyDict>,
    frames: Option<Py<Table>>,
    /// The seed.
    seed: u64,
    /// Until the last delivery, after routes have settled.
    duration_s: f64,
    /// Bits delivered per time, of all together.
    goodput_kbps: f64,
    json: String,
}

/// What the JSON of a gathering says of all objects together.
#[derive(Deserialize)]
struct Together {
    seed: u64,
    duration_s: f64,
    goodput_kbps: f64,
}

#[pymethods]
impl Gathered {
    /// What `thalweg collect --protocol rcrt --json` prints, but for where the command line stored the objects.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loaded(py, &self.json)
    }
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.nodes.bind(py).len()
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (whole, objects) = (self.objects.bind(py).len(), self.__len__(py)?);
        let kbps = self.goodput_kbps;
        Ok(format!(
            "<thalweg.Gathered: {whole} of {objects} objects, {kbps:.2} kbit/s>"
        ))
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.nodes.call_method0(py, "_repr_html_")
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let parts = (
            self.nodes.clone_ref(py),
            self.rates.clone_ref(py),
            self.objects.clone_ref(py),
            self.frames.as_ref().map(|frames| frames.clone_ref(py)),
            self.json.clone(),
        );
        Ok((again(py, "gathered_again")?, parts))
    }
}

/// What makes it again.
type Parts = (Py<Table>, Py<Table>, Py<PyDict>, Option<Py<Table>>, String);

/// What became of objects, by its JSON and what is too large for that; made again where it was pickled.
#[pyfunction]
#[pyo3(signature = (nodes, rates, objects, frames, json))]
pub(crate) fn gathered_again(
    nodes: Py<Table>,
    rates: Py<Table>,
    objects: Py<PyDict>,
    frames: Option<Py<Table>>,
    json: String,
) -> PyResult<Gathered> {
    let Together {
        seed,
        duration_s,
        goodput_kbps,
    } = json::said(&json)?;
    Ok(Gathered {
        nodes,
        rates,
        objects,
        frames,
        seed,
        duration_s,
        goodput_kbps,
        json,
    })
}

/// A row for each object.
fn nodes(report: &GatherReport) -> PyResult<Table> {
    let each = || report.nodes.iter().map(|node| &node.outcome);
    let whole = |n: u64| i64::try_from(n).ok();
    Columns::default()
        .whole(
            "source",
            each().map(|o| whole(o.summary.source.get().into())),
        )
        .flags("verified", each().map(|o| Some(o.summary.verified)))
        .texts("failure", each().map(|o| o.summary.failure.as_ref()))
        .whole("bytes", each().map(|o| whole(o.summary.bytes)))
        .whole("packets", each().map(|o| whole(o.details.packets)))
        .whole("hops", each().map(|o| whole(o.summary.hops.into())))
        .numbers(
            "packets_per_s",
            each().map(|o| Some(o.details.packets_per_s)),
        )
        .numbers("goodput_kbps", each().map(|o| Some(o.summary.goodput_kbps)))
        .numbers("rate", each().map(|o| Some(o.details.rate)))
        .numbers(
            "repaired_share",
            each().map(|o| Some(o.details.repaired_share)),
        )
        .whole(
            "feedbacks",
            each().map(|o| whole(o.details.feedbacks.into())),
        )
        .numbers("duration_s", each().map(|o| Some(o.summary.duration_s)))
        .table()
}

/// Each rate that the base station set: for which node, since when, and how much.
fn rates(report: &GatherReport) -> PyResult<Table> {
    let of = |node: &thalweg_simnet::gather::Node| {
        let source = i64::from(node.outcome.summary.source.get());
        let rates = node.outcome.details.rates.clone();
        rates
            .into_iter()
            .map(move |(at_s, rate)| (source, at_s, rate))
    };
    let rates: Vec<_> = report.nodes.iter().flat_map(of).collect();
    Columns::default()
        .whole("source", rates.iter().map(|row| Some(row.0)))
        .numbers("since_s", rates.iter().map(|row| Some(row.1)))
        .numbers("packets_per_s", rates.iter().map(|row| Some(row.2)))
        .table()
}

/// Collects objects of many nodes at once.
#[pyfunction]
pub(crate) fn gather(
    py: Python<'_>,
    site: &Testbed,
    arguments: Bound<'_, PyDict>,
) -> PyResult<Gathered> {
    let ask = Ask::new(arguments);
    let network = asked(Network::of(site.testbed.clone()), &ask)?;
    network.check_options().map_err(raised)?;
    let of = gathering(&ask, &network)?;
    network.check_gathering(&of).map_err(raised)?;
    let log = ask.is("frames")?.then(Log::default);
    let kept = log.clone();
    let report = attend(py, ask.any("progress")?, move |desk| {
        let capture = kept.map(|log| Box::new(log) as Box<dyn Capture>);
        network.gather(&of, capture, &mut |progress| match progress {
            GatherProgress::Routes { found, of } => {
                desk.tell("finding routes", found as u64, of as u64)
            }
            GatherProgress::Packets(so_far) => desk.tell("bytes", so_far.bytes, so_far.of),
        })
    })?;
    let frames = log.map(|log| Py::new(py, log.table(&site.testbed)?));
    let whole = report.nodes.iter();
    let whole = whole.map(|n| (n.outcome.summary.source.get(), n.object.as_deref()));
    gathered_again(
        Py::new(py, nodes(&report)?)?,
        Py::new(py, rates(&report)?)?,
        objects(py, whole)?,
        frames.transpose()?,
        json::text(&report)?,
    )
}

/// What `ask` has of it; what it has not is as for the command line.
fn gathering(ask: &Ask<'_>, network: &Network) -> PyResult<Gathering> {
    let alike = Gathering::default();
    let scenario: Option<String> = ask.get("scenario", "the text of a scenario, as TOML")?;
    let scenario = scenario.map(|text| {
        let parsed = Scenario::parse(&text);
        parsed.map_err(|why| input("scenario", &format!("scenario: {why}")))
    });
    Ok(Gathering {
        sources: ask.nodes("sources", network.testbed())?,
        policy: ask
            .get("policy", "the name of a policy")?
            .unwrap_or(alike.policy),
        demand: ask
            .get("demand", "packets per second")?
            .unwrap_or(alike.demand),
        scenario: scenario.transpose()?.unwrap_or(alike.scenario),
    })
}
