//! Packets received lately, so that one whose acknowledgement was lost is not forwarded twice, and one that travels in
//! a loop is recognised.

use crate::ring::Fifo;
use thalweg_units::NodeId;

/// At most so many packets are remembered.
const REMEMBERED: usize = 32;

/// Whether a packet that comes in was received lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// It was not.
    New,
    /// It is the same transmission's, or its sender's, again.
    Again,
    /// It has been here and comes back over more links.
    Round,
}

#[derive(Debug)]
struct Entry {
    origin: NodeId,
    number: u16,
    hops: u8,
}

#[derive(Debug)]
pub(super) struct Recent(Fifo<Entry, REMEMBERED>);

impl Recent {
    /// Remembers the last `packets`.
    pub(super) const fn new(packets: usize) -> Self {
        Self(Fifo::new(packets))
    }

    /// Whether the packet, which had crossed `hops` links before the last, was received lately; it is remembered from
    /// now on.
    pub(super) fn sight(&mut self, origin: NodeId, number: u16, hops: u8) -> Sighting {
        let is_same = |entry: &&Entry| entry.origin == origin && entry.number == number;
        if let Some(entry) = self.0.iter().find(is_same) {
            return match hops > entry.hops {
                true => Sighting::Round,
                false => Sighting::Again,
            };
        }
        self.0.remember(Entry {
            origin,
            number,
            hops,
        });
        Sighting::New
    }
}
