//! Networks for the daemon: one behind a base station's line ([`Behind`]), or a simulated one in real time or faster.
//!
//! Each node but the sink has a record of its own: vibration as a table, a picture or a journal. In a session nodes run
//! RCRT's program and send what a [`Gauge`] measures. Between jobs the network's time stands still. Time base: network time,
//! which [`Paced`] keeps from running ahead of the wall clock. Tests: `crates/daemon/tests/all/`.

mod behind;
mod gauge;
mod records;

use std::sync::Arc;
use std::thread;
use std::time::{Duration as Wall, Instant as WallInstant};

use thalweg_host::collector::Description;
use thalweg_host::connector::{Connector, Facts, Sessions, Spending, Tree};
use thalweg_host::job::Failure;
use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::transfer::pipeline::{Node, Order};
use thalweg_host::transfer::session::SessionRequest;
use thalweg_medium::random::derive;
use thalweg_testbeds::{Site, StationError};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::seal::frame::Sealing;

use crate::convergecast;
use crate::motes::{description, Motes, RunError, SimNetwork};
use crate::offers::{Change, Offers};
use crate::rcrt::{Setup, TreeNetwork};

pub use behind::Behind;
pub use gauge::Gauge;
pub use records::record;

/// Simulated at once, at most.
const SLICE: Duration = Duration::from_millis(100);
/// A simulation that is later than that does not try to make up for it.
const LATE: Wall = Wall::from_millis(500);

/// A site's nodes with one radio, as a gateway finds them.
pub struct Simulated {
    site: Site,
    /// Further base stations.
    beside: Vec<NodeId>,
    speed: f64,
    bytes: u32,
}

impl Simulated {
    /// The nodes of `site` at `speed` times the pace of real time, each with a record of about `bytes` bytes.
    ///
    /// # Errors
    /// [`RunError`] where they cannot carry pipelines.
    pub fn new(site: Site, speed: f64, bytes: u32) -> Result<Self, RunError> {
        Motes::open(&site, 0)?;
        Ok(Self {
            site,
            beside: Vec::new(),
            speed,
            bytes,
        })
    }
    /// With the nodes `to` as base stations, in place of the testbed's; as many transfers go at once. None changes nothing.
    ///
    /// # Errors
    /// [`StationError::UnknownNode`].
    pub fn to(mut self, to: &[NodeId]) -> Result<Self, StationError> {
        let testbed = Arc::make_mut(&mut self.site.testbed);
        for node in to {
            let unknown = || StationError::UnknownNode(testbed.name.clone(), *node);
            testbed.index_of(*node).ok_or_else(unknown)?;
        }
        if let Some((first, more)) = to.split_first() {
            (testbed.sink, self.beside) = (*first, more.to_vec());
        }
        Ok(self)
    }
}

impl Connector for Simulated {
    type Network = Paced<Recorders>;

    fn facts(&self) -> Facts {
        let testbed = &self.site.testbed;
        let nodes = testbed.len();
        Facts {
            network: Description {
                beside: self.beside.clone(),
                ..description(&self.site, testbed.sink, None)
            },
            usual_bytes: u64::from(self.bytes),
            about: {
                let pace = match self.speed {
                    1.0 => String::new(),
                    speed => format!(" at {speed} times real time"),
                };
                let secured = match self.site.sealing() {
                    Sealing::Sealed => ", secured",
                    Sealing::Open => "",
                };
                let stations = match self.beside.len() {
                    0 => String::new(),
                    more => format!(", {} base stations", more + 1),
                };
                let name = &testbed.name;
                format!("{name}, {nodes} simulated nodes{stations}{pace}{secured}")
            },
            sessions: Sessions::Carried,
            spending: Spending::Metered,
        }
    }

    fn open(&mut self) -> Result<Self::Network, NetworkFault> {
        let broken = |why: RunError| NetworkFault::Broken(Box::new(why));
        let seed = derive(self.site.seed, "gateway", &[]);
        let motes = Motes::open(&self.site, seed).map_err(broken)?;
        let testbed = &self.site.testbed;
        // The daemon has numbers in its store.
        let mut nodes = motes.nodes.numbered_by_caller();
        let beside = self
            .beside
            .iter()
            .filter_map(|node| testbed.index_of(*node));
        let stations: Vec<usize> = [testbed.sink_index()].into_iter().chain(beside).collect();
        nodes.hear(&stations);
        let recorders = Recorders {
            nodes,
            ids: testbed.nodes.iter().map(|node| node.id).collect(),
            seed: self.site.seed,
            bytes: self.bytes as usize,
            offers: Offers::of_transfers(stations.len()),
        };
        Ok(Paced::new(recorders, self.speed))
    }

