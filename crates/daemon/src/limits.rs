//! Who is left alone at present, and which jobs wait for that: what a window's limits mean for a station's nodes.
//!
//! A node counts by the battery that it told last, and by what it has spent since midnight, UTC. Base stations have
//! mains. Invariant: a job waits only as long as the same reason holds. Time base: wall clock. Tests: `limits_tests.rs`,
//! `crates/daemon/tests/all/limits.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thalweg_units::{BatteryLevel, NodeId};

use thalweg_host::store::{JobId, JobState, StoredJob, Work};

/// What spares nodes and air. What is not limited is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// So many stations of a building are at work at once.
    pub at_most: Option<u32>,
    /// Nodes whose batteries have less are neither source nor relay.
    pub least_battery: Option<BatteryLevel>,
    /// Nor are nodes that have spent so many joules since midnight, UTC.
    pub energy_j_per_day: Option<f64>,
}

impl Limits {
    /// Whether some nodes may have to be left alone.
    pub(super) const fn spares_nodes(&self) -> bool {
        self.least_battery.is_some() || self.energy_j_per_day.is_some()
    }
    /// These, and of `others` what they leave open.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            at_most: self.at_most.or(others.at_most),
            least_battery: self.least_battery.or(others.least_battery),
            energy_j_per_day: self.energy_j_per_day.or(others.energy_j_per_day),
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(most) = self.at_most {
            write!(to, ", at most {most} stations at a time")?;
        }
        if let Some(least) = self.least_battery {
            write!(to, ", nodes from {least} on")?;
        }
        if let Some(most) = self.energy_j_per_day {
            write!(to, ", at most {most} J per node and day")?;
        }
        Ok(())
    }
}

/// What is known of a station's nodes that limits look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// The batteries of those that told, and when each did, in seconds since 1970.
    pub(super) batteries: BTreeMap<NodeId, (BatteryLevel, i64)>,
    /// What each has spent since midnight, in joules.
    pub(super) spent: BTreeMap<NodeId, f64>,
}

/// Why a node is neither source nor relay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Why {
    /// Its battery has less than the second.
    Battery(BatteryLevel, BatteryLevel),
    /// It has spent so many joules of so many.
    Energy(f64, f64),
}

impl fmt::Display for Why {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Battery(level, least) => write!(to, "is at {level}, below {least}"),
            Self::Energy(spent, most) => write!(to, "has spent {spent:.1} of {most} J today"),
        }
    }
}

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Health {
    /// Its battery as it told last, and when, in seconds since 1970.
    pub(super) battery: Option<(BatteryLevel, i64)>,
    /// What it has spent since midnight, UTC, in joules.
    pub(super) spent_j: Option<f64>,
    /// Why it is left alone, where it is.
    pub(super) left_alone: Option<Why>,
}

impl Condition {
    /// How `node` is, where `eligibility` are in force.
    pub(super) fn of(&self, node: NodeId, eligibility: &Eligibility) -> Health {
        Health {
            battery: self.batteries.get(&node).copied(),
            spent_j: self.spent.get(&node).copied(),
            left_alone: eligibility.left_alone.get(&node).copied(),
        }
    }
}

/// Why a job does not begin.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Blocked {
    /// No window is open.
    Window,
    /// So many stations of the building are at work.
    Others(u32),
    /// One of its sources is left alone.
    Source(NodeId, Why),
    /// Without the nodes that are left alone there is no route.
    CutOff(BTreeSet<NodeId>),
}

impl fmt::Display for Blocked {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window => to.write_str("waits for its window"),
            Self::Others(most) => {
                write!(to, "waits: at most {most} stations of a building at a time")
            }
            Self::Source(node, why) => write!(to, "waits: node {node} {why}"),
            Self::CutOff(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
                let nodes = nodes.join(", ");
                write!(
                    to,
                    "waits: no route without nodes that limits leave alone: {nodes}"
                )
            }
        }
    }
}

/// Who is left alone, and what waits for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Eligibility {
    /// Why nothing begins.
    pub(super) blocked: Option<Blocked>,
    /// The nodes that are left alone.
    pub(super) left_alone: BTreeMap<NodeId, Why>,
    /// Jobs that found no route without these nodes.
    pub(super) cut_off: BTreeMap<JobId, BTreeSet<NodeId>>,
}

impl Eligibility {
    /// What `limits` mean for nodes as `condition` says, but for `sink`; none where no window is open.
    pub(super) fn of(limits: Option<Limits>, condition: &Condition, sink: NodeId) -> Self {
        let mut left_alone = BTreeMap::new();
        let Limits {
            least_battery,
            energy_j_per_day,
            ..
        } = limits.unwrap_or_default();
        for (node, (level, _)) in &condition.batteries {
            if let Some(least) = least_battery.filter(|least| level < least) {
                left_alone.insert(*node, Why::Battery(*level, least));
            }
        }
        for (node, spent) in &condition.spent {
            if let Some(most) = energy_j_per_day.filter(|most| spent >= most) {
                left_alone.entry(*node).or_insert(Why::Energy(*spent, most));
            }
        }
        left_alone.remove(&sink);
        Self {
            blocked: limits.is_none().then_some(Blocked::Window),
            left_alone,
            cut_off: BTreeMap::new(),
        }
    }

    /// The nodes that are left alone.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.left_alone.keys().copied().collect()
    }

    /// Why `job` would not begin, of all that is its own.
    pub(super) fn blocked_by(&self, job: &StoredJob) -> Option<Blocked> {
        let left_alone = |node: NodeId| Some(Blocked::Source(node, *self.left_alone.get(&node)?));
        let source = match &job.work {
            Work::Fetch { from } => left_alone(*from),
            Work::Session(request) => request.nodes().find_map(left_alone),
            Work::Survey | Work::Plan { .. } => None,
        };
        let cut_off = || {
            // One of them may relay again: then it is tried.
            let nodes = self.cut_off.get(&job.id)?;
            let same = nodes.iter().all(|node| self.left_alone.contains_key(node));
            same.then(|| Blocked::CutOff(nodes.clone()))
        };
        source.or_else(cut_off)
    }

    /// Whether a battery that has more would end `wait`.
    pub(super) fn is_for_battery(&self, wait: &Blocked) -> bool {
        let is_low = |node| matches!(self.left_alone.get(node), Some(Why::Battery(..)));
        match wait {
            Blocked::Source(node, _) => is_low(node),
            Blocked::CutOff(nodes) => nodes.iter().any(is_low),
            Blocked::Window | Blocked::Others(_) => false,
        }
    }

    /// Why `job` does not begin, where it is queued.
    pub(super) fn why(&self, job: &StoredJob) -> Option<Blocked> {
        if job.state != JobState::Queued {
            return None;
        }
        self.blocked.clone().or_else(|| self.blocked_by(job))
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
