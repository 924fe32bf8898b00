//! The route of a pipeline transfer, and the next one where it breaks off.
//!
//! The sink's report of an attempt shows which hops are bad and which are good; the next route is planned by it.
//! Where lean chains break off again and again, a route over many paths is tried. Invariants: only Thalweg is
//! rerouted, which keeps the packets that have arrived; the last route of each `TURNS` is not probed, so that it
//! does not end for being bad. Tests: `reroute_tests.rs`, `crates/simnet/tests/all/robustness/own.rs`.

use super::terms::{RoutePlan, TransferTerms};
use crate::job::Failure;
use thalweg_planner::{Evidence, Hop, Plan};
use thalweg_protocols::pipeline::{Chain, End};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::pipeline::{Counts, Group};
use thalweg_wire::route::{Groups, Member, Probe, Progress, Route, Scheme};

/// Attempts from one over many paths, which is not ended for being bad, to the next. A group that loses half costs
/// seconds, and replanned routes are mostly good, so several of them come first.
pub(crate) const TURNS: u32 = 8;
/// A hop that loses one packet in so many, or more, is a bad one.
const BAD: u32 = 4;

/// Whether an attempt is the last of its [`TURNS`].
const fn is_last(attempt: u32) -> bool {
    attempt % TURNS == TURNS - 1
}

/// A hop that lost too much, as relays counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct BadHop {
    /// Who sent.
    #[serde(serialize_with = "address")]
    pub from: NodeId,
    /// Who was to receive.
    #[serde(serialize_with = "address")]
    pub to: NodeId,
    /// The stage of who was to receive; the first hop leads to stage 1.
    pub stage: u8,
    /// Of whose group: `odd` or `even`.
    pub group: &'static str,
    /// On which channel.
    #[serde(serialize_with = "number")]
    pub channel: Channel,
    /// Packets that arrived.
    pub came: u32,
    /// Packets that were sent.
    pub of: u32,
}

fn address<S: serde::Serializer>(node: &NodeId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(node.get())
}
fn number<S: serde::Serializer>(channel: &Channel, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(channel.number())
}

/// A sink's report of an attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttemptReport {
    /// It heard something: packets, or a request.
    pub(crate) heard: bool,
    /// How it ended.
    pub(crate) end: Option<End>,
    /// Chains that brought too little.
    pub(crate) degraded: Vec<(Group, Chain)>,
    /// One of them in the last round.
    pub(crate) is_degraded: bool,
    /// The counts of planned chains, stage by stage.
    pub(crate) counted: Vec<(Group, Counts)>,
}

/// The routes of a transfer, one after the other.
#[derive(Debug, Clone)]
pub struct Reroute {
    current: RoutePlan,
    attempt: u32,
    replanner: Option<Replanner>,
}

/// Plans another route.
#[derive(Debug, Clone)]
struct Replanner {
    plan: Plan,
    scheme: Scheme,
    terms: TransferTerms,
    ids: Vec<NodeId>,
    evidence: Evidence,
}

impl From<RoutePlan> for Reroute {
    /// This route, and no other.
    fn from(current: RoutePlan) -> Self {
        Self {
            current,
            attempt: 0,
            replanner: None,
        }
    }
}

impl Reroute {
    /// The route of `plan` for nodes called `ids`, and those that replace it where it fails.
    ///
    /// # Errors
    /// [`Failure::Unfit`], as [`super::terms::route`].
    pub fn of(
        plan: &Plan,
        scheme: Scheme,
        terms: &TransferTerms,
        ids: &[NodeId],
    ) -> Result<Self, Failure> {
        let replanner = (scheme == Scheme::Thalweg).then(|| Replanner {
            plan: plan.clone(),
            scheme,
            terms: *terms,
            ids: ids.to_vec(),
            evidence: Evidence::default(),
        });
        let route_plan = RoutePlan::of(plan, scheme, terms, ids)?;
        let mut reroute = Self {
            replanner,
            ..Self::from(route_plan)
        };
        reroute.probe();
        Ok(reroute)
    }

    /// The route of the next attempt.
    pub const fn current(&self) -> &RoutePlan {
        &self.current
    }

    /// Has an attempt probe its chains, and end where one is degraded, as long as there is another route.
    fn probe(&mut self) {
        let route = &mut self.current.route;
        let ends = self.replanner.is_some() && !is_last(self.attempt);
        route.probe = match route.groups() == Groups::Two && ends {
            true => Probe::First,
            false => Probe::None,
        };
        // Only NACKs of an attempt that probes name the channel of a group.
        if route.probe == Probe::None {
            route.last_even = None;
        }
    }

    /// The next attempt takes the same route, to a sink that has lost its packets.
    pub(crate) fn repeat(&mut self) {
        self.current.route.progress = Progress::Fresh;
    }

    /// Moves on to another route after an attempt that broke off; received packets stay. Returns the hops that were
    /// bad.
    pub(crate) fn next(&mut self, report: &AttemptReport) -> Vec<BadHop> {
        // Without any packet there is nothing to keep, and the source need not ask what is missing.
        if self.current.route.scheme == Scheme::Thalweg && report.heard {
            self.current.route.progress = Progress::Kept;
        }
        let progress = self.current.route.progress;
        let Some(replanner) = &mut self.replanner else {
            return Vec::new();
        };
        let bad = replanner.note_attempt(&self.current.route, report);
        // Backup relays sleep for a while after a probe that went well, and miss the end.
        let asleep = match report.is_degraded {
            true => &[][..],
            false => self.current.route.backup_relays(),
        };
        let asleep = asleep
            .iter()
            .filter_map(|member| replanner.index(member.node));
        let asleep = asleep.collect();
        replanner.evidence.exclude(asleep);
        self.attempt += 1;
        if let Some(route_plan) = replanner.route_plan(self.attempt) {
            self.current = route_plan;
            self.current.route.progress = progress;
        }
        self.probe();
        bad
    }
}

