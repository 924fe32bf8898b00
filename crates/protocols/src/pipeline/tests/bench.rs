//! A pipeline of test nodes: 0 is the source, then the relays by stage, the last the destination.

use crate::mote::{self, AnyAdaptation};
use crate::object::{NoRoom, ObjectInfo, ObjectStore};
use crate::pipeline::{Command, Complete, End, Event, GiveUp, Pipeline, Session, Setup};
use std::vec;
use std::vec::Vec;
use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::BoardTiming;
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::pipeline::{Format, Group};
use thalweg_wire::route::{Channels, Hopping, Member, PayloadSize, Probe, Route, Scheme};

/// TelosB's turnaround and P3's software.
pub(super) const TELOSB: BoardTiming = BoardTiming {
    turnaround: Duration::from_micros(192),
    forward_software: Duration::from_micros(89),
    ..BoardTiming::IDEAL
};

pub(super) type Node = Pipeline<Memory, AnyAdaptation>;

#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: [u8; 8],
    /// Has room for one of so many writes; 0 for all.
    pub(super) one_of: u32,
    pub(super) writes: u32,
}

impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: self.bytes.len() as u32,
            digest: self.digest,
        }
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        for (i, byte) in into.iter_mut().enumerate() {
            *byte = self.bytes.get(offset as usize + i).copied().unwrap_or(0);
        }
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        self.writes += 1;
        if self.one_of > 0 && self.writes % self.one_of > 0 {
            return Err(NoRoom);
        }
        let end = offset as usize + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }
}

pub(super) fn object(len: usize) -> Memory {
    let bytes = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
    Memory {
        bytes,
        digest: *b"the same",
        ..Memory::default()
    }
}

/// A deterministic draw from 0..1000 for whatever a number decides.
pub(super) fn draw(ids: &[u64]) -> u64 {
    let mut z = ids.iter().fold(0x9e37_79b9_7f4a_7c15u64, |h, id| {
        (h ^ id).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    });
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % 1000
}

/// A transfer of `object` over `links`, for at most four minutes.
pub(super) fn transfer(
    layout: &Layout,
    object: &Memory,
    links: impl FnMut(Air<'_>) -> Fate + 'static,
) -> (Outcome, Net<Node>) {
    let mut net = layout.net(object, TELOSB, links);
    let outcome = layout.run(&mut net, 240);
    (outcome, net)
}

pub(super) fn start() -> Instant {
    Instant::from_nanos(50_000_000)
}

#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) route: Route,
    /// Stage of each node.
    pub(super) stages: Vec<u8>,
    /// What to do instead of what the policy says.
    pub(super) give_up: Option<GiveUp>,
}

/// A route of `hops` hops and `paths` paths, groups in turn, over four channels counted back
/// from the destination.
pub(super) fn layout(scheme: Scheme, hops: u8, paths: u8) -> Layout {
    let four = [26, 20, 25, 15].map(|n| Channel::new(n).unwrap());
    let mut list: Vec<_> = (0..=usize::from(hops)).map(|back| four[back % 4]).collect();
    list.reverse();
    let relays = u16::from(hops - 1) * u16::from(paths);
    let id = |i: u16| NodeId::new(i).unwrap();
    let channels = Channels::new(&list).unwrap();
    let mut route = Route::new(5, id(0), id(relays + 1), scheme, channels);
    let mut stages = vec![0];
    for stage in 1..hops {
        for path in 0..paths {
            let group = if path % 2 == 0 {
                Group::Odd
            } else {
                Group::Even
            };
            route
                .add(Member {
                    node: id(stages.len() as u16),
                    stage,
                    group,
                })
                .unwrap();
            stages.push(stage);
        }
    }
    stages.push(hops);
    Layout {
        route,
        stages,
        give_up: None,
    }
}

pub(super) fn p3(hops: u8, paths: u8) -> Layout {
    layout(Scheme::P3, hops, paths)
}
pub(super) fn pip(hops: u8) -> Layout {
    layout(Scheme::Pip(Hopping::Fixed), hops, 1)
}
/// Two chains, and a backup beside each relay: those come after all relays, in their order.
pub(super) fn thalweg(hops: u8) -> Layout {
    let mut layout = layout(Scheme::Thalweg, hops, 2);
    layout.route.format = Format::Slim;
    let relays = layout.route.members().to_vec();
    let destination = layout.stages.pop().unwrap();
    for relay in &relays {
        let node = NodeId::new(1_000 + layout.stages.len() as u16).unwrap();
        layout.route.add_backup(Member { node, ..*relay }).unwrap();
        layout.stages.push(relay.stage);
    }
    layout.stages.push(destination);
    layout
}

