//! Whole nodes that are motes and, in a session, sources of RCRT: what images run, in the simulator.

use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_engine::{Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_host::object::info;
use thalweg_protocols::floodnet;
use thalweg_protocols::line::station;
use thalweg_protocols::linkprobe::NodeList;
use thalweg_protocols::member::{Command, Member, Packets};
use thalweg_protocols::mote;
use thalweg_protocols::object::{Lends, NoRoom, ObjectInfo, ObjectStore};
use thalweg_protocols::rcrt::sink::{policy, Config, Event, Sink};
use thalweg_protocols::rcrt::source::Source;
use thalweg_protocols::rcrt::{Base, Handed, Send};
use thalweg_protocols::sweep::Sweep;
use thalweg_sim::Network;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, ChannelSet, Duration, Instant, NodeId, SimTime};
use thalweg_wire::FrameBuf;

/// Has an object.
#[derive(Debug, Clone)]
struct Shelf(Arc<[u8]>);

impl ObjectStore for Shelf {
    fn info(&self) -> ObjectInfo {
        info(&self.0)
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        let rest = self
            .0
            .iter()
            .skip(offset as usize)
            .chain([&0].into_iter().cycle());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        Err(NoRoom)
    }
}
impl Lends for Shelf {
    type Loan = Self;

    fn lend(&self) -> Self {
        self.clone()
    }
}

type Order = Command<16>;

/// Any of the network's nodes.
enum Node {
    Station(Box<Member<Shelf, Base, 40, 16>>),
    Sensor(Box<Member<Shelf, Source<Packets<Shelf>>, 40, 16>>),
}

macro_rules! each {
    ($node:expr, $it:ident => $what:expr) => {
        match $node {
            Node::Station($it) => $what,
            Node::Sensor($it) => $what,
        }
    };
}

impl Engine for Node {
    type Command = Order;
    type Event = station::Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        each!(self, it => it.wants(radio))
    }
    fn handle_command(&mut self, now: Instant, command: Order) {
        each!(self, it => it.handle_command(now, command));
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        each!(self, it => it.handle_radio(at, radio, event));
    }
    fn handle_timeout(&mut self, at: Instant) {
        each!(self, it => it.handle_timeout(at));
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        each!(self, it => it.poll_radio())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, it => it.poll_timeout())
    }
    fn poll_event(&mut self) -> Option<station::Event> {
        each!(self, it => it.poll_event())
    }
}

const TESTBED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/examples/motes10.toml"
);
const SEED: u64 = 1;
const SOURCES: [u16; 3] = [3, 6, 10];
const STEP: Duration = Duration::from_millis(20);

fn object(id: NodeId) -> Arc<[u8]> {
    let own = usize::from(id.get());
    (0..2_000 + own).map(|n| (n * 7 + own) as u8).collect()
}

struct World {
    network: Network<Node>,
    /// What the base station has told.
    told: Vec<(SimTime, station::Event)>,
}

impl World {
    fn new() -> Self {
        let site = Site::new(Testbed::load(TESTBED).unwrap(), SEED);
        let (testbed, board) = (&site.testbed, &site.board);
        let config = floodnet::Config {
            idle: floodnet::Idle::Rests,
            ..floodnet::Config::default()
        };
        let node = |id: NodeId| match id == testbed.sink {
            true => Node::Station(Box::new(Member::new(
                id,
                config,
                board.timing,
                Shelf(object(id)),
            ))),
            false => Node::Sensor(Box::new(Member::new(
                id,
                config,
                board.timing,
                Shelf(object(id)),
            ))),
        };
        let engines = testbed.nodes.iter().map(|at| node(at.id)).collect();
        let boards = std::slice::from_ref(board);
        let network = Network::new(site.environment.clone(), boards, engines, SEED).unwrap();
        let told = Vec::new();
        Self { network, told }
    }
    fn order(&mut self, order: Order) {
        self.network.command(0, order);
    }
    fn run(&mut self, time: Duration) {
        let (until, told) = (self.network.now() + time, &mut self.told);
        let ran = self.network.run_until(until, |at, node, event| {
            if node == 0 {
                told.push((at, event));
            }
            Continue(())
        });
        ran.unwrap();
    }
    fn sessions(&self) -> usize {
        let nodes = (0..self.network.len()).map(|n| self.network.engine(n));
        nodes
            .filter(|node| each!(node, it => it.has_session()))
            .count()
    }
    /// How many nodes a sweep hears of.
    fn swept(&mut self) -> u16 {
        self.told.clear();
        let nodes = (1..=10).map(|n| NodeId::new(n).unwrap());
        let (slot, pause) = (Duration::from_millis(6), Duration::from_millis(200));
        let channels = ChannelSet::EMPTY.with(Channel::LAST);
        let nodes = NodeList::of(nodes).unwrap();
        let sweep = Sweep::new(nodes, channels, 2, (slot, pause), -90).unwrap();
        self.order(Command::Mote(mote::Command::Sweep(sweep)));
        self.run(Duration::from_secs(8));
        let collected = self.told.iter().find_map(|(_, event)| match event {
            station::Event::Mote(mote::Event::Floods(floodnet::Event::Collected {
                complete,
                ..
            })) => Some(*complete),
            _ => None,
        });
        collected.expect("the sweep ends")
    }
}

