//! A chain: nodes in the order of the hops, their channels, boards and forwarding; one run of it.

use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use thalweg_engine::Cca;
use thalweg_planner::closed_forms::{multi_channel_bound, single_channel_bound, single_hop_bound};
use thalweg_protocols::forward::{Command, Config, Event, Exits, Forwarder, Forwarding, Role};
use thalweg_protocols::object::NoObject;
use thalweg_sim::{Network, NetworkError, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{BitRate, Channel, Duration, NodeId, SimTime};
use thalweg_wire::forward::{HEADER_BYTES, MAX_PAYLOAD};

/// How a chain's hops share the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// One channel for all hops.
    One,
    /// Each hop has its own.
    PerHop,
}

/// A forwarding variant as files name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingName {
    /// Every packet is read out and written.
    Copying,
    /// One frame is sent again for every packet; no data moves.
    Resending,
    /// Conditional immediate transmission.
    Conditional,
}

impl ForwardingName {
    /// As files name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Copying => "copying",
            Self::Resending => "resending",
            Self::Conditional => "conditional",
        }
    }
    const fn of_engine(self) -> Forwarding {
        match self {
            Self::Copying => Forwarding::Copying,
            Self::Resending => Forwarding::Resending,
            Self::Conditional => Forwarding::Conditional,
        }
    }
}

/// What a chain gives.
pub(super) type Result<T, E = ChainError> = std::result::Result<T, E>;

/// A chain could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The simulation could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] NetworkError),
    /// The simulation could not go on.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// A pipeline cannot be so long.
    #[error("a path of {hops} hops: a pipeline has 1 to {most}")]
    Hops {
        /// Its hops.
        hops: usize,
        /// How many there may be.
        most: usize,
    },
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

/// Where chains run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The site; its nodes' first radios forward.
    pub site: Site,
    /// Draws clocks and jitter.
    pub seed: u64,
}

/// Chains have channels of 2.4 GHz.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("board {board}: its {chip} has no channels of 2.4 GHz")]
pub struct UnfitBoard {
    /// The board.
    board: String,
    /// Its radio.
    chip: &'static str,
}

impl Bench {
    /// Chains over the nodes of `site`.
    pub fn new(site: Site, seed: u64) -> Result<Self, UnfitBoard> {
        let (board, chip) = (&site.board, site.board.chip);
        match chip.has_channel(Channel::LAST) {
            true => Ok(Self { site, seed }),
            false => Err(UnfitBoard {
                board: board.name.clone(),
                chip: chip.name,
            }),
        }
    }
}

/// A route, or two between the same ends that take packets by turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Node indices from source to sink, of each route. Where the last is the first, a loop.
    pub routes: Vec<Vec<usize>>,
    /// The channel of each hop, of each route.
    pub channels: Vec<Vec<Channel>>,
    /// How relays forward.
    pub forwarding: ForwardingName,
    /// Whether nodes look before they send.
    pub cca: Cca,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
}

/// What became of the packets of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Packets that arrived at the sink, of those sent.
    pub received: u32,
    /// Whether all were, each once and in order.
    pub whole: bool,
    /// From the first to the last of them.
    pub time: Duration,
    /// Bytes of each on the air, header included, check sequence not.
    pub mpdu_bytes: usize,
}

impl Trial {
    /// MPDU bits per time, first packet to last: the paper's raw data throughput.
    pub fn raw(&self) -> BitRate {
        let bytes = u64::from(self.received.saturating_sub(1)) * self.mpdu_bytes as u64;
        BitRate::of_bytes(bytes, self.time)
    }
    /// The same of payload bits.
    pub fn payload(&self) -> BitRate {
        let share = (self.mpdu_bytes - HEADER_BYTES) as f64 / self.mpdu_bytes as f64;
        BitRate::from_bps(self.raw().bps() * share)
    }
}

/// The simulated nodes of a chain.
pub type Nodes = Network<Forwarder<NoObject>>;

/// The order in which channels are given to hops: far apart from hop to hop, and no two beside each
/// other among the first eight.
pub(super) const SPREAD: [u8; 16] = [
    26, 16, 22, 12, 24, 14, 20, 18, 25, 15, 21, 11, 23, 13, 19, 17,
];