/// The same with an alternate chain for each group, whose relays come after the backups, and a probe at the first
/// packets.
pub(super) fn with_alternates(hops: u8) -> Layout {
    let mut layout = thalweg(hops);
    layout.route.probe = Probe::First;
    let relays = layout.route.members().to_vec();
    let destination = layout.stages.pop().unwrap();
    for relay in &relays {
        let node = NodeId::new(1_000 + layout.stages.len() as u16).unwrap();
        let member = Member { node, ..*relay };
        layout.route.add_alternate(member).unwrap();
        layout.stages.push(relay.stage);
    }
    layout.stages.push(destination);
    layout
}

impl Layout {
    pub(super) fn payload(mut self, bytes: u8) -> Self {
        self.route.payload = PayloadSize::new(bytes).unwrap();
        self
    }
    pub(super) fn last(&self) -> usize {
        self.stages.len() - 1
    }
    /// Who node `n` is.
    fn id(&self, n: usize) -> NodeId {
        let relays = self.route.members().len();
        let beside = n.checked_sub(relays + 1);
        let backups = || {
            self.route
                .backup_relays()
                .iter()
                .chain(self.route.alternates())
        };
        let beside = beside.and_then(|n| backups().nth(n));
        match (n == self.last(), beside) {
            (true, _) => self.route.sink,
            (false, Some(member)) => member.node,
            (false, None) => NodeId::new(n as u16).unwrap(),
        }
    }
    /// The part of node `n` on boards of `timing`.
    pub(super) fn part(
        &self,
        n: usize,
        begin: Instant,
        timing: &BoardTiming,
    ) -> Setup<AnyAdaptation> {
        let node = self.id(n);
        let mut part = mote::setup(&self.route, node, begin, timing).unwrap();
        let policy = &mut part.session.policy;
        policy.give_up = self.give_up.unwrap_or(policy.give_up);
        part
    }
    pub(super) fn session(&self, n: usize) -> Session {
        self.part(n, start(), &TELOSB).session
    }

    /// The network, all nodes waiting for the beginning. Only neighbouring stages hear each
    /// other, and backups their own, and that only as `links` says.
    pub(super) fn net(
        &self,
        object: &Memory,
        timing: BoardTiming,
        mut links: impl FnMut(Air<'_>) -> Fate + 'static,
    ) -> Net<Node> {
        let engines = (0..self.stages.len())
            .map(|n| {
                let store = if n == 0 {
                    object.clone()
                } else {
                    Memory::default()
                };
                Pipeline::new(store)
            })
            .collect();
        let stages = self.stages.clone();
        let stands_by = self.route.members().len() + 1..self.last();
        let mut net = Net::new(engines, timing, move |air| {
            let apart = stages[air.from].abs_diff(stages[air.to]);
            if apart == 1 || apart == 0 && stands_by.contains(&air.to) {
                links(air)
            } else {
                Fate::Silent
            }
        });
        for n in 0..self.stages.len() {
            net.command(n, Command::Start(self.part(n, start(), &timing)));
        }
        net
    }

    /// Runs until all nodes are done, at most `seconds`.
    pub(super) fn run(&self, net: &mut Net<Node>, seconds: u64) -> Outcome {
        let mut events = Vec::new();
        for _ in 0..seconds * 4 {
            net.run_for(Duration::from_millis(250));
            events.extend(net.take_events());
            let done = (0..self.stages.len()).all(|n| !net.engine(n).is_active());
            if done {
                break;
            }
        }
        Outcome {
            events,
            last: self.last(),
        }
    }
}

pub(super) type TimedEvent = (Instant, usize, Event);

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) events: Vec<TimedEvent>,
    last: usize,
}

impl Outcome {
    pub(super) fn of(&self, n: usize) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.events
            .iter()
            .filter(move |e| e.1 == n)
            .map(|e| (e.0, e.2))
    }
    pub(super) fn end(&self, n: usize) -> Option<End> {
        self.of(n).find_map(|(_, e)| match e {
            Event::Finished(end) => Some(end),
            _ => None,
        })
    }
    pub(super) fn complete(&self) -> Option<(Instant, Complete)> {
        self.of(self.last).find_map(|(at, e)| match e {
            Event::Complete(complete) => Some((at, complete)),
            _ => None,
        })
    }
    /// The destination has `object`, byte by byte; gives what it said about it.
    pub(super) fn assert_whole(&self, net: &Net<Node>, object: &Memory) -> Complete {
        let (_, complete) = self
            .complete()
            .unwrap_or_else(|| panic!("{:?}", self.events));
        assert_eq!(complete.object_len as usize, object.bytes.len());
        assert_eq!(complete.digest, object.digest);
        let mut got = net.engine(self.last).store().bytes.clone();
        got.truncate(complete.len as usize);
        assert!(got == object.bytes, "the bytes are not the same");
        complete
    }
}

/// Everything arrives.
pub(super) fn ideal(_air: Air<'_>) -> Fate {
    Fate::Heard
}
