//! `thalweg testbed list|show`.

use std::path::Path;

use serde::Serialize;
use thalweg_lab::plots;
use thalweg_testbeds::{summary, ChannelSummary, Site, SummaryOptions, Testbed, TestbedError};

use crate::args::TestbedCommand;
use crate::failure::Failure;
use crate::network;
use crate::output::{print, print_json, write_file};
use crate::outputs::{Kind, Outputs};
use crate::table::{number, Table};

/// Runs `testbed list` or `testbed show`.
pub(crate) fn run(command: &TestbedCommand) -> Result<(), Failure> {
    match command {
        TestbedCommand::List { json } => list(*json),
        TestbedCommand::Show {
            testbed,
            seed,
            svg,
            json,
            force,
        } => {
            let outputs = Outputs::beside(*force, [Path::new(testbed)]);
            if let Some(path) = svg {
                outputs.check("--svg", path, Kind::Svg)?;
            }
            show(testbed, *seed, svg.as_deref(), *json)
        }
    }
}

/// A testbed in a list.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    nodes: usize,
    board: String,
    sink: u16,
    /// Why it is that node.
    sink_is: &'static str,
    description: String,
}

impl Entry {
    fn new(testbed: &Testbed) -> Self {
        Self {
            name: testbed.name.clone(),
            nodes: testbed.len(),
            board: testbed.board_name.clone(),
            sink: testbed.sink.get(),
            sink_is: network::reason(testbed.sink_by),
            description: testbed.description.clone(),
        }
    }
}

fn list(json: bool) -> Result<(), Failure> {
    let testbeds = Testbed::built_in().map(|name| Ok(Entry::new(&Testbed::load(name)?)));
    let entries: Result<Vec<Entry>, TestbedError> = testbeds.collect();
    let entries = entries.map_err(Failure::job)?;
    if json {
        return print_json(&entries);
    }
    let mut table = Table::of(&["name", ">nodes", "board", ">sink", "what it is"]);
    for e in entries {
        let (nodes, sink) = (e.nodes.to_string(), e.sink.to_string());
        table.row([e.name, nodes, e.board, sink, e.description]);
    }
    print(&table.render())
}

/// What `testbed show --json` prints.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: Entry,
    seed: u64,
    options: SummaryOptions,
    channels: Vec<ChannelSummary>,
    /// What its file leaves open, and what was made of it.
    assumed: Vec<String>,
}

fn show(name: &str, seed: u64, svg: Option<&Path>, json: bool) -> Result<(), Failure> {
    let testbed = Testbed::load(name)?;
    let site = Site::new(testbed, seed);
    let options = SummaryOptions::default();
    let channels = summary(&site, &options);
    let shown = Shown {
        entry: Entry::new(&site.testbed),
        seed,
        options,
        channels,
        assumed: site
            .testbed
            .assumed
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    let printed = match json {
        true => print_json(&shown),
        false => print(&text(&shown)),
    };
    if let Some(path) = svg {
        write_file(path, &plots::site(&site).to_svg())?;
    }
    printed
}

fn text(shown: &Shown) -> String {
    let mut table = Table::of(&[
        ">channel",
        ">good links",
        ">mean degree",
        ">max degree",
        ">mean hops",
        ">max hops",
        ">diameter",
        ">unreached",
        ">asymmetric, %",
    ]);
    for c in &shown.channels {
        // Nobody is a hop away over no link.
        let of_links = |value: String| match c.good_links {
            0 => "-".to_owned(),
            _ => value,
        };
        table.row([
            c.channel.to_string(),
            c.good_links.to_string(),
            number(Some(c.degree.mean), 1.0, 1),
            c.degree.max.to_string(),
            of_links(number((c.hops.max > 0).then_some(c.hops.mean), 1.0, 2)),
            of_links(c.hops.max.to_string()),
            of_links(c.diameter.to_string()),
            c.unreachable.to_string(),
            number(Some(c.asymmetric_share), 100.0, 1),
        ]);
    }
    let (entry, o, seed) = (&shown.entry, &shown.options, shown.seed);
    format!(
        "{}: {} {} nodes, sink {}, {}, seed {seed}\n{}\n\n{}{}\n\
         A neighbour is heard with a reception ratio of {} at least; good links have {} in both\n\
         directions. Hops are counted over good links from the sink; frames of {} bytes at {} dBm.\n",
        entry.name,
        entry.nodes,
        entry.board,
        entry.sink,
        entry.sink_is,
        entry.description,
        table.render(),
        warnings(shown),
        o.neighbour_prr,
        o.good_prr,
        o.psdu_bytes,
        o.power_dbm,
    )
}

/// What was assumed, and whether anything can travel.
fn warnings(shown: &Shown) -> String {
    let mut lines: Vec<String> = shown.assumed.clone();
    let (sink, good) = (shown.entry.sink, shown.options.good_prr);
    let is_alone = |c: &ChannelSummary| c.unreachable + 1 >= shown.entry.nodes;
    let none = shown.channels.iter().all(|c| c.good_links == 0);
    let any: usize = shown.channels.iter().map(|c| c.links).sum();
    if none && any == 0 {
        lines.push("no node hears any other; nothing can be collected".to_owned());
    } else if none {
        lines.push(format!(
            "no two nodes have a good link ({good} both ways) on any channel; weaker ones carry little or nothing"
        ));
    } else if shown.channels.iter().all(is_alone) {
        lines.push(format!(
            "no node has a good link to the sink, node {sink}, on any channel"
        ));
    }
    let lines: String = lines.iter().map(|line| format!("note: {line}\n")).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{lines}"),
    }
}
