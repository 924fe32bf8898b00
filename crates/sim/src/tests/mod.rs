//! Scripted engines on small networks: the contract, to the nanosecond.

mod background;
mod contract;
mod dual;
mod random_operations;
mod restart;
mod sensing;
mod serial;
mod whole;

use crate::{boards, Board, Network, Stop};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_engine::{
    Ability, Assessment, BoardTiming, Cca, Condition, Engine, Hear, OpId, RadioEvent, RadioId,
    RadioOp, Refusal, Request, TxSlot, Wants, When,
};
use thalweg_medium::{chip::CC2420, Air, Environment};
use thalweg_units::{Channel, Dbm, Duration, Instant, SimTime};

/// An operation that owns its bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    Load(u8, Vec<u8>),
    Transmit(u8, When, Cca),
    Stream(Vec<u8>, When, Cca),
    /// At once, on that channel.
    SayOn(u8, Vec<u8>),
    Listen(u8),
    ListenFor(u8, u8),
    /// When a frame comes that begins with these bytes, on that channel.
    Upon(Vec<u8>, u8),
    Readout(u8),
    Sense,
    Assess(Assessment),
    Hear(Hear),
    Preamble(u16),
    Acknowledge([u8; 3]),
    Sleep,
    Cancel,
    /// For a radio that there is not.
    OtherRadio,
    Timeout(Instant),
}

pub(super) fn say(mpdu: &[u8], when: When) -> Order {
    Order::Stream(mpdu.to_vec(), when, Cca::Skip)
}

/// What a puppet was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    Done,
    Sent {
        sfd: Instant,
    },
    Refused(Refusal),
    Head {
        bytes: Vec<u8>,
        sfd: Instant,
    },
    Frame {
        mpdu: Vec<u8>,
        sfd: Instant,
        end: Instant,
    },
    Corrupt,
    Sensed(Dbm),
    Timeout,
}

/// Does what it is told, numbers its operations from 0, and remembers what it was told back.
/// What `on_frame` and `on_head` hold is ordered upon the next frame or head.
#[derive(Default)]
pub(super) struct Puppet {
    orders: VecDeque<Order>,
    current: Option<Order>,
    pub(super) asked: Vec<Order>,
    pub(super) seen: Vec<(Instant, Option<OpId>, Seen)>,
    timeout: Option<Instant>,
    pub(super) wanted: Option<Wants>,
    pub(super) on_frame: Vec<Order>,
    pub(super) on_head: Vec<Order>,
    told: VecDeque<usize>,
}

