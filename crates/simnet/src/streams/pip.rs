//! PIP on one radio of each node: its own engine, slots and rounds of repair, on the board that it was
//! published on or on an Opal's first radio.
//!
//! A packet takes two of PIP's slots at every relay, one to come in and one to go out; how long they are
//! follows from the board (`thalweg_engine::BoardTiming::relaying`). Channels differ from hop to hop.
//! That nodes know their part is given. Tests: `crates/simnet/tests/all/streams/`, `crate::forwarding`.

use super::ground::links;
use super::{CollectError, Ground, PipBoard, Stream};
use crate::forwarding::{Bench, Pipe};
use thalweg_engine::Passing;
use thalweg_host::job::Watch;
use thalweg_host::transfer::stream::arrived;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::pipeline::End;
use thalweg_sim::boards;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::PayloadSize;
use thalweg_wire::{phy, pipeline};

/// Carries an object of packets of `payload_bytes` over the path of a plan, on the channels that the first radios measured
/// to be clear; says over what plan, and what became of it.
pub(super) fn run(
    ground: &Ground,
    board: PipBoard,
    (plan, object): (&StreamPlan, &[u8]),
    (payload_bytes, seed): (u8, u64),
    observer: Watch<'_>,
) -> Result<(StreamPlan, Stream), CollectError> {
    let testbed = &ground.site.testbed;
    let payload = PayloadSize::new(payload_bytes);
    let payload = payload.ok_or_else(|| CollectError::Unfit {
        testbed: testbed.name.clone(),
        why: "PIP's packets carry 1 to 118 bytes".to_owned(),
    })?;
    let mpdu = pipeline::HEADER_BYTES + usize::from(payload.bytes());
    let bench = bench(ground, board, mpdu, seed)?;
    let plan = ground.on_one_radio(plan);
    let pipe = Pipe {
        nodes: plan.nodes.clone(),
        channels: plan.links.iter().map(|on| on.place()).collect(),
        passing: Passing::Copied,
        payload,
    };
    let air_bytes = (phy::air_time(mpdu).as_nanos() / phy::BYTE.as_nanos()) as u32;
    let mut watch = |received: u32, _packets: u32, time: Duration| {
        observer(arrived(1, received, air_bytes, time))
    };
    let ids: Vec<NodeId> = testbed.nodes.iter().map(|n| n.id).collect();
    let trial = pipe.run(&bench, &ids, object, &mut watch)?;
    let stream = Stream {
        packets: trial.packets,
        received: trial.received,
        repeated: 0,
        air_bytes,
        seconds: trial.time.as_secs_f64(),
        setup_seconds: 0.0,
        rounds: trial.rounds,
        end: end_of(trial.sink_end).to_owned(),
        source_end: Some(end_of(trial.source_end).to_owned()),
        verified: trial.verified,
        object: None,
        elapsed_seconds: trial.time.as_secs_f64(),
        joules: Some(trial.joules),
        // Its chain is run without the others.
        network_joules: None,
        links: links(&ids, &plan, |hop, report| {
            report.sent = trial.sent.get(hop).copied().unwrap_or(0);
            if hop == 0 {
                report.retransmissions = report.sent.saturating_sub(trial.packets);
                report.sent -= report.retransmissions;
            }
        }),
    };
    Ok((plan, stream))
}

/// The first radio of `board` at each node, injected losses included.
fn bench(ground: &Ground, board: PipBoard, mpdu: usize, seed: u64) -> Result<Bench, CollectError> {
    let board = boards::load(board.name())?.with_one_radio();
    let bare = ground.site.undisturbed().aged(ground.site.age())?;
    let site = bare.with_board(board)?;
    let site = site.with_losses(&ground.site.losses.links, mpdu + phy::FCS_BYTES)?;
    Ok(Bench { site, seed })
}

fn end_of(end: Option<End>) -> &'static str {
    match end {
        Some(End::Complete) => "complete",
        Some(End::Released) => "released",
        Some(End::GaveUp) => "gave up",
        Some(_) | None => "silent",
    }
}
