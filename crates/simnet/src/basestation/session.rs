//! A session of RCRT at a simulated base station: while it lasts all nodes run RCRT's program, and tell what a
//! [`Gauge`] measures.
//!
//! Time base: the network's. The motes' program stands by meanwhile, so the station has one clock. Invariant: packets
//! that find no room are lost as others are, and come again. Tests: `tests/line/sessions.rs`.

use crate::networks::{gauges, Gauge};
use crate::rcrt::TreeNetwork;
use thalweg_host::network::{Network, NetworkFault, NetworkTime, Notice};
use thalweg_protocols::line::station::{NotBegun, Sources};
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_testbeds::Site;
use thalweg_units::{NodeId, SimTime};

/// A session that runs.
pub(super) struct Session {
    field: TreeNetwork<Gauge>,
    station: NodeId,
    begun: SimTime,
}

impl Session {
    /// Has `sources` send to `station`, a node of `site`, from `now` on.
    pub(super) fn begin(
        site: &Site,
        station: NodeId,
        sources: Sources<'_>,
        now: SimTime,
    ) -> Result<Self, NotBegun> {
        let is_node = |id| id != station && site.testbed.index_of(id).is_some();
        if !sources.iter().all(|(id, _)| is_node(id)) {
            return Err(NotBegun::NoSuchNode);
        }
        let sources = sources.iter().map(|(id, rate)| (id, rate.per_s()));
        let field = gauges(site, station, sources);
        Ok(Self {
            field: field.map_err(|_| NotBegun::NotCarried)?,
            station,
            begun: now,
        })
    }

    /// Sends down what the sink says.
    pub(super) fn send(&mut self, send: Send) -> Result<(), NetworkFault> {
        self.field.order(self.station, send)
    }

    /// What is handed up by `until`, and when; none where nothing more is.
    pub(super) fn next(
        &mut self,
        until: SimTime,
    ) -> Result<Option<(SimTime, Handed)>, NetworkFault> {
        let until = NetworkTime::ZERO + until.since(self.begun);
        Ok(match self.field.next(until)? {
            Notice::Event(at, _, handed) => {
                Some((self.begun + at.since(NetworkTime::ZERO), handed))
            }
            _ => None,
        })
    }
}
