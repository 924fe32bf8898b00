//! A node that sleeps until it is called into a stage: the set-up of P3 over two radios, over the air.
//!
//! Owns when the pipeline below it has the radios. The call spreads from the sink to the source over
//! FastForward's calling channel, stage by stage: who took it repeats it until all nodes of the stage before
//! were heard repeating it, which is their acknowledgement. All begin at the instant that it tells. Time base:
//! the node's clock; what a call tells is good to a frame's time on the air, a stage. A node whose stream is
//! silent goes back to sleep; a sink says so, and is to call again. Tests: `node_tests.rs`,
//! `crates/lab/tests/streams/p3dual.rs`.

use super::config::{Command, Config, End, Event};
use super::P3Dual;
use crate::fastforward::{self, radio_of};
use crate::fifo::Fifo;
use crate::object::ObjectStore;
use crate::radio;
use thalweg_engine::{
    Ability, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants, When,
};
use thalweg_units::{ChannelSet, Duration, Instant, NodeId};
use thalweg_wire::stages::StageCall;
use thalweg_wire::stream::{Missing, Packet};
use thalweg_wire::FrameBuf;

/// This layer's calls on the air; the pipeline's operations are below.
const CALL: OpId = OpId(16);
/// Its operations whose answers tell nothing.
const ANY: OpId = OpId(17);
/// So long before the beginning nobody calls any more, and all turn to their links.
const TURNING: Duration = Duration::from_millis(12);
/// Between repetitions at least this; with a frame it is less than a sleeper listens.
const PAUSE_US: u64 = 1_000;
/// And at most this more, by chance of node and repetition, so that callers in reach get out of step.
const SPREAD_US: u64 = 4_000;

/// What the application of a node hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// The source begins to send so many packets, or what is missing of them.
    Begun {
        /// Packets of the object.
        packets: u16,
    },
    /// Of the pipeline.
    Pipeline(Event),
    /// The call's path is not one that this node is the sink of, or does not fit a frame.
    Refused,
    /// The stream is over here; the radios sleep.
    Left,
}

/// Orders to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub enum NodeCommand {
    /// This node is the sink of the call's stages: set them up. When they begin follows from how many
    /// there are.
    Open(StageCall),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The call is to be sent then.
    At(Instant),
    OnAir,
    /// Everybody before was heard.
    Quiet,
}

/// A call that was taken.
#[derive(Debug, Clone, Copy)]
struct Taken {
    call: StageCall,
    stage: u8,
    /// When the source's first packet goes out.
    start: Instant,
    turn: Turn,
    /// Calls of this node so far.
    sent: u16,
    /// Nodes of the stage before that were heard, by their places in the call.
    heard: u64,
}

#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)]
enum Duty {
    Asleep(Instant),
    Awake(Instant),
    Called(Taken),
    Streaming {
        stream: u8,
        stage: u8,
        hops: u8,
        /// A source that has still to begin, and how often it was called before.
        begins: Option<(Instant, u8)>,
        /// Something of the stream is heard before this; none at the source, whose rounds end by themselves.
        heard_by: Option<Instant>,
    },
}

#[derive(Debug, Clone, Copy)]
enum Want {
    Listen,
    Sleep(RadioId),
    Call,
}

/// A node with its pipeline.
#[derive(Debug)]
pub struct Node<S> {
    id: NodeId,
    config: fastforward::Config,
    pipeline: P3Dual<S>,
    duty: Duty,
    wants: Fifo<Want, 6>,
    frame: FrameBuf,
    events: Fifo<NodeEvent, 8>,
    sequence: u8,
}

