//! The seam to a network: orders to its base stations, events from them, the bytes that they received.
//!
//! A network may be simulated, or stand behind a line that fails: an order or an answer may be lost, a station may
//! restart. Time base: [`NetworkTime`], virtual or real. Invariant: an object's
//! bytes leave a station through [`Network::take`] alone.

use thalweg_units::{Instant, NodeId, SimTime};

/// Nanoseconds since the network was opened, virtual or real.
pub type NetworkTime = SimTime;

/// A notice from a network.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice<V> {
    /// A station reported an event.
    Event(NetworkTime, NodeId, V),
    /// A station restarted and has forgotten its orders.
    Restarted(NodeId),
    /// The line to a station is down.
    Silent(NodeId),
    /// The caller's user asked to stop.
    Cancelled,
    /// The time is up, and nothing else happened.
    Nothing,
}

/// Why a network does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkFault {
    /// No base station has that name.
    #[error("node {0} is no base station")]
    NoStation(NodeId),
    /// What carries orders and events failed.
    #[error(transparent)]
    Broken(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// Converts a station's clock to network time.
pub trait Clock {
    /// When the clock of `station` first reads `local`.
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime;
}

/// The base stations of one network.
pub trait Network: Clock {
    /// An order to a station.
    type Order;
    /// A station's event.
    type Event;

    /// The present.
    fn now(&self) -> NetworkTime;
    /// Gives `station` an order. It may be lost.
    ///
    /// # Errors
    /// [`NetworkFault`].
    fn order(&mut self, station: NodeId, order: Self::Order) -> Result<(), NetworkFault>;
    /// The next notice, or [`Notice::Nothing`] at `until`.
    ///
    /// # Errors
    /// [`NetworkFault::Broken`].
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Self::Event>, NetworkFault>;
    /// The first `len` bytes that `station` has received; fewer where it has no more.
    ///
    /// # Errors
    /// [`NetworkFault`].
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault>;
    /// What `node` has spent so far, in joules; none without a meter.
    fn joules(&mut self, node: NodeId) -> Option<f64>;
    /// What the engine of `source` counted of its last transfer; none where it cannot be inspected.
    fn source_counts(&self, _source: NodeId) -> Option<SourceCounts> {
        None
    }
}

/// What a source's engine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceCounts {
    /// Rounds that it began.
    pub rounds: u16,
    /// Data packets that it sent.
    pub sent: u32,
    /// Of these, those that it had sent before.
    pub retransmitted: u32,
    /// Bytes of its object.
    pub object_bytes: u32,
}

/// A network around another, to which it passes on what it does not do itself.
pub trait Layered {
    /// The inner network.
    type Inner: Network;

    /// The inner network.
    fn inner(&self) -> &Self::Inner;
    /// The inner network, mutable.
    fn inner_mut(&mut self) -> &mut Self::Inner;
    /// As [`Network::next`].
    ///
    /// # Errors
    /// As [`Network::next`].
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<Self::Inner>, NetworkFault>;
    /// As [`Network::order`].
    ///
    /// # Errors
    /// As [`Network::order`].
    fn pass_on(
        &mut self,
        station: NodeId,
        order: <Self::Inner as Network>::Order,
    ) -> Result<(), NetworkFault> {
        self.inner_mut().order(station, order)
    }
}

/// The notices of network `F`.
pub type NoticeOf<F> = Notice<<F as Network>::Event>;

impl<A: Layered> Clock for A {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        self.inner().when(station, local)
    }
}

impl<A: Layered> Network for A {
    type Order = <A::Inner as Network>::Order;
    type Event = <A::Inner as Network>::Event;

    fn now(&self) -> NetworkTime {
        self.inner().now()
    }
    fn order(&mut self, station: NodeId, order: Self::Order) -> Result<(), NetworkFault> {
        self.pass_on(station, order)
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Self::Event>, NetworkFault> {
        self.advance(until)
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        self.inner_mut().take(station, len)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.inner_mut().joules(node)
    }
    fn source_counts(&self, source: NodeId) -> Option<SourceCounts> {
        self.inner().source_counts(source)
    }
}
