//! What one transfer and a campaign of them share: the request, its progress, its record.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use thalweg_gateway::store::{CampaignId, Kept, NewTransfer, Store, StoreError, TransferRecord};
use thalweg_lab::collect::{CollectError, Collector, Object, Progress, Report, Request};
use thalweg_lab::explain::LossMap;
use thalweg_lab::transfer::{Outcome, Protocol};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, NodeId};
use thalweg_wire::route::PayloadSize;

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Reporter;

/// The object of the paper's experiments: 500 packets of 118 bytes.
const DEFAULT_BYTES: u32 = 59_000;
/// The largest file that is read into memory to be sent; a transfer takes far less.
const MAX_FILE: u64 = 64 << 20;

/// Why a transfer gave no report.
pub(crate) enum Stop {
    /// The user asked to stop.
    Interrupted,
    /// It could not be begun: the input is to blame.
    Input(String),
    /// It was begun and failed.
    Failed(String),
}

impl From<CollectError> for Stop {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Stopped => Self::Interrupted,
            error if error.is_input() => Self::Input(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
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

/// A job on the way: where its progress goes and who may stop it.
pub(crate) struct Watch {
    pub(crate) reporter: Reporter,
    pub(crate) interrupt: Interrupt,
}

impl Watch {
    /// Switches the network on and has it measure its links.
    pub(crate) fn survey(&mut self, args: &CollectArgs, site: Site) -> Result<Collector, Stop> {
        let channels: Option<&[Channel]> = args.channels.as_ref().map(|list| list.0.as_slice());
        let mut observer = |progress| self.note(&progress);
        let (from, to) = (args.from, args.to);
        Ok(Collector::open(site, from, to, channels, &mut observer)?)
    }

    /// Fetches one object.
    pub(crate) fn fetch(
        &mut self,
        collector: &Collector,
        request: &Request,
        capture: Option<&Capture>,
    ) -> Result<Report, Stop> {
        let plan = collector.plan(request)?;
        let nodes = &collector.testbed().nodes;
        let frames = capture.map(|capture| capture.frames(nodes)).transpose()?;
        let mut observer = |progress| self.note(&progress);
        Ok(collector.fetch(request, &plan, frames, &mut observer)?)
    }

    /// Fetches one object and says where packets were lost.
    pub(crate) fn fetch_explained(
        &mut self,
        collector: &Collector,
        request: &Request,
        capture: Option<&Capture>,
    ) -> Result<(Report, Vec<LossMap>), Stop> {
        let plan = collector.plan(request)?;
        let nodes = &collector.testbed().nodes;
        let frames = capture.map(|capture| capture.frames(nodes)).transpose()?;
        let mut observer = |progress| self.note(&progress);
        Ok(collector.fetch_explained(request, &plan, frames, &mut observer)?)
    }

    pub(crate) fn note(&mut self, progress: &Progress) -> ControlFlow<()> {
        let reporter = &mut self.reporter;
        match *progress {
            Progress::Measuring { done, total } => {
                reporter.counted("measuring links", "nodes", done, total);
            }
            Progress::Collecting { done, total } => {
                reporter.counted("collecting link tables", "tables", done, total);
            }
            Progress::Planned {
                from,
                to,
                hops,
                paths,
            } => {
                reporter.step(
                    &format!("node {from} to {to}: {paths} paths of {hops} hops"),
                    "",
                );
            }
            Progress::WakingUp { protocol } => {
                reporter.step(&format!("{}: waking up", label(protocol)), "");
            }
            Progress::Packets {
                protocol,
                round,
                received,
                total,
                goodput_kbps,
            } => reporter.counted(
                &format!("{} round {round}", label(protocol)),
                &format!("packets, {goodput_kbps:.1} kbit/s"),
                received,
                total,
            ),
        }
        if self.interrupt.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// A protocol's name as people write it.
fn label(protocol: Protocol) -> String {
    protocol.name().to_uppercase()
}

/// What to fetch from `source`.
pub(crate) fn request(
    args: &CollectArgs,
    source: Option<NodeId>,
    object: &Object,
) -> Result<Request, Failure> {
    let payload = PayloadSize::new(args.payload);
    Ok(Request {
        from: source,
        to: args.to,
        object: object.clone(),
        protocol: args.protocol.variant()?,
        payload: payload.ok_or_else(|| Failure::input("a packet holds 1 to 118 bytes"))?,
        paths: args.paths,
        hops: args.hops,
    })
}

/// The object that `--file` or `--bytes` names.
pub(crate) fn object(args: &CollectArgs) -> Result<Object, Failure> {
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
        _ => Ok(Object::Bytes(Arc::from(bytes))),
    }
}

/// Bad usage is told before anything runs.
pub(crate) fn check_out(out: &Path) -> Result<(), Failure> {
    if out.exists() && !out.is_dir() {
        return Err(store_failure(StoreError::NotAFolder(out.to_owned())));
    }
    Ok(())
}

/// Stores the object if it arrived whole, and its record in either case.
pub(crate) fn remember(
    store: &mut Store,
    report: &Report,
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
    match &report.object {
        Some(object) if main.verified => store.keep(&new, object).map(Some),
        _ => store.note(&new).map(|_| None),
    }
    .map_err(store_failure)
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
        goodput_kbps: Some(o.goodput_kbps),
        utilisation: Some(o.utilisation),
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
    let why = o.failure.as_deref().unwrap_or("it is not whole");
    format!("node {}: the object did not arrive: {why}", o.source)
}
