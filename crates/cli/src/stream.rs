//! `thalweg collect --protocol fastforward`: one object over a stream.

use std::ops::ControlFlow;

use serde::Serialize;
use thalweg_gateway::job::Progress as Step;
use thalweg_gateway::store::{NewTransfer, Store};
use thalweg_gateway::survey::SurveyCost;
use thalweg_lab::collect::Object;
use thalweg_lab::streams::{
    self, psdu_bytes, Carrier, Collected, DualSurveyCost, Onlookers, Order, Outcome, Recorder,
    StagesReport, StreamFailure, StreamMap, Told,
};
use thalweg_testbeds::{Site, Testbed};

use crate::args::CollectArgs;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::job::{store_failure, Watch};
use crate::output;
use crate::progress::Reporter;
use crate::table::{Align, Table};

/// Fetches one object over a stream, stores it and prints the result.
pub(crate) fn run(
    args: &CollectArgs,
    carrier: Carrier,
    object: &Object,
    testbed: Testbed,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let site = Site::with_all_radios(testbed, args.seed)
        .and_then(|site| site.with_losses(&args.loss, psdu_bytes(args.payload)))
        .map_err(Failure::input)?;
    let order = Order {
        site,
        from: args.from,
        to: args.to,
        carrier,
        payload_bytes: args.payload,
        paths: args.paths,
    };
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let frames = capture
        .as_ref()
        .map(|c| c.frames(&order.site.testbed.nodes));
    let mut onlookers = Onlookers {
        capture: frames.transpose().map_err(Failure::job)?,
        recorder: args.explain.as_ref().map(|_| Recorder::default()),
        ..Onlookers::default()
    };
    let mut observer = |told: Told<'_>| {
        note(&mut watch.reporter, told);
        match watch.interrupt.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let collected = streams::collect(&order, object, &mut observer, &mut onlookers);
    let collected = collected.map_err(|why| {
        let broken = capture.as_ref().and_then(Capture::failure);
        broken.unwrap_or_else(|| failure(why))
    })?;
    watch.reporter.finish();
    let map = onlookers.recorder.take().map(Recorder::finish);
    if let (Some(Some(path)), Some(map)) = (&args.explain, &map) {
        output::write_file(path, &map.to_svg())?;
    }
    if let Some(capture) = capture {
        capture.finish()?;
    }
    let mut store = Store::open(&args.out).map_err(store_failure)?;
    let report = serde_json::to_string(&collected).map_err(Failure::job)?;
    let new = NewTransfer {
        record: &collected.core,
        baseline: None,
        report: &report,
        campaign: None,
    };
    let kept = match &collected.extra.stream.object {
        Some(object) => store.keep(&new, object).map(Some),
        None => store.note(&new).map(|_| None),
    }
    .map_err(store_failure)?;
    let stored = kept.map(|kept| (kept.path.display().to_string(), kept.digest));
    if args.json {
        output::print_json(&Printed {
            collected: &collected,
            stored: stored.as_ref().map(|(path, _)| path),
            explain: map.as_ref(),
        })?;
    } else {
        let mut text = text(&collected, stored.as_ref());
        if let Some(map) = &map {
            text.push('\n');
            text.push_str(&map.to_text());
        }
        output::print(&text)?;
    }
    match collected.core.failure {
        None => Ok(()),
        Some(why) => Err(Failure::Job(why)),
    }
}

#[derive(Debug, Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    collected: &'a Collected,
    stored: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<&'a StreamMap>,
}

fn note(reporter: &mut Reporter, told: Told<'_>) {
    match told {
        Told::Surveying { band, step } => match step {
            Step::Measuring { turn, of } => {
                let name = format!("measuring links at {band}");
                reporter.counted(&name, "nodes", u64::from(turn), u64::from(of));
            }
            Step::Collecting { complete, of } => {
                let name = format!("collecting link tables at {band}");
                reporter.counted(&name, "tables", u64::from(complete), u64::from(of));
            }
            Step::WakingUp | Step::Packets { .. } | Step::Wave { .. } => {}
        },
        Told::Planned { path } => {
            let path: Vec<String> = path.iter().map(u16::to_string).collect();
            reporter.step(&format!("path {}", path.join(" ")), "");
        }
        Told::Packets(at) => {
            let detail = format!("packets, {:.1} kbit/s on the air", at.kbps);
            let (done, total) = (u64::from(at.received), u64::from(at.packets));
            reporter.counted("stream", &detail, done, total);
        }
    }
}

