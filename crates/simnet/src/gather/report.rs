//! The report of files gathered at once: of each, and of all together.
//!
//! Times are seconds after routes have settled. Goodput of a flow is over the time from its connection to its last
//! delivery in order (RCRT, section 4.2.1), that of all over the time until the last.

use super::Collection;
use crate::rcrt::{FlowOutcome, Outcome as Ran};
use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_host::network::NetworkTime;
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::transfer::rcrt::Gathered;
use thalweg_protocols::rcrt::sink::Decrease;
use thalweg_testbeds::Testbed;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// All of them together.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Always `rcrt`.
    pub protocol: &'static str,
    /// The testbed.
    pub testbed: String,
    /// The base station.
    pub sink: u16,
    /// The policy that shares the rate, by name.
    pub policy: String,
    /// What each source wants, packets per second.
    pub demand: f64,
    /// Object bytes in a packet.
    pub payload: u8,
    /// The seed.
    pub seed: u64,
    /// Time that routes took before sources began, in seconds; none where they began at once.
    pub settled_s: Option<f64>,
    /// Until the last delivery, in seconds.
    pub duration_s: f64,
    /// Objects that are whole.
    pub whole: usize,
    /// Objects requested.
    pub objects: usize,
    /// Bytes delivered.
    pub bytes: u64,
    /// Bits delivered per time, of all together, in kbit/s.
    pub goodput_kbps: f64,
    /// Mean rate of the flows, packets per second.
    pub rate: f64,
    /// Share of packets whose first copy was an end-to-end retransmission, 0..=1.
    pub repaired_share: f64,
    /// Feedbacks sent.
    pub feedbacks: u64,
    /// Each object.
    pub nodes: Vec<Node>,
}

/// One object.
#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// As of every transfer, and of its flow.
    #[serde(flatten)]
    pub outcome: Outcome<Flowed>,
    /// The object, where it is whole.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flowed {
    /// Packets delivered.
    pub packets: u64,
    /// Packets delivered per second.
    pub packets_per_s: f64,
    /// Its mean rate over time, packets per second.
    pub rate: f64,
    /// Each rate that it had, and since when: seconds, packets per second.
    pub rates: Vec<(f64, f64)>,
    /// Share of its packets whose first copy was an end-to-end retransmission, 0..=1.
    pub repaired_share: f64,
    /// Feedbacks sent to it.
    pub feedbacks: u32,
    /// When it was connected.
    pub opened_s: Option<f64>,
    /// When its last packet was delivered.
    pub last_s: Option<f64>,
}

/// What a report needs beside the objects.
pub(super) struct Context<'a> {
    pub testbed: &'a Testbed,
    pub collection: &'a Collection,
    /// The base station.
    pub sink: NodeId,
    pub seed: u64,
    /// How long routes had.
    pub settled: Option<Duration>,
    /// When routes have settled.
    pub begins: NetworkTime,
    pub sealing: Sealing,
}

/// What is known of a flow beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Links that its packets crossed.
    pub hops: u32,
    /// Share of its packets that were repaired.
    pub repaired_share: f64,
    /// Feedbacks sent to it.
    pub feedbacks: u32,
}

impl Report {
    /// Of `gathered`, of whose flows `seen` tells more; what it does not know is left out.
    pub(super) fn new(
        context: &Context<'_>,
        gathered: Vec<Gathered>,
        seen: impl Fn(&Gathered) -> Option<Seen>,
    ) -> Self {
        let (testbed, collection) = (context.testbed, context.collection);
        let sink = context.sink;
        let node = |one: Gathered| {
            let seen = seen(&one)?;
            Some(Node::new(context, one, seen))
        };
        let nodes: Vec<Node> = gathered.into_iter().filter_map(node).collect();
        let flows = || nodes.iter().map(|node| &node.outcome.details);
        let bytes = nodes.iter().map(|node| node.outcome.summary.bytes).sum();
        let duration_s = flows().filter_map(|f| f.last_s).fold(0.0, f64::max);
        let packets: u64 = flows().map(|f| f.packets).sum();
        let repaired: f64 = flows().map(|f| f.repaired_share * f.packets as f64).sum();
        Self {
            protocol: context.protocol(),
            testbed: testbed.name.clone(),
            sink: sink.get(),
            policy: collection.request.policy.clone(),
            demand: collection.request.demand,
            payload: collection.payload,
            seed: context.seed,
            settled_s: context.settled.map(Duration::as_secs_f64),
            duration_s,
            whole: nodes.iter().filter(|node| node.object.is_some()).count(),
            objects: nodes.len(),
            bytes,
            goodput_kbps: per(bytes as f64 * 8e-3, duration_s),
            rate: per(flows().map(|f| f.rate).sum(), nodes.len() as f64),
            repaired_share: per(repaired, packets as f64),
            feedbacks: flows().map(|f| u64::from(f.feedbacks)).sum(),
            nodes,
        }
    }
}