impl<S: ObjectStore> Node<S> {
    /// A node that sleeps, and listens for calls as FastForward's with this configuration do.
    pub fn new(id: NodeId, config: fastforward::Config, store: S) -> Self {
        Self {
            id,
            config,
            pipeline: P3Dual::new(store),
            duty: Duty::Asleep(Instant::from_nanos(0)),
            wants: Fifo::EMPTY,
            frame: FrameBuf::EMPTY,
            events: Fifo::EMPTY,
            sequence: 0,
        }
    }
    /// Its pipeline: what happened in it, its store.
    pub const fn pipeline(&self) -> &P3Dual<S> {
        &self.pipeline
    }
    /// The same, to change.
    pub fn pipeline_mut(&mut self) -> &mut P3Dual<S> {
        &mut self.pipeline
    }
    /// From the sink's order to the source's first packet over `hops` hops: a wake-up and a half for each, two
    /// for what is repeated.
    pub fn set_up_time(config: &fastforward::Config, hops: u8) -> Duration {
        let half = Duration::from_nanos(config.wake_interval.as_nanos() / 2);
        half * (3 * u64::from(hops) + 4) + TURNING
    }

    fn want(&mut self, want: Want) {
        // There is room: an event leads to three at most.
        let _ = self.wants.push(want);
    }
    fn tell(&mut self, event: NodeEvent) {
        let _ = self.events.push(event);
    }
    /// A pause that no other node has in the same repetition.
    fn pause(&self, sent: u16) -> Duration {
        let salt = u64::from(self.id.get()) << 16 | u64::from(sent);
        let mixed = (salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Duration::from_micros(PAUSE_US + (mixed >> 40) % SPREAD_US)
    }

    fn take(&mut self, now: Instant, call: StageCall, stage: u8, start: Instant) {
        self.duty = Duty::Called(Taken {
            call,
            stage,
            start,
            turn: Turn::At(now + self.pause(0)),
            sent: 0,
            heard: 0,
        });
        self.want(Want::Listen);
    }

    fn heard_call(&mut self, now: Instant, sfd: Instant, mpdu: &[u8]) {
        let Ok((header, call)) = StageCall::parse(mpdu) else {
            return;
        };
        let Some(stage) = call.stages.stage_of(self.id) else {
            return;
        };
        let sent = match &self.duty {
            Duty::Called(taken) => taken.sent,
            _ => 0,
        };
        let pause = self.pause(sent);
        match &mut self.duty {
            Duty::Called(taken)
                if (taken.call.stream, taken.call.attempt) == (call.stream, call.attempt) =>
            {
                taken.heard_from(header.from, now, pause);
            }
            // A sink calls; it is not called.
            Duty::Called(taken) if taken.stage == taken.call.stages.hops() => {}
            Duty::Streaming { .. } => {}
            _ if stage >= call.stages.hops() => {}
            _ => self.take(now, call, stage, sfd + call.start_in),
        }
    }

    /// The next repetition of the call, with what is left until the beginning.
    fn call(&mut self, now: Instant) {
        let Duty::Called(taken) = &mut self.duty else {
            return;
        };
        let call = StageCall {
            start_in: taken.start.since(now),
            ..taken.call
        };
        self.sequence = self.sequence.wrapping_add(1);
        match call.frame(self.sequence, self.id) {
            Ok(frame) => {
                taken.turn = Turn::OnAir;
                self.frame = frame;
                self.want(Want::Call);
            }
            Err(_) => {
                self.tell(NodeEvent::Refused);
                self.leave(now);
            }
        }
    }

    /// The call's time is over: to the links.
    fn turn_to_links(&mut self, now: Instant, taken: &Taken) {
        let (call, stage) = (taken.call, taken.stage);
        let Some(source) = call.stages.source() else {
            return self.leave(now);
        };
        let config = Config {
            stream: call.stream,
            source,
            stage,
            inward: stage.checked_sub(1).and_then(|link| call.stages.link(link)),
            outward: call.stages.link(stage),
            hops: call.stages.hops(),
            payload_bytes: call.payload_bytes,
            cycle: call.cycle,
            gap: call.gap,
        };
        let on = self.config.calling;
        let needs = |tuning| Some(radio_of(on)) == Option::map(tuning, radio_of);
        if !needs(config.inward) && !needs(config.outward) {
            self.want(Want::Sleep(radio_of(on)));
        }
        let command = match call.attempt {
            0 => Command::Join(config),
            _ => Command::Rejoin(config),
        };
        self.pipeline.handle_command(now, command);
        self.duty = Duty::Streaming {
            stream: call.stream,
            stage,
            hops: call.stages.hops(),
            begins: (stage == 0).then_some((taken.start, call.attempt)),
            heard_by: (stage > 0).then(|| taken.start + self.config.silence),
        };
    }

    fn begin(&mut self, now: Instant, attempt: u8) {
        let Some(bytes @ 1..) = self.pipeline.payload_bytes() else {
            return self.leave(now);
        };
        let packets = (self.pipeline.store().info().len).div_ceil(u32::from(bytes));
        let packets = u16::try_from(packets).unwrap_or(u16::MAX);
        self.tell(NodeEvent::Begun { packets });
        let command = match attempt {
            0 => Command::Send(packets),
            // The sink may have most of it.
            _ => Command::Ask(packets),
        };
        self.pipeline.handle_command(now, command);
    }

    fn leave(&mut self, now: Instant) {
        self.pipeline.handle_command(now, Command::Leave);
        self.duty = Duty::Asleep(now + self.config.wake_interval);
        self.tell(NodeEvent::Left);
    }

    /// Hears what the pipeline has to tell.
    fn attend(&mut self, now: Instant) {
        while let Some(event) = self.pipeline.poll_event() {
            self.tell(NodeEvent::Pipeline(event));
            let at_source = matches!(self.duty, Duty::Streaming { stage: 0, .. });
            if matches!(event, Event::Ended(_)) && at_source {
                self.leave(now);
            }
        }
    }

    fn own_timeout(&self) -> Option<Instant> {
        match self.duty {
            Duty::Asleep(until) | Duty::Awake(until) => Some(until),
            Duty::Called(taken) => {
                let turning = taken.start.saturating_sub(TURNING);
                Some(match taken.turn {
                    Turn::At(at) => at.min(turning),
                    Turn::OnAir | Turn::Quiet => turning,
                })
            }
            Duty::Streaming {
                begins, heard_by, ..
            } => begins.map(|(at, _)| at).into_iter().chain(heard_by).min(),
        }
    }

    fn run(&mut self, now: Instant) {
        if self.own_timeout().is_none_or(|due| due > now) {
            return;
        }
        match self.duty {
            Duty::Asleep(_) => {
                self.want(Want::Listen);
                self.duty = Duty::Awake(now + self.config.wake_time);
            }
            Duty::Awake(until) => {
                self.want(Want::Sleep(radio_of(self.config.calling)));
                let asleep = (self.config.wake_interval).saturating_sub(self.config.wake_time);
                self.duty = Duty::Asleep(until + asleep.max(Duration::from_nanos(1)));
            }
            Duty::Called(taken) if taken.start.saturating_sub(TURNING) <= now => {
                self.turn_to_links(now, &taken);
            }
            Duty::Called(_) => self.call(now),
            Duty::Streaming {
                begins: Some((at, attempt)),
                ..
            } if at <= now => {
                if let Duty::Streaming { begins, .. } = &mut self.duty {
                    *begins = None;
                }
                self.begin(now, attempt);
            }
            Duty::Streaming { stage, hops, .. } => {
                if stage == hops && !self.pipeline.is_whole() {
                    self.tell(NodeEvent::Pipeline(Event::Ended(End::Silent)));
                }
                self.leave(now);
            }
        }
    }
}

impl Taken {
    /// Another node repeats the call.
    fn heard_from(&mut self, node: NodeId, now: Instant, pause: Duration) {
        let mut nodes = self.call.stages.nodes().enumerate();
        let Some((place, (_, stage))) = nodes.find(|(_, (n, _))| *n == node) else {
            return;
        };
        if stage.checked_add(1) == Some(self.stage) {
            self.heard |= 1 << place;
            if self.is_settled() && !matches!(self.turn, Turn::OnAir) {
                self.turn = Turn::Quiet;
            }
        } else if self.stage.checked_add(1) == Some(stage) && self.turn == Turn::Quiet {
            // It does not know yet that this node was called.
            self.turn = Turn::At(now + pause);
        }
    }
    /// Whether this node has told of itself and has heard of everybody before it.
    fn is_settled(&self) -> bool {
        let mut before = (self.call.stages.nodes().enumerate())
            .filter(|(_, (_, stage))| stage.checked_add(1) == Some(self.stage));
        self.sent > 0 && before.all(|(place, _)| self.heard >> place & 1 == 1)
    }
    fn sent(&mut self, now: Instant, pause: Duration) {
        self.sent = self.sent.saturating_add(1);
        self.turn = match self.is_settled() {
            true => Turn::Quiet,
            false => Turn::At(now + pause),
        };
    }
}

impl<S: ObjectStore> Engine for Node<S> {
    type Command = NodeCommand;
    type Event = NodeEvent;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        let calling = self.config.calling;
        let calls = (radio_of(calling) == radio).then(|| Wants {
            channels: ChannelSet::EMPTY.with(calling.place()),
            ..Wants::of(&[Ability::Stream, Ability::Cca])
        });
        let streams = self.pipeline.wants(radio)?;
        Some(calls.map_or(streams, |calls| calls.and(streams)))
    }

