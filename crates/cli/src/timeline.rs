//! `thalweg timeline`: radio, bus and microcontroller of forwarding nodes over time.

use std::sync::Arc;

use thalweg_lab::forwarding::{
    timelines_svg, Bench, Cca, Chain, Channels, ForwardingName, Timeline,
};
use thalweg_lab::testbed::Testbed;
use thalweg_sim::boards;
use thalweg_units::Duration;

use crate::args::{ForwardingArg, TimelineArgs};
use crate::failure::Failure;
use crate::output::{print, write_file};

/// Columns of the text.
const COLUMNS: usize = 118;
/// Packets that must arrive at the interval that is looked for.
const PACKETS: u16 = 100;

/// Runs `thalweg timeline`.
pub(crate) fn run(args: &TimelineArgs) -> Result<(), Failure> {
    let testbed = Testbed::load(&args.testbed).map_err(Failure::input)?;
    let board = boards::load(&args.board).map_err(Failure::input)?;
    let needed = usize::from(args.hops) + 1;
    if testbed.len() < needed {
        let (name, nodes) = (&testbed.name, testbed.len());
        let line = format!("{name} has {nodes} nodes, {} hops need {needed}", args.hops);
        return Err(Failure::Input(line));
    }
    if let Some(place) = args.show.iter().flatten().find(|p| **p > args.hops) {
        let line = format!(
            "--show {place}: the last of {} hops ends at {}",
            args.hops, args.hops
        );
        return Err(Failure::Input(line));
    }
    let bench = Bench {
        environment: Arc::new(testbed.realise(args.seed)),
        board,
        seed: args.seed,
    };
    let timelines = args
        .forwarding
        .iter()
        .map(|forwarding| timeline(args, &bench, *forwarding))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.svg {
        write_file(path, &timelines_svg(&timelines))?;
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
    print(&text)
}

fn timeline(
    args: &TimelineArgs,
    bench: &Bench,
    forwarding: ForwardingArg,
) -> Result<Timeline, Failure> {
    let name = match forwarding {
        ForwardingArg::Copying => ForwardingName::Copying,
        ForwardingArg::Resending => ForwardingName::Resending,
        ForwardingArg::Conditional => ForwardingName::Conditional,
    };
    let channels = match args.one_channel {
        true => Channels::One,
        false => Channels::PerHop,
    };
    let chain = Chain {
        payload_bytes: args.payload,
        cca: match args.cca {
            true => Cca::Require,
            false => Cca::Skip,
        },
        ..Chain::line(usize::from(args.hops), channels, name)
    };
    let us = |us: u32| Duration::from_micros(u64::from(us));
    let interval = match args.interval_us {
        Some(interval) => us(interval),
        None => match chain.highest_rate(bench, PACKETS).map_err(Failure::job)? {
            Some((interval, _)) => interval,
            None => {
                let line = "packets are lost at any rate; give --interval-us".to_owned();
                return Err(Failure::Job(line));
            }
        },
    };
    let length = args.length_us.map(us);
    let timeline = chain.timeline(bench, interval, length);
    let timeline = timeline.map_err(Failure::job)?;
    Ok(match &args.show {
        Some(show) => {
            let places: Vec<usize> = show.iter().map(|p| usize::from(*p)).collect();
            timeline.of_places(&places)
        }
        None => timeline,
    })
}
