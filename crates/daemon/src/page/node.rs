//! One node: its links, channel by channel and over time, its battery, and what it delivered.

use maud::{html, Markup};
use thalweg_draw::chart::Base;
use thalweg_units::{Channel, NodeId};

use super::map::{figure, hops, Look, Marked};
use super::text::{age, ago, seconds_of, when};
use super::{fact, forms, named, objects, page, query, series, table};
use crate::good_links::SURVEYS;
use crate::station_state::{now, StationState};
use crate::stations::Stations;
use thalweg_host::connector::Spending;
use thalweg_host::store::{day_of, StoreError, StoredTransfer};

/// The surveys in the table.
const ROWS: usize = 8;
/// The channels in a chart.
const CHANNELS: usize = 8;
/// The objects in a chart, and in the list.
const DRAWN: u32 = 50;
const OBJECTS: usize = 10;

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
    let content = html! {
        @if node == network.sink { p { "This is the base station: objects come here." } }
        @else { div.row { (forms::fetch(&[station], Some(id))) } }
        dl { (facts(station, (index, node), transfers.first())?) }
        (figure(station, &Look::at(Marked::Node(index))))
        (neighbours(station, index))
        (over_time(station, index))
        (power(station, node)?)
        h2 { "Objects" }
        (courses(&transfers))
        (objects::list(stations, &transfers[..transfers.len().min(OBJECTS)]))
    };
    let title = named(station, node).replacen("node", "Node", 1);
    let title = match station.is_only {
        true => title,
        false => format!("{title} of {}", station.network()),
    };
    page(stations, ("/nodes", &title), &content).map(Some)
}

/// The facts of a node, of that index; `last` is its last transfer.
fn facts(
    station: &StationState,
    (index, node): (usize, NodeId),
    last: Option<&StoredTransfer>,
) -> Result<Markup, StoreError> {
    let (network, snapshot) = (&station.facts.network, station.snapshot());
    let health = station.health()?.get(index).copied().unwrap_or_default();
    let far = snapshot.as_ref().map(|snapshot| {
        let state = &snapshot.link_state;
        let sinks = network.station_indices();
        let far = hops(state.links(), sinks, state.routing_channel());
        far.get(index).copied().flatten()
    });
    let spots = network.positions.as_ref();
    Ok(html! {
        @if let (Some(snapshot), Some(far)) = (&snapshot, far) {
            @if !network.is_station(node) {
                (fact("Hops to the base station", far.map_or("no good link".to_owned(), |hops| hops.to_string())))
            }
            @if snapshot.missing.contains(&node) {
                (fact("Last seen", html! { span.bad { "did not answer the last survey" } }))
            } @else { (fact("Last seen", format!("in the survey {}", ago(snapshot.at)))) }
            @if let Some((_, restarts)) = snapshot.restarts.iter().find(|(of, _)| *of == node) {
                (fact("Restarted", restarts.to_string()))
            }
        }
        @if let Some((level, at)) = health.battery {
            (fact("Battery", html! { (level.to_string()) small { " " (ago(at)) } }))
        }
        @if let Some(joules) = health.spent_j { (fact("Energy today (UTC)", format!("{joules:.2} J"))) }
        @if let Some(why) = health.left_alone {
            (fact("Left alone", format!("neither source nor relay: it {why}")))
        }
        @if let Some(last) = last {
            (fact("Last object", html! { a href=(format!("/objects/{}", last.id.0)) { (when(&last.stored_at)) } }))
            @if let Some(joules) = last.record.energy_j {
                @let nodes = last.record.active_nodes;
                (fact("Energy of its last transfer", html! { (format!("{joules:.2} J")) small { " of " (nodes) " nodes" } }))
            }
        }
        @if let Some(spot) = spots.and_then(|spots| spots.get(index)) {
            (fact("Place", format!("{:.0} m, {:.0} m, floor {}", spot.x_m, spot.y_m, spot.floor)))
        }
    })
}

/// Its links both ways: on the channel on which routes are sought, and on the best.
fn neighbours(station: &StationState, index: usize) -> Markup {
    let Some(snapshot) = station.snapshot() else {
        return html! {
            h2 { "Links" }
            p { "They are not measured yet." }
            (forms::survey(station, "Measure links now"))
        };
    };
    let state = &snapshot.link_state;
    let (links, channel) = (state.links(), state.routing_channel());
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
        return html! {
            h2 { "Links" }
            p { "It hears nobody, or nobody hears it. Is it on? Is another node within its reach?" }
        };
    }
    let rows = html! {
        @for (other, (on, ratio)) in others {
            @let power = links.rssi(other, index, on);
            tr {
                td {
                    @if let Some(id) = station.facts.network.place.ids.get(other) {
                        a href=(format!("/nodes/{id}{}", query(station))) { (named(station, *id)) }
                    }
                }
                td { (format!("{:.2}", links.prr(index, other, channel))) }
                td { (format!("{:.2}", links.prr(other, index, channel))) }
                td { (format!("{ratio:.2}")) small { " on channel " (on.number()) } }
                td { (power.map_or("\u{2013}".to_owned(), |p| format!("{:.0} dBm", p.0))) }
            }
        }
    };
    let on = |way: &str| format!("{way}, channel {channel}");
    let (there, back) = (on("There"), on("Back"));
    let head = ["With", &there, &back, "Best, both ways", "Hears it at"];
    html! {
        h2 { "Links" }
        p.faint { "Shares of frames that arrive, from the last survey." }
        div.tall { (table("Links", &head, &rows)) }
    }
}