impl Chain {
    /// A chain of `hops` over the first nodes of a site.
    pub fn line(hops: usize, channels: Channels, forwarding: ForwardingName) -> Self {
        Self {
            routes: vec![(0..=hops).collect()],
            channels: vec![assigned(0, hops, channels)],
            forwarding,
            cca: Cca::Skip,
            payload_bytes: MAX_PAYLOAD as u8,
        }
    }
    /// The same whose last hop leads back to the source.
    pub fn round(hops: usize, channels: Channels, forwarding: ForwardingName) -> Self {
        let mut chain = Self::line(hops, channels, forwarding);
        chain.routes = vec![(0..hops).chain([0]).collect()];
        chain
    }
    /// Two routes of `hops` hops, distinct but for their ends; the last hop's channel is common.
    pub fn pair(hops: usize, channels: Channels, forwarding: ForwardingName) -> Self {
        let relays = hops.saturating_sub(1);
        let sink = 2 * relays + 1;
        let route = |k: usize| {
            let relays = (1 + k * relays)..(1 + (k + 1) * relays);
            [0].into_iter().chain(relays).chain([sink]).collect()
        };
        let first = assigned(0, hops, channels);
        let mut second = assigned(hops, relays, channels);
        second.extend(first.last());
        Self {
            routes: vec![route(0), route(1)],
            channels: vec![first, second],
            ..Self::line(hops, channels, forwarding)
        }
    }

    /// Hops of the first route.
    pub fn hops(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }
    /// How many nodes of a site it needs.
    pub fn nodes(&self) -> usize {
        self.routes.iter().flatten().max().map_or(0, |n| n + 1)
    }
    /// Bytes of a packet on the air, check sequence not included.
    pub fn mpdu_bytes(&self) -> usize {
        usize::from(self.payload_bytes) + HEADER_BYTES
    }
    fn one_channel(&self) -> bool {
        let first = self.channels.iter().flatten().next();
        self.channels.iter().flatten().all(|c| Some(c) == first)
    }
    /// What it can do at best where all its nodes are in range of each other (CIT, section 2):
    /// on one channel all its transmissions exclude each other.
    pub fn bound(&self) -> BitRate {
        let (bytes, hops) = (self.mpdu_bytes(), self.hops() as u64);
        match (self.routes.len(), self.one_channel()) {
            (_, true) => single_channel_bound(bytes, hops),
            (1, false) => multi_channel_bound(bytes, hops),
            _ => single_hop_bound(bytes),
        }
    }

    /// Its nodes on `bench`, joined and listening. `interval` is what packets will come at.
    pub fn open(&self, bench: &Bench, interval: Duration) -> Result<Nodes> {
        let nodes = bench.site.environment.ears.len();
        let engine = |n| Forwarder::new(id(n), NoObject);
        let engines = (0..nodes).map(engine).collect();
        let (site, seed) = (&bench.site, bench.seed);
        let boards = std::slice::from_ref(&site.board);
        let mut net = Network::new(site.environment.clone(), boards, engines, seed)?;
        for n in 0..nodes {
            if let Some(config) = self.part(n, interval) {
                net.command(n, Command::Join(config));
            }
        }
        // Oscillators start, frames that are sent again and again are written.
        let settled = net.now() + Duration::from_millis(20);
        net.run_until(settled, |_, _, _| ControlFlow::Continue(()))?;
        Ok(net)
    }

    /// The part of node `n`; none where it has none.
    fn part(&self, n: usize, interval: Duration) -> Option<Config> {
        let mut exits = Vec::new();
        let mut previous = [None; 2];
        let mut listen = None;
        let (mut place, mut relay) = (0, false);
        for (k, (route, channels)) in self.routes.iter().zip(&self.channels).enumerate() {
            for (hop, channel) in channels.iter().enumerate() {
                if route.get(hop) == Some(&n) {
                    exits.push(*channel);
                    (place, relay) = (hop, hop > 0);
                }
                if route.get(hop + 1) == Some(&n) {
                    listen = Some(*channel);
                    previous[k.min(1)] = route.get(hop).map(|from| id(*from));
                }
            }
        }
        let first = exits.first().or(listen.as_ref()).copied()?;
        previous.sort_by_key(|p| p.is_none());
        Some(Config {
            role: if relay { Role::Relay } else { Role::End },
            previous,
            listen: listen.unwrap_or(first),
            exits: match exits[..] {
                [even, odd] => Exits::Two(even, odd),
                _ => Exits::One(first),
            },
            forwarding: self.forwarding.of_engine(),
            cca: self.cca,
            // Longer than any pause between packets, and longer the farther from the source.
            hold: interval * 4 + Duration::from_millis(50 + 60 * place as u64),
            payload_bytes: self.payload_bytes,
        })
    }

