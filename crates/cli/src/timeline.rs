//! `thalweg timeline`: radio, bus and microcontroller of forwarding nodes over time.

use std::path::Path;

use thalweg_host::transfer::stream;
use thalweg_sim::boards;
use thalweg_simnet::collect::CollectError;
use thalweg_simnet::forwarding::{
    timelines_svg, Bar, Bench, Cca, Chain, Channels, ForwardingName, Timeline,
};
use thalweg_simnet::streams::{self, Ground, Terms};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::Duration;
use thalweg_wire::stream::MAX_PAYLOAD;

use crate::args::{ForwardingArg, TimelineArgs};
use crate::failure::Failure;
use crate::output::{print, write_file};
use crate::outputs::{Kind, Outputs};

/// Columns of the text.
const COLUMNS: usize = 118;
/// Packets that must arrive at the interval that is looked for.
const PACKETS: u16 = 100;

/// Runs `thalweg timeline`.
pub(crate) fn run(args: &TimelineArgs) -> Result<(), Failure> {
    if let Some(path) = &args.svg {
        let inputs = args.board.iter().chain(&args.testbed).map(Path::new);
        Outputs::beside(args.force, inputs).check("--svg", path, Kind::Svg)?;
    }
    if let Some(place) = args.show.iter().flatten().find(|p| **p > args.hops) {
        let hops = args.hops;
        let line = format!("--show {place}: the last of {hops} hops ends at {hops}");
        return Err(Failure::Input(line));
    }
    let timelines = args.forwarding.iter().map(|forwarding| match forwarding {
        ForwardingArg::Fastforward => of_stream(args),
        ForwardingArg::Copying => of_chain(args, ForwardingName::Copying),
        ForwardingArg::Resending => of_chain(args, ForwardingName::Resending),
        ForwardingArg::Conditional => of_chain(args, ForwardingName::Conditional),
    });
    let mut timelines = timelines.collect::<Result<Vec<Timeline>, _>>()?;
    if let Some(show) = &args.show {
        let shown = |bar: &Bar| show.iter().any(|place| usize::from(*place) == bar.place);
        timelines.iter_mut().for_each(|t| t.bars.retain(shown));
    }
    let mut text = String::new();
    for timeline in &timelines {
        if args.json {
            text.push_str(&serde_json::to_string(timeline).map_err(Failure::job)?);
        } else {
            text.push_str(&timeline.to_text(COLUMNS));
        }
        text.push('\n');
    }
    let printed = print(&text);
    if let Some(path) = &args.svg {
        write_file(path, &timelines_svg(&timelines))?;
    }
    printed
}

/// The network called `--testbed`, or the default, which has enough nodes.
fn testbed(args: &TimelineArgs, default: &str) -> Result<Testbed, Failure> {
    let name = args.testbed.as_deref().unwrap_or(default);
    let testbed = Testbed::load(name)?;
    let (nodes, needed) = (testbed.len(), usize::from(args.hops) + 1);
    if nodes < needed {
        let line = format!("{name} has {nodes} nodes, {} hops need {needed}", args.hops);
        return Err(Failure::Input(line));
    }
    Ok(testbed)
}

const fn us(us: u32) -> Duration {
    Duration::from_micros(us as u64)
}

/// A stream over the network's first nodes, the first being the sink.
fn of_stream(args: &TimelineArgs) -> Result<Timeline, Failure> {
    let of_chains = [
        (args.one_channel, "--one-channel"),
        (args.cca, "--cca"),
        (args.interval_us.is_some(), "--interval-us"),
        (args.board.is_some(), "--board"),
    ];
    if let Some((_, option)) = of_chains.iter().find(|(given, _)| *given) {
        let line = format!("--forwarding fastforward: {option} is not for streams");
        return Err(Failure::Input(line));
    }
    let failure = |why: CollectError| Failure::from(thalweg::Error::from(why));
    let site = Site::with_all_radios(testbed(args, "office12")?, args.seed);
    let ground = Ground::new(site.map_err(Failure::input)?).map_err(failure)?;
    let hops = usize::from(args.hops);
    let request = ground.request(hops, 0, Some((0..=hops).rev().collect()));
    let plan = ground.plan(&request, &[]).map_err(failure)?;
    let terms = Terms {
        stream: stream::StreamTerms {
            payload_bytes: args.payload.min(MAX_PAYLOAD as u8),
            ..stream::StreamTerms::default()
        },
        ..Terms::default()
    };
    let length = args.length_us.map(us);
    streams::timeline(&ground, &plan, &terms, args.seed, length).map_err(failure)
}

/// A chain over the network's first nodes.
fn of_chain(args: &TimelineArgs, forwarding: ForwardingName) -> Result<Timeline, Failure> {
    let board = args.board.as_deref().unwrap_or("telosb-contiki");
    let board = boards::load(board).map_err(Failure::input)?;
    let site = Site::on(testbed(args, "ring12")?, board.with_one_radio(), args.seed);
    let bench = Bench::new(site.map_err(Failure::input)?, args.seed).map_err(Failure::input)?;
    let channels = match args.one_channel {
        true => Channels::One,
        false => Channels::PerHop,
    };
    let chain = Chain {
        payload_bytes: args.payload,
        cca: if args.cca { Cca::Require } else { Cca::Skip },
        ..Chain::line(usize::from(args.hops), channels, forwarding)
    };
    let interval = match args.interval_us {
        Some(interval) => us(interval),
        None => {
            let found = chain.highest_rate(&bench, PACKETS).map_err(Failure::job)?;
            let lost = || Failure::job("packets are lost at any rate; give --interval-us");
            found.ok_or_else(lost)?.0
        }
    };
    let length = args.length_us.map(us);
    (chain.timeline(&bench, interval, length)).map_err(Failure::job)
}
