//! The simulated field: a [`Network`] of a site's nodes, each of which is a base station if somebody listens.
//!
//! Orders, events and bytes go the gateway's way ([`Network`]); faults, captures and what engines counted are
//! the simulator's, for experiments and reports. Time base: simulated time. Tests:
//! `crates/simnet/tests/all/robustness/`.

use crate::battery::Powered;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_engine::{BoardTiming, Engine, Software};
use thalweg_host::collector::{
    clean_channels, Collector, Description, LineLoss, Over, Told, Transfer,
};
use thalweg_host::job::{run, Failure, Watch};
use thalweg_host::link_state;
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice, SourceCounts};
use thalweg_host::object::Holds;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::{Survey, SurveyJob, Surveyed};
use thalweg_host::transfer::pipeline::{self, Node, Terms, MAX_NODES};
use thalweg_host::waves::{Begins, Wave, Waved};
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::stream;
use thalweg_planner::{Place, Plan, RelayOrder};
use thalweg_protocols::floodnet;
use thalweg_protocols::object::ObjectStore;
use thalweg_sim::{Board, Network as Simulation, NetworkError, Observer, SimError};
use thalweg_testbeds::{Physics, Places, Site, Testbed};
use thalweg_units::{Channel, Duration, Instant, NodeId, SimTime};
use thalweg_wire::route::Scheme;

/// Why a simulated network did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The testbed has more nodes than a sink can order about.
    #[error("{nodes} nodes: link measurement and transfers take at most {MAX_NODES}")]
    TooManyNodes {
        /// How many it has.
        nodes: usize,
    },
    /// Nodes of another kind have no engine that does all of it.
    #[error("board {0}: P3 and PIP fetch over one CC2420 radio (boards telosb and telosb-contiki); the Opal's two radios carry streams (--protocol fastforward)")]
    Board(String),
    /// The simulator could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] NetworkError),
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// The job failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl RunError {
    /// Whether somebody asked to stop.
    pub const fn is_stop(&self) -> bool {
        matches!(self, Self::Failed(Failure::Cancelled))
    }
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        use RunError::{Board, Failed, TooManyNodes};
        matches!(
            self,
            TooManyNodes { .. } | Board(_) | Failed(Failure::Unfit(_))
        )
    }
}

/// Whether pipelines run over nodes that are such boards.
pub(crate) fn carries_pipelines(board: &Board) -> bool {
    *board.chip == CC2420
}

/// How long boards take that copy packets between radio and memory, which planners count with; none of other boards.
pub fn copying(board: &Board) -> Option<BoardTiming> {
    let copies = carries_pipelines(board) && board.timing.software != Software::Overlapped;
    copies.then_some(board.timing)
}

/// A network of simulated nodes and its gateway's line to them.
pub struct SimNetwork<E: Engine> {
    /// The network.
    pub net: Simulation<E>,
    ids: Vec<NodeId>,
    /// The nodes whose events are told; all where none is named.
    heard: Vec<usize>,
    /// What comes before each order.
    before: Option<Before<E>>,
    /// Who is told of each order.
    ordered: Option<OrderHook<E>>,
}

/// What nodes do by themselves before an order is given.
type Before<E> = Box<dyn Fn(&mut Simulation<E>) + Send>;
/// What is told of each order before nodes are given it.
type OrderHook<E> = Box<dyn FnMut(&mut Simulation<E>, &<E as Engine>::Command) + Send>;

impl<E: Engine> SimNetwork<E> {
    /// The nodes of `site`, each with `board` and what `engine` makes for it, switched on; `seed` draws what
    /// differs between runs on the same site.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub fn of(
        site: &Site,
        board: &Board,
        engine: impl FnMut(NodeId) -> E,
        seed: u64,
    ) -> Result<Self, NetworkError> {
        let ids: Vec<NodeId> = site.testbed.nodes.iter().map(|n| n.id).collect();
        let engines = ids.iter().copied().map(engine).collect();
        let boards = std::slice::from_ref(board);
        Ok(Self {
            net: Simulation::new(site.environment.clone(), boards, engines, seed)?,
            ids,
            heard: Vec::new(),
            before: None,
            ordered: None,
        })
    }
    /// Has nodes do `what` before each order from now on.
    fn before_orders(&mut self, what: impl Fn(&mut Simulation<E>) + Send + 'static) {
        self.before = Some(Box::new(what));
    }
    /// Tells `hook` of each order from now on, instead of whoever was told before.
    pub(crate) fn watch_orders(&mut self, hook: Option<OrderHook<E>>) {
        self.ordered = hook;
    }
    /// The nodes' names, by index.
    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }
    /// Tells events of `nodes` alone from now on.
    pub fn hear(&mut self, nodes: &[usize]) {
        self.heard = nodes.to_vec();
    }
    fn index(&self, station: NodeId) -> Result<usize, NetworkFault> {
        let known = self.ids.iter().position(|id| *id == station);
        known.ok_or(NetworkFault::NoStation(station))
    }
}

