//! P3 over two radios: stages that the sink calls over the air ([`Called`]), or that are told their places each
//! by an order of its own ([`Told`]), which shows what the call costs.
//!
//! Time base: the cycle is what a relay's bus and software need between two frames of one radio, the gap what
//! they need from one radio to the other; both follow from the board.

use super::stream::{End, EventOf, Heard, OrderOf, Role, Rules, Terms, Way, REST};
use crate::job::{Again, Failure, Retry};
use crate::object::{Holds, Memory};
use thalweg_planner::stages::StagePlan;
use thalweg_protocols::p3dual::{
    self, Command, Config, Event, Node, NodeCommand, NodeEvent, P3Dual,
};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::stages::{StageCall, Stages};

impl Holds for Node<Memory> {
    fn memory(&mut self) -> &mut Memory {
        self.pipeline_mut().store_mut()
    }
}

impl Holds for P3Dual<Memory> {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// A sink calls so often at most.
const RETRY: Retry = Retry {
    attempts: 8,
    again: Again::SamePlan,
};
/// Joining nodes turn their receivers on within this.
const SETTLING: Duration = Duration::from_millis(5);

/// Cycle and gap of a pipeline's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From one packet of the source to its next.
    pub cycle: Duration,
    /// From the last byte in to the first symbol out.
    pub gap: Duration,
}

fn rules(deadline: Duration) -> Rules {
    Rules {
        settling: Duration::ZERO,
        silence: None,
        rest: REST,
        retry: RETRY,
        deadline,
    }
}

fn heard(by: Role, event: Event) -> Heard {
    match event {
        Event::Received { number, round } => Heard::Arrived(number, Some(round)),
        Event::RoundOver { have, packets, .. } => {
            Heard::RoundOver(f64::from(have) / f64::from(packets.max(1)))
        }
        Event::Ended(_) if by == Role::Relay => Heard::Nothing,
        Event::Ended(p3dual::End::Complete) => Heard::Ended(End::Complete),
        Event::Ended(p3dual::End::Silent) => Heard::Ended(End::Silent),
    }
}

/// Stages that the sink calls.
#[derive(Debug, Clone)]
pub struct Called {
    sink: NodeId,
    call: StageCall,
    terms: Terms,
}

impl Called {
    /// The stages of `plan` at a `pace`, for nodes called `ids`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where they do not fit a call.
    pub fn new(
        plan: &StagePlan,
        ids: &[NodeId],
        pace: Pace,
        terms: Terms,
    ) -> Result<Self, Failure> {
        let members = plan.stages.iter().enumerate().flat_map(|(stage, nodes)| {
            let named = nodes.iter().filter_map(|n| ids.get(*n).copied());
            named.map(move |node| (node, stage as u8))
        });
        let sink = members.clone().last().map(|(node, _)| node);
        let stages = sink.zip(Stages::new(members, &plan.links));
        let (sink, stages) = stages.ok_or_else(|| Failure::Unfit(UNFIT.to_owned()))?;
        let call = StageCall {
            stream: 0,
            attempt: 0,
            payload_bytes: terms.payload_bytes,
            cycle: pace.cycle,
            gap: pace.gap,
            start_in: Duration::ZERO,
            stages,
        };
        Ok(Self { sink, call, terms })
    }
}

const UNFIT: &str = "the stages do not fit a call";

impl Way for Called {
    type Node = Node<Memory>;

    fn node(&self, id: NodeId) -> Self::Node {
        Node::new(id, self.terms.config, Memory::default())
    }
    fn rules(&self) -> Rules {
        rules(self.terms.deadline)
    }
    fn call(&self, _which: usize, call: u32, _have: &[bool]) -> (NodeId, OrderOf<Self>) {
        let attempt = call as u8;
        (
            self.sink,
            NodeCommand::Open(StageCall {
                attempt,
                ..self.call
            }),
        )
    }
    fn heard(by: Role, event: &EventOf<Self>) -> Heard {
        match *event {
            NodeEvent::Begun { .. } => Heard::Begun,
            NodeEvent::Pipeline(event) => heard(by, event),
            NodeEvent::Left if by == Role::Sink => Heard::Over(None),
            NodeEvent::Left => Heard::Nothing,
            NodeEvent::Refused => Heard::Refused(UNFIT),
        }
    }
}

/// Stages that are told their places.
#[derive(Debug, Clone)]
pub struct Told {
    places: Vec<(NodeId, Config)>,
    packets: u16,
    deadline: Duration,
}

impl Told {
    /// The stages of `plan` at a `pace`, for nodes called `ids` and `packets` packets.
    pub fn new(
        plan: &StagePlan,
        ids: &[NodeId],
        pace: Pace,
        (packets, terms): (u32, &Terms),
    ) -> Self {
        let named = |n: &usize| ids.get(*n).copied();
        let source = plan.stages.iter().flatten().find_map(named);
        let place = |stage: usize| Config {
            stream: 0,
            source: source.unwrap_or(NodeId::MAX),
            stage: stage as u8,
            inward: stage
                .checked_sub(1)
                .and_then(|link| plan.links.get(link).copied()),
            outward: plan.links.get(stage).copied(),
            hops: plan.links.len() as u8,
            payload_bytes: terms.payload_bytes,
            cycle: pace.cycle,
            gap: pace.gap,
        };
        let stages = plan.stages.iter().enumerate();
        Self {
            places: stages
                .flat_map(|(stage, nodes)| {
                    let named = nodes.iter().filter_map(named);
                    named.map(move |node| (node, place(stage)))
                })
                .collect(),
            packets: packets as u16,
            deadline: terms.deadline,
        }
    }
}

impl Way for Told {
    type Node = P3Dual<Memory>;

    fn node(&self, _id: NodeId) -> Self::Node {
        P3Dual::new(Memory::default())
    }
    fn rules(&self) -> Rules {
        Rules {
            settling: SETTLING,
            rest: Duration::ZERO,
            retry: Retry::NEVER,
            ..rules(self.deadline)
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
    fn heard(by: Role, event: &EventOf<Self>) -> Heard {
        match (heard(by, *event), by) {
            (Heard::Ended(why), Role::Source) => Heard::Over(Some(why)),
            (heard, _) => heard,
        }
    }
}
