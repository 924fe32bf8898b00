//! Maps of the network: hops from the base station, names, links, a route, the links of one node.
//!
//! Each map is drawn twice, for screens and for phones; the style shows one of the two. For the keyboard a map is one
//! stop, from which the script's arrows lead to nodes; without scripts the page of nodes leads to them. Tests: `map_tests.rs`.

use std::collections::VecDeque;

use maud::{html, Markup, PreEscaped};
use serde_json::Value;
use thalweg_draw::map::{
    Caption, Course, Key, Link, Map, Node, Place, Places, Shape, Stroke, WIDTH,
};
use thalweg_draw::style::{FAINT, IDLE, LINK, OTHER_LINK, PAPER, SINK, SOURCE};
use thalweg_planner::{LinkQualities, Plan};
use thalweg_units::{Channel, NodeId};

use super::query;
use super::text::count;
use crate::good_links::GOOD;
use crate::station_state::StationState;
use thalweg_host::connector::Facts;

/// Width of the map of a phone, in pixels.
const SLIM: f64 = 400.0;
/// Colours by hops from the base station, the nearest first. Each differs from the ground of a floor by a contrast of 3 or
/// more, also where the style turns it for the dark.
const BY_HOPS: [&str; 7] = [
    "#0b2545", "#134b80", "#1b7a9e", "#1f8467", "#6b7a12", "#a3620f", "#b04a33",
];
/// A node before links are measured.
const UNMEASURED: &str = "#6a7682";
/// More nodes than these have no room for numbers inside.
const ROOMY: usize = 150;
/// More nodes than these have no room for them on a phone.
const ROOMY_ON_PHONE: usize = 30;

/// Links that carry a smaller share are not drawn.
const DRAWN: f64 = 0.5;
/// So many links are drawn at most, the best.
const MOST_LINKS: usize = 3_000;

/// What stands at nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Captions {
    /// Numbers, where there is room.
    #[default]
    Numbers,
    /// Names, where nodes have some.
    Names,
}

/// Whether links are drawn that belong to nothing that is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LinksShown {
    /// They hide nodes.
    #[default]
    No,
    /// Somebody asked for them.
    Yes,
}

/// What is marked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marked<'a> {
    /// The nodes that a search found.
    Found(&'a [usize]),
    /// The nodes of a transfer.
    Route(&'a Route),
    /// A node and its links.
    Node(usize),
}

/// The route of a transfer, or of several at once.
#[derive(Debug, Clone)]
pub(super) struct Route {
    sources: Vec<usize>,
    active: Vec<usize>,
    paths: Vec<Vec<usize>>,
}

impl Route {
    /// The routes of `plans`; none where there are none.
    pub(super) fn of_all<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Option<Self> {
        let mut all = Self {
            sources: Vec::new(),
            active: Vec::new(),
            paths: Vec::new(),
        };
        for plan in plans {
            all.sources.push(plan.source);
            let active = plan.active_nodes();
            all.active.extend(active.iter().map(|(node, _)| *node));
            all.paths.extend(plan.paths.iter().cloned());
        }
        (!all.sources.is_empty()).then_some(all)
    }
    /// The route that a job's outcome has, of a plan or of a transfer; none where its nodes are not in `facts`.
    pub(super) fn stored(outcome: &Value, facts: &Facts) -> Option<Self> {
        let index = |node: &Value| {
            let id = NodeId::new(u16::try_from(node.as_u64()?).ok()?).ok()?;
            facts.network.place.index_of(id).ok()
        };
        let nodes = |list: &Value| list.as_array()?.iter().map(index).collect::<Option<_>>();
        let paths = outcome.get("paths")?.as_array()?;
        let paths: Vec<Vec<usize>> = paths.iter().map(nodes).collect::<Option<_>>()?;
        let active = match outcome.get("relays") {
            Some(relays) => nodes(relays)?,
            None => {
                let groups = outcome.get("stages")?.as_array()?.iter();
                let groups = groups.flat_map(|stage| [stage.get("odd"), stage.get("even")]);
                let active: Vec<Vec<usize>> = groups.flatten().map(nodes).collect::<Option<_>>()?;
                active.concat()
            }
        };
        Some(Self {
            sources: vec![index(outcome.get("source")?)?],
            active,
            paths,
        })
    }
}

/// Reception ratio of a link on `channel`, both ways.
fn both(links: &LinkQualities, a: usize, b: usize, channel: Channel) -> f64 {
    links.prr(a, b, channel).min(links.prr(b, a, channel))
}

/// Hops of each node from the nearest of `sinks`, over links that are good both ways.
pub(super) fn hops(
    links: &LinkQualities,
    sinks: impl Iterator<Item = usize>,
    channel: Channel,
) -> Vec<Option<usize>> {
    let mut hops = vec![None; links.nodes()];
    let mut left: VecDeque<_> = sinks.map(|sink| (sink, 0)).collect();
    while let Some((node, far)) = left.pop_front() {
        match hops.get_mut(node) {
            Some(links @ None) => *links = Some(far),
            _ => continue,
        }
        for (next, _) in links.heard_from(node, channel) {
            if both(links, node, next, channel) >= GOOD {
                left.push_back((next, far + 1));
            }
        }
    }
    hops
}

/// The colour of a node so many hops away, where the farthest is `deepest` hops away.
fn by_hops(hops: usize, deepest: usize) -> &'static str {
    let most = BY_HOPS.len() - 1;
    let step = match deepest {
        _ if hops == 0 => return SINK,
        0 | 1 => 0,
        // As far apart as the network's own depth allows.
        _ => ((hops - 1) * most + (deepest - 1) / 2) / (deepest - 1),
    };
    BY_HOPS[step.min(most)]
}

