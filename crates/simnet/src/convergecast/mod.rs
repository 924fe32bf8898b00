//! One run of a convergecast network: nodes that find a tree, pin it and send to the sinks, and
//! everything that can be counted of it.
//!
//! Data flows [`Setup`] -> [`run`] -> [`Outcome`]; the experiment's kind that sweeps it is
//! `experiment/convergecast/`. Only what happens in the window after settling is counted.
//! Invariant: every packet that was made is delivered, dropped with a cause, or still waits
//! ([`Outcome::packets`]). Tests: `*tests.rs`.

#[cfg(test)]
mod down_tests;
mod ledger;
#[cfg(test)]
mod one_hop_tests;
#[cfg(test)]
mod tests;

pub use ledger::{Link, NodeCounts, Packets};

use ledger::Ledger;
use std::collections::BTreeMap;
use thalweg_medium::chip::{CC1000, CC2420, NRF52840};
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, normal, stream, uniform};
use thalweg_medium::{Cause, EarId};
use thalweg_protocols::csma;
use thalweg_protocols::fusion::{Fusion, Strategy};
use thalweg_protocols::stack::{
    Application, Command, Config, Drop, Node, Queue, Readings, Schedule,
};
use thalweg_protocols::tree::{Role, Routing};
use thalweg_sim::{boards, Board, BoardError, Capture, Network, NetworkError, SimError, Wakes};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId, SimTime};
use thalweg_wire::tree::DATA_HEADER_BYTES;

/// A node of such a network.
pub type Mote = Node<Fusion, Readings>;

/// What nodes send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Workload {
    /// Every node makes a reading of one packet at this rate, each at its own phase.
    Periodic {
        /// Packets per second and node.
        rate: f64,
    },
    /// All nodes make a reading of so many packets at the same events.
    Events {
        /// Packets of each node and event.
        burst: u16,
        /// From event to event.
        period: Duration,
    },
}

/// Standard deviation of the nodes' clocks at events: 91 % within 29 ms (Fusion, section 5.5).
const EVENT_SIGMA: f64 = 0.017;
/// The routing beacons' mean interval (Fusion, section 5.2).
const BEACON_INTERVAL: Duration = Duration::from_secs(10);

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Against congestion.
    pub strategy: Strategy,
    /// The load.
    pub workload: Workload,
    /// Time for routes before they are pinned and counting begins. A periodic load is on the air then: nodes
    /// estimate links from all that they overhear (Fusion, sections 2.3.2 and 5.2). Events are not: they come
    /// once clocks are synchronised (5.5).
    pub settle: Duration,
    /// How long the load lasts and is counted.
    pub duration: Duration,
    /// Sinks by index; none for the testbed's own.
    pub sinks: Vec<usize>,
    /// How many nodes may route, sinks among them; none for all.
    pub routers: Option<usize>,
    /// For how long leaves listen before they send, sleeping otherwise; none where they do not
    /// sleep.
    pub doze: Option<Duration>,
    /// Low-power listening: how long every node sleeps between two samples of the channel; none where
    /// radios stay on.
    pub lpl: Option<Duration>,
    /// Packets that a queue holds.
    pub queue: u8,
    /// Bytes of a frame, check sequence included.
    pub frame_bytes: u8,
    /// Nominal transmit power; none for the board's.
    pub power: Option<Dbm>,
    /// The channel, where the band has several.
    pub channel: Channel,
    /// Nodes that fail at a time of the window.
    pub failures: Vec<(usize, Duration)>,
    /// Factor on the rate of single nodes, by index.
    pub rates: BTreeMap<usize, f64>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// By node index.
    pub nodes: Vec<NodeCounts>,
    /// Which of them are sinks.
    pub sinks: Vec<usize>,
    /// By link that carried data.
    pub links: BTreeMap<(usize, usize), Link>,
    /// Hops of each node's route to its sink at the end; none without one.
    pub depth: Vec<Option<u32>>,
    /// Data frames sent over single links.
    pub sent: u64,
    /// Of them, those that did not arrive, by cause.
    pub lost: BTreeMap<Cause, u64>,
    /// Packets that were dropped, by cause, those counted that arrived all the same.
    pub dropped: BTreeMap<Drop, u64>,
    /// Hops of packets that arrived.
    pub useful_hops: u64,
    /// Seconds from each arrived packet's reading to the sink, its wait in the application included.
    pub latencies: Vec<f64>,
    /// The packets' fates.
    pub packets: Packets,
    /// Energy of all nodes in the window, joules.
    pub joules: f64,
    /// Share of the window that the sources' radios were not asleep, on average.
    pub awake: f64,
    /// The most that a queue ever held.
    pub deepest_queue: usize,
    /// Frames on the air, all of the run.
    pub air_frames: u64,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The simulation failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The nodes and their boards do not suit each other.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A board's file cannot be had.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The hardware has no such low-power listening.
    #[error("low-power listening: the {0}'s hardware makes the preamble")]
    NoLpl(String),
}