/// Hears the first news of base stations.
struct Ear<'a, V> {
    heard: &'a [usize],
    ids: &'a [NodeId],
    news: Notice<V>,
}

impl<V> Ear<'_, V> {
    fn hear(&mut self, node: usize, news: Notice<V>) -> ControlFlow<()> {
        if !self.heard.is_empty() && !self.heard.contains(&node) {
            return Continue(());
        }
        self.news = news;
        Break(())
    }
}

impl<V> Observer<V> for Ear<'_, V> {
    fn told(&mut self, at: SimTime, node: usize, event: V) -> ControlFlow<()> {
        self.hear(node, Notice::Told(at, self.ids[node], event))
    }
    fn started(&mut self, _at: SimTime, node: usize) -> ControlFlow<()> {
        self.hear(node, Notice::Restarted(self.ids[node]))
    }
}

impl<E: Engine> Clock for SimNetwork<E> {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        let index = self.index(station);
        index.map_or(self.net.now(), |n| self.net.when(n, local))
    }
}

impl<E: Engine + Holds> Network for SimNetwork<E> {
    type Order = E::Command;
    type Event = E::Event;

    fn now(&self) -> NetworkTime {
        self.net.now()
    }
    fn order(&mut self, station: NodeId, order: E::Command) -> Result<(), NetworkFault> {
        let node = self.index(station)?;
        if let Some(before) = &self.before {
            before(&mut self.net);
        }
        if let Some(hook) = &mut self.ordered {
            hook(&mut self.net, &order);
        }
        self.net.command(node, order);
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<E::Event>, NetworkFault> {
        let mut ear = Ear {
            heard: &self.heard,
            ids: &self.ids,
            news: Notice::Nothing,
        };
        let ran = self.net.run_with(until, &mut ear);
        ran.map_err(|why| NetworkFault::Broken(Box::new(why)))?;
        Ok(ear.news)
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        let node = self.index(station)?;
        Ok(self.net.engine_mut(node).memory().take(len))
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        Some(self.net.joules(self.index(node).ok()?))
    }
    fn source_counts(&self, source: NodeId) -> Option<SourceCounts> {
        let source = self.index(source).ok()?;
        self.net.engine(source).source_counts()
    }
}

impl<E: Engine + Holds> SimNetwork<E> {
    /// Offers `object` at node `source`.
    pub fn offer(&mut self, source: usize, object: Arc<[u8]>) {
        self.net.engine_mut(source).memory().offer(object);
    }
    /// Node `source` offers nothing any more.
    pub fn withdraw(&mut self, source: usize) {
        self.net.engine_mut(source).memory().withdraw();
    }
    /// Has nodes that start anew do so as `engine` makes them, with what their memories keep.
    pub fn starts_anew(&mut self, engine: impl Fn(NodeId) -> E + Send + 'static) {
        let ids = self.ids.clone();
        self.net.starts_anew(Box::new(move |node, before| {
            let mut fresh = engine(ids[node]);
            *fresh.memory() = before.memory().kept();
            fresh
        }));
    }
}

/// A testbed's nodes as a planner is to know them.
pub fn place(testbed: &Testbed) -> link_state::Place {
    let board = &testbed.board;
    link_state::Place {
        name: testbed.name.clone(),
        ids: testbed.nodes.iter().map(|n| n.id).collect(),
        channels: testbed.channels,
        order: match testbed.places {
            Places::Unknown => RelayOrder::Random,
            Places::Known => RelayOrder::NearestLine,
        },
        floor: board.chip.noise_floor,
        timing: copying(board),
    }
}

/// What is known of `site` before it is measured, with `sink` as base station. Pipelines take `channels`; where none are
/// named those of P3, or on measured links the four that link the network best.
pub fn description(site: &Site, sink: NodeId, channels: Option<&[Channel]>) -> Description {
    let testbed = &site.testbed;
    let is_measured = matches!(testbed.physics, Physics::Measured(_));
    let clean = || clean_channels(testbed.channels).filter(|_| !is_measured);
    Description {
        place: place(testbed),
        positions: positions(site),
        sink,
        channels: channels.map(<[Channel]>::to_vec).or_else(clean),
        timing: site.board.timing,
        draw: (stream, site.seed),
    }
}

/// Where the nodes of `site` are, if that is known of all.
fn positions(site: &Site) -> Option<Vec<Place>> {
    let place = |p: thalweg_medium::Placement| Place {
        x_m: p.position.x_m,
        y_m: p.position.y_m,
        z_m: p.position.z_m,
        floor: p.floor,
    };
    let ears = site.environment.ears.iter();
    ears.map(|ear| ear.placement.map(place)).collect()
}

/// A site's nodes with one radio: they survey their links, and carry pipelines one after the other.
pub struct Motes {
    /// Their network.
    pub nodes: SimNetwork<Node>,
    board: Board,
    collector: Collector,
}

impl Motes {
    /// The nodes of `site`, switched on; `seed` draws what differs between runs on the same site.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn open(site: &Site, seed: u64) -> Result<Self, RunError> {
        if !carries_pipelines(&site.board) {
            let nodes = site.testbed.len();
            return Err(match nodes > MAX_NODES {
                true => RunError::TooManyNodes { nodes },
                false => RunError::Board(site.testbed.board_name.clone()),
            });
        }
        let config = floodnet::Config::default().on(&site.board.timing);
        Self::open_with(site, config, seed)
    }

