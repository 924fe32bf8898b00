//! Simulated engines as a network behind the host's seam: orders go in, notices come out.

use super::{BeforeOrder, OrderHook};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_engine::Engine;
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice, SourceCounts};
use thalweg_host::object::Holds;
use thalweg_sim::{Board, Network as Simulation, NetworkError, Observer};
use thalweg_testbeds::Site;
use thalweg_units::{Instant, NodeId, SimTime};

/// A network of simulated nodes and its host's line to them.
pub struct SimNetwork<E: Engine> {
    /// The network.
    pub net: Simulation<E>,
    ids: Vec<NodeId>,
    /// The nodes whose events are reported; all where none is named.
    stations: Vec<usize>,
    /// Runs before each order.
    before_order: Option<BeforeOrder<E>>,
    /// Says what is to be ordered before an order.
    pub(super) prelude: Option<Prelude<E>>,
    /// Is shown each order before nodes get it.
    on_order: Option<OrderHook<E>>,
}

/// Says what is to be ordered before an order.
type Prelude<E> = Box<
    dyn Fn(&<E as Engine>::Command) -> Result<Option<<E as Engine>::Command>, NetworkFault> + Send,
>;

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
            stations: Vec::new(),
            before_order: None,
            prelude: None,
            on_order: None,
        })
    }
    /// Has nodes do `what` before each order from now on.
    pub(super) fn before_orders(&mut self, what: impl Fn(&mut Simulation<E>) + Send + 'static) {
        self.before_order = Some(Box::new(what));
    }
    /// The caller gives the floods of a secured network their numbers.
    #[must_use]
    pub(crate) fn numbered_by_caller(self) -> Self {
        Self {
            prelude: None,
            ..self
        }
    }
    /// Shows `hook` each order from now on; it replaces the hook before.
    pub(crate) fn watch_orders(&mut self, hook: Option<OrderHook<E>>) {
        self.on_order = hook;
    }
    /// The nodes' ids, by index.
    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }
    /// Reports only events of `nodes` from now on.
    pub fn hear(&mut self, nodes: &[usize]) {
        self.stations = nodes.to_vec();
    }
    fn index(&self, station: NodeId) -> Result<usize, NetworkFault> {
        let index = self.ids.iter().position(|id| *id == station);
        index.ok_or(NetworkFault::NoStation(station))
    }
}

/// Waits for the first notice of a base station.
struct FirstNotice<'a, V> {
    stations: &'a [usize],
    ids: &'a [NodeId],
    notice: Notice<V>,
}

impl<V> FirstNotice<'_, V> {
    pub(super) fn take(&mut self, node: usize, notice: Notice<V>) -> ControlFlow<()> {
        if !self.stations.is_empty() && !self.stations.contains(&node) {
            return Continue(());
        }
        self.notice = notice;
        Break(())
    }
}

impl<V> Observer<V> for FirstNotice<'_, V> {
    fn event(&mut self, at: SimTime, node: usize, event: V) -> ControlFlow<()> {
        self.take(node, Notice::Event(at, self.ids[node], event))
    }
    fn started(&mut self, _at: SimTime, node: usize) -> ControlFlow<()> {
        self.take(node, Notice::Restarted(self.ids[node]))
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
        if let Some(before) = &self.before_order {
            before(&mut self.net);
        }
        if let Some(hook) = &mut self.on_order {
            hook(&mut self.net, &order);
        }
        let before = self.prelude.as_ref().map(|prelude| prelude(&order));
        if let Some(before) = before.transpose()?.flatten() {
            self.net.command(node, before);
        }
        self.net.command(node, order);
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<E::Event>, NetworkFault> {
        let mut first = FirstNotice {
            stations: &self.stations,
            ids: &self.ids,
            notice: Notice::Nothing,
        };
        let ran = self.net.run_with(until, &mut first);
        ran.map_err(|why| NetworkFault::Broken(Box::new(why)))?;
        Ok(first.notice)
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
    /// Nodes that restart get an engine from `engine` and keep what their memory keeps.
    pub(super) fn restart_with(&mut self, engine: impl Fn(NodeId) -> E + Send + 'static) {
        let ids = self.ids.clone();
        self.net.restart_with(Box::new(move |node, before| {
            let mut fresh = engine(ids[node]);
            fresh.resume(before);
            fresh
        }));
    }
}