/// What a map shows.
pub(super) struct Look<'a> {
    pub(super) marked: Marked<'a>,
    pub(super) captions: Captions,
    pub(super) links: LinksShown,
}

impl<'a> Look<'a> {
    /// `marked`, with numbers and without other links.
    pub(super) fn at(marked: Marked<'a>) -> Self {
        Self {
            marked,
            captions: Captions::default(),
            links: LinksShown::default(),
        }
    }
}

/// The map of a station.
pub(super) fn figure(station: &StationState, look: &Look<'_>) -> Markup {
    let snapshot = station.snapshot();
    let links = snapshot.as_ref().map(|snapshot| {
        let state = &snapshot.link_state;
        (state.links(), state.routing_channel())
    });
    let query = query(station);
    // Links of SVG are left out of the keyboard's way; the frame is its only stop.
    let drawn = |width: f64| {
        let svg = map((&station.facts, &query), links, look, width).to_svg();
        PreEscaped(svg.replace("<a href", "<a tabindex=\"-1\" href"))
    };
    html! {
        div.map tabindex="0" role="group" aria-label="Map: arrow keys lead from node to node, Enter opens one" {
            div.broad { (drawn(WIDTH)) }
            div.slim { (drawn(SLIM)) }
        }
    }
}

/// What a node of a map depends on.
struct NodeStyle<'a> {
    facts: &'a Facts,
    look: &'a Look<'a>,
    /// The nodes that are marked.
    active: Vec<usize>,
    /// Hops from the base station; none before links are measured.
    hops: Option<Vec<Option<usize>>>,
    /// Hops of the farthest.
    deepest: usize,
    /// Whether a number fits into a node.
    is_roomy: bool,
    /// Whether there are so many that even the circles have to be small.
    is_dense: bool,
    /// How addresses of nodes end.
    query: &'a str,
}

