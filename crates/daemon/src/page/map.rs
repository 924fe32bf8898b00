//! Maps of the network: links, hops from the base station, a route, the links of one node.

use std::collections::VecDeque;

use serde_json::Value;
use thalweg_draw::map::{Caption, Course, Key, Link, Map, Node, Place, Places, Shape, Stroke};
use thalweg_draw::style::{BY_HOPS, FAINT, IDLE, LINK, OTHER_LINK, PAPER, SINK, SOURCE};
use thalweg_planner::{LinkQualities, Plan};
use thalweg_units::{Channel, NodeId};

use thalweg_host::connector::Facts;

/// The share of frames that a good link carries.
pub(super) const GOOD: f64 = 0.9;
/// Links that carry a smaller share are not drawn.
const DRAWN: f64 = 0.5;

/// What is marked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marked<'a> {
    /// Nothing.
    Nothing,
    /// The nodes of a transfer.
    Route(&'a Route),
    /// A node and its links.
    Node(usize),
}

/// The route of a transfer.
#[derive(Debug, Clone)]
pub(super) struct Route {
    source: usize,
    active: Vec<usize>,
    paths: Vec<Vec<usize>>,
}

impl Route {
    /// The route of `plan`.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            source: plan.source,
            active: plan.active_nodes().iter().map(|(node, _)| *node).collect(),
            paths: plan.paths.clone(),
        }
    }
    /// The route of a plan in a job's outcome; none where its nodes are not in `facts`.
    pub(super) fn of_planned(planned: &Value, facts: &Facts) -> Option<Self> {
        let index = |node: &Value| {
            let id = NodeId::new(u16::try_from(node.as_u64()?).ok()?).ok()?;
            facts.network.place.index_of(id).ok()
        };
        let nodes = |list: &Value| list.as_array()?.iter().map(index).collect::<Option<_>>();
        let paths = planned.get("paths")?.as_array()?;
        let paths: Vec<Vec<usize>> = paths.iter().map(nodes).collect::<Option<_>>()?;
        let groups = planned.get("stages")?.as_array()?.iter();
        let groups = groups.flat_map(|stage| [stage.get("odd"), stage.get("even")]);
        let active: Vec<Vec<usize>> = groups.flatten().map(nodes).collect::<Option<_>>()?;
        Some(Self {
            source: index(planned.get("source")?)?,
            active: active.concat(),
            paths,
        })
    }
}

/// Reception ratio of a link on `channel`, both ways.
fn both(links: &LinkQualities, a: usize, b: usize, channel: Channel) -> f64 {
    links.prr(a, b, channel).min(links.prr(b, a, channel))
}

/// Hops of each node from node `sink`, over links that are good both ways.
pub(super) fn hops(links: &LinkQualities, sink: usize, channel: Channel) -> Vec<Option<usize>> {
    let mut hops = vec![None; links.nodes()];
    let mut left = VecDeque::from([(sink, 0)]);
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

/// What a node of a map depends on.
struct NodeStyle<'a> {
    marked: Marked<'a>,
    /// The nodes that are marked.
    active: Vec<usize>,
    sink: usize,
    /// Hops from the base station; none before links are measured.
    hops: Option<Vec<Option<usize>>>,
    /// Whether there are too many nodes for a name in each.
    is_small: bool,
    /// How addresses of nodes end.
    query: &'a str,
}

impl NodeStyle<'_> {
    fn hint(&self, index: usize, id: NodeId, hops: Option<usize>) -> String {
        let place = match (index == self.sink, hops, &self.hops) {
            (true, ..) => "the base station".to_owned(),
            (_, Some(1), _) => "1 hop from the base station".to_owned(),
            (_, Some(hops), _) => format!("{hops} hops from the base station"),
            (_, None, Some(_)) => "no good link towards the base station".to_owned(),
            (_, None, None) => "links not measured yet".to_owned(),
        };
        format!("node {id}: {place}")
    }
    fn node(&self, index: usize, id: NodeId) -> Node {
        let hops = self.hops.as_ref();
        let hops = hops.and_then(|hops| hops.get(index).copied().flatten());
        let (is_sink, is_active) = (index == self.sink, self.active.contains(&index));
        let (is_route, is_source) = match self.marked {
            Marked::Route(route) => (true, route.source == index),
            _ => (false, false),
        };
        let fill = match (hops, &self.hops) {
            _ if is_route && !is_active => IDLE,
            (Some(hops), _) => BY_HOPS[hops.min(BY_HOPS.len() - 1)],
            (None, Some(_)) => PAPER,
            (None, None) => IDLE,
        };
        let (edge, stroke) = match hops.is_none() && self.hops.is_some() && !is_sink {
            true => (FAINT, Stroke::Dashed),
            false => (PAPER, Stroke::Solid),
        };
        let (caption, radius) = match is_active || is_sink || !self.is_small {
            true => (Caption::Inside, 10.0),
            false => (Caption::Nowhere, 5.0),
        };
        Node {
            caption,
            radius,
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
            hint: self.hint(index, id, hops),
            ..Node::new(id.to_string(), fill)
        }
    }
}

