//! What the planner gives back: the plan of a bulk transfer, its warnings, the reasons for none.
//!
//! Invariants of a [`Plan`]: no node is on two stages; there is a reception channel for each stage
//! 0..=H; the paths are node-distinct and all have H hops. A stage may hold fewer relays than there are
//! paths (relays left out of the last stage) or more (extra ones). Made in `route`; tests: tests/all/plans.rs.

use crate::channels::StageChannels;
use crate::evidence::Basis;
use crate::groups::{Group, Member};
use crate::predict::{Feed, Prediction};
use crate::request::Style;
use crate::topology::LinkRule;
use std::sync::Arc;
use thalweg_units::Channel;
use thalweg_wire::hop::Calls;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A node that is not in the table.
    #[error("node {node} is not one of the {nodes} nodes (0 to {last})", last = nodes.saturating_sub(1))]
    UnknownNode {
        /// The node named.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// Source and sink are the same.
    #[error("node {node} is both source and sink; a route needs two nodes")]
    SourceIsSink {
        /// The node named twice.
        node: usize,
    },
    /// Nothing was received on the routing channel.
    #[error("{}", no_data(*.channel, .measured))]
    NoData {
        /// The routing channel.
        channel: Channel,
        /// The channels with data, as a list; `none` where there are none.
        measured: String,
    },
    /// No chain of links leads from source to sink.
    #[error("no route from node {source_node} to node {sink} on channel {channel}: node {source_node} {reach}, with {rule}", reach = reach(*.reached, *.far))]
    Unreachable {
        /// The source.
        source_node: usize,
        /// The sink.
        sink: usize,
        /// The routing channel.
        channel: Channel,
        /// How many other nodes the source reaches.
        reached: usize,
        /// Hops to the farthest of them.
        far: usize,
        /// The weakest rule tried.
        rule: LinkRule,
    },
    /// Source and sink are linked, but not by paths of the length asked for.
    #[error("no path of exactly {hops} hops from node {source_node} to node {sink}: the shortest has {shortest}")]
    NoPath {
        /// The length asked for.
        hops: usize,
        /// The source.
        source_node: usize,
        /// The sink.
        sink: usize,
        /// The shortest length.
        shortest: usize,
    },
    /// Fewer channels than stages that must differ.
    #[error("{given} channel(s) given; a route of {hops} hops needs {needed} different ones")]
    TooFewChannels {
        /// Different channels given.
        given: usize,
        /// Channels needed.
        needed: usize,
        /// Hops of the route.
        hops: usize,
    },
    /// A path that was given is none.
    #[error("path {path}: {why}")]
    Path {
        /// Which, from 1 on.
        path: usize,
        /// What is wrong with it.
        why: PathFault,
    },
    /// A channel is listed twice.
    #[error("channel {channel} is listed twice")]
    RepeatedChannel {
        /// The channel.
        channel: Channel,
    },
}

/// Why a list of nodes is no path of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// There is nothing to send over.
    #[error("expected at least a source and a sink")]
    TooShort,
    /// Paths begin and end where the first does.
    #[error("expected the source and the sink of the first path")]
    OtherEnds,
    /// All paths have the same length.
    #[error("expected {0} hops, as the first path has")]
    OtherLength(usize),
    /// A node that another path has, or the same twice.
    #[error("node {0} is there already; a node relays for one path, on one stage")]
    Shared(usize),
}