/// Goodput and energy of a node's transfers.
fn courses(transfers: &[StoredTransfer]) -> Markup {
    // Sessions are slow on purpose.
    let fetched = transfers
        .iter()
        .filter(|t| !t.record.protocol.starts_with("rcrt"));
    let mut fetched: Vec<_> = fetched
        .filter_map(|t| Some((age(seconds_of(&t.stored_at)?), &t.record)))
        .collect();
    fetched.sort_by(|a, b| b.0.total_cmp(&a.0));
    let goodput = fetched.iter().map(|(age, core)| (*age, core.goodput_kbps));
    let energy = fetched
        .iter()
        .filter_map(|(age, core)| Some((*age, core.energy_j?)));
    let charts = [
        (
            "Goodput",
            "kbit/s",
            goodput.collect::<Vec<_>>(),
            "Goodput of each of its transfers.",
        ),
        (
            "Energy",
            "J",
            energy.collect(),
            "Energy of all nodes that took part in each.",
        ),
    ];
    html! {
        div.charts {
            @for (title, unit, points, about) in charts {
                @if points.len() > 1 {
                    (series::framed(&series::before_now((title, unit), vec![(String::new(), points)]), about))
                }
            }
        }
    }
}

/// A node's battery over the last surveys, and what it spent day by day.
fn power(station: &StationState, node: NodeId) -> Result<Markup, StoreError> {
    let network = (station.network(), station.facts.network.sink);
    let surveys = station.store().batteries(network, SURVEYS)?;
    let levels = surveys.iter().rev().filter_map(|(at, batteries)| {
        let (_, level) = batteries.iter().find(|(of, _)| *of == node)?;
        Some((age(*at), level.volts()))
    });
    let levels: Vec<(f64, f64)> = levels.collect();
    let today = day_of(now());
    let days = station.store().spent_by(station.network(), node)?;
    let what = match station.facts.spending {
        Spending::Metered => {
            "What it has spent each day (UTC) in surveys, floods, as a source and as a relay."
        }
        Spending::AtMost { .. } => {
            "What it can have spent at most each day (UTC) in surveys and sessions, as a source and as a relay. Nobody \
             reads its meter: it counts as on for as long as that lasted."
        }
    };
    let rows = html! {
        @for (day, joules) in days.iter().take(ROWS) {
            tr {
                td { @match today - day { 0 => "today", 1 => "yesterday", days => { (days) " days ago" } } }
                td { (format!("{joules:.2} J")) }
            }
        }
    };
    Ok(html! {
        @if levels.len() > 1 {
            @let chart = series::before_now(("Battery", "V"), vec![(String::new(), levels)]);
            h2 { "Battery" }
            // Its volts are never near zero: their changes would not be seen from there.
            (series::framed(
                &thalweg_draw::chart::Chart { base: Base::ToldLeast, ..chart },
                "What it told of its battery, survey by survey.",
            ))
        }
        @if !days.is_empty() {
            h2 { "Energy" }
            p.faint { (what) }
            (table("Energy", &["Day", "Spent"], &rows))
        }
    })
}

/// Good links on each channel, survey by survey.
fn over_time(station: &StationState, index: usize) -> Markup {
    // The youngest first.
    let surveys = station.good_links();
    let Some(latest) = surveys.first() else {
        return html! {};
    };
    let channels = latest.channels.clone();
    let head: Vec<String> = channels.iter().map(|c| format!("channel {c}")).collect();
    let head: Vec<&str> = ["Survey"]
        .into_iter()
        .chain(head.iter().map(String::as_str))
        .collect();
    let rows = html! {
        @for survey in surveys.iter().take(ROWS) {
            tr {
                td { (ago(survey.at)) }
                @for channel in &channels { td { (survey.on(index, *channel)) } }
            }
        }
    };
    let line = |channel: &Channel| {
        let points = surveys.iter().rev();
        let points = points.map(|s| (age(s.at), f64::from(s.on(index, *channel))));
        (format!("channel {channel}"), points.collect())
    };
    html! {
        h2 { "Good links over time" }
        p.faint { "Neighbours with which 0.9 of all frames arrive, both ways, survey by survey." }
        @if surveys.len() > 1 {
            @let lines = channels.iter().take(CHANNELS).map(line).collect();
            (series::framed(
                &series::before_now(("Good links", "neighbours"), lines),
                "Neighbours over good links, channel by channel.",
            ))
        }
        (table("Good links over time", &head, &rows))
    }
}
