//! Network maps of zigbee2mqtt (`bridge/response/networkmap`, type raw): a link from `source` to `target` with the LQI
//! with which `target` hears `source`. End devices tell of no neighbours, so the other direction is taken to be like the
//! one that is told. The coordinator is numbered first. Tests: `tests.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{level, Found};
use crate::assumed::Assumed;
use crate::error::Problem;
use crate::lqi;

const EXPECTED: &str = "a raw map with `nodes` and `links`";

pub(super) fn read(file: &Value) -> Result<Found, Problem> {
    // As published, as stored by Home Assistant, and bare.
    let map = ["/data/value", "/value", "/data", ""]
        .iter()
        .find_map(|place| {
            let map = file.pointer(place)?;
            map.get("links")?.as_array().map(|links| (map, links))
        });
    let Some((map, links)) = map else {
        let what = format!("a zigbee2mqtt network map of another type; expected {EXPECTED}");
        return Err(Problem::Foreign(what));
    };
    let mut found = Found::new();
    let names = names(map);
    let named = |address| names.get(address).copied().unwrap_or(address);
    if let Some(address) = coordinator(map) {
        found.names.index(named(address))?;
    }
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
        let (from, to) = (
            end("source", "sourceIeeeAddr")?,
            end("target", "targetIeeeAddr")?,
        );
        let lqi = ["linkquality", "lqi"]
            .iter()
            .find_map(|key| link.get(key)?.as_f64());
        let lqi = lqi.filter(|lqi| lqi::is_one(*lqi)).ok_or_else(|| {
            let place = format!("links[{at}].lqi");
            let found = link.get("lqi").unwrap_or(&Value::Null).to_string();
            Problem::value(&place, &found, lqi::EXPECTED)
        })?;
        found.add(named(from), named(to), level(lqi::level_dbm(lqi)))?;
    }
    found.assumed.push(Assumed::LevelsByLqi);
    found.assumed.extend(found.draft.mirror());
    Ok(found)
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