/// The board's radio with the driver that does carrier sense, and its medium access.
pub fn stack(board: &Board) -> Result<(Board, csma::Config), BoardError> {
    if *board.chip == NRF52840 {
        // Its driver does carrier sense, too.
        return Ok((board.clone(), csma::Config::IEEE_802_15_4));
    }
    let (name, mac) = match board.chip {
        chip if *chip == CC1000 => ("mica2", csma::Config::MICA2),
        chip if *chip == CC2420 => ("telosb-tinyos", csma::Config::TINYOS_CC2420),
        _ => ("ieee802154", csma::Config::IEEE_802_15_4),
    };
    let chip = board.chip;
    let board = boards::load(name)?;
    Ok((Board { chip, ..board }, mac))
}

/// Nodes that contend for one channel.
type Convergecast = Network<Mote, Ether>;

/// Runs `setup` at `site`, writing frames to `capture`.
pub fn run(
    site: &Site,
    setup: &Setup,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let testbed = &site.testbed;
    let nodes = testbed.len();
    let sinks = match setup.sinks.as_slice() {
        [] => vec![testbed.sink_index()],
        given => given.to_vec(),
    };
    let mut network = open(site, setup, &sinks, seed)?;
    network.capture(capture).map_err(SimError::from)?;
    let begins = SimTime::ZERO + setup.settle;
    let ends = begins + setup.duration;
    let lead = match setup.workload {
        Workload::Periodic { .. } => setup.settle,
        Workload::Events { .. } => Duration::ZERO,
    };
    let load = |n: usize| {
        let load = earlier(schedule(setup, n, begins, seed), lead);
        (!sinks.contains(&n)).then_some(load)
    };
    let loads: Vec<Option<Schedule>> = (0..nodes).map(load).collect();
    for (n, load) in loads.iter().enumerate() {
        network.command(n, Command::Start);
        if let Some(load) = load {
            network.command(n, Command::Upper(*load));
        }
    }
    let ids = testbed.nodes.iter().map(|node| node.id).collect();
    let mut ledger = Ledger::new(ids, &sinks, loads, begins);
    network.run_with(begins, &mut ledger)?;
    let (waiting, unsent) = unfinished(&network, &sinks);
    ledger.open(&waiting, unsent);
    let (joules, awake) = spent(&network, &sinks);
    let parent = |n: usize| network.engine(n).stack().router().parent();
    let parents = (0..nodes).map(|n| testbed.index_of(parent(n)?));
    let parents: Vec<Option<usize>> = parents.collect();
    pin(&mut network, setup, &parents, &sinks);
    let mut failures = setup.failures.clone();
    failures.sort_by_key(|(_, at)| *at);
    for (n, at) in failures {
        network.run_with((begins + at).min(ends), &mut ledger)?;
        network.command(n, Command::Stop);
    }
    network.run_with(ends, &mut ledger)?;
    network.capture(None).map_err(SimError::from)?;
    let (waiting, unsent) = unfinished(&network, &sinks);
    let mut outcome = ledger.finish(&waiting, unsent);
    outcome.depth = (0..nodes).map(|n| depth(&parents, &sinks, n)).collect();
    let (joules_after, awake_after) = spent(&network, &sinks);
    outcome.joules = joules_after - joules;
    let sources = outcome.sources().count().max(1) as f64;
    let window = setup.duration.as_secs_f64().max(1e-9);
    outcome.awake = (awake_after - awake) / (sources * window);
    outcome.air_frames = network.stats().air_frames;
    Ok(outcome)
}

