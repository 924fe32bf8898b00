//! `thalweg collect --all-nodes`: every node in turn, or several at once into several base stations,
//! remembered in the store.
//!
//! What is printed at the end comes from the store, so that a campaign that was interrupted ends
//! in the same bytes as one that was not. Time base: wall clock, for the time left only.

mod summary;

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg::{AllNodes, Network, Object, Report, Visit};
use thalweg_host::outcome::Outcome;
use thalweg_host::store::{digest_of, Campaign, Store};
use thalweg_simnet::campaign::InWave;
use thalweg_testbeds::{Loss, Testbed};
use thalweg_units::NodeId;

use crate::args::CollectArgs;
use crate::failure::{one_line, with_options, Failure};
use crate::network::{self, Ends};
use crate::output::{self, plural};
use crate::progress::Watch;
use crate::table::number;
use crate::transfer::{keep, not_whole, remember, Of};
use crate::values::MAX_PAYLOAD;
use summary::summary;
pub(crate) use summary::{text, CampaignSummary, Line};

/// Fetches an object from every node but the sink.
pub(crate) fn run(
    args: &CollectArgs,
    (network, ends): (&Network, &Ends),
    watch: &mut Watch,
) -> Result<(), Failure> {
    // Bad requests fail before anything is written.
    let all = network.all_nodes(&ends.to)?;
    let (testbed, sources) = (network.testbed(), all.sources());
    let description = description((args, ends), testbed, &network.request()?.object)?;
    let mut store = Store::open(&args.out)?;
    let mut campaign = store.campaign(&description, sources)?;
    // Two processes would do all work twice.
    let _lock = store.lock(campaign.id)?;
    let renewed = store.renew(&mut campaign)?;
    if renewed > 0 {
        let objects = plural(renewed, "object", "objects");
        let line = format!("thalweg: {objects} of an earlier run were deleted; fetched again");
        watch.reporter.line(&line);
    }
    let of = Of::file(args).within(campaign.id);
    if campaign.left().next().is_some() {
        go_on((&all, testbed), &mut store, (&campaign, of), watch)?;
    }
    watch.reporter.finish();
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let done = store.campaign(&description, sources)?;
    let summary = summary(&store, testbed, &done)?;
    if args.json {
        output::print_json(&summary)?;
    } else {
        let sink = network::sink(testbed, &ends.to);
        output::print(&format!("{}: {sink}\n\n{}", testbed.name, text(&summary)))?;
    }
    match summary.missing() {
        0 => Ok(()),
        missing => Err(Failure::Told(
            format!(
                "{missing} of {} objects did not arrive",
                summary.nodes.len()
            ),
            1,
        )),
    }
}

