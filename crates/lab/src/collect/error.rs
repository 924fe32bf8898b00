//! Why an object cannot be fetched, each in one line that names what was given.

use crate::transfer::SessionError;
use thalweg_testbeds::{SiteError, TestbedError};
use thalweg_units::{Channel, NodeId};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The testbed cannot be had.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// A node that the testbed does not have.
    #[error("{testbed}: has no node {node} (its nodes are {first} to {last})")]
    UnknownNode {
        /// The testbed.
        testbed: String,
        /// The node named.
        node: NodeId,
        /// The testbed's first node.
        first: NodeId,
        /// Its last.
        last: NodeId,
    },
    /// Source and sink are the same.
    #[error("node {0} is both source and sink; an object travels between two nodes")]
    SourceIsSink(NodeId),
    /// A loss on a link that is not there.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A channel that the testbed does not offer.
    #[error("{testbed}: channel {channel} is not available (available: {available})")]
    Channel {
        /// The testbed.
        testbed: String,
        /// The channel named.
        channel: Channel,
        /// Those it has.
        available: String,
    },
    /// The object makes too many packets.
    #[error("{bytes} bytes make {packets} packets of {payload} B; a transfer takes at most {max}")]
    TooLarge {
        /// Bytes of the object.
        bytes: u64,
        /// Packets that they make.
        packets: u64,
        /// Bytes of a packet.
        payload: u8,
        /// The most packets.
        max: u16,
    },
    /// The object has no byte.
    #[error("the object is empty; there is nothing to send")]
    Empty,
    /// No pair of nodes will do.
    #[error("{testbed}: no node is linked to node {sink}")]
    NoSource {
        /// The testbed.
        testbed: String,
        /// The sink.
        sink: NodeId,
    },
    /// The route is longer, or has more relays, than a wake-up message can tell.
    #[error("the route from node {from} has {hops} hops and {relays} relays; a transfer takes at most {max_hops} and {max_relays}", max_hops = super::LONGEST, max_relays = thalweg_wire::route::MAX_MEMBERS)]
    TooLong {
        /// The source.
        from: String,
        /// Its hops.
        hops: usize,
        /// Its relays.
        relays: usize,
    },
    /// There is no route; the message names nodes as the testbed does.
    #[error("{0}")]
    Plan(String),
    /// The network did not do what it should.
    #[error(transparent)]
    Session(SessionError),
    /// The capture file failed.
    #[error("capture: {0}")]
    Capture(#[from] thalweg_sim::CaptureError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl CollectError {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        !matches!(self, Self::Session(_) | Self::Capture(_) | Self::Stopped)
            || matches!(
                self,
                Self::Session(SessionError::TooManyNodes { .. } | SessionError::Board(_))
            )
    }
}

impl From<SessionError> for CollectError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Stopped => Self::Stopped,
            SessionError::Sim(thalweg_sim::SimError::Capture(error)) => Self::Capture(error),
            error => Self::Session(error),
        }
    }
}
