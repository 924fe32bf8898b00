//! What a node must know to take part in a transfer, and what can be wrong with it.

use crate::{p3, pip};
use core::fmt;
use thalweg_engine::Passing;
use thalweg_units::NodeId;
use thalweg_units::{Duration, Instant};
use thalweg_wire::pipeline::{Format, MAX_PACKETS};
use thalweg_wire::route::{
    Channels, Groups, Hopping, Member, ObjectRange, PayloadSize, Percent, Place, Route, Scheme,
    TrialRun,
};

/// How long the source asks in vain for a NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    /// Until [`Policy::inactivity`] has passed.
    OnInactivity,
    /// Until that, or this many requests in a row stayed unanswered.
    AfterTries(u8),
}

/// What a protocol decides about a transfer: see [`crate::p3::policy`] and [`crate::pip::policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// When the source gives up an exchange.
    pub give_up: GiveUp,
    /// Below which reception ratio a relay of the last but one stage is silent (P3, section
    /// IV-E); `None` for never.
    pub threshold: Option<Percent>,
    /// Whether channels change.
    pub hopping: Hopping,
    /// How relays pass packets on.
    pub passing: Passing,
    /// A relay or destination that hears nothing of the transfer for so long leaves it; so does
    /// the source when its requests stay unanswered for so long.
    pub inactivity: Duration,
    /// The same for relays and the destination once the object is complete: long enough for
    /// several requests, in case the source did not hear that it is.
    pub linger: Duration,
    /// When a transfer is given up in any case, after its beginning.
    pub deadline: Duration,
    /// The destination tells its progress every so many new packets; 0 for never.
    pub progress_every: u16,
}

/// A node's part in a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// The transfer's id, the same for all its nodes.
    pub transfer: u16,
    /// What this node does.
    pub place: Place,
    /// How many groups there are.
    pub groups: Groups,
    /// The stages' reception channels.
    pub channels: Channels,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// Which part of the object.
    pub range: ObjectRange,
    /// How frames begin.
    pub format: Format,
    /// Cycles of each rotation of the channels in a trial, where the transfer learns the best.
    pub tuning: Option<TrialRun>,
    /// When the SFD of the source's first packet ends, in this node's clock.
    pub start: Instant,
    /// The protocol's decisions.
    pub policy: Policy,
}

impl Session {
    /// The part of `node` in `route`, which begins at `start` of its clock; `None` where it has
    /// none. With [`Scheme::P3`] the policy is P3's, with [`Scheme::Pip`] PIP's.
    pub fn from_route(route: &Route, node: NodeId, start: Instant) -> Option<Self> {
        let policy = match route.scheme {
            Scheme::P3 => p3::policy(),
            Scheme::Pip(hopping) => pip::policy(hopping),
            Scheme::PipCit => pip::conditional(),
        };
        let place = route.place_of(node)?;
        Some(Self {
            transfer: route.transfer,
            place,
            groups: route.groups(),
            channels: route.channels,
            payload: route.payload,
            range: route.range,
            format: route.format,
            tuning: route.tuning.filter(|_| route.groups() == Groups::Two),
            start,
            policy: Policy {
                threshold: route.threshold.filter(|_| !speaks_alone(route, place)),
                deadline: Duration::from_secs(u64::from(route.deadline_s)),
                ..policy
            },
        })
    }

    /// H.
    pub const fn hops(&self) -> u8 {
        self.channels.hops()
    }
    /// This node's stage, 0..=H.
    pub const fn stage(&self) -> u8 {
        match self.place {
            Place::Source => 0,
            Place::Relay { stage, .. } => stage,
            Place::Destination => self.hops(),
        }
    }
    /// How many packets an object of `object_len` bytes makes; `None` beyond [`MAX_PACKETS`].
    pub fn packets(&self, object_len: u32) -> Option<u16> {
        let n = self
            .range
            .within(object_len)
            .div_ceil(u32::from(self.payload.bytes()));
        u16::try_from(n).ok().filter(|n| *n <= MAX_PACKETS)
    }

    /// How many packets the first round has, where it is a trial.
    pub fn trial(&self) -> Option<u16> {
        self.tuning.map(|run| p3::trial_cycles(run, &self.channels))
    }
    /// Bytes before the bit vector of a NACK: the rotation to go on with, where the transfer learns it.
    pub const fn rotation_bytes(&self) -> usize {
        self.tuning.is_some() as usize
    }
    /// The rotation that the `vector` of a NACK begins with, where the transfer learns it, and the bits.
    /// None where it is too short.
    pub fn split<'n>(&self, vector: &'n [u8]) -> Option<(Option<u8>, &'n [u8])> {
        match self.tuning {
            None => Some((None, vector)),
            Some(_) => vector
                .split_first()
                .map(|(rotation, bits)| (Some(*rotation), bits)),
        }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn check(&self) -> Result<(), SetupError> {
        if let Place::Relay { stage, .. } = self.place {
            if stage == 0 || stage >= self.hops() {
                return Err(SetupError::NoSuchStage);
            }
        }
        if self.payload.bytes() > self.format.max_payload() {
            return Err(SetupError::PayloadTooLarge);
        }
        let even = self.groups == Groups::Two || self.policy.hopping != Hopping::Fixed;
        if self.policy.passing == Passing::Conditional && even {
            return Err(SetupError::ConditionalNeedsOnePath);
        }
        match self.policy.hopping {
            Hopping::Fixed => Ok(()),
            Hopping::EveryCyclePair if self.groups == Groups::Two => {
                Err(SetupError::HoppingNeedsOneGroup)
            }
            Hopping::EveryCyclePair if self.payload.bytes() < pip::MIN_HOPPING_PAYLOAD => {
                Err(SetupError::PayloadTooSmallForHopping)
            }
            Hopping::EveryCyclePair => Ok(()),
        }
    }
}

/// Whether a relay is the only one of its stage for some packets: its silence would leave a hole
/// in the pipeline, where P3 is to be no worse than a single path (P3, section IV-C).
fn speaks_alone(route: &Route, place: Place) -> bool {
    let Place::Relay { stage, group } = place else {
        return false;
    };
    let all = route.groups() == Groups::One;
    let beside = |m: &&Member| m.stage == stage && (all || m.group == group);
    route.members().iter().filter(beside).count() == 1
}

/// Why a transfer cannot begin at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupError {
    /// Another one is under way.
    Busy,
    /// A relay's stage is not between the source's and the destination's.
    NoSuchStage,
    /// The object needs more than [`MAX_PACKETS`] packets of this size.
    TooManyPackets,
    /// Channel hopping is defined for one group only (two groups use every cycle).
    HoppingNeedsOneGroup,
    /// With channel hopping all frames have one length, and a request must fit into it.
    PayloadTooSmallForHopping,
    /// Relays that hold packets are out of step with others and with a grid of cycles.
    ConditionalNeedsOnePath,
    /// A frame of this format does not hold the payload.
    PayloadTooLarge,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "another transfer is under way",
            Self::NoSuchStage => "a relay's stage must lie between source and destination",
            Self::TooManyPackets => "the object makes more than 16384 packets",
            Self::HoppingNeedsOneGroup => "channel hopping needs a single group",
            Self::ConditionalNeedsOnePath => {
                "conditional transmission needs a single group and fixed channels"
            }
            Self::PayloadTooLarge => "a frame does not hold the payload",
            Self::PayloadTooSmallForHopping => "channel hopping needs 32 bytes of payload",
        })
    }
}
impl core::error::Error for SetupError {}
