//! The queue between the application and the MAC: packets in the order in which they came.
//! Invariant: it never holds more than its limit.

use thalweg_units::NodeId;
use thalweg_wire::FrameBuf;

/// The most that any queue can be set to hold.
pub const MAX_QUEUE: usize = 16;

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Who made it.
    pub origin: NodeId,
    /// Its number there.
    pub number: u16,
    /// Links that it has crossed.
    pub hops: u8,
    /// What it carries.
    pub payload: FrameBuf,
}

impl Packet {
    const NOTHING: Self = Self {
        origin: NodeId::MAX,
        number: 0,
        hops: 0,
        payload: FrameBuf::EMPTY,
    };
}

/// The queue.
#[derive(Debug)]
pub struct Queue {
    ring: [Packet; MAX_QUEUE],
    first: usize,
    len: usize,
    limit: usize,
}

impl Queue {
    /// An empty queue of at most `limit` packets, at least one.
    pub const fn new(limit: u8) -> Self {
        let limit = limit as usize;
        let limit = if limit > MAX_QUEUE { MAX_QUEUE } else { limit };
        Self {
            ring: [Packet::NOTHING; MAX_QUEUE],
            first: 0,
            len: 0,
            limit: if limit == 0 { 1 } else { limit },
        }
    }
    /// How many packets wait.
    pub const fn len(&self) -> usize {
        self.len
    }
    /// Whether none does.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether there is no room.
    pub const fn is_full(&self) -> bool {
        self.len >= self.limit
    }
    /// Which share of it is free, 0 to 1.
    pub fn free(&self) -> f64 {
        (self.limit - self.len) as f64 / self.limit as f64
    }
    /// Appends a packet; false where there is no room.
    #[must_use]
    pub fn push(&mut self, packet: Packet) -> bool {
        if self.is_full() {
            return false;
        }
        let place = (self.first + self.len) % MAX_QUEUE;
        if let Some(slot) = self.ring.get_mut(place) {
            *slot = packet;
            self.len += 1;
        }
        true
    }
    /// The packet that is next.
    pub fn head(&self) -> Option<&Packet> {
        self.ring.get(self.first).filter(|_| self.len > 0)
    }
    /// Takes the packet that is next.
    pub fn pop(&mut self) -> Option<Packet> {
        let head = *self.head()?;
        self.first = (self.first + 1) % MAX_QUEUE;
        self.len -= 1;
        Some(head)
    }
    /// All packets, next first.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> + '_ {
        (0..self.len).filter_map(|k| self.ring.get((self.first + k) % MAX_QUEUE))
    }
}