/// The nodes of `site`, switched off.
fn open(site: &Site, setup: &Setup, sinks: &[usize], seed: u64) -> Result<Convergecast, RunError> {
    let (mut board, mut mac) = stack(&site.board)?;
    mac = prioritised(mac, &setup.strategy);
    if let Some(interval) = setup.lpl {
        let lpl = mac.with_lpl(interval);
        mac = lpl.ok_or_else(|| RunError::NoLpl(board.name.clone()))?;
        board.wakes = Wakes::WhenAsked;
    }
    if let Some(power) = setup.power {
        board.tx_power = power;
    }
    let reach = Reach::of_environment(&site.environment, board.chip, setup.channel, board.tx_power);
    let routers = (setup.routers).map(|count| backbone(&reach, &board, sinks, count));
    let header_bytes = board.chip.phy.fcs_bytes as usize + DATA_HEADER_BYTES;
    let payload_bytes = usize::from(setup.frame_bytes).saturating_sub(header_bytes);
    let engine = |n: usize, id: NodeId| {
        let role = if sinks.contains(&n) {
            Role::Sink
        } else if routers.as_ref().is_none_or(|list| list.contains(&n)) {
            Role::Router
        } else {
            Role::Leaf
        };
        let config = Config {
            id,
            channel: setup.channel,
            mac,
            role,
            routing: Routing::Etx {
                interval: BEACON_INTERVAL,
                // On the CC1000 the check sequence is part of the packet.
                frame_bytes: setup.frame_bytes.saturating_sub(2),
            },
            queue: Queue::of(setup.queue),
            seed: derive(seed, "node", &[n as u64]),
        };
        let discipline = Fusion::new(id, setup.strategy);
        let readings = Readings::new(Application::Waits, payload_bytes);
        Mote::new(config, discipline, readings)
    };
    let nodes = site.testbed.nodes.iter().enumerate();
    let engines = nodes.map(|(n, node)| engine(n, node.id)).collect();
    Ok(Network::on(
        Ether::new(reach, seed),
        &[board],
        engines,
        seed,
    )?)
}

/// `mac` as `strategy` has it. With priority, congested nodes have its windows and the others four times those: a
/// congested node's are "one-fourth the size of a non-congested node's" (Fusion, section 4.4).
fn prioritised(mac: csma::Config, strategy: &Strategy) -> csma::Config {
    match strategy.congested {
        csma::Priority::High => mac.with_longer_backoffs(4),
        csma::Priority::Normal => mac,
    }
}

/// Joules of all nodes so far, and seconds that the sources' radios were on.
fn spent(network: &Convergecast, sinks: &[usize]) -> (f64, f64) {
    let nodes = 0..network.len();
    let sources = nodes.clone().filter(|n| !sinks.contains(n));
    let awake = sources.map(|n| network.energy(n).radio_on().as_secs_f64());
    (nodes.map(|n| network.joules(n)).sum(), awake.sum())
}

/// Pins every node's route; leaves doze where `setup` says so.
fn pin(network: &mut Convergecast, setup: &Setup, parents: &[Option<usize>], sinks: &[usize]) {
    for n in 0..parents.len() {
        network.command(n, Command::Pin);
        let is_leaf = !parents.contains(&Some(n)) && !sinks.contains(&n);
        if let (Some(listen), true) = (setup.doze, is_leaf) {
            network.command(n, Command::Doze { listen });
        }
    }
}

