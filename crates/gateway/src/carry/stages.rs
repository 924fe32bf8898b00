//! P3 over two radios: stages that the sink calls over the air, or that are told their places, each node by an
//! order of its own, which shows what the call costs.
//!
//! Time base: the cycle is what a relay's bus and software need between two frames of one radio, the gap what
//! they need from one radio to the other; both follow from the board.

use super::stream::{End, Heard, Lane, Over, Terms, Way, UNFIT};
use crate::job::{Again, Failure, Retry};
use crate::object::{Holds, Memory};
use thalweg_protocols::p3dual::{
    self, Command, Config, Event, Node, NodeCommand, NodeEvent, P3Dual,
};
use thalweg_units::Duration;
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

/// The stages of `lane` at a `pace`, called by their sink.
///
/// # Errors
/// [`Failure::Unfit`] where they do not fit a call.
pub fn called(lane: Lane, pace: Pace, terms: Terms) -> Result<Way<Node<Memory>>, Failure> {
    let members = lane.nodes().map(|(node, stage)| (node, stage as u8));
    let stages =
        Stages::new(members, &lane.links).ok_or_else(|| Failure::Unfit(UNFIT.to_owned()))?;
    let (sink, payload_bytes) = (lane.sink, terms.payload_bytes);
    let call = move |_: usize, call: u32, _: &[bool]| {
        let call = StageCall {
            stream: 0,
            attempt: call as u8,
            payload_bytes,
            cycle: pace.cycle,
            gap: pace.gap,
            start_in: Duration::ZERO,
            stages,
        };
        (sink, NodeCommand::Open(call))
    };
    Ok(Way {
        node: Box::new(move |id| Node::new(id, terms.config, Memory::default())),
        lanes: vec![lane],
        terms,
        set_up: (Vec::new(), Duration::ZERO),
        call: Box::new(call),
        close: |_| None,
        retry: RETRY,
        over: Over::Left,
        heard: |event| match event {
            NodeEvent::Begun { .. } => (0, Heard::Begun),
            NodeEvent::Pipeline(event) => heard(event),
            NodeEvent::Left => (0, Heard::Left),
            NodeEvent::Refused => (0, Heard::Refused),
        },
    })
}

/// The same, told their places.
pub fn told(lane: Lane, pace: Pace, terms: Terms) -> Way<P3Dual<Memory>> {
    let links = lane.links.clone();
    let place = |stage: usize| Config {
        stream: 0,
        source: lane.source,
        stage: stage as u8,
        inward: stage
            .checked_sub(1)
            .and_then(|link| links.get(link).copied()),
        outward: links.get(stage).copied(),
        hops: links.len() as u8,
        payload_bytes: terms.payload_bytes,
        cycle: pace.cycle,
        gap: pace.gap,
    };
    let places = lane
        .nodes()
        .map(|(node, stage)| (node, Command::Join(place(stage))));
    let send = (lane.source, Command::Send(lane.packets));
    Way {
        node: Box::new(|_| P3Dual::new(Memory::default())),
        set_up: (places.collect(), SETTLING),
        lanes: vec![lane],
        terms,
        call: Box::new(move |_, _, _| send),
        close: |_| None,
        retry: Retry::NEVER,
        over: Over::Source,
        heard,
    }
}

fn heard(event: &Event) -> (usize, Heard) {
    let heard = match *event {
        Event::Received { number, round } => Heard::Arrived(number, Some(round)),
        Event::RoundOver { have, packets, .. } => {
            Heard::RoundOver(f64::from(have) / f64::from(packets.max(1)))
        }
        Event::Ended(p3dual::End::Complete) => Heard::Ended(End::Complete),
        Event::Ended(p3dual::End::Silent) => Heard::Ended(End::Silent),
    };
    (0, heard)
}
