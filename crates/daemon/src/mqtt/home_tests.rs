//! Tests of `home.rs`, against the field names that Home Assistant publishes: of a device's discovery
//! (`DEVICE_DISCOVERY_SCHEMA` of its MQTT integration) and of its pages on MQTT sensors, binary sensors and buttons.

use super::*;
use thalweg_simnet::networks::Simulated;
use thalweg_testbeds::{Site, Testbed};

const DISCOVERY: &[&str] = &[
    "device",
    "origin",
    "components",
    "state_topic",
    "command_topic",
    "availability",
    "availability_mode",
    "availability_template",
    "availability_topic",
    "payload_available",
    "payload_not_available",
    "qos",
    "encoding",
];
const DEVICE: &[&str] = &[
    "identifiers",
    "connections",
    "manufacturer",
    "model",
    "name",
    "hw_version",
    "serial_number",
    "sw_version",
    "via_device",
    "suggested_area",
    "configuration_url",
];
const ORIGIN: &[&str] = &["name", "sw_version", "support_url"];
const COMMON: &[&str] = &[
    "platform",
    "unique_id",
    "name",
    "device_class",
    "entity_category",
    "icon",
    "enabled_by_default",
];
const SENSOR: &[&str] = &[
    "state_topic",
    "value_template",
    "unit_of_measurement",
    "state_class",
    "expire_after",
    "force_update",
    "suggested_display_precision",
    "last_reset_value_template",
    "options",
];
const BINARY_SENSOR: &[&str] = &[
    "state_topic",
    "value_template",
    "payload_on",
    "payload_off",
    "off_delay",
    "expire_after",
    "force_update",
];
const BUTTON: &[&str] = &[
    "command_topic",
    "command_template",
    "payload_press",
    "retain",
];
/// Classes of sensors with the units that we use of those that each takes.
const CLASSES: &[(&str, Option<&str>)] = &[
    ("timestamp", None),
    ("voltage", Some("V")),
    ("energy", Some("Wh")),
    ("data_size", Some("B")),
    ("data_rate", Some("kbit/s")),
];

fn has_only(value: &Value, names: &[&[&str]]) {
    for key in value.as_object().unwrap().keys() {
        assert!(
            names.iter().any(|names| names.contains(&key.as_str())),
            "{key} in {value}"
        );
    }
}

fn announced(buttons: Buttons) -> [Value; 2] {
    use thalweg_host::connector::Connector;
    let site = Site::new(Testbed::load("pair").unwrap(), 1);
    let facts = Simulated::new(site, 1.0, 100).unwrap().facts();
    let topics = Topics::new("thalweg", "pair");
    let of = (&topics, &facts);
    let source = facts.sources().next().unwrap();
    [
        base_station(of, "thalweg/status", buttons),
        node(of, source, "thalweg/status", buttons),
    ]
    .map(|message| serde_json::from_str(&message.payload).unwrap())
}

#[test]
fn every_field_is_one_that_is_published() {
    for config in announced(Buttons::On) {
        has_only(&config, &[DISCOVERY]);
        has_only(&config["device"], &[DEVICE]);
        has_only(&config["origin"], &[ORIGIN]);
        assert!(config["origin"]["name"].is_string() && config["device"]["identifiers"].is_array());
        for component in config["components"].as_object().unwrap().values() {
            let own = match component["platform"].as_str().unwrap() {
                "sensor" => SENSOR,
                "binary_sensor" => BINARY_SENSOR,
                "button" => BUTTON,
                other => panic!("{other}"),
            };
            has_only(component, &[COMMON, own]);
            assert!(component["unique_id"].is_string());
            let unit = component["unit_of_measurement"].as_str();
            if component["platform"] == "sensor" {
                let class = component["device_class"].as_str().unwrap();
                assert!(CLASSES.contains(&(class, unit)), "{class} in {unit:?}");
                assert_eq!(component["state_class"].is_string(), unit.is_some());
            }
        }
    }
}

#[test]
fn nodes_are_behind_their_base_station_and_buttons_are_asked_for() {
    let [station, node] = announced(Buttons::On);
    assert_eq!(
        node["device"]["via_device"],
        station["device"]["identifiers"][0]
    );
    assert_eq!(
        station["components"]["measure"]["command_topic"],
        "thalweg/pair/measure"
    );
    let fetch = node["components"]["fetch"]["command_topic"]
        .as_str()
        .unwrap();
    assert!(
        fetch.starts_with("thalweg/pair/nodes/") && fetch.ends_with("/fetch"),
        "{fetch}"
    );
    for config in announced(Buttons::Off) {
        let components = config["components"].as_object().unwrap();
        assert!(components
            .values()
            .all(|component| component["platform"] != "button"));
    }
}
