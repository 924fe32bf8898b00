//! W1, the workload that contention networks are timed with: unslotted CSMA-CA on one 2.4 GHz
//! channel, every node sends to the sink over a given tree. The topologies of 40, 139 and 1000 nodes
//! are inputs (`bench/w1`, with what they are); other sizes are drawn at the same density.
//!
//! Owns no clock: the caller times [`W1::run`]. Tests: `speed_tests.rs`.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use thalweg_medium::chip::{Chip, Modem, CC2420};
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_medium::Air;
use thalweg_protocols::csma;
use thalweg_protocols::stack::{
    Application, Command, Config, Event, Node, Open, Queue, Reading, Readings, Schedule, MAX_QUEUE,
};
use thalweg_protocols::tree::{Role, Routing};
use thalweg_sim::{boards, Board, BoardError, Network, NetworkError, SimError};
use thalweg_units::{Channel, Db, Dbm, Duration, Instant, NodeId, SimTime};

/// The radio of W1: noise floor -95.4 dBm, channel busy from -85 dBm on; interference adds to noise,
/// a receiver begins with what it hears first at -5 dB or better and stays with it (what ns-3's
/// lr-wpan does).
static RADIO: Chip = Chip {
    modem: Modem::OQpskPlain,
    lock_sinr: Db(-5.0),
    steal: Db(200.0),
    noise_floor: Dbm(-95.4),
    cca_threshold: Dbm(-85.0),
    ..CC2420
};
/// Path loss at one metre, and per decade of distance.
const LOSS: (Db, Db) = (Db(40.05), Db(30.0));
/// Nodes per square metre of the given topologies.
const DENSITY: f64 = 1000.0 / (567.0 * 567.0);
/// Links that a tree of a drawn topology may use: above the threshold of carrier sense less this.
const LEAST_RSSI: Dbm = Dbm(-88.0);
/// With 16 bytes of headers, the 73 of 64 bytes after a MAC header; hardware appends the check sequence.
const PAYLOAD_BYTES: usize = 57;

const GIVEN: [(usize, &str); 3] = [
    (40, include_str!("../w1/w1_n40.csv")),
    (139, include_str!("../w1/w1_n139.csv")),
    (1000, include_str!("../w1/w1_n1000.csv")),
];

/// A node of the workload.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    at: (f64, f64),
    parent: Option<usize>,
    phase: Duration,
}

/// Why there is no such workload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpeedError {
    /// The topology's file is not one.
    #[error("bench/w1: line {0}: expected id, x, y, parent, hops and phase")]
    Malformed(usize),
    /// Too few or too many nodes.
    #[error("{0} nodes: expected 2 to 10000")]
    Nodes(usize),
    /// The board's file cannot be had.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The network could not be made.
    #[error("simulation: {0}")]
    Network(#[from] NetworkError),
    /// The simulation failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
}

/// The workload, ready to run.
pub struct W1<A: Air = Ether> {
    network: Network<Node<Open, Readings>, A>,
    sink: usize,
    links: u64,
    ends: SimTime,
}

/// Its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames sent, acknowledgements among them.
    pub air_frames: u64,
    /// Packets that the applications made.
    pub generated: u64,
    /// Of them, those that reached the sink.
    pub delivered: u64,
    /// Events of the simulator's queue.
    pub events: u64,
    /// Links that the medium keeps.
    pub links: u64,
}

impl W1 {
    /// The workload of `nodes` nodes: 100 s at one packet a second, from 500 nodes on 30 s with one
    /// packet each.
    pub fn new(nodes: usize, seed: u64) -> Result<Self, SpeedError> {
        if !(2..=10_000).contains(&nodes) {
            return Err(SpeedError::Nodes(nodes));
        }
        let places = places(nodes, seed)?;
        let at: Vec<(f64, f64)> = places.iter().map(|place| place.at).collect();
        let reach = Reach::of_places(&at, &RADIO, LOSS.0, LOSS.1, Dbm(0.0));
        let links = reach.links() as u64;
        Self::over(Ether::new(reach, seed), links, &places, seed)
    }

