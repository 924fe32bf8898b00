//! Packets that were received lately, so that one whose acknowledgement was lost is not forwarded
//! twice, and one that went round in a circle is known for it.

use thalweg_units::NodeId;

/// So many packets are remembered.
const REMEMBERED: usize = 32;

/// What is known of a packet that comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sighting {
    /// It was not received lately.
    New,
    /// It is the same transmission's, or its sender's, again.
    Again,
    /// It has been here and comes back over more links.
    Round,
}

/// The packets.
#[derive(Debug)]
pub(super) struct Recent {
    /// Origin and number, and links crossed so far.
    packets: [(u32, u8); REMEMBERED],
    count: usize,
}

impl Recent {
    pub(super) const fn new() -> Self {
        Self {
            packets: [(0, 0); REMEMBERED],
            count: 0,
        }
    }
    /// Whether the packet, which has crossed `hops` links, was received lately; it is remembered from
    /// now on.
    pub(super) fn see(&mut self, origin: NodeId, number: u16, hops: u8) -> Sighting {
        let key = u32::from(origin.get()) << 16 | u32::from(number);
        let mut known = self.packets.iter().take(self.count);
        if let Some((_, before)) = known.find(|(known, _)| *known == key) {
            return if hops > *before {
                Sighting::Round
            } else {
                Sighting::Again
            };
        }
        if let Some(slot) = self.packets.get_mut(self.count % REMEMBERED) {
            *slot = (key, hops);
        }
        self.count += 1;
        Sighting::New
    }
}