/// Runs a session until all objects are there, but not for longer than two minutes.
fn session(world: &mut World) -> BTreeMap<u16, Vec<u8>> {
    let mut sink = Sink::new(Config::STEADY, policy::named("fair").unwrap());
    let (mut objects, mut proved) = (BTreeMap::<u16, Vec<u8>>::new(), 0);
    let sources: Vec<u8> = SOURCES.iter().flat_map(|n| [*n as u8, 0, 0, 4]).collect();
    world.told.clear();
    world.order(Command::Session(FrameBuf::from_slice(&sources).unwrap()));
    let ends = world.network.now() + Duration::from_secs(120);
    while proved < SOURCES.len() && world.network.now() < ends {
        world.run(STEP);
        let now = Instant::from_nanos(world.network.now().as_nanos());
        for (_, event) in world.told.split_off(0) {
            if let station::Event::Handed(Handed::Packet {
                origin, message, ..
            }) = event
            {
                sink.handle_packet(now, origin, &message);
            }
        }
        if sink.poll_timeout().is_some_and(|at| at <= now) {
            sink.handle_timeout(now);
        }
        while let Some((to, message)) = sink.poll_message(now) {
            world.order(Command::Send(Send { to, message }));
        }
        while let Some(event) = sink.poll_event() {
            match event {
                Event::Delivered {
                    origin, payload, ..
                } => (objects.entry(origin.get()).or_default()).extend_from_slice(&payload),
                Event::Finished { origin, proof, .. } => {
                    let own = info(&objects[&origin.get()]);
                    assert_eq!(
                        proof.map(|p| (p.len, p.digest)),
                        Some((own.len, own.digest))
                    );
                    proved += 1;
                }
                _ => {}
            }
        }
    }
    objects
}

#[test]
fn motes_become_sources_and_motes_again() {
    let mut world = World::new();
    world.run(Duration::from_secs(30));
    for _ in 0..2 {
        // They rest, and are roused.
        let objects = session(&mut world);
        assert_eq!(world.sessions(), 10, "seed {SEED}");
        assert!(
            objects.keys().eq(&SOURCES),
            "seed {SEED}: {:?}",
            objects.keys()
        );
        for (source, bytes) in objects {
            assert_eq!(bytes[..], object(NodeId::new(source).unwrap())[..]);
        }
        world.order(Command::Mote(mote::Command::Stop));
        world.run(Duration::from_secs(3));
        assert_eq!(world.sessions(), 0, "seed {SEED}: the end reaches all");
        world.run(Duration::from_secs(20));
    }
    assert_eq!(world.swept(), 10, "seed {SEED}");
}

/// The train that rouses the network for the end of one is broken off by the next, or by another host's stop before it.
#[test]
fn a_session_that_follows_another_at_once_reaches_all() {
    let mut world = World::new();
    world.run(Duration::from_secs(30));
    for (stops, pause) in [(1, 0), (1, 200), (1, 1_000), (2, 1), (2, 100)] {
        session(&mut world);
        for _ in 0..stops {
            world.order(Command::Mote(mote::Command::Stop));
            world.run(Duration::from_millis(pause));
        }
        let objects = session(&mut world);
        let who = objects.keys().copied().collect::<Vec<_>>();
        assert_eq!(who, SOURCES, "{stops} stops, {pause} ms, seed {SEED}");
    }
}