/// What to know about a plan before trusting it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Warning {
    /// Fewer paths than wanted.
    #[error("only {found} of {wanted} node-distinct paths found")]
    FewPaths {
        /// Paths found.
        found: usize,
        /// Paths wanted, N.
        wanted: usize,
    },
    /// A weaker link rule than the one asked for was needed.
    #[error("routes needed a weaker link rule than asked for")]
    WeakerRule,
    /// Links are weak by their readings: chains over them may lose much, and answers.
    #[error("links are weak: how much a pipeline loses on them is uncertain")]
    WeakLinks,
    /// There are relays of one group only: the source sends in every other cycle, as in PIP.
    #[error("one group of relays only: the source sends in every other cycle")]
    OneGroup,
    /// Nothing was heard over a hop of a path that was given, on any channel.
    #[error("no link was measured from node {from} to node {to}")]
    SilentHop {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
    },
    /// A group is unlikely to deliver at all.
    #[error("the {} group is expected to deliver only {:.0} %", group.name(), delivery * 100.0)]
    DeadGroup {
        /// The group.
        group: Group,
        /// Its predicted delivery.
        delivery: f64,
    },
    /// So little arrives, or comes back, that the transfer is not expected to end.
    #[error("expected not to end: {:.1} % of the packets arrive in a round, {:.1} % of exchanges with NACKs succeed", arrives * 100.0, exchange * 100.0)]
    NoEnd {
        /// Predicted share of the packets that arrive in the first round.
        arrives: f64,
        /// Predicted probability that a request is answered.
        exchange: f64,
    },
    /// No link was measured on a channel that the plan uses.
    #[error("no link was measured on channel {channel}")]
    UnmeasuredChannel {
        /// Its number.
        channel: u8,
    },
    /// Too few channels were measured to choose among; the list counted back was taken.
    #[error("too few channels measured to choose among; took the list as given")]
    NoChoiceOfChannels,
}

/// PIP's route: one of the paths, the same channels.
#[derive(Debug, Clone, PartialEq)]
pub struct PipPlan {
    /// The nodes, source and sink included.
    pub path: Vec<usize>,
    /// What to expect.
    pub prediction: Prediction,
}

/// Everything that the nodes of a transfer need to know, and its prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The node that has the data.
    pub source: usize,
    /// The node that wants it.
    pub sink: usize,
    /// H.
    pub hops: usize,
    /// Packets of the transfer that is predicted.
    pub packets: u32,
    /// Hops of a shortest path under the rule used.
    pub shortest: usize,
    /// What it is made of: not always what was asked for.
    pub style: Style,
    /// Of a path hop by hop, where its nodes are called.
    pub calls: Calls,
    /// Node-distinct paths of H hops, source and sink included.
    pub paths: Vec<Vec<usize>>,
    /// No search could have found more paths than this.
    pub path_bound: usize,
    /// Relays of stages 1..=H-1 (stage k is `stages[k - 1]`).
    pub stages: Vec<Vec<Member>>,
    /// Reception channel of stages 0..=H.
    pub channels: Vec<Channel>,
    /// The sink's for the even group, where that is another: one channel that goes bad does not take both.
    pub last_even: Option<Channel>,
    /// The channel on which the route was sought.
    pub routing_channel: Channel,
    /// Whether the source sends in every cycle.
    pub feed: Feed,
    /// The link rule under which the paths were found.
    pub rule_used: LinkRule,
    /// Reasons to trust it less.
    pub warnings: Vec<Warning>,
    /// The prediction for this plan.
    pub prediction: Prediction,
    /// The same pair with PIP.
    pub pip: PipPlan,
    /// The backup relays of stages 1..=H-1, at most one for each group.
    pub backup_relays: Vec<Vec<Member>>,
    /// For stages 1..=H-1: the relays of chains that may join the odd group's, or the even's.
    pub alternates: Vec<Vec<Member>>,
    /// Plans for when this one and new ones of its kind have failed: many paths.
    pub others: Vec<Plan>,
    /// What it was made from, where it may have to be made again.
    pub(crate) basis: Option<Arc<Basis>>,
}

/// No path hop by hop of two hops or more carries as much, in kbit/s, over links without loss; and no pipeline of one path
/// carries more.
const BOUND_KBPS: f64 = 115.0;

/// Where less of the first round is foreseen to arrive, chains lose so much that probes would end one after the other.
const LOSSY: f64 = 0.85;

/// A pipeline is left for a path hop by hop after so many times what was foreseen.
const OVERDUE: f64 = 3.0;
/// P3's rounds are given up after this many times the predicted time of the path hop by hop. The packets that arrived by then
/// are lost.
const ROUNDS_OVERDUE: f64 = 5.0;
/// And no sooner than after so many seconds: broken transfers that find another route take some.
const SOONEST_S: f64 = 6.0;

