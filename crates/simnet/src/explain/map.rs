//! The loss map: how many packets of each round are left after each stage, and why the others are not.
//!
//! Invariants, for every hop: entered = arrived + lost by cause; what arrived at a stage enters
//! the next hop. Tests: `tests.rs`.

use super::cause::Causes;
use super::layout::{Part, SubGroup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of a transfer's frames, stage by stage. Nodes are named as the testbed does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossMap {
    /// `p3`, `pip`, `pip-hopping`, `pip-cit` or `thalweg`.
    pub protocol: String,
    /// The node that has the object.
    pub source: u16,
    /// The base station.
    pub sink: u16,
    /// The first route.
    #[serde(flatten)]
    pub route: RouteMap,
    /// Packets of the object, round by round; of every attempt, if there were several.
    pub rounds: Vec<RoundLoss>,
    /// The routes of later attempts, where they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<LaterRoute>,
    /// What nodes are called beside their numbers, for texts and pictures.
    #[serde(skip)]
    pub labels: BTreeMap<u16, String>,
}

impl LossMap {
    /// Node `node` for people.
    pub(super) fn named(&self, node: u16) -> String {
        match self.labels.get(&node) {
            Some(label) => format!("{node} ({label})"),
            None => node.to_string(),
        }
    }
}

/// The nodes of a route, and the losses of control frames of the attempts that took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteMap {
    /// H.
    pub hops: usize,
    /// Reception channels of stages 0 to H, as planned; of a transfer that hops, the first ones.
    pub channels: Vec<u8>,
    /// The sink's for the even group, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_even: Option<u8>,
    /// Every node with its stage and group, stage by stage.
    pub nodes: Vec<MapNode>,
    /// Requests and releases of all its rounds, towards the sink.
    pub requests: Vec<HopLoss>,
    /// NACKs of all its rounds, towards the source.
    pub nacks: Vec<HopLoss>,
}

/// A route that replaced the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterRoute {
    /// Attempts before the first that took it.
    pub attempt: u32,
    /// The route.
    #[serde(flatten)]
    pub route: RouteMap,
}

/// A node's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapNode {
    /// The node.
    pub node: u16,
    /// 0 (source) to H (sink).
    pub stage: usize,
    /// Whose packets it handles.
    pub group: SubGroup,
    /// Whether it stands by.
    #[serde(default, skip_serializing_if = "Part::is_planned")]
    pub part: Part,
}

/// A round of packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundLoss {
    /// Attempts before that of this round.
    pub attempt: u32,
    /// From 1. The first packets of an attempt that keeps earlier ones are of round 2: round 1 is the request of a source
    /// that does not know what is missing.
    pub round: u32,
    /// Hops in their order, the groups of each.
    pub hops: Vec<HopLoss>,
}

/// What one sub-group made of a hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopLoss {
    /// The stage that receives.
    pub stage: usize,
    /// Of the packets.
    pub group: SubGroup,
    /// The channel on which `stage` was sent most of it; as planned, where there is none such.
    pub channel: u8,
    /// Packets that some node of the stage before had.
    pub entered: u32,
    /// Packets that some node of this stage got.
    pub arrived: u32,
    /// The difference, each packet by what kept it from the receiver that was nearest to it.
    pub lost: Causes,
    /// The group's nodes of the stage before.
    pub senders: Vec<Sender>,
    /// The group's nodes of this stage.
    pub receivers: Vec<Receiver>,
}

/// A sender's part in a hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The node.
    pub node: u16,
    /// Packets that it had.
    pub had: u32,
    /// Packets that it sent.
    pub sent: u32,
}

/// A receiver's part in a hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// The node.
    pub node: u16,
    /// Packets that it got.
    pub got: u32,
    /// Why not the others that were sent.
    pub lost: Causes,
}

impl HopLoss {
    /// How many nodes sent a packet, on average; 0 where nothing entered.
    pub fn mean_senders(&self) -> f64 {
        let sent: u32 = self.senders.iter().map(|s| s.sent).sum();
        match self.entered {
            0 => 0.0,
            n => f64::from(sent) / f64::from(n),
        }
    }
    /// Share that arrived; `None` where nothing entered.
    pub fn survival(&self) -> Option<f64> {
        (self.entered > 0).then(|| f64::from(self.arrived) / f64::from(self.entered))
    }
}

impl LossMap {
    /// The first round of the last attempt that did not keep earlier packets, which first-round reliability is about;
    /// where no such attempt had the source send, the first round of all.
    pub fn first_round(&self) -> Option<&RoundLoss> {
        let fresh = self.rounds.iter().rev().find(|r| r.round == 1);
        fresh.or(self.rounds.first())
    }
    /// The route of the attempt that follows `attempt` others.
    pub fn route_of(&self, attempt: u32) -> &RouteMap {
        let later = self.ways.iter().rev().find(|w| w.attempt <= attempt);
        later.map_or(&self.route, |later| &later.route)
    }
    /// All routes in their order, each with the attempts before its first.
    pub fn all_routes(&self) -> impl Iterator<Item = (u32, &RouteMap)> {
        let later = self.ways.iter().map(|later| (later.attempt, &later.route));
        std::iter::once((0, &self.route)).chain(later)
    }
    /// Whether every hop accounts for all that entered it, and passes on all that arrived.
    pub fn is_conserved(&self) -> bool {
        let passed_on = |hops: &[HopLoss]| {
            hops.iter().enumerate().all(|(at, hop)| {
                let before = hops[..at].iter().rev().find(|b| b.group == hop.group);
                hop.entered == hop.arrived + hop.lost.total()
                    && before.is_none_or(|b| b.arrived == hop.entered)
            })
        };
        let control = |route: &RouteMap| passed_on(&route.requests) && passed_on(&route.nacks);
        self.rounds.iter().all(|r| passed_on(&r.hops))
            && self.all_routes().all(|(_, route)| control(route))
    }
}

/// Losses of many transfers' first rounds by the receiving stage's distance from the sink.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Transfers added.
    pub transfers: u32,
    /// By stages before the sink: 0 is the sink itself.
    pub stages: Vec<StageTotal>,
}

/// One distance from the sink.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StageTotal {
    /// Packets that entered the hop.
    pub entered: u32,
    /// Packets that arrived.
    pub arrived: u32,
    /// The others.
    pub lost: Causes,
}

impl Totals {
    /// Adds the first round of a transfer.
    pub fn add(&mut self, map: &LossMap) {
        self.transfers += 1;
        let Some(round) = map.first_round() else {
            return;
        };
        let hops = map.route_of(round.attempt).hops;
        for hop in &round.hops {
            let at = hops - hop.stage;
            if self.stages.len() <= at {
                self.stages.resize(at + 1, StageTotal::default());
            }
            let stage = &mut self.stages[at];
            stage.entered += hop.entered;
            stage.arrived += hop.arrived;
            stage.lost.add(&hop.lost);
        }
    }
    /// Packets lost, over all stages.
    pub fn lost(&self) -> u32 {
        self.stages.iter().map(|s| s.lost.total()).sum()
    }
}
