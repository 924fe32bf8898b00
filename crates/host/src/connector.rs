//! The daemon's seam: a [`Connector`] describes a network, and opens the line to its base station.

use thalweg_protocols::{mote, rcrt};
use thalweg_units::{Instant, NodeId};

use crate::collector::Description;
use crate::job::Failure;
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use crate::transfer::pipeline::Order;
use crate::transfer::session::SessionRequest;

/// A network as the daemon finds it, before anything is measured.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its nodes, their boards, its base station.
    pub network: Description,
    /// The assumed length of a node's first object.
    pub usual_bytes: u64,
    /// A line about it, for people.
    pub about: String,
    /// Whether its nodes support sessions.
    pub sessions: Sessions,
    /// How the energy of its nodes is determined.
    pub spending: Spending,
}

/// How the energy of a network's nodes is determined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spending {
    /// Their meters are read ([`Network::joules`]).
    Metered,
    /// There are no meters. A node counts as on for as long as a job that it takes part in, which is the most that it
    /// can spend.
    AtMost {
        /// What a node that is on draws, in watts, above 0: its board's.
        watts: f64,
    },
}

/// Whether a network's nodes support sessions of RCRT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// They do.
    Carried,
    /// They do not, for this reason.
    Lacking(&'static str),
}

/// A base station of a network of trees, which hands up packets and sends answers down.
pub struct Tree<'a>(Box<dyn Network<Order = rcrt::Send, Event = rcrt::Handed> + 'a>);

impl<'a> Tree<'a> {
    /// The base station that `network` leads to.
    pub fn new(network: impl Network<Order = rcrt::Send, Event = rcrt::Handed> + 'a) -> Self {
        Self(Box::new(network))
    }
}

impl Clock for Tree<'_> {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        self.0.when(station, local)
    }
}

impl Network for Tree<'_> {
    type Order = rcrt::Send;
    type Event = rcrt::Handed;

    fn now(&self) -> NetworkTime {
        self.0.now()
    }
    fn order(&mut self, station: NodeId, order: rcrt::Send) -> Result<(), NetworkFault> {
        self.0.order(station, order)
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<rcrt::Handed>, NetworkFault> {
        self.0.next(until)
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        self.0.take(station, len)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.0.joules(node)
    }
}

impl Facts {
    /// The nodes that may have objects: all but base stations.
    pub fn sources(&self) -> impl Iterator<Item = NodeId> + '_ {
        let ids = self.network.place.ids.iter().copied();
        ids.filter(|id| !self.network.is_station(*id))
    }
}

/// A network with a base station.
pub trait Connector: Send + 'static {
    /// The open network.
    type Network: Network<Order = Order, Event = mote::Event>;

    /// The network's facts.
    fn facts(&self) -> Facts;
    /// Opens the line to its base station; called again after a loss of the line.
    ///
    /// # Errors
    /// [`NetworkFault`]; it is tried again.
    fn open(&mut self) -> Result<Self::Network, NetworkFault>;
    /// Has the nodes send as `request` says, and returns their base station; they stop when that is dropped. Called
    /// only where [`Facts::sessions`] allows it. In a secured network `number` is the session's, and in no other is there one.
    ///
    /// # Errors
    /// [`Failure`]; after a loss of the line the session is tried again, else it fails.
    fn session<'a>(
        &'a mut self,
        _network: &'a mut Self::Network,
        _request: &SessionRequest,
        _number: Option<u32>,
    ) -> Result<Tree<'a>, Failure> {
        Err(Failure::Unfit("sessions are not carried".to_owned()))
    }
}
