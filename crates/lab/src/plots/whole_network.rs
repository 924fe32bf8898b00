//! All nodes of a network: how long each lasts, or which base station collects from it.

use thalweg_draw::map::{Caption, Key, Map, Node, Place, Places, Shape, WIDTH};
use thalweg_draw::style::{cause, BY_HOPS, IDLE, LINK, OTHER_LINK, SINK};
use thalweg_planner::LinkQualities;

/// Colours of lifetimes, the shortest first.
const SPANS: usize = 5;
/// Colours of base stations and of the nodes that they serve.
const STATIONS: [&str; 8] = [
    LINK,
    OTHER_LINK,
    cause::BUSY,
    cause::WITHHELD,
    cause::COLLISION,
    cause::AWAY,
    cause::MISSING,
    cause::EXTERNAL,
];

/// Nodes coloured by the days that their batteries last, as many of one colour as of another. `days` are those of each
/// node, by index; base stations have none. `name` says what a node is called.
pub fn lifetime(
    (title, subtitle): (String, String),
    links: &LinkQualities,
    days: &[Option<f64>],
    name: &dyn Fn(usize) -> String,
) -> Map {
    let mut sorted: Vec<f64> = days.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let span = |days: f64| {
        let before = sorted.partition_point(|one| *one < days);
        (before * SPANS / sorted.len().max(1)).min(SPANS - 1)
    };
    let node = |(index, days): (usize, &Option<f64>)| match days {
        Some(days) => Node {
            hint: format!("node {}: {days:.1} days", name(index)),
            ..dot(links, index, BY_HOPS[span(*days)])
        },
        None => station(links, index, IDLE, name),
    };
    let key = |at: usize| {
        let of_span = || sorted.iter().filter(|days| span(**days) == at);
        let (first, last) = (of_span().next()?, of_span().next_back()?);
        let text = format!("{first:.1} to {last:.1} days");
        Some(Key::marks(Shape::Circle, &[BY_HOPS[at]], text))
    };
    let mut legend: Vec<Key> = (0..SPANS).filter_map(key).collect();
    legend.push(Key::ring(SINK, "base station"));
    let nodes = days.iter().enumerate().map(node).collect();
    map((title, subtitle), links, nodes, legend)
}

/// Nodes coloured by the base station that collects from them. `serves` has the base station of each node, by index: its own
/// index for a base station, none for a node out of reach. `name` says what a node is called.
pub fn base_stations(
    (title, subtitle): (String, String),
    links: &LinkQualities,
    serves: &[Option<usize>],
    name: &dyn Fn(usize) -> String,
) -> Map {
    let is_station = |(index, to): &(usize, &Option<usize>)| **to == Some(*index);
    let stations = serves.iter().enumerate().filter(is_station);
    let stations: Vec<usize> = stations.map(|(index, _)| index).collect();
    let colour = |to: usize| {
        let place = stations.iter().position(|station| *station == to);
        place
            .and_then(|at| STATIONS.get(at))
            .copied()
            .unwrap_or(IDLE)
    };
    let node = |(index, to): (usize, &Option<usize>)| match to {
        Some(to) if *to == index => station(links, index, colour(index), name),
        Some(to) => Node {
            hint: format!("node {}: to {}", name(index), name(*to)),
            ..dot(links, index, colour(*to))
        },
        None => Node {
            hint: format!("node {}: out of reach", name(index)),
            ..dot(links, index, IDLE)
        },
    };
    let key = |to: &usize| {
        let text = format!("collected by {}", name(*to));
        Key::marks(Shape::Circle, &[colour(*to)], text)
    };
    let mut legend: Vec<Key> = stations.iter().map(key).collect();
    legend.push(Key::ring(SINK, "base station"));
    if serves.iter().any(Option::is_none) {
        legend.push(Key::marks(Shape::Circle, &[IDLE], "out of reach"));
    }
    let nodes = serves.iter().enumerate().map(node).collect();
    map((title, subtitle), links, nodes, legend)
}

fn dot(links: &LinkQualities, index: usize, fill: &'static str) -> Node {
    Node {
        caption: Caption::Nowhere,
        radius: 5.0,
        ..Node::new(links.id(index).to_string(), fill)
    }
}

fn station(
    links: &LinkQualities,
    index: usize,
    fill: &'static str,
    name: &dyn Fn(usize) -> String,
) -> Node {
    Node {
        name: name(index),
        caption: Caption::Beside,
        radius: 7.0,
        ring: Some(SINK),
        hint: format!("base station {}", name(index)),
        ..dot(links, index, fill)
    }
}

fn map(
    (title, subtitle): (String, String),
    links: &LinkQualities,
    nodes: Vec<Node>,
    mut legend: Vec<Key>,
) -> Map {
    let place = |p: &thalweg_planner::Place| Place {
        x_m: p.x_m,
        y_m: p.y_m,
        floor: p.floor,
    };
    let places = match links.places().filter(|places| !places.is_empty()) {
        Some(places) => Places::Known(places.iter().map(place).collect()),
        None => {
            legend.push(Key::remark("places unknown: drawn by links"));
            by_links(links)
        }
    };
    Map {
        title,
        subtitle,
        width: WIDTH,
        places,
        nodes,
        links: Vec::new(),
        legend,
        charts: Vec::new(),
    }
}

fn by_links(links: &LinkQualities) -> Places {
    let mut neighbours = vec![Vec::new(); links.nodes()];
    for (from, near) in neighbours.iter_mut().enumerate() {
        for channel in links.channels().iter() {
            let good = links.heard_from(from, channel);
            near.extend(good.filter(|(_, q)| q.prr >= 0.5).map(|(to, _)| to));
        }
        near.sort_unstable();
        near.dedup();
    }
    let order = (0..links.nodes()).collect();
    Places::ByLinks { neighbours, order }
}
