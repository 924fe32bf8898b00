//! `thalweg collect`: an object from a node, by any protocol, from the order to the store.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use thalweg::{Explain, Maps, Network, Report};
use thalweg_host::registry::{Family, OptionName, Pipelined};
use thalweg_host::security::{NetworkKeys, Security, StoredNumbers};
use thalweg_host::store::{Fate, Store, StoreError, StoredObject, DATABASE};
use thalweg_testbeds::Testbed;
use thalweg_wire::route::Scheme;

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::{Failure, Stop};
use crate::import::{labels, Label};
use crate::network::Ends;
use crate::output;
use crate::outputs::{self, Kind, Outputs};
use crate::progress::Watch;
use crate::table::hanging;
use crate::transfer::{network, not_whole, remember, Of};
use crate::{all_nodes, client, gather, network, port, shown};

/// Fetches one object, or one from every node, stores it and prints the result.
pub(crate) fn run(args: &CollectArgs) -> Result<(), Failure> {
    if let Some(address) = &args.gateway {
        return client::collect(args, address);
    }
    if args.out.exists() && !args.out.is_dir() {
        return Err(StoreError::NotAFolder(args.out.clone()).into());
    }
    let (network, ends) = network(args)?;
    check_takes(args, &network)?;
    let keys = match args.port {
        Some(_) => network::keys(network.testbed())?,
        None => None,
    };
    check_outputs(args)?;
    if let Family::Rcrt(_) = args.protocol.family {
        return gather::run(args, (&network, &ends));
    }
    let mut watch = Watch::new(args.protocol, network.testbed(), args.say.verbosity());
    if let Some(port) = &args.port {
        let security = keys.map(|keys| security(keys, &args.out)).transpose()?;
        let report = port::fetch((port, args.baud), &network, security.as_ref(), &mut watch)?;
        let (testbed, report) = (network.testbed(), &Report::Pipeline(report));
        return finish(args, (testbed, &ends), (report, None), &mut watch);
    }
    if let Some(most) = segment_bytes(&network)? {
        // A map is of one transfer, and so is what a node sends in a wave.
        let single = [
            (args.explain.is_some(), "--explain"),
            (args.to.len() > 1, "--to of several"),
        ];
        if let Some((_, option)) = single.iter().find(|(given, _)| *given) {
            let line =
                format!("{option}: an object of at most {most} bytes, which goes in one part");
            return Err(Failure::Input(line));
        }
    }
    match args.all_nodes {
        true => all_nodes::run(args, (&network, &ends), &mut watch),
        false => one(args, (&network, &ends), &mut watch),
    }
}

/// The security of a network with `keys`, whose numbers are in the store at `out`.
fn security(keys: Arc<NetworkKeys>, out: &Path) -> Result<Security, Failure> {
    let numbers = StoredNumbers::new(Store::open(out)?);
    Ok(Security {
        keys,
        numbers: Arc::new(numbers),
    })
}

/// The most bytes that go in one part, where the object has more.
fn segment_bytes(network: &Network) -> Result<Option<u32>, Failure> {
    let request = network.request()?;
    let bytes = request.object.bytes();
    Ok(request
        .segment_bytes()
        .filter(|most| bytes > u64::from(*most)))
}

/// Whether what the options name may be written.
fn check_outputs(args: &CollectArgs) -> Result<(), Failure> {
    let files = args
        .file
        .as_deref()
        .into_iter()
        .chain(args.scenario.as_deref());
    let inputs = files.chain([Path::new(&args.testbed)]);
    let outputs = Outputs::beside(args.force, inputs).with_store(&args.out);
    if let Some(path) = &args.pcap {
        outputs.check("--pcap", path, Kind::Pcapng)?;
    }
    if let Some(Some(path)) = &args.explain {
        outputs.check("--explain", path, Kind::Svg)?;
    }
    // A store that cannot be written fails before time is spent on the transfer.
    match args.out.join(DATABASE).exists() {
        true => Store::open(&args.out).map(drop).map_err(Failure::from),
        false => outputs::probe(&args.out),
    }
}

/// One object.
fn one(
    args: &CollectArgs,
    (network, ends): (&Network, &Ends),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let testbed = network.testbed();
    let explain = match args.explain {
        Some(_) => Explain::Maps,
        None => Explain::Nothing,
    };
    let fetched = watch.survey(network).and_then(|surveyed| {
        let frames = capture.as_ref().map(|to| to.frames(&testbed.nodes));
        let frames = frames.transpose();
        let frames = frames.map_err(|why| Stop::Failed(format!("capture: {why}")))?;
        watch.fetch(&surveyed, &network.request()?, frames, explain)
    });
    let (report, maps) = fetched.map_err(|stop| stopped(capture.as_ref(), stop))?;
    let done = finish(args, (testbed, ends), (&report, maps.as_ref()), watch);
    match capture.map_or(Ok(()), Capture::finish) {
        Ok(()) => done,
        failed => failed,
    }
}

