//! Keeps the objects of a few simulated nodes in memory: those that orders fetch from. Tests: at the end.

use std::collections::VecDeque;
use thalweg_host::transfer::pipeline::Order;
use thalweg_protocols::mote::Command;
use thalweg_units::NodeId;
use thalweg_wire::hop::Subject;

/// For each transfer at once: the source of the one before may still be sending.
const IN_MEMORY: usize = 2;

/// A change before an order is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Make the node's object and offer it.
    Offer(NodeId),
    /// Drop the node's object.
    Withdraw(NodeId),
}

/// The nodes whose objects are in memory, the latest last.
#[derive(Debug)]
pub(crate) struct Offers {
    nodes: VecDeque<NodeId>,
    most: usize,
}

impl Default for Offers {
    fn default() -> Self {
        Self::of_transfers(1)
    }
}

impl Offers {
    /// Where so many transfers go at once.
    pub(crate) fn of_transfers(at_once: usize) -> Self {
        Self {
            nodes: VecDeque::new(),
            most: IN_MEMORY * at_once,
        }
    }
    /// The changes before `order`.
    pub(crate) fn change(&mut self, order: &Order) -> Vec<Change> {
        let source = match order {
            Command::Fetch(route) | Command::FetchTogether { route, .. } => route.source,
            Command::FetchHops(route) if route.subject == Subject::Object => route.source(),
            _ => return Vec::new(),
        };
        if let Some(at) = self.nodes.iter().position(|node| *node == source) {
            // Now the latest.
            self.nodes.remove(at);
            self.nodes.push_back(source);
            return Vec::new();
        }
        self.nodes.push_back(source);
        let gone = (self.nodes.len() > self.most)
            .then(|| self.nodes.pop_front())
            .flatten();
        let gone = gone.map(Change::Withdraw);
        gone.into_iter().chain([Change::Offer(source)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Channel;
    use thalweg_wire::hop::HopRoute;
    use thalweg_wire::route::{Channels, ObjectRange, Route, Scheme};

    #[test]
    fn the_last_two_nodes_fetched_from_have_their_objects() {
        let id = |n| NodeId::new(n).unwrap();
        let channels = Channels::new(&[Channel::LAST; 2]).unwrap();
        let fetch = |from| Order::Fetch(Route::new(1, id(from), id(1), Scheme::Thalweg, channels));
        let mut offers = Offers::default();
        let offer = |n| Change::Offer(id(n));
        assert_eq!(offers.change(&Order::Stop), []);
        assert_eq!(offers.change(&fetch(5)), [offer(5)]);
        assert_eq!(offers.change(&fetch(6)), [offer(6)]);
        assert_eq!(offers.change(&fetch(5)), []);
        let gone = Change::Withdraw(id(6));
        assert_eq!(offers.change(&fetch(7)), [gone, offer(7)]);
        // A path hop by hop ends at an object, too.
        let nodes = [(id(8), Channel::LAST), (id(1), Channel::LAST)];
        let mut hops = HopRoute::new(2, &nodes, ObjectRange::ALL, 100).unwrap();
        let changed = offers.change(&Order::FetchHops(hops));
        assert_eq!(changed, [Change::Withdraw(id(5)), offer(8)]);
        hops.subject = Subject::Report;
        assert_eq!(offers.change(&Order::FetchHops(hops)), []);
    }
}
