//! The map: the network with the nodes that a search found, its links when asked, how old the survey is.

use maud::{html, Markup};
use serde::Deserialize;

use super::map::{figure, Captions, LinksShown, Look, Marked, Route};
use super::text::{ago, count, seconds};
use super::{choice, forms, page};
use crate::station_state::StationState;
use crate::stations::Stations;
use thalweg_host::store::StoreError;

/// What is shown, as the address says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MapQuery {
    pub(crate) station: Option<String>,
    /// Part of a node's number or name.
    find: Option<String>,
    /// `names` for names.
    captions: Option<String>,
    /// `on` for links.
    links: Option<String>,
}

pub(crate) fn network(
    stations: &Stations,
    station: &StationState,
    shown: &MapQuery,
) -> Result<String, StoreError> {
    let running = station.running();
    let plans = running.iter().filter_map(|running| running.plan.as_deref());
    let route = Route::of_all(plans);
    let wanted = shown
        .find
        .as_deref()
        .map(str::trim)
        .filter(|find| !find.is_empty());
    let found = wanted.map_or(Vec::new(), |wanted| find(station, wanted));
    let look = Look {
        marked: match (&route, wanted) {
            // Who looks for a node looks for nothing else.
            (Some(route), None) => Marked::Route(route),
            _ => Marked::Found(&found),
        },
        captions: match shown.captions.as_deref() {
            Some("names") => Captions::Names,
            _ => Captions::Numbers,
        },
        links: match shown.links.as_deref() {
            Some("on") => LinksShown::Yes,
            _ => LinksShown::No,
        },
    };
    let place = &station.facts.network.place;
    let sinks = station.facts.network.stations();
    let sinks: Vec<String> = sinks.iter().map(|id| place.named(*id)).collect();
    let of = if sinks.len() == 1 {
        "base station"
    } else {
        "base stations"
    };
    let content = html! {
        (choice(stations, station, "/map"))
        (options(station, shown, &look))
        @if let Some(wanted) = wanted {
            (findings(stations, station, (wanted, &found)))
        }
        div #map data-live { (figure(station, &look)) }
        div.row #survey data-live { (survey(station)) }
        p.faint {
            (count(place.ids.len(), "node")) ", " (of) " " (sinks.join(", ")) ". \
            Follow a node for its own links, or take " a href=(format!("/nodes{}", super::query(station))) { "the list" } "."
        }
    };
    page(stations, ("/map", "Map"), &content)
}

/// Nodes whose number is `wanted`, or whose name has it.
fn find(station: &StationState, wanted: &str) -> Vec<usize> {
    let place = &station.facts.network.place;
    let wanted = wanted.to_lowercase();
    let wanted = wanted.strip_prefix("node ").unwrap_or(&wanted);
    let is_it = |id: &thalweg_units::NodeId| {
        let label = place.labels.get(id).map(|label| label.to_lowercase());
        id.to_string() == wanted || label.is_some_and(|label| label.contains(wanted))
    };
    let all = place.ids.iter().enumerate();
    all.filter(|(_, id)| is_it(id))
        .map(|(index, _)| index)
        .collect()
}

/// The nodes that a search for `wanted` found.
fn findings(
    stations: &Stations,
    station: &StationState,
    (wanted, found): (&str, &[usize]),
) -> Markup {
    let ids = &station.facts.network.place.ids;
    html! {
        p role="status" {
            @match found {
                [] => { "No node is called " strong { (wanted) } "." }
                _ => { (count(found.len(), "node")) " found: "
                    @for index in found {
                        @if let Some(id) = ids.get(*index) {
                            (super::node_link(stations, *id, station.network())) " "
                        }
                    }
                }
            }
        }
    }
}

/// What the map is to show. The script sends it as soon as something changes.
fn options(station: &StationState, shown: &MapQuery, look: &Look<'_>) -> Markup {
    let has_names = !station.facts.network.place.labels.is_empty();
    html! {
        form.row #options action="/map" {
            @if !station.is_only { input type="hidden" name="station" value=(station.network()); }
            label {
                "Find " input type="search" name="find" size="12" value=[shown.find.as_deref()]
                    placeholder=(if has_names { "number or name" } else { "number" });
            }
            @if has_names {
                @for (captions, value, name) in [(Captions::Numbers, "numbers", "Numbers"), (Captions::Names, "names", "Names")] {
                    label { input type="radio" name="captions" value=(value) checked[look.captions == captions]; (name) }
                }
            }
            label { input type="checkbox" name="links" value="on" checked[look.links == LinksShown::Yes]; "Links" }
            button.plain { "Show" }
        }
    }
}

/// How old the links are.
fn survey(station: &StationState) -> Markup {
    html! {
        @match station.snapshot() {
            Some(snapshot) => {
                p {
                    "Links were measured " strong { (ago(snapshot.at)) }
                    @match snapshot.missing.len() {
                        0 => ", of all nodes",
                        n => { ", without " (count(n, "node")) }
                    }
                    ", in " (seconds(snapshot.took_s)) "."
                }
                (forms::survey(station, "Measure links again"))
            }
            None => {
                p { strong { "Nobody has measured the links yet." } " The first fetch does so by itself." }
                (forms::survey(station, "Measure links now"))
            }
        }
    }
}
