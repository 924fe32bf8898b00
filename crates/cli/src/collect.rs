//! `thalweg collect`: an object from a node, whatever carries it, from the order to the store.

use serde::Serialize;
use thalweg_gateway::registry::{Needs, Pipelined, Takes};
use thalweg_gateway::store::{Fate, Kept, Store, StoreError};
use thalweg_lab::collect::{check, Object};
use thalweg_lab::streams::{self, psdu_bytes, Carrier, Onlookers, Order, Recorder};
use thalweg_testbeds::{Site, Testbed};
use thalweg_wire::phy;
use thalweg_wire::pipeline::HEADER_BYTES;

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::{Failure, Stop};
use crate::output;
use crate::progress::Watch;
use crate::transfer::{ask_of, not_whole, object, Transfer};
use crate::{campaign, shown};

/// Fetches one object, or one from every node, stores it and prints the result.
pub(crate) fn run(args: &CollectArgs) -> Result<(), Failure> {
    if args.out.exists() && !args.out.is_dir() {
        return Err(StoreError::NotAFolder(args.out.clone()).into());
    }
    let object = object(args)?;
    let testbed = Testbed::load(&args.testbed).map_err(Failure::input)?;
    check_takes(args)?;
    let (site, psdu) = match args.protocol.needs() {
        Needs::Synchronous => {
            let psdu = HEADER_BYTES + usize::from(args.payload) + phy::FCS_BYTES;
            (Ok(Site::new(testbed, args.seed)), psdu)
        }
        Needs::TwoRadios => (
            Site::with_all_radios(testbed, args.seed),
            psdu_bytes(args.payload),
        ),
    };
    let site = site.and_then(|site| site.with_losses(&args.loss, psdu));
    let site = site.map_err(Failure::input)?;
    let mut watch = Watch::new(args.protocol);
    match Carrier::of(args.protocol.family) {
        None if args.all_nodes => campaign::run(args, &object, site, &mut watch),
        None => pipeline(args, &object, site, &mut watch),
        Some(carrier) => stream(args, &object, (site, carrier), &mut watch),
    }
}

/// Over a pipeline.
fn pipeline(
    args: &CollectArgs,
    object: &Object,
    site: Site,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let ask = ask_of(args, args.from, object)?;
    check(&site.testbed, args.to, &ask).map_err(Failure::input)?;
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let collector = watch.survey(args, site)?;
    let mut maps = Vec::new();
    let wanted = args.explain.as_ref().map(|_| &mut maps);
    let fetched = watch.fetch(&collector, (&ask, object), capture.as_ref(), wanted);
    let report = fetched.map_err(|stop| stopped(capture.as_ref(), stop))?;
    let hint = match args.protocol.name == Pipelined::P3.name {
        true => "",
        false => "; `--protocol p3` goes over several paths",
    };
    let brought = Brought {
        transfer: Transfer::from(&report),
        svg: maps.first().map(|map| map.to_svg()),
        maps: maps.iter().map(|map| map.to_text()).collect(),
        explain: (!maps.is_empty()).then_some(&maps),
        stored: |kept: &Kept| Stored::Object {
            path: kept.path.display().to_string(),
            digest: kept.digest.clone(),
        },
        text: shown::pipeline(&report),
        failure: not_whole(&report.outcome.core) + hint,
    };
    brought.finish(args, capture, watch)
}

