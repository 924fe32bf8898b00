//! Sources and a sink over a channel that loses, delays, repeats and reorders, while both restart.

use super::sink::{policy, Completion, Config, Event, Saved, Sink};
use super::source::{self, Application, Order, Ring, Source, State};
use crate::rng::Rng;
use crate::stack::{Packet, Room, Upper};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Flow, Rate};
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

const FLOW: Flow = Flow { sink: 0, number: 0 };
const PACKETS: u16 = 60;
const STEP: Duration = Duration::from_millis(50);

/// Packets that say whose they are and their number.
struct Numbered(u16, u16);
impl Application for Numbered {
    fn next(&mut self, _now: Instant, _flow: Flow) -> Option<Result<FrameBuf, Instant>> {
        let (origin, number) = (self.0, self.1);
        self.1 += 1;
        let packet = FrameBuf::build(|w| w.u16(origin)?.u16(number).map(|_| ()));
        (number < PACKETS).then(|| Ok(packet.unwrap()))
    }
}

/// What a channel does.
#[derive(Debug, Clone, Copy)]
struct Channel {
    /// Of 256 messages, so many are lost, and so many arrive twice.
    lost: u32,
    twice: u32,
    /// Most steps that a message takes.
    slow: u32,
}

struct World {
    rng: Rng,
    channel: Channel,
    now: Instant,
    sources: Vec<Source<Ring<Numbered, 16, 4>>>,
    sink: Sink,
    /// What the sink's application has of each source, outlasting the sink.
    store: BTreeMap<u16, u64>,
    finished: BTreeSet<u16>,
    up: BTreeMap<(Instant, u32), (usize, FrameBuf)>,
    down: BTreeMap<(Instant, u32), (usize, FrameBuf)>,
    count: u32,
}

fn id(n: usize) -> NodeId {
    NodeId::new(n as u16 + 1).unwrap()
}

impl World {
    fn new(sources: usize, channel: Channel, seed: u64) -> Self {
        let source = |n: usize| {
            let ring = Ring::new(Numbered(n as u16, 0));
            let mut source = Source::new(source::Config::PAPER, ring);
            let order = Order::Open {
                flow: FLOW,
                connection: 9,
                demand: Rate::from_per_s(2.0),
            };
            source.handle_command(Instant::ZERO, order);
            source
        };
        Self {
            rng: Rng::new(seed),
            channel,
            now: Instant::ZERO,
            sources: (0..sources).map(source).collect(),
            sink: Sink::new(Config::PAPER, policy::named("fair").unwrap()),
            store: BTreeMap::new(),
            finished: BTreeSet::new(),
            up: BTreeMap::new(),
            down: BTreeMap::new(),
            count: 0,
        }
    }
    /// When the copies of a message arrive.
    fn carried(&mut self) -> Vec<(Instant, u32)> {
        let copies = match self.rng.below(256) {
            draw if draw < self.channel.lost => 0,
            draw if draw < self.channel.lost + self.channel.twice => 2,
            _ => 1,
        };
        let copy = |_| {
            self.count += 1;
            let steps = 1 + self.rng.below(self.channel.slow);
            (self.now + STEP * u64::from(steps), self.count)
        };
        (0..copies).map(copy).collect()
    }
    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        while let Some(((_, _), (n, message))) = self.up.first_entry().and_then(|e| {
            let due = e.key().0 <= now;
            due.then(|| e.remove_entry())
        }) {
            self.sink.handle_packet(now, id(n), &message);
            self.keep();
        }
        if self.sink.poll_timeout().is_some_and(|at| at <= now) {
            self.sink.handle_timeout(now);
        }
        while let Some((to, message)) = self.sink.poll_message(now) {
            let n = usize::from(to.get()) - 1;
            for at in self.carried() {
                self.down.insert(at, (n, message));
            }
        }
        while let Some((_, (n, payload))) = self.down.first_entry().and_then(|e| {
            let due = e.key().0 <= now;
            due.then(|| e.remove_entry())
        }) {
            let packet = Packet {
                direction: Direction::Down { to: id(n) },
                origin: id(100),
                number: 0,
                hops: 1,
                payload,
            };
            self.sources[n].arrived(now, &packet);
        }
        for n in 0..self.sources.len() {
            self.sources[n].handle_timeout(now);
            while let Some((_, message)) = self.sources[n].next(now, |_| Room::Free) {
                for at in self.carried() {
                    self.up.insert(at, (n, message));
                }
            }
        }
    }
    /// The application takes what is delivered, in order and once, before anything is acknowledged.
    fn keep(&mut self) {
        while let Some(event) = self.sink.poll_event() {
            match event {
                Event::Delivered {
                    origin,
                    sequence,
                    payload,
                    ..
                } => {
                    let n = origin.get() - 1;
                    let kept = self.store.entry(n).or_default();
                    assert_eq!(sequence, *kept, "out of order, or twice");
                    let right = FrameBuf::build(|w| w.u16(n)?.u16(*kept as u16).map(|_| ()));
                    assert_eq!(payload, right.unwrap());
                    *kept += 1;
                }
                Event::Finished { origin, .. } => {
                    assert!(self.finished.insert(origin.get() - 1), "finished twice");
                }
                Event::Closed { .. } => panic!("each source has one connection"),
                Event::Opened { .. } | Event::Assigned { .. } => {}
            }
        }
    }
    /// The sink restarts from what its store has.
    fn restart_sink(&mut self) {
        self.sink = Sink::new(Config::PAPER, policy::named("fair").unwrap());
        for (&n, &next) in &self.store {
            let completion = match self.finished.contains(&n) {
                true => Completion::Complete,
                false => Completion::Open,
            };
            let saved = Saved {
                origin: id(usize::from(n)),
                flow: FLOW,
                connection: 9,
                demand: 2.0,
                next,
                completion,
            };
            self.sink.restore(self.now, saved);
        }
    }
    fn is_over(&self) -> bool {
        let done = |s: &Source<_>| s.state(FLOW).is_some_and(|(s, ..)| s == State::Finished);
        self.sources.iter().all(done)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Everything that a source accepted is delivered in order, exactly once, whatever happens on the way, if a
    /// way exists in the end.
    #[test]
    fn what_was_accepted_arrives_in_order_exactly_once(
        seed in any::<u64>(),
        lost in 0u32..120,
        twice in 0u32..40,
        slow in 1u32..30,
        reboots in proptest::collection::vec((20u32..1500, 0usize..4), 0..4),
        dead in (0u32..1500, 0u32..1500),
    ) {
        let channel = Channel { lost, twice, slow };
        let mut world = World::new(3, channel, seed);
        for step in 0..200_000 {
            world.channel.lost = match (dead.0..dead.0 + dead.1).contains(&step) {
                true => 256,
                false => lost,
            };
            for (_, who) in reboots.iter().filter(|(at, _)| *at == step) {
                match world.sources.get_mut(*who) {
                    Some(source) => {
                        source.stop();
                        source.handle_command(world.now, Order::Resume);
                    }
                    None => world.restart_sink(),
                }
            }
            world.step();
            if world.is_over() {
                break;
            }
        }
        prop_assert!(world.is_over(), "{:?}", world.store);
        prop_assert!(world.store.values().all(|kept| *kept == u64::from(PACKETS)));
        prop_assert_eq!(world.finished.len(), 3);
    }
}