impl NodeStyle<'_> {
    fn hint(&self, id: NodeId, hops: Option<usize>) -> String {
        let place = match (self.facts.network.is_station(id), hops, &self.hops) {
            (true, ..) => "the base station".to_owned(),
            (_, Some(hops), _) => format!("{} from the base station", count(hops, "hop")),
            (_, None, Some(_)) => "no good link towards the base station".to_owned(),
            (_, None, None) => "links not measured yet".to_owned(),
        };
        format!("node {}: {place}", self.facts.network.place.named(id))
    }
    fn caption(&self, id: NodeId, is_marked: bool) -> (Caption, String) {
        let label = self.facts.network.place.labels.get(&id);
        match (self.look.captions, label) {
            (Captions::Names, Some(label)) => (Caption::Small, label.clone()),
            _ if self.is_roomy || is_marked => (Caption::Inside, id.to_string()),
            _ => (Caption::Nowhere, id.to_string()),
        }
    }
    fn node(&self, index: usize, id: NodeId) -> Node {
        let hops = self.hops.as_ref();
        let hops = hops.and_then(|hops| hops.get(index).copied().flatten());
        let (is_sink, is_active) = (
            self.facts.network.is_station(id),
            self.active.contains(&index),
        );
        let (is_route, is_source) = match self.look.marked {
            Marked::Route(route) => (true, route.sources.contains(&index)),
            _ => (false, false),
        };
        let is_idle = is_route && !is_active;
        let fill = match (hops, &self.hops) {
            _ if is_idle => IDLE,
            (Some(hops), _) => by_hops(hops, self.deepest),
            (None, Some(_)) => PAPER,
            (None, None) if is_sink => SINK,
            (None, None) => UNMEASURED,
        };
        let (edge, stroke) = match hops.is_none() && self.hops.is_some() && !is_sink {
            true => (FAINT, Stroke::Dashed),
            false if is_idle => (FAINT, Stroke::Solid),
            false => (PAPER, Stroke::Solid),
        };
        let (caption, name) = self.caption(id, is_active || is_sink);
        Node {
            radius: match caption {
                Caption::Inside if self.is_dense => 8.0,
                Caption::Inside => 10.0,
                _ => 5.0,
            },
            caption,
            edge,
            stroke,
            shape: if is_source {
                Shape::Square
            } else {
                Shape::Circle
            },
            ring: match (is_sink, is_active && (is_source || !is_route)) {
                (true, _) => Some(SINK),
                (_, true) => Some(SOURCE),
                _ => None,
            },
            leads_to: Some(format!("/nodes/{id}{}", self.query)),
            hint: self.hint(id, hops),
            ..Node::new(name, fill)
        }
    }
}

/// The legend of a map; `deepest` is none before links are measured.
fn legend(look: &Look<'_>, deepest: Option<usize>) -> Vec<Key> {
    let mut legend = vec![Key::ring(SINK, "base station")];
    if let Some(deepest) = deepest.filter(|deepest| *deepest > 0) {
        let colours: Vec<&str> = (1..=deepest.min(BY_HOPS.len()))
            .map(|hops| by_hops(hops, deepest.min(BY_HOPS.len())))
            .collect();
        let about = match deepest {
            1 => "1 hop away".to_owned(),
            deepest => format!("1 to {deepest} hops away"),
        };
        legend.push(Key::marks(Shape::Circle, &colours, about));
    }
    let line = |name| Key::line(LINK, 1.5, Stroke::Solid, name);
    match look.marked {
        Marked::Route(_) => {
            legend.push(Key::marks(Shape::Square, &[FAINT], "has the object"));
            legend.push(Key::line(OTHER_LINK, 3.0, Stroke::Solid, "route"));
            legend.push(Key::marks(Shape::Circle, &[IDLE], "has no part in it"));
        }
        Marked::Node(_) => {
            legend.push(Key::ring(SOURCE, "this node"));
            if deepest.is_some() {
                legend.push(line("carries half of its frames or more, both ways"));
            }
        }
        Marked::Found([]) => {}
        Marked::Found(_) => legend.push(Key::ring(SOURCE, "found")),
    }
    if look.links == LinksShown::Yes && deepest.is_some() {
        legend.push(line("link that carries half of its frames or more"));
    }
    legend
}

/// The network in a picture of that width, with its links on a channel once they are measured; addresses of nodes end
/// with `query`.
fn map(
    (facts, query): (&Facts, &str),
    links: Option<(&LinkQualities, Channel)>,
    look: &Look<'_>,
    width: f64,
) -> Map {
    let ids = &facts.network.place.ids;
    let sinks = || facts.network.station_indices();
    let far = links.map(|(links, channel)| hops(links, sinks(), channel));
    let deepest = far.iter().flatten().flatten().copied().max();
    let style = NodeStyle {
        facts,
        look,
        active: match look.marked {
            Marked::Route(route) => route.active.clone(),
            Marked::Node(node) => vec![node],
            Marked::Found(nodes) => nodes.to_vec(),
        },
        deepest: deepest.unwrap_or(0),
        is_roomy: ids.len() <= if width < WIDTH { ROOMY_ON_PHONE } else { ROOMY },
        is_dense: ids.len() > 60 || width < WIDTH,
        hops: far,
        query,
    };
    let mut drawn = match (links, look.marked, look.links) {
        (Some(of), Marked::Node(_), _) | (Some(of), _, LinksShown::Yes) => {
            link_lines(of, look.marked)
        }
        _ => Vec::new(),
    };
    if let Marked::Route(route) = look.marked {
        drawn.extend(paths(route));
    }
    let subtitle = match links {
        Some((links, channel)) => {
            let heard = count(links.summary(channel).heard_pairs, "link");
            format!("{heard} heard on channel {channel}")
        }
        None => "links not measured yet".to_owned(),
    };
    let nodes = ids.iter().enumerate();
    Map {
        title: facts.network.place.name.clone(),
        subtitle,
        width,
        places: places(facts, links, style.hops.as_deref().unwrap_or(&[])),
        nodes: nodes.map(|(index, id)| style.node(index, *id)).collect(),
        links: drawn,
        legend: legend(look, links.map(|_| style.deepest)),
        charts: Vec::new(),
    }
}

