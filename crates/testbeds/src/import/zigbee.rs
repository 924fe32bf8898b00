//! Network maps of zigbee2mqtt (`bridge/response/networkmap`, types raw, graphviz and plantuml): a link from `source` to
//! `target` with the LQI with which `target` hears `source`. An LQI of 0 is no reading. End devices tell of no neighbours,
//! so both directions get the reading of the one that the map has. The coordinator is numbered first.
//! What drawings look like: `lib/extension/networkMap.ts`. Tests: `tests.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{level, Found};
use crate::assumed::Assumed;
use crate::error::Problem;
use crate::lqi;

/// What a map says, however it is written.
#[derive(Default)]
struct Map<'a> {
    coordinator: Option<&'a str>,
    /// The devices' friendly names by address.
    names: BTreeMap<&'a str, &'a str>,
    /// Source, target and LQI.
    links: Vec<(&'a str, &'a str, Option<f64>)>,
}

/// Reads a map in JSON.
pub(super) fn read(file: &Value) -> Result<Found, Problem> {
    // As published, as stored by Home Assistant, and bare.
    let places = ["/data/value", "/value", "/data", ""];
    let values = || places.iter().filter_map(|place| file.pointer(place));
    let raw = values().find_map(|map| Some((map, map.get("links")?.as_array()?)));
    match (raw, values().find_map(Value::as_str)) {
        (Some((map, links)), _) => found(&raw_map(map, links)?),
        (None, Some(drawing)) => read_drawing(drawing),
        (None, None) => {
            let what = "a zigbee2mqtt network map of another type; expected a raw map with `nodes` and `links`";
            Err(Problem::Foreign(what.to_owned()))
        }
    }
}

/// Reads a map that is drawn for Graphviz or PlantUML.
pub(super) fn read_drawing(text: &str) -> Result<Found, Problem> {
    let map = drawn_map(text);
    if map.links.is_empty() {
        let what = "a drawing without links of LQI; expected a network map of zigbee2mqtt, at best of type raw";
        return Err(Problem::Foreign(what.to_owned()));
    }
    found(&map)
}

fn found(map: &Map<'_>) -> Result<Found, Problem> {
    let mut found = Found::new();
    let named = |address| map.names.get(address).copied().unwrap_or(address);
    if let Some(address) = map.coordinator {
        found.names.index(named(address))?;
    }
    let mut unknown = 0;
    for (at, (from, to, lqi)) in map.links.iter().enumerate() {
        let (from, to) = (named(*from), named(*to));
        match lqi {
            None | Some(0.0) => {
                // They are there all the same.
                found.names.index(from)?;
                found.names.index(to)?;
                unknown += 1;
            }
            Some(lqi) if lqi::is_one(*lqi) => found.add(from, to, level(lqi::level_dbm(*lqi)))?,
            Some(lqi) => {
                let place = format!("links[{at}].lqi");
                return Err(Problem::value(&place, &lqi.to_string(), lqi::EXPECTED));
            }
        }
    }
    found.assumed.push(Assumed::LevelsByLqi);
    found
        .assumed
        .extend((unknown > 0).then_some(Assumed::NoLqi(unknown)));
    found.assumed.extend(found.draft.mirror());
    Ok(found)
}

fn raw_map<'a>(map: &'a Value, links: &'a [Value]) -> Result<Map<'a>, Problem> {
    let mut raw = Map {
        coordinator: coordinator(map),
        names: names(map),
        links: Vec::with_capacity(links.len()),
    };
    for (at, link) in links.iter().enumerate() {
        let end = |side: &str, flat: &str| {
            let address = link.get(side).and_then(|end| end.get("ieeeAddr"));
            let address = address.or_else(|| link.get(flat)).and_then(Value::as_str);
            let missing = || {
                let place = format!("links[{at}].{side}");
                Problem::value(&place, "missing", "an object with `ieeeAddr`")
            };
            address.ok_or_else(missing)
        };
        let ends = (
            end("source", "sourceIeeeAddr")?,
            end("target", "targetIeeeAddr")?,
        );
        let value = ["linkquality", "lqi"].iter().find_map(|key| link.get(key));
        let lqi = match value {
            None | Some(Value::Null) => None,
            Some(value) => Some(value.as_f64().ok_or_else(|| {
                let place = format!("links[{at}].lqi");
                Problem::value(&place, &value.to_string(), lqi::EXPECTED)
            })?),
        };
        raw.links.push((ends.0, ends.1, lqi));
    }
    Ok(raw)
}

/// The address of the node that the gateway's computer has.
fn coordinator(map: &Value) -> Option<&str> {
    let nodes = map.get("nodes")?.as_array()?;
    let node = nodes
        .iter()
        .find(|node| node.get("type").and_then(Value::as_str) == Some("Coordinator"))?;
    node.get("ieeeAddr")?.as_str()
}

/// The devices' friendly names by address.
fn names(map: &Value) -> BTreeMap<&str, &str> {
    let nodes = map.get("nodes").and_then(Value::as_array);
    nodes
        .into_iter()
        .flatten()
        .filter_map(|node| {
            let address = node.get("ieeeAddr")?.as_str()?;
            Some((address, node.get("friendlyName")?.as_str()?))
        })
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// What a drawing says: `"0x..." [... label="{name|..."]` or `card 0x... [` before the name is a device, and
/// `"0x..." -> "0x..." [... label="92"]` or `0x... --> 0x...: 92` a link. Other lines are decoration.
fn drawn_map(text: &str) -> Map<'_> {
    let mut map = Map::default();
    let mut card = None;
    for line in text.lines().map(str::trim) {
        let label = line.split_once("label=\"").map(|(_, label)| label);
        if let Some(address) = card.take() {
            map.names.insert(address, line);
            // Unless it was renamed, its name says what it is.
            if line == "Coordinator" {
                map.coordinator = Some(address);
            }
        } else if let Some((from, rest)) = line.split_once(" -> ") {
            let to = rest.split([' ', '[']).next().unwrap_or_default();
            let ends = (from.trim_matches('"'), to.trim_matches('"'));
            map.links.extend(label.and_then(|label| link(ends, label)));
        } else if let Some((from, rest)) = line.split_once(" --> ") {
            let (to, label) = rest.split_once(':').unwrap_or((rest, ""));
            map.links.extend(link((from, to.trim()), label.trim()));
        } else if let Some(address) = line.strip_prefix("card ") {
            card = Some(address.trim_end_matches(['[', ' ']));
        } else if let (Some(address), Some(label)) = (line.split('"').nth(1), label) {
            let mut parts = label.trim_start_matches('{').split(['|', '"', '}']);
            let name = parts.next().unwrap_or_default();
            if line.starts_with('"') && !name.is_empty() {
                map.names.insert(address, name);
            }
            if name == "Coordinator" || label.contains("(0x0000)") {
                map.coordinator = Some(address);
            }
        }
    }
    map
}

/// A link that is labelled with its LQI, which routes may follow.
fn link<'a>(
    (from, to): (&'a str, &'a str),
    label: &str,
) -> Option<(&'a str, &'a str, Option<f64>)> {
    let digits = label.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((from, to, Some(digits.parse().ok()?)))
}
