//! A plan: relays, their channels and groups, and paths.

use thalweg_draw::map::{
    Caption, Course, Key, Link, Map, Node, Place, Places, Shape, Stroke, WIDTH,
};
use thalweg_draw::style::{series, FAINT, IDLE, LINK, OTHER_LINK, SINK, SOURCE};
use thalweg_planner::{Group, LinkQualities, Place as PlannedPlace, Plan, Prediction, Style};
use thalweg_units::Channel;

/// A plan: relays coloured by reception channel and shaped by group, paths between them, on the floors of
/// the building, or stage by stage where `links` has no places.
pub fn plan(plan: &Plan, links: &LinkQualities) -> Map {
    let place = |p: &PlannedPlace| Place {
        x_m: p.x_m,
        y_m: p.y_m,
        floor: p.floor,
    };
    let places = links.places().filter(|places| !places.is_empty());
    Map {
        title: format!(
            "Node {} to node {}: {} hop{}, {}",
            links.id(plan.source),
            links.id(plan.sink),
            plan.hops,
            if plan.hops == 1 { "" } else { "s" },
            match plan.path_count() {
                1 => "one path".to_owned(),
                many => format!("{many} node-distinct paths"),
            }
        ),
        subtitle: predicted(plan),
        width: WIDTH,
        places: match places {
            Some(places) => Places::Known(places.iter().map(place).collect()),
            None => Places::Columns(columns(plan)),
        },
        nodes: nodes(plan, links),
        links: paths(plan),
        legend: legend(plan),
        charts: Vec::new(),
    }
}

/// The channels of `plan`, each once.
fn channels(plan: &Plan) -> Vec<Channel> {
    let mut channels: Vec<Channel> = Vec::new();
    for channel in plan.channels.iter().chain(&plan.last_even) {
        if !channels.contains(channel) {
            channels.push(*channel);
        }
    }
    channels
}

/// The group of a relay of `plan`.
fn group(plan: &Plan, node: usize) -> Option<Group> {
    let mut members = plan.stages.iter().flatten();
    members.find(|m| m.node == node).map(|m| m.group)
}

fn nodes(plan: &Plan, links: &LinkQualities) -> Vec<Node> {
    let (channels, active) = (channels(plan), plan.active_nodes());
    let node = |n: usize| {
        let name = links.id(n).to_string();
        let stage = active.iter().find(|(node, _)| *node == n);
        let Some(channel) = stage.and_then(|(_, stage)| plan.channels.get(*stage)) else {
            return Node {
                caption: Caption::Nowhere,
                radius: 2.6,
                ..Node::new(name, IDLE)
            };
        };
        let is_end = n == plan.source || n == plan.sink;
        Node {
            radius: if is_end { 11.0 } else { 8.5 },
            shape: match group(plan, n) {
                Some(Group::Even) => Shape::Square,
                _ => Shape::Circle,
            },
            ring: match n {
                n if n == plan.source => Some(SOURCE),
                n if n == plan.sink => Some(SINK),
                _ => None,
            },
            ..Node::new(name, colour(&channels, channel))
        }
    };
    (0..links.nodes()).map(node).collect()
}

fn colour(channels: &[Channel], channel: &Channel) -> &'static str {
    let index = channels.iter().position(|c| c == channel);
    series(index.unwrap_or(0))
}

fn paths(plan: &Plan) -> Vec<Link> {
    let paths = plan.paths.iter().enumerate().flat_map(|(at, path)| {
        path.windows(2).map(move |hop| {
            // The receiver's group decides, at the sink the sender's.
            let is_even = group(plan, hop[1]).or(group(plan, hop[0])) == Some(Group::Even);
            let colour = if is_even { OTHER_LINK } else { LINK };
            Link {
                stroke: match is_even {
                    true => Stroke::Dashed,
                    false => Stroke::Solid,
                },
                width: if *path == plan.pip.path { 3.0 } else { 1.5 },
                opacity: 0.75,
                course: Course::Bent,
                hint: Some(format!("path {}", at + 1)),
                ..Link::new(hop[0], hop[1], colour)
            }
        })
    });
    paths.collect()
}

fn legend(plan: &Plan) -> Vec<Key> {
    let channels = channels(plan);
    let channel_key = |channel: &Channel| {
        let stages = plan.channels.iter().enumerate();
        let stages = stages.filter(|(_, c)| *c == channel);
        let mut stages: Vec<String> = stages.map(|(stage, _)| stage.to_string()).collect();
        if plan.last_even == Some(*channel) {
            stages.push(format!("{} for even packets", plan.hops));
        }
        let plural = if stages.len() == 1 { "" } else { "s" };
        let name = format!("channel {channel} (stage{plural} {})", stages.join(", "));
        Key::marks(Shape::Circle, &[colour(&channels, channel)], name)
    };
    let mut legend: Vec<Key> = channels.iter().map(channel_key).collect();
    legend.extend([Key::ring(SOURCE, "source"), Key::ring(SINK, "sink")]);
    if plan.style == Style::Hops {
        return legend;
    }
    legend.extend([
        Key::marks(Shape::Circle, &[FAINT], "odd packets"),
        Key::line(LINK, 2.0, Stroke::Solid, "their paths"),
        Key::marks(Shape::Square, &[FAINT], "even packets"),
        Key::line(OTHER_LINK, 2.0, Stroke::Dashed, "their paths"),
    ]);
    if plan.paths.contains(&plan.pip.path) {
        legend.push(Key::line(FAINT, 3.0, Stroke::Solid, "PIP's path"));
    }
    legend
}

fn predicted(plan: &Plan) -> String {
    let prediction = &plan.prediction;
    let outcome = |p: &Prediction| match p.time_s {
        Some(time) if p.completion >= 0.01 => {
            format!("{:.0} kbit/s, {time:.1} s", p.goodput_kbps)
        }
        _ => "does not complete".into(),
    };
    if plan.style == Style::Hops {
        return format!("Predicted, hop by hop: {}", outcome(prediction));
    }
    format!(
        "Predicted: {} (first round {:.0} %, {} active nodes) · PIP on one of the paths: {}",
        outcome(prediction),
        prediction.first_round * 100.0,
        prediction.active_nodes,
        outcome(&plan.pip.prediction),
    )
}

/// Stages of longer routes have no room for long headings.
const LONG: usize = 5;
const LONGER: usize = 10;

/// The nodes of each stage, from the source's to the sink's.
fn columns(plan: &Plan) -> Vec<(String, Vec<usize>)> {
    let members = |stage: usize| match stage {
        0 => vec![plan.source],
        _ if stage == plan.hops => vec![plan.sink],
        _ => plan.stages[stage - 1].iter().map(|m| m.node).collect(),
    };
    let name = |(stage, channel): (usize, &Channel)| match plan.last_even {
        Some(even) if stage == plan.hops => format!("stage {stage} · channels {channel}, {even}"),
        // The legend has their channels.
        _ if plan.hops > LONGER => format!("{stage}"),
        _ if plan.hops > LONG => format!("{stage}: ch {channel}"),
        _ => format!("stage {stage} · channel {channel}"),
    };
    let stages = plan.channels.iter().enumerate();
    stages
        .map(|(n, channel)| (name((n, channel)), members(n)))
        .collect()
}
