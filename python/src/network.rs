//! The request to a network, and its links as it measures them. Tests: `tests/test_network.py`.

use crate::ask::{unfit, Ask};
use crate::attend::{attend, Desk};
use crate::errors::{bug, raised};
use crate::json;
use crate::table::{again, table_again, Columns, Sent, Table};
use crate::testbed::Testbed;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZeroU8;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg::{Network, Object, Progress, Surveyed};
use thalweg_host::link_state::LinkState;

/// `network` with what `ask` has of a request; what it has not stays.
pub(crate) fn asked(network: Network, ask: &Ask<'_>) -> PyResult<Network> {
    const FEW: &str = "a whole number from 1 to 255";
    let testbed = network.testbed().clone();
    let network = given(network, ask.seed("seed")?, |n, seed| n.seed(seed));
    let network = given(network, ask.node("source", &testbed)?, |n, node| {
        n.from(Some(node))
    });
    let network = given(network, ask.node("sink", &testbed)?, |n, node| {
        n.to(Some(node))
    });
    let network = given(network, ask.channels("channels")?, |n, list| {
        n.channels(Some(list))
    });
    let payload = ask.get("payload", "a whole number from 1 to 118")?;
    let network = given(network, payload, |n, bytes| n.payload(Some(bytes)));
    let few = |name| ask.get::<NonZeroU8>(name, FEW);
    let network = given(network, few("paths")?, |n, most| n.paths(Some(most.get())));
    let network = given(network, few("hops")?, |n, hops| n.hops(Some(hops.get())));
    let network = given(network, ask.seconds("age_s")?, |n, age| n.age(Some(age)));
    let network = given(network, ask.seconds("idle_s")?, |n, idle| {
        n.idle(Some(idle))
    });
    let network = given(network, ask.seconds("patience_s")?, |n, time| {
        n.patience(Some(time))
    });
    let network = given(network, ask.seconds("at_s")?, |n, at| n.at(Some(at)));
    let network = given(network, object(ask)?, Network::object).losses(ask.losses()?);
    let protocol: Option<String> = ask.get("protocol", "the name of a protocol")?;
    let network = match protocol {
        Some(name) => network.protocol(&name).map_err(raised)?,
        None => network,
    };
    let control = ask.channel("control_channel")?;
    network.control_channel(control).map_err(raised)
}

fn given<T>(
    network: Network,
    value: Option<T>,
    with: impl FnOnce(Network, T) -> Network,
) -> Network {
    match value {
        Some(value) => with(network, value),
        None => network,
    }
}

/// The object of the source: bytes, or so many random ones.
fn object(ask: &Ask<'_>) -> PyResult<Option<Object>> {
    let Some(value) = ask.any("object")? else {
        return Ok(None);
    };
    if let Ok(bytes) = value.extract::<Vec<u8>>() {
        return Ok(Some(Object::Bytes(Arc::from(bytes))));
    }
    let unfit = |_| unfit("object", "bytes, or how many random ones", &value);
    let bytes = value.extract::<u32>().map_err(unfit)?;
    Ok(Some(Object::Random { bytes }))
}

/// Tells `desk` how far `label`, a protocol or a band, is.
pub(crate) fn told(
    desk: &Desk,
    label: &str,
    progress: Progress,
    packets: &mut u64,
) -> ControlFlow<()> {
    let (what, done, total) = match progress {
        Progress::Planned { packets: of, .. } => {
            *packets = u64::from(of);
            ("packets", 0, *packets)
        }
        Progress::Measuring { turn, of } => ("measuring links", u64::from(turn), u64::from(of)),
        Progress::Sweeping { of, .. } => ("measuring links", 0, u64::from(of)),
        Progress::Collecting { complete, of } => {
            ("collecting link tables", u64::from(complete), u64::from(of))
        }
        Progress::Packets { received, .. } => ("packets", u64::from(received), *packets),
        Progress::OutOfReach { waited, .. } => {
            let [waited, of] = [waited.0, waited.1].map(|time| time.as_secs_f64() as u64);
            ("out of reach, links are measured again", waited, of)
        }
        Progress::Silent { nodes, of } => {
            let heard = of.saturating_sub(nodes.len());
            ("nodes that answer", heard as u64, of as u64)
        }
        Progress::WakingUp | Progress::Of(..) | Progress::Wave { .. } => ("waking up", 0, *packets),
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
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let parts = (slf.as_super().get().sent(py)?, slf.get().cost.clone());
        Ok((again(py, "survey_again")?, parts))
    }
}

/// What pickles: a function, and what it takes.
type Reduced<'py> = (Bound<'py, PyAny>, (Vec<Sent<'py>>, String));

/// Makes again what was pickled.
#[pyfunction]
pub(crate) fn survey_again(
    py: Python<'_>,
    columns: Vec<Sent<'_>>,
    cost: String,
) -> PyResult<Py<Survey>> {
    let table = PyClassInitializer::from(table_again(columns)?);
    Py::new(py, table.add_subclass(Survey { cost }))
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
    let network = asked(Network::of(site.testbed.clone()), &ask)?;
    network.pipeline("protocol").map_err(raised)?;
    let surveyed = attend(py, ask.any("progress")?, move |desk| {
        network.survey(&mut |label, progress| told(desk, label, progress, &mut 0))
    })?;
    let Surveyed::Pipeline(surveyed, _) = &surveyed else {
        return Err(bug("a pipeline was surveyed as a stream"));
    };
    let cost = json::text(surveyed.cost())?;
    let survey = PyClassInitializer::from(table(surveyed.links())?).add_subclass(Survey { cost });
    Py::new(py, survey)
}