    fn session<'a>(
        &'a mut self,
        _network: &'a mut Self::Network,
        request: &SessionRequest,
        number: Option<u32>,
    ) -> Result<Tree<'a>, Failure> {
        let sources = request.nodes().map(|id| (id, request.demand_of(id)));
        let network = gauges(&self.site, (self.site.testbed.sink, number), sources);
        let network = network.map_err(|why| Failure::Unfit(why.to_string()))?;
        Ok(Tree::new(Paced::new(network, self.speed)))
    }
}

/// The nodes of `site` in a session to `station`, which has a `number` where it is sealed, each with a gauge; those of
/// `sources` send, at the packets per second that they want.
fn gauges(
    site: &Site,
    (station, number): (NodeId, Option<u32>),
    sources: impl Iterator<Item = (NodeId, f64)>,
) -> Result<TreeNetwork<Gauge>, convergecast::RunError> {
    let setup = Setup {
        sealed: number.map(|number| (station, number)),
        ..Setup::session(site, station, sources)
    };
    let (seed, run) = (site.seed, derive(site.seed, "session", &[]));
    TreeNetwork::open(site, setup, |id| Gauge::new(seed, id), run, None)
}

/// Nodes each with a record of its own, made when an order fetches it.
pub struct Recorders {
    nodes: SimNetwork<Node>,
    /// The nodes, by index.
    ids: Vec<NodeId>,
    seed: u64,
    bytes: usize,
    offers: Offers,
}

impl Layered for Recorders {
    type Inner = SimNetwork<Node>;

    fn inner(&self) -> &SimNetwork<Node> {
        &self.nodes
    }
    fn inner_mut(&mut self) -> &mut SimNetwork<Node> {
        &mut self.nodes
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<SimNetwork<Node>>, NetworkFault> {
        self.nodes.next(until)
    }
    fn pass_on(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        for change in self.offers.change(&order) {
            let (Change::Offer(id) | Change::Withdraw(id)) = change;
            // A source that the network does not have is unknown here.
            let Some(index) = self.ids.iter().position(|node| *node == id) else {
                continue;
            };
            match change {
                Change::Offer(_) => {
                    let record = record(self.seed, id, self.bytes);
                    self.nodes.offer(index, record);
                }
                Change::Withdraw(_) => self.nodes.withdraw(index),
            }
        }
        self.nodes.order(station, order)
    }
}

/// A network that runs no faster than so many times real time.
pub struct Paced<N> {
    network: N,
    speed: f64,
    /// A wall time, and the network's time then.
    since: (WallInstant, NetworkTime),
}

impl<N: Network> Paced<N> {
    /// `network` at `speed` times the pace of real time.
    pub fn new(network: N, speed: f64) -> Self {
        let since = (WallInstant::now(), network.now());
        Self {
            network,
            speed,
            since,
        }
    }

    /// Waits until the wall clock has caught up with the network's.
    fn keep_pace(&mut self) {
        let (wall, network) = self.since;
        let ahead = self.network.now().since(network).as_secs_f64() / self.speed;
        let due = wall + Wall::from_secs_f64(ahead);
        let now = WallInstant::now();
        match due.checked_duration_since(now) {
            Some(early) => thread::sleep(early),
            None if now.duration_since(due) > LATE => self.since = (now, self.network.now()),
            None => {}
        }
    }
}

impl<N: Network> Layered for Paced<N> {
    type Inner = N;

    fn inner(&self) -> &N {
        &self.network
    }
    fn inner_mut(&mut self) -> &mut N {
        &mut self.network
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<N>, NetworkFault> {
        loop {
            let slice = until.min(self.network.now() + SLICE);
            let notice = self.network.next(slice)?;
            self.keep_pace();
            match notice {
                Notice::Nothing if slice < until => {}
                notice => return Ok(notice),
            }
        }
    }
}