    /// Sends `packets` at one each `interval`; breaks off at the first that is lost. Where each packet
    /// pushes the one before it on, as many follow as relays hold; nowhere else, since what is
    /// sent again and again has no number, and a follower would stand in for a packet that was lost.
    pub fn run(&self, bench: &Bench, interval: Duration, packets: u16) -> Result<Trial> {
        let mut net = self.open(bench, interval)?;
        let held = (self.hops() * self.routes.len()) as u16;
        let followers = match self.forwarding {
            ForwardingName::Conditional => held,
            ForwardingName::Copying | ForwardingName::Resending => 0,
        };
        net.command(
            self.source(),
            Command::Send {
                packets: packets.saturating_add(followers),
                payload_bytes: self.payload_bytes,
                after: interval,
                interval,
            },
        );
        let (mut received, mut whole) = (0u32, true);
        let (mut first, mut last) = (None, SimTime::ZERO);
        let counted = self.forwarding == ForwardingName::Resending;
        let sink = self.sink();
        // A packet that takes longer than this for a hop is not coming.
        let patience = interval * (8 + 2 * u64::from(held)) + Duration::from_millis(500);
        while received < u32::from(packets) && whole {
            let (before, deadline) = (received, net.now() + patience);
            net.run_until(deadline, |at, n, event| {
                match event {
                    Event::Received { number, .. } if n == sink => {
                        whole &= counted || u32::from(number) == received;
                        first.get_or_insert(at);
                        (received, last) = (received + 1, at);
                    }
                    Event::Dropped { number, .. } if number < packets => whole = false,
                    _ => {}
                }
                match received < u32::from(packets) && whole {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            if received == before {
                whole = false;
            }
        }
        Ok(Trial {
            received,
            whole,
            time: last.since(first.unwrap_or(last)),
            mpdu_bytes: self.mpdu_bytes(),
        })
    }

    /// From the moment the source is given a packet to the moment the sink is handed one in return
    /// for it (CIT, section 5.2): with conditional transmission the packets that relays hold go on
    /// when the one before them comes. None where it got lost.
    pub fn latency(&self, bench: &Bench) -> Result<Option<Duration>> {
        let second = Duration::from_secs(1);
        let mut net = self.open(bench, second)?;
        let (source, sink) = (self.source(), self.sink());
        let payload_bytes = self.payload_bytes;
        if self.forwarding == ForwardingName::Conditional {
            let relays = self.routes.iter().flatten();
            for relay in relays.filter(|n| **n != source && **n != sink) {
                net.command(*relay, Command::Arm { payload_bytes });
            }
            let armed = net.now() + Duration::from_millis(20);
            net.run_until(armed, |_, _, _| ControlFlow::Continue(()))?;
        }
        let begin = net.now();
        let packet = Command::Send {
            packets: 1,
            payload_bytes,
            after: Duration::ZERO,
            interval: second,
        };
        net.command(source, packet);
        let mut taken = None;
        net.run_until(begin + second, |at, n, event| match event {
            Event::Received { .. } if n == sink => {
                taken = Some(at.since(begin));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        Ok(taken)
    }

    /// The node that packets come from.
    pub fn source(&self) -> usize {
        let route = self.routes.first();
        route.and_then(|r| r.first()).copied().unwrap_or(0)
    }
    /// The node that they go to.
    pub fn sink(&self) -> usize {
        let route = self.routes.first();
        route.and_then(|r| r.last()).copied().unwrap_or(0)
    }
}

/// The channels of `hops` hops, of which `before` have theirs.
pub(super) fn assigned(before: usize, hops: usize, channels: Channels) -> Vec<Channel> {
    let nth = |n: usize| Channel::new(SPREAD[n % SPREAD.len()]).unwrap_or(Channel::LAST);
    let channel = |hop| match channels {
        Channels::One => Channel::LAST,
        Channels::PerHop => nth(hop),
    };
    (before..before + hops).map(channel).collect()
}

fn id(n: usize) -> NodeId {
    NodeId::new(n as u16 + 1).unwrap_or(NodeId::MAX)
}