/// Stores the object, and prints the report.
fn finish(
    args: &CollectArgs,
    (testbed, ends): (&Testbed, &Ends),
    (report, maps): (&Report, Option<&Maps>),
    watch: &mut Watch,
) -> Result<(), Failure> {
    watch.reporter.finish();
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    // The result is shown even if it cannot be stored.
    let store = Store::open(&args.out).map_err(Failure::from);
    let remembered = store.and_then(|mut store| remember(report, &mut store, Of::file(args)));
    let kept = remembered.as_ref().ok().and_then(Option::as_ref);
    if kept.is_some_and(|kept| kept.fate == Fate::Identical) {
        let line = "thalweg: the store had the same object already; it was left as it is";
        watch.reporter.line(line);
    }
    if maps.is_some() && report.summary().protocol == Pipelined::HOP_BY_HOP.name {
        let line =
            "thalweg: --explain has no map of what went hop by hop: relays repeat what is lost";
        watch.reporter.line(line);
    }
    if args.json {
        output::print_json(&Printed {
            stored: kept.map(Stored::from),
            report,
            explain: maps,
            labels: labels(&testbed.labels),
        })?;
    } else {
        let source = report.summary().source.get();
        let ends = match args.port {
            Some(_) => network::ends_at_port(testbed, (source, report.summary().sink.get()), ends),
            None => network::ends(testbed, source, ends),
        };
        let silent = network::silent(testbed, report.missing());
        let mut text = shown::report(report, args.protocol.name, (testbed, &(ends + &silent)));
        if let Some(kept) = kept {
            text.push_str(&format!(
                "\n{} bytes, {}\nsha256 {}\nstored as {}\n",
                report.summary().bytes,
                output::whole(report.summary().sealed),
                kept.digest,
                kept.path.display()
            ));
        }
        for map in maps.into_iter().flat_map(Maps::to_text) {
            text.push('\n');
            text.push_str(&hanging(&map, "lost by"));
        }
        output::print(&text)?;
    }
    let svg = maps.and_then(Maps::to_svg);
    if let (Some(Some(path)), Some(svg)) = (&args.explain, svg) {
        output::write_file(path, &svg).map_err(Failure::after_result)?;
    }
    match remembered.map_err(Failure::after_result)? {
        Some(_) => Ok(()),
        None => Err(incomplete(args, testbed, report)),
    }
}

/// The failure of a transfer that brought no whole object, and what may bring it.
fn incomplete(args: &CollectArgs, testbed: &Testbed, report: &Report) -> Failure {
    let hint = match args.protocol.family {
        Family::Pipeline(of) if of.scheme == Scheme::HopByHop => {
            "; `--protocol thalweg`, the default, also takes detours and measures links again"
        }
        Family::Pipeline(of) if of.scheme != Scheme::Thalweg => {
            "; `--protocol thalweg`, the default, goes on hop by hop"
        }
        _ => "",
    };
    Failure::Told(not_whole(testbed, report.summary()) + hint, 1)
}

/// The failure that ended a job: that of the capture's file, if it met one.
fn stopped(capture: Option<&Capture>, why: Stop) -> Failure {
    let broken = capture.and_then(Capture::failure);
    broken.unwrap_or_else(|| why.into())
}

/// Where the object is.
#[derive(Debug, Serialize)]
struct Stored<'a> {
    path: String,
    digest: &'a str,
}

impl<'a> From<&'a StoredObject> for Stored<'a> {
    fn from(kept: &'a StoredObject) -> Self {
        Self {
            path: kept.path.display().to_string(),
            digest: &kept.digest,
        }
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    stored: Option<Stored<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<&'a Maps>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Label>,
}

/// Refuses options that the protocol does not take.
fn check_takes(args: &CollectArgs, network: &Network) -> Result<(), Failure> {
    let at_once = args.protocol.takes().contains(&OptionName::Sources);
    if args.all_nodes && args.pcap.is_some() && !at_once {
        let line = "the argument '--all-nodes' cannot be used with '--pcap <FILE>'";
        return Err(Failure::input(line));
    }
    if args.all_nodes && args.port.is_some() && !at_once {
        let line = "the argument '--all-nodes' cannot be used with '--port <PORT>'";
        return Err(Failure::input(line));
    }
    if args.to.len() > 1 && !args.all_nodes {
        let line =
            "one object has one base station: name one node with --to, or ask for --all-nodes";
        return Err(Failure::input(line));
    }
    network.check_options()?;
    if args.control_channel.is_some() {
        network.pipeline("control-channel")?;
    }
    let given = [
        (args.explain.is_some(), "explain", OptionName::Explain),
        (args.all_nodes, "all-nodes", OptionName::AllNodes),
        (
            args.to.len() > 1,
            "more than one base station",
            OptionName::Sinks,
        ),
        (
            args.from.len() > 1,
            "more than one source",
            OptionName::Sources,
        ),
        (args.policy.is_some(), "policy", OptionName::Policy),
        (args.demand.is_some(), "demand", OptionName::Policy),
        (args.scenario.is_some(), "scenario", OptionName::Scenario),
        (args.pcap.is_some(), "pcap", OptionName::Pcap),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given);
    for (_, option, what) in given {
        network.takes(option, what)?;
    }
    Ok(())
}
