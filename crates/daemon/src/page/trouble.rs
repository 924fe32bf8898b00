//! What needs attention. Everything else has no colour on any page.

use maud::{html, Markup, Render};

use super::{census, named};
use crate::mqtt::Broker;
use crate::station_state::{now, Line, StationState};
use crate::stations::Stations;
use thalweg_host::store::StoreError;
use thalweg_units::NodeId;

/// Failures older than this are history, in seconds.
pub(super) const RECENT_S: i64 = 24 * 3_600;
/// So many are named one by one.
const NAMED: usize = 3;

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Above every page: it stops all work.
    Everywhere,
    /// On the overview.
    Overview,
}

/// Something that needs attention.
pub(super) struct Trouble {
    text: String,
    /// Where more of it is, with the link's words.
    more: Option<(String, &'static str)>,
    pub(super) shown: Where,
}

impl Render for Trouble {
    fn render(&self) -> Markup {
        html! {
            (self.text)
            @if let Some((path, name)) = &self.more { " " a href=(path) { (name) } }
        }
    }
}

/// How many things need attention, in words.
pub(super) fn needs(n: usize) -> String {
    match n {
        1 => "1 thing needs you".to_owned(),
        n => format!("{n} things need you"),
    }
}

/// All of it, what stops work first.
///
/// # Errors
/// [`StoreError`].
pub(super) fn all(stations: &Stations) -> Result<Vec<Trouble>, StoreError> {
    let mut all = Vec::new();
    let everywhere = |text: String| Trouble {
        text,
        more: None,
        shown: Where::Everywhere,
    };
    for station in stations.all() {
        if let Line::Down(why) = station.line() {
            let of = of(station);
            let text = format!(
                "The base station{of} is out of reach: {why}. It is tried again by itself."
            );
            all.push(everywhere(text));
        }
    }
    all.extend(stations.shared().disk_state().trouble().map(everywhere));
    let broker = stations.shared().mqtt.as_ref().map(|mqtt| mqtt.broker());
    if let Some(Broker::Away(why)) = broker {
        let waiting = stations.shared().store().count_waiting()?;
        let waiting = super::text::count(waiting, "message");
        all.push(everywhere(format!(
            "The MQTT broker is out of reach: {why}. It is tried again by itself; {waiting} to be told."
        )));
    }
    for station in stations.all() {
        of_nodes(station, &mut all)?;
    }
    Ok(all)
}

/// Which station, where there are several.
fn of(station: &StationState) -> String {
    match station.is_only {
        true => String::new(),
        false => format!(" of {}", station.network()),
    }
}

/// What nodes of `station` need.
fn of_nodes(station: &StationState, all: &mut Vec<Trouble>) -> Result<(), StoreError> {
    let rows = census::of(station)?;
    let mut add = |what: &str, nodes: Vec<NodeId>, path: String, name: &'static str| {
        let names: Vec<String> = nodes.iter().map(|node| named(station, *node)).collect();
        let names = match names.len() {
            0 => return,
            1..=NAMED => names.join(", "),
            many => format!("{many} nodes"),
        };
        all.push(Trouble {
            text: format!("{what}{}: {names}.", of(station)),
            more: Some((path, name)),
            shown: Where::Overview,
        });
    };
    let shown = |filter: &str| match station.is_only {
        true => format!("/nodes?show={filter}"),
        false => format!("/nodes?station={}&show={filter}", station.network()),
    };
    let those = |is: fn(&census::Row) -> bool| {
        let found = rows.iter().filter(|row| is(row) && !row.is_sink);
        found.map(|row| row.id).collect::<Vec<_>>()
    };
    let silent = those(census::Row::is_silent);
    add(
        "Silent in the last survey",
        silent,
        shown("silent"),
        "Which?",
    );
    let low = those(census::Row::is_low);
    add("Low battery", low, shown("battery"), "Which?");
    let failed = (station.store()).last_failed(station.network(), now() - RECENT_S)?;
    // One job says why by itself.
    let path = match failed[..] {
        [(_, job)] => format!("/jobs/{}", job.0),
        _ => "/transfers".to_owned(),
    };
    let failed = failed.into_iter().map(|(node, _)| node).collect();
    add("The last fetch failed", failed, path, "Why?");
    Ok(())
}
