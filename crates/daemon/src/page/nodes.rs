//! All nodes of a station: what is known of each, sorted and filtered. Tests: below.

use std::cmp::Ordering;

use maud::{html, Markup};
use serde::Deserialize;

use super::census::{self, Row};
use super::text::ago;
use super::{choice, map, page, query};
use crate::station_state::StationState;
use crate::stations::Stations;
use thalweg_host::store::StoreError;

/// What is shown, as the address says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NodesQuery {
    pub(crate) station: Option<String>,
    #[serde(default)]
    show: Filter,
    #[serde(default)]
    sort: Column,
    #[serde(default)]
    order: Order,
}

/// Which nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Filter {
    #[default]
    All,
    Silent,
    Battery,
    Old,
}

impl Filter {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::All, "all", "All"),
        (Self::Silent, "silent", "Silent"),
        (Self::Battery, "battery", "Low battery"),
        (Self::Old, "old", "No object for 24 h"),
    ];
    fn takes(self, row: &Row) -> bool {
        match self {
            Self::All => true,
            Self::Silent => row.is_silent(),
            Self::Battery => row.is_low(),
            Self::Old => row.is_old(),
        }
    }
}

/// How far a node is from the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// It is the base station.
    Sink,
    /// So many hops over good links.
    Hops(usize),
    /// No good link leads there.
    Unlinked,
    /// Links are not measured yet.
    Unknown,
}

/// A node, and how far it is.
type Placed = (Row, Distance);

/// All nodes of `station`, in its order.
fn placed(station: &StationState) -> Result<Vec<Placed>, StoreError> {
    let far = station.snapshot().map(|snapshot| {
        let state = &snapshot.link_state;
        let sinks = station.facts.network.station_indices();
        map::hops(state.links(), sinks, state.routing_channel())
    });
    let distance = |index: usize| match &far {
        None => Distance::Unknown,
        Some(far) => match far.get(index).copied().flatten() {
            Some(0) => Distance::Sink,
            Some(hops) => Distance::Hops(hops),
            None => Distance::Unlinked,
        },
    };
    let rows = census::of(station)?.into_iter().enumerate();
    let rows = rows.map(|(index, row)| {
        let far = if row.is_sink {
            Distance::Sink
        } else {
            distance(index)
        };
        (row, far)
    });
    Ok(rows.collect())
}

/// What a row is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Column {
    #[default]
    Node,
    Hops,
    Battery,
    Energy,
    Heard,
    Object,
}

/// The most urgent first, or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Down,
    Up,
}

impl Column {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Node, "node", "Node"),
        (Self::Hops, "hops", "Hops"),
        (Self::Battery, "battery", "Battery"),
        (Self::Energy, "energy", "Energy today"),
        (Self::Heard, "heard", "Heard"),
        (Self::Object, "object", "Last object"),
    ];
    /// The order of two nodes; what is not known comes last, but who was never heard or brought nothing comes first.
    fn compare(self, (a, a_far): &Placed, (b, b_far): &Placed) -> Ordering {
        let volts = |row: &Row| {
            row.health
                .battery
                .map_or(f64::INFINITY, |(level, _)| level.volts())
        };
        let spent = |row: &Row| row.health.spent_j.unwrap_or(f64::NEG_INFINITY);
        let last = |row: &Row| row.last.as_ref().map(|last| last.at);
        match self {
            Self::Node => Ordering::Equal,
            Self::Hops => b_far.cmp(a_far),
            Self::Battery => volts(a).total_cmp(&volts(b)),
            Self::Energy => spent(b).total_cmp(&spent(a)),
            Self::Heard => a.heard_at.cmp(&b.heard_at),
            Self::Object => last(a).cmp(&last(b)),
        }
    }
}

impl NodesQuery {
    /// The address with this filter, column and order.
    fn address(&self, station: &StationState, of: (Filter, Column, Order)) -> String {
        let (filter, column, order) = of;
        let (_, show, _) = Filter::ALL[filter as usize];
        let (_, sort, _) = Column::ALL[column as usize];
        let order = match order {
            Order::Down => "down",
            Order::Up => "up",
        };
        let of = query(station);
        let and = if of.is_empty() { "?" } else { "&" };
        format!("/nodes{of}{and}show={show}&sort={sort}&order={order}")
    }
}

