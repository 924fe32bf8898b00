//! `thalweg plan`: routes, groups, channels and predictions from a testbed's links.

use std::collections::BTreeMap;

use serde::Serialize;
use thalweg_lab::testbed::{Physics, Testbed};
use thalweg_medium::{random, EarId, Environment};
use thalweg_planner::{
    best_channels, plan, suggest_pairs, Group, LinkQualities, PairRequest, Place, Plan, PlanError,
    Prediction, RouteRequest, Topology,
};
use thalweg_units::{Channel, Dbm, NodeId};

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::output::{print, print_json, write_file};
use crate::table::{number, Align, Table};

/// Channels of a pipeline where none are asked for (P3, section V).
const CHANNELS: usize = 4;
/// Sources farther than this are passed over where none is asked for (P3's longest route).
const FARTHEST: usize = 6;

/// Plans, and writes what was asked for.
pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let testbed = Testbed::load(&args.links).map_err(Failure::input)?;
    let links = link_qualities(&testbed, &testbed.realise(args.seed)).map_err(Failure::input)?;
    let plan = find(args, &testbed, &links)?;
    if let Some(path) = &args.graphml {
        write_file(path, &plan.to_graphml(Some(&links)))?;
    }
    if let Some(path) = &args.svg {
        write_file(path, &plan.to_svg(&links))?;
    }
    let shown = Shown::new(&testbed, args, &plan);
    if args.json {
        print_json(&shown)
    } else {
        print(&text(&shown))
    }
}

/// The links as measured, or as the model of a testbed that was not measured has them.
fn link_qualities(
    testbed: &Testbed,
    environment: &Environment,
) -> Result<LinkQualities, thalweg_planner::LinkError> {
    let nodes = testbed.len();
    let mut links = LinkQualities::new(nodes);
    if let Physics::Measured(measured) = &testbed.physics {
        for link in &measured.links {
            let (from, to) = (usize::from(link.from), usize::from(link.to));
            links.record_prr(from, to, link.channel, link.prr, link.rssi_dbm.map(Dbm))?;
        }
    } else {
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            for channel in testbed.channels.iter().filter(|_| from != to) {
                let (a, b) = (EarId(from as u32), EarId(to as u32));
                let prr = environment.prr(a, b, channel, 127, Dbm(0.0));
                if prr > 0.0 {
                    let rssi = environment.mean_rssi(a, b, channel);
                    links.record_prr(from, to, channel, prr.min(1.0), rssi)?;
                }
            }
        }
    }
    let places: Option<Vec<Place>> = environment.ears.iter().map(place).collect();
    if let Some(places) = places {
        links.set_places(places)?;
    }
    Ok(links)
}

fn place(ear: &thalweg_medium::Ear) -> Option<Place> {
    let placement = ear.placement?;
    let thalweg_medium::Position { x_m, y_m, z_m } = placement.position;
    Some(Place {
        x_m,
        y_m,
        z_m,
        floor: placement.floor,
    })
}

fn find(args: &PlanArgs, testbed: &Testbed, links: &LinkQualities) -> Result<Plan, Failure> {
    let index = |node: NodeId| {
        let unknown = || Failure::Input(format!("{}: has no node {node}", args.links));
        testbed.index_of(node).ok_or_else(unknown)
    };
    let mut sink = args.to.map_or(Ok(testbed.sink_index()), index)?;
    let mut source = args.from.map(index).transpose()?;
    let mut request = RouteRequest::new(sink, sink);
    request.channels = match &args.channels {
        Some(list) => list.0.clone(),
        None => best_channels(links, &request.rule, CHANNELS),
    };
    let routing = request.channels.first().copied();
    request.routing_channel = routing.unwrap_or(request.routing_channel);
    request.max_paths = args.paths.map(usize::from);
    request.hops = args.hops.map(usize::from);
    request.transfer.packets = args.bytes.div_ceil(u32::from(args.payload));
    request.transfer.cycle.payload_bytes = usize::from(args.payload);
    // Nobody has said where the base station of a trace is: the ends that it supports best.
    let free = (args.from, args.to) == (None, None);
    if free && matches!(testbed.physics, Physics::Measured(_)) {
        let pairs = PairRequest {
            route: request.clone(),
            ..PairRequest::new(1)
        };
        let mut rng = random::stream(args.seed, "pairs", &[]);
        if let Some(pair) = suggest_pairs(links, &pairs, &mut rng).first() {
            (source, sink) = (Some(pair.source), pair.sink);
        }
    }
    request.sink = sink;
    let seek = |source: usize| {
        let request = RouteRequest {
            source,
            ..request.clone()
        };
        let mut rng = random::stream(args.seed, "plan", &[source as u64, sink as u64]);
        plan(links, &request, &mut rng)
    };
    let found = match source {
        Some(source) => seek(source),
        None => farthest(links, &request, seek),
    };
    found.map_err(|error| Failure::Input(format!("{}: {}", args.links, named(&error, testbed))))
}

/// The plan for the farthest source with enough paths, else for the one with most.
fn farthest(
    links: &LinkQualities,
    request: &RouteRequest,
    seek: impl Fn(usize) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    let topology = Topology::new(links, request.routing_channel, &request.rule);
    let mut by_hops: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, hops) in topology.hops_from(request.sink).into_iter().enumerate() {
        if let Some(hops @ 1..=FARTHEST) = hops {
            by_hops.entry(hops).or_default().push(node);
        }
    }
    let mut best: Option<Plan> = None;
    for source in by_hops.into_values().rev().flatten() {
        let Ok(plan) = seek(source) else { continue };
        if plan.path_count()
            >= request
                .min_paths
                .min(request.max_paths.unwrap_or(usize::MAX))
        {
            return Ok(plan);
        }
        if best
            .as_ref()
            .is_none_or(|best| plan.path_count() > best.path_count())
        {
            best = Some(plan);
        }
    }
    // Nobody can reach the sink: the planner says so of any other node.
    best.map_or_else(|| seek(usize::from(request.sink == 0)), Ok)
}

