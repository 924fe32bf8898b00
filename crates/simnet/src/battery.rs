//! Batteries of simulated nodes: each node measures its own before it carries out a base station's order.
//!
//! The charge that is gone is that of the energy meter (`thalweg_sim::Energy`), at the board's supply voltage. A base
//! station has mains. Time base: simulated time. Tests: at the end, and `crates/daemon/tests/all/`.

use thalweg_host::transfer::pipeline::MAX_NODES;
use thalweg_protocols::mote::Mote;
use thalweg_protocols::object::ObjectStore;
use thalweg_protocols::seals::Guard;
use thalweg_sim::Network;
use thalweg_testbeds::{Battery, Site};

/// The batteries of a site's nodes, by index; none of a node that has mains.
#[derive(Debug, Clone)]
pub(crate) struct Powered(Vec<Option<Battery>>);

impl Powered {
    /// Those of `site`; none where its testbed has no batteries.
    pub(crate) fn of(site: &Site) -> Option<Self> {
        let batteries = site.testbed.batteries?;
        let sink = site.testbed.sink;
        let of = |id| (id != sink).then(|| batteries.of(site.seed, id));
        Some(Self(site.testbed.nodes.iter().map(|n| of(n.id)).collect()))
    }

    /// Has each node of `net` measure its battery.
    pub(crate) fn measure<S: ObjectStore, G: Guard>(
        &self,
        net: &mut Network<Mote<S, 160, MAX_NODES, G>>,
    ) {
        for (node, battery) in self.0.iter().enumerate() {
            if let Some(battery) = battery {
                let coulombs = net.joules(node) / net.energy(node).currents.supply_v;
                let level = battery.level_after(coulombs);
                net.engine_mut(node).set_battery(level);
            }
        }
    }
}
