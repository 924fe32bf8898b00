//! Who is where in a transfer: stages, sub-groups, channels. Tests: `tests.rs`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_planner::{Group as PlanGroup, Plan};
use thalweg_units::Channel;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::Scheme;

/// A sub-group of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubGroup {
    /// Packets of odd cycles.
    Odd,
    /// Packets of even cycles.
    Even,
    /// All packets: there is one group only.
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

/// The nodes of a transfer, by index.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Stages 0..=H, each with its nodes and their groups.
    pub(super) stages: Vec<Vec<(usize, SubGroup)>>,
    pub(super) channels: Vec<Channel>,
    /// The sink's for the even group, where that is another.
    pub(super) last_even: Option<Channel>,
    place: BTreeMap<usize, usize>,
    two: bool,
}

impl Layout {
    pub(super) fn new(plan: &Plan, protocol: Scheme) -> Self {
        let relays: Vec<Vec<(usize, PlanGroup)>> = match protocol {
            Scheme::Pip(_) | Scheme::PipCit => {
                let path = &plan.pip.path;
                let relays = path.get(1..path.len().saturating_sub(1));
                let relays = relays.unwrap_or_default().iter();
                relays.map(|n| vec![(*n, PlanGroup::Odd)]).collect()
            }
            Scheme::P3 | Scheme::Thalweg => {
                // Reserves may take part too.
                let stage = |(at, s): (usize, &Vec<thalweg_planner::Member>)| {
                    let reserves = [plan.standing_by.get(at), plan.spares.get(at)];
                    let reserves = reserves.into_iter().flatten().flatten();
                    s.iter()
                        .chain(reserves)
                        .map(|m| (m.node, m.group))
                        .collect()
                };
                plan.stages.iter().enumerate().map(stage).collect()
            }
        };
        // As the nodes themselves decide: see `Route::groups`.
        let has_both = |stage: &Vec<(usize, PlanGroup)>| {
            PlanGroup::BOTH
                .iter()
                .all(|g| stage.iter().any(|(_, of)| of == g))
        };
        let two = protocol.has_groups() && relays.iter().all(has_both);
        let mut stages = vec![vec![(plan.source, SubGroup::All)]];
        stages.extend(relays.iter().map(|stage| {
            let group = |of: PlanGroup| match (two, of) {
                (false, _) => SubGroup::All,
                (true, PlanGroup::Odd) => SubGroup::Odd,
                (true, PlanGroup::Even) => SubGroup::Even,
            };
            stage.iter().map(|(n, of)| (*n, group(*of))).collect()
        }));
        stages.push(vec![(plan.sink, SubGroup::All)]);
        let place = (stages.iter().enumerate())
            .flat_map(|(at, stage)| stage.iter().map(move |(n, _)| (*n, at)))
            .collect();
        let channels = plan.channels.clone();
        Self {
            stages,
            channels,
            last_even: plan.last_even.filter(|_| protocol == Scheme::Thalweg),
            place,
            two,
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
        match (self.two, of) {
            (false, _) => SubGroup::All,
            (true, Group::Odd) => SubGroup::Odd,
            (true, Group::Even) => SubGroup::Even,
        }
    }
    pub(super) fn groups(&self) -> &'static [SubGroup] {
        match self.two {
            true => &[SubGroup::Odd, SubGroup::Even],
            false => &[SubGroup::All],
        }
    }
    /// The nodes of a stage that handle packets of `group`.
    pub(super) fn members(
        &self,
        stage: usize,
        group: SubGroup,
    ) -> impl Iterator<Item = usize> + '_ {
        let members = self.stages.get(stage).into_iter().flatten();
        let is_in = move |of: &SubGroup| *of == group || *of == SubGroup::All;
        members.filter(move |(_, of)| is_in(of)).map(|(n, _)| *n)
    }
    /// Everyone.
    pub(super) fn nodes(&self) -> Vec<usize> {
        self.place.keys().copied().collect()
    }
}
