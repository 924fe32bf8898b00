//! Costs, and how near a node has said to be to a sink: what keeps loops from forming (DSDV).

use thalweg_wire::tree::Route;

/// A sixteenth of a transmission: the unit of costs.
pub const COST_UNIT: u16 = 16;

/// How near a node has said to be to a sink: a newer number of the sink's is nearer, with the same
/// number a lower cost (the order in which DSDV replaces routes).
///
/// A neighbour is followed only if the nearest that it ever said is nearer than the nearest that
/// the node itself ever said. What a node says later is never nearer to the sink than its parent was
/// then, so along every path these distances fall, whichever beacons are lost: towards one sink
/// there is no loop at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distance {
    sequence: u16,
    cost: u16,
}

impl Distance {
    pub(super) const fn of(route: &Route) -> Self {
        Self {
            sequence: route.sequence,
            cost: route.cost,
        }
    }
    pub(super) const fn is_nearer(self, than: Self) -> bool {
        is_newer(self.sequence, than.sequence)
            || (self.sequence == than.sequence && self.cost < than.cost)
    }
    pub(super) const fn or_nearer(self, other: Self) -> Self {
        match other.is_nearer(self) {
            true => other,
            false => self,
        }
    }
}

/// Whether `a` comes after `b`, numbers wrapping round.
pub(super) const fn is_newer(a: u16, b: u16) -> bool {
    a != b && a.wrapping_sub(b) < 0x8000
}
