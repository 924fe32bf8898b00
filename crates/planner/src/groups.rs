//! Which relays forward odd packets and which even ones (P3, section IV-C3), extra relays, and senders to the sink.
//!
//! Works on a draft of the plan: the stages between source and sink with each relay's group. Invariant: the
//! groups' path counts differ by at most one, and so do their sizes per stage until
//! the last stage is thinned. Nothing here draws but the random halves. Tests: tests/all/plans.rs.

use crate::interference::{Layout, Stages};
use crate::link_model::Expected;
use crate::predict::both_ways;
use crate::topology::Topology;
use rand::seq::SliceRandom;
use rand::Rng;
use thalweg_units::Channel;

/// Which packets a relay receives and forwards: those that the source sent in odd or in even cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Packets of odd cycles; the larger group where the number of paths is odd.
    Odd,
    /// Packets of even cycles.
    Even,
}

impl Group {
    /// Both groups, in order.
    pub const BOTH: [Self; 2] = [Self::Odd, Self::Even];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Odd => "odd",
            Self::Even => "even",
        }
    }
}

/// A relay of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The relay.
    pub node: usize,
    /// Its packets.
    pub group: Group,
    /// The path it came from, an index into the plan's paths; none for an extra relay.
    pub path: Option<usize>,
}

/// Least probability that the logarithm in a plan's worth sees, so that one dead half does not hide all else.
const FLOOR: f64 = 1e-4;
/// Weight of the reverse pipeline, which carries a few control frames only.
const REVERSE_WEIGHT: f64 = 0.05;
/// Sweeps over all stages in which swaps are sought.
const SWEEPS: usize = 6;
/// Up to this many paths every split into halves is looked at.
const ALL_SPLITS: usize = 10;

/// Assigns each of `paths` paths to a group, half and half by chance.
pub(crate) fn random_halves(paths: usize, rng: &mut impl Rng) -> Vec<Group> {
    let mut groups = vec![Group::Even; paths];
    groups[..paths.div_ceil(2)].fill(Group::Odd);
    groups.shuffle(rng);
    groups
}

/// Stages under construction.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) expected: &'a Expected,
    pub(crate) source: usize,
    pub(crate) sink: usize,
    /// Stages 1..H.
    pub(crate) stages: Vec<Vec<Member>>,
}

