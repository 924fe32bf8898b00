//! What a node must know to take part in a transfer, and what may be wrong with it.

use crate::object::Pieces;
use core::fmt;
use core::num::NonZeroU16;
use thalweg_engine::Passing;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::pipeline::{Format, Group, Purpose, Tag, MAX_PACKETS, NACK_BODY_BYTES};
use thalweg_wire::route::{Groups, ObjectRange, PayloadSize, Progress, Role};

/// NACKs of transfers with a smaller payload than this are as long as if it were so large: a
/// vector of a few bits would make trains of hundreds of frames.
pub(super) const MIN_NACK_BODY: u8 = 32;

/// How long the source requests a NACK in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    /// Until [`Policy::inactivity`] has passed.
    OnInactivity,
    /// Until that, or this many requests in a row stayed unanswered.
    AfterTries(u8),
    /// Until the same, or more packets than this in a row brought nothing, round after round.
    AfterTriesOrInVain {
        /// Requests.
        tries: u8,
        /// Packets.
        packets: u8,
    },
}

/// When the source repeats a request, having heard no part of a NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// After the longest train of NACK frames.
    AfterTrain,
    /// After its first frames, over the relays of both groups ([`Purpose::Across`]): a hop of each may be dead.
    AcrossGroups,
}

impl Retry {
    /// The purpose of the repeated request.
    pub(super) const fn purpose(self) -> Purpose {
        match self {
            Self::AfterTrain => Purpose::Report,
            Self::AcrossGroups => Purpose::Across,
        }
    }
}

/// How long frames are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// As they must be.
    AsNeeded,
    /// Control frames are at least as long as a data frame, and take a cycle a hop as it does (P3, section
    /// IV-G: "packets of equal length").
    Whole,
    /// All as a data frame, so that every SFD lies on the grid of cycles.
    Equal,
}

/// What a protocol decides about a transfer: see [`crate::p3::policy`] and [`crate::pip::policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// When the source gives up an exchange.
    pub give_up: GiveUp,
    /// When it repeats a request before that.
    pub retry: Retry,
    /// How long control frames are.
    pub lengths: Lengths,
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
    /// For each missing packet, a destination waits so much longer than [`Policy::inactivity`]: in the middle of a
    /// round a source hears nothing.
    pub patience_per_packet: Duration,
}

/// A transfer, as one of its nodes sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// What distinguishes its frames from those of other transfers.
    pub tag: Tag,
    /// Whose object it is, as far as this node knows.
    pub source: NodeId,
    /// This node's role.
    pub role: Role,
    /// H.
    pub hops: u8,
    /// How many groups there are.
    pub groups: Groups,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// Which part of the object.
    pub range: ObjectRange,
    /// How frames begin.
    pub format: Format,
    /// Bytes of the adaptation's note in a NACK.
    pub note_bytes: u8,
    /// Bytes of the MIC of a request or NACK; 0 in a transfer that is not sealed.
    pub mic_bytes: u8,
    /// Bytes of a request for the stages' counts.
    pub count_bytes: u8,
    /// What becomes of the packets that an earlier transfer brought.
    pub progress: Progress,
    /// All stages pause after so many packets of a long round, so that the destination can confirm them; `None` for no
    /// pauses. Needs two groups and two hops at least.
    pub stretch: Option<NonZeroU16>,
    /// When the SFD of the source's first packet ends, in this node's clock.
    pub start: Instant,
    /// The protocol's decisions.
    pub policy: Policy,
}

