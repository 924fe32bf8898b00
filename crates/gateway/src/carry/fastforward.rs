//! FastForward, in one of its versions: sinks call paths over the air, what does not arrive is called again.

use super::stream::{path, End, EventOf, Heard, OrderOf, Role, Rules, Terms, Way, REST};
use crate::job::{Again, Failure, Retry};
use crate::object::{Holds, Memory};
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::fastforward::{
    self, Call, Command, Event, FastForward, Path, Range, Version, MAX_RANGES,
};
use thalweg_units::{Duration, NodeId};

/// The engine of every node.
pub type Node = FastForward<Memory>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// Streams of one version.
#[derive(Debug, Clone)]
pub struct Forward {
    version: Version,
    terms: Terms,
    paths: Vec<Path>,
}

impl Forward {
    /// A stream over the path of each of `plans`, for nodes called `ids`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where a path does not fit a call.
    pub fn new<'a>(
        version: Version,
        plans: impl Iterator<Item = &'a StagePlan>,
        ids: &[NodeId],
        terms: Terms,
    ) -> Result<Self, Failure> {
        let paths = plans.map(|plan| {
            let nodes: Vec<NodeId> = path(plan, ids).collect();
            let unfit = || format!("a path of {} nodes does not fit a call", nodes.len());
            Path::new(&nodes, &plan.links).ok_or_else(|| Failure::Unfit(unfit()))
        });
        Ok(Self {
            version,
            terms,
            paths: paths.collect::<Result<_, _>>()?,
        })
    }
}

impl Way for Forward {
    type Node = Node;

    fn node(&self, id: NodeId) -> Node {
        Node::new(id, self.terms.config, Memory::default())
    }
    fn rules(&self) -> Rules {
        Rules {
            settling: Duration::ZERO,
            silence: None,
            rest: REST,
            retry: Retry {
                attempts: self.terms.repairs + 1,
                again: Again::SamePlan,
            },
            deadline: self.terms.deadline,
        }
    }
    fn turn(&self, which: usize) -> u8 {
        // Calls take the sink's second radio: a stream that comes in on that one is called last.
        let last = (self.paths.get(which)).and_then(|path| path.link(path.hops().checked_sub(1)?));
        u8::from(last.is_some_and(|on| on.same_band(self.terms.config.calling)))
    }
    fn call(&self, which: usize, call: u32, have: &[bool]) -> (NodeId, OrderOf<Self>) {
        let path = self.paths[which];
        let mut ranges = [None; MAX_RANGES];
        if call > 0 {
            for (to, range) in ranges.iter_mut().zip(missing(have)) {
                *to = Some(range);
            }
        }
        let call = Call {
            stream: which as u8,
            round: call as u8,
            version: self.version,
            payload_bytes: self.terms.payload_bytes,
            path,
            ranges,
        };
        let sink = path.node(path.hops()).unwrap_or(NodeId::MAX);
        (sink, Command::Open(call))
    }
    fn close(&self, which: usize) -> Option<OrderOf<Self>> {
        Some(Command::Close(which as u8))
    }
    fn stream_of(event: &EventOf<Self>) -> usize {
        match event {
            Event::Begun { stream, .. }
            | Event::Received { stream, .. }
            | Event::Ended { stream, .. }
            | Event::Refused { stream } => usize::from(*stream),
        }
    }
    fn heard(by: Role, event: &EventOf<Self>) -> Heard {
        match *event {
            Event::Begun { .. } => Heard::Begun,
            Event::Received { number, .. } => Heard::Arrived(number, None),
            Event::Ended { why, .. } => {
                let why = match why {
                    fastforward::End::Complete => End::Complete,
                    fastforward::End::Silent => End::Silent,
                    fastforward::End::Broken { neighbour } => End::Broken(neighbour),
                    fastforward::End::Closed => End::Closed,
                };
                match by {
                    Role::Sink => Heard::Over(Some(why)),
                    _ => Heard::Ended(why),
                }
            }
            Event::Refused { .. } if by == Role::Sink => Heard::Over(Some(End::Closed)),
            Event::Refused { .. } => Heard::Nothing,
        }
    }
}

/// Runs of packets that are not there.
fn missing(have: &[bool]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (number, _) in have.iter().enumerate().filter(|(_, have)| !**have) {
        let first = number as u16;
        match ranges.last_mut() {
            Some(range) if range.first + range.count == first => range.count += 1,
            _ => ranges.push(Range { first, count: 1 }),
        }
    }
    ranges
}
