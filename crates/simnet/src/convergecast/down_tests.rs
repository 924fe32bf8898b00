//! The way down, end to end: a sink answers every reading of every node over real CSMA, while the tree
//! changes under it.

use super::*;
use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use thalweg_medium::chip::CC2420;
use thalweg_medium::ether::Reach;
use thalweg_protocols::stack::{Discipline, Event, Gone, Open, Packet, Reading, Room, Upper};
use thalweg_sim::Observer;
use thalweg_units::Db;
use thalweg_wire::tree::Direction;
use thalweg_wire::FrameBuf;

/// Makes readings where it is told to, and answers those that come to it by their number.
struct Asks {
    readings: Readings,
    asked: VecDeque<(NodeId, u16)>,
    answers: BTreeSet<u16>,
    /// The most links that an answer crossed.
    hops: u8,
}

impl Upper for Asks {
    type Command = Schedule;
    type Event = Reading;
    fn handle_command(&mut self, now: Instant, schedule: Schedule) {
        self.readings.handle_command(now, schedule);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.readings.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.readings.handle_timeout(now);
    }
    fn poll_event(&mut self) -> Option<Reading> {
        self.readings.poll_event()
    }
    fn next(
        &mut self,
        now: Instant,
        mut room: impl FnMut(Direction) -> Room,
    ) -> Option<(Direction, FrameBuf)> {
        let Some(&(to, number)) = self.asked.front() else {
            return self.readings.next(now, room);
        };
        let direction = Direction::Down { to };
        if room(direction) == Room::Taken {
            return None;
        }
        self.asked.pop_front();
        let answer = FrameBuf::build(|w| w.u16(number).map(|_| ()));
        Some((direction, answer.unwrap()))
    }
    fn arrived(&mut self, _now: Instant, packet: &Packet) {
        match packet.direction {
            Direction::Up => self.asked.push_back((packet.origin, packet.number)),
            Direction::Down { .. } => {
                let number = packet.payload.first_chunk().copied();
                self.answers.insert(u16::from_le_bytes(number.unwrap()));
                self.hops = self.hops.max(packet.hops);
            }
        }
    }
    fn gone(&mut self, now: Instant, packet: &Packet, how: Gone) {
        if packet.direction == Direction::Up {
            self.readings.gone(now, packet, how);
        }
    }
    fn stop(&mut self) {
        self.readings.stop();
    }
}

/// Packets that each node's stack took: readings, and the sink's answers.
#[derive(Default)]
struct Taken([usize; PLACES.len()]);
impl Observer<Event<Reading>> for Taken {
    fn event(&mut self, _at: SimTime, node: usize, event: Event<Reading>) -> ControlFlow<()> {
        self.0[node] += usize::from(matches!(event, Event::Taken { .. }));
        ControlFlow::Continue(())
    }
}

type Net<D> = Network<Node<D, Asks, 8>, Ether>;

/// Where node 1, the sink, and the others stand, metres: a ring in which everybody hears two others. From
/// 5 to 1 there are four links, or two by 6, which is switched on later.
const PLACES: [(f64, f64); 6] = [
    (46.0, 0.0),
    (23.0, 40.0),
    (-23.0, 40.0),
    (-46.0, 0.0),
    (-23.0, -40.0),
    (23.0, -40.0),
];
const FAR: usize = 4;
const SHORT_CUT: usize = 5;
const PERIOD: Duration = Duration::from_secs(2);

fn network<D: Discipline>(discipline: impl Fn(NodeId) -> D, routing: Routing, seed: u64) -> Net<D> {
    let id = |n: usize| NodeId::new(n as u16 + 1).unwrap();
    let node = |n: usize| {
        let config = Config {
            id: id(n),
            channel: Channel::LAST,
            mac: csma::Config::TINYOS_CC2420,
            role: if n == 0 { Role::Sink } else { Role::Router },
            routing,
            queue: Queue::of(10),
            seed: derive(seed, "node", &[n as u64]),
        };
        let above = Asks {
            readings: Readings::new(Application::Waits, 20),
            asked: VecDeque::new(),
            answers: BTreeSet::new(),
            hops: 0,
        };
        Node::new(config, discipline(id(n)), above)
    };
    let board = boards::load("telosb-tinyos").unwrap();
    let reach = Reach::of_places(&PLACES, &CC2420, Db(40.05), Db(30.0), board.tx_power);
    let engines = (0..PLACES.len()).map(node).collect();
    Network::on(Ether::new(reach, seed), &[board], engines, seed).unwrap()
}