    /// The same with floods as `config` has them. Pipelines run on boards with a CC2420; any board's
    /// radio can survey its links.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn open_with(site: &Site, config: floodnet::Config, seed: u64) -> Result<Self, RunError> {
        let nodes = site.testbed.len();
        if nodes > MAX_NODES {
            return Err(RunError::TooManyNodes { nodes });
        }
        let board = site.board.clone();
        let timing = board.timing;
        let node = move |id| Node::new(id, config, timing, Default::default());
        let mut field = SimNetwork::of(site, &board, node, seed)?;
        field.starts_anew(move |id| node(id).restarted());
        if let Some(powered) = Powered::of(site) {
            field.before_orders(move |net| powered.measure(net));
        }
        let network = Description {
            draw: (stream, seed),
            ..description(site, site.testbed.sink, None)
        };
        Ok(Self {
            nodes: field,
            board,
            collector: Collector::new(network, 0, LineLoss::Ends),
        })
    }

    /// The simulated network, for captures, faults and traces.
    pub fn network(&mut self) -> &mut Simulation<Node> {
        &mut self.nodes.net
    }
    /// The board of the nodes.
    pub fn board(&self) -> &Board {
        &self.board
    }
    /// Where the nodes are, if known.
    pub fn places(&self) -> Option<&[Place]> {
        self.collector.description().positions.as_deref()
    }
    /// Offers `object` at node `source`.
    pub fn offer(&mut self, source: usize, object: Arc<[u8]>) {
        self.nodes.offer(source, object);
    }
    /// Packets of the object that node `source` offers, on `terms`.
    pub fn packets(&self, source: usize, terms: &Terms) -> u32 {
        let info = self.nodes.net.engine(source).pipeline().store().info();
        info.len.div_ceil(u32::from(terms.payload.bytes()))
    }

    /// Leaves the network alone for `time`.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn wait(&mut self, time: Duration) -> Result<(), RunError> {
        let until = self.nodes.net.now() + time;
        self.nodes.net.run_until(until, |_, _, _| Continue(()))?;
        Ok(())
    }
    /// Fetches over all of `plans` at once, each of which begins as it says.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn wave(
        &mut self,
        plans: &[(&Plan, Begins)],
        scheme: Scheme,
        terms: &Terms,
    ) -> Result<Waved, RunError> {
        let mut routes = Vec::with_capacity(plans.len());
        for (plan, begins) in plans {
            let number = self.collector.number();
            let route = pipeline::route(plan, scheme, terms, self.nodes.ids(), number)?;
            routes.push(begins.of(route));
        }
        let sinks: Vec<usize> = plans.iter().map(|(plan, _)| plan.sink).collect();
        self.nodes.hear(&sinks);
        let mut wave = Wave::new(routes, &self.board.timing);
        Ok(run(&mut self.nodes, &mut wave, &mut |_| Continue(()))?)
    }

    /// Has the network measure its links and report them to node `sink`.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn survey(
        &mut self,
        sink: usize,
        survey: Survey,
        watch: Watch<'_>,
    ) -> Result<Surveyed, RunError> {
        let places = self.collector.description().positions.clone();
        let ids = self.nodes.ids();
        let mut job = SurveyJob::new(survey, ids, places, &self.board.timing, ids[sink])?;
        self.nodes.hear(&[sink]);
        Ok(run(&mut self.nodes, &mut job, watch)?)
    }

    /// Fetches the object that the plan's source offers. The outcome tells of a failure, a sink that started anew once
    /// too often among them; what arrived comes with it where it is whole.
    ///
    /// # Errors
    /// [`RunError::Failed`] where nothing can be said of the transfer.
    pub fn fetch(
        &mut self,
        plan: &Plan,
        scheme: Scheme,
        terms: &Terms,
        watch: Watch<'_>,
    ) -> Result<Transfer, RunError> {
        self.nodes.hear(&[plan.sink]);
        let protocol = Pipelined::plain(scheme);
        let field = &mut self.nodes;
        let told = &mut Told::default();
        let over = Over {
            plan: Arc::new(plan.clone()),
            protocol,
        };
        Ok(self.collector.carry(field, &over, terms, watch, told)?)
    }
}
