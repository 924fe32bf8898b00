//! Which simulated nodes have their objects in memory: those that an order fetches from, as the order comes. So a
//! network whose nodes have large objects takes no more memory than two of them. Tests: at the end.

use std::collections::VecDeque;
use thalweg_host::transfer::pipeline::Order;
use thalweg_protocols::mote::Command;
use thalweg_units::NodeId;

/// The source of the transfer before may still be sending.
const KEPT: usize = 2;

/// What is to be done before an order is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The node's object is made, and offered.
    Offer(NodeId),
    /// The node's object is put away.
    Withdraw(NodeId),
}

/// The nodes whose objects are there.
#[derive(Debug, Default)]
pub(crate) struct Offers(VecDeque<NodeId>);

impl Offers {
    /// What changes with `order`.
    pub(crate) fn asked(&mut self, order: &Order) -> Vec<Change> {
        let (Command::Fetch(route) | Command::FetchTogether { route, .. }) = order else {
            return Vec::new();
        };
        let source = route.source;
        if let Some(at) = self.0.iter().position(|node| *node == source) {
            // The last one that was asked.
            self.0.remove(at);
            self.0.push_back(source);
            return Vec::new();
        }
        self.0.push_back(source);
        let gone = (self.0.len() > KEPT).then(|| self.0.pop_front()).flatten();
        let gone = gone.map(Change::Withdraw);
        gone.into_iter().chain([Change::Offer(source)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Channel;
    use thalweg_wire::route::{Channels, Route, Scheme};

    #[test]
    fn the_two_nodes_that_were_asked_last_have_their_objects() {
        let id = |n| NodeId::new(n).unwrap();
        let channels = Channels::new(&[Channel::LAST; 2]).unwrap();
        let fetch = |from| Order::Fetch(Route::new(1, id(from), id(1), Scheme::Thalweg, channels));
        let mut offers = Offers::default();
        let offer = |n| Change::Offer(id(n));
        assert_eq!(offers.asked(&Order::Stop), []);
        assert_eq!(offers.asked(&fetch(5)), [offer(5)]);
        assert_eq!(offers.asked(&fetch(6)), [offer(6)]);
        assert_eq!(offers.asked(&fetch(5)), []);
        let gone = Change::Withdraw(id(6));
        assert_eq!(offers.asked(&fetch(7)), [gone, offer(7)]);
    }
}