impl Session {
    /// This node's stage, 0..=H.
    pub const fn stage(&self) -> u8 {
        match self.role {
            Role::Source => 0,
            Role::Relay { stage, .. }
            | Role::Backup { stage, .. }
            | Role::Alternate { stage, .. } => stage,
            Role::Destination => self.hops,
        }
    }
    /// When relays and the destination leave it in any case; the source has its own deadline.
    pub fn ends(&self) -> Instant {
        self.start + self.policy.deadline + self.policy.inactivity
    }
    /// How the object is cut into packets.
    pub const fn pieces(&self) -> Pieces {
        Pieces::of_range(self.range, self.payload.bytes())
    }
    /// How many packets an object of `object_len` bytes makes; `None` beyond [`MAX_PACKETS`].
    pub fn packets(&self, object_len: u32) -> Option<u16> {
        let n = u16::try_from(self.pieces().count(object_len)).ok();
        n.filter(|n| *n <= MAX_PACKETS)
    }
    /// The group of the first cycle of `round`. Rounds begin with the groups in turn: the only packet
    /// of a round would otherwise go to the same group forever, even to one that has lost its way.
    pub const fn first_group(&self, round: u16) -> Group {
        match self.groups {
            Groups::Two => Self::first_of_two(round),
            Groups::One => Group::Odd,
        }
    }
    /// The same with two groups.
    pub(crate) const fn first_of_two(round: u16) -> Group {
        match round % 2 {
            1 => Group::Even,
            _ => Group::Odd,
        }
    }
    /// The group of the cycle after one of `group` (P3, section IV-B).
    pub const fn next_group(&self, group: Group) -> Group {
        match self.groups {
            Groups::Two => group.other(),
            Groups::One => group,
        }
    }
    /// The note in a NACK with this `vector`, and the bits after it; `None` if the vector is too short.
    pub(super) fn split<'n>(&self, vector: &'n [u8]) -> Option<(&'n [u8], &'n [u8])> {
        vector.split_at_checked(usize::from(self.note_bytes))
    }

    /// Whether it makes sense.
    pub fn check(&self) -> Result<(), SetupError> {
        let alike = self.policy.lengths == Lengths::Equal;
        let in_step = alike || self.groups == Groups::Two;
        match self.role {
            Role::Relay { stage, .. }
            | Role::Backup { stage, .. }
            | Role::Alternate { stage, .. }
                if stage == 0 || stage >= self.hops =>
            {
                Err(SetupError::NoSuchStage)
            }
            _ if self.payload.bytes() > self.format.max_payload() => {
                Err(SetupError::PayloadTooLarge)
            }
            _ if in_step && self.policy.passing == Passing::Conditional => {
                Err(SetupError::ConditionalNeedsOnePath)
            }
            _ if alike && self.payload.bytes() < MIN_NACK_BODY => {
                Err(SetupError::PayloadTooSmallForControl)
            }
            _ if usize::from(self.note_bytes + self.mic_bytes) + NACK_BODY_BYTES
                >= usize::from(MIN_NACK_BODY) =>
            {
                Err(SetupError::NoteTooLong)
            }
            _ => Ok(()),
        }
    }
}

/// Why a transfer cannot begin at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// Another one is under way.
    Busy,
    /// A relay's stage is not between the source's and the destination's.
    NoSuchStage,
    /// The object needs more than [`MAX_PACKETS`] packets of this size.
    TooManyPackets,
    /// Where all frames have one length, control frames must fit into it.
    PayloadTooSmallForControl,
    /// Relays that hold packets are out of step with others and with a grid of cycles.
    ConditionalNeedsOnePath,
    /// A frame of this format does not hold the payload.
    PayloadTooLarge,
    /// The note in a NACK leaves no room for its bit vector.
    NoteTooLong,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "another transfer is under way",
            Self::NoSuchStage => "a relay's stage must lie between source and destination",
            Self::TooManyPackets => "the object makes more than 16384 packets",
            Self::ConditionalNeedsOnePath => {
                "conditional transmission needs a single group and fixed channels"
            }
            Self::PayloadTooLarge => "a frame does not hold the payload",
            Self::NoteTooLong => "what is said in a NACK leaves no room for its bit vector",
            Self::PayloadTooSmallForControl => "channel hopping needs 32 bytes of payload",
        })
    }
}
impl core::error::Error for SetupError {}
