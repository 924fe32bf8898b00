//! Metrics in the text format of Prometheus (exposition format 0.0.4).

use std::fmt::Write as _;
use std::sync::Arc;

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::{App, Refusal};
use thalweg_units::NodeId;

use crate::limits::Health;
use crate::mqtt::Broker;
use crate::running::total;
use crate::station_state::{Line, StationState};
use crate::stations::Stations;
use thalweg_host::store::JobState;

/// A metric: its name, its kind, what it is, and its values with their labels.
type Metric = (&'static str, &'static str, &'static str, Vec<(String, f64)>);

/// Labels: the station's, where there are several, and `own`.
fn labels(station: &StationState, own: &[String]) -> String {
    let station = match station.is_only {
        true => None,
        false => Some(format!("station=\"{}\"", station.network())),
    };
    let all: Vec<String> = station.into_iter().chain(own.iter().cloned()).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", all.join(",")),
    }
}

/// A value of each station that has one.
fn each(stations: &Stations, value: impl Fn(&StationState) -> Option<f64>) -> Vec<(String, f64)> {
    let of = |station: &Arc<StationState>| Some((labels(station, &[]), value(station)?));
    stations.all().iter().filter_map(of).collect()
}

/// Jobs of each station, by state.
fn jobs(stations: &Stations) -> Result<Vec<(String, f64)>, Refusal> {
    let mut all = Vec::new();
    for station in stations.all() {
        let counts = station.store().count_jobs(station.network())?;
        let states = JobState::ALL.iter().zip(counts);
        let label = |state: &JobState| labels(station, &[format!("state=\"{}\"", state.name())]);
        all.extend(states.map(|(state, n)| (label(state), n as f64)));
    }
    Ok(all)
}

/// A node's labels, and how it is.
type NodeHealth = (String, Health);

/// How the nodes of all stations are.
fn healths(stations: &Stations) -> Result<Vec<NodeHealth>, Refusal> {
    let mut all = Vec::new();
    for station in stations.all() {
        let ids = &station.facts.network.place.ids;
        let label = |id: &NodeId| labels(station, &[format!("node=\"{id}\"")]);
        all.extend(ids.iter().map(label).zip(station.health()?));
    }
    Ok(all)
}

const fn gauge(name: &'static str, about: &'static str, values: Vec<(String, f64)>) -> Metric {
    (name, "gauge", about, values)
}
fn one(value: f64) -> Vec<(String, f64)> {
    vec![(String::new(), value)]
}
fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// Metrics of the daemon, of stations, jobs and objects.
fn of_stations(stations: &Stations) -> Result<[Metric; 10], Refusal> {
    let shared = stations.shared();
    let (objects, bytes) = shared.store().total()?;
    let disk = shared.disk_state();
    let free = disk.free_bytes.map_or(Vec::new(), |free| one(free as f64));
    let up = one(shared.begun.elapsed().as_secs_f64());
    let lines = each(stations, |s| Some(truth(s.line() == Line::Up)));
    let nodes = each(stations, |s| Some(s.facts.network.place.ids.len() as f64));
    let ages = each(stations, |s| Some(s.snapshot()?.age_s() as f64));
    let rate = |s: &StationState| total(s.running().iter().map(|job| job.rate_kbps * 125.0));
    let rates = each(stations, |s| Some(rate(s)));
    Ok([
        gauge("thalweg_up_seconds", "Since the daemon began.", up),
        gauge(
            "thalweg_line_up",
            "1 where the base station is within reach.",
            lines,
        ),
        gauge("thalweg_nodes", "Nodes of the network.", nodes),
        gauge(
            "thalweg_jobs",
            "Jobs that the store has, by state.",
            jobs(stations)?,
        ),
        gauge(
            "thalweg_objects",
            "Objects in the store.",
            one(objects as f64),
        ),
        gauge("thalweg_object_bytes", "Bytes of them.", one(bytes as f64)),
        gauge(
            "thalweg_store_free_bytes",
            "Free on the store's disk.",
            free,
        ),
        (
            "thalweg_store_errors_total",
            "counter",
            "Writes that the store refused since the daemon began.",
            one(disk.faults as f64),
        ),
        gauge(
            "thalweg_survey_age_seconds",
            "Since links were measured.",
            ages,
        ),
        gauge(
            "thalweg_transfer_bytes_per_second",
            "Goodput of the transfer that runs.",
            rates,
        ),
    ])
}

/// What jobs came to since the daemon began.
fn counters(stations: &Stations) -> [Metric; 5] {
    let counts = &stations.shared().counts;
    let counter = |name, about, count: &AtomicU64| -> Metric {
        (
            name,
            "counter",
            about,
            one(count.load(Ordering::Relaxed) as f64),
        )
    };
    [
        counter(
            "thalweg_objects_fetched_total",
            "Objects that transfers brought.",
            &counts.objects,
        ),
        counter(
            "thalweg_fetched_bytes_total",
            "Bytes of them.",
            &counts.bytes,
        ),
        counter(
            "thalweg_jobs_failed_total",
            "Jobs that failed.",
            &counts.failures,
        ),
        counter(
            "thalweg_transfer_retries_total",
            "Transfers that broke off and were tried again.",
            &counts.retries,
        ),
        counter(
            "thalweg_lines_lost_total",
            "How often a base station was lost.",
            &counts.lines_lost,
        ),
    ]
}

/// Metrics of nodes.
fn of_nodes(stations: &Stations) -> Result<[Metric; 3], Refusal> {
    let all = healths(stations)?;
    let each = |value: fn(&Health) -> Option<f64>| {
        let of = |(label, health): &NodeHealth| Some((label.clone(), value(health)?));
        all.iter().filter_map(of).collect()
    };
    let energy = "What nodes have spent since midnight, UTC, or at most where no meter is read.";
    Ok([
        gauge(
            "thalweg_node_battery_volts",
            "Batteries of nodes, as they told last.",
            each(|node| Some(node.battery?.0.volts())),
        ),
        gauge(
            "thalweg_node_energy_today_joules",
            energy,
            each(|node| node.spent_j),
        ),
        gauge(
            "thalweg_node_left_alone",
            "1 of nodes that limits leave alone.",
            each(|node| node.left_alone.map(|_| 1.0)),
        ),
    ])
}

/// Metrics of event streams and of the broker.
fn of_watchers(stations: &Stations) -> Result<[Metric; 3], Refusal> {
    let shared = stations.shared();
    let waiting = shared.store().count_waiting()? as f64;
    let broker = shared.mqtt.as_ref().map(|mqtt| mqtt.broker());
    let connected = |broker: &Broker| one(truth(*broker == Broker::Connected));
    let connected = broker.as_ref().map_or(Vec::new(), connected);
    let waiting = broker.map_or(Vec::new(), |_| one(waiting));
    let about = "Messages that the broker has not acknowledged.";
    Ok([
        gauge(
            "thalweg_watchers",
            "Open event streams.",
            one(shared.watchers() as f64),
        ),
        gauge(
            "thalweg_mqtt_connected",
            "1 where the MQTT broker takes messages.",
            connected,
        ),
        gauge("thalweg_mqtt_waiting", about, waiting),
    ])
}

pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Refusal> {
    let text = app.with_stations(|stations| {
        let all = of_stations(stations)?
            .into_iter()
            .chain(counters(stations))
            .chain(of_nodes(stations)?);
        let mut text = String::new();
        for (name, kind, about, values) in all.chain(of_watchers(stations)?) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        }
        Ok(text)
    });
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    Ok((kind, text.await?).into_response())
}
