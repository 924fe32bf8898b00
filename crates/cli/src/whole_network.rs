//! `thalweg plan --lifetime` and `--base-stations`: what collecting from every node asks of the network.
//! Tests: `tests/all/whole_network.rs`.

use thalweg::{BaseStations, Choice, ChoiceBy, Idle, Lifetime, Network, NodeLife, Usage};
use thalweg_host::link_state::LinkState;
use thalweg_lab::plots;
use thalweg_testbeds::Testbed;

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::network::{self, named, Ends};
use crate::output::{plural, print, print_json, write_file};
use crate::progress::Watch;
use crate::table::{folded, number, Table, NARROW};

/// How many nodes stand in the table of lifetimes.
const SHOWN: usize = 10;
/// What is planned after the links are known.
const ROUNDS: &str = "routes of all nodes";

/// Answers the one of the two questions that `args` ask of `network`.
pub(crate) fn run(args: &PlanArgs, (network, ends): (&Network, &Ends)) -> Result<(), Failure> {
    let testbed = network.testbed();
    match (args.base_stations, args.every, args.mah) {
        (Some(most), ..) => base_stations(args, (network, ends), usize::from(most)),
        (None, Some(every), Some(battery_mah)) => {
            let usage = Usage {
                every,
                battery_mah,
                idle_uw: args.idle_uw,
            };
            let mut watch = Watch::new(args.protocol, testbed, args.say.verbosity());
            let network = &match args.idle_uw {
                None => network.clone().idle(Some(every)),
                Some(_) => network.clone(),
            };
            let (links, cost) =
                network.links_and_cost(&mut |label, progress| watch.note(label, progress))?;
            watch.reporter.step("planning", ROUNDS);
            let lifetime = network.lifetime(&usage, &links, &cost)?;
            watch.reporter.finish();
            network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
            let printed = match args.json {
                true => print_json(&lifetime),
                false => print(&text_of_days(&lifetime, ends, testbed)),
            };
            if let Some(path) = &args.svg {
                let drawn = picture_of_days(&lifetime, &links, testbed);
                write_file(path, &drawn).map_err(Failure::after_result)?;
            }
            printed
        }
        // The command line asks for both.
        (None, ..) => Err(Failure::Input("--lifetime needs --every and --mah".into())),
    }
}

/// Node `index` for people.
fn name(testbed: &Testbed, index: usize) -> String {
    let id = testbed.id_of(index);
    id.map_or_else(|| index.to_string(), |id| testbed.named(id))
}

/// A time of days, with as many digits as matter.
fn days(days: f64) -> String {
    match days {
        d if d >= 1e6 => "over 1e6".to_owned(),
        d if d >= 100.0 => format!("{d:.0}"),
        d => format!("{d:.1}"),
    }
}

/// An interval as people say it.
fn every(seconds: f64) -> String {
    let time = std::time::Duration::from_secs_f64(seconds);
    humantime::format_duration(time).to_string()
}

fn text_of_days(lifetime: &Lifetime, ends: &Ends, testbed: &Testbed) -> String {
    let nodes = plural(lifetime.nodes.len(), "node", "nodes");
    let mut text = format!(
        "{}: {} bytes of each of {nodes} every {}, {}\n{}\n\n",
        lifetime.testbed,
        lifetime.bytes,
        every(lifetime.every_s),
        lifetime.protocol,
        network::sink(testbed, &ends.to),
    );
    let mut milestones = Table::of(&["empty", ">nodes", ">days", ">cut off by then"]);
    let names = ["the first node", "a tenth", "half"];
    for (name, at) in names.iter().zip(&lifetime.milestones) {
        let (empty, cut_off) = (at.empty.to_string(), at.cut_off.to_string());
        milestones.row([(*name).to_owned(), empty, days(at.days), cut_off]);
    }
    text.push_str(&milestones.render());
    text.push_str("\nFirst to be empty; energy of a round and until the next, in joules\n\n");
    let heading = [
        "node",
        ">days",
        ">hops",
        ">helps",
        ">transfers",
        ">rendezvous",
        ">survey",
        ">idle",
    ];
    let mut first = Table::of(&heading);
    for node in lifetime.nodes.iter().take(SHOWN) {
        first.row(row(node, testbed));
    }
    text.push_str(&first.render());
    text.push('\n');
    text.push_str(&counted(lifetime));
    text
}

fn row(node: &NodeLife, testbed: &Testbed) -> [String; 8] {
    let joules = |joules| number(Some(joules), 1.0, 2);
    [
        named(testbed, node.node),
        days(node.days),
        number(node.hops.map(|hops| hops as f64), 1.0, 0),
        node.helps.to_string(),
        joules(node.joules.transfers),
        joules(node.joules.rendezvous),
        joules(node.joules.survey),
        joules(node.joules.idle),
    ]
}