    /// How long the simulated time is.
    pub fn simulated(&self) -> Duration {
        self.ends.since(SimTime::ZERO)
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// [`SpeedError::Sim`].
    pub fn run(&mut self) -> Result<Counts, SpeedError> {
        self.run_over_air()
    }
}

impl<A: Air> W1<A> {
    /// The workload of nodes at `places` in `air`, which keeps so many links.
    fn over(air: A, links: u64, places: &[Place], seed: u64) -> Result<Self, SpeedError> {
        let (seconds, period) = if places.len() < 500 {
            (100, 1)
        } else {
            (30, 30)
        };
        let ends = Duration::from_secs(seconds);
        let id = |n: usize| NodeId::new(n as u16 + 1).unwrap_or(NodeId::MAX);
        let engine = |(n, place): (usize, &Place)| {
            let role = place.parent.map_or(Role::Sink, |_| Role::Router);
            let config = Config {
                id: id(n),
                channel: Channel::LAST,
                mac: csma::Config::IEEE_802_15_4,
                role,
                routing: Routing::Fixed(place.parent.map(id)),
                queue: Queue::of(MAX_QUEUE as u8),
                seed: derive(seed, "w1", &[n as u64]),
            };
            let readings = Readings::new(Application::Insists, PAYLOAD_BYTES);
            Node::new(config, Open, readings)
        };
        let engines = places.iter().enumerate().map(engine).collect();
        let board = Board {
            chip: &RADIO,
            ..boards::load("ieee802154")?
        };
        let mut network = Network::on(air, &[board], engines, seed)?;
        for (n, place) in places.iter().enumerate() {
            network.command(n, Command::Start);
            if place.parent.is_some() {
                let schedule = Schedule {
                    first: Instant::ZERO + place.phase * period,
                    period: Duration::from_secs(period),
                    until: Instant::ZERO + ends,
                    burst: 1,
                };
                network.command(n, Command::Upper(schedule));
            }
        }
        let sink = places.iter().position(|place| place.parent.is_none());
        Ok(Self {
            network,
            sink: sink.unwrap_or(0),
            links,
            ends: SimTime::ZERO + ends,
        })
    }

    fn run_over_air(&mut self) -> Result<Counts, SpeedError> {
        let (sink, links) = (self.sink, self.links);
        let (mut generated, mut delivered) = (0, 0);
        self.network.run_until(self.ends, |_, node, event| {
            match event {
                Event::Upper(Reading { made, .. }) => generated += u64::from(made),
                Event::Received { .. } if sink == node => delivered += 1,
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        let stats = self.network.stats();
        Ok(Counts {
            air_frames: stats.air_frames,
            generated,
            delivered,
            events: stats.events,
            links,
        })
    }
}

/// Where the nodes are, and the tree over them.
fn places(nodes: usize, seed: u64) -> Result<Vec<Place>, SpeedError> {
    match GIVEN.iter().find(|(n, _)| *n == nodes) {
        Some((_, text)) => given(text),
        None => Ok(drawn(nodes, seed)),
    }
}

fn given(text: &str) -> Result<Vec<Place>, SpeedError> {
    let rows = text.lines().enumerate().skip(1);
    let rows = rows.filter(|(_, row)| !row.trim().is_empty());
    rows.map(|(line, row)| {
        let fields: Vec<&str> = row.split(',').map(str::trim).collect();
        let number = |k: usize| fields.get(k).and_then(|f| f.parse::<f64>().ok());
        let parse = || {
            let parent = number(3)?;
            Some(Place {
                at: (number(1)?, number(2)?),
                parent: (parent >= 0.0).then_some(parent as usize),
                phase: Duration::from_secs_f64(number(5)?),
            })
        };
        parse().ok_or(SpeedError::Malformed(line + 1))
    })
    .collect()
}

/// Places drawn evenly over a square, and the tree of fewest hops from the node nearest its centre.
/// Nodes without a way to it hang on the nearest one that has.
fn drawn(nodes: usize, seed: u64) -> Vec<Place> {
    let side = (nodes as f64 / DENSITY).sqrt();
    let mut rng = stream(seed, "w1 places", &[]);
    let mut places: Vec<Place> = (0..nodes)
        .map(|_| Place {
            at: (side * uniform(&mut rng), side * uniform(&mut rng)),
            parent: None,
            phase: Duration::from_secs_f64(uniform(&mut rng)),
        })
        .collect();
    let square = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2);
    let middle = (side / 2.0, side / 2.0);
    let nearest = |to: (f64, f64), among: &mut dyn Iterator<Item = usize>| {
        among.min_by(|a, b| {
            let (a, b) = (places[*a].at, places[*b].at);
            square(a, to).total_cmp(&square(b, to))
        })
    };
    let sink = nearest(middle, &mut (0..nodes)).unwrap_or(0);
    let range = libm::exp10((-LEAST_RSSI.0 - LOSS.0 .0) / LOSS.1 .0);
    let mut parents: Vec<Option<usize>> = vec![None; nodes];
    let mut reached = vec![false; nodes];
    reached[sink] = true;
    let mut queue = VecDeque::from([sink]);
    loop {
        while let Some(here) = queue.pop_front() {
            for there in 0..nodes {
                if !reached[there] && square(places[here].at, places[there].at) <= range * range {
                    reached[there] = true;
                    parents[there] = Some(here);
                    queue.push_back(there);
                }
            }
        }
        let Some(lost) = reached.iter().position(|r| !r) else {
            break;
        };
        let near = nearest(places[lost].at, &mut (0..nodes).filter(|n| reached[*n]));
        parents[lost] = near;
        reached[lost] = true;
        queue.push_back(lost);
    }
    for (place, parent) in places.iter_mut().zip(parents) {
        place.parent = parent;
    }
    places
}

#[cfg(test)]
#[path = "speed_tests.rs"]
mod tests;
