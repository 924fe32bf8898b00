//! What is asked of a plan, and why there may be none.

use super::LONGEST;
use crate::registry::Pipelined;
use crate::segments::LARGEST;
use thalweg_planner::Style;
use thalweg_units::{Channel, NodeId};
use thalweg_wire::hop;
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::{PayloadSize, Scheme, MAX_MEMBERS};

/// Why a request is refused, or cannot be planned. Nodes have the network's names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanRequestError {
    /// A node that the network does not have.
    #[error("{network}: has no node {node} (its lowest is {first}, its highest {last})")]
    UnknownNode {
        /// The network.
        network: String,
        /// The node named.
        node: NodeId,
        /// The network's first node.
        first: NodeId,
        /// Its last.
        last: NodeId,
    },
    /// Source and sink are the same.
    #[error("node {0} is both source and sink; an object travels between two nodes")]
    SourceIsSink(String),
    /// A channel that the network does not offer.
    #[error("{network}: channel {channel} is not available (available: {available})")]
    Channel {
        /// The network.
        network: String,
        /// The channel named.
        channel: Channel,
        /// Those it has.
        available: String,
    },
    /// The object makes too many packets.
    #[error("an object of {bytes} bytes; in packets of {payload} B at most {} can be sent so", u64::from(*.max) * u64::from(*.payload))]
    TooLarge {
        /// Bytes of the object.
        bytes: u64,
        /// Bytes of a packet.
        payload: u8,
        /// The most packets.
        max: u32,
    },
    /// The object is larger than what is taken of a node.
    #[error("an object of {bytes} bytes; at most {LARGEST} are taken")]
    Oversized {
        /// Bytes of the object.
        bytes: u64,
    },
    /// The object has no byte.
    #[error("the object is empty; there is nothing to send")]
    Empty,
    /// No node has a route to the sink.
    #[error("{network}: no node is linked to node {sink}: {heard}")]
    NoSource {
        /// The network.
        network: String,
        /// The sink.
        sink: String,
        /// What the sink hears, and who hears it.
        heard: String,
    },
    /// The route is longer, or has more relays, than a wake-up message holds.
    #[error("the route from node {from} has {hops} hops and {relays} relays; a transfer takes at most {longest} and {MAX_MEMBERS}{}", longer(*longest))]
    TooLong {
        /// The source.
        from: String,
        /// Its hops.
        hops: usize,
        /// Its relays.
        relays: usize,
        /// The most hops.
        longest: usize,
    },
    /// There is no route.
    #[error("{0}")]
    Plan(String),
}

impl PlanRequestError {
    /// Whether there may be a plan over other links.
    pub const fn is_of_links(&self) -> bool {
        matches!(
            self,
            Self::Plan(_) | Self::NoSource { .. } | Self::TooLong { .. }
        )
    }
}

/// A request to the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanRequest {
    /// The source; the planner picks a far node where none is named.
    pub from: Option<NodeId>,
    /// Bytes of the object.
    pub bytes: u64,
    /// The protocol, and with it the kind of plan.
    pub protocol: Pipelined,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// At most this many paths.
    pub paths: Option<u8>,
    /// Exactly this many hops.
    pub hops: Option<u8>,
}

impl PlanRequest {
    /// Packets of the object, over all its segments.
    ///
    /// # Errors
    /// [`PlanRequestError::Empty`], [`PlanRequestError::Oversized`].
    pub fn packets(&self) -> Result<u32, PlanRequestError> {
        let bytes = self.bytes;
        if bytes > u64::from(LARGEST) {
            return Err(PlanRequestError::Oversized { bytes });
        }
        packets(self.bytes, self.payload.bytes(), u32::MAX)
    }
    /// The most bytes of one transfer: a longer object goes in segments. Never above what the baseline's frames hold.
    pub fn segment_bytes(&self) -> u32 {
        u32::from(MAX_PACKETS) * u32::from(self.payload.bytes())
    }
}

/// Packets of `payload` bytes that `bytes` bytes make, of at most `max`.
///
/// # Errors
/// [`PlanRequestError::Empty`], [`PlanRequestError::TooLarge`].
pub fn packets(bytes: u64, payload: u8, max: u32) -> Result<u32, PlanRequestError> {
    let packets = bytes.div_ceil(u64::from(payload.max(1)));
    match u32::try_from(packets) {
        Ok(0) => Err(PlanRequestError::Empty),
        Ok(n) if n <= max => Ok(n),
        _ => Err(PlanRequestError::TooLarge {
            bytes,
            payload,
            max,
        }),
    }
}

/// The longest route of a style, in hops.
pub(super) fn longest(style: Style) -> usize {
    match style {
        Style::Hops => usize::from(hop::MAX_HOPS),
        Style::Paths | Style::Chains => LONGEST,
    }
}

/// What takes longer routes, where that is not what was asked.
fn longer(longest: usize) -> String {
    match longest {
        LONGEST => format!("; `thalweg` and `hop-by-hop` take {} hops", hop::MAX_HOPS),
        _ => String::new(),
    }
}

/// What takes weaker links, where that is not what was asked.
pub(super) const fn weaker(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Thalweg | Scheme::HopByHop => "",
        _ => "; `thalweg` and `hop-by-hop` take weaker links too",
    }
}
