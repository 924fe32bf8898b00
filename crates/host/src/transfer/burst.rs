//! Burst forwarding over the first of two radios (LPHT). Each node gets its place by an order of its
//! own: all are stations. No node reports the end of a stream.

use super::stream::{CallEnd, EventKind, StreamPath, StreamSetup, StreamTerms};
use crate::job::Retry;
use crate::object::{Holds, Memory};
use thalweg_protocols::burst::{Burst, Command, Config, Event};
use thalweg_units::{Channel, Duration};

/// The engine of every node.
pub type Node = Burst<Memory>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// How long after their orders nodes are asleep.
const SETTLING: Duration = Duration::from_secs(2);
/// A stream ends when nothing arrives for this long.
const PATIENCE: Duration = Duration::from_secs(4);

/// A stream over `path`, whose links are of the first radio.
pub fn stream(path: StreamPath, terms: StreamTerms) -> StreamSetup<Node> {
    let (nodes, links, config) = (path.nodes.clone(), path.links.clone(), terms.config);
    // The channel on which a node receives. The source does not.
    let own = |hop: usize| {
        let link = hop.checked_sub(1).and_then(|link| links.get(link));
        link.map_or(Channel::LAST, |on| on.place())
    };
    let place = |hop: usize| Config {
        own: own(hop),
        next: nodes.get(hop + 1).map(|next| (*next, own(hop + 1))),
        burst: config.queue,
        wake_interval: config.wake_interval,
        wake_time: config.wake_time,
        ack_timeout: config.ack_timeout,
        attempts: 4,
        patience: 16,
        silence: Duration::from_millis(50),
        payload_bytes: terms.payload_bytes,
    };
    let places = nodes.iter().enumerate();
    let send = (path.source, Command::Send(path.packets));
    StreamSetup {
        node: Box::new(|id| Node::new(id, Memory::default())),
        set_up: (
            places
                .map(|(hop, node)| (*node, Command::Join(place(hop))))
                .collect(),
            SETTLING,
        ),
        paths: vec![path],
        terms,
        call: Box::new(move |_, _, _| send),
        close: |_| None,
        retry: Retry::NEVER,
        call_end: CallEnd::Silence(PATIENCE),
        classify: |event| match *event {
            Event::Received { number } => (0, EventKind::Arrived(number)),
            Event::Dropped { .. } => (0, EventKind::Nothing),
        },
    }
}