impl Context<'_> {
    /// What a simulated run, which sees all, tells of a flow.
    pub(super) fn simulated<'a>(
        &'a self,
        ran: &'a Ran,
    ) -> impl Fn(&Gathered) -> Option<Seen> + use<'a> {
        let base = self.testbed.index_of(self.sink);
        let flows = ran.flows.iter();
        let flows = flows.map(|flow| (ran.id_of(flow.flow.node), flow));
        let flows: BTreeMap<NodeId, &FlowOutcome> = flows.collect();
        move |one| {
            let flow = flows.get(&one.source)?;
            let at = self.since(one.last).unwrap_or(0.0);
            let hops = ran.depth(base.as_slice(), flow.flow.node, at);
            Some(Seen {
                hops: hops.unwrap_or(0),
                repaired_share: per(f64::from(flow.repaired), flow.arrived.len() as f64),
                feedbacks: flow.feedbacks,
            })
        }
    }
    /// What ran: `rcrt` stands for its steady sink, as it does where users ask for it.
    fn protocol(&self) -> &'static str {
        match self.collection.rates.decrease {
            Decrease::ToWhatCame => "rcrt",
            Decrease::ByLoss => "rcrt-published",
        }
    }
    fn since(&self, at: Option<NetworkTime>) -> Option<f64> {
        at.map(|at| at.since(self.begins).as_secs_f64())
    }
}

impl Node {
    fn new(context: &Context<'_>, one: Gathered, seen: Seen) -> Self {
        let (opened_s, last_s) = (context.since(one.opened), context.since(one.last));
        let duration_s = opened_s.zip(last_s).map_or(0.0, |(from, to)| to - from);
        let Seen {
            hops,
            repaired_share,
            feedbacks,
        } = seen;
        let (object, failure) = match one.object {
            Ok(object) => (Some(object), None),
            Err(why) => (None, Some(why.to_string())),
        };
        let summary = Summary {
            protocol: context.protocol().to_owned(),
            testbed: context.testbed.name.clone(),
            source: one.source,
            sink: context.sink,
            bytes: one.bytes,
            verified: object.is_some(),
            sealed: object.is_some() && context.sealing == Sealing::Sealed,
            goodput_kbps: match object {
                Some(_) => per(one.bytes as f64 * 8e-3, duration_s),
                None => 0.0,
            },
            utilisation: None,
            rounds: 1,
            first_round_reliability: Some(1.0 - repaired_share),
            active_nodes: hops + 1,
            hops,
            paths: 1,
            energy_j: None,
            network_energy_j: None,
            cold: None,
            waited_s: 0.0,
            duration_s,
            attempts: 1,
            failure,
            seed: context.seed,
        };
        let packets = one.bytes.div_ceil(u64::from(context.collection.payload));
        let details = Flowed {
            packets,
            packets_per_s: per(packets as f64, duration_s),
            rate: mean_rate(&one.rates, last_s),
            rates: one.rates,
            repaired_share,
            feedbacks,
            opened_s,
            last_s,
        };
        let outcome = Outcome { summary, details };
        Self { outcome, object }
    }
}

/// `a` / `b`, and 0 where there is nothing to divide by.
fn per(a: f64, b: f64) -> f64 {
    match b > 0.0 {
        true => a / b,
        false => 0.0,
    }
}

/// Mean over time until second `end`.
fn mean_rate(rates: &[(f64, f64)], end: Option<f64>) -> f64 {
    let (Some((first, rate)), Some(end)) = (rates.first(), end) else {
        return 0.0;
    };
    if end <= *first {
        return *rate;
    }
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let sum: f64 = (rates.iter().zip(ends))
        .map(|((at, rate), until)| rate * (until.min(end) - at).max(0.0))
        .sum();
    sum / (end - first)
}
