//! Metrics in the text format of Prometheus (exposition format 0.0.4).

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::{App, Refusal};
use crate::limits::Health;
use crate::mqtt::Broker;
use crate::station_state::{now, Line, StationState};
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

/// A value of each node of each station that has one.
fn each_node(
    stations: &Stations,
    value: impl Fn(&Health) -> Option<f64>,
) -> Result<Vec<(String, f64)>, Refusal> {
    let mut all = Vec::new();
    for station in stations.all() {
        for (id, health) in station
            .facts
            .network
            .place
            .ids
            .iter()
            .zip(station.health()?)
        {
            let label = || labels(station, &[format!("node=\"{id}\"")]);
            all.extend(value(&health).map(|value| (label(), value)));
        }
    }
    Ok(all)
}

pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Refusal> {
    let text = app.with_stations(|stations| {
        let (objects, bytes) = stations.shared().store().total()?;
        let one = |value: f64| vec![(String::new(), value)];
        let mqtt = stations.shared().mqtt.as_ref().map(|mqtt| mqtt.broker());
        let waiting = stations.shared().store().count_waiting()?;
        let all: [Metric; 14] = [
            (
                "thalweg_up_seconds",
                "counter",
                "Since the daemon began.",
                one(stations.shared().begun.elapsed().as_secs_f64()),
            ),
            (
                "thalweg_line_up",
                "gauge",
                "1 where the base station is within reach.",
                each(stations, |station| {
                    Some(f64::from(u8::from(station.line() == Line::Up)))
                }),
            ),
            (
                "thalweg_nodes",
                "gauge",
                "Nodes of the network.",
                each(stations, |station| {
                    Some(station.facts.network.place.ids.len() as f64)
                }),
            ),
            (
                "thalweg_jobs",
                "gauge",
                "Jobs that the store has, by state.",
                jobs(stations)?,
            ),
            (
                "thalweg_objects",
                "gauge",
                "Objects in the store.",
                one(objects as f64),
            ),
            (
                "thalweg_object_bytes",
                "gauge",
                "Bytes of them.",
                one(bytes as f64),
            ),
            (
                "thalweg_survey_age_seconds",
                "gauge",
                "Since links were measured.",
                each(stations, |station| {
                    Some((now() - station.snapshot()?.at) as f64)
                }),
            ),
            (
                "thalweg_transfer_kbps",
                "gauge",
                "Goodput of the transfer that runs.",
                each(stations, |station| {
                    Some(station.running().map_or(0.0, |running| running.rate_kbps))
                }),
            ),
            (
                "thalweg_node_battery_volts",
                "gauge",
                "Batteries of nodes, as they told last.",
                each_node(stations, |node| {
                    node.battery.map(|(level, _)| level.volts())
                })?,
            ),
            (
                "thalweg_node_energy_today_joules",
                "gauge",
                "What nodes have spent since midnight, UTC, or at most where no meter is read.",
                each_node(stations, |node| node.spent_j)?,
            ),
            (
                "thalweg_node_left_alone",
                "gauge",
                "1 of nodes that limits leave alone.",
                each_node(stations, |node| node.left_alone.map(|_| 1.0))?,
            ),
            (
                "thalweg_watchers",
                "gauge",
                "Open event streams.",
                one(stations.shared().watchers() as f64),
            ),
            (
                "thalweg_mqtt_connected",
                "gauge",
                "1 where the MQTT broker takes messages.",
                mqtt.as_ref().map_or(Vec::new(), |broker| {
                    one(f64::from(u8::from(*broker == Broker::Connected)))
                }),
            ),
            (
                "thalweg_mqtt_waiting",
                "gauge",
                "Messages that the broker has not acknowledged.",
                mqtt.map_or(Vec::new(), |_| one(waiting as f64)),
            ),
        ];
        let mut text = String::new();
        for (name, kind, about, values) in all {
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
