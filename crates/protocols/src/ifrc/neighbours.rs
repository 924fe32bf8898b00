//! What a node has overheard of its neighbours' rates and congestion (IFRC).
//!
//! Time is counted in packets that the node sent itself: a neighbour that was not heard for
//! [`FORGOTTEN_AFTER`] of them is forgotten. Tests: `tests.rs`.

use thalweg_units::NodeId;
use thalweg_wire::ifrc::{Control, Rate, State};

/// Neighbours that are kept; a newcomer takes the place of the one that was not heard for longest.
const MAX_NEIGHBOURS: usize = 40;
/// After so many packets without a frame of its own a neighbour is forgotten.
const FORGOTTEN_AFTER: u16 = 50;

/// What a neighbour is to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    /// It hands packets over to the node.
    Child,
    /// It has not yet.
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Neighbour {
    id: NodeId,
    kin: Kin,
    control: Control,
    heard_at: u16,
}

/// States that crossed a threshold, according to one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Crossed {
    /// The neighbour's own.
    pub(super) own: Option<State>,
    /// Its lowest-rate congested child's.
    pub(super) child: Option<State>,
}

#[derive(Debug)]
pub(super) struct Neighbours {
    slots: [Option<Neighbour>; MAX_NEIGHBOURS],
    /// Packets that the node sent, wrapping round.
    sent: u16,
}

impl Neighbours {
    pub(super) const EMPTY: Self = Self {
        slots: [None; MAX_NEIGHBOURS],
        sent: 0,
    };

    /// `id` was heard: which thresholds were crossed since. A child stays one until it is forgotten.
    pub(super) fn heard(&mut self, id: NodeId, kin: Kin, control: Control) -> Crossed {
        let before = self.get(id).copied();
        let rose = |old: u8, new: State| (new.crossed > old).then_some(new);
        let child_before = |child: NodeId| {
            let earlier = before.and_then(|b| b.control.child);
            earlier
                .filter(|(id, _)| *id == child)
                .map_or(0, |(_, state)| state.crossed)
        };
        let crossed = Crossed {
            own: rose(before.map_or(0, |b| b.control.own.crossed), control.own),
            child: control
                .child
                .and_then(|(child, state)| rose(child_before(child), state)),
        };
        let kin = match before {
            Some(before) if before.kin == Kin::Child => Kin::Child,
            _ => kin,
        };
        let sent = self.sent;
        let place = |n: &Option<Neighbour>| n.is_some_and(|n| n.id == id);
        let place = self.slots.iter().position(place);
        let place = place.or_else(|| self.slots.iter().position(Option::is_none));
        let age = |n: &Option<Neighbour>| n.map_or(0, |n| sent.wrapping_sub(n.heard_at));
        let oldest = || (0..self.slots.len()).max_by_key(|k| self.slots.get(*k).map_or(0, age));
        if let Some(slot) = place.or_else(oldest).and_then(|k| self.slots.get_mut(k)) {
            *slot = Some(Neighbour {
                id,
                kin,
                control,
                heard_at: sent,
            });
        }
        crossed
    }
    /// The node has sent a packet of its own.
    pub(super) fn sent(&mut self) {
        self.sent = self.sent.wrapping_add(1);
        for slot in &mut self.slots {
            let is_old = |n: Neighbour| self.sent.wrapping_sub(n.heard_at) > FORGOTTEN_AFTER;
            if slot.is_some_and(is_old) {
                *slot = None;
            }
        }
    }
    fn get(&self, id: NodeId) -> Option<&Neighbour> {
        self.slots.iter().flatten().find(|n| n.id == id)
    }
    /// The rate of `id`, where it is known.
    pub(super) fn rate(&self, id: NodeId) -> Option<Rate> {
        self.get(id).map(|n| n.control.own.rate)
    }
    fn children(&self) -> impl Iterator<Item = &Neighbour> {
        let slots = self.slots.iter().flatten();
        slots.filter(|n| n.kin == Kin::Child)
    }
    /// Of the congested children the one with the lowest rate.
    pub(super) fn most_congested_child(&self) -> Option<(NodeId, State)> {
        let congested = self.children().filter(|n| n.control.own.crossed > 0);
        let lowest = congested.min_by_key(|n| (n.control.own.rate, n.id));
        lowest.map(|n| (n.id, n.control.own))
    }
    /// The children's largest rate; none without children.
    pub(super) fn largest_child_rate(&self) -> Option<Rate> {
        self.children().map(|n| n.control.own.rate).max()
    }
    pub(super) fn forget(&mut self) {
        self.slots = [None; MAX_NEIGHBOURS];
    }
}
