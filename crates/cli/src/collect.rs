//! `thalweg collect`: one object from one node, and what it shares with every node in turn.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thalweg_lab::store::{CampaignId, Fate, Kept, NewTransfer, Store, StoreError, TransferRecord};
use thalweg_units::NodeId;

use crate::args::{CollectArgs, ProtocolName};
use crate::backend::{
    collect, CollectError, CollectOptions, CollectReport, ObjectSpec, Outcome, Progress, Protocol,
};
use crate::capture::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Reporter;
use crate::table::{Align, Table};

/// The object of the paper's experiments: 500 packets of 118 bytes.
const DEFAULT_BYTES: u32 = 59_000;
/// The largest file that is read into memory to be sent.
const MAX_FILE: u64 = 64 << 20;

/// Fetches one object, stores it and prints the result.
pub(crate) fn run(args: &CollectArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals();
    check_out(&args.out)?;
    if args.all_nodes {
        return crate::campaign::run(args, &interrupt);
    }
    let object = read_object(args)?;
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let mut reporter = Reporter::to_stderr();
    let options = options(args, args.from, &object, capture.as_ref());
    let report = transfer(options, &mut reporter, &interrupt).map_err(|stop| {
        capture
            .as_ref()
            .and_then(Capture::failure)
            .unwrap_or(stop.into())
    })?;
    reporter.finish();
    if let Some(capture) = capture {
        capture.finish()?;
    }
    let mut store = Store::open(&args.out).map_err(store_failure)?;
    let kept = remember(&mut store, &report, None)?;
    if kept
        .as_ref()
        .is_some_and(|kept| kept.fate == Fate::Identical)
    {
        reporter.line("thalweg: the store had the same object already; it was left as it is");
    }
    let stored = kept.map(|kept| Stored {
        path: kept.path,
        digest: kept.digest,
    });
    if args.json {
        output::print_json(&Printed {
            report: &report,
            stored: stored.as_ref(),
        })?;
    } else {
        output::print(&text(&report, stored.as_ref()))?;
    }
    match stored {
        Some(_) => Ok(()),
        None => Err(Failure::Job(not_whole(&report.outcome))),
    }
}

/// Why a transfer gave no report.
pub(crate) enum Stop {
    /// The user asked to stop.
    Interrupted,
    /// It could not be begun: the input is to blame.
    Input(String),
    /// It was begun and failed.
    Failed(String),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => Self::Job("interrupted; nothing was stored".to_owned()),
            Stop::Input(line) => Self::Input(line),
            Stop::Failed(line) => Self::Job(line),
        }
    }
}

/// Runs one transfer with its progress on `reporter`.
pub(crate) fn transfer(
    options: CollectOptions,
    reporter: &mut Reporter,
    interrupt: &Interrupt,
) -> Result<CollectReport, Stop> {
    let mut observer = |progress: Progress| {
        show(reporter, &progress);
        if interrupt.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    collect(options, &mut observer).map_err(|error| match error {
        CollectError::Stopped => Stop::Interrupted,
        CollectError::Input(_) => Stop::Input(error.to_string()),
        CollectError::Failed(_) => Stop::Failed(error.to_string()),
    })
}

fn show(reporter: &mut Reporter, progress: &Progress) {
    match *progress {
        Progress::Phase(name) => reporter.step(name, ""),
        Progress::Measuring { done, total } => reporter.counted("measuring links", "", done, total),
        Progress::Collecting { done, total } => {
            reporter.counted("collecting links", "", done, total);
        }
        Progress::Planned { hops, paths } => {
            reporter.step("routes", &format!("{paths} paths of {hops} hops"));
        }
        Progress::Packets {
            round,
            received,
            total,
            goodput_kbps,
        } => reporter.counted(
            &format!("round {round}"),
            &format!("packets  {goodput_kbps:.1} kbit/s"),
            received,
            total,
        ),
    }
}

/// What to run for `source`.
pub(crate) fn options(
    args: &CollectArgs,
    source: Option<NodeId>,
    object: &Object,
    capture: Option<&Capture>,
) -> CollectOptions {
    CollectOptions {
        testbed: args.testbed.clone(),
        from: source,
        to: args.to,
        object: match object {
            Object::Random { bytes } => ObjectSpec::Random { bytes: *bytes },
            Object::File(bytes) => ObjectSpec::Bytes(bytes.clone()),
        },
        protocol: match args.protocol {
            ProtocolName::P3 => Protocol::P3,
            ProtocolName::Pip => Protocol::Pip,
        },
        channels: args.channels.as_ref().map(|list| list.0.clone()),
        payload: args.payload,
        paths: args.paths,
        hops: args.hops,
        seed: args.seed,
        pcap: capture.map(Capture::writer),
    }
}

/// The object that every source has.
pub(crate) enum Object {
    /// Drawn from the seed.
    Random { bytes: u32 },
    /// The bytes of a file.
    File(Vec<u8>),
}

/// The object that `--file` or `--bytes` names.
pub(crate) fn read_object(args: &CollectArgs) -> Result<Object, Failure> {
    let Some(path) = &args.file else {
        return Ok(Object::Random {
            bytes: args.bytes.unwrap_or(DEFAULT_BYTES),
        });
    };
    let named = |what: &str| Failure::Input(format!("{}: {what}", path.display()));
    let unreadable = |error| named(&format!("cannot be read: {}", output::plain(&error)));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() as u64 {
        0 => Err(named("is empty; there is nothing to send")),
        length if length > MAX_FILE => Err(named("is larger than 64 MiB")),
        _ => Ok(Object::File(bytes)),
    }
}

/// Bad usage is told before anything runs.
fn check_out(out: &Path) -> Result<(), Failure> {
    if out.exists() && !out.is_dir() {
        return Err(store_failure(StoreError::NotAFolder(out.to_owned())));
    }
    Ok(())
}

/// Stores the object if it arrived whole, and its record in either case.
pub(crate) fn remember(
    store: &mut Store,
    report: &CollectReport,
    campaign: Option<CampaignId>,
) -> Result<Option<Kept>, Failure> {
    let json = serde_json::to_string(report).map_err(Failure::job)?;
    let main = record(&report.outcome).map_err(Failure::job)?;
    let baseline = report
        .baseline
        .as_ref()
        .map(record)
        .transpose()
        .map_err(Failure::job)?;
    let new = NewTransfer {
        record: &main,
        baseline: baseline.as_ref(),
        report: &json,
        campaign,
    };
    if main.verified {
        store
            .keep(&new, &report.object)
            .map(Some)
            .map_err(store_failure)
    } else {
        store.note(&new).map(|_| None).map_err(store_failure)
    }
}

/// The failure that a store's error is: a folder that cannot be one was typed, the rest befell us.
pub(crate) fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::NotAFolder(_) => Failure::input(error),
        other => Failure::job(other),
    }
}

