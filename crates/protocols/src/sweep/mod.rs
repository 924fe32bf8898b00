//! Sweeps: the short way to measure links. One flood announces all slots; every node beacons in its own on every
//! channel, all on the same channel at a time, and then floods one report in its own slot.
//!
//! Owns: the sink's order ([`Sweep`]), a node's timetable of a sweep ([`Sweeping`]), reports of it. Time base: the
//! reference time of the flood, or a beacon's, on the node's own clock. Invariants: a slot has one sender; whatever is
//! lost, a sweep ends when its parameters say. Driven by [`crate::floodnet`], which has the tests of whole networks.
//! README.md: why these numbers.

mod pack;
mod table;

pub(crate) use pack::{levels_frame, Rows};
pub(crate) use table::Built;
pub use table::{Step, Sweeping};

use crate::linkprobe::NodeList;
use core::fmt;
use thalweg_engine::BoardTiming;
use thalweg_units::{ChannelSet, Duration, NodeId};
use thalweg_wire::flood::Campaign;
use thalweg_wire::phy;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::survey::REPEAT_BYTES;
use thalweg_wire::sweep::{Announcement, Parameters, Reports, MAX_MEASURING};

/// The shortest slot: a beacon of [`BEACON_BYTES`] takes 1.28 ms of it, clocks may be 0.36 ms off either way.
pub const SLOT: Duration = Duration::from_millis(2);
/// Bytes of a beacon's MAC frame without FCS.
pub const BEACON_BYTES: u8 = 32;
/// What slots of boards that need longer are counted in.
const MILLISECOND: Duration = Duration::from_millis(1);
/// Links below this level carry no pipeline: in dBm.
pub const FLOOR_DBM: i8 = -86;
/// For how many hops floods of a sweep have time by default: as many as transfers of pipelines usually take.
pub const REACH: u8 = 6;
/// How often each announcement is flooded: a node that misses all joins by a beacon, or not at all.
pub(crate) const COPIES: u8 = 2;

/// The sink's order: have these nodes measure the links between them, and report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep<const NODES: usize = 256> {
    nodes: NodeList<NODES>,
    channels: ChannelSet,
    sweeps: u8,
    slot: Duration,
    pause: Duration,
    floor: i8,
    reports: Reports,
    reach: u8,
}

/// Why links cannot be measured so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepError {
    /// No node is to send.
    NoNodes,
    /// No channel is to be measured.
    NoChannels,
    /// Not 1 to 15 sweeps.
    Sweeps,
    /// The slot is below [`SLOT`], above 25.5 ms, or no multiple of 0.1 ms; or the pause is longer than 6.5535 s, or
    /// no such multiple.
    Times,
    /// All beacons together take longer than [`MAX_MEASURING`].
    TooLong,
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => f.write_str("no node to measure"),
            Self::NoChannels => f.write_str("no channel to measure"),
            Self::Sweeps => f.write_str("there are 1 to 15 sweeps"),
            Self::Times => f.write_str(
                "a slot is from 2 to 25.5 ms and a pause up to 6.5535 s, in steps of 0.1 ms",
            ),
            Self::TooLong => write!(f, "all beacons together take at most {MAX_MEASURING}"),
        }
    }
}
impl core::error::Error for SweepError {}

