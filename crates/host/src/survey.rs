//! The survey: a network measures its own links and reports them to a sink (P3, section IV-D1), one band of
//! its radios at a time. Time base: the sink's clock for what it measures, network time for how long it may take.

mod job;

use crate::transfer::pipeline::{Order, MAX_NODES};
pub use job::SurveyJob;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use thalweg_engine::BoardTiming;
use thalweg_planner::LinkQualities;
use thalweg_protocols::floodnet;
use thalweg_protocols::linkprobe::{Measure, NodeList};
use thalweg_protocols::mote::Command;
use thalweg_protocols::sweep::{Sweep, FLOOR_DBM, SLOT};
use thalweg_units::{BatteryLevel, Cause, Channel, ChannelSet, Duration, NodeId, Restarts};
use thalweg_wire::phy;
use thalweg_wire::sweep::Reports;

/// How nodes learn when to beacon and to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SurveyKind {
    /// A flood for every node's turn, and then for every round of reports (P3, equation 1).
    Published,
    /// One flood at the beginning; short beacons, and one short report of each node.
    Sweep,
}

/// The channels that P3 uses: those that Wi-Fi leaves alone (P3, section IV-D2).
pub const CLEAN_CHANNELS: [u8; 4] = [15, 20, 25, 26];

/// How links are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// By turns or by sweeps.
    pub kind: SurveyKind,
    /// On which channels.
    pub channels: ChannelSet,
    /// Beacons of each node on each channel: N_b, or how many sweeps there are.
    pub beacons: u8,
    /// Between beacons: of one node, IPI, or in a sweep from one node's to the next's. Longer on boards that need
    /// longer to write and read one.
    pub interval: Duration,
}

/// A sweep's report has room for 20 neighbours or more on so many channels; on sixteen for nine, which plans no route.
const SWEPT: usize = 6;

impl Survey {
    /// Two sweeps over `channels`; where these are too many for a sweep's reports, as published.
    pub fn short(channels: ChannelSet) -> Self {
        match channels.len() <= SWEPT {
            true => Self::sweep(channels),
            false => Self::of(channels),
        }
    }
    /// What follows a survey that lacks nodes. Floods of turns have time for some six hops, those of a sweep for as many as
    /// there are, on the channels that Wi-Fi leaves alone and a few others.
    #[must_use]
    pub fn again(self) -> Self {
        if self.kind == SurveyKind::Sweep {
            return self;
        }
        let clean: ChannelSet = (CLEAN_CHANNELS.into_iter())
            .filter_map(|number| Channel::new(number).ok())
            .filter(|channel| self.channels.contains(*channel))
            .collect();
        let others = self.channels.iter().filter(|on| !clean.contains(*on));
        let few = clean.iter().chain(others).take(SWEPT);
        Self::sweep(few.collect())
    }
    /// The same with more sweeps, where one over `nodes` nodes takes no longer than from one to the next: a node that looks for
    /// others on all channels meets one of them, and those behind it meet a later one.
    #[must_use]
    pub fn longer(self, nodes: usize) -> Self {
        let one = self.interval * (nodes * self.channels.len()) as u64;
        match self.kind {
            SurveyKind::Sweep if one <= SWEEPS_APART => Self {
                beacons: LONGER,
                ..self
            },
            _ => self,
        }
    }
    /// Ten beacons (N_b of P3, section IV-D1) every 10 ms on each of `channels`.
    pub fn of(channels: ChannelSet) -> Self {
        Self {
            kind: SurveyKind::Published,
            channels,
            beacons: 10,
            interval: Duration::from_millis(10),
        }
    }
    /// Two sweeps over `channels`.
    pub fn sweep(channels: ChannelSet) -> Self {
        Self {
            kind: SurveyKind::Sweep,
            channels,
            beacons: 2,
            interval: SLOT,
        }
    }
    /// The order to a sink, on boards of `timing`, and how long it takes until all beacons are sent when nothing goes
    /// wrong.
    fn order(
        &self,
        nodes: &NodeList<MAX_NODES>,
        timing: &BoardTiming,
    ) -> Result<(Order, Duration), String> {
        let (nodes, count) = (nodes.clone(), u64::from(nodes.len()));
        let beacons = u64::from(self.beacons) * self.channels.len() as u64;
        match self.kind {
            SurveyKind::Published => {
                let interval = floodnet::beacon_interval(self.interval, phy::MAX_MPDU, timing);
                let measure = Measure::new(nodes, self.channels, self.beacons, interval);
                let measure = measure.map_err(|why| why.to_string())?;
                let turn = Duration::from_millis(10) + interval * beacons;
                Ok((Command::Measure(measure), turn * count))
            }
            SurveyKind::Sweep => {
                let slot = floodnet::sweep_slot(self.interval, timing);
                let one = slot * (count * self.channels.len() as u64);
                let pause = SWEEPS_APART.saturating_sub(one).as_micros() / 1_000;
                let times = (slot, Duration::from_millis(pause));
                let sweep = Sweep::new(nodes, self.channels, self.beacons, times, FLOOR_DBM);
                let sweep = sweep.map_err(|why| why.to_string())?;
                let reports = match count > MOST_FLOODED {
                    true => Reports::Inwards,
                    false => Reports::Flooded,
                };
                let sweep = sweep.reporting(reports);
                let pauses = u64::from(self.beacons.saturating_sub(1));
                let pauses = Duration::from_millis(pause) * pauses;
                Ok((Command::Sweep(sweep), slot * (beacons * count) + pauses))
            }
        }
    }
}

