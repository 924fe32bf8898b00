//! The page of a plan: the route on the map, stage by stage, and what is expected of it. Tests: below.

use maud::{html, Markup};
use serde_json::Value;

use super::fetched::likely;
use super::map::Route;
use super::route::{drawn, parsed};
use super::text::{count, rate, seconds};
use super::{fact, table};
use crate::station_state::StationState;
use thalweg_host::registry::Pipelined;
use thalweg_host::store::StoredJob;

pub(super) fn plan(station: Option<&StationState>, job: &StoredJob) -> Markup {
    let planned = parsed(job.outcome.as_ref());
    if planned.is_null() {
        return html! {};
    }
    let expected = parsed(job.expected.as_ref());
    let hoped = |key: &str| expected.get(key).and_then(Value::as_f64);
    let facts = [
        ("Goodput expected", hoped("goodput_kbps").map(rate)),
        ("Time", hoped("time_s").map(seconds)),
        ("Energy", hoped("energy_j").map(|j| format!("{j:.2} J"))),
        (
            "Rounds",
            hoped("rounds").map(|n| format!("about {}", likely(n))),
        ),
        (
            "Route",
            hoped("hops")
                .zip(hoped("paths"))
                .map(|(hops, paths)| format!("{}, {}", count(hops, "hop"), count(paths, "path"))),
        ),
        (
            "Packets",
            planned["packets"].as_u64().map(|n| n.to_string()),
        ),
        (
            "Carried by",
            planned["protocol"].as_str().map(str::to_owned),
        ),
    ];
    let route = station.and_then(|station| Route::stored(&planned, &station.facts));
    html! {
        dl { @for (name, value) in facts { @if let Some(value) = value { (fact(name, value)) } } }
        (drawn(station, route.as_ref()))
        (stages(&planned))
        (backups(&planned))
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn nodes(list_of: &Value) -> String {
    let nodes = list(list_of).iter().filter_map(Value::as_u64);
    let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
    match nodes.is_empty() {
        true => "\u{2013}".to_owned(),
        false => nodes.join(" "),
    }
}

/// Who relays where. A path hop by hop has one relay at each stage, and no backups.
fn stages(planned: &Value) -> Markup {
    let is_path = planned["protocol"].as_str() == Some(Pipelined::HOP_BY_HOP.name);
    let stages = list(&planned["stages"]).iter().enumerate();
    let backup = |key: &str, stage: usize| match stage.checked_sub(1) {
        Some(at) => nodes(&planned["backups"][key][at]),
        None => nodes(&Value::Null),
    };
    let rows = html! {
        @for (at, stage) in stages {
            tr {
                td { (at) } td { (stage["channel"].as_u64().unwrap_or(0)) } td { (nodes(&stage["odd"])) }
                @if !is_path {
                    td { (nodes(&stage["even"])) }
                    td { (backup("backup_relays", at)) } td { (backup("alternates", at)) }
                }
            }
        }
    };
    let (about, head): (_, &[&str]) = match is_path {
        true => (
            "From the source to the base station, hop by hop: each relay stores blocks of packets, and repeats what the \
             next one lost.",
            &["Stage", "Receives on channel", "Node"],
        ),
        false => (
            "From the source to the base station. Nodes of the two groups relay by turns.",
            &["Stage", "Receives on channel", "Odd group", "Even group", "Backup relays", "Alternate relays"],
        ),
    };
    html! { h2 { "Stages" } p.faint { (about) } (table("Stages", head, &rows)) }
}

fn backups(planned: &Value) -> Markup {
    let others = list(&planned["backups"]["others"]);
    let warnings = list(&planned["warnings"]).iter().filter_map(Value::as_str);
    html! {
        @if !others.is_empty() {
            h2 { "Where that fails, in turn" }
            ol {
                @for other in others {
                    li {
                        (count(other["hops"].as_u64().unwrap_or(0), "hop")) ", "
                        (count(list(&other["paths"]).len(), "path")) ", "
                        (format!("{:.0} kbit/s expected", other["goodput_kbps"].as_f64().unwrap_or(0.0)))
                    }
                }
            }
        }
        @for warning in warnings { p.faint { "Note: " (warning) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_hop_by_hop_has_a_node_at_each_stage_and_no_groups() {
        let plan = |protocol: &str| {
            serde_json::json!({ "protocol": protocol, "stages": [
                { "channel": 15, "odd": [20], "even": [20] },
                { "channel": 26, "odd": [10], "even": [10] }] })
        };
        let hops = stages(&plan("hop-by-hop")).into_string();
        assert!(
            hops.contains("<tr><td>1</td><td>26</td><td>10</td></tr>"),
            "{hops}"
        );
        let chains = stages(&plan("thalweg")).into_string();
        assert!(!hops.contains("group") && chains.contains("Odd group"));
    }
}
