//! Metrics in the text format of Prometheus (exposition format 0.0.4).

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::{App, Refusal};
use crate::daemon::desk::{now, Line};
use crate::daemon::mqtt::Broker;
use crate::store::JobState;

/// A metric: its name, its kind, what it is, and its values with their labels.
type Metric = (&'static str, &'static str, &'static str, Vec<(String, f64)>);

pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Refusal> {
    let text = app.ask(|desk| {
        let mqtt = desk.mqtt.as_ref().map(|mqtt| mqtt.broker());
        let (counts, (objects, bytes), waiting) = {
            let store = desk.store();
            let counts = store.count_jobs(desk.network())?;
            (counts, store.total()?, store.count_waiting()?)
        };
        let states = JobState::ALL.iter().zip(counts);
        let states = states.map(|(state, n)| (format!("{{state=\"{}\"}}", state.name()), n as f64));
        let one = |value: f64| vec![(String::new(), value)];
        let running = desk.running();
        let surveyed = desk.surveyed();
        let age = surveyed.map(|surveyed| (now() - surveyed.at) as f64);
        let all: [Metric; 11] = [
            (
                "thalweg_up_seconds",
                "counter",
                "Since the daemon began.",
                one(desk.begun.elapsed().as_secs_f64()),
            ),
            (
                "thalweg_line_up",
                "gauge",
                "1 where the base station is within reach.",
                one(f64::from(u8::from(desk.line() == Line::Up))),
            ),
            (
                "thalweg_nodes",
                "gauge",
                "Nodes of the network.",
                one(desk.facts.place.ids.len() as f64),
            ),
            (
                "thalweg_jobs",
                "gauge",
                "Jobs that the store has, by state.",
                states.collect(),
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
                age.map_or(Vec::new(), one),
            ),
            (
                "thalweg_transfer_kbps",
                "gauge",
                "Goodput of the transfer that runs.",
                one(running.map_or(0.0, |running| running.rate_kbps)),
            ),
            (
                "thalweg_watchers",
                "gauge",
                "Open event streams.",
                one(desk.watchers() as f64),
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
