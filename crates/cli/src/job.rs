//! What one transfer and a campaign of them share: the request, its progress, its record.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use thalweg_gateway::carry::pipeline::Terms;
use thalweg_gateway::job::Progress;
use thalweg_gateway::known::Ask;
use thalweg_gateway::outcome::Core;
use thalweg_gateway::registry::{Family, Protocol, Takes};
use thalweg_gateway::store::{CampaignId, Kept, NewTransfer, Store, StoreError};
use thalweg_lab::collect::{CollectError, Collector, Object, Report};
use thalweg_lab::explain::LossMap;
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
    /// Packets of the object.
    pub(crate) packets: u64,
}

impl Watch {
    /// Nothing has been told yet.
    pub(crate) fn new() -> Self {
        Self {
            reporter: Reporter::to_stderr(),
            interrupt: Interrupt::on_signals(),
            packets: 0,
        }
    }

    /// Switches the network on and has it measure its links.
    pub(crate) fn survey(&mut self, args: &CollectArgs, site: Site) -> Result<Collector, Stop> {
        let channels: Option<&[Channel]> = args.channels.as_ref().map(|list| list.0.as_slice());
        let mut observer = |label: &str, progress| self.note(label, progress);
        let ends = (args.from, args.to);
        Ok(Collector::open(site, ends, channels, &mut observer)?)
    }

    /// Fetches one object, and says where packets were lost where `maps` are asked for.
    pub(crate) fn fetch(
        &mut self,
        collector: &Collector,
        (ask, object): (&Ask, &Object),
        capture: Option<&Capture>,
        maps: Option<&mut Vec<LossMap>>,
    ) -> Result<Report, Stop> {
        let known = collector.known();
        let plan = known.plan(ask).map_err(CollectError::from)?;
        let nodes = &collector.testbed().nodes;
        let frames = capture.map(|capture| capture.frames(nodes)).transpose();
        let frames = frames.map_err(CollectError::from)?;
        let name = |n: usize| known.place().name_of(n);
        let (from, to) = (name(plan.source), name(plan.sink));
        let (paths, hops) = (plan.path_count(), plan.hops);
        let line = format!("node {from} to {to}: {paths} paths of {hops} hops");
        self.reporter.step(&line, "");
        let faithful = Terms {
            payload: ask.payload,
            ..Terms::default()
        };
        let payload = ask.protocol.terms(faithful).payload.bytes();
        self.packets = ask.bytes.div_ceil(u64::from(payload));
        let mut observer = |label: &str, progress| self.note(label, progress);
        Ok(collector.fetch((ask, object), &plan, frames, maps, &mut observer)?)
    }

    /// Shows how far `label`, a protocol or a band, is.
    pub(crate) fn note(&mut self, label: &str, progress: Progress) -> ControlFlow<()> {
        let reporter = &mut self.reporter;
        let at = match label {
            "" => String::new(),
            band => format!(" at {band}"),
        };
        match progress {
            Progress::Measuring { turn, of } => {
                let name = format!("measuring links{at}");
                reporter.counted(&name, "nodes", u64::from(turn), u64::from(of));
            }
            Progress::Collecting { complete, of } => {
                let name = format!("collecting link tables{at}");
                reporter.counted(&name, "tables", u64::from(complete), u64::from(of));
            }
            Progress::WakingUp => {
                reporter.step(&format!("{}: waking up", label.to_uppercase()), "");
            }
            Progress::Packets {
                round,
                received,
                rate,
            } => reporter.counted(
                &format!("{} round {round}", label.to_uppercase()),
                &format!("packets, {:.1} kbit/s", rate.kbps()),
                u64::from(received),
                self.packets,
            ),
            Progress::Wave {
                number,
                transfers,
                left,
            } => {
                let line = format!("wave {}: {transfers} transfers", number + 1);
                reporter.step(&line, &format!("{left} nodes left"));
            }
        }
        if self.interrupt.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Refuses what is asked of a protocol that has no use for it: the `given` options, each with what a protocol
/// takes that uses it.
pub(crate) fn check_takes(
    protocol: &Protocol,
    given: &[(bool, &str, Takes)],
) -> Result<(), Failure> {
    let refused =
        |(given, _, takes): &&(bool, &str, Takes)| *given && !protocol.takes().contains(takes);
    match given.iter().find(refused) {
        None => Ok(()),
        Some((_, option, _)) => Err(Failure::Input(format!(
            "{option} is not for --protocol {}",
            protocol.name
        ))),
    }
}

/// What to ask of the planner for `bytes` bytes from `from`; a line that says why not, where `protocol` plans
/// no routes for one radio.
pub(crate) fn ask(
    protocol: &Protocol,
    from: Option<NodeId>,
    bytes: u64,
    payload: u8,
    (paths, hops): (Option<u8>, Option<u8>),
) -> Result<Ask, Failure> {
    let Family::Pipeline(pipelined) = protocol.family else {
        let line = format!(
            "--protocol {}: its paths are not planned alone",
            protocol.name
        );
        return Err(Failure::Input(line));
    };
    let payload = PayloadSize::new(payload);
    Ok(Ask {
        from,
        bytes,
        protocol: pipelined,
        payload: payload.ok_or_else(|| Failure::input("a packet holds 1 to 118 bytes"))?,
        paths,
        hops,
    })
}

/// What `collect` asks.
pub(crate) fn ask_of(
    args: &CollectArgs,
    from: Option<NodeId>,
    object: &Object,
) -> Result<Ask, Failure> {
    let shape = (args.paths, args.hops);
    ask(args.protocol, from, object.bytes(), args.payload, shape)
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
    let new = NewTransfer {
        record: &report.outcome.core,
        baseline: report.baseline.as_ref().map(|baseline| &baseline.core),
        report: &json,
        campaign,
    };
    match &report.object {
        Some(object) => store.keep(&new, object).map(Some),
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

/// The line about an object that did not arrive.
pub(crate) fn not_whole(o: &Core) -> String {
    let why = o.failure.as_deref().unwrap_or("it is not whole");
    format!("node {}: the object did not arrive: {why}", o.source)
}