/// How many nodes a source reaches, at most so many hops away, as errors say it.
pub fn reach(nodes: usize, far: usize) -> String {
    match (nodes, far) {
        (0, _) => "reaches no other node".to_owned(),
        (1, 1) => "reaches 1 other node, a hop away".to_owned(),
        (nodes, 1) => format!("reaches {nodes} other nodes, each a hop away"),
        (nodes, far) => format!("reaches {nodes} other nodes, at most {far} hops away"),
    }
}

fn no_data(channel: Channel, measured: &str) -> String {
    match measured {
        "none" => "no link was measured on any channel".to_owned(),
        _ => format!("no link was measured on channel {channel}, on which routes are sought; links are known on {measured}"),
    }
}

impl Prediction {
    /// Whether so little of the first round is foreseen to arrive.
    pub(crate) fn is_lossy(&self) -> bool {
        self.first_round < LOSSY
    }
}

impl Plan {
    /// After how many seconds this pipeline is left for a path hop by hop. Where it expects losses, what is foreseen of it says
    /// little, so `hops`, the plan of the other way, decides.
    pub fn left_after_s(&self, hops: Option<&Self>) -> f64 {
        let foreseen = |plan: &Self| plan.steady_s().unwrap_or(0.0);
        let after_s = match hops.filter(|_| self.expects_losses()) {
            Some(hops) => foreseen(hops) * ROUNDS_OVERDUE,
            None => foreseen(self) * OVERDUE,
        };
        after_s.max(SOONEST_S)
    }
    /// How long it takes if links stay as they were surveyed, in seconds; none where it never ends.
    pub fn steady_s(&self) -> Option<f64> {
        let steady = self.prediction.steady.map(|steady| steady.time_s);
        steady.or(self.prediction.time_s)
    }
    /// Its goodput if links stay as they were surveyed, in kbit/s.
    pub fn steady_kbps(&self) -> f64 {
        let steady = self.prediction.steady.map(|steady| steady.goodput_kbps);
        steady.unwrap_or(self.prediction.goodput_kbps)
    }
    /// Whether it is a pipeline over two chains, or one hop, of which losses are foreseen that rounds repair best, or over links
    /// that look weak: without probes that end chains for what was foreseen, and with the patience of P3.
    pub fn expects_losses(&self) -> bool {
        let has_spare = self.path_count() > 1 || self.hops == 1;
        let may_lose = self.prediction.is_lossy() || self.warnings.contains(&Warning::WeakLinks);
        self.style != Style::Hops && has_spare && may_lose
    }
    /// On which channel each stage hears each group.
    pub(crate) fn stage_channels(&self) -> StageChannels<'_> {
        StageChannels {
            stages: &self.channels,
            last_even: self.last_even,
        }
    }
    /// On which channel stage `stage` (1..=H) hears `group`.
    pub fn channel(&self, stage: usize, group: Group) -> Option<Channel> {
        self.stage_channels()
            .of(usize::from(group == Group::Even), stage)
    }
    /// Every node that takes part, with its stage (0 is the source, H the sink), stage by stage.
    pub fn active_nodes(&self) -> Vec<(usize, usize)> {
        let relays = (self.stages.iter().enumerate())
            .flat_map(|(at, stage)| stage.iter().map(move |member| (member.node, at + 1)));
        let ends = [(self.source, 0)].into_iter().chain(relays);
        ends.chain([(self.sink, self.hops)]).collect()
    }
    /// The group's relays of stage `stage` (1..H).
    pub fn relays(&self, stage: usize, group: Group) -> impl Iterator<Item = usize> + '_ {
        let stage = stage.checked_sub(1).and_then(|at| self.stages.get(at));
        let own = stage
            .into_iter()
            .flatten()
            .filter(move |m| m.group == group);
        own.map(|m| m.node)
    }
    /// Whether a path hop by hop could be quicker: less is foreseen than that carries over two hops without losses.
    pub fn may_be_quicker_by_hops(&self) -> bool {
        self.prediction.goodput_kbps < BOUND_KBPS
    }
    /// Whether it may turn out to be slower than a path hop by hop.
    pub(crate) fn may_be_left(&self) -> bool {
        let likely = self.prediction.likely;
        likely.is_none_or(|likely| likely.goodput_kbps[0] < BOUND_KBPS)
    }
    /// M, the number of node-distinct paths.
    pub fn path_count(&self) -> usize {
        self.paths.len()
    }
}
