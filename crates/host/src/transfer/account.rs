//! The summary of a pipeline transfer, made from its plan and its job's result. Time base: the network's. Tests:
//! `crates/simnet/tests/all/line/`, `crates/simnet/tests/all/robustness/`.

use crate::outcome::Summary;
use crate::transfer::pipeline::{Fetched, TransferTerms};
use thalweg_engine::BoardTiming;
use thalweg_planner::{Plan, Prediction};
use thalweg_units::{BitRate, NodeId};
use thalweg_wire::route::Scheme;
use thalweg_wire::seal::frame::Sealing;

/// The prediction for `plan` where `scheme` moves the packets, and the number of paths.
pub fn expected(plan: &Plan, scheme: Scheme) -> (&Prediction, usize) {
    match scheme.has_groups() {
        true => (&plan.prediction, plan.path_count()),
        false => (&plan.pip.prediction, 1),
    }
}

/// What is known of a transfer before it runs.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// The protocol's name.
    pub protocol: &'a str,
    /// What moves its packets.
    pub scheme: Scheme,
    /// The network's name.
    pub network: &'a str,
    /// The network's nodes, by index.
    pub ids: &'a [NodeId],
    /// The seed of the run.
    pub seed: u64,
    /// Whether the network is secured.
    pub sealing: Sealing,
}

impl Account<'_> {
    /// The summary where no plan leads from node `source`.
    pub fn unplanned(&self, (source, sink): (NodeId, NodeId)) -> Summary {
        Summary {
            protocol: self.protocol.to_owned(),
            testbed: self.network.to_owned(),
            source,
            sink,
            bytes: 0,
            verified: false,
            sealed: false,
            goodput_kbps: 0.0,
            utilisation: None,
            rounds: 0,
            first_round_reliability: None,
            active_nodes: 0,
            hops: 0,
            paths: 0,
            energy_j: None,
            network_energy_j: None,
            cold: None,
            waited_s: 0.0,
            duration_s: 0.0,
            attempts: 1,
            failure: None,
            seed: self.seed,
        }
    }

    /// The summary where nothing arrived over `plan`.
    pub fn nothing(&self, plan: &Plan) -> Summary {
        let id = |index: usize| self.ids.get(index).copied().unwrap_or(NodeId::MAX);
        let (_, paths) = expected(plan, self.scheme);
        Summary {
            hops: plan.hops as u32,
            paths: paths as u32,
            ..self.unplanned((id(plan.source), id(plan.sink)))
        }
    }

    /// The summary of `fetched` over `plan`, on `terms` and boards of `timing`.
    pub fn of(
        &self,
        plan: &Plan,
        fetched: &Fetched,
        (terms, timing): (&TransferTerms, &BoardTiming),
    ) -> Summary {
        let part = fetched.segment.as_ref();
        let bytes = part.map_or(0, |part| part.bytes.len() as u64);
        let goodput = BitRate::of_bytes(bytes, fetched.duration);
        let rate = terms.cycle(timing).effective_rate();
        let complete = fetched.complete;
        let packets = complete.map(|complete| f64::from(complete.packets.max(1)));
        let first = fetched.first_round.map(f64::from);
        Summary {
            bytes,
            verified: part.is_some(),
            sealed: part.is_some() && self.sealing == Sealing::Sealed,
            goodput_kbps: goodput.kbps(),
            utilisation: Some(goodput.bps() / rate.bps()),
            rounds: complete.map_or(fetched.round, |complete| u32::from(complete.rounds)),
            first_round_reliability: first.zip(packets).map(|(first, of)| first / of),
            active_nodes: fetched.participants,
            energy_j: fetched.joules,
            network_energy_j: fetched.network_joules,
            waited_s: fetched.waited.as_secs_f64(),
            duration_s: fetched.duration.as_secs_f64(),
            attempts: fetched.attempts,
            failure: fetched.failure.clone(),
            ..self.nothing(plan)
        }
    }
}
