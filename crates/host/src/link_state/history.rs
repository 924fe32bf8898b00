//! A network's links over time: surveys, and what transfers have shown since. They are fused into the links at one
//! time.
//!
//! Invariants: surveys are kept newest first, the last [`MAX_SURVEYS`]; of hops the last [`MAX_OBSERVATIONS`]. Time
//! base: one clock for all, the network's or the wall clock, as the owner chooses. Tests: `history_tests.rs`.

use std::sync::Arc;

use crate::network::NetworkTime;
use crate::transfer::pipeline::Fetched;
use thalweg_planner::protocol_constants::FIRST_PROBE;
use thalweg_planner::{Dated, FusedLinks, Group, LinkModel, LinkQualities, Plan, Sighting};
use thalweg_units::{Channel, Dbm, Duration, NodeId};

/// The most surveys that are fused.
pub const MAX_SURVEYS: usize = thalweg_planner::MOST_READINGS;
/// The most observations of hops that are kept.
pub const MAX_OBSERVATIONS: usize = 4_096;

/// The links that a survey measured.
#[derive(Debug, Clone)]
pub struct PastSurvey {
    /// The links.
    pub links: LinkQualities,
    /// When it was made.
    pub at: NetworkTime,
}

/// How many frames of a transfer a hop carried. Nodes by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopObservation {
    /// Who sent.
    pub from: usize,
    /// Who received.
    pub to: usize,
    /// On which channel.
    pub channel: Channel,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that were received.
    pub received: u32,
    /// When.
    pub at: NetworkTime,
}

/// The surveys and observations of a network.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// Each view of a network has them; of a large one each takes megabytes.
    surveys: Arc<[PastSurvey]>,
    /// What the newest says of its radios: every fetch asks for it.
    learned: Option<LinkModel>,
    observations: Vec<HopObservation>,
}

impl History {
    /// Of radios with this effective `floor`.
    pub(super) fn of(mut surveys: Vec<PastSurvey>, floor: Dbm) -> Self {
        surveys.sort_by_key(|survey| std::cmp::Reverse(survey.at));
        surveys.truncate(MAX_SURVEYS);
        Self {
            learned: surveys
                .first()
                .map(|newest| LinkModel::learned(&newest.links, floor)),
            surveys: surveys.into(),
            observations: Vec::new(),
        }
    }
    pub(super) fn newest(&self) -> Option<&PastSurvey> {
        self.surveys.first()
    }
    /// Adds observations, and drops the oldest above the limit.
    pub(super) fn observe(&mut self, hops: &[HopObservation]) {
        self.observations.extend_from_slice(hops);
        let over = self.observations.len().saturating_sub(MAX_OBSERVATIONS);
        self.observations.drain(..over);
    }
    /// Takes over the observations of `of`.
    pub(super) fn copy_observations(&mut self, of: &Self) {
        self.observations.clone_from(&of.observations);
    }
    /// The links at `now`; none without a survey.
    pub(super) fn picture(&self, now: NetworkTime) -> Option<FusedLinks> {
        fn dated(survey: &PastSurvey, now: NetworkTime) -> Dated<'_> {
            Dated {
                links: &survey.links,
                age: now.since(survey.at),
            }
        }
        let (newest, earlier) = self.surveys.split_first()?;
        let earlier: Vec<Dated<'_>> = earlier.iter().map(|survey| dated(survey, now)).collect();
        // The newest first: of a link, the newest count.
        let observations = self.observations.iter().rev().map(|hop| Sighting {
            from: hop.from,
            to: hop.to,
            channel: hop.channel,
            sent: hop.sent,
            received: hop.received,
            age: now.since(hop.at),
        });
        let observations: Vec<Sighting> = observations.collect();
        Some(FusedLinks::by(
            self.learned?,
            dated(newest, now),
            &earlier,
            &observations,
        ))
    }
    /// The age of the newest survey at `now`.
    pub(super) fn age(&self, now: NetworkTime) -> Option<Duration> {
        self.newest().map(|survey| now.since(survey.at))
    }
}

/// What a transfer of `packets` packets over `plan`, which ended at `at`, shows of its hops. `ids` are the network's
/// nodes.
///
/// Hops that relays counted as bad are reported as counted, and nothing else is suspect then. Else a base station
/// only knows what came out of a chain: without degraded paths, every hop of a group is assumed to have carried the
/// same share of the first round; with them, each hop bears its part of what a degraded path loses. A hop at a relay
/// with a backup shows nothing, since either of the two may have sent.
pub fn hop_observations(
    (plan, ids): (&Plan, &[NodeId]),
    packets: u32,
    fetched: &Fetched,
    at: NetworkTime,
) -> Vec<HopObservation> {
    let index = |node: NodeId| ids.iter().position(|id| *id == node);
    let counted = fetched.bad_hops.iter().filter_map(|hop| {
        Some(HopObservation {
            from: index(hop.from)?,
            to: index(hop.to)?,
            channel: hop.channel,
            sent: hop.of,
            received: hop.came,
            at,
        })
    });
    let counted: Vec<HopObservation> = counted.collect();
    if !counted.is_empty() {
        return counted;
    }
    let groups: Vec<Group> = (Group::BOTH.into_iter())
        .filter(|group| plan.hops == 1 || plan.relays(1, *group).next().is_some())
        .collect();
    let Some((sent, share)) = chain_share(groups.len(), packets, fetched) else {
        return Vec::new();
    };
    let hops = plan.hops as f64;
    let received = (f64::from(sent) * share.powf(1.0 / hops.max(1.0))).round() as u32;
    let has_backup = |stage: usize, group: Group| {
        let at = stage.checked_sub(1);
        let backups = at.and_then(|at| plan.backup_relays.get(at));
        fetched.degraded_paths == 0 && backups.into_iter().flatten().any(|m| m.group == group)
    };
    let hop = |stage: usize, group: Group| {
        let from = lone_node(plan, stage - 1, group)?;
        let to = lone_node(plan, stage, group)?;
        let channel = plan.channel(stage, group)?;
        let is_clear = !has_backup(stage - 1, group) && !has_backup(stage, group);
        is_clear.then_some(HopObservation {
            from,
            to,
            channel,
            sent,
            received,
            at,
        })
    };
    let stages = |group| (1..=plan.hops).filter_map(move |stage| hop(stage, group));
    groups.into_iter().flat_map(stages).collect()
}

/// Packets that each of `groups` chains was sent, and the share that came out; none where that is not known.
fn chain_share(groups: usize, packets: u32, fetched: &Fetched) -> Option<(u32, f64)> {
    match (fetched.degraded_paths, fetched.first_round) {
        (0, Some(first)) if fetched.attempts == 1 && packets > 0 => {
            let share = (f64::from(first) / f64::from(packets)).min(1.0);
            Some((packets / groups.max(1) as u32, share))
        }
        (0, _) => None,
        (degraded, _) => {
            let (probe, enough) = FIRST_PROBE;
            // A degraded path carries fewer than enough, half of that on average.
            let carries = 0.5 * f64::from(enough) / f64::from(probe);
            let degraded = (f64::from(degraded) / groups as f64).min(1.0);
            Some((probe, 1.0 - degraded * (1.0 - carries)))
        }
    }
}

/// The node of `group` at `stage`, where it is the only one.
fn lone_node(plan: &Plan, stage: usize, group: Group) -> Option<usize> {
    match stage {
        0 => Some(plan.source),
        _ if stage == plan.hops => Some(plan.sink),
        _ => {
            let mut here = plan.relays(stage, group);
            let one = here.next();
            one.filter(|_| here.next().is_none())
        }
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
