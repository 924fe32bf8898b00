//! Which nodes and jobs the present limits hold back.
//!
//! A node counts by its last battery report, and by the energy that it has spent since midnight, UTC. Base stations
//! have mains. Invariant: a job waits only as long as its reason holds. Time base: wall clock. Tests:
//! `limits_tests.rs`, `crates/daemon/tests/all/limits.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::disk::DiskLow;
use thalweg_units::{BatteryLevel, Duration, NodeId};

use thalweg_host::job::wait_text;
use thalweg_host::store::{JobId, JobState, StoredJob, Work};

/// Limits that spare nodes and air; none means no limit.
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
    /// These limits, with those of `others` where they have none.
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

/// Batteries and energy of a station's nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// The last battery reports, and the time of each in seconds since 1970.
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

/// The health of a node.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Health {
    /// Its last battery report, and the time of that in seconds since 1970.
    pub(super) battery: Option<(BatteryLevel, i64)>,
    /// What it has spent since midnight, UTC, in joules.
    pub(super) spent_j: Option<f64>,
    /// Why it is left alone, where it is.
    pub(super) left_alone: Option<Why>,
}

impl Condition {
    /// The health of `node` under `eligibility`.
    pub(super) fn of(&self, node: NodeId, eligibility: &Eligibility) -> Health {
        Health {
            battery: self.batteries.get(&node).copied(),
            spent_j: self.spent.get(&node).copied(),
            left_alone: eligibility.left_alone.get(&node).copied(),
        }
    }
}

/// Why a job cannot begin.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Blocked {
    /// No window is open.
    Window,
    /// So many stations of the building are at work.
    Others(u32),
    /// The disk is almost full.
    Disk(DiskLow),
    /// One of its sources is left alone.
    Source(Who, Why),
    /// Without the nodes that are left alone there is no route.
    CutOff(Vec<Who>),
    /// No links led to its node, or none that served.
    Links(NoWay),
}

/// A node and what people call it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Who {
    id: NodeId,
    name: String,
}

impl fmt::Display for Who {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.name)
    }
}

/// A job's wait for other links.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoWay {
    /// Why it failed last.
    pub(super) why: String,
    /// After so long it has links measured, if no other job does before.
    pub(super) next: Duration,
    /// Of its patience, so much is over.
    pub(super) waited: Duration,
    /// All of that.
    pub(super) patience: Duration,
    /// How often it failed.
    pub(super) times: u32,
}

impl Blocked {
    /// Whether to log it: of a job that waits for links, only the 1st, 2nd, 4th, 8th ... failure.
    pub(super) fn is_news(&self) -> bool {
        match self {
            Self::Links(wait) => wait.times.is_power_of_two(),
            _ => true,
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window => to.write_str("waits for its window"),
            Self::Others(most) => {
                write!(to, "waits: at most {most} stations of a building at a time")
            }
            Self::Disk(low) => write!(to, "waits: {low}"),
            Self::Source(node, why) => write!(to, "waits: node {node} {why}"),
            Self::CutOff(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(Who::to_string).collect();
                let nodes = nodes.join(", ");
                write!(
                    to,
                    "waits: no route without nodes that limits leave alone: {nodes}"
                )
            }
            Self::Links(wait) => {
                let [next, waited, patience] =
                    [wait.next, wait.waited, wait.patience].map(wait_text);
                let NoWay { why, .. } = wait;
                write!(
                    to,
                    "waits: {why}; links are measured again in {next}, {waited} of {patience} are over"
                )
            }
        }
    }
}

/// Which nodes and jobs are held back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Eligibility {
    /// Why no job can begin.
    pub(super) blocked: Option<Blocked>,
    /// The nodes that are left alone.
    pub(super) left_alone: BTreeMap<NodeId, Why>,
    /// Jobs that found no route without these nodes.
    pub(super) cut_off: BTreeMap<JobId, BTreeSet<NodeId>>,
    /// Jobs that wait for other links.
    pub(super) waiting: BTreeMap<JobId, Blocked>,
    /// What the nodes that are left alone are called.
    pub(super) names: BTreeMap<NodeId, String>,
}

impl Eligibility {
    /// The effect of `limits` on nodes in this `condition`, except `sink`; `limits` are none where no window is open.
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
            waiting: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }
    /// `node` with its name.
    fn who(&self, node: NodeId) -> Who {
        let name = self.names.get(&node).cloned();
        Who {
            id: node,
            name: name.unwrap_or_else(|| node.to_string()),
        }
    }
    /// What blocks a job that has no route without `nodes`.
    pub(super) fn cut_off_by<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeId>) -> Blocked {
        let nodes = nodes.into_iter().map(|node| self.who(*node));
        Blocked::CutOff(nodes.collect())
    }

    /// The nodes that are left alone.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.left_alone.keys().copied().collect()
    }

    /// What blocks `job` in particular.
    pub(super) fn blocked_by(&self, job: &StoredJob) -> Option<Blocked> {
        let left_alone = |node: NodeId| {
            let why = self.left_alone.get(&node)?;
            Some(Blocked::Source(self.who(node), *why))
        };
        let source = match &job.work {
            Work::Fetch { from } => left_alone(*from),
            Work::Session(request) => request.nodes().find_map(left_alone),
            Work::Survey | Work::Plan { .. } => None,
        };
        let cut_off = || {
            // Where one of them may relay again, the job is tried.
            let nodes = self.cut_off.get(&job.id)?;
            let same = nodes.iter().all(|node| self.left_alone.contains_key(node));
            same.then(|| self.cut_off_by(nodes))
        };
        let waiting = || self.waiting.get(&job.id).cloned();
        source.or_else(cut_off).or_else(waiting)
    }

    /// Whether `wait` would end with a better battery.
    pub(super) fn is_for_battery(&self, wait: &Blocked) -> bool {
        let is_low = |who: &Who| matches!(self.left_alone.get(&who.id), Some(Why::Battery(..)));
        match wait {
            Blocked::Source(node, _) => is_low(node),
            Blocked::CutOff(nodes) => nodes.iter().any(is_low),
            Blocked::Window | Blocked::Others(_) | Blocked::Disk(_) | Blocked::Links(_) => false,
        }
    }

    /// What blocks `job`, where it is queued.
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
