//! `thalweg plan`: routes, groups, channels and predictions, on the links of a file or of a simulated survey.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use thalweg::{Network, Plan};
use thalweg_host::registry::Pipelined;
use thalweg_lab::plots;
use thalweg_planner::Prediction;
use thalweg_testbeds::Testbed;
use thalweg_units::NodeId;
use thalweg_wire::route::{Hopping, Scheme};

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::import::{label_table, labels, Label};
use crate::network::{self, Ends};
use crate::output::{plural, print, print_json, write_file};
use crate::outputs::{Kind, Outputs};
use crate::progress::Watch;
use crate::table::{folded, number, Table, NARROW};
use crate::whole_network;

/// Plans, and writes the results.
pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let outputs = Outputs::beside(args.force, [Path::new(&args.testbed)]);
    if let Some(path) = &args.svg {
        outputs.check("--svg", path, Kind::Svg)?;
    }
    let network = Network::open(&args.testbed)?;
    let ends = Ends::of(network.testbed(), args.from.as_slice(), args.to.as_slice())?;
    let network = network
        .seed(args.seed)
        .carried_by(args.protocol)
        .from(ends.from.first().copied())
        .to(ends.to.first().copied())
        .channels(args.channels.as_ref().map(|list| list.0.clone()))
        .payload(Some(args.payload))
        .paths(args.paths)
        .hops(args.hops)
        .random_object(args.bytes)
        .control_channel(args.control_channel)?;
    let protocol = network.pipeline("protocol")?;
    if args.lifetime || args.base_stations.is_some() {
        return whole_network::run(args, (&network, &ends));
    }
    let mut watch = Watch::new(args.protocol, network.testbed(), args.say.verbosity());
    let links = network.links(&mut |label, progress| watch.note(label, progress))?;
    watch.reporter.finish();
    let (plan, shown) = network.plan(&links)?;
    let testbed = network.testbed();
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let printed = match args.json {
        true => print_json(&Printed {
            plan: &shown,
            labels: labels(&testbed.labels),
        }),
        false => {
            let ends = network::ends(testbed, shown.source, &ends);
            let text = text(&shown, protocol.over(&plan), (testbed, &ends));
            print(&(text + &label_table(&on_route(&shown, testbed))))
        }
    };
    if let Some(path) = &args.svg {
        let drawn = plots::plan(&plan, links.links()).to_svg();
        write_file(path, &drawn).map_err(Failure::after_result)?;
    }
    printed
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Label>,
}

/// What nodes that take part in `plan` are called.
fn on_route(plan: &Plan, testbed: &Testbed) -> Vec<Label> {
    let groups = plan
        .stages
        .iter()
        .flat_map(|stage| [&stage.odd, &stage.even]);
    let nodes: BTreeSet<u16> = groups.chain([&plan.pip.path]).flatten().copied().collect();
    let ids = nodes.into_iter().flat_map(NodeId::new);
    labels(ids.filter_map(|id| testbed.labels.get_key_value(&id)))
}

