//! Next hops of a node: up a tree, and down by what packets left behind on their way up (RCRT,
//! section 4.1).
//!
//! Time base: the node's clock. Invariant: a table never holds two routes to one node. A node without
//! a route hands a packet straight to its destination, as RCRT's authors did: either the destination is
//! in reach or nothing is lost that was not lost before. Tests: `tests.rs`.

use super::Router;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::tree::Direction;

/// A route that no packet came by for so long is not followed: what RCRT's authors took.
pub const FORGOTTEN_AFTER_S: u32 = 600;

#[derive(Debug, Clone, Copy)]
struct Left {
    to: NodeId,
    by: NodeId,
    /// Seconds of the node's clock at which a packet came by last.
    second: u32,
}

/// The next hops of a node: up by its tree, down to at most `DOWN` nodes by the neighbour that handed
/// over the latest packet of each. Where more are needed, the route unused for longest goes.
#[derive(Debug)]
pub struct Routes<const DOWN: usize> {
    /// Up.
    pub up: Router,
    /// The latest first.
    left: [Left; DOWN],
    len: usize,
}

impl<const DOWN: usize> Routes<DOWN> {
    /// Routes of a node that knows no way but its tree.
    pub const fn new(up: Router) -> Self {
        let none = Left {
            to: NodeId::MAX,
            by: NodeId::MAX,
            second: 0,
        };
        Self {
            up,
            left: [none; DOWN],
            len: 0,
        }
    }
    /// A packet that `origin` made, on its way up, came from the neighbour `by`.
    pub fn learn(&mut self, now: Instant, origin: NodeId, by: NodeId) {
        let known = self.left.iter().take(self.len);
        let place = known.map(|left| left.to).position(|to| to == origin);
        let place = place.unwrap_or_else(|| {
            self.len = (self.len + 1).min(DOWN);
            self.len.saturating_sub(1)
        });
        if let Some(before) = self.left.get_mut(..=place) {
            before.rotate_right(1);
            before[0] = Left {
                to: origin,
                by,
                second: second(now),
            };
        }
    }
    /// The neighbour that a packet goes to next; none on the way up without a parent.
    #[inline]
    pub fn next_hop(&self, now: Instant, direction: Direction) -> Option<NodeId> {
        let to = match direction {
            Direction::Up => return self.up.parent(),
            Direction::Down { to } => to,
        };
        let is_fresh = |left: &&Left| second(now).wrapping_sub(left.second) < FORGOTTEN_AFTER_S;
        let known = self.left.iter().take(self.len).find(|left| left.to == to);
        Some(known.filter(is_fresh).map_or(to, |left| left.by))
    }
}

fn second(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}
