//! The stages, sub-groups and channels of a transfer's route. Tests: `tests.rs`.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Groups, Route};

/// A sub-group of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubGroup {
    /// Packets of odd cycles.
    Odd,
    /// Packets of even cycles.
    Even,
    /// All packets: there is one group only. Of control frames also those that both groups carry.
    All,
}

impl SubGroup {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Odd => "odd",
            Self::Even => "even",
            Self::All => "all",
        }
    }
}

/// What a node is on a route for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It is source, relay or sink.
    #[default]
    Planned,
    /// It stands by for one that fails.
    StandsBy,
}

impl Part {
    /// Whether it is a planned node's.
    pub(super) fn is_planned(&self) -> bool {
        *self == Self::Planned
    }
}

/// What a frame's group means where there are `groups`.
const fn group_of(groups: Groups, of: Group) -> SubGroup {
    match (groups, of) {
        (Groups::One, _) => SubGroup::All,
        (Groups::Two, Group::Odd) => SubGroup::Odd,
        (Groups::Two, Group::Even) => SubGroup::Even,
    }
}

/// The nodes of a route, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Stages 0..=H, each with its nodes and their groups.
    pub(super) stages: Vec<Vec<(usize, SubGroup)>>,
    pub(super) channels: Vec<Channel>,
    /// The sink's for the even group, where that is another.
    pub(super) last_even: Option<Channel>,
    place: BTreeMap<usize, usize>,
    /// Those that stand by.
    backups: BTreeSet<usize>,
    groups: Groups,
}

impl Layout {
    /// That of `route` among nodes `ids`. Backups count, since they may take part.
    pub(super) fn new(route: &Route, ids: &[NodeId]) -> Self {
        let index = |node: NodeId| ids.iter().position(|id| *id == node);
        let groups = route.groups();
        let end = |node: NodeId| -> Vec<_> {
            let index = index(node).into_iter();
            index.map(|n| (n, SubGroup::All)).collect()
        };
        let hops = route.channels.hops();
        let relays = |stage: u8| -> Vec<_> {
            let all = [route.members(), route.backup_relays(), route.alternates()];
            let all = all.into_iter().flatten().filter(|m| m.stage == stage);
            all.filter_map(|m| Some((index(m.node)?, group_of(groups, m.group))))
                .collect()
        };
        let between = (1..hops).map(relays);
        let stages: Vec<_> = std::iter::once(end(route.source))
            .chain(between)
            .chain([end(route.sink)])
            .collect();
        let place = (stages.iter().enumerate())
            .flat_map(|(at, stage)| stage.iter().map(move |(n, _)| (*n, at)))
            .collect();
        let backups = route.backup_relays().iter().chain(route.alternates());
        Self {
            stages,
            backups: backups.filter_map(|m| index(m.node)).collect(),
            channels: (0..=hops).map(|stage| route.channels.of(stage)).collect(),
            last_even: route.last_even,
            place,
            groups,
        }
    }

    /// What node `n` is there for.
    pub(super) fn part(&self, n: usize) -> Part {
        match self.backups.contains(&n) {
            true => Part::StandsBy,
            false => Part::Planned,
        }
    }
    /// H.
    pub(super) fn hops(&self) -> usize {
        self.stages.len() - 1
    }
    /// On which channel `stage` hears packets of `group`.
    pub(super) fn channel(&self, stage: usize, group: SubGroup) -> Option<Channel> {
        let last = (self.last_even).filter(|_| group == SubGroup::Even && stage == self.hops());
        last.or(self.channels.get(stage).copied())
    }
    pub(super) fn stage_of(&self, node: usize) -> Option<usize> {
        self.place.get(&node).copied()
    }
    /// What a frame's group means here.
    pub(super) fn group(&self, of: Group) -> SubGroup {
        group_of(self.groups, of)
    }
    pub(super) fn groups(&self) -> &'static [SubGroup] {
        match self.groups {
            Groups::Two => &[SubGroup::Odd, SubGroup::Even],
            Groups::One => &[SubGroup::All],
        }
    }
    /// The nodes of a stage that handle packets of `group`.
    pub(super) fn members(
        &self,
        stage: usize,
        group: SubGroup,
    ) -> impl Iterator<Item = usize> + '_ {
        let members = self.stages.get(stage).into_iter().flatten();
        let is_in = move |of: &SubGroup| *of == group || [*of, group].contains(&SubGroup::All);
        members.filter(move |(_, of)| is_in(of)).map(|(n, _)| *n)
    }
    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.place.keys().copied()
    }
}
