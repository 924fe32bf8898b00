//! Is all well? First what needs attention, then how nodes, objects, jobs, disk, lines and broker are.

use maud::{html, Markup, Render};

use super::text::{ago, bytes, count, seconds};
use super::{census, choice, forms, framed, is_new, named, query, trouble};
use crate::mqtt::Broker;
use crate::station_state::{now, Line, StationState};
use crate::stations::Stations;
use thalweg_host::store::{JobState, StoreError};

/// How one thing is: its name, its value, what stands beside that.
fn tile(name: &str, value: impl Render, beside: impl Render) -> Markup {
    html! { div.tile { dt { (name) } dd { (value) div.beside { (beside) } } } }
}

pub(crate) fn overview(stations: &Stations, station: &StationState) -> Result<String, StoreError> {
    let troubles = trouble::all(stations)?;
    let heading = match troubles.len() {
        0 if is_new(stations) => "Ready: nothing is measured yet".to_owned(),
        0 => "\u{2713} All is well".to_owned(),
        n => trouble::needs(n),
    };
    let main = html! {
        div #state data-live {
            h1.bad[!troubles.is_empty()] { (heading) }
            @if !troubles.is_empty() {
                ul.troubles { @for trouble in &troubles { li { (trouble) } } }
            }
        }
        (choice(stations, station, "/"))
        @if station.snapshot().is_none() { (first_steps(station)) }
        div.row { (forms::fetch(&[station], None)) }
        div #tiles data-live { dl.tiles { (of_station(station)?) (common(stations)?) } }
    };
    framed(stations, ("/", "Overview"), &troubles, &main)
}

/// What a first visitor does.
fn first_steps(station: &StationState) -> Markup {
    html! {
        div #first data-live {
            p {
                strong { "Nobody has measured the links yet." }
                " Choose a node and press " em { "Fetch" } ": links are measured first, which takes some seconds, \
                 and its object follows. Or measure only:"
            }
            (forms::survey(station, "Measure links now"))
        }
    }
}

/// Nodes, objects, jobs and line of a station.
fn of_station(station: &StationState) -> Result<Markup, StoreError> {
    let mut rows = census::of(station)?;
    rows.retain(|row| !row.is_sink);
    let silent = rows.iter().filter(|row| row.is_silent()).count();
    let of = query(station);
    let and = if of.is_empty() { "?" } else { "&" };
    let nodes = match station.snapshot() {
        None => tile(
            "Nodes heard",
            html! { "\u{2013} of " (rows.len()) },
            "links are not measured yet",
        ),
        Some(snapshot) => tile(
            "Nodes heard",
            html! { (rows.len() - silent) " of " (rows.len()) },
            html! {
                @if silent > 0 {
                    a.bad href=(format!("/nodes{of}{and}show=silent")) { (silent) " silent" } ", "
                }
                "measured " (ago(snapshot.at))
            },
        ),
    };
    Ok(html! {
        (nodes)
        (oldest(station, &rows))
        (jobs(station)?)
        @match station.line() {
            Line::Up => (tile("Base station", "up", sinks(station))),
            Line::Closed => (tile("Base station", "not opened yet", sinks(station))),
            Line::Down(why) => (tile("Base station", html! { span.bad { "out of reach" } }, why)),
        }
    })
}

/// The base stations of a station's network.
fn sinks(station: &StationState) -> String {
    let sinks = station.facts.network.stations().into_iter();
    let names: Vec<String> = sinks.map(|id| named(station, id)).collect();
    names.join(", ")
}

/// The object that is the oldest of the nodes' last ones.
fn oldest(station: &StationState, rows: &[census::Row]) -> Markup {
    let of = query(station);
    let never = rows.iter().filter(|row| row.last.is_none()).count();
    let last = rows
        .iter()
        .filter_map(|row| Some((row, row.last.as_ref()?)));
    let Some((row, last)) = last.min_by_key(|(_, last)| last.at) else {
        return tile("Oldest object", "\u{2013}", "none came yet: fetch one");
    };
    let age = html! { a href=(format!("/objects/{}", last.transfer.0)) { (seconds((now() - last.at).max(0) as f64)) } };
    let beside = html! {
        a href=(format!("/nodes/{}{of}", row.id)) { (named(station, row.id)) }
        @if never > 0 { "; none yet of " (count(never, "node")) }
    };
    tile("Oldest object", age, beside)
}

/// Jobs of the last 24 hours.
fn jobs(station: &StationState) -> Result<Markup, StoreError> {
    let since = now() - trouble::RECENT_S;
    let (ended, open) = {
        let store = station.store();
        let ended = store.count_ended(station.network(), since)?;
        (ended, store.count_jobs(station.network())?)
    };
    let of = |counts: [u64; 5], state: JobState| {
        let place = JobState::ALL.iter().position(|one| *one == state);
        place.map_or(0, |place| counts[place])
    };
    let done = of(ended, JobState::Done);
    let failed = of(ended, JobState::Failed);
    let (waiting, running) = (of(open, JobState::Queued), of(open, JobState::Running));
    let beside = html! {
        @if running > 0 { (running) " running, " }
        a href="/transfers" { (waiting) " waiting" } ", " (failed) " failed"
    };
    Ok(tile("Jobs, last 24 h", html! { (done) " done" }, beside))
}

/// What all stations share: disk and broker.
fn common(stations: &Stations) -> Result<Markup, StoreError> {
    let shared = stations.shared();
    let (objects, size) = shared.store().total()?;
    let disk = shared.disk_state();
    let objects = html! { a href="/objects" { (count(objects, "object")) } ", " (bytes(size)) };
    let free = disk.free_bytes.map_or("\u{2013}".to_owned(), |free| {
        format!("{} free", bytes(free))
    });
    let free = html! { span.bad[disk.trouble().is_some()] { (free) } };
    let broker = match &shared.mqtt {
        None => tile("MQTT", "off", "no broker is configured"),
        Some(mqtt) => {
            let waiting = count(shared.store().count_waiting()?, "message");
            let state = match mqtt.broker() {
                Broker::Connected => html! { "connected" },
                Broker::Trying => html! { "not connected yet" },
                Broker::Away(_) => html! { span.bad { "out of reach" } },
            };
            tile("MQTT", state, format!("{waiting} to be told"))
        }
    };
    Ok(html! { (tile("Disk", free, objects)) (broker) })
}
