//! Which way a transfer over a pipeline takes, and which next where it breaks off.
//!
//! What the sink told of an attempt says which hops are bad and which are good; the next way is planned by it. Where lean
//! chains broke off again and again, many paths are tried. Invariants: another way is taken by Thalweg alone, which keeps
//! what has arrived; the last of a turn is not probed at, so that it does not end for being bad. Tests: at the end,
//! `crates/simnet/tests/all/robustness/own.rs`.

use super::terms::{RoutePlan, Terms};
use crate::job::Failure;
use thalweg_planner::{Evidence, Hop, Plan};
use thalweg_protocols::pipeline::{Chain, End};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::pipeline::{Counts, Group};
use thalweg_wire::route::{Groups, Member, Probe, Progress, Route, Scheme};

/// Turns from one over many paths, at which nothing ends for being bad, to the next. A group that loses half costs seconds, and
/// ways made anew are mostly good: there are several of them before.
pub(crate) const TURNS: u32 = 8;
/// A hop that loses one packet in so many, or more, is a bad one.
const BAD: u32 = 4;

/// Whether a turn is the last of its [`TURNS`].
const fn is_last(turn: u32) -> bool {
    turn % TURNS == TURNS - 1
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

/// What a sink told of an attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// Anything was heard of it: packets, or a request.
    pub(crate) heard: bool,
    /// How it ended.
    pub(crate) end: Option<End>,
    /// Chains that brought too little.
    pub(crate) degraded: Vec<(Group, Chain)>,
    /// One of them in the last round.
    pub(crate) is_degraded: bool,
    /// What stages of planned chains counted.
    pub(crate) counted: Vec<(Group, Counts)>,
}

/// The ways of a transfer.
#[derive(Debug, Clone)]
pub struct Reroute {
    now: RoutePlan,
    turn: u32,
    again: Option<Again>,
}

/// What another way is planned from.
#[derive(Debug, Clone)]
struct Again {
    plan: Plan,
    scheme: Scheme,
    terms: Terms,
    ids: Vec<NodeId>,
    seen: Evidence,
}

impl From<RoutePlan> for Reroute {
    /// One way, and no other.
    fn from(now: RoutePlan) -> Self {
        Self {
            now,
            turn: 0,
            again: None,
        }
    }
}

impl Reroute {
    /// The way of `plan` for nodes called `ids`, and those that are made of it where it fails.
    ///
    /// # Errors
    /// [`Failure::Unfit`], as [`super::terms::route`].
    pub fn of(plan: &Plan, scheme: Scheme, terms: &Terms, ids: &[NodeId]) -> Result<Self, Failure> {
        let again = (scheme == Scheme::Thalweg).then(|| Again {
            plan: plan.clone(),
            scheme,
            terms: *terms,
            ids: ids.to_vec(),
            seen: Evidence::default(),
        });
        let way = RoutePlan::of(plan, scheme, terms, ids)?;
        let mut ways = Self {
            again,
            ..Self::from(way)
        };
        ways.probe();
        Ok(ways)
    }

    /// The way of the next attempt.
    pub const fn now(&self) -> &RoutePlan {
        &self.now
    }

    /// Has an attempt probe at its chains, and end where one is degraded, as long as there is another way.
    fn probe(&mut self) {
        let route = &mut self.now.route;
        let ends = self.again.is_some() && !is_last(self.turn);
        route.probe = match route.groups() == Groups::Two && ends {
            true => Probe::First,
            false => Probe::None,
        };
        // Only NACKs of one that probes say by which of them a group comes.
        if route.probe == Probe::None {
            route.last_even = None;
        }
    }

    /// Has the next attempt be on the same way, to a sink that has nothing any more.
    pub(crate) fn repeat(&mut self) {
        self.now.route.progress = Progress::Fresh;
    }

    /// After an attempt that broke off: another way that keeps what is there. Gives the hops that were bad.
    pub(crate) fn next(&mut self, told: &Told) -> Vec<BadHop> {
        // Where nothing has ever been heard there is nothing to keep, and the source need not ask what is missing.
        if self.now.route.scheme == Scheme::Thalweg && told.heard {
            self.now.route.progress = Progress::Kept;
        }
        let progress = self.now.route.progress;
        let Some(again) = &mut self.again else {
            return Vec::new();
        };
        let bad = again.see(&self.now.route, told);
        // Those that stood by sleep for a while after a probe that went well, and do not hear that it is over.
        let asleep = match told.is_degraded {
            true => &[][..],
            false => self.now.route.backup_relays(),
        };
        let asleep = asleep.iter().filter_map(|member| again.index(member.node));
        let asleep = asleep.collect();
        again.seen.exclude(asleep);
        self.turn += 1;
        if let Some(way) = again.way(self.turn) {
            self.now = way;
            self.now.route.progress = progress;
        }
        self.probe();
        bad
    }
}