/// What is counted, and what is not.
fn counted(lifetime: &Lifetime) -> String {
    let idle_mw = lifetime.idle_uw * 1e-3;
    let idle = match lifetime.idle {
        Idle::Rests => format!(
            "idle nodes rest and sample the channel: {idle_mw:.2} mW, and are roused in 2 s before each survey (--idle-uw sets another power)"
        ),
        Idle::Given => format!("idle nodes draw {idle_mw} mW, as --idle-uw says"),
    };
    let out = lifetime.nodes.iter().filter(|node| node.hops.is_none());
    let mut lines = vec![
        format!(
            "Counted: a survey ({:.1} s) and a round ({:.0} s) as predicted, rendezvous during the transfers of others; {idle}. New routes avoid empty nodes.",
            lifetime.survey_s, lifetime.round_s
        ),
        "Not counted: transfers tried again, waits between transfers, sensing, self-discharge, charge that a low voltage leaves unused. The base station has mains power.".to_owned(),
    ];
    match out.count() {
        0 => {}
        n => lines.push(format!(
            "note: {} no route on the first day; nothing is collected there",
            match n {
                1 => "1 node has".to_owned(),
                n => format!("{n} nodes have"),
            }
        )),
    }
    lines
        .iter()
        .map(|line| folded(line, NARROW) + "\n")
        .collect()
}

fn picture_of_days(lifetime: &Lifetime, links: &LinkState, testbed: &Testbed) -> String {
    let mut each = vec![None; testbed.len()];
    for node in &lifetime.nodes {
        each[node.index] = Some(node.days);
    }
    let at: Vec<String> = lifetime.milestones.iter().map(|m| days(m.days)).collect();
    let title = format!("{}: days until batteries are empty", lifetime.testbed);
    let subtitle = format!(
        "{} B of each node every {}: first node, a tenth, half empty after {} days",
        lifetime.bytes,
        every(lifetime.every_s),
        at.join(", ")
    );
    let name = |index| name(testbed, index);
    plots::lifetime((title, subtitle), links.links(), &each, &name).to_svg()
}

fn base_stations(
    args: &PlanArgs,
    (network, ends): (&Network, &Ends),
    most: usize,
) -> Result<(), Failure> {
    let testbed = network.testbed();
    let mut watch = Watch::new(args.protocol, testbed, args.say.verbosity());
    let (links, _) = network.links_and_cost(&mut |label, progress| watch.note(label, progress))?;
    watch.reporter.step("planning", ROUNDS);
    let stations = network.base_stations(most, &links)?;
    watch.reporter.finish();
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let printed = match args.json {
        true => print_json(&stations),
        false => print(&text_of_stations(&stations, ends, testbed)),
    };
    if let (Some(path), Some(choice)) = (&args.svg, stations.choices.last()) {
        let drawn = picture_of_stations(choice, &links, testbed);
        write_file(path, &drawn).map_err(Failure::after_result)?;
    }
    printed
}

fn text_of_stations(stations: &BaseStations, ends: &Ends, testbed: &Testbed) -> String {
    let mut text = format!(
        "{}: {} bytes of every node, {}\n{}\n\n",
        stations.testbed,
        stations.bytes,
        stations.protocol,
        network::sink(testbed, &ends.to),
    );
    let heading = [
        "base stations",
        ">nodes that\nreach one",
        ">mean hops",
        ">time, s",
        ">energy, J",
        "at",
    ];
    let mut table = Table::of(&heading);
    for choice in &stations.choices {
        let best = match choice.stations.len() {
            1 => "the best".to_owned(),
            n => format!("the best {n}"),
        };
        let at = choice.stations.iter().map(|s| named(testbed, s.node));
        table.row([
            match choice.by {
                ChoiceBy::Given => "as it is".to_owned(),
                ChoiceBy::Planner => best,
            },
            format!("{} of {}", choice.reached, choice.nodes.len()),
            number(choice.mean_hops, 1.0, 1),
            number(Some(choice.time_s), 1.0, 0),
            number(Some(choice.energy_j), 1.0, 0),
            at.collect::<Vec<_>>().join(", "),
        ]);
    }
    text.push_str(&table.render_narrow());
    text.push('\n');
    let lines = [
        "Counted: a round as predicted, one transfer at a time into each base station, base stations at the same time; energy of all other nodes, at rendezvous too.",
        "Not counted: surveys, idle nodes, transfers tried again, waits between transfers, what base stations at work at once lose by each other.",
    ];
    for line in lines {
        text.push_str(&(folded(line, NARROW) + "\n"));
    }
    text
}

fn picture_of_stations(choice: &Choice, links: &LinkState, testbed: &Testbed) -> String {
    let index = |id: u16| choice.stations.iter().find(|s| s.node == id);
    let mut serves = vec![None; testbed.len()];
    for node in &choice.nodes {
        let station = node.station.and_then(index);
        serves[node.index] = station.map(|station| station.index);
    }
    for station in &choice.stations {
        serves[station.index] = Some(station.index);
    }
    let at: Vec<String> = (choice.stations.iter())
        .map(|station| named(testbed, station.node))
        .collect();
    let title = format!("{}: base stations at {}", testbed.name, at.join(", "));
    let subtitle = format!(
        "{} of {} nodes reach one, {:.1} hops on average, {:.0} s for an object of each",
        choice.reached,
        choice.nodes.len(),
        choice.mean_hops.unwrap_or_default(),
        choice.time_s
    );
    let name = |index| name(testbed, index);
    plots::base_stations((title, subtitle), links.links(), &serves, &name).to_svg()
}
