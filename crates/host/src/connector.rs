//! What the daemon is given: a network that it can open, and what is known of it beforehand.

use thalweg_protocols::{mote, rcrt};
use thalweg_units::{Instant, NodeId};

use crate::collector::Description;
use crate::job::Failure;
use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use crate::transfer::pipeline::Order;
use crate::transfer::session::SessionRequest;

/// What is known of a network before anything is measured.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its nodes, their boards, its base station.
    pub network: Description,
    /// An object that nobody has seen yet is taken to be as long.
    pub usual_bytes: u64,
    /// What it is, in a line for people.
    pub about: String,
    /// Whether its nodes carry sessions.
    pub sessions: Sessions,
    /// How it is known what its nodes spend.
    pub spending: Spending,
}

/// How it is known what a network's nodes spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spending {
    /// Their meters are read ([`Network::joules`]).
    Metered,
    /// Nobody reads meters. A node that takes part in a job counts as on for as long as that lasts, which is the most that
    /// it can spend.
    AtMost {
        /// What a node that is on draws, in watts, above 0: its board's.
        watts: f64,
    },
}

/// Whether a network's nodes carry sessions of RCRT.
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
    /// That which `field` leads to.
    pub fn new(field: impl Network<Order = rcrt::Send, Event = rcrt::Handed> + 'a) -> Self {
        Self(Box::new(field))
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
    /// The nodes that may have objects: all but the base station.
    pub fn sources(&self) -> impl Iterator<Item = NodeId> + '_ {
        let ids = self.network.place.ids.iter().copied();
        ids.filter(|id| *id != self.network.sink)
    }
}

/// A network with a base station.
pub trait Connector: Send + 'static {
    /// The way to it.
    type Network: Network<Order = Order, Event = mote::Event>;

    /// What is known of it.
    fn facts(&self) -> Facts;
    /// Opens the way to its base station; called again after the way was lost.
    ///
    /// # Errors
    /// [`NetworkFault`]; it is tried again.
    fn open(&mut self) -> Result<Self::Network, NetworkFault>;
    /// Has the nodes send as `wish` says, beside the way that is open, and gives the way to their base station; they
    /// stop as it is dropped. Asked only where [`Facts::sessions`] says that they can.
    ///
    /// # Errors
    /// [`Failure`]; where the way was lost the session is tried again, else it fails.
    fn session<'a>(
        &'a mut self,
        _field: &'a mut Self::Network,
        _wish: &SessionRequest,
    ) -> Result<Tree<'a>, Failure> {
        Err(Failure::Unfit("sessions are not carried".to_owned()))
    }
}
