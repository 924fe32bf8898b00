//! What the gateway's daemon is given: a network behind a base station's line ([`Behind`]), or where there is none, a
//! simulated one in real time, or faster.
//!
//! Each node but the sink has a record of its own, which says what it is: vibration as a table, a picture, a
//! journal. In a session nodes run another program, RCRT's, and tell what a [`Gauge`] measures. While no job runs, the network's time stands still. Time base: field time, which [`Paced`] keeps
//! from running ahead of the wall's clock. Tests: `tests/daemon/`.

mod behind;
mod gauge;
mod records;

use std::thread;
use std::time::{Duration as Wall, Instant as WallInstant};

use thalweg_host::connector::{Connector, Facts, Sessions, Spending, Tree};
use thalweg_host::job::Failure;
use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::transfer::pipeline::{Node, Order};
use thalweg_host::transfer::session::SessionRequest;
use thalweg_medium::random::derive;
use thalweg_protocols::floodnet;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, NodeId};

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
    speed: f64,
    bytes: u32,
    control: Channel,
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
            speed,
            bytes,
            control: Channel::LAST,
        })
    }

    /// The same with floods on channel `control`.
    #[must_use]
    pub fn flooding_on(self, control: Channel) -> Self {
        Self { control, ..self }
    }
}

impl Connector for Simulated {
    type Network = Paced<Recorders>;

    fn facts(&self) -> Facts {
        let testbed = &self.site.testbed;
        let nodes = testbed.len();
        Facts {
            network: description(&self.site, testbed.sink, None),
            usual_bytes: u64::from(self.bytes),
            about: match self.speed {
                1.0 => format!("{}, {nodes} simulated nodes", testbed.name),
                speed => format!(
                    "{}, {nodes} simulated nodes at {speed} times real time",
                    testbed.name
                ),
            },
            sessions: Sessions::Carried,
            spending: Spending::Metered,
        }
    }

    fn open(&mut self) -> Result<Self::Network, NetworkFault> {
        let broken = |why: RunError| NetworkFault::Broken(Box::new(why));
        let seed = derive(self.site.seed, "gateway", &[]);
        let mut config = floodnet::Config::default().on(&self.site.board.timing);
        config.glossy.channel = self.control;
        let motes = Motes::open_with(&self.site, config, seed).map_err(broken)?;
        let testbed = &self.site.testbed;
        let mut field = motes.nodes;
        field.hear(&[testbed.sink_index()]);
        let recorders = Recorders {
            field,
            ids: testbed.nodes.iter().map(|node| node.id).collect(),
            seed: self.site.seed,
            bytes: self.bytes as usize,
            offers: Offers::default(),
        };
        Ok(Paced::new(recorders, self.speed))
    }

    fn session<'a>(
        &'a mut self,
        _field: &'a mut Self::Network,
        wish: &SessionRequest,
    ) -> Result<Tree<'a>, Failure> {
        let sources = wish.nodes().map(|id| (id, wish.demand_of(id)));
        let field = gauges(&self.site, self.site.testbed.sink, sources);
        let field = field.map_err(|why| Failure::Unfit(why.to_string()))?;
        Ok(Tree::new(Paced::new(field, self.speed)))
    }
}

/// The nodes of `site` in a session to `station`, each with a gauge; those of `sources` send, at the packets per second
/// that they want.
pub(crate) fn gauges(
    site: &Site,
    station: NodeId,
    sources: impl Iterator<Item = (NodeId, f64)>,
) -> Result<TreeNetwork<Gauge>, convergecast::RunError> {
    let setup = Setup::session(&site.testbed, station, sources);
    let (seed, run) = (site.seed, derive(site.seed, "session", &[]));
    TreeNetwork::open(site, setup, |id| Gauge::new(seed, id), run, None)
}

/// Nodes each with a record of its own, which is made as it is asked for.
pub struct Recorders {
    field: SimNetwork<Node>,
    /// The nodes, by index.
    ids: Vec<NodeId>,
    seed: u64,
    bytes: usize,
    offers: Offers,
}

impl Layered for Recorders {
    type Inner = SimNetwork<Node>;

    fn inner(&self) -> &SimNetwork<Node> {
        &self.field
    }
    fn inner_mut(&mut self) -> &mut SimNetwork<Node> {
        &mut self.field
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<SimNetwork<Node>>, NetworkFault> {
        self.field.next(until)
    }
    fn pass_on(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        for change in self.offers.asked(&order) {
            let (Change::Offer(id) | Change::Withdraw(id)) = change;
            // A source that the network does not have is nobody's.
            let Some(index) = self.ids.iter().position(|node| *node == id) else {
                continue;
            };
            match change {
                Change::Offer(_) => {
                    let record = record(self.seed, id, self.bytes);
                    self.field.offer(index, record);
                }
                Change::Withdraw(_) => self.field.withdraw(index),
            }
        }
        self.field.order(station, order)
    }
}

/// A field that is simulated no faster than so many times real time.
pub struct Paced<F> {
    field: F,
    speed: f64,
    /// When what field time was there.
    since: (WallInstant, NetworkTime),
}

impl<F: Network> Paced<F> {
    /// `field` at `speed` times the pace of real time.
    pub fn new(field: F, speed: f64) -> Self {
        let since = (WallInstant::now(), field.now());
        Self {
            field,
            speed,
            since,
        }
    }

    /// Waits until the wall's clock is where the field's is.
    fn keep_pace(&mut self) {
        let (wall, field) = self.since;
        let ahead = self.field.now().since(field).as_secs_f64() / self.speed;
        let due = wall + Wall::from_secs_f64(ahead);
        let now = WallInstant::now();
        match due.checked_duration_since(now) {
            Some(early) => thread::sleep(early),
            None if now.duration_since(due) > LATE => self.since = (now, self.field.now()),
            None => {}
        }
    }
}

impl<F: Network> Layered for Paced<F> {
    type Inner = F;

    fn inner(&self) -> &F {
        &self.field
    }
    fn inner_mut(&mut self) -> &mut F {
        &mut self.field
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<F>, NetworkFault> {
        loop {
            let slice = until.min(self.field.now() + SLICE);
            let news = self.field.next(slice)?;
            self.keep_pace();
            match news {
                Notice::Nothing if slice < until => {}
                news => return Ok(news),
            }
        }
    }
}
