//! One node: its links, channel by channel and over time, and what it delivered.

use std::fmt::Write as _;

use thalweg_units::{Channel, NodeId};

use super::map::{hops, map, Marked, GOOD};
use super::text::{seconds, seconds_of, when};
use super::{fetch_form, objects, page, query, series};
use crate::station_state::{now, StationState};
use crate::stations::Stations;
use thalweg_host::connector::Spending;
use thalweg_host::store::{day_of, StoreError, StoredSurvey, StoredTransfer};

/// The surveys in the charts.
const SURVEYS: u32 = 16;
/// The surveys in the table.
const ROWS: usize = 8;
/// The channels in a chart.
const CHANNELS: usize = 8;
/// The objects in a chart, and in the list.
const DRAWN: u32 = 50;
const OBJECTS: usize = 10;

/// The facts of `node`, which is number `index`, as a list of definitions; `last` is its last transfer.
fn facts(
    station: &StationState,
    (index, node): (usize, NodeId),
    last: Option<&StoredTransfer>,
) -> Result<String, StoreError> {
    let (network, snapshot) = (&station.facts.network, station.snapshot());
    let mut list = String::new();
    let mut fact = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = write!(list, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if let Some(snapshot) = &snapshot {
        let link_state = &snapshot.link_state;
        let far = hops(
            link_state.links(),
            link_state.sink(),
            link_state.routing_channel(),
        );
        let far = far.get(index).copied().flatten();
        let far = far.map_or("no good link".to_owned(), |hops| hops.to_string());
        if node != network.sink {
            fact("Hops to the base station", far);
        }
        let seen = match snapshot.missing.contains(&node) {
            true => "did not answer the last survey".to_owned(),
            false => format!(
                "in the survey {} ago",
                seconds((now() - snapshot.at).max(0) as f64)
            ),
        };
        fact("Last seen", seen);
        if let Some((_, restarts)) = snapshot.restarts.iter().find(|(of, _)| *of == node) {
            fact("Restarted", restarts.to_string());
        }
    }
    let health = station.health()?.get(index).copied().unwrap_or_default();
    if let Some((level, at)) = health.battery {
        let ago = seconds((now() - at).max(0) as f64);
        fact("Battery", format!("{level} <small>{ago} ago</small>"));
    }
    if let Some(joules) = health.spent_j {
        fact("Energy today (UTC)", format!("{joules:.2} J"));
    }
    if let Some(why) = health.left_alone {
        let why = format!("neither source nor relay: it {why}");
        fact("Left alone", super::text::escape(&why));
    }
    if let Some(last) = last {
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
    let spots = network.positions.as_ref();
    if let Some(spot) = spots.and_then(|spots| spots.get(index)) {
        let place = format!("{:.0} m, {:.0} m, floor {}", spot.x_m, spot.y_m, spot.floor);
        fact("Place", place);
    }
    Ok(list)
}

pub(crate) fn node(
    stations: &Stations,
    station: &StationState,
    id: u16,
) -> Result<Option<String>, StoreError> {
    let network = &station.facts.network;
    let found = NodeId::new(id).ok();
    let found = found.and_then(|id| Some((id, network.place.index_of(id).ok()?)));
    let Some((node, index)) = found else {
        return Ok(None);
    };
    let transfers = station.store().latest_of(station.network(), node, DRAWN)?;
    let list = facts(station, (index, node), transfers.first())?;
    let snapshot = station.snapshot();
    let link_state = snapshot.as_ref().map(|snapshot| &snapshot.link_state);
    let links = link_state.map(|link_state| (link_state.links(), link_state.routing_channel()));
    let form = match node == network.sink {
        true => "<p>This is the base station: objects come here.</p>".to_owned(),
        false => format!(
            "<div class=\"row\">{}</div>",
            fetch_form(&[station], Some(id))
        ),
    };
    let content = format!(
        "{form}<dl>{list}</dl>\
         <div class=\"scroll map\" tabindex=\"0\" role=\"region\" aria-label=\"Map\">{}</div>{}{}\
         {}<h2>Objects</h2>{}{}",
        map(
            (&station.facts, &query(station)),
            links,
            Marked::Node(index)
        )
        .to_svg(),
        neighbours(station, index),
        over_time(station, index)?,
        power(station, node)?,
        courses(&transfers),
        objects::table(
            &transfers[..transfers.len().min(OBJECTS)],
            stations.is_only()
        )
    );
    let title = match station.is_only {
        true => format!("Node {id}"),
        false => format!("Node {id} of {}", station.network()),
    };
    page(stations, ("/", &title), &content).map(Some)
}

/// Its links both ways: on the channel on which routes are sought, and on the best.
fn neighbours(station: &StationState, index: usize) -> String {
    let Some(snapshot) = station.snapshot() else {
        return String::new();
    };
    let (links, channel) = (
        snapshot.link_state.links(),
        snapshot.link_state.routing_channel(),
    );
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
    let (mut rows, of) = (String::new(), query(station));
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

/// Neighbours over links that are good both ways.
fn good(survey: &StoredSurvey, index: usize, channel: Channel) -> usize {
    let others = survey.links.heard_from(index, channel);
    let good = others.filter(|(other, quality)| {
        quality.prr >= GOOD && survey.links.prr(*other, index, channel) >= GOOD
    });
    good.count()
}

/// Goodput and energy of a node's transfers.
fn courses(transfers: &[StoredTransfer]) -> String {
    // Sessions are slow on purpose.
    let fetched = transfers
        .iter()
        .rev()
        .filter(|t| !t.record.protocol.starts_with("rcrt"));
    let fetched: Vec<_> = fetched
        .filter_map(|t| Some((seconds_of(&t.stored_at)?, &t.record)))
        .collect();
    if fetched.len() < 2 {
        return String::new();
    }
    let age = |at: i64| (now() - at).max(0) as f64;
    let goodput = fetched
        .iter()
        .map(|(at, core)| (age(*at), core.goodput_kbps));
    let energy = fetched
        .iter()
        .filter_map(|(at, core)| Some((age(*at), core.energy_j?)));
    let chart = |title, unit, points: Vec<(f64, f64)>, about| match points.len() {
        0 | 1 => String::new(),
        _ => {
            let lines = vec![(String::new(), points)];
            series::framed(&series::before_now((title, unit), lines), about)
        }
    };
    format!(
        "<div class=\"charts\">{}{}</div>",
        chart(
            "Goodput",
            "kbit/s",
            goodput.collect(),
            "Goodput of each of its transfers."
        ),
        chart(
            "Energy",
            "J",
            energy.collect(),
            "Energy of all nodes that took part in each."
        )
    )
}

/// A node's battery over the last surveys, and what it spent day by day.
fn power(station: &StationState, node: NodeId) -> Result<String, StoreError> {
    let network = (station.network(), station.facts.network.sink);
    let surveys = station.store().batteries(network, SURVEYS)?;
    let levels = surveys.iter().rev().filter_map(|(at, batteries)| {
        let (_, level) = batteries.iter().find(|(of, _)| *of == node)?;
        Some(((now() - at).max(0) as f64, level.volts()))
    });
    let levels: Vec<(f64, f64)> = levels.collect();
    let today = day_of(now());
    let days = station.store().spent_by(station.network(), node)?;
    let rows = days.iter().take(ROWS).map(|(day, joules)| {
        let day = match today - day {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        format!("<tr><td>{day}</td><td>{joules:.2} J</td></tr>")
    });
    let rows: String = rows.collect();
    let mut text = String::new();
    if levels.len() > 1 {
        let lines = vec![(String::new(), levels)];
        let chart = series::before_now(("Battery", "V"), lines);
        text.push_str("<h2>Battery</h2>");
        text.push_str(&series::framed(
            &chart,
            "What it told of its battery, survey by survey.",
        ));
    }
    if !rows.is_empty() {
        let what = match station.facts.spending {
            Spending::Metered => {
                "What it has spent each day (UTC) in surveys, floods, as a source and as a relay."
            }
            Spending::AtMost { .. } => {
                "What it can have spent at most each day (UTC) in surveys and sessions, as a source and as a relay. Nobody \
                 reads its meter: it counts as on for as long as that lasted."
            }
        };
        text.push_str(&format!(
            "<h2>Energy</h2><p class=\"faint\">{what}</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Energy\"><table><thead><tr>\
             <th>Day</th><th>Spent</th></tr></thead><tbody>{rows}</tbody></table></div>"
        ));
    }
    Ok(text)
}

/// Good links on each channel, survey by survey.
fn over_time(station: &StationState, index: usize) -> Result<String, StoreError> {
    let facts = &station.facts;
    let network = (station.network(), facts.network.sink);
    let surveys = station
        .store()
        .surveys(network, facts.network.place.ids.len(), SURVEYS)?;
    let Some(latest) = surveys.first() else {
        return Ok(String::new());
    };
    let channels: Vec<_> = latest.links.channels().iter().collect();
    let head: String = channels
        .iter()
        .map(|c| format!("<th>channel {c}</th>"))
        .collect();
    let mut rows = String::new();
    for survey in surveys.iter().take(ROWS) {
        let age = seconds((now() - survey.measured_at).max(0) as f64);
        let count = |channel: &Channel| format!("<td>{}</td>", good(survey, index, *channel));
        let counts: String = channels.iter().map(count).collect();
        let _ = write!(rows, "<tr><td>{age} ago</td>{counts}</tr>");
    }
    let line = |channel: &Channel| {
        let points = surveys.iter().rev().map(|survey| {
            let age = (now() - survey.measured_at).max(0) as f64;
            (age, good(survey, index, *channel) as f64)
        });
        (format!("channel {channel}"), points.collect())
    };
    let chart = match surveys.len() {
        0 | 1 => String::new(),
        _ => {
            let lines = channels.iter().take(CHANNELS).map(line).collect();
            let chart = series::before_now(("Good links", "neighbours"), lines);
            series::framed(&chart, "Neighbours over good links, channel by channel.")
        }
    };
    Ok(format!(
        "<h2>Good links over time</h2><p class=\"faint\">Neighbours with which 0.9 of all frames arrive, both \
         ways, survey by survey.</p>{chart}<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Good links over time\">\
         <table><thead><tr><th>Survey</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>",
    ))
}