/// The least time from the beginning of a sweep to that of the next. Links change within half a second; sweeps farther
/// apart see more of that.
const SWEEPS_APART: Duration = Duration::from_secs(1);

/// Sweeps of a survey for nodes that others did not reach, as many as an order can have: a row whose hops are on channels in no
/// order is found by a hop or two a sweep.
const LONGER: u8 = 15;

/// The most nodes whose reports are flooded one after the other. With more nodes that would take most of the survey, so
/// reports go inwards, several at a time.
const MOST_FLOODED: u64 = 256;

/// The result of a survey, and its cost.
#[derive(Debug, Clone)]
pub struct SurveyOutcome {
    /// The links.
    pub links: LinkQualities,
    /// From orders until their work began: nodes that rest are roused first.
    pub rousing: Duration,
    /// Time of the measurement.
    pub measuring: Duration,
    /// Time of the collection.
    pub collecting: Duration,
    /// Energy of all nodes over both, in joules; none without meters.
    pub joules: Option<f64>,
    /// Nodes whose tables did not come in.
    pub missing: Vec<NodeId>,
    /// The batteries that were reported.
    pub batteries: Vec<(NodeId, BatteryLevel)>,
    /// The nodes that have restarted since power came, and those whose power came since they were last asked.
    pub restarts: Vec<(NodeId, Restarts)>,
}

/// The cost of a survey.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SurveyCost {
    /// Measuring links (P3, equation 1), in seconds.
    pub measuring_s: f64,
    /// Collecting what was measured, in seconds; also waiting for links that were dead.
    pub collecting_s: f64,
    /// Energy of all nodes over both, in joules; none without meters.
    pub network_energy_j: Option<f64>,
    /// Directed links on the channel asked for that were heard.
    pub links: usize,
    /// Nodes whose tables did not come in.
    pub missing: Vec<u16>,
    /// Nodes that have restarted since power came, how often, and why last; those whose power came since they were last
    /// asked have 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restarted: Vec<Restarted>,
    /// What came before, where nodes rested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleCost>,
}

/// A node that has restarted since power came, or whose power came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarted {
    /// Which.
    pub node: NodeId,
    /// How often, and why last.
    pub restarts: Restarts,
}

impl From<&(NodeId, Restarts)> for Restarted {
    fn from((node, restarts): &(NodeId, Restarts)) -> Self {
        Self {
            node: *node,
            restarts: *restarts,
        }
    }
}

impl fmt::Display for Restarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} restarted: {}", self.node, self.restarts)
    }
}

impl Restarted {
    /// What people read of `all`: one line of those whose power came, and one of each other.
    pub fn lines(all: &[Self]) -> Vec<String> {
        let is_power = |one: &&Self| one.restarts.last() == Cause::PowerOn;
        let (power, others): (Vec<&Self>, Vec<&Self>) = all.iter().partition(is_power);
        let nodes: Vec<String> = power.iter().map(|one| one.node.to_string()).collect();
        let came = match nodes.len() {
            0 => None,
            1 => Some(format!("power came to node {}", nodes[0])),
            _ => Some(format!("power came to nodes {}", nodes.join(", "))),
        };
        let others = others.into_iter().map(ToString::to_string);
        others.chain(came).collect()
    }
}

impl Serialize for Restarted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut to = to.serialize_struct("Restarted", 3)?;
        to.serialize_field("node", &self.node.get())?;
        to.serialize_field("restarts", &self.restarts.count())?;
        to.serialize_field("cause", &self.restarts.last().to_string())?;
        to.end()
    }
}

/// What it costs that a network waits, and to rouse it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IdleCost {
    /// For how long nodes have rested, in seconds.
    pub rested_s: f64,
    /// Energy of each node meanwhile, in joules.
    pub node_energy_j: f64,
    /// Rousing them, in seconds.
    pub rousing_s: f64,
}

impl SurveyCost {
    /// From the order to the complete table, in seconds.
    pub fn seconds(&self) -> f64 {
        let rousing_s = self.idle.map_or(0.0, |idle| idle.rousing_s);
        rousing_s + self.measuring_s + self.collecting_s
    }
}

impl SurveyOutcome {
    /// From the first beacon's order to the complete table.
    pub fn time(&self) -> Duration {
        self.measuring + self.collecting
    }
    /// What it cost, and how many links it found on `channel`.
    pub fn cost(&self, channel: Channel) -> SurveyCost {
        SurveyCost {
            measuring_s: self.measuring.as_secs_f64(),
            collecting_s: self.collecting.as_secs_f64(),
            network_energy_j: self.joules,
            links: self.links.summary(channel).heard_pairs,
            missing: self.missing.iter().map(|n| n.get()).collect(),
            restarted: self.restarts.iter().map(Restarted::from).collect(),
            idle: None,
        }
    }
}

/// What all nodes have spent, in joules.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meters {
    Unread,
    Before(Option<f64>),
    Read,
}