/// The legend of a map with `marked`, and with links where there are some.
fn legend(marked: Marked<'_>, has_links: bool) -> Vec<Key> {
    let mut legend = Vec::new();
    if has_links {
        let about = "0 to 6 hops to the base station, or more";
        legend.push(Key::marks(Shape::Circle, &BY_HOPS, about));
    }
    legend.push(Key::ring(SINK, "base station"));
    match marked {
        Marked::Route(_) => {
            legend.push(Key::marks(Shape::Square, &[FAINT], "has the object"));
            legend.push(Key::line(OTHER_LINK, 3.0, Stroke::Solid, "route"));
            legend.push(Key::marks(Shape::Circle, &[IDLE], "has no part in it"));
        }
        Marked::Node(_) => legend.push(Key::ring(SOURCE, "this node")),
        Marked::Nothing => {}
    }
    if has_links {
        let name = match marked {
            Marked::Node(_) => "its links that carry half of their frames or more, both ways",
            _ => "link that carries half of its frames or more, both ways",
        };
        legend.push(Key::line(LINK, 1.5, Stroke::Solid, name));
    }
    legend
}

/// The network, with its links on a channel once they are measured; addresses of nodes end with `query`.
pub(super) fn map(
    (facts, query): (&Facts, &str),
    links: Option<(&LinkQualities, Channel)>,
    marked: Marked<'_>,
) -> Map {
    let (ids, sink) = (&facts.network.place.ids, facts.network.sink_index());
    let style = NodeStyle {
        marked,
        active: match marked {
            Marked::Route(route) => route.active.clone(),
            Marked::Node(node) => vec![node],
            Marked::Nothing => Vec::new(),
        },
        sink,
        hops: links.map(|(links, channel)| hops(links, sink, channel)),
        is_small: ids.len() > 60,
        query,
    };
    let mut drawn = links.map_or(Vec::new(), |of| link_lines(of, marked));
    if let Marked::Route(route) = marked {
        drawn.extend(paths(route));
    }
    let positions = facts.network.positions.as_ref().map(|positions| {
        let place = |p: &thalweg_planner::Place| Place {
            x_m: p.x_m,
            y_m: p.y_m,
            floor: p.floor,
        };
        positions.iter().map(place).collect()
    });
    let places = match (positions, links) {
        (Some(positions), _) => Places::Known(positions),
        (None, Some((links, channel))) => {
            by_links(links, channel, style.hops.as_deref().unwrap_or(&[]))
        }
        (None, None) => Places::Columns(columns(ids.len())),
    };
    let subtitle = match links {
        Some((links, channel)) => format!(
            "channel {channel}: {} links heard; follow a node for its own",
            links.summary(channel).heard_pairs
        ),
        None => "links not measured yet".to_owned(),
    };
    let nodes = ids.iter().enumerate();
    Map {
        title: facts.network.place.name.clone(),
        subtitle,
        places,
        nodes: nodes.map(|(index, id)| style.node(index, *id)).collect(),
        links: drawn,
        legend: legend(marked, links.is_some()),
        charts: Vec::new(),
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
    // Many links need less ink each.
    let ink = (8.0 / (pairs.len() as f64).sqrt()).clamp(0.1, 0.8);
    let ink = match marked {
        Marked::Node(_) => 1.0,
        Marked::Route(_) => ink * 0.5,
        Marked::Nothing => ink,
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
