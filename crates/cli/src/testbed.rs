//! `thalweg testbed list|show|import`. Tests: `tests/all/networks.rs`, `tests/all/imports.rs`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg_lab::plots;
use thalweg_testbeds::{summary, ChannelSummary, Site, SummaryOptions, Testbed, TestbedError};

use crate::args::TestbedCommand;
use crate::failure::Failure;
use crate::import::{self, Label};
use crate::network;
use crate::output::{print, print_json, write_file};
use crate::outputs::{Kind, Outputs};
use crate::progress::{Reporter, Verbosity};
use crate::table::{folded, number, Table, NARROW};

/// Runs `testbed list`, `testbed show` or `testbed import`.
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
        TestbedCommand::Import {
            file,
            output,
            force,
            json,
        } => import::run(&import::Import {
            file,
            output: output.as_deref(),
            json: *json,
            force: *force,
        }),
    }
}

/// A testbed in a list.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    nodes: usize,
    board: String,
    sink: u16,
    /// The same for people, with its label.
    #[serde(skip)]
    sink_named: String,
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
            sink_named: testbed.named(testbed.sink),
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
    print(&table.render_narrow())
}

/// How long nothing is said.
const PATIENCE: Duration = Duration::from_secs(2);

/// What `testbed show --json` prints.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: Entry,
    seed: u64,
    options: SummaryOptions,
    channels: Vec<ChannelSummary>,
    /// Its nodes that have labels.
    labels: Vec<Label>,
    /// What its file leaves open, and what was made of it.
    assumed: Vec<String>,
}

fn show(name: &str, seed: u64, svg: Option<&Path>, json: bool) -> Result<(), Failure> {
    let begin = Instant::now();
    let testbed = Testbed::load(name)?;
    let site = Site::new(testbed, seed);
    let options = SummaryOptions::default();
    let mut reporter = Reporter::to_stderr(Verbosity::Normal);
    let (mut done, total) = (0, site.testbed.channels.len() as u64);
    let channels = summary(&site, &options, |_| {
        if begin.elapsed() > PATIENCE {
            reporter.counted("counting hops", "channels", done, total);
        }
        done += 1;
    });
    reporter.finish();
    let shown = Shown {
        entry: Entry::new(&site.testbed),
        seed,
        options,
        channels,
        labels: import::labels(&site.testbed.labels),
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
        write_file(path, &plots::site(&site).to_svg()).map_err(Failure::after_result)?;
    }
    printed
}

fn text(shown: &Shown) -> String {
    let mut table = Table::of(&[
        ">channel",
        ">good\nlinks",
        ">mean\ndegree",
        ">max\ndegree",
        ">mean\nhops",
        ">max\nhops",
        ">diameter",
        ">unreached",
        ">asymm-\netric, %",
    ]);
    for (channels, c) in alike(&shown.channels) {
        // Nobody is a hop away over no link.
        let of_links = |value: String| match c.good_links {
            0 => "-".to_owned(),
            _ => value,
        };
        table.row([
            channels,
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
    let head = format!(
        "{}: {} {} nodes, sink {}, {}, seed {seed}",
        entry.name, entry.nodes, entry.board, entry.sink_named, entry.sink_is
    );
    let words = format!(
        "A neighbour is heard with a reception ratio of {} at least, over a good link with {} at least; links are \
         counted by direction. Hops are counted from the sink over links that are good in both directions. Frames of {} \
         bytes at {} dBm.",
        o.neighbour_prr, o.good_prr, o.psdu_bytes, o.power_dbm,
    );
    format!(
        "{}\n{}\n\n{}{}{}\n{}\n",
        folded(&head, NARROW),
        folded(&entry.description, NARROW),
        table.render(),
        import::label_table(&shown.labels),
        warnings(shown),
        folded(&words, NARROW),
    )
}

/// Channels in a row that are alike, such as all sixteen of a table that names none: as `11-26`, with one of them.
fn alike(channels: &[ChannelSummary]) -> Vec<(String, &ChannelSummary)> {
    let same = |a: &ChannelSummary, b: &ChannelSummary| {
        let channel = a.channel;
        *a == ChannelSummary {
            channel,
            ..b.clone()
        } && b.channel == a.channel + 1
    };
    let named = channels.chunk_by(same).filter_map(|group| match group {
        [one] => Some((one.channel.to_string(), one)),
        [first, .., last] => Some((format!("{}-{}", first.channel, last.channel), first)),
        [] => None,
    });
    named.collect()
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
    let note = |line: &String| folded(&format!("note: {line}"), NARROW) + "\n";
    let lines: String = lines.iter().map(note).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{lines}"),
    }
}
