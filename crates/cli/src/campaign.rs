//! `thalweg collect --all-nodes`: every node in turn, remembered in the store.
//!
//! What is printed at the end comes from the store, so that a campaign that was interrupted ends
//! in the same bytes as one that was not. Time base: wall clock, for the time left only.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg_gateway::store::{digest_of, Campaign, Store, Turn, TurnState};
use thalweg_lab::collect::Object;
use thalweg_lab::fetch::{Explain, Wish};
use thalweg_testbeds::Site;
use thalweg_units::NodeId;

use crate::args::CollectArgs;
use crate::failure::{one_line, Failure, Stop};
use crate::output;
use crate::progress::Watch;
use crate::table::{number, Align, Table};
use crate::transfer::{not_whole, remember};

/// Fetches an object from every node but the sink.
pub(crate) fn run(
    args: &CollectArgs,
    wish: &Wish,
    site: Site,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let sink = wish.to.unwrap_or(site.testbed.sink);
    let nodes = site.testbed.nodes.iter();
    let sources: Vec<NodeId> = nodes
        .map(|node| node.id)
        .filter(|node| *node != sink)
        .collect();
    let description = description(args, &wish.object)?;
    let mut store = Store::open(&args.out)?;
    let campaign = store.campaign(&description, &sources)?;
    if campaign.left().next().is_some() {
        turns(wish, site, &mut store, &campaign, watch)?;
    }
    watch.reporter.finish();
    let done = store.campaign(&description, &sources)?;
    let summary = summary(&store, &done)?;
    if args.json {
        output::print_json(&summary)?;
    } else {
        output::print(&text(&summary))?;
    }
    match summary.nodes.iter().filter(|line| !line.verified).count() {
        0 => Ok(()),
        missing => Err(Failure::Job(format!(
            "{missing} of {} objects did not arrive",
            summary.nodes.len()
        ))),
    }
}

/// The turns of the nodes that are left.
fn turns(
    wish: &Wish,
    site: Site,
    store: &mut Store,
    campaign: &Campaign,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let total = campaign.nodes.len();
    let mut left = campaign.left().count();
    if left < total {
        watch.reporter.line(&format!(
            "thalweg: going on: {} of {total} are done",
            total - left
        ));
    }
    let mut arrived = summary(store, campaign)?.bytes;
    let network = watch.survey(wish, site)?;
    let begun = Instant::now();
    for (turn, source) in (1u32..).zip(campaign.left()) {
        watch
            .reporter
            .set_context(&format!("{} of {total}", total - left + 1));
        let wish = Wish {
            from: Some(source),
            ..wish.clone()
        };
        let line = match watch.fetch(&network, &wish, None, Explain::Nothing) {
            Ok((report, _)) => {
                remember(&report, store, Some(campaign.id))?;
                let o = report.core();
                arrived += o.bytes;
                if o.verified {
                    let goodput = number(Some(o.goodput_kbps), 1.0, 1);
                    format!("node {source}: {goodput} kbit/s, rounds {}", o.rounds)
                } else {
                    not_whole(o)
                }
            }
            Err(Stop::Interrupted) => {
                let line = format!("interrupted with {left} nodes left; start it again to go on");
                return Err(Failure::Job(line));
            }
            Err(Stop::Input(line) | Stop::Failed(line)) => {
                store.fail_turn(campaign.id, source, &line)?;
                format!("node {source}: {}", one_line(&line))
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

/// Everything that a campaign's results depend on, in one form.
fn description(args: &CollectArgs, object: &Object) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Description<'a> {
        testbed: &'a str,
        testbed_digest: Option<String>,
        to: Option<u16>,
        object: String,
        protocol: String,
        channels: Option<Vec<u8>>,
        payload: u8,
        paths: Option<u8>,
        hops: Option<u8>,
        seed: u64,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        loss: Vec<String>,
    }
    let digest = match fs::read(Path::new(&args.testbed)) {
        Ok(bytes) => Some(digest_of(&bytes)),
        // A built-in testbed; what cannot be read at all was refused before.
        Err(_) => None,
    };
    let description = Description {
        testbed: &args.testbed,
        testbed_digest: digest,
        to: args.to.map(|node| node.get()),
        object: match object {
            Object::Random { bytes } => format!("random {bytes}"),
            Object::Bytes(bytes) => format!("sha256 {}", digest_of(bytes)),
        },
        protocol: args.protocol.name.to_owned(),
        channels: args
            .channels
            .as_ref()
            .map(|list| list.0.iter().map(|c| c.number()).collect()),
        payload: args.payload,
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
struct Summary {
    nodes: Vec<Line>,
    /// How many objects arrived.
    objects: usize,
    /// Their bytes.
    bytes: u64,
    /// Time of all transfers, one after another.
    duration_s: f64,
    energy_j: f64,
    /// All bytes over all time.
    goodput_kbps: Option<f64>,
}

/// One node's line.
#[derive(Debug, Default, Serialize)]
struct Line {
    source: u16,
    verified: bool,
    failure: Option<String>,
    bytes: Option<u64>,
    goodput_kbps: Option<f64>,
    rounds: Option<u32>,
    hops: Option<u32>,
    paths: Option<u32>,
    energy_j: Option<f64>,
    duration_s: Option<f64>,
    digest: Option<String>,
}

impl Line {
    fn new(store: &Store, turn: &Turn) -> Result<Self, Failure> {
        let mut line = Self {
            source: turn.node.get(),
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
        let r = stored.record;
        Ok(Self {
            verified: r.verified,
            failure: (!r.verified).then(|| "the object did not arrive whole".to_owned()),
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

fn summary(store: &Store, campaign: &Campaign) -> Result<Summary, Failure> {
    let nodes: Vec<Line> = campaign
        .nodes
        .iter()
        .map(|turn| Line::new(store, turn))
        .collect::<Result<_, _>>()?;
    let whole = || nodes.iter().filter(|line| line.verified);
    let bytes = whole().filter_map(|line| line.bytes).sum::<u64>();
    let duration_s: f64 = nodes.iter().filter_map(|line| line.duration_s).sum();
    Ok(Summary {
        objects: whole().count(),
        bytes,
        duration_s,
        energy_j: nodes.iter().filter_map(|line| line.energy_j).sum(),
        goodput_kbps: (duration_s > 0.0).then(|| bytes as f64 * 8.0 / 1000.0 / duration_s),
        nodes,
    })
}

fn text(summary: &Summary) -> String {
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
            line.source.to_string(),
            whole(line.hops),
            whole(line.paths),
            whole(line.rounds),
            number(line.goodput_kbps, 1.0, 1),
            number(line.duration_s, 1.0, 3),
            number(line.energy_j, 1.0, 3),
            line.failure.clone().unwrap_or_else(|| "whole".to_owned()),
        ]);
    }
    format!(
        "{}\n{} of {} objects, {} bytes in {} s on the air, {} kbit/s, {} J\n",
        table.render(),
        summary.objects,
        summary.nodes.len(),
        summary.bytes,
        number(Some(summary.duration_s), 1.0, 3),
        number(summary.goodput_kbps, 1.0, 1),
        number(Some(summary.energy_j), 1.0, 3),
    )
}
