//! Plans: who relays where, on which channels, and what to expect. Tests: `tests/test_network.py`.

use crate::ask::Ask;
use crate::attend::attend;
use crate::errors::raised;
use crate::json;
use crate::network::{asked, told};
use crate::table::{Columns, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use thalweg::Network;
use thalweg_host::link_state::{LinkState, PlanSummary};
use thalweg_lab::plots;
use thalweg_units::NodeId;

/// A plan: who relays where, on which channels, and what to expect.
#[pyclass(frozen, module = "thalweg")]
pub(crate) struct Plan {
    network: Network,
    links: LinkState,
    plan: Arc<thalweg_planner::Plan>,
    summary: PlanSummary,
    asked: Asked,
}

/// What a plan was asked for by: it is made again by the same.
struct Asked {
    site: Testbed,
    arguments: Py<PyDict>,
    over: Option<Over>,
}

/// Paths, lists of nodes by number, and the channels that were named.
type Over = (Vec<Vec<u16>>, Option<Vec<u16>>);

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
    /// The same over other paths: lists of nodes from the source to the base station, by number or label. Without
    /// `channels` they are chosen as for any plan.
    #[pyo3(signature = (paths, *, channels = None))]
    fn over(
        &self,
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        channels: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let arguments = PyDict::new(py);
        arguments.set_item("paths", paths)?;
        arguments.set_item("channels", channels)?;
        let ask = Ask::new(arguments);
        let network = match ask.channels("channels")? {
            Some(channels) => self.network.clone().channels(Some(channels)),
            None => self.network.clone(),
        };
        let paths = ask.node_lists("paths", network.testbed())?;
        let (plan, summary) = network.plan_over(&self.links, &paths).map_err(raised)?;
        let channels = ask.channels("channels")?;
        let channels = channels.map(|list| list.iter().map(|on| on.number().into()).collect());
        let number = |path: &Vec<NodeId>| path.iter().map(|node| node.get()).collect();
        let over = (paths.iter().map(number).collect(), channels);
        Ok(Self {
            network,
            links: self.links.clone(),
            plan: Arc::new(plan),
            summary,
            asked: Asked {
                over: Some(over),
                ..self.asked.clone_ref(py)
            },
        })
    }
    /// The picture.
    fn svg(&self) -> String {
        plots::plan(&self.plan, self.links.links()).to_svg()
    }
    fn _repr_svg_(&self) -> String {
        self.svg()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let Asked {
            site,
            arguments,
            over,
        } = &self.asked;
        let again = py.import("thalweg._thalweg")?.getattr("plan_again")?;
        Ok((again, (site.clone(), arguments.clone_ref(py), over.clone())))
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

/// What pickles: a function, and what it takes.
type Reduced<'py> = (Bound<'py, PyAny>, (Testbed, Py<PyDict>, Option<Over>));

impl Plan {
    /// Where its paths begin and end, by the arguments that name them.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&'static str, NodeId)> {
        let ends = [("source", self.source()), ("sink", self.sink())].into_iter();
        ends.filter_map(|(name, node)| Some((name, NodeId::new(node).ok()?)))
    }
    /// The network that it is of, which goes by it.
    pub(crate) fn network(&self) -> Network {
        let source = NodeId::new(self.summary.source).ok();
        let network = self.network.clone().from(source);
        network.going_by(Some(self.plan.clone()))
    }
}

impl Asked {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            site: self.site.clone(),
            arguments: self.arguments.clone_ref(py),
            over: self.over.clone(),
        }
    }
}

/// Plans a transfer.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, site: &Testbed, arguments: Bound<'_, PyDict>) -> PyResult<Plan> {
    let kept = arguments.copy()?;
    let ask = Ask::new(arguments);
    let network = asked(Network::of(site.testbed.clone()), &ask)?;
    network.pipeline("protocol").map_err(raised)?;
    let its = network.clone();
    let (plan, summary, links) = attend(py, ask.any("progress")?, move |desk| {
        let links = its.links(&mut |label, progress| told(desk, label, progress, &mut 0))?;
        let (plan, summary) = its.plan(&links)?;
        Ok((plan, summary, links))
    })?;
    kept.set_item("progress", None::<bool>)?;
    let asked = Asked {
        site: site.clone(),
        arguments: kept.unbind(),
        over: None,
    };
    Ok(Plan {
        network,
        links,
        plan: Arc::new(plan),
        summary,
        asked,
    })
}

/// Makes again what was pickled.
#[pyfunction]
#[pyo3(signature = (site, arguments, over))]
pub(crate) fn plan_again(
    py: Python<'_>,
    site: &Testbed,
    arguments: Bound<'_, PyDict>,
    over: Option<Over>,
) -> PyResult<Plan> {
    let made = plan(py, site, arguments)?;
    let Some((paths, channels)) = over else {
        return Ok(made);
    };
    let channels = channels.map(|list| list.into_pyobject(py)).transpose()?;
    made.over(py, paths.into_pyobject(py)?.as_any(), channels)
}
