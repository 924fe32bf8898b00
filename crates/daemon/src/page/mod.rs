//! The page: HTML made here, pictures by `draw`, one style and one script, nothing from elsewhere.
//!
//! Every page works without the script, which follows the events and replaces what is marked `data-live`. States
//! are words, never a colour alone; a colour means that someone must act. What strangers wrote is escaped by the
//! templates. Tests: at the end, `crates/daemon/tests/all/`, `.ci/page.py`.

mod census;
mod fetched;
mod forms;
mod job;
mod label;
mod log;
mod map;
mod network;
mod node;
mod nodes;
mod objects;
mod overview;
mod plan;
mod preview;
mod queue;
mod route;
mod series;
mod session;
mod text;
mod transfers;
mod trouble;

use maud::{html, Markup, DOCTYPE};

use super::station_state::StationState;
use super::stations::Stations;
use thalweg_host::store::StoreError;
use thalweg_units::NodeId;
use trouble::{Trouble, Where};

pub(super) use job::job;
pub(super) use log::log;
pub(super) use network::{network, MapQuery};
pub(super) use node::node;
pub(super) use nodes::{nodes, NodesQuery};
pub(super) use objects::{object, objects};
pub(super) use overview::overview;
pub(super) use transfers::transfers;

/// How it looks.
pub(super) const STYLE: &str = include_str!("style.css");
/// What keeps it up to date.
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Rows of a list.
const ROWS: u32 = 50;

/// The pages with their names.
const PAGES: [(&str, &str); 6] = [
    ("/", "Overview"),
    ("/map", "Map"),
    ("/nodes", "Nodes"),
    ("/transfers", "Transfers"),
    ("/objects", "Objects"),
    ("/log", "Log"),
];

/// A page of that title and content, `at` one of [`PAGES`]; what stops all work is said above it.
fn page(
    stations: &Stations,
    (at, title): (&str, &str),
    content: &Markup,
) -> Result<String, StoreError> {
    let troubles = trouble::all(stations)?;
    let main = html! {
        div #line data-live {
            @for trouble in troubles.iter().filter(|t| t.shown == Where::Everywhere) {
                p.notice { (trouble) }
            }
        }
        h1 { (title) }
        (content)
    };
    framed(stations, (at, title), &troubles, &main)
}

/// A page with its own heading. Others say in the corner whether all is well.
fn framed(
    stations: &Stations,
    (at, title): (&str, &str),
    troubles: &[Trouble],
    main: &Markup,
) -> Result<String, StoreError> {
    let all = stations.all();
    let about = all.iter().map(|station| match station.is_only {
        true => station.facts.about.clone(),
        false => format!("{}: {}", station.network(), station.facts.about),
    });
    let body = html! {
        header {
            a.brand href="/" { "Thalweg" }
            nav aria-label="Pages" {
                @for (path, name) in PAGES {
                    a href=(path) aria-current=[(path == at).then_some("page")] { (name) } " "
                }
            }
            p #well data-live {
                @if at != "/" {
                    @match troubles.len() {
                        0 if is_new(stations) => { a.faint href="/" { "Nothing is measured yet" } }
                        0 => { a.faint href="/" { "\u{2713} All is well" } }
                        n => { a.bad href="/" { "\u{26a0} " (trouble::needs(n)) } }
                    }
                }
            }
            p #link role="status" {}
        }
        (transfers::strip(stations)?)
        main #main tabindex="-1" { (main) }
        footer {
            @for line in about { div { (line) } }
            @if stations.asks_token {
                form method="post" action="/logout" { button.plain { "Log out" } }
            }
        }
    };
    Ok(document(title, &body))
}

fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " \u{b7} Thalweg" }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="data:,";
                script src="/page.js" defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (body)
            }
        }
    };
    page.into_string()
}

/// The page for an unknown address.
pub(super) fn not_found() -> String {
    let main = html! {
        main #main { h1 { "There is nothing here" } p { a href="/" { "To the overview" } } }
    };
    document("Nothing", &main)
}

/// Asks for the token.
pub(super) fn login(wrong: Option<&str>) -> String {
    let main = html! {
        header { span.brand { "Thalweg" } }
        main #main {
            h1 { "This gateway asks for its token" }
            @if let Some(wrong) = wrong { p.notice role="alert" { (wrong) } }
            form.row method="post" action="/login" {
                label {
                    "Token "
                    input type="password" name="token" autocomplete="current-password" required autofocus;
                }
                button { "Log in" }
            }
            p.faint { "It is in the gateway's configuration, under " code { "token" } "." }
        }
    };
    document("Token", &main)
}

/// Says why a form was not taken.
pub(super) fn refused(why: &str) -> String {
    let main = html! {
        main #main {
            h1 { "That cannot be asked" }
            p.notice role="alert" { (why) }
            p { a href="/transfers" { "Back to the transfers" } }
        }
    };
    document("Not taken", &main)
}

/// A link to what is older than `last`, where the list was `full`.
fn more(path: &str, full: bool, last: Option<i64>) -> Markup {
    html! {
        @if let Some(last) = last.filter(|_| full) {
            p { a href=(format!("{path}?before={last}")) { "Older" } }
        }
    }
}

/// A fact of a list of definitions.
fn fact(name: &str, value: impl maud::Render) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// A table with these headings. It may be wider than the screen, and is moved by keys.
fn table(name: &str, head: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table { thead { tr { @for title in head { th { (title) } } } } tbody { (rows) } }
        }
    }
}

/// The same, of which each row takes a line or two on a narrow screen; what is marked `more` is left out there.
fn lines(name: &str, head: &[&str], rows: &Markup) -> Markup {
    html! { div.lines { (table(name, head, rows)) } }
}

/// Whether no station has measured its links yet.
fn is_new(stations: &Stations) -> bool {
    let mut all = stations.all().iter();
    all.all(|station| station.snapshot().is_none())
}

/// What is behind an address that is one station's, where there are several.
fn query(station: &StationState) -> String {
    match station.is_only {
        true => String::new(),
        false => format!("?station={}", station.network()),
    }
}

/// Node `id` for people: its number, and its name where it has one.
fn named(station: &StationState, id: NodeId) -> String {
    format!("node {}", station.facts.network.place.named(id))
}

/// A link to node `id` of the station called `station`, where that is there still.
fn node_link(stations: &Stations, id: NodeId, station: &str) -> Markup {
    match stations.named(Some(station)) {
        Ok(station) => {
            html! { a href=(format!("/nodes/{id}{}", query(station))) { (named(station, id)) } }
        }
        Err(_) => html! { "node " (id) },
    }
}

/// The stations, where there are several; `shown` is one of them, `path` the page of each.
fn choice(stations: &Stations, shown: &StationState, path: &str) -> Markup {
    html! {
        @if !stations.is_only() {
            nav.row aria-label="Stations" {
                "Stations: "
                @for station in stations.all() {
                    @let is_shown = station.network() == shown.network();
                    a href=(format!("{path}{}", query(station))) aria-current=[is_shown.then_some("page")] {
                        (station.network())
                    }
                    " "
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