/// Lets every node but the sink and those of `without` make 50 readings from now on; the least share of
/// those that its stack took that a node got an answer to.
fn answered<D: Discipline>(net: &mut Net<D>, now: &mut SimTime, without: &[usize]) -> f64 {
    let sources = || (1..PLACES.len()).filter(|n| !without.contains(n));
    let answers = |net: &Net<D>, n: usize| net.engine(n).above().answers.len();
    let before: Vec<usize> = sources().map(|n| answers(net, n)).collect();
    let mut taken = Taken::default();
    let end = *now + PERIOD * 51;
    for n in sources() {
        let first = Instant::from_nanos(now.as_nanos()) + PERIOD / 8 * n as u64;
        let schedule = Schedule {
            first,
            period: PERIOD,
            until: first + PERIOD * 50,
            burst: 1,
        };
        let order = Command::Upper(schedule);
        net.command(n, order);
    }
    net.run_with(end, &mut taken).unwrap();
    *now = end;
    let share = |(n, before)| (answers(net, n) - before) as f64 / taken.0[n] as f64;
    let shares = sources().zip(before).map(share);
    assert!(taken.0[1..].iter().all(|taken| *taken == 0 || *taken >= 20));
    shares.fold(1.0, f64::min)
}
fn settle<D: Discipline>(net: &mut Net<D>, now: &mut SimTime, seconds: u64) {
    *now += Duration::from_secs(seconds);
    net.run_with(*now, &mut Taken::default()).unwrap();
}

fn a_sink_answers<D: Discipline>(discipline: impl Fn(NodeId) -> D, routing: Routing, seed: u64) {
    let mut net = network(discipline, routing, seed);
    let mut now = SimTime::ZERO;
    let parent = |net: &Net<D>, n: usize| net.engine(n).stack().router().parent();
    for n in 0..SHORT_CUT {
        net.command(n, Command::Start);
    }
    settle(&mut net, &mut now, 150);
    let share = answered(&mut net, &mut now, &[SHORT_CUT]);
    let hops = net.engine(FAR).above().hops;
    assert!(
        share > 0.95 && hops == 4,
        "seed {seed}: {share} over {hops}"
    );

    // A better way up turns up: the way down follows with the first packet that took it.
    let before = parent(&net, FAR);
    net.command(SHORT_CUT, Command::Start);
    settle(&mut net, &mut now, 150);
    assert_ne!(parent(&net, FAR), before, "seed {seed}");
    let share = answered(&mut net, &mut now, &[]);
    assert!(share > 0.95, "seed {seed}: {share}");

    // That way is lost again.
    net.command(SHORT_CUT, Command::Stop);
    settle(&mut net, &mut now, 200);
    assert_eq!(parent(&net, FAR), before, "seed {seed}");
    let share = answered(&mut net, &mut now, &[SHORT_CUT]);
    assert!(share > 0.95, "seed {seed}: {share}");
}

#[test]
fn a_sink_answers_every_node_whatever_the_tree_does_meanwhile() {
    let etx = Routing::Etx {
        interval: BEACON_INTERVAL,
        frame_bytes: 60,
    };
    let lqi = Routing::Lqi {
        interval: BEACON_INTERVAL,
    };
    for seed in 1..=3 {
        for routing in [etx, lqi] {
            a_sink_answers(|_| Open, routing, seed);
        }
        let fusion = Strategy::named("fusion").unwrap();
        a_sink_answers(|id| Fusion::new(id, fusion), etx, seed);
    }
}
