//! Next hops of a node: up a tree, and down by what packets left behind on their way up (RCRT,
//! section 4.1).
//!
//! Time base: the node's clock. Invariant: a table never holds two routes to one node. A node without
//! a route hands a packet straight to its destination, as RCRT's authors did: either the destination is
//! in reach or nothing is lost that was not lost before. Tests: `tests.rs`.

use super::{Role, Router, Routing};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::tree::Way;

/// A route that no packet came by for so long is not followed: what RCRT's authors took.
pub const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, Copy)]
struct Left {
    to: NodeId,
    by: NodeId,
    /// Seconds of the node's clock at which a packet came by last.
    second: u32,
}

/// Routes down, learnt from packets on their way up: to each origin by the neighbour that handed over
/// its latest packet. At most `N`; where more are needed, the one unused for longest goes.
#[derive(Debug, Clone)]
pub struct Reverse<const N: usize> {
    /// The latest first.
    list: [Left; N],
    len: usize,
}

impl<const N: usize> Reverse<N> {
    /// No route yet.
    pub const EMPTY: Self = Self {
        list: [Left {
            to: NodeId::MAX,
            by: NodeId::MAX,
            second: 0,
        }; N],
        len: 0,
    };

    /// A packet that `origin` made came from the neighbour `by`.
    #[inline]
    pub fn learn(&mut self, now: Instant, origin: NodeId, by: NodeId) {
        let known = self.list.iter().take(self.len);
        let place = known.map(|left| left.to).position(|to| to == origin);
        let place = place.unwrap_or_else(|| {
            self.len = (self.len + 1).min(N);
            self.len.saturating_sub(1)
        });
        if let Some(from_first) = self.list.get_mut(..=place) {
            from_first.rotate_right(1);
            from_first[0] = Left {
                to: origin,
                by,
                second: second(now),
            };
        }
    }
    /// The neighbour by which `to` is reached, unless that was too long ago.
    pub fn next_hop(&self, now: Instant, to: NodeId) -> Option<NodeId> {
        let mut known = self.list.iter().take(self.len);
        let left = known.find(|left| left.to == to)?;
        let age = second(now).wrapping_sub(left.second);
        (u64::from(age) < FORGOTTEN_AFTER.as_micros() / 1_000_000).then_some(left.by)
    }
}

fn second(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}

/// Both ways. `DOWN` is how many nodes can be reached on the way down.
#[derive(Debug)]
pub struct Routes<const DOWN: usize> {
    /// Up.
    pub up: Router,
    /// Down.
    pub down: Reverse<DOWN>,
}

impl<const DOWN: usize> Routes<DOWN> {
    /// Routes of a node that knows nobody yet; see [`Router::new`].
    pub fn new(id: NodeId, role: Role, routing: Routing, now: Instant, seed: u64) -> Self {
        Self {
            up: Router::new(id, role, routing, now, seed),
            down: Reverse::EMPTY,
        }
    }
    /// The neighbour that a packet goes to next; none on the way up without a parent.
    #[inline]
    pub fn next_hop(&self, now: Instant, way: Way) -> Option<NodeId> {
        match way {
            Way::Up => self.up.parent(),
            Way::Down { to } => Some(self.down.next_hop(now, to).unwrap_or(to)),
        }
    }
}
