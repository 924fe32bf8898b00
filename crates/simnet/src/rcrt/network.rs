//! A simulated network of sources behind the host's [`Network`]: its base station hands packets up and sends the sink's
//! messages down ([`thalweg_host::transfer::session`]).
//!
//! Sources begin by themselves, each within one packet of its time, and ask until they have a route. Time base:
//! simulated time. Invariant: only the base station's packets are reported. Tests: `crates/daemon/tests/all/`,
//! [`gather`](crate::gather).

use super::outcome::Outcome;
use super::run::Trees;
use super::setup::Setup;
use crate::convergecast::RunError;
use std::ops::ControlFlow;
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_protocols::rcrt::source::Supply;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_protocols::stack::{Open, MAX_QUEUE};
use thalweg_sim::Capture;
use thalweg_testbeds::Site;
use thalweg_units::{Instant, NodeId};

/// The nodes of a site, one of which is a base station.
pub struct TreeNetwork<S: Supply> {
    trees: Trees<Open, S, MAX_QUEUE>,
    station: (usize, NodeId),
}

impl<S: Supply> TreeNetwork<S> {
    /// The nodes of `site` on the terms of `setup`, switched on, with its first base station; sources send what `supply`
    /// makes for them. `seed` draws what differs between runs on the same site. Frames go to `capture`.
    ///
    /// # Errors
    /// Where nodes and boards do not suit each other.
    pub fn open(
        site: &Site,
        setup: Setup,
        supply: impl Fn(NodeId) -> S,
        seed: u64,
        capture: Option<Box<dyn Capture>>,
    ) -> Result<Self, RunError> {
        let base = setup.bases.first().copied().unwrap_or_default();
        let station = (base, site.testbed.id_of(base).unwrap_or(NodeId::MAX));
        let nodes = (|_| Open, |_, id| supply(id));
        let trees = Trees::open(site, setup, nodes, seed, capture)?;
        Ok(Self { trees, station })
    }
    /// Waits until routes have settled, and notes the flows from then on, in unbounded memory. Once a second `progress` is
    /// shown how many of how many sources have a route, and may stop it.
    pub(crate) fn settle(
        &mut self,
        progress: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RunError> {
        self.trees.settle(progress)
    }
    /// The outcome of the flows since routes have settled.
    pub(crate) fn finish(self) -> Result<Outcome, RunError> {
        Ok(self.trees.finish(&[])?)
    }

    fn index(&self, station: NodeId) -> Result<usize, NetworkFault> {
        let (index, id) = self.station;
        match id == station {
            true => Ok(index),
            false => Err(NetworkFault::NoStation(station)),
        }
    }
}

impl<S: Supply> Clock for TreeNetwork<S> {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        let index = self.index(station);
        index.map_or(self.now(), |n| self.trees.network.when(n, local))
    }
}

impl<S: Supply> Network for TreeNetwork<S> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> NetworkTime {
        self.trees.now()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), NetworkFault> {
        let node = self.index(station)?;
        self.trees.send(node, order);
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Handed>, NetworkFault> {
        loop {
            let incoming = self.trees.next(until, &[]);
            let incoming = incoming.map_err(|why| NetworkFault::Broken(Box::new(why)))?;
            if let Some((_, handed)) = incoming {
                return Ok(Notice::Event(self.now(), self.station.1, handed));
            }
            if self.now() >= until {
                return Ok(Notice::Nothing);
            }
        }
    }
    fn take(&mut self, station: NodeId, _len: usize) -> Result<Vec<u8>, NetworkFault> {
        // Packets are handed up at once.
        self.index(station).map(|_| Vec::new())
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        let index = self.trees.testbed.index_of(node)?;
        Some(self.trees.network.joules(index))
    }
}