impl<const NODES: usize> Sweep<NODES> {
    /// All of `nodes` beacon `sweeps` times on each of `channels`, in slots of `slot`, with `pause` between two
    /// sweeps, and report neighbours received at `floor` dBm or above.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn new(
        nodes: NodeList<NODES>,
        channels: ChannelSet,
        sweeps: u8,
        (slot, pause): (Duration, Duration),
        floor: i8,
    ) -> Result<Self, SweepError> {
        let sweep = Self {
            nodes: nodes.sorted(),
            channels,
            sweeps,
            slot,
            pause,
            floor,
            reports: Reports::Flooded,
            reach: REACH,
        };
        if sweep.nodes.is_empty() {
            return Err(SweepError::NoNodes);
        }
        if channels.is_empty() {
            return Err(SweepError::NoChannels);
        }
        if !(1..=15).contains(&sweeps) {
            return Err(SweepError::Sweeps);
        }
        let steps = |time, most: u64| {
            thalweg_wire::beacon::steps(time).is_ok_and(|steps| u64::from(steps) <= most)
        };
        if slot < SLOT || !steps(slot, 255) || !steps(pause, 65_535) {
            return Err(SweepError::Times);
        }
        let parameters = sweep.parameters(Campaign::default(), SLOT, 0);
        match parameters.measuring() <= MAX_MEASURING {
            true => Ok(sweep),
            false => Err(SweepError::TooLong),
        }
    }
    /// The same with reports that come in so.
    #[must_use]
    pub fn reporting(self, reports: Reports) -> Self {
        Self { reports, ..self }
    }
    /// The same where floods of reports and announcements have time for `hops` hops.
    #[must_use]
    pub const fn reaching(mut self, hops: u8) -> Self {
        self.reach = hops;
        self
    }
    /// For how many hops floods have time.
    pub const fn reach(&self) -> u8 {
        self.reach
    }
    /// How reports come in.
    pub const fn reports(&self) -> Reports {
        self.reports
    }
    /// Whose links, lowest address first.
    pub fn nodes(&self) -> &NodeList<NODES> {
        &self.nodes
    }
    /// On which channels.
    pub const fn channels(&self) -> ChannelSet {
        self.channels
    }
    /// How often each node beacons on each channel.
    pub const fn sweeps(&self) -> u8 {
        self.sweeps
    }
    /// A beacon's slot, and the pause between two sweeps.
    pub const fn times(&self) -> (Duration, Duration) {
        (self.slot, self.pause)
    }
    /// The level in dBm from which on neighbours are reported.
    pub const fn floor(&self) -> i8 {
        self.floor
    }
    /// What all nodes are to know; reports of at most `report_bytes` take slots of `report`.
    pub(crate) fn parameters(
        &self,
        campaign: Campaign,
        report: Duration,
        report_bytes: u8,
    ) -> Parameters {
        let all = self.nodes.as_slice();
        let first = all.first().copied().unwrap_or(NodeId::MAX);
        let last = all.last().copied().unwrap_or(first);
        Parameters {
            campaign,
            first,
            span: last.get().saturating_sub(first.get()),
            slots: self.nodes.len(),
            channels: self.channels,
            sweeps: self.sweeps,
            slot: self.slot,
            pause: self.pause,
            report,
            reports: self.reports,
            report_bytes,
            floor: self.floor,
        }
    }
}

/// The bits of one [`Announcement`]: who of `nodes`, sorted, has a slot, from number `rank` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) from: NodeId,
    bits: [u8; Announcement::ADDRESSES / 8],
    bytes: usize,
    /// The number of the first node that is not in it.
    pub(crate) next: u16,
}

impl Slots {
    /// `None` where no node is left.
    pub(crate) fn from(nodes: &[NodeId], rank: u16, sealing: Sealing) -> Option<Self> {
        let rest = nodes.get(usize::from(rank)..)?;
        let mut slots = Self {
            from: *rest.first()?,
            bits: [0; Announcement::ADDRESSES / 8],
            bytes: 0,
            next: rank,
        };
        for node in rest {
            let at = usize::from(node.get().saturating_sub(slots.from.get()));
            // What seals an announcement takes room of it, and a little more where it is repeated.
            let trailer = match sealing {
                Sealing::Open => 0,
                Sealing::Sealed => REPEAT_BYTES,
            };
            let room = slots.bits.len().saturating_sub(trailer);
            let bits = slots.bits.get_mut(..room).unwrap_or_default();
            let Some(byte) = bits.get_mut(at / 8) else {
                break;
            };
            *byte |= 1 << (at % 8);
            (slots.bytes, slots.next) = (at / 8 + 1, slots.next + 1);
        }
        Some(slots)
    }
    pub(crate) fn bits(&self) -> &[u8] {
        &self.bits[..self.bytes]
    }
    /// How many announcements cover `nodes`.
    pub(crate) fn announcements(nodes: &[NodeId], sealing: Sealing) -> u64 {
        let next = |slots: &Self| Self::from(nodes, slots.next, sealing);
        core::iter::successors(Self::from(nodes, 0, sealing), next).count() as u64
    }
}

/// The shortest slot in which boards of `timing`, which ask for a transmission `lead` ahead, write a beacon and read
/// one: [`SLOT`] where software overlaps with the air.
pub(crate) fn shortest_slot(lead: Duration, timing: &BoardTiming) -> Duration {
    if !timing.software.is_serial() {
        return SLOT;
    }
    let (costs, bytes) = (timing.software.costs(), usize::from(BEACON_BYTES));
    let read = costs.read(bytes, bytes) + costs.os + costs.atomic + costs.switch;
    let least = lead + phy::air_time(bytes) + timing.event_latency + read;
    SLOT.max(MILLISECOND * least.as_nanos().div_ceil(MILLISECOND.as_nanos()))
}