/// The planner speaks of indices; users know nodes by their ids.
fn named(error: &PlanError, testbed: &Testbed) -> String {
    let id = |index: usize| {
        testbed
            .id_of(index)
            .map_or(index, |id| usize::from(id.get()))
    };
    let error = match error.clone() {
        PlanError::SourceIsSink { node } => PlanError::SourceIsSink { node: id(node) },
        PlanError::Unreachable {
            source_node,
            sink,
            channel,
            reached,
            far,
            rule,
        } => {
            let (source_node, sink) = (id(source_node), id(sink));
            PlanError::Unreachable {
                source_node,
                sink,
                channel,
                reached,
                far,
                rule,
            }
        }
        PlanError::NoPath {
            hops,
            source_node,
            sink,
            shortest,
        } => PlanError::NoPath {
            hops,
            source_node: id(source_node),
            sink: id(sink),
            shortest,
        },
        other => other,
    };
    error.to_string()
}

/// A plan as `--json` prints it: nodes by id.
#[derive(Debug, Serialize)]
struct Shown {
    testbed: String,
    source: u16,
    sink: u16,
    hops: usize,
    shortest: usize,
    paths: Vec<Vec<u16>>,
    stages: Vec<Stage>,
    routing_channel: u8,
    packets: u32,
    payload: u8,
    seed: u64,
    warnings: Vec<String>,
    prediction: Prediction,
    pip: Pip,
}

/// The nodes that relay at one distance from the source.
#[derive(Debug, Serialize)]
struct Stage {
    stage: usize,
    channel: u8,
    odd: Vec<u16>,
    even: Vec<u16>,
}

#[derive(Debug, Serialize)]
struct Pip {
    path: Vec<u16>,
    prediction: Prediction,
}

impl Shown {
    fn new(testbed: &Testbed, args: &PlanArgs, plan: &Plan) -> Self {
        let id = |index: usize| testbed.id_of(index).map_or(u16::MAX, NodeId::get);
        let ids = |nodes: &[usize]| nodes.iter().map(|&node| id(node)).collect::<Vec<_>>();
        let stage = |(stage, channel): (usize, &Channel)| {
            let group = |group| match stage {
                0 => vec![id(plan.source)],
                _ if stage == plan.hops => vec![id(plan.sink)],
                _ => plan.relays(stage, group).map(id).collect(),
            };
            let (odd, even) = (group(Group::Odd), group(Group::Even));
            Stage {
                stage,
                channel: channel.number(),
                odd,
                even,
            }
        };
        Self {
            testbed: testbed.name.clone(),
            source: id(plan.source),
            sink: id(plan.sink),
            hops: plan.hops,
            shortest: plan.shortest,
            paths: plan.paths.iter().map(|path| ids(path)).collect(),
            stages: plan.channels.iter().enumerate().map(stage).collect(),
            routing_channel: plan.routing_channel.number(),
            packets: args.bytes.div_ceil(u32::from(args.payload)),
            payload: args.payload,
            seed: args.seed,
            warnings: plan.warnings.iter().map(ToString::to_string).collect(),
            prediction: plan.prediction.clone(),
            pip: Pip {
                path: ids(&plan.pip.path),
                prediction: plan.pip.prediction.clone(),
            },
        }
    }
}

fn text(plan: &Shown) -> String {
    let mut text = format!(
        "{}: node {} to node {}, hops {}, node-distinct paths {}, sought on channel {}\n\n",
        plan.testbed,
        plan.source,
        plan.sink,
        plan.hops,
        plan.paths.len(),
        plan.routing_channel
    );
    let (left, right) = (Align::Left, Align::Right);
    let mut stages = Table::new([
        ("stage", right),
        ("channel", right),
        ("odd group", left),
        ("even group", left),
    ]);
    let list = |nodes: &[u16]| {
        nodes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    for stage in &plan.stages {
        let (number, channel) = (stage.stage.to_string(), stage.channel.to_string());
        stages.row([number, channel, list(&stage.odd), list(&stage.even)]);
    }
    text.push_str(&stages.render());
    text.push_str(&format!(
        "\nexpected of {} packets of {} bytes\n\n",
        plan.packets, plan.payload
    ));
    let mut expected = Table::new([("", left), ("P3", right), ("PIP", right)]);
    for (name, value) in EXPECTED {
        let (p3, pip) = (value(&plan.prediction), value(&plan.pip.prediction));
        expected.row([(*name).to_owned(), p3, pip]);
    }
    text.push_str(&expected.render());
    if !plan.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &plan.warnings {
        text.push_str(&format!("note: {warning}\n"));
    }
    text
}

type Cell = fn(&Prediction) -> String;

const EXPECTED: &[(&str, Cell)] = &[
    ("goodput, kbit/s", |p| number(Some(p.goodput_kbps), 1.0, 1)),
    ("first-round reliability, %", |p| {
        number(Some(p.first_round), 100.0, 1)
    }),
    ("rounds", |p| number(p.rounds, 1.0, 1)),
    ("time, s", |p| number(p.time_s, 1.0, 2)),
    ("energy, J", |p| number(p.energy_j, 1.0, 2)),
    ("completes, %", |p| number(Some(p.completion), 100.0, 1)),
    ("active nodes", |p| p.active_nodes.to_string()),
];