    fn handle_command(&mut self, now: Instant, command: NodeCommand) {
        let NodeCommand::Open(call) = command;
        let is_free = matches!(self.duty, Duty::Asleep(_) | Duty::Awake(_));
        match call.stages.stage_of(self.id) {
            Some(stage) if stage == call.stages.hops() && is_free => {
                let start = now + Self::set_up_time(&self.config, stage);
                self.take(now, call, stage, start);
            }
            _ => self.tell(NodeEvent::Refused),
        }
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        match (event.answers(), &mut self.duty) {
            (Some(CALL), Duty::Called(taken)) => {
                let mut taken = *taken;
                let pause = self.pause(taken.sent);
                match event {
                    RadioEvent::Sent { .. } => taken.sent(at, pause),
                    _ => taken.turn = Turn::At(at + pause),
                }
                self.duty = Duty::Called(taken);
            }
            (Some(CALL | ANY), _) => {}
            (
                _,
                Duty::Streaming {
                    stream, heard_by, ..
                },
            ) => {
                if let RadioEvent::Frame { mpdu, .. } = event {
                    let packet = Packet::parse(mpdu).map(|packet| packet.stream);
                    let of = packet.or_else(|_| Missing::parse(mpdu).map(|missing| missing.stream));
                    if of.is_ok_and(|of| of == *stream) {
                        *heard_by = heard_by.map(|by| by.max(at + self.config.silence));
                    }
                }
                self.pipeline.handle_radio(at, radio, event);
            }
            (None, _) => {
                if let RadioEvent::Frame { mpdu, sfd, .. } = event {
                    self.heard_call(at, sfd, mpdu);
                }
            }
            (Some(_), _) => {}
        }
        self.attend(at);
        self.run(at);
    }

    fn handle_timeout(&mut self, at: Instant) {
        if self.pipeline.poll_timeout().is_some_and(|due| due <= at) {
            self.pipeline.handle_timeout(at);
        }
        self.attend(at);
        self.run(at);
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let Some(want) = self.wants.pop() else {
            return self.pipeline.poll_radio();
        };
        let calling = self.config.calling;
        let (radio, id, op) = match want {
            Want::Listen => (radio_of(calling), ANY, radio::listen(calling.place())),
            Want::Sleep(radio) => (radio, ANY, RadioOp::Sleep),
            Want::Call => {
                let op = RadioOp::Stream {
                    mpdu: &self.frame,
                    channel: calling.place(),
                    when: When::Now,
                    cca: Cca::Require,
                };
                (radio_of(calling), CALL, op)
            }
        };
        Some(Request { radio, id, op })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let own = self.own_timeout();
        own.into_iter().chain(self.pipeline.poll_timeout()).min()
    }
    fn poll_event(&mut self) -> Option<NodeEvent> {
        self.events.pop()
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
