//! P3 over two radios on simulated nodes: stages of relays, rounds until all has arrived.
//!
//! Nodes are told their places, as those of LPHT and PIP are; `called.rs` calls them over the air. The cycle is
//! what a relay's bus and software need between two frames of one radio, the gap what they need from
//! one radio to the other; both follow from the board. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::arrivals::BEFORE;
use super::stages::{Seen, StagesOutcome};
use super::{Ground, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_gateway::job::Watch;
use thalweg_gateway::object::Memory;
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::p3dual::{Command, Config, NodeEvent, P3Dual};
use thalweg_sim::{Board, Network};
use thalweg_units::{Duration, NodeId, SimTime};
use thalweg_wire::{phy, stream};

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
    let mut seen = Seen::new(ground, plan, object, terms)?;
    let store = net.engine_mut(seen.source).store_mut();
    store.offer(seen.arrivals.object());
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    for (stage, nodes) in plan.stages.iter().enumerate() {
        let config = Config {
            stream: 0,
            source: ids[seen.source],
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
    seen.arrivals.order(&net, &seen.nodes);
    seen.arrivals.begun = Some(net.now());
    let packets = seen.arrivals.have().len() as u16;
    net.command(seen.source, Command::Send(packets));
    let (deadline, mut stopped) = (net.now() + terms.deadline, false);
    net.run_until(deadline, |at, node, event| {
        if let Some(progress) = seen.note(at, node, NodeEvent::Pipeline(event)) {
            stopped = observer(progress).is_break();
        }
        match seen.source_end.is_some() || stopped {
            true => Break(()),
            false => Continue(()),
        }
    })?;
    if stopped {
        return Err(StreamFailure::Stopped);
    }
    let bytes = net.engine_mut(seen.sink).store_mut().take(object.len());
    Ok(seen.outcome(&net, |node| node, bytes))
}
