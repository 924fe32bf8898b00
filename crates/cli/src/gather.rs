//! `thalweg collect --protocol rcrt`: objects of many nodes at once, from the order to the store.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use thalweg::{GatherProgress as Progress, GatherReport as Report, Gathering, Network, Scenario};
use thalweg_host::store::Store;
use thalweg_testbeds::Testbed;

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::import::{labels, Label};
use crate::interrupt::Interrupt;
use crate::network::{self, named, Ends};
use crate::output;
use crate::port;
use crate::progress::Reporter;
use crate::table::{folded, number, Table, NARROW};
use crate::transfer::{keep, Of};

/// Fetches the objects, stores those that are whole and prints the result.
pub(crate) fn run(args: &CollectArgs, (network, ends): (&Network, &Ends)) -> Result<(), Failure> {
    let gathering = gathering(args, ends)?;
    let interrupt = Interrupt::on_signals();
    if let Some(port) = &args.port {
        let mut reporter = Reporter::to_stderr(args.say.verbosity());
        let mut observer = |progress| watch(&mut reporter, &interrupt, &progress);
        let open = || port::open((port, args.baud), &interrupt).map_err(Failure::from);
        let gathered = network.gather_behind(&gathering, open, &mut observer);
        reporter.finish();
        return finish((args, ends), network.testbed(), &gathered?, &interrupt);
    }
    network.check_gathering(&gathering)?;
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let frames = capture.as_ref();
    let frames = frames.map(|to| to.frames(&network.testbed().nodes));
    let frames = frames.transpose();
    let frames = frames.map_err(|why| Failure::Job(format!("capture: {why}")))?;
    let mut reporter = Reporter::to_stderr(args.say.verbosity());
    let mut observer = |progress| watch(&mut reporter, &interrupt, &progress);
    let gathered = network.gather(&gathering, frames, &mut observer);
    reporter.finish();
    // What broke the capture explains more than the run that it ended.
    if let Some(failure) = capture.as_ref().and_then(Capture::failure) {
        return Err(failure);
    }
    let done = finish((args, ends), network.testbed(), &gathered?, &interrupt);
    match capture.map_or(Ok(()), Capture::finish) {
        Ok(()) => done,
        failed => failed,
    }
}