/// What the survey took, in a line.
fn survey_line(survey: &DualSurveyCost) -> String {
    let of = |cost: &SurveyCost| {
        format!(
            "measured in {:.1} s, collected in {:.1} s",
            cost.measuring_s, cost.collecting_s
        )
    };
    let mut line = format!("links at 2.4 GHz {}", of(&survey.ghz2_4));
    if let Some(cost) = &survey.mhz900 {
        line.push_str(&format!("; at 900 MHz {}", of(cost)));
    }
    let missing: usize = std::iter::once(&survey.ghz2_4)
        .chain(&survey.mhz900)
        .map(|cost| cost.missing.len())
        .sum();
    if missing > 0 {
        line.push_str(&format!("; {missing} tables did not come in"));
    }
    line
}

fn failure(failure: StreamFailure) -> Failure {
    match failure.is_input() {
        true => Failure::input(failure),
        false => Failure::job(failure),
    }
}

fn text(c: &Collected, stored: Option<&(String, String)>) -> String {
    let (r, c) = (&c.core, &c.extra);
    let s = &c.stream;
    let path: Vec<String> = c.path.iter().map(u16::to_string).collect();
    let mut text = format!(
        "{}, seed {}: {} from node {} to node {} over {}\n\
         {}\n\
         set up in {:.2} s; {} of {} packets in {:.2} s, {} rounds; on the air {:.1} kbit/s, goodput {:.1}\n\
         {:.2} J, {:.2} uJ a bit\n\n",
        r.testbed,
        r.seed,
        r.protocol,
        r.source,
        r.sink,
        path.join(" "),
        survey_line(&c.survey),
        s.setup_seconds,
        s.received,
        s.packets,
        s.seconds,
        s.rounds,
        c.throughput_kbps,
        r.goodput_kbps,
        s.joules,
        1e6 * s.joules / (8.0 * r.bytes as f64)
    );
    match &c.stages {
        Some(stages) => text.push_str(&stage_lines(stages, s)),
        None => text.push_str(&link_table(s)),
    }
    if let Some((path, digest)) = stored {
        text.push_str(&format!(
            "\n{} bytes, whole, sha256 {digest}\nstored as {path}\n",
            r.bytes
        ));
    }
    text
}

/// What stages did.
fn stage_lines(stages: &StagesReport, stream: &Outcome) -> String {
    let mut table = Table::new([("stage", Align::Right), ("nodes", Align::Left)]);
    for (at, nodes) in stages.nodes.iter().enumerate() {
        let nodes: Vec<String> = nodes.iter().map(u16::to_string).collect();
        table.row([at.to_string(), nodes.join(" ")]);
    }
    let first = match stages.first_round {
        Some(share) => format!("{:.1} % of the packets", 100.0 * share),
        None => "an unknown share".to_owned(),
    };
    format!(
        "{}\nround 1 brought {first}; the source sent {} packets for {}, {} frames were late\n",
        table.render(),
        stages.source_sent,
        stream.packets,
        stages.late
    )
}

/// What each link did.
fn link_table(s: &Outcome) -> String {
    let mut table = Table::new([
        ("link", Align::Left),
        ("on", Align::Left),
        ("sent", Align::Right),
        ("again", Align::Right),
        ("given up", Align::Right),
        ("withheld", Align::Right),
        ("overflows", Align::Right),
        ("queue, mean", Align::Right),
        ("most", Align::Right),
    ]);
    for link in &s.links {
        table.row([
            format!("{}-{}", link.from, link.to),
            link.on.clone(),
            link.sent.to_string(),
            link.retransmissions.to_string(),
            link.unacknowledged.to_string(),
            link.withheld.to_string(),
            link.overflows.to_string(),
            format!("{:.1}", link.queue_mean),
            link.queue_peak.to_string(),
        ]);
    }
    table.render()
}