impl Again {
    /// The way of turn `turn`; none where there is none.
    fn way(&self, turn: u32) -> Option<RoutePlan> {
        let fits = |plan: &Plan| RoutePlan::of(plan, self.scheme, &self.terms, &self.ids).ok();
        let anew = || self.plan.replan(&self.seen).and_then(|plan| fits(&plan));
        let paths = || self.plan.others.iter().find_map(fits);
        match is_last(turn) {
            true => paths().or_else(anew),
            false => anew().or_else(paths),
        }
    }

    /// Takes in what was told of an attempt on `route`; gives the hops that were bad.
    fn see(&mut self, route: &Route, told: &Told) -> Vec<BadHop> {
        let mut bad = Vec::new();
        let mut has_bad = [false; 2];
        for (group, counts) in &told.counted {
            let hops = self.hops(route, *group, Chain::Planned);
            let pairs = counts.stages().windows(2);
            for (stage, (hop, pair)) in (1..).zip(hops.iter().zip(pairs)) {
                let (of, came) = (u32::from(pair[0]), u32::from(pair[1]));
                self.seen.record_hop(*hop, came, of);
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
        let chain = |group, chain| self.hops(route, group, chain);
        let mut degraded = Vec::new();
        for (group, of) in &told.degraded {
            // Where relays told of a bad hop, it is known which it was.
            if *of == Chain::Alternate || !has_bad[group.index()] {
                degraded.push(chain(*group, *of));
            }
            // alternate relays send beside the others, of which nobody told where these had called from the beginning.
            if *of == Chain::Alternate && !told.degraded.contains(&(*group, Chain::Planned)) {
                degraded.push(chain(*group, Chain::Planned));
            }
        }
        let both = [Group::Odd, Group::Even];
        let (source, sink) = (self.index(route.source), self.index(route.sink));
        let mut deaf = Vec::new();
        match told.end {
            // The sink heard nothing of it, or nothing any more.
            Some(End::TimedOut) if !told.is_degraded => {
                if !told.heard {
                    degraded.extend(both.map(|group| chain(group, Chain::Planned)));
                }
                let last = [route.channels.of(route.channels.hops())].into_iter();
                let last = last.chain(route.last_even);
                deaf.extend(last.filter_map(|channel| Some((sink?, channel))));
            }
            // It was asked, and no answer came through by either way back: both end at the source.
            Some(End::Released) if !told.is_degraded => {
                degraded.extend(both.map(|group| self.hops_back(route, group)));
                deaf.extend(source.map(|source| (source, route.channels.of(0))));
            }
            _ => {}
        }
        degraded
            .into_iter()
            .for_each(|chain| self.seen.suspect(chain));
        for (node, channel) in deaf {
            self.seen.record_deaf(node, channel);
        }
        bad
    }

    fn index(&self, node: NodeId) -> Option<usize> {
        self.ids.iter().position(|id| *id == node)
    }

    /// The hops of the way back over a group's planned chain.
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
mod tests {
    use super::*;
    use thalweg_planner::{plan, Backups, LinkQualities, RouteRequest};
    use thalweg_units::Dbm;

    /// Of each of two stages.
    const RELAYS: usize = 8;
    const SINK: usize = 2 * RELAYS + 1;

    fn ids() -> Vec<NodeId> {
        let ids = (0..=SINK as u16).filter_map(|n| NodeId::new(100 + n).ok());
        ids.collect()
    }

    /// Three hops: every node hears those of the stages beside its own, and of its own.
    fn ways() -> Reroute {
        let stage = |node: usize| match node {
            0 => 0,
            SINK => 3,
            node => 1 + (node - 1) / RELAYS,
        };
        let mut links = LinkQualities::new(SINK + 1);
        for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
            for (from, to) in (0..=SINK).flat_map(|a| (0..=SINK).map(move |b| (a, b))) {
                if from != to && stage(from).abs_diff(stage(to)) <= 1 {
                    let rssi = Some(Dbm(-60.0 - ((3 * from + 5 * to) % 7) as f64));
                    (links.record(from, to, channel, 10, 10, rssi)).unwrap();
                }
            }
        }
        let request = RouteRequest {
            backups: Backups::Relays,
            ..RouteRequest::planned(0, SINK)
        };
        let mut rng = rand_pcg::Pcg64Mcg::new(7);
        let plan = plan(&links, &request, &mut rng).unwrap();
        Reroute::of(&plan, Scheme::Thalweg, &Terms::default().slim(), &ids()).unwrap()
    }

    fn relays(ways: &Reroute, group: Group) -> Vec<NodeId> {
        let members = ways.now().route.members().iter();
        let of_group = members.filter(|member| member.group == group);
        of_group.map(|member| member.node).collect()
    }
    fn told(degraded: &[(Group, Chain)], counted: &[(Group, &[u8])]) -> Told {
        let counts = |(group, counts): &(Group, &[u8])| (*group, Counts::new(counts).unwrap());
        Told {
            heard: true,
            end: Some(End::Released),
            degraded: degraded.to_vec(),
            is_degraded: !degraded.is_empty(),
            counted: counted.iter().map(counts).collect(),
        }
    }

    #[test]
    fn the_next_way_leaves_out_the_hop_that_relays_counted_as_bad() {
        let mut ways = ways();
        assert_eq!(ways.now().route.probe, Probe::First);
        assert_eq!(ways.now().route.progress, Progress::Fresh);
        let before = relays(&ways, Group::Odd);
        let counted: [(Group, &[u8]); 2] = [(Group::Odd, &[8, 8, 1, 1]), (Group::Even, &[8; 4])];
        let bad = ways.next(&told(&[(Group::Odd, Chain::Planned)], &counted));
        let [bad] = &bad[..] else { panic!("{bad:?}") };
        assert_eq!((bad.stage, bad.group, bad.came, bad.of), (2, "odd", 1, 8));
        assert_eq!([bad.from, bad.to], before[..2]);
        let is_same = |group| {
            let pair = relays(&ways, group);
            pair[..2] == before[..2] && ways.now().route.channels.of(2) == bad.channel
        };
        assert!(![Group::Odd, Group::Even].into_iter().any(is_same));
        assert_eq!(ways.now().route.progress, Progress::Kept);
    }

    #[test]
    fn a_chain_that_was_good_when_it_was_counted_and_is_degraded_later_is_not_taken_again() {
        let chain = |ways: &Reroute, group| {
            let channels = ways.now().route.channels_of(group);
            (
                relays(ways, group),
                (1..=3).map(|k| channels.of(k)).collect::<Vec<_>>(),
            )
        };
        let mut ways = ways();
        let before = chain(&ways, Group::Odd);
        let counted: [(Group, &[u8]); 2] = [(Group::Odd, &[8; 4]), (Group::Even, &[8; 4])];
        let bad = ways.next(&told(&[(Group::Odd, Chain::Planned)], &counted));
        assert_eq!(bad, []);
        for group in [Group::Odd, Group::Even] {
            assert_ne!(chain(&ways, group), before);
        }
    }

    #[test]
    fn a_degraded_spare_chain_is_not_taken_and_a_source_that_was_deaf_gets_another_channel() {
        let mut ways = ways();
        let alternates: Vec<_> = ways.now().route.alternates().to_vec();
        let alternate: Vec<_> = alternates
            .iter()
            .filter(|m| m.group == Group::Even)
            .collect();
        let alternate: Vec<_> = alternate.iter().map(|m| m.node).collect();
        ways.next(&told(&[(Group::Even, Chain::Alternate)], &[]));
        for group in [Group::Odd, Group::Even] {
            assert_ne!(relays(&ways, group), alternate);
        }
        let mut ways = self::ways();
        let before = ways.now().route.channels.of(0);
        ways.next(&told(&[], &[]));
        assert_ne!(ways.now().route.channels.of(0), before);
    }

    #[test]
    fn a_sink_that_fell_silent_gets_another_channel_and_a_silent_source_another_way() {
        let mut ways = ways();
        let last = |ways: &Reroute| ways.now().route.channels.of(3);
        let before = last(&ways);
        let silent = |heard| Told {
            heard,
            end: Some(End::TimedOut),
            ..Told::default()
        };
        ways.next(&silent(true));
        assert_ne!(last(&ways), before);
        let route = ways.now().route;
        ways.next(&silent(false));
        assert_ne!(ways.now().route, route);
    }

    #[test]
    fn now_and_then_many_paths_are_tried_and_a_way_that_does_not_end_for_being_bad() {
        let mut ways = ways();
        let mut turns = Vec::new();
        for _ in 0..2 * TURNS {
            let route = &ways.now().route;
            turns.push((route.members().len() > 4, route.probe));
            ways.next(&told(&[(Group::Odd, Chain::Planned)], &[]));
        }
        let mut once = [(false, Probe::First); TURNS as usize];
        once[TURNS as usize - 1] = (true, Probe::None);
        assert_eq!(turns, [once, once].concat());
    }

    #[test]
    fn other_schemes_have_one_way() {
        let mut ways = Reroute::from(ways().now().clone());
        let route = ways.now().route;
        assert!(ways.next(&told(&[], &[])).is_empty());
        assert_eq!(ways.now().route.channels, route.channels);
    }
}
