//! Devices for Home Assistant: the base station of a network, and each of its nodes behind it.
//!
//! Names of fields, classes and units are those that it publishes (MQTT device discovery, sensor, binary sensor, button).
//! Buttons are announced only where the configuration allows them. Tests: `home_tests.rs`.

use serde_json::{json, Value};
use thalweg_units::NodeId;

use super::messages::written;
use super::topics::Topics;
use thalweg_host::connector::Facts;
use thalweg_host::store::{Message, Retention};

/// Whether devices have buttons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buttons {
    /// Nothing that a broker sends is acted upon.
    Off,
    /// They ask for jobs.
    On,
}

/// A device, before it is announced.
struct Device<'a> {
    topics: &'a Topics,
    facts: &'a Facts,
    /// What it is called among all devices.
    name: String,
}

impl Device<'_> {
    /// A component of the device.
    fn component(&self, platform: &str, key: &str, name: &str) -> Value {
        json!({
            "platform": platform,
            "unique_id": format!("{}_{key}", self.name),
            "name": name,
        })
    }
    /// A measured value, with its class and its unit.
    fn sensor(
        &self,
        key: &str,
        name: &str,
        (class, unit): (&str, Option<&str>),
        value: &str,
    ) -> Value {
        let mut sensor = self.component("sensor", key, name);
        sensor["device_class"] = class.into();
        sensor["value_template"] = format!("{{{{ {value} }}}}").into();
        if let Some(unit) = unit {
            sensor["unit_of_measurement"] = unit.into();
            sensor["state_class"] = match class {
                // It begins again at midnight.
                "energy" => "total_increasing",
                _ => "measurement",
            }
            .into();
        }
        sensor
    }
    fn button(&self, key: &str, name: &str, topic: String) -> Value {
        let mut button = self.component("button", key, name);
        button["command_topic"] = topic.into();
        button
    }
    /// Announces it with these `components`, which read `state`.
    fn announce(
        &self,
        name: &str,
        via: Option<String>,
        (state, status): (String, &str),
        components: Value,
    ) -> Message {
        let mut device = json!({
            "identifiers": [self.name],
            "name": format!("{} {name}", self.facts.network.place.name),
            "manufacturer": "Thalweg",
        });
        if let Some(via) = via {
            device["via_device"] = via.into();
        }
        let config = json!({
            "device": device,
            "origin": { "name": "thalweg", "sw_version": env!("CARGO_PKG_VERSION") },
            "components": components,
            "state_topic": state,
            "availability_topic": status,
            "qos": 1,
        });
        Message {
            topic: Topics::discovery(&self.name),
            payload: written(&config),
            keep: Retention::Newest,
        }
    }
}

/// Announces the base station: whether its line is up, and a button that measures links.
pub(crate) fn base_station(
    (topics, facts): (&Topics, &Facts),
    status: &str,
    buttons: Buttons,
) -> Message {
    let device = Device {
        topics,
        facts,
        name: topics.gateway(),
    };
    let mut line = device.component("binary_sensor", "line", "Line");
    line["device_class"] = "connectivity".into();
    line["value_template"] = "{{ 'ON' if value_json.line == 'up' else 'OFF' }}".into();
    let mut components = json!({ "line": line });
    if buttons == Buttons::On {
        components["measure"] = device.button("measure", "Measure links", topics.measure());
    }
    let state = device.topics.under("line");
    device.announce("base station", None, (state, status), components)
}

/// Announces `node`: when it was heard, its battery, energy and last object, and a button that fetches the next.
pub(crate) fn node(
    (topics, facts): (&Topics, &Facts),
    node: NodeId,
    status: &str,
    buttons: Buttons,
) -> Message {
    let device = Device {
        topics,
        facts,
        name: topics.device(node),
    };
    let of_last = |key: &str| format!("(value_json.last_object or {{}}).{key} | default(None)");
    let watt_hours =
        "(value_json.energy_today_j / 3600) if value_json.energy_today_j is number else None";
    let mut components = json!({
        "seen": device.sensor("seen", "Last seen", ("timestamp", None), "value_json.seen_at"),
        "battery": device.sensor("battery", "Battery", ("voltage", Some("V")), "value_json.battery_v"),
        "energy": device.sensor("energy", "Energy today", ("energy", Some("Wh")), watt_hours),
        "stored": device.sensor("stored", "Last object stored", ("timestamp", None), &of_last("stored_at")),
        "bytes": device.sensor("bytes", "Last object", ("data_size", Some("B")), &of_last("bytes")),
        "goodput": device.sensor("goodput", "Goodput", ("data_rate", Some("kbit/s")), &of_last("goodput_kbps")),
    });
    if buttons == Buttons::On {
        components["fetch"] = device.button("fetch", "Fetch object", topics.fetch(node));
    }
    let name = format!("node {}", facts.network.place.named(node));
    let state = device.topics.node(node);
    device.announce(&name, Some(topics.gateway()), (state, status), components)
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
