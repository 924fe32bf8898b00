//! Nodes under watch, the grid that they stand on, and routes over it.

use crate::floodnet::{self, Config};
use crate::linkprobe::{Measure, NodeList};
use crate::mote::{Command, Duty, Event, Mote};
use crate::object::{NoRoom, ObjectInfo, ObjectStore};
use crate::pipeline::{self, Complete};
use crate::rouse;
use std::boxed::Box;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::{BoardTiming, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants};
use thalweg_units::{Channel, ChannelSet, Duration, Instant, NodeId};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, Member, Route, Scheme};

pub(super) const MS: fn(u64) -> Duration = Duration::from_millis;
/// A mote with P3's 89 us of software a hop.
pub(super) const TELOSB: BoardTiming = BoardTiming {
    forward_software: Duration::from_micros(89),
    ..BoardTiming::IDEAL
};

pub(super) fn id(n: usize) -> NodeId {
    NodeId::new(n as u16).unwrap()
}

/// An object of one's own, and one that is received.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    own: Vec<u8>,
    pub(super) received: Vec<u8>,
}

impl Memory {
    pub(super) fn of(own: Vec<u8>) -> Self {
        Self {
            own,
            received: Vec::new(),
        }
    }
}

impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: self.own.len() as u32,
            digest: [self.own.first().copied().unwrap_or(0); 8],
        }
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        for (i, byte) in into.iter_mut().enumerate() {
            *byte = self.own.get(offset as usize + i).copied().unwrap_or(0);
        }
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        let end = offset as usize + bytes.len();
        if end > 1 << 20 {
            return Ok(());
        }
        self.received.resize(self.received.len().max(end), 0);
        self.received[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// Node `n`'s object: 20 packets and a bit, unlike any other node's.
pub(super) fn object(n: usize) -> Vec<u8> {
    (0..20 * 118 + 7).map(|i| (i * 7 + n + 1) as u8).collect()
}

type Inner = Mote<Memory, 32, 16>;
pub(super) type Order = Command<16>;

/// A node, and what is pending at its radio.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) mote: Inner,
    /// The transmission that was ordered last, neither answered nor taken back yet.
    pending: Option<OpId>,
}

impl Watched {
    pub(super) fn new(n: usize) -> Self {
        Self::of(n, Config::default())
    }
    pub(super) fn of(n: usize, config: Config) -> Self {
        let mote = Mote::new(id(n), config, TELOSB, Memory::of(object(n)));
        Self {
            mote,
            pending: None,
        }
    }
    /// Node `n` restarts in the network.
    pub(super) fn start_anew(&mut self, n: usize) {
        let fresh = Self::new(n);
        self.mote = fresh.mote.restarted();
    }
    /// After a drain, only whoever has the radio may have something pending there.
    fn check(&self) {
        let Some(op) = self.pending else { return };
        let owner = match self.mote.duty {
            Duty::Transfer => pipeline::OPS.contains(&op.0),
            Duty::Floods | Duty::Window(_) | Duty::Sampling(_) => {
                floodnet::OPS.contains(&op.0) || op == rouse::OP
            }
            Duty::Asleep(_) | Duty::Resting(_) => false,
        };
        assert!(owner, "{op:?} is pending while {:?}", self.mote.duty);
    }
}

impl Engine for Watched {
    type Command = Order;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        self.mote.wants(radio)
    }
    fn handle_command(&mut self, now: Instant, command: Order) {
        self.mote.handle_command(now, command);
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        if event.answers().is_some() && event.answers() == self.pending {
            self.pending = None;
        }
        self.mote.handle_radio(at, radio, event);
    }
    fn handle_timeout(&mut self, at: Instant) {
        self.mote.handle_timeout(at);
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        match self.mote.poll_radio() {
            Some(request) => {
                match request.op {
                    RadioOp::Stream { .. } | RadioOp::Transmit { .. } => {
                        self.pending = Some(request.id);
                    }
                    RadioOp::Cancel | RadioOp::Sleep => {
                        let ours = self
                            .pending
                            .take()
                            .filter(|op| pipeline::OPS.contains(&op.0));
                        let floods = floodnet::OPS.contains(&request.id.0);
                        assert!(
                            ours.is_none() || !floods,
                            "floods cancel a pipeline's {ours:?}"
                        );
                    }
                    _ => {}
                }
                Some(request)
            }
            None => None,
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.check();
        self.mote.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.mote.poll_event()
    }
}

/// Three rows of four: nodes hear the eight around them. 4 is the middle of the left side, 7 of
/// the right.
pub(super) fn adjacent(a: usize, b: usize) -> bool {
    (a % 4).abs_diff(b % 4) <= 1 && (a / 4).abs_diff(b / 4) <= 1
}