impl Replanner {
    /// The route of attempt `attempt`, if there is one.
    fn route_plan(&self, attempt: u32) -> Option<RoutePlan> {
        let fits = |plan: &Plan| RoutePlan::of(plan, self.scheme, &self.terms, &self.ids).ok();
        let anew = || {
            self.plan
                .replan(&self.evidence)
                .and_then(|plan| fits(&plan))
        };
        let paths = || self.plan.others.iter().find_map(fits);
        match is_last(attempt) {
            true => paths().or_else(anew),
            false => anew().or_else(paths),
        }
    }

    /// Adds what relays counted to the evidence; returns the hops that were bad, and which groups had one.
    fn note_counts(&mut self, route: &Route, report: &AttemptReport) -> (Vec<BadHop>, [bool; 2]) {
        let mut bad = Vec::new();
        let mut has_bad = [false; 2];
        for (group, counts) in &report.counted {
            let hops = self.hops(route, *group, Chain::Planned);
            let pairs = counts.stages().windows(2);
            for (stage, (hop, pair)) in (1..).zip(hops.iter().zip(pairs)) {
                let (of, came) = (u32::from(pair[0]), u32::from(pair[1]));
                self.evidence.record_hop(*hop, came, of);
                let [from, to] = [hop.from, hop.to].map(|n| self.ids.get(n).copied());
                let is_bad = came + of / BAD < of;
                has_bad[group.index()] |= is_bad;
                if let (Some(from), Some(to), true) = (from, to, is_bad) {
                    bad.push(BadHop {
                        from,
                        to,
                        stage,
                        group: match group {
                            Group::Odd => "odd",
                            Group::Even => "even",
                        },
                        channel: hop.channel,
                        came,
                        of,
                    });
                }
            }
        }
        (bad, has_bad)
    }

    /// Adds the report of an attempt on `route` to the evidence; returns the hops that were bad.
    fn note_attempt(&mut self, route: &Route, report: &AttemptReport) -> Vec<BadHop> {
        let (bad, has_bad) = self.note_counts(route, report);
        let chain = |group, chain| self.hops(route, group, chain);
        let mut degraded = Vec::new();
        for (group, of) in &report.degraded {
            // Where relays counted a bad hop, that hop is to blame, not the chain.
            if *of == Chain::Alternate || !has_bad[group.index()] {
                degraded.push(chain(*group, *of));
            }
            // Alternate relays send beside the planned chain, which is not reported where they joined from the
            // beginning.
            if *of == Chain::Alternate && !report.degraded.contains(&(*group, Chain::Planned)) {
                degraded.push(chain(*group, Chain::Planned));
            }
        }
        let both = [Group::Odd, Group::Even];
        let (source, sink) = (self.index(route.source), self.index(route.sink));
        let mut deaf = Vec::new();
        match report.end {
            // The sink heard nothing, or nothing more.
            Some(End::TimedOut) if !report.is_degraded => {
                if !report.heard {
                    degraded.extend(both.map(|group| chain(group, Chain::Planned)));
                }
                let last = [route.channels.of(route.channels.hops())].into_iter();
                let last = last.chain(route.last_even);
                deaf.extend(last.filter_map(|channel| Some((sink?, channel))));
            }
            // The source asked, and no answer came back over either chain: both end at the source.
            Some(End::Released) if !report.is_degraded => {
                degraded.extend(both.map(|group| self.hops_back(route, group)));
                deaf.extend(source.map(|source| (source, route.channels.of(0))));
            }
            _ => {}
        }
        degraded
            .into_iter()
            .for_each(|chain| self.evidence.suspect(chain));
        for (node, channel) in deaf {
            self.evidence.record_deaf(node, channel);
        }
        bad
    }

    fn index(&self, node: NodeId) -> Option<usize> {
        self.ids.iter().position(|id| *id == node)
    }

    /// The hops back over a group's planned chain.
    fn hops_back(&self, route: &Route, group: Group) -> Vec<Hop> {
        let hops = self.hops(route, group, Chain::Planned);
        let back = hops.iter().zip(0..).map(|(hop, stage)| Hop {
            from: hop.to,
            to: hop.from,
            channel: route.channels.of(stage),
        });
        back.collect()
    }

    /// The hops of a group's chain; none where its relays are not one at each stage.
    fn hops(&self, route: &Route, group: Group, chain: Chain) -> Vec<Hop> {
        let members = match chain {
            Chain::Planned => route.members(),
            Chain::Alternate => route.alternates(),
        };
        let of_group = |member: &&Member| member.group == group;
        let relays = members.iter().filter(of_group).map(|member| member.node);
        let nodes = [route.source].into_iter().chain(relays).chain([route.sink]);
        let nodes: Option<Vec<usize>> = nodes.map(|node| self.index(node)).collect();
        let nodes = nodes.filter(|nodes| nodes.len() == usize::from(route.channels.hops()) + 1);
        let nodes = nodes.unwrap_or_default();
        let hops = nodes.windows(2).zip(1..);
        hops.map(|(pair, stage)| Hop {
            from: pair[0],
            to: pair[1],
            channel: route.channels_of(group).of(stage),
        })
        .collect()
    }
}

#[cfg(test)]
#[path = "reroute_tests.rs"]
mod tests;
