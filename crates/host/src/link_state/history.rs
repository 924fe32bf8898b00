//! What a network's links were over time: surveys, and what transfers saw since. It makes one picture for a time.
//!
//! Invariants: surveys are kept newest first, the last [`MAX_SURVEYS`]; of hops the last [`MAX_OBSERVATIONS`]. Time base: one clock
//! for all, the field's or the wall's; its owner says which. Tests: at the end.

use crate::network::NetworkTime;
use crate::transfer::pipeline::Fetched;
use thalweg_planner::protocol_constants::FIRST_PROBE;
use thalweg_planner::{Dated, FusedLinks, Group, LinkQualities, Plan, Sighting};
use thalweg_units::{Channel, Dbm, Duration, NodeId};

/// So many surveys have a part in a picture.
pub const MAX_SURVEYS: usize = thalweg_planner::MOST_READINGS;
/// So many hops of transfers are remembered.
pub const MAX_OBSERVATIONS: usize = 4_096;

/// Links as they were measured.
#[derive(Debug, Clone)]
pub struct PastSurvey {
    /// The links.
    pub links: LinkQualities,
    /// When that was done.
    pub at: NetworkTime,
}

/// A hop of a transfer: how frames of a pipeline fared over it. Nodes by index.
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

/// What is known of links, by when.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    surveys: Vec<PastSurvey>,
    observations: Vec<HopObservation>,
}

impl History {
    pub(super) fn of(mut surveys: Vec<PastSurvey>) -> Self {
        surveys.sort_by_key(|survey| std::cmp::Reverse(survey.at));
        surveys.truncate(MAX_SURVEYS);
        Self {
            surveys,
            observations: Vec::new(),
        }
    }
    pub(super) fn newest(&self) -> Option<&PastSurvey> {
        self.surveys.first()
    }
    /// Notes what was seen; the oldest of too much is forgotten.
    pub(super) fn observe(&mut self, hops: &[HopObservation]) {
        self.observations.extend_from_slice(hops);
        let over = self.observations.len().saturating_sub(MAX_OBSERVATIONS);
        self.observations.drain(..over);
    }
    /// Takes over what transfers saw before.
    pub(super) fn copy_observations(&mut self, of: &Self) {
        self.observations.clone_from(&of.observations);
    }
    /// The picture at `now`, of radios with this effective `floor`; none without a survey.
    pub(super) fn picture(&self, now: NetworkTime, floor: Dbm) -> Option<FusedLinks> {
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
        Some(FusedLinks::of(
            dated(newest, now),
            &earlier,
            &observations,
            floor,
        ))
    }
    /// How long before `now` links were last measured.
    pub(super) fn age(&self, now: NetworkTime) -> Option<Duration> {
        self.newest().map(|survey| now.since(survey.at))
    }
}

