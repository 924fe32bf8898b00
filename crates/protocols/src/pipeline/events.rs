//! Events of a pipeline for the layer above, and its counters.

use super::adaptation::Chain;
pub use super::end::End;
use super::session::SetupError;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::pipeline::{Counts, Group};

/// An object is complete at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Complete {
    /// Bytes transferred, without padding.
    pub len: u32,
    /// Bytes of the whole object at the source.
    pub object_len: u32,
    /// The object's digest at the source.
    pub digest: [u8; 8],
    /// How many packets it took.
    pub packets: u16,
    /// How many of them arrived in the first round.
    pub first_round: u16,
    /// How many rounds there were.
    pub rounds: u16,
    /// When the last missing packet had been received, in this node's clock; the transfer's start
    /// where there was none.
    pub last_packet: Instant,
}

/// Events for the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The transfer does not begin here.
    Refused(SetupError),
    /// Destination: so many packets are there.
    Progress {
        /// How many.
        received: u16,
    },
    /// Source: all packets of a round were sent.
    RoundSent {
        /// Which, from 0.
        round: u16,
        /// How many packets were sent in it.
        sent: u16,
    },
    /// Source and destination: how many packets had arrived after a round.
    RoundReported {
        /// Which, from 0.
        round: u16,
        /// How many are there.
        received: u16,
        /// Of how many.
        packets: u16,
    },
    /// Destination: a chain delivered too little of a probe or round. Another takes its place, or the transfer ends.
    Degraded {
        /// Whose.
        group: Group,
        /// Which.
        chain: Chain,
    },
    /// Destination: how many packets of a group each stage of its planned chain received.
    Counted {
        /// Whose.
        group: Group,
        /// How many.
        counts: Counts,
    },
    /// Destination: everything is there. The transfer goes on until the source knows.
    Complete(Complete),
    /// Destination: another node's report of the last sweep is there, until the next event: see
    /// [`super::Pipeline::report`]. For the layer that owns the floods.
    Report {
        /// Whose.
        from: NodeId,
        /// How many bytes.
        len: u8,
    },
    /// This node's part is over and its radio sleeps.
    Finished(End),
}

/// What a node counted in its last or present transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Packets of the transfer, where known (source; destination after the first round).
    pub packets: u16,
    /// Source: rounds begun.
    pub rounds: u16,
    /// Source: data frames sent, all rounds.
    pub data_sent: u32,
    /// Source: requests that stayed unanswered.
    pub unanswered: u32,
    /// Destination: different packets received.
    pub received: u16,
    /// Destination: packets received again.
    pub duplicates: u32,
    /// Destination: packets that the store had no room for.
    pub no_room: u32,
    /// Relay: frames forwarded.
    pub forwarded: u32,
    /// Relay: packets not forwarded because of the threshold.
    pub withheld: u32,
    /// Relay: receptions aborted midway.
    pub aborted: u32,
    /// Transmissions that the radio refused.
    pub refused: u32,
    /// Of a sealed transfer: requests and NACKs, or hop by hop frames of any kind, whose MIC was wrong.
    pub forged: u16,
}

impl Stats {
    /// Source: data frames sent again.
    pub fn retransmitted(&self) -> u32 {
        self.data_sent.saturating_sub(u32::from(self.packets))
    }
}
