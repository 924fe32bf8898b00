//! A plan as JSON: nodes by name, the prediction, the backups. `thalweg plan --json` prints it, and a daemon's plan job
//! stores it; keys are stable. Tests: with those two.

use serde::Serialize;
use thalweg_planner::{Group, Member, Plan, Prediction, Warning};
use thalweg_units::{Channel, NodeId};

use super::{LinkState, Place};

/// A plan by node names.
#[derive(Debug, Clone, Serialize)]
pub struct PlanSummary {
    /// The network.
    pub testbed: String,
    /// The node that has the object.
    pub source: u16,
    /// The base station.
    pub sink: u16,
    /// Hops of the route.
    pub hops: usize,
    /// Hops of a shortest one.
    pub shortest: usize,
    /// Node-distinct paths, source and sink included.
    pub paths: Vec<Vec<u16>>,
    /// The relays of each stage; the first is the source, the last the sink.
    pub stages: Vec<Stage>,
    /// The channel on which the route was sought.
    pub routing_channel: u8,
    /// The protocol, by name.
    pub protocol: &'static str,
    /// Packets of the object.
    pub packets: u32,
    /// Object bytes in a packet.
    pub payload: u8,
    /// The seed of the plan's random choices.
    pub seed: u64,
    /// How long ago its links were measured, in seconds; none where they were given.
    pub links_age_s: Option<f64>,
    /// Reasons for doubt.
    pub warnings: Vec<String>,
    /// What to expect.
    pub prediction: Prediction,
    /// PIP's path.
    pub pip: Pip,
    /// What takes over where a relay or the route fails.
    pub backups: Backups,
}

/// The nodes that relay at one distance from the source.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// The distance, in hops.
    pub stage: usize,
    /// The channel that they receive on.
    pub channel: u8,
    /// The sink's for the even group, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub even_channel: Option<u8>,
    /// Of the odd group.
    pub odd: Vec<u16>,
    /// Of the even group.
    pub even: Vec<u16>,
}

impl Stage {
    /// The stage of `plan` at distance `at`; `id` names a node.
    fn of(plan: &Plan, at: usize, channel: Channel, id: impl Fn(usize) -> u16) -> Self {
        let group = |group| match at {
            0 => vec![id(plan.source)],
            _ if at == plan.hops => vec![id(plan.sink)],
            _ => plan.relays(at, group).map(&id).collect(),
        };
        Self {
            stage: at,
            channel: channel.number(),
            even_channel: (plan.last_even)
                .filter(|_| at == plan.hops)
                .map(Channel::number),
            odd: group(Group::Odd),
            even: group(Group::Even),
        }
    }
}

/// `warning` with nodes called as `place` calls them.
fn named_warning(warning: &Warning, place: &Place) -> String {
    match *warning {
        Warning::SilentHop { from, to } => {
            let (from, to) = (place.name_of(from), place.name_of(to));
            format!("no link was measured from node {from} to node {to}")
        }
        ref other => other.to_string(),
    }
}

/// PIP's path between the same nodes.
#[derive(Debug, Clone, Serialize)]
pub struct Pip {
    /// The nodes, source and sink included.
    pub path: Vec<u16>,
    /// What to expect.
    pub prediction: Prediction,
}

/// The backups of a plan; a plan without backups has none.
#[derive(Debug, Clone, Serialize)]
pub struct Backups {
    /// Backup relays, stage by stage from 1.
    pub backup_relays: Vec<Vec<u16>>,
    /// Relays of alternate chains, stage by stage from 1.
    pub alternates: Vec<Vec<u16>>,
    /// Other plans, in the order in which they are tried.
    pub others: Vec<Other>,
}

/// A plan to try where another fails.
#[derive(Debug, Clone, Serialize)]
pub struct Other {
    /// Its hops.
    pub hops: usize,
    /// Its paths.
    pub paths: Vec<Vec<u16>>,
    /// What to expect of it, kbit/s.
    pub goodput_kbps: f64,
}

impl PlanSummary {
    /// `plan`, made from `link_state`, for an object of `bytes` bytes in packets of `payload`.
    pub fn new(
        link_state: &LinkState,
        protocol: &'static str,
        (bytes, payload): (u64, u8),
        plan: &Plan,
    ) -> Self {
        let place = link_state.place();
        let id = |index: usize| place.ids.get(index).map_or(u16::MAX, |id| NodeId::get(*id));
        let ids = |nodes: &[usize]| nodes.iter().map(|&node| id(node)).collect::<Vec<_>>();
        let paths = |plan: &Plan| plan.paths.iter().map(|path| ids(path)).collect();
        let members = |stages: &[Vec<Member>]| {
            let of = |stage: &Vec<Member>| stage.iter().map(|member| id(member.node)).collect();
            stages.iter().map(of).collect()
        };
        let stage = |(at, channel): (usize, &Channel)| Stage::of(plan, at, *channel, id);
        let other = |plan: &Plan| Other {
            hops: plan.hops,
            paths: paths(plan),
            goodput_kbps: plan.prediction.goodput_kbps,
        };
        let warning = |warning: &Warning| named_warning(warning, place);
        let packets = bytes.div_ceil(u64::from(payload.max(1)));
        Self {
            testbed: place.name.clone(),
            source: id(plan.source),
            sink: id(plan.sink),
            hops: plan.hops,
            shortest: plan.shortest,
            paths: paths(plan),
            stages: plan.channels.iter().enumerate().map(stage).collect(),
            routing_channel: plan.routing_channel.number(),
            protocol,
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            payload,
            seed: link_state.seed(),
            links_age_s: link_state.age().map(|age| age.as_secs_f64()),
            warnings: plan.warnings.iter().map(warning).collect(),
            prediction: plan.prediction.clone(),
            pip: Pip {
                path: ids(&plan.pip.path),
                prediction: plan.pip.prediction.clone(),
            },
            backups: Backups {
                backup_relays: members(&plan.backup_relays),
                alternates: members(&plan.alternates),
                others: plan.others.iter().map(other).collect(),
            },
        }
    }
}
