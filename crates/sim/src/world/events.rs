//! What is in the world's queue: events, notices to engines, and the frames that they speak of. Time base: [`SimTime`], and a
//! node's own [`Instant`] in notices.

use crate::hooks::Kind;
use thalweg_engine::{Activity as RadioActivity, OpId, Refusal};
use thalweg_medium::FrameId;
use thalweg_units::{Channel, Dbm, Instant, NodeId, SimTime};
use thalweg_wire::FrameBuf;

/// A frame that was sent, kept while notices of it may be outstanding.
pub(crate) struct Frame {
    pub(crate) id: FrameId,
    /// The operation that sent it; none for an acknowledgement by the radio itself.
    pub(crate) op: Option<OpId>,
    /// The radio that sent it.
    pub(crate) from: usize,
    /// The radio that it is meant for, where that is one.
    pub(crate) to: Option<usize>,
    /// What its header says, where nodes have addresses.
    pub(crate) destination: Option<NodeId>,
    pub(crate) kind: Kind,
    pub(crate) start: SimTime,
    pub(crate) sfd: SimTime,
    pub(crate) channel: Channel,
    pub(crate) mpdu: FrameBuf,
    pub(crate) users: u32,
}

/// A message to an engine about one of its radios.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Notice {
    Done(OpId),
    /// The receiver is on; not, if it was sent to sleep meanwhile.
    On(OpId),
    Sent(OpId, Instant),
    Refused(OpId, Refusal),
    /// A reading, taken when it is delivered.
    Sense(OpId),
    /// The last sample of an assessment.
    Found(OpId, Dbm, RadioActivity),
    Head {
        frame: u32,
        bytes: u8,
        sfd: Instant,
        tuning: u32,
    },
    Frame {
        frame: u32,
        bytes: u8,
        sfd: Instant,
        end: Instant,
        rssi: Dbm,
        lqi: u8,
    },
    Corrupt {
        sfd: Instant,
    },
}

/// `node` is a node's number in `Timer`, `Work`, `Background`, `Resume` and `Boot`, else a radio's (see
/// [`World::new`](super::World::new)).
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// A sleeping radio's oscillator starts, for a transmission.
    Wake {
        node: u32,
        token: u32,
    },
    Strobe {
        node: u32,
        token: u32,
    },
    Tune {
        node: u32,
        tuning: u32,
    },
    AirStart {
        node: u32,
        token: u32,
    },
    AirEnd {
        frame: u32,
    },
    Head {
        node: u32,
        frame: u32,
        tuning: u32,
    },
    Notify {
        node: u32,
        notice: u32,
    },
    Timer {
        node: u32,
    },
    /// The next sample of an assessment is due.
    Assess {
        node: u32,
        op: OpId,
    },
    /// A piece of a microcontroller's work ends.
    Work {
        node: u32,
        begun: u32,
    },
    Undeafen {
        node: u32,
    },
    /// A run of background work is due.
    Background {
        node: u32,
    },
    /// A bus that was held may be free, or interrupts are on again.
    Resume {
        node: u32,
    },
    /// A fault that was planned strikes.
    Strike {
        planned: u32,
    },
    /// A node may have booted.
    Boot {
        node: u32,
    },
}
