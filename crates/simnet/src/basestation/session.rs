//! A session of RCRT at a simulated base station: meanwhile all nodes run RCRT's program, and sources send their objects, as
//! motes' images do.
//!
//! Time base: the network's. The motes' program pauses meanwhile, so the station has one clock. Invariant: packets without
//! room are lost like others, and repaired. Tests: `tests/all/line/sessions.rs`.

use crate::collect::Object;
use crate::rcrt::{Setup, TreeNetwork};
use thalweg_host::network::{Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::object::Memory;
use thalweg_medium::random::derive;
use thalweg_protocols::line::station::NotBegun;
use thalweg_protocols::member::Packets;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_testbeds::Site;
use thalweg_units::{NodeId, SimTime};
use thalweg_wire::rcrt::Rate;

/// A running session.
pub(super) struct Session {
    network: TreeNetwork<Packets<Memory>>,
    station: NodeId,
    begun: SimTime,
}

impl Session {
    /// Has `sources` send `object`, each its own, to `station`, a node of `site`, from `now` on.
    pub(super) fn begin(
        (site, station): (&Site, NodeId),
        sources: &[(NodeId, Rate)],
        object: &Object,
        now: SimTime,
    ) -> Result<Self, NotBegun> {
        let is_node = |id| id != station && site.testbed.index_of(id).is_some();
        if !sources.iter().all(|(id, _)| is_node(*id)) {
            return Err(NotBegun::NoSuchNode);
        }
        let has = |id| {
            let mut memory = Memory::default();
            if sources.iter().any(|(source, _)| *source == id) {
                memory.offer(object.of(site.seed, id));
            }
            Packets::of(memory)
        };
        let rates = sources.iter().map(|(id, rate)| (*id, rate.per_s()));
        let setup = Setup::session(site, station, rates);
        let seed = derive(site.seed, "session", &[]);
        let network = TreeNetwork::open(site, setup, has, seed, None);
        Ok(Self {
            network: network.map_err(|_| NotBegun::NotCarried)?,
            station,
            begun: now,
        })
    }

    /// Sends the sink's message down.
    pub(super) fn send(&mut self, send: Send) -> Result<(), NetworkFault> {
        self.network.order(self.station, send)
    }

    /// What is handed up by `until`, and when; none where nothing more is.
    pub(super) fn next(
        &mut self,
        until: SimTime,
    ) -> Result<Option<(SimTime, Handed)>, NetworkFault> {
        let until = NetworkTime::ZERO + until.since(self.begun);
        Ok(match self.network.next(until)? {
            Notice::Event(at, _, handed) => {
                Some((self.begun + at.since(NetworkTime::ZERO), handed))
            }
            _ => None,
        })
    }
}
