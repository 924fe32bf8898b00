//! What is seen, and told, of a transfer over stages, however its nodes were set up.
//!
//! Time base: simulated time. Tests: `crates/lab/tests/streams/p3dual.rs`.

use super::arrivals::Arrivals;
use super::{Ground, Outcome, StreamFailure, Terms};
use thalweg_engine::Engine;
use thalweg_gateway::job::Progress;
use thalweg_gateway::object::Memory;
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::p3dual::{End, Event, NodeEvent, P3Dual};
use thalweg_sim::Network;
use thalweg_units::SimTime;

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

/// What the sink's application has seen.
pub(super) struct Seen {
    pub(super) source: usize,
    pub(super) sink: usize,
    /// All who take part.
    pub(super) nodes: Vec<usize>,
    pub(super) arrivals: Arrivals,
    rounds: u32,
    first_round: Option<f64>,
    pub(super) end: Option<End>,
    pub(super) source_end: Option<End>,
    /// The sink's radios sleep again.
    pub(super) has_left: bool,
    pub(super) refused: bool,
}

impl Seen {
    /// Nothing so far of `object` over `plan`.
    pub(super) fn new(
        ground: &Ground,
        plan: &StagePlan,
        object: &[u8],
        terms: &Terms,
    ) -> Result<Self, StreamFailure> {
        let ends = (plan.stages.first(), plan.stages.last());
        let (Some([source]), Some([sink])) = (ends.0.map(Vec::as_slice), ends.1.map(Vec::as_slice))
        else {
            return Err(StreamFailure::Unfit {
                testbed: ground.site.testbed.name.clone(),
                why: "stages begin with one source and end with one sink".to_owned(),
            });
        };
        Ok(Self {
            source: *source,
            sink: *sink,
            nodes: plan.stages.concat(),
            arrivals: Arrivals::new(object, terms),
            rounds: 0,
            first_round: None,
            end: None,
            source_end: None,
            has_left: false,
            refused: false,
        })
    }

    /// What there is to tell of it.
    pub(super) fn note(&mut self, at: SimTime, node: usize, event: NodeEvent) -> Option<Progress> {
        match event {
            NodeEvent::Begun { .. } => {
                self.arrivals.begun.get_or_insert(at);
            }
            NodeEvent::Pipeline(Event::Received { number, round }) if node == self.sink => {
                self.rounds = self.rounds.max(u32::from(round) + 1);
                return self.arrivals.note(at, number, self.rounds);
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
        None
    }

    /// What became of it, where the sink has `bytes` and nodes have pipelines.
    pub(super) fn outcome<E: Engine>(
        &self,
        net: &Network<E>,
        pipeline: fn(&E) -> &P3Dual<Memory>,
        bytes: Vec<u8>,
    ) -> StagesOutcome {
        let told = |end| match end {
            Some(End::Complete) => "complete".to_owned(),
            Some(End::Silent) => "silent".to_owned(),
            None => "under way".to_owned(),
        };
        let counts = |n: &usize| pipeline(net.engine(*n)).counts();
        let mut stream = self.arrivals.outcome(net, bytes);
        stream.rounds = self.rounds;
        (stream.end, stream.source_end) = (told(self.end), Some(told(self.source_end)));
        StagesOutcome {
            first_round: self.first_round,
            source_sent: counts(&self.source).sent,
            late: self.nodes.iter().map(|n| counts(n).late).sum(),
            stream,
        }
    }
}