impl Draft<'_> {
    /// Source, relays of one group, sink, stage by stage.
    pub(crate) fn group(&self, group: Group) -> Stages {
        let relays = self.stages.iter().map(|stage| {
            let own = stage.iter().filter(|m| m.group == group);
            own.map(|m| m.node).collect::<Vec<_>>()
        });
        let (source, sink) = ([vec![self.source]], [vec![self.sink]]);
        source.into_iter().chain(relays).chain(sink).collect()
    }
    /// The groups that have relays, or the bare hop from source to sink.
    pub(crate) fn groups(&self) -> Vec<Stages> {
        let mut groups = Group::BOTH.map(|group| self.group(group)).to_vec();
        groups.retain(|stages| stages.iter().all(|stage| !stage.is_empty()));
        groups.truncate(if self.stages.is_empty() { 1 } else { 2 });
        groups
    }
    fn worth_of(&self, group: Group, channels: &[Channel]) -> f64 {
        let layout = Layout::quiet(self.expected, channels.into());
        let stages = self.group(group);
        let (forward, back) = both_ways(&layout, group as usize, &stages);
        libm::log(forward.end.max(FLOOR)) + REVERSE_WEIGHT * libm::log(back.end.max(FLOOR))
    }
    fn worth(&self, channels: &[Channel]) -> f64 {
        let worth = Group::BOTH.map(|group| self.worth_of(group, channels));
        worth.into_iter().sum()
    }
    /// Fills thin stages up to `least` relays with nodes linked to the stages before and after.
    pub(crate) fn fill_to(&mut self, topology: &Topology, least: usize) {
        let mut taken = vec![false; topology.nodes()];
        let members = self.stages.iter().flatten().map(|member| member.node);
        for node in members.chain([self.source, self.sink]) {
            taken[node] = true;
        }
        let count = self.stages.len();
        for at in 0..count {
            while self.stages[at].len() < least {
                let around = |side: usize| -> Vec<usize> {
                    match side {
                        0 => vec![self.source],
                        side if side > count => vec![self.sink],
                        side => self.stages[side - 1].iter().map(|m| m.node).collect(),
                    }
                };
                let (before, after) = (around(at), around(at + 2));
                let linked = |node: usize, to: &[usize]| {
                    let linked = to.iter().filter(|&&other| topology.linked(node, other));
                    linked.count()
                };
                let best = (0..topology.nodes())
                    .filter(|&node| !taken[node])
                    .map(|node| (linked(node, &before), linked(node, &after), node))
                    .filter(|&(b, a, _)| b > 0 && a > 0)
                    .max_by_key(|&(b, a, node)| (b.min(a), b + a, std::cmp::Reverse(node)));
                let Some((_, _, node)) = best else { break };
                taken[node] = true;
                let stage = &mut self.stages[at];
                let odd = stage.iter().filter(|m| m.group == Group::Odd).count();
                stage.push(Member {
                    node,
                    group: Group::BOTH[usize::from(odd * 2 > stage.len())],
                    path: None,
                });
            }
        }
    }
    /// Regroups for the best predicted delivery: the best split of the paths if there are few enough,
    /// then swaps of an odd and an even relay within a stage as long as one helps. Sizes stay.
    pub(crate) fn balance(&mut self, paths: usize, channels: &[Channel]) {
        let mut best = self.worth(channels);
        if (2..=ALL_SPLITS).contains(&paths) {
            for mask in 0u32..1 << paths {
                // Of two mirrored splits only one; of odd numbers the larger half is odd.
                let mirrored = paths % 2 == 0 && mask & 1 == 0;
                if mask.count_ones() as usize != paths.div_ceil(2) || mirrored {
                    continue;
                }
                let mut trial = self.clone();
                for member in trial.stages.iter_mut().flatten() {
                    if let Some(path) = member.path {
                        member.group = Group::BOTH[usize::from(mask >> path & 1 == 0)];
                    }
                }
                let worth = trial.worth(channels);
                if worth > best + 1e-9 {
                    best = worth;
                    *self = trial;
                }
            }
        }
        for _ in 0..SWEEPS {
            let before = best;
            for stage in 0..self.stages.len() {
                for a in 0..self.stages[stage].len() {
                    for b in 0..a {
                        let (one, other) =
                            (self.stages[stage][a].group, self.stages[stage][b].group);
                        if one == other {
                            continue;
                        }
                        self.stages[stage][a].group = other;
                        self.stages[stage][b].group = one;
                        let worth = self.worth(channels);
                        if worth > best + 1e-9 {
                            best = worth;
                        } else {
                            self.stages[stage][a].group = one;
                            self.stages[stage][b].group = other;
                        }
                    }
                }
            }
            if best <= before + 1e-9 {
                break;
            }
        }
    }
    /// Leaves out relays of the last stage, one by one, as long as that improves predicted delivery; each
    /// group keeps at least one.
    pub(crate) fn thin_last_stage(&mut self, channels: &[Channel]) {
        for group in Group::BOTH {
            loop {
                let Some(last) = self.stages.last() else {
                    return;
                };
                let speaking: Vec<usize> = (0..last.len())
                    .filter(|&at| last[at].group == group)
                    .collect();
                if speaking.len() < 2 {
                    break;
                }
                let mut best = (self.worth_of(group, channels) + 1e-3, None);
                for at in speaking {
                    let mut trial = self.clone();
                    if let Some(stage) = trial.stages.last_mut() {
                        stage.remove(at);
                    }
                    let worth = trial.worth_of(group, channels);
                    if worth > best.0 {
                        best = (worth, Some(trial.stages));
                    }
                }
                match best.1 {
                    Some(stages) => self.stages = stages,
                    None => break,
                }
            }
        }
    }
    /// How good `channel` would be for stage `stage` (0..=H): over the groups, the chance that
    /// somebody receives when everybody before speaks, and the mean receiver's chance; a little
    /// for the reverse direction.
    pub(crate) fn channel_worth(&self, stage: usize, channel: Channel) -> f64 {
        let side = |senders: &[usize], receivers: &[usize]| {
            let each: Vec<f64> = (receivers.iter())
                .map(|&to| self.expected.together(senders, to, channel, 0.0))
                .collect();
            let none: f64 = each.iter().map(|p| 1.0 - p).product();
            let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
            libm::log((1.0 - none).max(FLOOR)) + mean
        };
        let mut worth = 0.0;
        for stages in self.groups() {
            if stage > 0 {
                worth += side(&stages[stage - 1], &stages[stage]);
            }
            if let Some(after) = stages.get(stage + 1) {
                worth += REVERSE_WEIGHT * side(after, &stages[stage]);
            }
        }
        worth
    }
}
