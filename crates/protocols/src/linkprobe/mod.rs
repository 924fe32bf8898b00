//! Link measurement (P3, section IV-D1): one node after the other broadcasts beacons and all
//! others count them; equation (1), T = (T_o + IPI * N_b) * n, with N_b on each channel in turn.
//!
//! Owns: the sink's order ([`Measure`]), the time table of one node's turn ([`BeaconTurn`]) and of the
//! sink's sweep over all nodes, the table of neighbours. Time base: the reference time of the
//! flood that announces the turn, on the node's own clock. Invariant: every turn of a measurement
//! is equally long, whatever is lost. Driven by [`crate::floodnet`]. Tests: in the modules there
//! and here.

mod nodes;
mod table;

pub use nodes::{NodeList, NodeListError};
pub use table::LinkTable;

use core::fmt;
use thalweg_units::{Channel, ChannelSet, Duration, Instant, NodeId};
use thalweg_wire::beacon::{steps, Announce};
use thalweg_wire::flood::Campaign;

/// The shortest beacon interval: a full-length beacon and room for clocks on both sides of it.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The sink's order: measure the links between these nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure<const NODES: usize = 256> {
    nodes: NodeList<NODES>,
    channels: ChannelSet,
    beacons: u8,
    interval: Duration,
}

/// Why links cannot be measured so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeasureError {
    /// No node is to send.
    NoNodes,
    /// No channel is to be measured.
    NoChannels,
    /// No beacon is to be sent.
    NoBeacons,
    /// The interval is below [`MIN_INTERVAL`], above 6.5535 s, or no multiple of 0.1 ms.
    Interval,
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNodes => "no node to measure",
            Self::NoChannels => "no channel to measure",
            Self::NoBeacons => "at least one beacon is needed on each channel",
            Self::Interval => "a beacon interval is from 10 ms to 6.5535 s in steps of 0.1 ms",
        })
    }
}
impl core::error::Error for MeasureError {}

impl<const NODES: usize> Measure<NODES> {
    /// `nodes` in turn send `beacons` (N_b) on each of `channels`, one every `interval` (IPI).
    pub fn new(
        nodes: NodeList<NODES>,
        channels: ChannelSet,
        beacons: u8,
        interval: Duration,
    ) -> Result<Self, MeasureError> {
        if nodes.is_empty() {
            return Err(MeasureError::NoNodes);
        }
        if channels.is_empty() {
            return Err(MeasureError::NoChannels);
        }
        if beacons == 0 {
            return Err(MeasureError::NoBeacons);
        }
        if interval < MIN_INTERVAL || steps(interval).is_err() {
            return Err(MeasureError::Interval);
        }
        Ok(Self {
            nodes,
            channels,
            beacons,
            interval,
        })
    }
    /// Who sends, in this order.
    pub fn nodes(&self) -> &[NodeId] {
        self.nodes.as_slice()
    }
    /// How many beacons each sends on each channel: N_b.
    pub const fn beacons(&self) -> u8 {
        self.beacons
    }
    /// On which channels.
    pub const fn channels(&self) -> ChannelSet {
        self.channels
    }
    /// From one beacon to the next: IPI.
    pub const fn interval(&self) -> Duration {
        self.interval
    }
    /// The announcement of `node`'s turn.
    pub const fn announce(&self, campaign: Campaign, node: NodeId) -> Announce {
        Announce {
            campaign,
            node,
            channels: self.channels,
            beacons: self.beacons,
            interval: self.interval,
        }
    }
    /// One turn: `control` (T_o) and N_b intervals on each channel.
    pub fn turn_time(&self, control: Duration) -> Duration {
        control + self.interval * u64::from(self.beacons) * self.channels.len() as u64
    }
    /// Equation (1) for all nodes, given T_o.
    pub fn total_time(&self, control: Duration) -> Duration {
        self.turn_time(control) * u64::from(self.nodes.len())
    }
}

/// How far a beacon is from both ends of its interval: room for clocks that disagree and for
/// retuning.
pub fn margin(interval: Duration) -> Duration {
    (interval / 4).min(Duration::from_millis(5))
}

/// What a node does in a turn, its own or another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// T_o is over: leave the flood.
    Leave,
    /// Listen on this channel.
    Tune(Channel),
    /// Send beacon `number` on `channel` so that its SFD ends at `sfd`.
    Beacon {
        /// On which channel.
        channel: Channel,
        /// Its number on this channel.
        number: u8,
        /// The end of its SFD.
        sfd: Instant,
    },
    /// Back to the control channel; the turn is over.
    Return,
}

/// The time table of one node's turn, as one node sees it.
#[derive(Debug, Clone)]
pub struct BeaconTurn {
    pub(crate) announce: Announce,
    base: Instant,
    mine: bool,
    lead: Duration,
    next: Option<u16>,
}

impl BeaconTurn {
    /// The turn announced with reference time `reference`, on node `id`; T_o is `control`.
    /// Beacons are asked for `lead` before their time.
    pub fn new(
        announce: Announce,
        reference: Instant,
        id: NodeId,
        control: Duration,
        lead: Duration,
    ) -> Self {
        Self {
            announce,
            base: reference + control,
            mine: announce.node == id,
            lead,
            next: Some(0),
        }
    }
    /// The next step and when it is due; `None` after [`Step::Return`].
    pub fn peek(&self) -> Option<(Instant, Step)> {
        let Announce {
            channels,
            beacons,
            interval,
            ..
        } = self.announce;
        let index = match self.next? {
            0 => return Some((self.base, Step::Leave)),
            n => n - 1,
        };
        let (beacons, margin) = (u16::from(beacons), margin(interval));
        let per_step = if self.mine { 1 } else { beacons };
        let slot = index * per_step;
        let begin = self.base + interval * u64::from(slot);
        let Some(channel) = channels.iter().nth(usize::from(slot / beacons)) else {
            return Some((begin.saturating_sub(margin), Step::Return));
        };
        if self.mine {
            let sfd = begin + margin;
            let beacon = Step::Beacon {
                channel,
                number: (slot % beacons) as u8,
                sfd,
            };
            Some((sfd.saturating_sub(self.lead), beacon))
        } else {
            Some((begin, Step::Tune(channel)))
        }
    }
    /// Takes the next step if it is due at `now`.
    pub fn step(&mut self, now: Instant) -> Option<Step> {
        let (due, step) = self.peek()?;
        if due > now {
            return None;
        }
        self.next = match step {
            Step::Return => None,
            _ => self.next.map(|n| n + 1),
        };
        Some(step)
    }
}

/// The sink's way through the turns of all nodes.
#[derive(Debug, Clone)]
pub(crate) struct Sweep<const NODES: usize> {
    pub(crate) measure: Measure<NODES>,
    pub(crate) campaign: Campaign,
    /// The first turn's reference time.
    pub(crate) begin: Instant,
    /// T_o.
    pub(crate) control: Duration,
    /// How many turns were announced.
    pub(crate) turn: u16,
}

impl<const NODES: usize> Sweep<NODES> {
    /// The next turn's reference time; after the last turn, the end of all.
    pub(crate) fn reference(&self) -> Instant {
        self.begin + self.measure.turn_time(self.control) * u64::from(self.turn)
    }
    /// The next turn's announcement; `None` after the last turn.
    pub(crate) fn announce(&self) -> Option<Announce> {
        let node = *self.measure.nodes().get(usize::from(self.turn))?;
        Some(self.measure.announce(self.campaign, node))
    }
}

#[cfg(test)]
mod tests;
