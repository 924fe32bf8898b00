//! The network: what is known of it, its map, its nodes.

use std::fmt::Write as _;

use super::map::{hops, map, Marked, Route};
use super::text::{count, escape, seconds, when};
use super::{fetch_form, form_value, page, query};
use crate::limits::Health;
use crate::station_state::{Line, StationState};
use crate::stations::Stations;
use thalweg_host::store::StoreError;

pub(crate) fn network(stations: &Stations, station: &StationState) -> Result<String, StoreError> {
    let (facts, snapshot) = (&station.facts, station.snapshot());
    let running = station.running();
    let plan = running.as_ref().and_then(|running| running.plan.clone());
    let link_state = snapshot.as_ref().map(|snapshot| &snapshot.link_state);
    let links = link_state.map(|link_state| (link_state.links(), link_state.routing_channel()));
    let route = plan.as_deref().map(Route::of);
    let marked = route.as_ref().map_or(Marked::Nothing, Marked::Route);
    let picture = map((facts, &query(station)), links, marked).to_svg();
    let survey = |name: &str| {
        format!(
            "<form method=\"post\" action=\"/transfers\"><input type=\"hidden\" name=\"what\" \
             value=\"{}\"><button class=\"plain\">{name}</button></form>",
            form_value(station, "survey")
        )
    };
    let survey = match &snapshot {
        Some(snapshot) => {
            let age = seconds(snapshot.age_s() as f64);
            let missing = match snapshot.missing.len() {
                0 => "of all nodes".to_owned(),
                n => format!("without {}", count(n, "node")),
            };
            format!(
                "<p>Links were measured <strong>{age} ago</strong>, {missing}, in {}.</p> {}",
                seconds(snapshot.took_s),
                survey("Measure links again")
            )
        }
        None => format!(
            "<p><strong>Nobody has measured the links yet.</strong> The first fetch does so by itself.</p> {}",
            survey("Measure links now")
        ),
    };
    let (nodes, sink) = (
        count(facts.network.place.ids.len(), "node"),
        facts.network.sink,
    );
    let content = format!(
        "{}<p class=\"lead\">{nodes}, base station {sink}. Each node holds an object; fetching brings it here \
         over several hops.</p>\
         <div class=\"row\">{}</div>\
         <div id=\"survey\" class=\"row\" data-live>{survey}</div>\
         <div id=\"map\" class=\"scroll map\" tabindex=\"0\" role=\"region\" aria-label=\"Map\" data-live>{picture}</div>\
         <p class=\"faint narrow\">The map is wider than this screen: move it sideways.</p>\
         {}",
        choice(stations, station),
        fetch_form(&[station], None),
        table(station)?
    );
    page(stations, ("/", "Network"), &content)
}

/// The stations, where there are several; `shown` is one of them.
fn choice(stations: &Stations, shown: &StationState) -> String {
    if stations.is_only() {
        return String::new();
    }
    let mut links = String::new();
    for station in stations.all() {
        let name = escape(station.network());
        let current = if station.network() == shown.network() {
            " aria-current=\"page\""
        } else {
            ""
        };
        let down = match station.line() {
            Line::Down(_) => " (out of reach)",
            Line::Up | Line::Closed => "",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            links,
            "<a href=\"/{}\"{current}>{name}{down}</a> ",
            query(station)
        );
    }
    format!("<nav class=\"row\" aria-label=\"Stations\">Stations: {links}</nav>")
}

/// All nodes, in rows.
fn table(station: &StationState) -> Result<String, StoreError> {
    let (facts, snapshot) = (&station.facts, station.snapshot());
    let last = station.store().last_deliveries(station.network())?;
    let far = snapshot.map(|snapshot| {
        let link_state = &snapshot.link_state;
        hops(
            link_state.links(),
            link_state.sink(),
            link_state.routing_channel(),
        )
    });
    let (mut rows, of) = (String::new(), query(station));
    let health = station.health()?;
    let has = |of: fn(&Health) -> bool| health.iter().any(of);
    let battery = has(|node| node.battery.is_some());
    let spent = has(|node| node.spent_j.is_some());
    for (index, id) in facts.network.place.ids.iter().enumerate() {
        let hops = far.as_ref().map(|far| far.get(index).copied().flatten());
        let hops = match hops {
            _ if *id == facts.network.sink => "base station".to_owned(),
            Some(Some(hops)) => hops.to_string(),
            Some(None) => "no good link".to_owned(),
            None => "unknown".to_owned(),
        };
        let last = last.iter().find(|(node, ..)| node == id);
        let delivered = last.map_or("\u{2013}".to_owned(), |(_, at, transfer)| {
            format!("<a href=\"/objects/{}\">{}</a>", transfer.0, when(at))
        });
        let health = health.get(index).copied().unwrap_or_default();
        let cell = |is_told: bool, value: Option<String>| match is_told {
            true => format!("<td>{}</td>", value.as_deref().unwrap_or("\u{2013}")),
            false => String::new(),
        };
        let left_alone = health
            .left_alone
            .map_or("", |_| " <small>left alone</small>");
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td><a href=\"/nodes/{id}{of}\">node {id}</a>{left_alone}</td><td>{hops}</td>{}{}<td>{delivered}</td></tr>",
            cell(battery, health.battery.map(|(level, _)| level.to_string())),
            cell(spent, health.spent_j.map(|joules| format!("{joules:.2} J"))),
        );
    }
    let head = |is_told: bool, name: &'static str| if is_told { name } else { "" };
    Ok(format!(
        "<h2>Nodes</h2><div id=\"nodes\" data-live><div class=\"scroll tall\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Nodes\"><table><thead><tr><th>Node</th><th>Hops</th>{}{}<th>Last object (UTC)</th></tr>\
         </thead><tbody>{rows}</tbody></table></div></div>",
        head(battery, "<th>Battery</th>"),
        head(spent, "<th>Energy today</th>"),
    ))
}