fn record(o: &Outcome) -> Result<TransferRecord, thalweg_units::NodeIdError> {
    Ok(TransferRecord {
        protocol: o.protocol.clone(),
        testbed: o.testbed.clone(),
        source: NodeId::new(o.source)?,
        sink: NodeId::new(o.sink)?,
        bytes: o.bytes,
        verified: o.verified,
        goodput_kbps: o.goodput_kbps,
        utilisation: o.utilisation,
        rounds: o.rounds,
        first_round_reliability: o.first_round_reliability,
        active_nodes: o.active_nodes,
        hops: o.hops,
        paths: o.paths,
        energy_j: o.energy_j,
        duration_s: o.duration_s,
        seed: o.seed,
    })
}

/// The line about an object that did not arrive.
pub(crate) fn not_whole(o: &Outcome) -> String {
    format!(
        "the object did not arrive whole from node {} in {} rounds",
        o.source, o.rounds
    )
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
    report: &'a CollectReport,
    stored: Option<&'a Stored>,
}

fn text(report: &CollectReport, stored: Option<&Stored>) -> String {
    let o = &report.outcome;
    let mut text = format!(
        "{} bytes from node {} to node {} of {}, seed {}\n\n",
        o.bytes, o.source, o.sink, o.testbed, o.seed
    );
    let columns: Vec<&Outcome> = std::iter::once(o).chain(report.baseline.as_ref()).collect();
    let heading = columns
        .iter()
        .map(|o| (o.protocol.to_uppercase(), Align::Right));
    let mut table = Table::new(std::iter::once((String::new(), Align::Left)).chain(heading));
    for (name, value) in ROWS {
        table.row(std::iter::once((*name).to_owned()).chain(columns.iter().map(|o| value(o))));
    }
    text.push_str(&table.render());
    if let Some(stored) = stored {
        text.push_str(&format!("\nverified, sha256 {}\n", stored.digest));
        text.push_str(&format!("stored as {}\n", stored.path.display()));
    }
    text
}

type Cell = fn(&Outcome) -> String;

const ROWS: &[(&str, Cell)] = &[
    ("arrived whole", |o| {
        if o.verified { "yes" } else { "no" }.to_owned()
    }),
    ("goodput, kbit/s", |o| number(o.goodput_kbps, 1.0, 1)),
    ("effective utilisation, %", |o| {
        number(o.utilisation, 100.0, 1)
    }),
    ("rounds", |o| o.rounds.to_string()),
    ("first-round reliability, %", |o| {
        number(o.first_round_reliability, 100.0, 1)
    }),
    ("hops", |o| o.hops.to_string()),
    ("paths", |o| o.paths.to_string()),
    ("active nodes", |o| o.active_nodes.to_string()),
    ("energy, J", |o| number(Some(o.energy_j), 1.0, 3)),
    ("time, s", |o| number(Some(o.duration_s), 1.0, 3)),
];

/// A number with `digits` behind the point, or a dash where there is none.
pub(crate) fn number(value: Option<f64>, factor: f64, digits: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{:.digits$}", value * factor),
        _ => "-".to_owned(),
    }
}
