//! The tree of MultiHopLQI (TinyOS 1.x, which RCRT stands on: section 4.1): paths of least cost by LQI.
//!
//! The cost of a link comes of the LQI of the last beacon over it alone, so only beacons that arrived count
//! and bad links look good. No node reports how well it hears others. Time base: the node's clock.
//! Invariant: the parent is a neighbour that advertised a route and did not name this node in it. Loops do
//! form: there are no sinks' numbers, and a loop ends when its packets come round. Tests: `tests.rs`.

use super::Role;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::tree::{LqiBeacon, LqiRoute, Stamp};
use thalweg_wire::FrameBuf;

/// A parent is given up after so many beacon intervals of silence.
const SILENT_INTERVALS: u64 = 8;
/// What the CC2420's LQI lies between; below, the stack's cost ran over in 16 bits.
const LQI: (u8, u8) = (50, 110);
/// What an LQI is short of, to be the base of a cost.
const COST_FROM: u8 = 130;
/// The greatest cost that a route can have: the next is that of no route.
const MAX_COST: u32 = LqiRoute::NO_COST as u32 - 1;

/// What a link costs over which a beacon came with `lqi`: about x^3 / 64 with x = 130 - LQI, each
/// division rounded down. 125 at an LQI of 110, 1000 at 90, 8000 at 50.
fn link_cost(lqi: u8) -> u32 {
    let x = u32::from(COST_FROM - lqi.clamp(LQI.0, LQI.1));
    x * x / 8 * x / 8
}

#[derive(Debug, Clone, Copy)]
struct Parent {
    id: NodeId,
    /// That it advertised last.
    route: LqiRoute,
    /// Of the link to it.
    link: u32,
    heard: Instant,
}

impl Parent {
    fn cost(&self) -> u32 {
        u32::from(self.route.cost) + self.link
    }
}

/// What a node knows of such a tree.
#[derive(Debug)]
pub(super) struct Lqi {
    id: NodeId,
    role: Role,
    interval: Duration,
    parent: Option<Parent>,
}

impl Lqi {
    pub(super) const fn new(id: NodeId, role: Role, interval: Duration) -> Self {
        Self {
            id,
            role,
            interval,
            parent: None,
        }
    }
    pub(super) fn parent(&self) -> Option<NodeId> {
        self.parent.map(|parent| parent.id)
    }
    /// Whether the neighbour `id` is its parent and a sink.
    pub(super) fn is_sink(&self, id: NodeId) -> bool {
        (self.parent).is_some_and(|parent| parent.id == id && parent.route.hops == 0)
    }
    /// Gives up its parent.
    pub(super) fn leave(&mut self) {
        self.parent = None;
    }

    /// A beacon came in with `lqi`. The parent's renews what is known of it, or ends it; another's is
    /// followed if its path is cheaper by more than a quarter.
    pub(super) fn beacon(&mut self, now: Instant, beacon: &LqiBeacon, lqi: u8) {
        if self.role == Role::Sink {
            return;
        }
        let from = beacon.link.from;
        let route = beacon.route.filter(|route| route.parent != self.id);
        let offer = route.map(|route| Parent {
            id: from,
            route,
            link: link_cost(lqi),
            heard: now,
        });
        match (self.parent, offer) {
            (Some(parent), offer) if parent.id == from => self.parent = offer,
            (Some(parent), Some(offer)) => {
                let cost = parent.cost();
                if offer.cost() < cost - cost / 4 {
                    self.parent = Some(offer);
                }
            }
            (None, offer) => self.parent = offer,
            (Some(_), None) => {}
        }
    }

    /// Gives up a parent that fell silent.
    pub(super) fn expect(&mut self, now: Instant) {
        let is_heard =
            |parent: &Parent| now.since(parent.heard) <= self.interval * SILENT_INTERVALS;
        self.parent = self.parent.filter(is_heard);
    }

    /// The beacon that is due, with `sequence` as its frame's number and an empty stamp; none of leaves.
    /// One without a route sends children to look for another parent.
    pub(super) fn build_beacon(&self, sequence: u8) -> Option<FrameBuf> {
        let route = match self.role {
            Role::Sink => Some(LqiRoute {
                cost: 0,
                hops: 0,
                parent: self.id,
            }),
            Role::Router => self.parent.map(|parent| LqiRoute {
                cost: parent.cost().min(MAX_COST) as u16,
                hops: parent.route.hops.saturating_add(1),
                parent: parent.id,
            }),
            Role::Leaf => return None,
        };
        let beacon = LqiBeacon {
            link: Header {
                sequence,
                to: None,
                from: self.id,
            },
            stamp: Stamp::default(),
            route,
        };
        FrameBuf::build(|w| beacon.emit(w)).ok()
    }
}