/// When node `n` makes its readings.
fn schedule(setup: &Setup, n: usize, begins: SimTime, seed: u64) -> Schedule {
    let begins = Instant::from_nanos(begins.as_nanos());
    let until = begins + setup.duration;
    let mut rng = stream(seed, "workload", &[n as u64]);
    let (ahead_s, period, burst) = match setup.workload {
        Workload::Periodic { rate } => {
            let rate = rate * setup.rates.get(&n).copied().unwrap_or(1.0);
            let period = Duration::from_secs_f64(1.0 / rate.max(1e-6));
            (period.as_secs_f64() * uniform(&mut rng), period, 1)
        }
        // Three sigma ahead of the first event, so that no clock is early for it.
        Workload::Events { burst, period } => {
            let error = 3.0 + normal(&mut rng).clamp(-3.0, 3.0);
            (error * EVENT_SIGMA, period, burst)
        }
    };
    Schedule {
        first: begins + Duration::from_secs_f64(ahead_s),
        period,
        until,
        burst,
    }
}

/// The same with as many more readings before as `lead` has room for.
fn earlier(schedule: Schedule, lead: Duration) -> Schedule {
    let more = lead.as_nanos() / schedule.period.as_nanos().max(1);
    let first = schedule.first.saturating_sub(schedule.period * more);
    Schedule { first, ..schedule }
}

/// Packets in queues, and how many applications have not handed down.
fn unfinished(network: &Convergecast, sinks: &[usize]) -> (Vec<(u16, u16)>, u64) {
    let engines = || (0..network.len()).map(|n| network.engine(n));
    let packets = engines().flat_map(|node| node.stack().queue());
    let queued = packets.map(|packet| (packet.origin.get(), packet.number));
    let sources = engines().enumerate().filter(|(n, _)| !sinks.contains(n));
    let unsent = sources.map(|(_, node)| u64::from(node.above().waiting()));
    (queued.collect(), unsent.sum())
}

/// Links from `n` up to a sink; none where there is no route.
fn depth(parents: &[Option<usize>], sinks: &[usize], n: usize) -> Option<u32> {
    let (mut at, mut hops) = (n, 0);
    while !sinks.contains(&at) {
        at = parents.get(at).copied().flatten()?;
        hops += 1;
        if hops as usize > parents.len() {
            return None;
        }
    }
    Some(hops)
}

/// `count` nodes that may route: the sinks, then always the node in reach of those chosen that
/// covers most nodes that are not covered yet, the lower index of equals. Nodes hear each other where the mean power is 6 dB
/// above the sensitivity.
fn backbone(reach: &Reach, board: &Board, sinks: &[usize], count: usize) -> Vec<usize> {
    let nodes = reach.len();
    let hears = |a: usize, b: usize| {
        let gain = reach.gain(EarId(a as u32), EarId(b as u32));
        gain.is_some_and(|gain| gain.0 + board.tx_power.0 >= board.chip.sensitivity.0 + 6.0)
    };
    let mut chosen = sinks.to_vec();
    let mut covered: Vec<bool> = (0..nodes)
        .map(|n| sinks.contains(&n) || sinks.iter().any(|s| hears(*s, n)))
        .collect();
    while chosen.len() < count {
        let gain = |c: usize| (0..nodes).filter(|n| !covered[*n] && hears(c, *n)).count();
        let candidates = (0..nodes).filter(|c| covered[*c] && !chosen.contains(c));
        let best = candidates.max_by_key(|c| (gain(*c), std::cmp::Reverse(*c)));
        let Some(best) = best else { break };
        for (n, covered) in covered.iter_mut().enumerate() {
            *covered |= n == best || hears(best, n);
        }
        chosen.push(best);
    }
    chosen
}