/// Where nodes are drawn: where they stand, else near those that they hear, else in columns. `far` has their hops.
fn places(
    facts: &Facts,
    links: Option<(&LinkQualities, Channel)>,
    far: &[Option<usize>],
) -> Places {
    let place = |p: &thalweg_planner::Place| Place {
        x_m: p.x_m,
        y_m: p.y_m,
        floor: p.floor,
    };
    match (&facts.network.positions, links) {
        (Some(positions), _) => Places::Known(positions.iter().map(place).collect()),
        (None, Some((links, channel))) => by_links(links, channel, far),
        (None, None) => Places::Columns(columns(facts.network.place.ids.len())),
    }
}

/// Links that carry frames both ways; the better, the darker.
fn link_lines((links, channel): (&LinkQualities, Channel), marked: Marked<'_>) -> Vec<Link> {
    let pairs = (0..links.nodes()).flat_map(|a| {
        let heard = links.heard_from(a, channel).filter(move |(b, _)| a < *b);
        heard.map(move |(b, _)| (a, b, both(links, a, b, channel)))
    });
    let is_meant = |a: usize, b: usize| match marked {
        Marked::Node(node) => a == node || b == node,
        _ => true,
    };
    let mut pairs: Vec<_> = pairs
        .filter(|(a, b, ratio)| *ratio >= DRAWN && is_meant(*a, *b))
        .collect();
    pairs.sort_by(|x, y| x.2.total_cmp(&y.2).then((x.0, x.1).cmp(&(y.0, y.1))));
    // The best: more of them are no picture, and megabytes.
    let pairs = pairs.split_off(pairs.len().saturating_sub(MOST_LINKS));
    // Many links need less ink each.
    let ink = (8.0 / (pairs.len() as f64).sqrt()).clamp(0.1, 0.8);
    let ink = match marked {
        Marked::Node(_) => 1.0,
        Marked::Route(_) => ink * 0.5,
        Marked::Found(_) => ink,
    };
    let hint = |a: usize, b: usize| {
        let (to, back) = (links.prr(a, b, channel), links.prr(b, a, channel));
        format!(
            "{} to {}: {to:.2}, back {back:.2}",
            links.id(a),
            links.id(b)
        )
    };
    let link = |(a, b, ratio): (usize, usize, f64)| Link {
        width: 0.4 + 0.6 * ratio,
        opacity: ink * (0.2 + 0.7 * ratio * ratio),
        hint: matches!(marked, Marked::Node(_)).then(|| hint(a, b)),
        ..Link::new(a, b, LINK)
    };
    pairs.into_iter().map(link).collect()
}

/// Every hop of every path.
fn paths(route: &Route) -> impl Iterator<Item = Link> + '_ {
    let hops = route.paths.iter().flat_map(|path| path.windows(2));
    hops.map(|hop| Link {
        width: 2.5,
        course: Course::Bent,
        ..Link::new(hop[0], hop[1], OTHER_LINK)
    })
}

fn by_links(links: &LinkQualities, channel: Channel, far: &[Option<usize>]) -> Places {
    let near = |a: usize| links.heard_from(a, channel).map(|(b, _)| b).collect();
    let mut order: Vec<usize> = (0..links.nodes()).collect();
    order.sort_by_key(|n| far.get(*n).copied().flatten().unwrap_or(usize::MAX));
    Places::ByLinks {
        neighbours: (0..links.nodes()).map(near).collect(),
        order,
    }
}

/// Nodes of which nothing is known, in columns of ten.
fn columns(nodes: usize) -> Vec<(String, Vec<usize>)> {
    let all: Vec<usize> = (0..nodes).collect();
    all.chunks(10)
        .map(|part| (String::new(), part.to_vec()))
        .collect()
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