pub(super) fn ch(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

impl Engine for Puppet {
    type Command = Order;
    type Event = usize;
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{AfterRx, At, Cca, Conditional, Heads, Load, Readout, Stream};
        let abilities = [AfterRx, At, Cca, Conditional, Heads, Load, Readout, Stream];
        (radio == RadioId(0)).then(|| self.wanted.unwrap_or(Wants::of(&abilities)))
    }
    fn handle_command(&mut self, _now: Instant, order: Order) {
        self.orders.push_back(order);
    }
    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let seen = match event {
            RadioEvent::Done { .. } => Seen::Done,
            RadioEvent::Sent { sfd, .. } => Seen::Sent { sfd },
            RadioEvent::Refused { why, .. } => Seen::Refused(why),
            RadioEvent::Head { bytes, sfd } => {
                self.orders.extend(self.on_head.drain(..));
                Seen::Head {
                    bytes: bytes.to_vec(),
                    sfd,
                }
            }
            RadioEvent::Frame { mpdu, sfd, end, .. } => {
                self.orders.extend(self.on_frame.drain(..));
                self.told.push_back(mpdu.len());
                Seen::Frame {
                    mpdu: mpdu.to_vec(),
                    sfd,
                    end,
                }
            }
            RadioEvent::Corrupt { .. } => Seen::Corrupt,
            RadioEvent::Sensed { power, .. } => Seen::Sensed(power),
        };
        self.seen.push((at, event.answers(), seen));
    }
    fn handle_timeout(&mut self, at: Instant) {
        assert!(self.timeout.is_some_and(|t| t <= at));
        self.timeout = None;
        self.seen.push((at, None, Seen::Timeout));
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        while let Some(Order::Timeout(at)) = self.orders.front() {
            self.timeout = Some(*at);
            self.orders.pop_front();
        }
        self.current = self.orders.pop_front();
        let order = self.current.as_ref()?;
        let id = OpId(self.asked.len() as u16);
        self.asked.push(order.clone());
        let channel = ch(26);
        let op = match order {
            Order::Load(slot, mpdu) => RadioOp::Load {
                slot: TxSlot(*slot),
                mpdu,
            },
            Order::Transmit(slot, when, cca) => RadioOp::Transmit {
                slot: TxSlot(*slot),
                channel,
                when: *when,
                cca: *cca,
            },
            Order::Stream(mpdu, when, cca) => RadioOp::Stream {
                mpdu,
                channel,
                when: *when,
                cca: *cca,
            },
            Order::SayOn(c, mpdu) => RadioOp::Stream {
                mpdu,
                channel: ch(*c),
                when: When::Now,
                cca: Cca::Skip,
            },
            Order::Listen(c) => RadioOp::Listen {
                channel: ch(*c),
                head_bytes: 0,
            },
            Order::ListenFor(c, n) => RadioOp::Listen {
                channel: ch(*c),
                head_bytes: *n,
            },
            Order::Upon(bytes, c) => RadioOp::Conditional {
                slot: TxSlot(0),
                condition: Condition { offset: 0, bytes },
                channel: ch(*c),
                cca: Cca::Skip,
            },
            Order::Readout(bytes) => RadioOp::Readout { bytes: *bytes },
            Order::Sense => RadioOp::Sense,
            Order::Assess(assessment) => RadioOp::Assess(*assessment),
            Order::Hear(hear) => RadioOp::Hear(*hear),
            Order::Preamble(bytes) => RadioOp::Preamble { bytes: *bytes },
            Order::Acknowledge(mpdu) => RadioOp::Acknowledge { mpdu },
            Order::Sleep => RadioOp::Sleep,
            Order::Cancel | Order::OtherRadio | Order::Timeout(_) => RadioOp::Cancel,
        };
        let radio = RadioId(u8::from(*order == Order::OtherRadio));
        Some(Request { radio, id, op })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }
    fn poll_event(&mut self) -> Option<usize> {
        self.told.pop_front()
    }
}

/// Strong links between all pairs for which `linked`.
pub(super) fn world(n: usize, linked: impl Fn(usize, usize) -> bool) -> Arc<Environment> {
    let gain = |from, to, _| linked(from, to).then_some(Dbm(-50.0));
    Arc::new(Environment::from_gains(n, &CC2420, 1, gain))
}

pub(super) fn net_on(board: Board, n: usize) -> Network<Puppet> {
    let engines = (0..n).map(|_| Puppet::default()).collect();
    Network::new(world(n, |_, _| true), &[board], engines, 7).unwrap()
}

/// A network of puppets on ideal boards.
pub(super) fn net(n: usize) -> Network<Puppet> {
    net_on(boards::exact(BoardTiming::IDEAL), n)
}

pub(super) fn at(us: u64) -> SimTime {
    SimTime::from_nanos(us * 1000)
}
pub(super) fn local(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}
pub(super) const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub(super) fn run<A: Air>(net: &mut Network<Puppet, A>, until_us: u64) -> Stop {
    net.run_until(at(until_us), |_, _, _| ControlFlow::Continue(()))
        .unwrap()
}

/// What node `n` saw of operation `op`, in microseconds of its clock.
pub(super) fn answer<A: Air>(net: &Network<Puppet, A>, n: usize, op: u16) -> (u64, Seen) {
    let mut answers = net.engine(n).seen.iter().filter(|s| s.1 == Some(OpId(op)));
    let (at, _, seen) = answers
        .next()
        .unwrap_or_else(|| panic!("operation {op} unanswered"));
    assert!(answers.next().is_none(), "operation {op} answered twice");
    (at.as_nanos() / 1000, seen.clone())
}

/// What node `n` saw that answers nothing.
pub(super) fn heard<A: Air>(net: &Network<Puppet, A>, n: usize) -> Vec<(u64, Seen)> {
    let seen = net.engine(n).seen.iter().filter(|s| s.1.is_none());
    seen.map(|(at, _, seen)| (at.as_nanos() / 1000, seen.clone()))
        .collect()
}
