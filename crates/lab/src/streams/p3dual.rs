//! P3 over two radios on simulated nodes: stages of relays, rounds until all has arrived.
//!
//! Nodes are told their places, as those of LPHT and PIP are; `called.rs` calls them over the air. The cycle is
//! what a relay's bus and software need between two frames of one radio, the gap what they need from
//! one radio to the other; both follow from the board. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::dual::{air_bytes, BEFORE};
use super::{arrived, Ground, Outcome, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use thalweg_gateway::job::Watch;
use thalweg_gateway::object::{digest, Memory};
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::p3dual::{Command, Config, End, Event, P3Dual};
use thalweg_sim::{Board, Network};
use thalweg_units::{Duration, NodeId, SimTime};
use thalweg_wire::{phy, stream};

/// What becomes of a transfer over stages.
#[derive(Debug, Clone, PartialEq)]
pub struct StagesOutcome {
    /// As of any stream; without links.
    pub stream: Outcome,
    /// Packets at the sink when it heard that the first round was over, of all, 0 to 1; none where it
    /// did not hear it.
    pub first_round: Option<f64>,
    /// Data packets that the source sent, all rounds.
    pub source_sent: u32,
    /// Frames that relays could not send in time.
    pub late: u32,
}

/// Cycle and gap of frames of `payload_bytes` on `board`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From one packet of the source to its next.
    pub cycle: Duration,
    /// From the last byte in to the first symbol out.
    pub gap: Duration,
}

/// Between what must be done and when it must be done: counts of the clock that stamps frames, and
/// drift over a frame.
const SLACK: Duration = Duration::from_micros(20);

impl Pace {
    /// That of `board`.
    pub fn of(board: &Board, payload_bytes: u8) -> Self {
        let bytes = stream::HEADER_BYTES + usize::from(payload_bytes);
        let costs = board.software_costs();
        let timing = board.timing;
        let write = timing.load_base + timing.load_byte * bytes as u64;
        let read = costs.read_base + costs.read_byte * bytes as u64;
        let out = timing.event_latency + write + costs.strobe + timing.turnaround + SLACK;
        // A relay that missed a packet hears its neighbours send it. That ends as soon as the next packet is
        // read, and must not be read before that one is on its way: hence slack once more.
        Self {
            cycle: phy::air_time(bytes) + out,
            gap: out + timing.event_latency + read + costs.os + SLACK,
        }
    }
}

/// Joining nodes turn their receivers on within this.
const SETTLING: Duration = Duration::from_millis(5);

/// Carries `object` over `plan`, in rounds until the sink has all of it. `seed` draws what differs between
/// runs on the same ground.
///
/// # Errors
/// [`StreamFailure`].
pub fn run_stages(
    ground: &Ground,
    plan: &StagePlan,
    object: &[u8],
    terms: &Terms,
    seed: u64,
    observer: Watch<'_>,
) -> Result<StagesOutcome, StreamFailure> {
    let ids: Vec<NodeId> = ground.site.testbed.nodes.iter().map(|n| n.id).collect();
    let engines = (ids.iter())
        .map(|_| P3Dual::new(Memory::default()))
        .collect();
    let mut board = ground.site.board.clone();
    board.bus = terms.bus;
    let pace = Pace::of(&board, terms.payload_bytes);
    let mut net = Network::new(ground.site.environment.clone(), &[board], engines, seed)?;
    let ends = (plan.stages.first(), plan.stages.last());
    let (Some([source]), Some([sink])) = (ends.0.map(Vec::as_slice), ends.1.map(Vec::as_slice))
    else {
        return Err(StreamFailure::Unfit {
            testbed: ground.site.testbed.name.clone(),
            why: "stages begin with one source and end with one sink".to_owned(),
        });
    };
    let (source, sink) = (*source, *sink);
    let store = net.engine_mut(source).store_mut();
    store.offer(Arc::from(object));
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    for (stage, nodes) in plan.stages.iter().enumerate() {
        let config = Config {
            stream: 0,
            source: ids[source],
            stage: stage as u8,
            inward: stage.checked_sub(1).map(|link| plan.links[link]),
            outward: plan.links.get(stage).copied(),
            hops: plan.links.len() as u8,
            payload_bytes: terms.payload_bytes,
            cycle: pace.cycle,
            gap: pace.gap,
        };
        for node in nodes {
            net.command(*node, Command::Join(config));
        }
    }
    let settled = net.now() + SETTLING;
    net.run_until(settled, |_, _, _| Continue(()))?;
    let all: Vec<usize> = plan.stages.concat();
    let before: Vec<f64> = all.iter().map(|n| net.joules(*n)).collect();
    let packets = (object.len()).div_ceil(usize::from(terms.payload_bytes.max(1))) as u32;
    let begun = net.now();
    net.command(source, Command::Send(packets as u16));
    let (mut received, mut last, mut rounds, mut first_round) = (0, begun, 0u32, None);
    let (mut end, mut source_end, mut stopped) = (None, None, false);
    let air_bytes = air_bytes(terms);
    net.run_until(begun + terms.deadline, |at, node, event| {
        match event {
            Event::Received { round, .. } => {
                received += 1;
                last = at;
                rounds = rounds.max(u32::from(round) + 1);
                if received % 16 == 0 {
                    let progress = arrived(rounds, received, air_bytes, at.since(begun));
                    stopped = observer(progress).is_break();
                }
            }
            Event::RoundOver {
                round: 0,
                have,
                packets,
            } if first_round.is_none() => {
                first_round = Some(f64::from(have) / f64::from(packets.max(1)));
            }
            Event::RoundOver { .. } => {}
            Event::Ended(why) if node == source => source_end = Some(why),
            Event::Ended(why) if node == sink => end = Some(why),
            Event::Ended(_) => {}
        }
        match source_end.is_some() || stopped {
            true => Break(()),
            false => Continue(()),
        }
    })?;
    if stopped {
        return Err(StreamFailure::Stopped);
    }
    let joules = (all.iter().zip(&before))
        .map(|(n, before)| net.joules(*n) - before)
        .sum();
    let late = all.iter().map(|n| net.engine(*n).counts().late).sum();
    let bytes = net.engine_mut(sink).store_mut().take(object.len());
    let told = |end| match end {
        Some(End::Complete) => "complete".to_owned(),
        Some(End::Silent) => "silent".to_owned(),
        None => "under way".to_owned(),
    };
    Ok(StagesOutcome {
        first_round,
        late,
        source_sent: net.engine(source).counts().sent,
        stream: Outcome {
            packets,
            received,
            repeated: 0,
            air_bytes,
            seconds: last.since(begun).as_secs_f64(),
            setup_seconds: 0.0,
            rounds,
            end: told(end),
            source_end: Some(told(source_end)),
            verified: received == packets && digest(&bytes) == digest(object),
            object: None,
            joules,
            links: Vec::new(),
        },
    })
}
