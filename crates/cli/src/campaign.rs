//! `thalweg collect --all-nodes`: every node in turn, or several at once into several base stations,
//! remembered in the store.
//!
//! What is printed at the end comes from the store, so that a campaign that was interrupted ends
//! in the same bytes as one that was not. Time base: wall clock, for the time left only.

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg::{Explain, Network, Object};
use thalweg_host::collector::clean_channels;
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::{Family, Pipelined};
use thalweg_host::store::{digest_of, Campaign, Condition, Store, Turn, TurnState};
use thalweg_simnet::campaign::{empty, CampaignError, InWave, Settings, Sources};
use thalweg_simnet::fetch::CollectRequest;
use thalweg_testbeds::{Site, Station, Testbed};
use thalweg_units::NodeId;

use crate::args::CollectArgs;
use crate::failure::{one_line, Failure, Stop};
use crate::network::{self, Ends};
use crate::output::{self, plural};
use crate::progress::Watch;
use crate::table::{number, Align, Table};
use crate::transfer::{keep, not_whole, remember, Of};
use crate::values::MAX_PAYLOAD;

/// Fetches an object from every node but the sink.
pub(crate) fn run(
    args: &CollectArgs,
    (network, ends): (&Network, &Ends),
    watch: &mut Watch,
) -> Result<(), Failure> {
    // Bad requests fail before anything is written.
    let (request, site) = (network.request()?, network.site()?);
    let testbed = network.testbed();
    let sinks = match &ends.to[..] {
        [] => vec![testbed.sink],
        named => named.to_vec(),
    };
    if sinks.len() > 1 && args.idle.is_some() {
        let line = "--idle: several base stations rouse no network yet; name one --to";
        return Err(Failure::Input(line.to_owned()));
    }
    let nodes = testbed.nodes.iter().map(|node| node.id);
    let sources: Vec<NodeId> = nodes.filter(|node| !sinks.contains(node)).collect();
    let description = description((args, ends), testbed, &request.object)?;
    let mut store = Store::open(&args.out)?;
    let mut campaign = store.campaign(&description, &sources)?;
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
        match (request.protocol.family, &sinks[..]) {
            (Family::Pipeline(variant), [_, _, ..]) => {
                let mut settings = settings(&site, variant, &sinks, &request);
                settings.sources = Sources::These(campaign.left().collect());
                waves(&site, &settings, &mut store, (&campaign, of), watch)?;
            }
            _ => turns(network, &mut store, (&campaign, of), watch)?,
        }
    }
    watch.reporter.finish();
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let done = store.campaign(&description, &sources)?;
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