pub(super) type Links = Box<dyn FnMut(Air<'_>) -> Fate>;

/// Only neighbours hear each other, and that only as `links` says.
pub(super) fn among_neighbours(mut links: impl FnMut(Air<'_>) -> Fate + 'static) -> Links {
    Box::new(move |air| match adjacent(air.from, air.to) {
        true => links(air),
        false => Fate::Silent,
    })
}

pub(super) fn ideal() -> Links {
    among_neighbours(|_| Fate::Heard)
}

/// Links that lose `percent` of all receptions.
pub(super) fn lossy(percent: u64, seed: u64) -> Links {
    among_neighbours(
        move |air| match draw(&[seed, air.number as u64, air.to as u64]) % 100 {
            d if d >= percent => Fate::Heard,
            d if d % 2 == 0 => Fate::Corrupted,
            _ => Fate::Silent,
        },
    )
}

/// A deterministic number for whatever a number decides.
pub(super) fn draw(ids: &[u64]) -> u64 {
    ids.iter().fold(0x9e37_79b9_7f4a_7c15, |h, id| {
        let z = (h ^ id).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

pub(super) const GRID: usize = 12;

pub(super) fn grid(links: Links) -> Net<Watched> {
    net(GRID, links)
}

pub(super) fn net(nodes: usize, links: Links) -> Net<Watched> {
    let mut net = Net::new((0..nodes).map(Watched::new).collect(), TELOSB, links);
    net.run_for(MS(3));
    net
}

pub(super) fn channels(n: usize) -> Channels {
    let list: Vec<Channel> = [15, 20, 25, 26, 15]
        .map(|c| Channel::new(c).unwrap())
        .to_vec();
    Channels::new(&list[..n]).unwrap()
}

/// From 7 to 4 over the two columns between them, three paths.
pub(super) fn across(transfer: u16) -> Route {
    let mut route = Route::new(transfer, id(7), id(4), Scheme::P3, channels(4));
    for (node, stage) in [(2, 1), (6, 1), (10, 1), (1, 2), (5, 2), (9, 2)] {
        let group = if node / 4 == 1 {
            Group::Even
        } else {
            Group::Odd
        };
        route
            .add(Member {
                node: id(node),
                stage,
                group,
            })
            .unwrap();
    }
    route
}

/// From 3, a corner, to 4 over one path.
pub(super) fn from_corner(transfer: u16) -> Route {
    let mut route = Route::new(transfer, id(3), id(4), Scheme::P3, channels(4));
    for (node, stage) in [(2, 1), (1, 2)] {
        route
            .add(Member {
                node: id(node),
                stage,
                group: Group::Odd,
            })
            .unwrap();
    }
    route
}

pub(super) fn measure(nodes: usize) -> Order {
    let list: ChannelSet = [15, 26].iter().map(|c| Channel::new(*c).unwrap()).collect();
    let nodes = NodeList::range(0, nodes as u16).unwrap();
    Command::Measure(Measure::new(nodes, list, 4, MS(10)).unwrap())
}

pub(super) fn is_end(event: &Event) -> bool {
    match event {
        Event::Refused(_) => true,
        Event::Floods(event) => matches!(
            event,
            floodnet::Event::Refused(_)
                | floodnet::Event::Measured { .. }
                | floodnet::Event::Collected { .. }
        ),
        Event::Pipeline(event) => {
            matches!(
                event,
                pipeline::Event::Finished(_) | pipeline::Event::Refused(_)
            )
        }
        Event::WakeUp { .. } | Event::Joined => false,
    }
}

/// What node `n` was told until its order ended, which must be within `limit`.
pub(super) fn until_end(net: &mut Net<Watched>, n: usize, limit: Duration) -> Vec<Event> {
    let deadline = net.now() + limit;
    let mut told = Vec::new();
    while net.now() < deadline {
        net.run_for(MS(20));
        let events = net.take_events();
        told.extend(events.into_iter().filter(|e| e.1 == n).map(|e| e.2));
        if told.iter().any(is_end) {
            return told;
        }
    }
    panic!("node {n}: no end within {limit}: {told:?}");
}

/// Fetches over `route`; what was reported about the object, if it came.
pub(super) fn fetch(net: &mut Net<Watched>, route: Route) -> Option<Complete> {
    let sink = usize::from(route.sink.get());
    net.take_events();
    net.command(sink, Command::Fetch(route));
    let told = until_end(net, sink, Duration::from_secs(40));
    let complete = told.iter().find_map(|event| match event {
        Event::Pipeline(pipeline::Event::Complete(complete)) => Some(*complete),
        _ => None,
    });
    if let Some(complete) = complete {
        let expected = object(usize::from(route.source.get()));
        let received = &net.engine(sink).mote.pipeline().store().received;
        assert_eq!(complete.len as usize, expected.len());
        assert!(
            received[..expected.len()] == expected,
            "other bytes than the source's"
        );
    }
    complete
}

pub(super) fn is_asleep(net: &Net<Watched>, n: usize) -> bool {
    matches!(net.engine(n).mote.duty, Duty::Asleep(_))
}
