//! One node: its links, channel by channel and over time, and what it delivered.

use std::fmt::Write as _;

use thalweg_units::NodeId;

use super::map::{hops, map, Marked, GOOD};
use super::text::{seconds, when};
use super::{fetch_form, objects, page, query};
use crate::daemon::desk::{now, Company, Desk};
use crate::daemon::stations::Stations;
use crate::store::StoreError;

/// So many surveys are looked back.
const SURVEYS: u32 = 8;
/// So many objects are listed.
const OBJECTS: u32 = 10;

pub(in crate::daemon) fn node(
    stations: &Stations,
    desk: &Desk,
    id: u16,
) -> Result<Option<String>, StoreError> {
    let (facts, surveyed) = (&desk.facts, desk.surveyed());
    let found = NodeId::new(id).ok();
    let found = found.and_then(|id| Some((id, facts.place.index_of(id).ok()?)));
    let Some((node, index)) = found else {
        return Ok(None);
    };
    let brought = desk.store().latest_of(desk.network(), node, OBJECTS)?;
    let mut told = String::new();
    let mut fact = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = write!(told, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if let Some(surveyed) = &surveyed {
        let known = &surveyed.known;
        let far = hops(known.links(), known.sink(), known.routing_channel());
        let far = far.get(index).copied().flatten();
        let unknown = "no good link".to_owned();
        if node != facts.sink {
            fact(
                "Hops to the base station",
                far.map_or(unknown, |hops| hops.to_string()),
            );
        }
        let seen = match surveyed.missing.contains(&node) {
            true => "did not answer the last survey".to_owned(),
            false => format!(
                "in the survey {} ago",
                seconds((now() - surveyed.at).max(0) as f64)
            ),
        };
        fact("Last seen", seen);
    }
    if let Some(last) = brought.first() {
        let at = when(&last.stored_at);
        fact(
            "Last object (UTC)",
            format!("<a href=\"/objects/{}\">{at}</a>", last.id.0),
        );
        if let Some(joules) = last.record.energy_j {
            let nodes = last.record.active_nodes;
            fact(
                "Energy of its last transfer",
                format!("{joules:.2} J <small>of {nodes} nodes</small>"),
            );
        }
    }
    if let Some(spot) = facts.spots.as_ref().and_then(|spots| spots.get(index)) {
        fact(
            "Place",
            format!("{:.0} m, {:.0} m, floor {}", spot.x_m, spot.y_m, spot.floor),
        );
    }
    let known = surveyed.as_ref().map(|surveyed| &surveyed.known);
    let links = known.map(|known| (known.links(), known.routing_channel()));
    let form = match node == facts.sink {
        true => "<p>This is the base station: objects come here.</p>".to_owned(),
        false => format!("<div class=\"row\">{}</div>", fetch_form(&[desk], Some(id))),
    };
    let content = format!(
        "{form}<dl>{told}</dl>\
         <div class=\"scroll map\" tabindex=\"0\" role=\"region\" aria-label=\"Map\">{}</div>{}{}\
         <h2>Objects</h2>{}",
        map((facts, &query(desk)), links, Marked::Node(index)).to_svg(),
        neighbours(desk, index),
        over_time(desk, index)?,
        objects::table(&brought, stations.company())
    );
    let title = match desk.company {
        Company::Alone => format!("Node {id}"),
        Company::Others => format!("Node {id} of {}", desk.network()),
    };
    page(stations, ("/", &title), &content).map(Some)
}

/// Who it hears and is heard by: on the channel that routes are sought on, and on the best.
fn neighbours(desk: &Desk, index: usize) -> String {
    let Some(surveyed) = desk.surveyed() else {
        return String::new();
    };
    let (links, channel) = (surveyed.known.links(), surveyed.known.routing_channel());
    let others = (0..links.nodes()).filter_map(|other| {
        let ratio = |channel| {
            links
                .prr(index, other, channel)
                .min(links.prr(other, index, channel))
        };
        let best = links.channels().iter().map(|c| (c, ratio(c)));
        let best = best.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        (best.1 >= 0.1).then_some((other, best))
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by(|a, b| b.1 .1.total_cmp(&a.1 .1).then(a.0.cmp(&b.0)));
    if others.is_empty() {
        return "<h2>Links</h2><p>It hears nobody, or nobody hears it.</p>".to_owned();
    }
    let (mut rows, of) = (String::new(), query(desk));
    for (other, (on, ratio)) in others {
        let id = links.id(other);
        let power = links.rssi(other, index, on);
        let power = power.map_or("\u{2013}".to_owned(), |p| format!("{:.0} dBm", p.0));
        let _ = write!(
            rows,
            "<tr><td><a href=\"/nodes/{id}{of}\">node {id}</a></td><td>{:.2}</td><td>{:.2}</td>\
             <td>{ratio:.2} <small>on channel {on}</small></td><td>{power}</td></tr>",
            links.prr(index, other, channel),
            links.prr(other, index, channel)
        );
    }
    format!(
        "<h2>Links</h2><p class=\"faint\">Shares of frames that arrive, from the last survey.</p>\
         <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Links\"><table><thead><tr>\
         <th>With</th><th>There, channel {channel}</th><th>Back, channel {channel}</th><th>Best, both ways</th>\
         <th>Hears it at</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// Good links on each channel, survey by survey.
fn over_time(desk: &Desk, index: usize) -> Result<String, StoreError> {
    let facts = &desk.facts;
    let network = (desk.network(), facts.sink);
    let surveys = desk
        .store()
        .surveys(network, facts.place.ids.len(), SURVEYS)?;
    let Some(latest) = surveys.first() else {
        return Ok(String::new());
    };
    let channels: Vec<_> = latest.links.channels().iter().collect();
    let head: String = channels
        .iter()
        .map(|c| format!("<th>channel {c}</th>"))
        .collect();
    let mut rows = String::new();
    for survey in &surveys {
        let age = seconds((now() - survey.measured_at).max(0) as f64);
        let good = |channel: &thalweg_units::Channel| {
            let others = survey.links.heard_from(index, *channel);
            let good = others.filter(|(other, quality)| {
                quality.prr >= GOOD && survey.links.prr(*other, index, *channel) >= GOOD
            });
            format!("<td>{}</td>", good.count())
        };
        let counts: String = channels.iter().map(good).collect();
        let _ = write!(rows, "<tr><td>{age} ago</td>{counts}</tr>");
    }
    Ok(format!(
        "<h2>Good links over time</h2><p class=\"faint\">Neighbours with which 0.9 of all frames arrive, both \
         ways, survey by survey.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Good links over time\">\
         <table><thead><tr><th>Survey</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>",
    ))
}