/// Collects from the nodes that are left.
fn go_on(
    (all, testbed): (&AllNodes<'_>, &Testbed),
    store: &mut Store,
    (campaign, of): (&Campaign, Of<'_>),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let (total, left) = (campaign.nodes.len(), campaign.left().count());
    if left < total && !all.is_at_once() {
        watch.reporter.line(&format!(
            "thalweg: going on: {} of {total} are done",
            total - left
        ));
    }
    let arrived = summary(store, testbed, campaign)?.bytes;
    let watch = RefCell::new(watch);
    let mut keeper = Keeper {
        store,
        testbed,
        campaign,
        of,
        watch: &watch,
        left,
        arrived,
        begun: Instant::now(),
        turns: 0,
    };
    let mut observer = |label: &str, progress| watch.borrow_mut().note(label, progress);
    let mut visit = |visit: Visit<'_>| keeper.visit(visit).map_err(Ended::Failed);
    let nodes = campaign.left().collect();
    match all.collect(nodes, &mut observer, &mut visit) {
        Ok(()) => Ok(()),
        Err(Ended::Failed(why)) => Err(why),
        Err(Ended::Stopped) => Err(interrupted(keeper.left)),
    }
}

/// Why nodes are left.
enum Ended {
    Stopped,
    Failed(Failure),
}

impl From<thalweg::Error> for Ended {
    fn from(error: thalweg::Error) -> Self {
        match error {
            thalweg::Error::Stopped => Self::Stopped,
            error => Self::Failed(error.into()),
        }
    }
}

/// Keeps what comes, and says so.
struct Keeper<'a, 'w> {
    store: &'a mut Store,
    testbed: &'a Testbed,
    campaign: &'a Campaign,
    of: Of<'a>,
    watch: &'a RefCell<&'w mut Watch>,
    /// Nodes that are left.
    left: usize,
    /// Bytes so far.
    arrived: u64,
    begun: Instant,
    /// Transfers since then.
    turns: u32,
}

impl Keeper<'_, '_> {
    fn visit(&mut self, visit: Visit<'_>) -> Result<(), Failure> {
        match visit {
            Visit::Surveyed => self.begun = Instant::now(),
            Visit::Begins(_) => {
                let total = self.campaign.nodes.len();
                let context = format!("{} of {total}", total - self.left + 1);
                self.watch.borrow_mut().reporter.set_context(&context);
            }
            Visit::Ended(source, Ok(report)) => {
                remember(report, self.store, self.of)?;
                self.arrived += report.summary().bytes;
                self.ended(&line_of(self.testbed, source, report));
            }
            Visit::Ended(source, Err(why)) => {
                let line = with_options(why);
                self.store.fail_turn(self.campaign.id, source, &line)?;
                let named = self.testbed.named(source);
                self.ended(&format!("node {named}: {}", one_line(&line)));
            }
            Visit::InWave(turn, object) => self.in_wave(turn, object)?,
        }
        Ok(())
    }

    /// Says that a turn has ended, with its `line`.
    fn ended(&mut self, line: &str) {
        self.left -= 1;
        self.turns += 1;
        let (total, left) = (self.campaign.nodes.len(), self.left);
        self.watch.borrow_mut().reporter.line(&format!(
            "{line}; {} of {total} nodes, {:.1} kB so far{}",
            total - left,
            self.arrived as f64 / 1000.0,
            time_left(self.begun.elapsed(), self.turns, left)
        ));
    }

    fn in_wave(&mut self, turn: &Outcome<InWave>, object: Option<&[u8]>) -> Result<(), Failure> {
        let summary = &turn.summary;
        let kept = match &summary.failure {
            // No transfer was begun.
            Some(why) if summary.hops == 0 => {
                let failed = self.store.fail_turn(self.campaign.id, summary.source, why);
                failed.map_err(Failure::from)
            }
            _ => keep(turn, (summary, None), object, self.store, self.of).map(drop),
        };
        self.left -= 1;
        let line = match summary.verified {
            true => format!(
                "node {} to {}: {:.1} kbit/s",
                self.testbed.named(summary.source),
                self.testbed.named(summary.sink),
                summary.goodput_kbps
            ),
            false => not_whole(self.testbed, summary),
        };
        let total = self.campaign.nodes.len();
        let line = format!("{line}; {} of {total} nodes", total - self.left);
        self.watch.borrow_mut().reporter.line(&line);
        kept
    }
}

/// The line about a transfer from `source`.
fn line_of(testbed: &Testbed, source: NodeId, report: &Report) -> String {
    let o = report.summary();
    match o.verified {
        true => {
            let goodput = number(Some(o.goodput_kbps), 1.0, 1);
            let named = testbed.named(source);
            format!("node {named}: {goodput} kbit/s, rounds {}", o.rounds)
        }
        false => not_whole(testbed, o),
    }
}

fn interrupted(left: usize) -> Failure {
    let left = plural(left, "node", "nodes");
    let line = format!("interrupted with {left} left; start it again to go on");
    Failure::Job(line)
}

/// Everything that a campaign's results depend on.
#[derive(Serialize)]
struct Description<'a> {
    testbed: &'a str,
    testbed_digest: Option<String>,
    to: Option<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more: Vec<u16>,
    object: String,
    protocol: String,
    channels: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_channel: Option<u8>,
    payload: u8,
    paths: Option<u8>,
    hops: Option<u8>,
    seed: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secure: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loss: Vec<String>,
}

/// The campaign's [`Description`] as text.
fn description(
    (args, ends): (&CollectArgs, &Ends),
    testbed: &Testbed,
    object: &Object,
) -> Result<String, Failure> {
    let digest = match fs::read(Path::new(&args.testbed)) {
        // Standard input cannot be read twice; what was made of it says as much.
        _ if args.testbed == "-" => {
            let made = format!("{:?} {:?}", testbed.nodes, testbed.physics);
            Some(digest_of(made.as_bytes()))
        }
        Ok(bytes) => Some(digest_of(&bytes)),
        // A built-in testbed; what cannot be read at all was refused before.
        Err(_) => None,
    };
    let description = Description {
        testbed: &args.testbed,
        testbed_digest: digest,
        to: ends.to.first().map(|node| node.get()),
        more: ends.to.iter().skip(1).map(|node| node.get()).collect(),
        object: match object {
            Object::Random { bytes } => format!("random {bytes}"),
            Object::Bytes(bytes) => format!("sha256 {}", digest_of(bytes)),
        },
        protocol: args.protocol.name.to_owned(),
        channels: args
            .channels
            .as_ref()
            .map(|list| list.0.iter().map(|c| c.number()).collect()),
        control_channel: args.control_channel.map(|c| c.number()),
        payload: args.payload.unwrap_or(MAX_PAYLOAD),
        paths: args.paths,
        hops: args.hops,
        seed: args.seed,
        secure: args.secure,
        loss: (network::losses(testbed, &args.loss)?.iter())
            .map(Loss::to_string)
            .collect(),
    };
    serde_json::to_string(&description).map_err(Failure::job)
}

/// The time that the nodes left will take if they take as long as those of this run.
fn time_left(elapsed: Duration, turns: u32, left: usize) -> String {
    if left == 0 {
        return String::new();
    }
    let seconds = (elapsed.as_secs_f64() / f64::from(turns) * left as f64).ceil();
    if seconds < 90.0 {
        format!(", about {seconds} s left")
    } else {
        format!(", about {:.0} min left", seconds / 60.0)
    }
}