fn watch(reporter: &mut Reporter, interrupt: &Interrupt, progress: &Progress) -> ControlFlow<()> {
    show(reporter, progress);
    match interrupt.is_set() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Stores the objects that are whole, and prints the report.
fn finish(
    (args, ends): (&CollectArgs, &Ends),
    testbed: &Testbed,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    // The result is shown even if it cannot be stored.
    let store = Store::open(&args.out).map_err(Failure::from);
    let kept = store.and_then(|mut store| keep_all(report, &mut store, Of::file(args)));
    if args.json {
        let stored = kept.as_deref().unwrap_or_default();
        let labels = labels(&testbed.labels);
        output::print_json(&Printed {
            report,
            stored,
            labels,
        })?;
    } else {
        let stored_in = kept.is_ok().then_some(args.out.as_path());
        let sink = network::sink(testbed, &ends.to);
        output::print(&text(
            report,
            args.protocol.name,
            (testbed, &sink),
            stored_in,
        ))?;
    }
    kept.map_err(Failure::after_result)?;
    let missing = report.objects - report.whole;
    let ended = match (missing, interrupt.is_set()) {
        (0, _) => Ok(()),
        (_, true) => Err(Failure::Job(format!(
            "interrupted; {} of {} objects had arrived and are stored",
            report.whole, report.objects
        ))),
        (_, false) => Err(Failure::Job(format!(
            "{missing} of {} objects did not arrive",
            report.objects
        ))),
    };
    ended.map_err(Failure::after_result)
}

/// What the options ask for.
fn gathering(args: &CollectArgs, ends: &Ends) -> Result<Gathering, Failure> {
    if args.from.is_empty() && !args.all_nodes {
        let line = "--protocol rcrt: say whose objects, as --from 3,7,12 or --all-nodes";
        return Err(Failure::input(line));
    }
    let alike = Gathering::default();
    Ok(Gathering {
        sources: ends.from.clone(),
        policy: args.policy.clone().unwrap_or(alike.policy),
        demand: args.demand.unwrap_or(alike.demand),
        scenario: match &args.scenario {
            Some(path) => scenario(path)?,
            None => alike.scenario,
        },
    })
}

fn scenario(path: &Path) -> Result<Scenario, Failure> {
    let named = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let text = fs::read_to_string(path)
        .map_err(|error| named(format!("cannot be read: {}", output::plain(&error))))?;
    Scenario::parse(&text).map_err(|error| named(error.to_string()))
}

fn show(reporter: &mut Reporter, progress: &Progress) {
    match *progress {
        Progress::Routes { found, of } => {
            reporter.counted("finding routes", "nodes", found as u64, of as u64);
        }
        Progress::Packets(so_far) => {
            let detail = format!(
                "bytes, {} of {} objects, {:.1} kbit/s; rates {:.2} at least, {:.2} in the mean",
                so_far.complete,
                so_far.objects,
                so_far.bytes as f64 * 8e-3 / so_far.at_s.max(1.0),
                so_far.least,
                so_far.mean
            );
            reporter.counted("gathering", &detail, so_far.bytes, so_far.of);
        }
    }
}

/// Where an object is.
#[derive(Debug, Serialize)]
struct Stored {
    source: u16,
    path: String,
    digest: String,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    stored: &'a [Stored],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Label>,
}

/// Stores what is whole, and a record of each.
fn keep_all(report: &Report, store: &mut Store, of: Of<'_>) -> Result<Vec<Stored>, Failure> {
    let mut all = Vec::new();
    for node in &report.nodes {
        let summary = &node.outcome.summary;
        let kept = keep(node, (summary, None), node.object.as_deref(), store, of)?;
        all.extend(kept.map(|kept| Stored {
            source: summary.source.get(),
            path: kept.path.display().to_string(),
            digest: kept.digest,
        }));
    }
    Ok(all)
}

fn text(
    report: &Report,
    protocol: &str,
    (testbed, sink): (&Testbed, &str),
    stored_in: Option<&Path>,
) -> String {
    let settled = report.settled_s;
    let routes = settled.map_or_else(String::new, |s| format!("routes found in {s:.0} s\n"));
    let head = format!(
        "{}, seed {}: {} to node {}, policy {}, {} packets/s wanted of each, {} B a packet",
        report.testbed,
        report.seed,
        protocol,
        named(testbed, report.sink),
        report.policy,
        report.demand,
        report.payload,
    );
    let sum = format!(
        "{} of {} objects, {} bytes in {:.1} s, {:.2} kbit/s; rates {:.2} packets/s in the mean, {:.1} % repaired, {} feedbacks",
        report.whole,
        report.objects,
        report.bytes,
        report.duration_s,
        report.goodput_kbps,
        report.rate,
        100.0 * report.repaired_share,
        report.feedbacks,
    );
    format!(
        "{}\n{sink}\n{routes}\n{}\n{}\n{}",
        folded(&head, NARROW),
        objects(report, testbed).render_narrow(),
        folded(&sum, NARROW),
        stored_in.map_or_else(String::new, |out| format!("stored in {}\n", out.display())),
    )
}

/// A line for each node.
fn objects(report: &Report, testbed: &Testbed) -> Table {
    let mut table = Table::of(&[
        ">node",
        ">hops",
        ">packets/s",
        ">kbit/s",
        ">rate",
        ">repaired,\n%",
        ">feed-\nbacks",
        ">time, s",
        "object",
    ]);
    for node in &report.nodes {
        let (summary, flow) = (&node.outcome.summary, &node.outcome.details);
        table.row([
            testbed.named(summary.source),
            summary.hops.to_string(),
            number(Some(flow.packets_per_s), 1.0, 2),
            number(Some(summary.goodput_kbps), 1.0, 2),
            number(Some(flow.rate), 1.0, 2),
            number(Some(flow.repaired_share), 100.0, 1),
            flow.feedbacks.to_string(),
            number(Some(summary.duration_s), 1.0, 1),
            summary
                .failure
                .clone()
                .unwrap_or_else(|| output::whole(summary.sealed).to_owned()),
        ]);
    }
    table
}