pub(crate) fn nodes(
    stations: &Stations,
    station: &StationState,
    shown: &NodesQuery,
) -> Result<String, StoreError> {
    let all = placed(station)?;
    let shows = |(row, _): &&Placed| shown.show.takes(row);
    let mut rows: Vec<&Placed> = all.iter().filter(shows).collect();
    rows.sort_by(|a, b| shown.sort.compare(a, b).then(a.0.id.cmp(&b.0.id)));
    if shown.order == Order::Up {
        rows.reverse();
    }
    let content = html! {
        (choice(stations, station, "/nodes"))
        div #nodes data-live {
            nav.chips aria-label="Which nodes" {
                @for (filter, _, name) in Filter::ALL {
                    @let is_it = filter == shown.show;
                    @let address = shown.address(station, (filter, shown.sort, shown.order));
                    a href=(address) aria-current=[is_it.then_some("true")] {
                        (name) " " small { (all.iter().filter(|(row, _)| filter.takes(row)).count()) }
                    }
                    " "
                }
            }
            @if rows.is_empty() { p { (nobody(shown.show, station)) } } @else {
                div.scroll.nodes tabindex="0" role="region" aria-label="Nodes" {
                    table {
                        thead { tr { @for (column, _, name) in Column::ALL { (heading(station, shown, column, name)) } } }
                        tbody { @for row in rows { (line(station, row)) } }
                    }
                }
            }
        }
    };
    page(stations, ("/nodes", "Nodes"), &content)
}

/// The heading of a column, which sorts by it; that of the present one turns the order.
fn heading(station: &StationState, shown: &NodesQuery, column: Column, name: &str) -> Markup {
    let is_it = column == shown.sort;
    let turned = match (is_it, shown.order) {
        (true, Order::Down) => Order::Up,
        _ => Order::Down,
    };
    let rises = !matches!(column, Column::Hops | Column::Energy) == (shown.order == Order::Down);
    let (sort, arrow) = match rises {
        true => ("ascending", " \u{2191}"),
        false => ("descending", " \u{2193}"),
    };
    html! {
        th aria-sort=[is_it.then_some(sort)] {
            a href=(shown.address(station, (shown.show, column, turned))) { (name) @if is_it { (arrow) } }
        }
    }
}

/// Why there is no node under a filter, and what to do.
fn nobody(filter: Filter, station: &StationState) -> &'static str {
    match filter {
        Filter::All => "There are no nodes.",
        Filter::Silent if station.snapshot().is_none() => {
            "Links are not measured yet, so nobody knows who is silent: measure them on the map's page."
        }
        Filter::Silent => "No node is silent.",
        Filter::Battery if census::least_battery(&station.transfers).is_none() => {
            "The configuration says of no battery that it is low: set least_battery_v under [transfers]."
        }
        Filter::Battery => "No battery is low.",
        Filter::Old => "Every node brought an object within 24 h.",
    }
}

fn line(station: &StationState, (row, distance): &Placed) -> Markup {
    let of = query(station);
    let place = &station.facts.network.place;
    let none = "\u{2013}";
    html! {
        tr {
            td {
                a href=(format!("/nodes/{}{of}", row.id)) { "node " (place.named(row.id)) }
                @if row.is_sink { " " small { "base station" } }
                @if row.is_silent() { " " span.bad { "silent" } }
                @if row.health.left_alone.is_some() { " " small { "left alone" } }
            }
            td data-name=[matches!(distance, Distance::Hops(_)).then_some("hops")] {
                @match distance {
                    Distance::Sink => (none),
                    Distance::Hops(hops) => (hops),
                    Distance::Unlinked => "no good link",
                    Distance::Unknown => "unknown",
                }
            }
            td {
                @match row.health.battery {
                    Some((level, _)) => { span.bad[row.is_low()] { (level) } }
                    None => (none),
                }
            }
            td {
                @match row.health.spent_j { Some(joules) => (format!("{joules:.2} J")), None => (none) }
            }
            td data-name="heard" { @match row.heard_at { Some(at) => (ago(at)), None => (none) } }
            td data-name="object" {
                @match &row.last {
                    Some(last) => { a href=(format!("/objects/{}", last.transfer.0)) { (ago(last.at)) } }
                    None => (none),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_their_values_do() {
        for (place, (filter, ..)) in Filter::ALL.iter().enumerate() {
            assert_eq!(*filter as usize, place);
        }
        for (place, (column, ..)) in Column::ALL.iter().enumerate() {
            assert_eq!(*column as usize, place);
        }
    }
}
