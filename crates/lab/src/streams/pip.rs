//! PIP on one radio of each node: its own engine, slots and rounds of repair, on the board that it was
//! published on or on an Opal's first radio.
//!
//! A packet takes two of PIP's slots at every relay, one to come in and one to go out; how long they are
//! follows from the board (`thalweg_engine::BoardTiming::relaying`). Channels differ from hop to hop.
//! That nodes know their part is given. Tests: `crates/lab/tests/streams/`, `crate::forwarding`.

use super::arrivals::arrived;
use super::ground::Links;
use super::one_radio::OneRadio;
use super::{Ground, Outcome, PipBoard, StreamFailure, Terms};
use crate::forwarding::{Bench, Pipe};
use thalweg_engine::Passing;
use thalweg_gateway::job::Watch;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::pipeline::End;
use thalweg_sim::boards;
use thalweg_testbeds::Site;
use thalweg_units::Duration;
use thalweg_wire::route::PayloadSize;
use thalweg_wire::{phy, pipeline};

/// Runs each plan alone, one after the other.
pub(super) fn run(
    ground: &Ground,
    plans: &[(StreamPlan, Vec<u8>)],
    terms: &Terms,
    board: PipBoard,
    seed: u64,
    observer: Watch<'_>,
) -> Result<Vec<Outcome>, StreamFailure> {
    let payload = PayloadSize::new(terms.payload_bytes);
    let payload = payload.ok_or_else(|| StreamFailure::Unfit {
        testbed: ground.site.testbed.name.clone(),
        why: "PIP's packets carry 1 to 118 bytes".to_owned(),
    })?;
    let bench = Bench {
        site: site(ground, board, payload)?,
        seed,
    };
    let known = Links::of(
        &bench.site.environment,
        ground.site.testbed.len(),
        std::slice::from_ref(&bench.site.board),
    );
    let mut outcomes = Vec::new();
    for (plan, object) in plans {
        let path = OneRadio::new(ground, (plan, object), terms, &known);
        outcomes.push(one(&bench, &path, payload, observer)?);
    }
    Ok(outcomes)
}

/// The site with the first radio of `board` at each node, injected losses included.
fn site(ground: &Ground, board: PipBoard, payload: PayloadSize) -> Result<Site, StreamFailure> {
    let board = boards::load(board.name())?.with_one_radio();
    let psdu = pipeline::HEADER_BYTES + usize::from(payload.bytes()) + phy::FCS_BYTES;
    let site = ground.site.undisturbed().with_board(board)?;
    Ok(site.with_losses(&ground.site.losses.links, psdu)?)
}

fn one(
    bench: &Bench,
    path: &OneRadio<'_>,
    payload: PayloadSize,
    observer: Watch<'_>,
) -> Result<Outcome, StreamFailure> {
    let pipe = Pipe {
        nodes: path.plan.nodes.clone(),
        channels: path.channels().to_vec(),
        passing: Passing::Copied,
        payload,
    };
    let mpdu = pipeline::HEADER_BYTES + usize::from(payload.bytes());
    let air_bytes = (phy::air_time(mpdu).as_nanos() / phy::BYTE.as_nanos()) as u32;
    let mut told = |received: u32, _packets: u32, time: Duration| {
        observer(arrived(1, received, air_bytes, time))
    };
    let trial = pipe.run(bench, &path.ids, path.object, &mut told)?;
    let end = |end: Option<End>| match end {
        Some(End::Complete) => "complete",
        Some(End::Released) => "released",
        Some(End::GaveUp) => "gave up",
        Some(_) | None => "silent",
    };
    Ok(Outcome {
        packets: trial.packets,
        received: trial.received,
        repeated: 0,
        air_bytes,
        seconds: trial.time.as_secs_f64(),
        setup_seconds: 0.0,
        rounds: trial.rounds,
        end: end(trial.sink_end).to_owned(),
        source_end: Some(end(trial.source_end).to_owned()),
        verified: trial.verified,
        object: None,
        joules: trial.joules,
        links: path.links(|hop, report| {
            report.sent = trial.sent.get(hop).copied().unwrap_or(0);
            if hop == 0 {
                report.retransmissions = report.sent.saturating_sub(trial.packets);
                report.sent -= report.retransmissions;
            }
        }),
    })
}
