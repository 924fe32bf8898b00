//! `thalweg collect`: one object from one node.

use std::path::PathBuf;

use serde::Serialize;
use thalweg_gateway::outcome::Outcome;
use thalweg_gateway::registry::{Needs, Pipelined, Takes};
use thalweg_gateway::store::{Fate, Store};
use thalweg_lab::collect::{check, Report};
use thalweg_lab::explain::LossMap;
use thalweg_lab::field::Repairs;
use thalweg_lab::streams::Carrier;
use thalweg_planner::Prediction;
use thalweg_testbeds::{Site, Testbed};
use thalweg_wire::phy;
use thalweg_wire::pipeline::HEADER_BYTES;

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::job::{
    ask_of, check_out, check_takes, not_whole, object, remember, store_failure, Watch,
};
use crate::output;
use crate::table::{number, Align, Table};

/// Fetches one object, or one from every node, stores it and prints the result.
pub(crate) fn run(args: &CollectArgs) -> Result<(), Failure> {
    check_out(&args.out)?;
    let object = object(args)?;
    let testbed = Testbed::load(&args.testbed).map_err(Failure::input)?;
    check_takes(
        args.protocol,
        &[
            (args.paths.is_some(), "--paths", Takes::Paths),
            (args.hops.is_some(), "--hops", Takes::Hops),
            (args.channels.is_some(), "--channels", Takes::Channels),
            (args.explain.is_some(), "--explain", Takes::Explain),
            (args.all_nodes, "--all-nodes", Takes::AllNodes),
        ],
    )?;
    let mut watch = Watch::new();
    if let Some(carrier) =
        Carrier::from_name(args.protocol.name).filter(|_| args.protocol.needs() == Needs::TwoRadios)
    {
        return crate::stream::run(args, carrier, &object, testbed, &mut watch);
    }
    let psdu = HEADER_BYTES + usize::from(args.payload) + phy::FCS_BYTES;
    let site = Site::new(testbed, args.seed).with_losses(&args.loss, psdu);
    let site = site.map_err(Failure::input)?;
    if args.all_nodes {
        return crate::campaign::run(args, &object, site, &mut watch);
    }
    let ask = ask_of(args, args.from, &object)?;
    check(&site.testbed, args.to, &ask).map_err(Failure::input)?;
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let collector = watch.survey(args, site)?;
    let mut maps = Vec::new();
    let wanted = args.explain.as_ref().map(|_| &mut maps);
    let fetched = watch.fetch(&collector, (&ask, &object), capture.as_ref(), wanted);
    let report = fetched.map_err(|stop| {
        let broken = capture.as_ref().and_then(Capture::failure);
        broken.unwrap_or(stop.into())
    })?;
    watch.reporter.finish();
    if let (Some(Some(path)), Some(map)) = (&args.explain, maps.first()) {
        output::write_file(path, &map.to_svg())?;
    }
    if let Some(capture) = capture {
        capture.finish()?;
    }
    let mut store = Store::open(&args.out).map_err(store_failure)?;
    let kept = remember(&mut store, &report, None)?;
    if kept
        .as_ref()
        .is_some_and(|kept| kept.fate == Fate::Identical)
    {
        watch
            .reporter
            .line("thalweg: the store had the same object already; it was left as it is");
    }
    let stored = kept.map(|kept| Stored {
        path: kept.path,
        digest: kept.digest,
    });
    if args.json {
        output::print_json(&Printed {
            report: &report,
            stored: stored.as_ref(),
            explain: &maps,
        })?;
    } else {
        let mut text = text(&report, stored.as_ref());
        for map in &maps {
            text.push('\n');
            text.push_str(&map.to_text());
        }
        output::print(&text)?;
    }
    match stored {
        Some(_) => Ok(()),
        None => {
            let hint = match args.protocol.name == Pipelined::P3.name {
                true => "",
                false => "; `--protocol p3` goes over several paths",
            };
            Err(Failure::Job(not_whole(&report.outcome.core) + hint))
        }
    }
}

/// Where the object is.
#[derive(Debug, Serialize)]
struct Stored {
    path: PathBuf,
    digest: String,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    stored: Option<&'a Stored>,
    /// The transfer's loss map, then PIP's.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    explain: &'a [LossMap],
}

fn text(report: &Report, stored: Option<&Stored>) -> String {
    let (o, survey) = (&report.outcome.core, &report.survey);
    let channels: Vec<String> = report.channels.iter().map(ToString::to_string).collect();
    let mut text = format!(
        "{}, seed {}: node {} to node {}, {} hops, channels {}\n\
         links measured in {:.1} s, collected in {:.1} s\n\n",
        o.testbed,
        o.seed,
        o.source,
        o.sink,
        o.hops,
        channels.join(" "),
        survey.measuring_s,
        survey.collecting_s
    );
    let mut heading = vec![
        (String::new(), Align::Left),
        (o.protocol.to_uppercase(), Align::Right),
        ("expected".to_owned(), Align::Right),
    ];
    heading.extend(
        report
            .baseline
            .as_ref()
            .map(|b| (b.core.protocol.to_uppercase(), Align::Right)),
    );
    let mut table = Table::new(heading);
    for (name, measured, expected) in ROWS {
        let mut row = vec![
            (*name).to_owned(),
            measured(&report.outcome),
            expected(&report.predicted),
        ];
        row.extend(report.baseline.as_ref().map(measured));
        table.row(row);
    }
    text.push_str(&table.render());
    if let Some(stored) = stored {
        text.push_str(&format!(
            "\n{} bytes, whole, sha256 {}\n",
            o.bytes, stored.digest
        ));
        text.push_str(&format!("stored as {}\n", stored.path.display()));
    }
    text
}

/// A row's name, its value of an outcome, and what the planner had expected.
type Row = (
    &'static str,
    fn(&Outcome<Repairs>) -> String,
    fn(&Prediction) -> String,
);

const ROWS: &[Row] = &[
    (
        "goodput, kbit/s",
        |o| number(Some(o.core.goodput_kbps), 1.0, 1),
        |p| number(Some(p.goodput_kbps), 1.0, 1),
    ),
    (
        "effective utilisation, %",
        |o| number(o.core.utilisation, 100.0, 1),
        |_| String::new(),
    ),
    (
        "rounds",
        |o| o.core.rounds.to_string(),
        |p| number(p.rounds, 1.0, 1),
    ),
    (
        "first-round reliability, %",
        |o| number(o.core.first_round_reliability, 100.0, 1),
        |p| number(Some(p.first_round), 100.0, 1),
    ),
    (
        "retransmitted, %",
        |o| number(o.extra.retransmitted, 100.0, 1),
        |_| String::new(),
    ),
    ("paths", |o| o.core.paths.to_string(), |_| String::new()),
    (
        "active nodes",
        |o| o.core.active_nodes.to_string(),
        |p| p.active_nodes.to_string(),
    ),
    (
        "energy, J",
        |o| number(o.core.energy_j, 1.0, 2),
        |p| number(p.energy_j, 1.0, 2),
    ),
    (
        "time, s",
        |o| number(Some(o.core.duration_s), 1.0, 2),
        |p| number(p.time_s, 1.0, 2),
    ),
    (
        "arrived whole",
        |o| if o.core.verified { "yes" } else { "no" }.to_owned(),
        |_| String::new(),
    ),
];
