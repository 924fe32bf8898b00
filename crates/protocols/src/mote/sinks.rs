//! How far away sinks are, in slots that the floods of the last wake-ups took.
//!
//! Invariants: none of the last [`MEMORY`] floods is forgotten; nodes that heard the same floods remember the same.
//! Tests: at the end, `tests/windows.rs`.

use core::num::NonZeroU8;
use thalweg_units::NodeId;

/// So many floods are remembered at least, and less than twice as many: two segments of four sinks that call together.
const MEMORY: u8 = 8;

/// What is remembered of the floods that came last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sinks {
    /// The most slots until one came, of those since a multiple of [`MEMORY`] and of as many before.
    slots: [Option<NonZeroU8>; 2],
    /// Floods since that multiple.
    since: u8,
    /// A bit for each of the last eight, the last one's lowest: it was this node's own.
    own: u8,
}

impl Sinks {
    /// None was heard.
    pub(super) const NONE: Self = Self {
        slots: [None; 2],
        since: 0,
        own: 0,
    };

    /// A flood of a wake-up by `sink` came to `node` with such a `relay` counter.
    pub(super) fn note_flood(&mut self, node: NodeId, sink: NodeId, relay: u8) {
        if self.since >= MEMORY {
            self.slots = [None, self.slots[0]];
            self.since = 0;
        }
        self.since += 1;
        self.slots[0] = self.slots[0].max(NonZeroU8::MIN.checked_add(relay));
        self.own = self.own << 1 | u8::from(node == sink);
    }
    /// Whether those who heard the same floods know how far this node is.
    pub(super) const fn know_me(&self) -> bool {
        self.own != 0
    }
    /// After how many slots the farthest one's frame was whole; `None` where none was heard.
    pub(super) fn slots(&self) -> Option<u8> {
        self.slots.into_iter().flatten().max().map(NonZeroU8::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> (NodeId, NodeId) {
        (NodeId::new(1).unwrap(), NodeId::new(2).unwrap())
    }

    #[test]
    fn the_farthest_of_the_last_floods_counts() {
        let (me, other) = ids();
        let mut sinks = Sinks::NONE;
        assert_eq!((sinks.slots(), sinks.know_me()), (None, false));
        for first in 0..2 * MEMORY {
            for _ in 0..first {
                sinks.note_flood(me, other, 1);
            }
            sinks.note_flood(me, me, 0);
            sinks.note_flood(me, other, 6);
            for _ in 1..MEMORY {
                assert_eq!((sinks.slots(), sinks.know_me()), (Some(7), true));
                sinks.note_flood(me, other, 2);
            }
            assert_eq!((sinks.slots(), sinks.know_me()), (Some(7), false));
            for _ in 0..2 * MEMORY {
                sinks.note_flood(me, other, 2);
            }
            assert_eq!(sinks.slots(), Some(3), "a short one is no measure for ever");
        }
    }

    #[test]
    fn no_counter_is_too_large() {
        let (me, mut sinks) = (ids().0, Sinks::NONE);
        sinks.note_flood(me, me, u8::MAX);
        assert_eq!(sinks.slots(), None);
    }
}
