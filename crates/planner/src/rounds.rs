//! Rounds of a whole network, an object from every node, and how long batteries last that pay for them.
//!
//! Transfers into one base station follow each other; base stations work at the same time. Energy is that of predictions
//! ([`crate::Prediction::energy_j`]), with what the other nodes spend at rendezvous meanwhile. Not modelled: transfers
//! that are tried again, waits for a rendezvous, and what base stations that work at once lose by each other. Time base:
//! seconds from the first day on. Tests: `rounds_tests.rs`.

use crate::plan::Plan;
use crate::protocol_constants::resting_awake;
use crate::request::Currents;

/// One transfer as a round counts it.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The node that has the object.
    pub source: usize,
    /// The base station.
    pub sink: usize,
    /// Hops of its route.
    pub hops: usize,
    /// How long it takes, in seconds.
    pub time_s: f64,
    /// Who takes part, and what it spends, in joules; each node once.
    pub shares: Vec<(usize, f64)>,
}

impl Load {
    /// The transfer that `plan` predicts; none where it never ends. Backups spend what a node at rendezvous does, and all
    /// others the same.
    pub fn of(plan: &Plan, currents: &Currents) -> Option<Self> {
        let (time_s, energy_j) = (plan.prediction.time_s?, plan.prediction.energy_j?);
        let mut active: Vec<usize> = plan.active_nodes().iter().map(|(node, _)| *node).collect();
        active.sort_unstable();
        active.dedup();
        let backups = plan.backup_relays.iter().chain(&plan.alternates).flatten();
        let mut backups: Vec<usize> = backups.map(|member| member.node).collect();
        backups.sort_unstable();
        backups.dedup();
        backups.retain(|node| active.binary_search(node).is_err());
        let backup_j = currents.listening_w() * resting_awake(plan.hops as u64) * time_s;
        let active_j = (energy_j - backup_j * backups.len() as f64) / active.len() as f64;
        let share = |joules: f64| move |node| (node, joules);
        let shares = (active.into_iter().map(share(active_j)))
            .chain(backups.into_iter().map(share(backup_j)))
            .collect();
        Some(Self {
            source: plan.source,
            sink: plan.sink,
            hops: plan.hops,
            time_s,
            shares,
        })
    }
    fn uses(&self, nodes: &[usize]) -> bool {
        self.shares.iter().any(|(node, _)| nodes.contains(node))
    }
}

/// What a round costs each node, by index.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// How long it takes until the last base station is done, in seconds.
    pub time_s: f64,
    /// What each node spends on transfers that it takes part in, in joules.
    pub transfers_j: Vec<f64>,
    /// What each node spends at rendezvous during the transfers of others, in joules.
    pub resting_j: Vec<f64>,
    /// How many transfers each node takes part in.
    pub takes_part: Vec<usize>,
}

impl Round {
    /// The round of `loads` in a network of so many nodes, whose radios listen with `listening_w` watts.
    pub fn of<'a>(
        nodes: usize,
        loads: impl IntoIterator<Item = &'a Load>,
        listening_w: f64,
    ) -> Self {
        let mut round = Self {
            time_s: 0.0,
            transfers_j: vec![0.0; nodes],
            resting_j: vec![0.0; nodes],
            takes_part: vec![0; nodes],
        };
        let mut busy_s = vec![0.0; nodes];
        let mut by_sink = vec![0.0; nodes];
        let (mut awake_s, mut sum_s) = (0.0, 0.0);
        for load in loads {
            by_sink[load.sink] += load.time_s;
            sum_s += load.time_s;
            awake_s += load.time_s * resting_awake(load.hops as u64);
            for (node, joules) in &load.shares {
                round.transfers_j[*node] += joules;
                round.takes_part[*node] += 1;
                busy_s[*node] += load.time_s;
            }
        }
        round.time_s = by_sink.into_iter().fold(0.0, f64::max);
        if sum_s > 0.0 {
            let watts = listening_w * awake_s / sum_s;
            for (joules, busy_s) in round.resting_j.iter_mut().zip(busy_s) {
                *joules = watts * (round.time_s - busy_s).max(0.0);
            }
        }
        round
    }
    /// What it costs `node`, in joules.
    pub fn node_j(&self, node: usize) -> f64 {
        self.transfers_j[node] + self.resting_j[node]
    }
    /// What it costs all nodes, in joules.
    pub fn energy_j(&self) -> f64 {
        self.transfers_j.iter().chain(&self.resting_j).sum()
    }
}

/// How often a network is emptied, and what nodes have for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duty {
    /// From one round to the next, in seconds.
    pub every_s: f64,
    /// What a new battery holds, in joules.
    pub battery_j: f64,
    /// Power of a node between rounds, in watts.
    pub idle_w: f64,
    /// Time of the survey before a round, in seconds.
    pub survey_s: f64,
    /// What the survey costs each node, in joules.
    pub survey_j: f64,
    /// Power of a radio that listens, in watts.
    pub listening_w: f64,
}