/// The plan as `protocol` has it: PIP's kind goes over one path.
fn text(plan: &Plan, protocol: Pipelined, (testbed, ends): (&Testbed, &str)) -> String {
    let named = [plan.source, plan.sink].map(|node| network::named(testbed, node));
    let mut text = match protocol.has_paths() {
        true => stages(plan, &named, ends),
        false => {
            let hops = plan.pip.path.len().saturating_sub(1);
            let hops = plural(hops, "hop", "hops");
            let ([source, sink], path) = (named, list(&plan.pip.path));
            format!(
                "{}: node {source} to node {sink}, one path of {hops}\n{ends}\n{}\n{}",
                plan.testbed,
                folded(&path, NARROW),
                channels(plan, protocol)
            )
        }
    };
    let age = match plan.links_age_s {
        Some(age_s) if age_s >= 1.0 => format!(", by links measured {age_s:.0} s ago"),
        _ => String::new(),
    };
    text.push_str(&format!(
        "\nexpected of {} of {} bytes{age}\n\n",
        plural(plan.packets, "packet", "packets"),
        plan.payload
    ));
    let name = plan.protocol.to_uppercase();
    let mut expected = match protocol.has_paths() {
        true => Table::of(&["", &format!(">{name}"), ">PIP"]),
        false => Table::of(&["", &format!(">{name}")]),
    };
    for (name, value) in EXPECTED {
        let pip = value(&plan.pip.prediction);
        match protocol.has_paths() {
            true => expected.row([(*name).to_owned(), value(&plan.prediction), pip]),
            false => expected.row([(*name).to_owned(), pip]),
        }
    }
    text.push_str(&expected.render());
    let of_paths = plan.warnings.iter().filter(|_| protocol.has_paths());
    let unlike = match protocol.scheme {
        Scheme::Pip(Hopping::EveryCyclePair) | Scheme::PipCit => {
            Some("the prediction is PIP's, whose path it takes")
        }
        _ => None,
    };
    let notes: Vec<&str> = of_paths.map(String::as_str).chain(unlike).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// The channels on which the nodes of a path hop by hop listen; other paths take turns with theirs.
fn channels(plan: &Plan, protocol: Pipelined) -> String {
    if protocol.scheme != Scheme::HopByHop {
        return String::new();
    }
    let channels = plan.stages.iter().map(|stage| u16::from(stage.channel));
    let channels: Vec<u16> = channels.collect();
    folded(&format!("channels {}", list(&channels)), NARROW) + "\n"
}

fn list(nodes: &[u16]) -> String {
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    nodes.join(" ")
}

/// Who relays where, in which group.
fn stages(plan: &Plan, [source, sink]: &[String; 2], ends: &str) -> String {
    let heading = format!(
        "{}: node {source} to node {sink}, hops {}, node-distinct paths {}, sought on channel {}",
        plan.testbed,
        plan.hops,
        plan.paths.len(),
        plan.routing_channel
    );
    let mut text = format!("{}\n{ends}\n", folded(&heading, NARROW));
    let mut stages = Table::of(&[">stage", ">channel", "odd group", "even group"]);
    for stage in &plan.stages {
        let number = stage.stage.to_string();
        let channel = match stage.even_channel {
            Some(even) => format!("{}/{even}", stage.channel),
            None => stage.channel.to_string(),
        };
        stages.row([number, channel, list(&stage.odd), list(&stage.even)]);
    }
    text.push_str(&stages.render());
    text
}

type Cell = fn(&Prediction) -> String;

const EXPECTED: &[(&str, Cell)] = &[
    ("goodput, kbit/s", goodput),
    ("first-round reliability, %", first_round),
    ("rounds", rounds),
    ("time, s", time),
    ("energy, J", energy),
    ("completes, %", |p| {
        number(of_rounds(p).map(|p| p.completion), 100.0, 1)
    }),
    ("active nodes", |p| p.active_nodes.to_string()),
];

/// The goodput expected, in kbit/s, or between which bounds it is likely.
pub(crate) fn goodput(p: &Prediction) -> String {
    range(
        Some(p.goodput_kbps),
        p.likely.map(|likely| likely.goodput_kbps),
        1,
    )
}

/// The time expected, in seconds, likewise.
pub(crate) fn time(p: &Prediction) -> String {
    range(p.time_s, p.likely.map(|likely| likely.time_s), 2)
}

/// The energy expected, in joules, likewise.
pub(crate) fn energy(p: &Prediction) -> String {
    range(p.energy_j, p.likely.map(|likely| likely.energy_j), 2)
}

/// `expected`, or the ends of what is likely where these are more than a tenth apart.
fn range(expected: Option<f64>, likely: Option<[f64; 2]>, digits: usize) -> String {
    match likely {
        Some([least, most]) if most > 1.1 * least => format!("{least:.digits$} to {most:.digits$}"),
        _ => number(expected, 1.0, digits),
    }
}

pub(crate) fn first_round(p: &Prediction) -> String {
    number(of_rounds(p).map(|p| p.first_round), 100.0, 1)
}

pub(crate) fn rounds(p: &Prediction) -> String {
    number(of_rounds(p).and_then(|p| p.rounds), 1.0, 1)
}

/// The prediction, unless it is of a transfer hop by hop, which has no rounds.
fn of_rounds(p: &Prediction) -> Option<&Prediction> {
    (p.rounds.is_some() || p.time_s.is_none()).then_some(p)
}
