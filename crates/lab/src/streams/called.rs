//! P3 over two radios, set up over the air: the sink calls the stages, the source begins when the call says,
//! and the sink calls again where a stream falls silent before all is there.
//!
//! Nodes sleep before and go back to sleep after; their energy is counted from the sink's order on, as
//! FastForward's is. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::dual::{air_bytes, BEFORE};
use super::{arrived, Ground, Onlookers, Outcome, Pace, StagesOutcome, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use thalweg_gateway::job::{Progress, Watch};
use thalweg_gateway::object::{digest, Memory};
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::p3dual::{End, Event, Node, NodeCommand, NodeEvent};
use thalweg_sim::Network;
use thalweg_units::{Duration, NodeId, SimTime};
use thalweg_wire::stages::{StageCall, Stages};

/// A sink calls so often at most.
const CALLS: u8 = 8;
/// Nodes leave a stream that is silent for a second; after this all have.
const AFTER: Duration = Duration::from_millis(1500);

/// What the sink's application has seen.
struct Seen {
    source: usize,
    sink: usize,
    begun: Option<SimTime>,
    last: Option<SimTime>,
    received: u32,
    packets: u32,
    rounds: u32,
    first_round: Option<f64>,
    end: Option<End>,
    source_end: Option<End>,
    /// The sink's radios sleep again.
    has_left: bool,
    refused: bool,
}

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
    let ends = (plan.stages.first(), plan.stages.last());
    let (Some([source]), Some([sink])) = (ends.0.map(Vec::as_slice), ends.1.map(Vec::as_slice))
    else {
        return Err(unfit("stages begin with one source and end with one sink"));
    };
    let (source, sink) = (*source, *sink);
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
    let store = net.engine_mut(source).pipeline_mut().store_mut();
    store.offer(Arc::from(object));
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    let all: Vec<usize> = plan.stages.concat();
    let before: Vec<f64> = all.iter().map(|n| net.joules(*n)).collect();
    let (ordered, air_bytes) = (net.now(), air_bytes(terms));
    let deadline = ordered + terms.deadline;
    if let Some((node, after, fault)) = terms.death {
        net.fault_at(ordered + after, node, fault);
    }
    let mut seen = Seen {
        source,
        sink,
        begun: None,
        last: None,
        received: 0,
        packets: (object.len()).div_ceil(usize::from(terms.payload_bytes.max(1))) as u32,
        rounds: 0,
        first_round: None,
        end: None,
        source_end: None,
        has_left: false,
        refused: false,
    };
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
            if seen.note(at, node, event) && seen.received.is_multiple_of(16) {
                stopped = observer(seen.progress(at, air_bytes)).is_break();
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
        if seen.received == seen.packets || stopped || seen.refused || net.now() >= deadline {
            break;
        }
    }
    if stopped {
        return Err(StreamFailure::Stopped);
    }
    if seen.refused {
        return Err(unfit("the stages do not fit a call"));
    }
    let joules = (all.iter().zip(&before))
        .map(|(n, before)| net.joules(*n) - before)
        .sum();
    let late = all
        .iter()
        .map(|n| net.engine(*n).pipeline().counts().late)
        .sum();
    let source_sent = net.engine(source).pipeline().counts().sent;
    let store = net.engine_mut(sink).pipeline_mut().store_mut();
    let bytes = store.take(object.len());
    Ok(seen.outcome(
        ordered,
        air_bytes,
        joules,
        Some(bytes).filter(|bytes| digest(bytes) == digest(object)),
        (source_sent, late),
    ))
}

impl Seen {
    /// Whether it was a packet that the sink had not.
    fn note(&mut self, at: SimTime, node: usize, event: NodeEvent) -> bool {
        match event {
            NodeEvent::Begun { .. } => {
                self.begun.get_or_insert(at);
            }
            NodeEvent::Pipeline(Event::Received { round, .. }) if node == self.sink => {
                self.received += 1;
                self.last = Some(at);
                self.rounds = self.rounds.max(u32::from(round) + 1);
                return true;
            }
            NodeEvent::Pipeline(Event::RoundOver { have, packets, .. }) => {
                let share = f64::from(have) / f64::from(packets.max(1));
                self.first_round.get_or_insert(share);
            }
            NodeEvent::Pipeline(Event::Ended(why)) if node == self.sink => self.end = Some(why),
            NodeEvent::Pipeline(Event::Ended(why)) if node == self.source => {
                self.source_end = Some(why);
            }
            NodeEvent::Left if node == self.sink => self.has_left = true,
            NodeEvent::Refused => self.refused = true,
            NodeEvent::Pipeline(_) | NodeEvent::Left => {}
        }
        false
    }

    fn progress(&self, at: SimTime, air_bytes: u32) -> Progress {
        let begun = self.begun.unwrap_or(at);
        arrived(self.rounds, self.received, air_bytes, at.since(begun))
    }

    fn outcome(
        &self,
        ordered: SimTime,
        air_bytes: u32,
        joules: f64,
        bytes: Option<Vec<u8>>,
        (source_sent, late): (u32, u32),
    ) -> StagesOutcome {
        let told = |end| match end {
            Some(End::Complete) => "complete".to_owned(),
            Some(End::Silent) => "silent".to_owned(),
            None => "under way".to_owned(),
        };
        let object = bytes.filter(|_| self.received == self.packets);
        let seconds = match (self.begun, self.last) {
            (Some(begun), Some(last)) => last.since(begun).as_secs_f64(),
            _ => 0.0,
        };
        let set_up = self.begun.map(|begun| begun.since(ordered).as_secs_f64());
        StagesOutcome {
            first_round: self.first_round,
            source_sent,
            late,
            stream: Outcome {
                packets: self.packets,
                received: self.received,
                repeated: 0,
                air_bytes,
                seconds,
                setup_seconds: set_up.unwrap_or(0.0),
                rounds: self.rounds,
                end: told(self.end),
                source_end: Some(told(self.source_end)),
                verified: object.is_some(),
                object,
                joules,
                links: Vec::new(),
            },
        }
    }
}