impl Duty {
    /// What `node` spends between rounds, in joules.
    pub fn idle_j(&self, round: &Round) -> f64 {
        self.idle_w * (self.every_s - self.survey_s - round.time_s).max(0.0)
    }
    /// The mean power of `node`, in watts.
    pub fn power_w(&self, round: &Round, node: usize) -> f64 {
        (self.survey_j + round.node_j(node) + self.idle_j(round)) / self.every_s
    }
}

/// When so many nodes are empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    /// How many nodes are empty, at least.
    pub empty: usize,
    /// When, in seconds.
    pub at_s: f64,
    /// Nodes that live and have no route any more.
    pub cut_off: usize,
}

/// How long the batteries of a network last.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// When each node is empty, in seconds; none for a node that has no battery. Those beyond the half that empties first go
    /// on at the power they have then.
    pub empty_s: Vec<Option<f64>>,
    /// The first node, the tenth part and the half.
    pub milestones: [Milestone; 3],
    /// The round of the first day.
    pub first_round: Round,
}

/// Nodes that empty within this share of the time go together: new routes are planned once for all of them.
const TOGETHER: f64 = 0.03;

/// Plans new routes for some sources, which avoid the nodes that are empty: `(sources, empty)`.
pub type Replan<'a> = &'a mut dyn FnMut(&[usize], &[usize]) -> Vec<Option<Load>>;

/// Batteries under way.
struct Course<'a> {
    duty: &'a Duty,
    loads: Vec<Option<Load>>,
    left_j: Vec<f64>,
    living: Vec<usize>,
    empty: Vec<usize>,
    now_s: f64,
    empty_s: Vec<Option<f64>>,
}

impl Course<'_> {
    fn round(&self) -> Round {
        let loads = self.loads.iter().flatten();
        Round::of(self.loads.len(), loads, self.duty.listening_w)
    }
    /// Each living node with the time that it has left, the shortest first.
    fn ends(&self, round: &Round) -> Vec<(usize, f64)> {
        let left = |node: &usize| (*node, self.left_j[*node] / self.duty.power_w(round, *node));
        let mut ends: Vec<(usize, f64)> = self.living.iter().map(left).collect();
        ends.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        ends
    }
    /// Time passes until the next nodes are empty. Sources whose routes used them get new ones.
    fn advance(&mut self, replan: Replan<'_>) {
        let round = self.round();
        let ends = self.ends(&round);
        let Some((_, first_s)) = ends.first().copied() else {
            return;
        };
        let limit_s = first_s + TOGETHER * (self.now_s + first_s);
        let gone = ends.iter().take_while(|(_, at_s)| *at_s <= limit_s);
        let gone: Vec<(usize, f64)> = gone.copied().collect();
        let last_s = gone.last().map_or(first_s, |(_, at_s)| *at_s);
        for node in &self.living {
            self.left_j[*node] -= self.duty.power_w(&round, *node) * last_s;
        }
        for (node, at_s) in &gone {
            self.empty_s[*node] = Some(self.now_s + at_s);
            self.loads[*node] = None;
        }
        self.now_s += last_s;
        let gone: Vec<usize> = gone.into_iter().map(|(node, _)| node).collect();
        self.living.retain(|node| !gone.contains(node));
        self.empty.extend(&gone);
        let broken: Vec<usize> = (self.loads.iter().flatten())
            .filter(|load| load.uses(&gone))
            .map(|load| load.source)
            .collect();
        for (source, load) in broken.iter().zip(replan(&broken, &self.empty)) {
            self.loads[*source] = load;
        }
    }
    fn cut_off(&self) -> usize {
        let has_none = |node: &&usize| self.loads[**node].is_none();
        self.living.iter().filter(has_none).count()
    }
}

/// How long batteries last where every node's object is fetched each round: `loads` by source, on the first day. Nodes of
/// `powered`, the base stations, have no battery. `replan` plans new routes, which avoid empty nodes.
pub fn lifetime(
    loads: Vec<Option<Load>>,
    powered: &[usize],
    duty: &Duty,
    replan: Replan<'_>,
) -> Life {
    let nodes = loads.len();
    let living: Vec<usize> = (0..nodes).filter(|node| !powered.contains(node)).collect();
    let counts = [1, living.len().div_ceil(10), living.len().div_ceil(2)];
    let mut course = Course {
        duty,
        loads,
        left_j: vec![duty.battery_j; nodes],
        living,
        empty: Vec::new(),
        now_s: 0.0,
        empty_s: vec![None; nodes],
    };
    let first_round = course.round();
    let milestones = counts.map(|count| {
        while course.empty.len() < count && !course.living.is_empty() {
            course.advance(replan);
        }
        // Of those that went together, the one that makes up the number.
        let at_s = (course.empty.get(count.saturating_sub(1))).and_then(|n| course.empty_s[*n]);
        Milestone {
            empty: count,
            at_s: at_s.unwrap_or(course.now_s),
            cut_off: course.cut_off(),
        }
    });
    let round = course.round();
    for (node, left_s) in course.ends(&round) {
        course.empty_s[node] = Some(course.now_s + left_s);
    }
    Life {
        empty_s: course.empty_s,
        milestones,
        first_round,
    }
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