/// What a transfer of `packets` packets over `plan`, which ended at `at`, tells of its hops.
///
/// A base station knows of a chain only what came out of it. Where nothing was degraded, every hop of a group brought
/// the same share of what the first round brought. Beside a relay for which somebody stands by nothing is told: who of both
/// sent is not known. Where chains were degraded, each hop of the plan is suspect by its part of what a degraded path loses.
///
/// Hops that relays counted to be bad are told as they were counted; nothing else is suspect then. Nodes are called `ids`.
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
    let (hops, count) = (plan.hops as f64, groups.len() as f64);
    let (sent, share) = match (fetched.degraded_paths, fetched.first_round) {
        (0, Some(first)) if fetched.attempts == 1 && packets > 0 => {
            let share = (f64::from(first) / f64::from(packets)).min(1.0);
            (packets / groups.len().max(1) as u32, share)
        }
        (0, _) => return Vec::new(),
        (degraded, _) => {
            let (probe, enough) = FIRST_PROBE;
            // A degraded path brings fewer than enough, half of that on average.
            let brings = 0.5 * f64::from(enough) / f64::from(probe);
            let is_degraded = (f64::from(degraded) / count).min(1.0);
            (probe, 1.0 - is_degraded * (1.0 - brings))
        }
    };
    let received = (f64::from(sent) * share.powf(1.0 / hops.max(1.0))).round() as u32;
    let alone = |stage: usize, group: Group| match stage {
        0 => Some(plan.source),
        _ if stage == plan.hops => Some(plan.sink),
        _ => {
            let mut here = plan.relays(stage, group);
            let one = here.next();
            one.filter(|_| here.next().is_none())
        }
    };
    let is_stood_by = |stage: usize, group: Group| {
        let at = stage
            .checked_sub(1)
            .and_then(|at| plan.backup_relays.get(at));
        fetched.degraded_paths == 0 && at.into_iter().flatten().any(|m| m.group == group)
    };
    let mut observations = Vec::new();
    for group in groups {
        for stage in 1..=plan.hops {
            let ends = (alone(stage - 1, group), alone(stage, group));
            let stood_by = [stage - 1, stage].iter().any(|at| is_stood_by(*at, group));
            if let ((Some(from), Some(to)), Some(channel), false) =
                (ends, plan.channel(stage, group), stood_by)
            {
                observations.push(HopObservation {
                    from,
                    to,
                    channel,
                    sent,
                    received,
                    at,
                });
            }
        }
    }
    observations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link_state::{LinkState, Place};
    use crate::transfer::reroute::BadHop;
    use thalweg_planner::{plan, Backups, RelayOrder, RouteRequest};
    use thalweg_units::{ChannelSet, NodeId};

    const DAY: Duration = Duration::from_secs(86_400);

    /// Ten nodes in two rows: each hears those of the next column well, and nobody else.
    fn links() -> LinkQualities {
        let mut links = LinkQualities::new(10);
        let column = |node: usize| node.div_ceil(2);
        for (a, b) in (0..100).map(|pair| (pair / 10, pair % 10)) {
            for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
                if column(a).abs_diff(column(b)) == 1 {
                    (links.record(a, b, channel, 10, 10, Some(Dbm(-75.0)))).unwrap();
                }
            }
        }
        links
    }

    fn ids() -> Vec<NodeId> {
        (1..=10).map(|id| NodeId::new(id).unwrap()).collect()
    }

    fn link_state() -> LinkState {
        let place = Place {
            name: "rows".to_owned(),
            ids: ids(),
            channels: ChannelSet::ALL,
            order: RelayOrder::Random,
            floor: Dbm(-95.5),
            timing: None,
        };
        let draw = (drawn as super::super::Draw, 1);
        LinkState::new(place, links(), 0, None, draw)
    }

    /// A stream for each seed.
    fn drawn(seed: u64, _: &str, _: &[u64]) -> rand_pcg::Pcg64Mcg {
        rand_pcg::Pcg64Mcg::new(u128::from(seed))
    }

    fn lean(backups: Backups) -> Plan {
        let request = RouteRequest {
            backups,
            ..RouteRequest::planned(9, 0)
        };
        plan(&links(), &request, &mut rand_pcg::Pcg64Mcg::new(1)).unwrap()
    }

    fn fetched(degraded_paths: u32, first_round: Option<u16>) -> Fetched {
        Fetched {
            segment: None,
            bad_hops: Vec::new(),
            complete: None,
            duration: Duration::ZERO,
            waited: Duration::ZERO,
            wake_up: Duration::ZERO,
            round: 1,
            first_round,
            attempts: 1,
            degraded_paths,
            participants: 2,
            joules: None,
            network_joules: None,
            failure: None,
        }
    }

    #[test]
    fn a_plan_tells_how_old_its_links_are() {
        let then = NetworkTime::ZERO + DAY;
        let link_state = link_state();
        assert_eq!((link_state.age(), link_state.measured()), (None, None));
        let link_state = link_state.measured_at(then);
        assert_eq!(link_state.age(), Some(Duration::ZERO));
        assert_eq!(link_state.as_of(then + DAY).age(), Some(DAY));
        assert_eq!(link_state.as_of(then + DAY).measured(), Some(then));
    }

    #[test]
    fn what_transfers_saw_refreshes_the_picture_and_outlives_a_survey() {
        let (then, on) = (NetworkTime::ZERO + DAY, Channel::new(20).unwrap());
        let mut link_state = link_state().measured_at(then);
        let hop = HopObservation {
            from: 9,
            to: 7,
            channel: on,
            sent: 250,
            received: 20,
            at: then + DAY,
        };
        link_state.observe(&[hop]);
        let weaker = |link_state: &LinkState| {
            let now = link_state.as_of(then + DAY);
            let level = |links: &LinkQualities| links.rssi(9, 7, on).unwrap().0;
            level(&links()) - level(now.links())
        };
        assert!(weaker(&link_state) > 3.0, "{}", weaker(&link_state));
        let earlier = vec![PastSurvey {
            links: links(),
            at: then,
        }];
        let later = super::tests::link_state().with_history(earlier, then + DAY);
        assert!(weaker(&later).abs() < 0.2, "{}", weaker(&later));
        assert!(weaker(&later.with_observations_of(&link_state)) > 2.0);
    }

    #[test]
    fn whole_groups_confirm_their_hops_and_degraded_ones_are_suspect() {
        let plan = lean(Backups::None);
        let at = NetworkTime::ZERO;
        let observations = hop_observations((&plan, &ids()), 500, &fetched(0, Some(500)), at);
        assert_eq!(observations.len(), 2 * plan.hops);
        assert!(observations
            .iter()
            .all(|hop| (hop.sent, hop.received) == (250, 250)));
        assert!(observations
            .iter()
            .all(|hop| plan.channels.contains(&hop.channel)));
        let degraded = hop_observations((&plan, &ids()), 500, &fetched(2, Some(500)), at);
        assert!(
            degraded.iter().all(|hop| hop.received < hop.sent),
            "{degraded:?}"
        );
        assert!(hop_observations((&plan, &ids()), 500, &fetched(0, None), at).is_empty());
        let [from, to] = [9, 7].map(|n| ids()[n]);
        let mut counted = fetched(1, Some(500));
        counted.bad_hops = vec![BadHop {
            from,
            to,
            stage: 1,
            group: "odd",
            channel: plan.channels[1],
            came: 1,
            of: 8,
        }];
        let observations = hop_observations((&plan, &ids()), 500, &counted, at);
        let observations: Vec<_> = (observations.iter())
            .map(|hop| (hop.from, hop.to, hop.sent, hop.received))
            .collect();
        assert_eq!(observations, [(9, 7, 8, 1)]);
    }

    #[test]
    fn who_stands_by_leaves_it_open_who_sent() {
        let mut plan = lean(Backups::None);
        plan.backup_relays = plan.stages.clone();
        let observations = hop_observations(
            (&plan, &ids()),
            500,
            &fetched(0, Some(500)),
            NetworkTime::ZERO,
        );
        assert!(observations.is_empty(), "{observations:?}");
    }
}