/// The turns of the nodes that are left.
fn turns(
    network: &Network,
    store: &mut Store,
    (campaign, of): (&Campaign, Of<'_>),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let (total, testbed) = (campaign.nodes.len(), network.testbed());
    let mut left = campaign.left().count();
    if left < total {
        watch.reporter.line(&format!(
            "thalweg: going on: {} of {total} are done",
            total - left
        ));
    }
    let mut arrived = summary(store, testbed, campaign)?.bytes;
    let (surveyed, request) = (watch.survey(network)?, network.request()?);
    let begun = Instant::now();
    for (turn, source) in (1u32..).zip(campaign.left()) {
        watch
            .reporter
            .set_context(&format!("{} of {total}", total - left + 1));
        let named = testbed.named(source);
        let request = CollectRequest {
            from: Some(source),
            ..request.clone()
        };
        let line = match watch.fetch(&surveyed, &request, None, Explain::Nothing) {
            Ok((report, _)) => {
                remember(&report, store, of)?;
                let o = report.summary();
                arrived += o.bytes;
                if o.verified {
                    let goodput = number(Some(o.goodput_kbps), 1.0, 1);
                    format!("node {named}: {goodput} kbit/s, rounds {}", o.rounds)
                } else {
                    not_whole(testbed, o)
                }
            }
            Err(Stop::Interrupted) => return Err(interrupted(left)),
            Err(Stop::Input(line) | Stop::Failed(line)) => {
                store.fail_turn(campaign.id, source, &line)?;
                format!("node {named}: {}", one_line(&line))
            }
        };
        left -= 1;
        watch.reporter.line(&format!(
            "{line}; {} of {total} nodes, {:.1} kB so far{}",
            total - left,
            arrived as f64 / 1000.0,
            time_left(begun.elapsed(), turn, left)
        ));
    }
    Ok(())
}

/// The settings of transfers into `sinks` at once, for `request`.
fn settings(
    site: &Site,
    variant: Pipelined,
    sinks: &[NodeId],
    request: &CollectRequest,
) -> Settings {
    let offered = site.testbed.channels;
    let channels = (request.channels.clone())
        .or_else(|| clean_channels(offered))
        .unwrap_or_else(|| offered.iter().collect());
    let stations = sinks.iter().map(|node| Station::Node(*node)).collect();
    let (object, measured) = (request.object.clone(), channels.into_iter().collect());
    let mut settings = Settings::of(site, variant, stations, measured, object, request.payload);
    settings.channels.clone_from(&request.channels);
    settings.patience = request.patience;
    settings.route.hops = request.hops.map(usize::from);
    settings.route.max_paths = request.paths.map(usize::from).or(settings.route.max_paths);
    settings
}

/// The nodes that are left, several at once.
fn waves(
    site: &Site,
    settings: &Settings,
    store: &mut Store,
    (campaign, of): (&Campaign, Of<'_>),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let (total, mut left) = (campaign.nodes.len(), campaign.left().count());
    let watch = RefCell::new(watch);
    let mut failed = None;
    let mut done = |turn: &Outcome<InWave>, object: Option<&[u8]>| {
        let summary = &turn.summary;
        let kept = match &summary.failure {
            // No transfer was begun.
            Some(why) if summary.hops == 0 => {
                let failed = store.fail_turn(campaign.id, summary.source, why);
                failed.map_err(Failure::from)
            }
            _ => keep(turn, (summary, None), object, store, of).map(drop),
        };
        left -= 1;
        let line = match summary.verified {
            true => format!(
                "node {} to {}: {:.1} kbit/s",
                site.testbed.named(summary.source),
                site.testbed.named(summary.sink),
                summary.goodput_kbps
            ),
            false => not_whole(&site.testbed, summary),
        };
        let line = format!("{line}; {} of {total} nodes", total - left);
        watch.borrow_mut().reporter.line(&line);
        match kept {
            Ok(()) => Continue(()),
            Err(why) => {
                failed = Some(why);
                Break(())
            }
        }
    };
    let mut observer = |progress| watch.borrow_mut().note("", progress);
    let emptied = empty(site, settings, &mut observer, &mut done);
    match (emptied, failed) {
        (_, Some(why)) => Err(why),
        (Ok(_), None) => Ok(()),
        (Err(CampaignError::Run(why)), None) if why.is_stop() => Err(interrupted(left)),
        (Err(CampaignError::Run(why)), None) if !why.is_input() => Err(Failure::job(why)),
        (Err(why), None) => Err(Failure::input(why)),
    }
}

fn interrupted(left: usize) -> Failure {
    let left = plural(left, "node", "nodes");
    let line = format!("interrupted with {left} left; start it again to go on");
    Failure::Job(line)
}

/// Everything that a campaign's results depend on, in one form.
fn description(
    (args, ends): (&CollectArgs, &Ends),
    testbed: &Testbed,
    object: &Object,
) -> Result<String, Failure> {
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
        #[serde(skip_serializing_if = "Vec::is_empty")]
        loss: Vec<String>,
    }
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
        loss: (args.loss.iter())
            .map(|loss| format!("{}-{}:{}", loss.from, loss.to, loss.share))
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

/// A campaign's results as `--json` prints them.
#[derive(Debug, Serialize)]
pub(crate) struct CampaignSummary {
    nodes: Vec<Line>,
    /// How many objects arrived.
    objects: usize,
    /// Their bytes.
    bytes: u64,
    /// Time of all transfers, added up.
    duration_s: f64,
    /// None where other transfers ran meanwhile.
    energy_j: Option<f64>,
    /// All bytes over that time.
    goodput_kbps: Option<f64>,
}

/// One node's line.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Line {
    /// The station whose node it is, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) station: Option<String>,
    pub(crate) source: u16,
    /// What its node is called beside its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    pub(crate) verified: bool,
    pub(crate) failure: Option<String>,
    pub(crate) bytes: Option<u64>,
    pub(crate) goodput_kbps: Option<f64>,
    pub(crate) rounds: Option<u32>,
    pub(crate) hops: Option<u32>,
    pub(crate) paths: Option<u32>,
    pub(crate) energy_j: Option<f64>,
    pub(crate) duration_s: Option<f64>,
    pub(crate) digest: Option<String>,
}

impl Line {
    /// Its node for people.
    fn node(&self) -> String {
        let (station, label) = (self.station.as_deref(), self.label.as_deref());
        let node = network::named_as(self.source, label);
        station.map_or(node.clone(), |station| {
            format!("{} {node}", one_line(station))
        })
    }
    fn new(store: &Store, testbed: &Testbed, turn: &Turn) -> Result<Self, Failure> {
        let mut line = Self {
            source: turn.node.get(),
            label: testbed.label(turn.node).map(str::to_owned),
            ..Self::default()
        };
        let stored = match &turn.state {
            TurnState::Done(id) => store.transfer(*id)?,
            TurnState::Failed(reason) => {
                line.failure = Some(reason.clone());
                None
            }
            TurnState::Left => None,
        };
        let Some(stored) = stored else {
            return Ok(line);
        };
        let failure = match (stored.record.verified, stored.condition()?) {
            (false, _) => Some("the object did not arrive whole"),
            (true, Condition::Whole) => None,
            (true, Condition::Missing) => Some("the object was deleted from the store"),
            (true, Condition::Changed) => Some("the object was changed in the store"),
        };
        let r = stored.record;
        Ok(Self {
            verified: failure.is_none(),
            failure: failure.map(str::to_owned),
            bytes: Some(r.bytes),
            goodput_kbps: Some(r.goodput_kbps),
            rounds: Some(r.rounds),
            hops: Some(r.hops),
            paths: Some(r.paths),
            energy_j: r.energy_j,
            duration_s: Some(r.duration_s),
            digest: stored.digest,
            ..line
        })
    }
}

fn summary(
    store: &Store,
    testbed: &Testbed,
    campaign: &Campaign,
) -> Result<CampaignSummary, Failure> {
    let nodes = campaign.nodes.iter();
    let lines = nodes.map(|turn| Line::new(store, testbed, turn));
    Ok(CampaignSummary::of(lines.collect::<Result<_, _>>()?))
}

impl CampaignSummary {
    /// That of `nodes`.
    pub(crate) fn of(nodes: Vec<Line>) -> Self {
        let whole = || nodes.iter().filter(|line| line.verified);
        let bytes = whole().filter_map(|line| line.bytes).sum::<u64>();
        // An empty sum of floats is -0.
        let total =
            |of: fn(&Line) -> Option<f64>| nodes.iter().filter_map(of).fold(0.0, |a, b| a + b);
        let duration_s = total(|line| line.duration_s);
        Self {
            objects: whole().count(),
            bytes,
            duration_s,
            energy_j: whole()
                .all(|line| line.energy_j.is_some())
                .then(|| total(|line| line.energy_j)),
            goodput_kbps: (duration_s > 0.0).then(|| bytes as f64 * 8.0 / 1000.0 / duration_s),
            nodes,
        }
    }
    /// How many objects did not arrive.
    pub(crate) fn missing(&self) -> usize {
        self.nodes.len() - self.objects
    }
}

/// It as a table.
pub(crate) fn text(summary: &CampaignSummary) -> String {
    let numbers = [
        "node",
        "hops",
        "paths",
        "rounds",
        "kbit/s",
        "time, s",
        "energy, J",
    ];
    let heading = numbers.map(|name| (name, Align::Right));
    let mut table = Table::new(heading.into_iter().chain([("object", Align::Left)]));
    let whole = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for line in &summary.nodes {
        table.row([
            line.node(),
            whole(line.hops),
            whole(line.paths),
            whole(line.rounds),
            number(line.goodput_kbps, 1.0, 1),
            number(line.duration_s, 1.0, 3),
            number(line.energy_j, 1.0, 3),
            line.failure.clone().unwrap_or_else(|| "whole".to_owned()),
        ]);
    }
    let joules = summary.energy_j.map(|joules| format!(", {joules:.3} J"));
    format!(
        "{}\n{} of {} objects, {} bytes in {} s on the air, {} kbit/s{}\n",
        table.render(),
        summary.objects,
        summary.nodes.len(),
        summary.bytes,
        number(Some(summary.duration_s), 1.0, 3),
        number(summary.goodput_kbps, 1.0, 1),
        joules.unwrap_or_default(),
    )
}
