//! P3 over two radios, set up over the air: the sink calls the stages, the source begins when the call says,
//! and the sink calls again where a stream falls silent before all is there.
//!
//! Nodes sleep before and go back to sleep after; their energy is counted from the sink's order on, as
//! FastForward's is. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::arrivals::BEFORE;
use super::stages::Seen;
use super::{Ground, Onlookers, Pace, StagesOutcome, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_gateway::job::Watch;
use thalweg_gateway::object::Memory;
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::p3dual::{Node, NodeCommand};
use thalweg_sim::Network;
use thalweg_units::{Duration, NodeId, SimTime};
use thalweg_wire::stages::{StageCall, Stages};

/// A sink calls so often at most.
const CALLS: u8 = 8;
/// Nodes leave a stream that is silent for a second; after this all have.
const AFTER: Duration = Duration::from_millis(1500);

/// Carries `object` over `plan`, called over the air, in rounds until the sink has all of it. `seed` draws
/// what differs between runs on the same ground.
///
/// # Errors
/// [`StreamFailure`].
pub fn run_called(
    ground: &Ground,
    plan: &StagePlan,
    object: &[u8],
    terms: &Terms,
    seed: u64,
    observer: Watch<'_>,
    onlookers: &mut Onlookers,
) -> Result<StagesOutcome, StreamFailure> {
    let ids: Vec<NodeId> = ground.site.testbed.nodes.iter().map(|n| n.id).collect();
    let unfit = |why: &str| StreamFailure::Unfit {
        testbed: ground.site.testbed.name.clone(),
        why: why.to_owned(),
    };
    let members = plan.stages.iter().enumerate().flat_map(|(stage, nodes)| {
        let ids = &ids;
        nodes
            .iter()
            .filter_map(move |n| Some((*ids.get(*n)?, stage as u8)))
    });
    let stages = Stages::new(members, &plan.links);
    let stages = stages.ok_or_else(|| unfit("the stages do not fit a call"))?;
    let mut seen = Seen::new(ground, plan, object, terms)?;
    let sink = seen.sink;
    let mut board = ground.site.board.clone();
    board.bus = terms.bus;
    let pace = Pace::of(&board, terms.payload_bytes);
    let engines = (ids.iter())
        .map(|id| Node::new(*id, terms.config, Memory::default()))
        .collect();
    let mut net = Network::new(ground.site.environment.clone(), &[board], engines, seed)?;
    let path = StreamPlan {
        nodes: plan
            .stages
            .iter()
            .filter_map(|s| s.first().copied())
            .collect(),
        links: plan.links.clone(),
    };
    onlookers.attach(&mut net, ground, "p3-dual", &path)?;
    let store = net.engine_mut(seen.source).pipeline_mut().store_mut();
    store.offer(seen.arrivals.object());
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    seen.arrivals.order(&net, &seen.nodes);
    let ordered = net.now();
    let deadline = ordered + terms.deadline;
    if let Some((node, after, fault)) = terms.death {
        net.fault_at(ordered + after, node, fault);
    }
    let mut stopped = false;
    for attempt in 0..CALLS {
        (seen.end, seen.has_left) = (None, false);
        let call = StageCall {
            stream: 0,
            attempt,
            payload_bytes: terms.payload_bytes,
            cycle: pace.cycle,
            gap: pace.gap,
            start_in: Duration::ZERO,
            stages,
        };
        net.command(sink, NodeCommand::Open(call));
        net.run_until(deadline, |at, node, event| {
            if let Some(progress) = seen.note(at, node, event) {
                stopped = observer(progress).is_break();
            }
            match stopped || seen.has_left || seen.refused {
                true => Break(()),
                false => Continue(()),
            }
        })?;
        let rest = net.now() + AFTER;
        net.run_until(rest.min(deadline), |at, node, event| {
            seen.note(at, node, event);
            Continue(())
        })?;
        if seen.arrivals.is_whole() || stopped || seen.refused || net.now() >= deadline {
            break;
        }
    }
    if stopped {
        return Err(StreamFailure::Stopped);
    }
    if seen.refused {
        return Err(unfit("the stages do not fit a call"));
    }
    let bytes = (net.engine_mut(sink).pipeline_mut().store_mut()).take(object.len());
    Ok(seen.outcome(&net, Node::pipeline, bytes))
}