/// Over nodes with two radios.
fn stream(
    args: &CollectArgs,
    object: &Object,
    (site, carrier): (Site, Carrier),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let order = Order {
        site,
        from: args.from,
        to: args.to,
        carrier,
        payload_bytes: args.payload,
        paths: args.paths,
    };
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let nodes = &order.site.testbed.nodes;
    let frames = capture.as_ref().map(|capture| capture.frames(nodes));
    let mut onlookers = Onlookers {
        capture: frames.transpose().map_err(Failure::job)?,
        recorder: args.explain.as_ref().map(|_| Recorder::default()),
        ..Onlookers::default()
    };
    let mut fetch = || {
        let prepared = streams::prepare(&order, object, &mut |band, step| watch.note(band, step))?;
        watch.planned(&prepared);
        prepared.fetch(&mut |step| watch.note("", step), &mut onlookers)
    };
    let collected = fetch().map_err(|why| stopped(capture.as_ref(), why.into()))?;
    let map = onlookers.recorder.take().map(Recorder::finish);
    let core = &collected.outcome.core;
    let brought = Brought {
        transfer: Transfer {
            report: &collected,
            core,
            baseline: None,
            object: collected.outcome.extra.stream.object.as_deref(),
        },
        svg: map.as_ref().map(|map| map.to_svg()),
        maps: map.iter().map(|map| map.to_text()).collect(),
        explain: map.as_ref(),
        stored: |kept: &Kept| Stored::Path(kept.path.display().to_string()),
        text: shown::stream(&collected),
        failure: core.failure.clone().unwrap_or_default(),
    };
    brought.finish(args, capture, watch)
}

/// The failure that ended a job: that of the capture's file, if it met one.
fn stopped(capture: Option<&Capture>, why: Stop) -> Failure {
    let broken = capture.and_then(Capture::failure);
    broken.unwrap_or_else(|| why.into())
}

/// What is printed, drawn and stored of a transfer of any family.
struct Brought<'a, R, E> {
    transfer: Transfer<'a, R>,
    explain: Option<E>,
    /// The first of the maps that `explain` has, as a picture.
    svg: Option<String>,
    /// All of them.
    maps: Vec<String>,
    /// How JSON tells where the object is.
    stored: fn(&Kept) -> Stored,
    text: String,
    /// The line where the object did not arrive.
    failure: String,
}

/// Where the object is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Stored {
    Object { path: String, digest: String },
    Path(String),
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a, R, E> {
    #[serde(flatten)]
    report: &'a R,
    stored: Option<Stored>,
    /// The transfer's map, then the baseline's.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<E>,
}

impl<R: Serialize, E: Serialize> Brought<'_, R, E> {
    fn finish(
        self,
        args: &CollectArgs,
        capture: Option<Capture>,
        watch: &mut Watch,
    ) -> Result<(), Failure> {
        let reporter = &mut watch.reporter;
        reporter.finish();
        if let (Some(Some(path)), Some(svg)) = (&args.explain, &self.svg) {
            output::write_file(path, svg)?;
        }
        if let Some(capture) = capture {
            capture.finish()?;
        }
        let kept = self.transfer.remember(&mut Store::open(&args.out)?, None)?;
        let is_there = |kept: &Kept| kept.fate == Fate::Identical;
        if kept.as_ref().is_some_and(is_there) {
            reporter.line("thalweg: the store had the same object already; it was left as it is");
        }
        if args.json {
            output::print_json(&Printed {
                report: self.transfer.report,
                stored: kept.as_ref().map(self.stored),
                explain: self.explain,
            })?;
        } else {
            let mut text = self.text;
            if let Some(kept) = &kept {
                text.push_str(&format!(
                    "\n{} bytes, whole, sha256 {}\nstored as {}\n",
                    self.transfer.core.bytes,
                    kept.digest,
                    kept.path.display()
                ));
            }
            for map in &self.maps {
                text.push('\n');
                text.push_str(map);
            }
            output::print(&text)?;
        }
        match kept {
            Some(_) => Ok(()),
            None => Err(Failure::Job(self.failure)),
        }
    }
}

/// Refuses what is asked of a protocol that has no use for it.
fn check_takes(args: &CollectArgs) -> Result<(), Failure> {
    let given = [
        (args.paths.is_some(), "--paths", Takes::Paths),
        (args.hops.is_some(), "--hops", Takes::Hops),
        (args.channels.is_some(), "--channels", Takes::Channels),
        (args.explain.is_some(), "--explain", Takes::Explain),
        (args.all_nodes, "--all-nodes", Takes::AllNodes),
    ];
    let takes = args.protocol.takes();
    let refused = (given.iter()).find(|(given, _, what)| *given && !takes.contains(what));
    refused.map_or(Ok(()), |(_, option, _)| {
        let name = args.protocol.name;
        Err(Failure::Input(format!(
            "{option} is not for --protocol {name}"
        )))
    })
}
