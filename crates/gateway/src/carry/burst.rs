//! Burst forwarding over the first of two radios (LPHT). Nodes are told their places, each by an order of its
//! own: all are stations. Nobody tells when a stream ends.

use super::stream::{path, EventOf, Heard, OrderOf, Role, Rules, Terms, Way};
use crate::job::Retry;
use crate::object::{Holds, Memory};
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::burst::{Burst, Command, Config, Event};
use thalweg_units::{Channel, Duration, NodeId};

/// The engine of every node.
pub type Node = Burst<Memory>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// Nodes are asleep so long after they were told their places.
pub const SETTLING: Duration = Duration::from_secs(2);
/// A path over which nothing arrives for so long has nothing more to give.
const PATIENCE: Duration = Duration::from_secs(4);

/// One stream.
#[derive(Debug, Clone)]
pub struct Bursts {
    places: Vec<(NodeId, Config)>,
    packets: u16,
    deadline: Duration,
}

impl Bursts {
    /// `packets` packets over the path of `plan`, whose links are of the first radio, for nodes called `ids`.
    pub fn new(plan: &StagePlan, ids: &[NodeId], packets: u32, terms: &Terms) -> Self {
        let (named, config): (Vec<NodeId>, _) = (path(plan, ids).collect(), &terms.config);
        // On what a node is sent to; the source is not.
        let own = |hop: usize| {
            let link = hop.checked_sub(1).and_then(|link| plan.links.get(link));
            link.map_or(Channel::LAST, |on| on.place())
        };
        let place = |hop: usize| Config {
            own: own(hop),
            next: named.get(hop + 1).map(|next| (*next, own(hop + 1))),
            burst: config.queue,
            wake_interval: config.wake_interval,
            wake_time: config.wake_time,
            ack_timeout: config.ack_timeout,
            attempts: 4,
            patience: 16,
            silence: Duration::from_millis(50),
            payload_bytes: terms.payload_bytes,
        };
        Self {
            places: (named.iter().enumerate())
                .map(|(hop, node)| (*node, place(hop)))
                .collect(),
            packets: packets as u16,
            deadline: terms.deadline,
        }
    }
}

impl Way for Bursts {
    type Node = Node;

    fn node(&self, id: NodeId) -> Node {
        Node::new(id, Memory::default())
    }
    fn rules(&self) -> Rules {
        Rules {
            settling: SETTLING,
            silence: Some(PATIENCE),
            rest: Duration::ZERO,
            retry: Retry::NEVER,
            deadline: self.deadline,
        }
    }
    fn set_up(&self) -> Vec<(NodeId, OrderOf<Self>)> {
        let places = self.places.iter();
        places
            .map(|(node, place)| (*node, Command::Join(*place)))
            .collect()
    }
    fn call(&self, _which: usize, _call: u32, _have: &[bool]) -> (NodeId, OrderOf<Self>) {
        let source = self.places.first().map_or(NodeId::MAX, |(node, _)| *node);
        (source, Command::Send(self.packets))
    }
    fn heard(_by: Role, event: &EventOf<Self>) -> Heard {
        match *event {
            Event::Received { number } => Heard::Arrived(number, None),
            Event::Dropped { .. } => Heard::Nothing,
        }
    }
}
