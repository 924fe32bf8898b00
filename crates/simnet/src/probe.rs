//! Probes: the smallest engines that measure receptions. One node sends numbered frames at an
//! interval, relays repeat each at once and together as Glossy's do, receivers report what they heard.
//!
//! Frames are those of a flood ([`thalweg_wire::flood`]): the relay counter separates the first
//! transmission (0) from the relays' (1). Time base: the node's clock. Tests: `probe_tests.rs`.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use thalweg_engine::{
    Ability, BoardTiming, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants, When,
};
use thalweg_sim::{Board, Network, NetworkError, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::flood::{patch_relay, Course, Ntx, Repr, MAX_CONTENT};
use thalweg_wire::FrameBuf;

/// Frames to be sent, as long as they can be: `count` of them, one each `interval`, from one interval from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Train {
    /// Where.
    pub channel: Channel,
    /// How many.
    pub count: u32,
    /// From the begin of one to that of the next.
    pub interval: Duration,
}

/// What a node is to do.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// Send these.
    Send(Train),
    /// Repeat what the sender sends.
    Relay(Channel),
    /// Report what is heard.
    Receive(Channel),
}

/// What a node reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeEvent {
    /// A frame was received.
    Heard {
        /// The frame, from 0 on.
        number: u32,
        /// Hops after the first transmission.
        relay: u8,
    },
    /// All frames are sent.
    SentAll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Idle,
    /// What is left of a train, and when the next frame is due.
    Sender(Train, Instant),
    Relay(Channel),
    Receiver,
}

/// Bytes of the frame's number.
const NUMBER_BYTES: usize = 4;

/// A node.
#[derive(Debug)]
struct Probe {
    id: NodeId,
    timing: BoardTiming,
    role: Role,
    number: u32,
    frame: FrameBuf,
    listen: Option<Channel>,
    send: Option<(Channel, When)>,
    events: VecDeque<ProbeEvent>,
}

impl Probe {
    /// Node `id`, which has nothing to do yet, on a board with this timing.
    fn new(id: NodeId, timing: BoardTiming) -> Self {
        Self {
            id,
            timing,
            role: Role::Idle,
            number: 0,
            frame: FrameBuf::EMPTY,
            listen: None,
            send: None,
            events: VecDeque::new(),
        }
    }

    fn next_frame(&self) -> FrameBuf {
        let mut content = self.number.to_be_bytes().to_vec();
        content.resize(MAX_CONTENT, 0x5a);
        let repr = Repr {
            sequence: self.number as u8,
            initiator: self.id,
            course: Course::Outwards(Ntx::ONE),
            relay: 0,
            content: &content,
        };
        FrameBuf::build(|w| repr.emit(w)).unwrap_or(FrameBuf::EMPTY)
    }
}

impl Engine for Probe {
    type Command = Order;
    type Event = ProbeEvent;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{AfterRx, Stream, Synchrony};
        (radio == RadioId(0)).then(|| Wants::of(&[AfterRx, Stream, Synchrony]))
    }

    fn handle_command(&mut self, now: Instant, command: Order) {
        match command {
            Order::Send(train) => {
                self.number = 0;
                self.role = Role::Sender(train, now + train.interval);
            }
            Order::Relay(channel) => {
                self.role = Role::Relay(channel);
                self.listen = Some(channel);
            }
            Order::Receive(channel) => {
                self.role = Role::Receiver;
                self.listen = Some(channel);
            }
        }
    }

    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let RadioEvent::Frame { mpdu, .. } = event else {
            return;
        };
        let Ok(repr) = Repr::parse(mpdu) else { return };
        let Some(Ok(number)) = repr.content.get(..NUMBER_BYTES).map(<[u8; 4]>::try_from) else {
            return;
        };
        let number = u32::from_be_bytes(number);
        match self.role {
            Role::Relay(channel) if repr.relay == 0 => {
                let Ok(mut frame) = FrameBuf::from_slice(mpdu) else {
                    return;
                };
                patch_relay(&mut frame, 1);
                self.frame = frame;
                self.send = Some((channel, When::AfterRx(self.timing.relay_gap())));
            }
            Role::Receiver => self.events.push_back(ProbeEvent::Heard {
                number,
                relay: repr.relay,
            }),
            Role::Relay(_) | Role::Idle | Role::Sender(..) => {}
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        let Role::Sender(mut train, next) = self.role else {
            return;
        };
        if at < next {
            return;
        }
        if train.count == 0 {
            self.role = Role::Idle;
            self.events.push_back(ProbeEvent::SentAll);
            return;
        }
        self.frame = self.next_frame();
        self.number += 1;
        self.send = Some((train.channel, When::Now));
        train.count -= 1;
        self.role = Role::Sender(train, next + train.interval);
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        if let Some(channel) = self.listen.take() {
            let head_bytes = 0;
            let op = RadioOp::Listen {
                channel,
                head_bytes,
            };
            return Some(Request::new(OpId(1), op));
        }
        let (channel, when) = self.send.take()?;
        let op = RadioOp::Stream {
            mpdu: &self.frame,
            channel,
            when,
            cca: Cca::Skip,
        };
        Some(Request::new(OpId(2), op))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.role {
            Role::Sender(_, next) => Some(next),
            Role::Idle | Role::Relay(_) | Role::Receiver => None,
        }
    }

    fn poll_event(&mut self) -> Option<ProbeEvent> {
        self.events.pop_front()
    }
}

/// Probes at all nodes of a site.
pub struct Probes(Network<Probe>);

impl Probes {
    /// Probes on `board` at the nodes of `site`.
    ///
    /// # Errors
    /// Where the board does not do what a probe needs.
    pub fn new(site: &Site, board: &Board, seed: u64) -> Result<Self, NetworkError> {
        let nodes = site.testbed.nodes.iter();
        let probes = nodes.map(|n| Probe::new(n.id, board.timing)).collect();
        let environment = site.environment.clone();
        Network::new(environment, std::slice::from_ref(board), probes, seed).map(Self)
    }

    /// Gives node `n` the order `order`.
    pub fn command(&mut self, n: usize, order: Order) {
        self.0.command(n, order);
    }

    /// Node `from` sends `train`; `heard` is called for each frame that another node hears: the node, the frame, and how
    /// many hops after its first transmission.
    ///
    /// # Errors
    /// Where the simulation fails.
    pub fn send(
        &mut self,
        from: usize,
        train: Train,
        heard: &mut dyn FnMut(usize, u32, u8),
    ) -> Result<(), SimError> {
        let net = &mut self.0;
        net.command(from, Order::Send(train));
        let limit = net.now() + train.interval * (u64::from(train.count) + 10);
        net.run_until(limit, |_, node, event| match event {
            ProbeEvent::Heard { number, relay } => {
                heard(node, number, relay);
                ControlFlow::Continue(())
            }
            ProbeEvent::SentAll => ControlFlow::Break(()),
        })?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
