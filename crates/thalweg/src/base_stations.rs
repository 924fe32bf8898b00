//! Where base stations stand best, and what that brings beside the testbed's own. Tests: `tests/all/whole_network.rs`.

use crate::rounds::Loads;
use crate::{Error, Network};
use serde::Serialize;
use thalweg_host::link_state::LinkState;
use thalweg_planner::placement::Transmissions;
use thalweg_planner::rounds::{Load, Round};

/// Who chose base stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceBy {
    /// The testbed, or who asked.
    Given,
    /// The planner.
    Planner,
}

/// A base station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Station {
    /// The node.
    pub node: u16,
    /// Its label in the testbed's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its index in the testbed.
    #[serde(skip)]
    pub index: usize,
    /// How many nodes it collects from.
    pub serves: usize,
}

/// Where a node's object goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assigned {
    /// The node.
    pub node: u16,
    /// Its index in the testbed.
    #[serde(skip)]
    pub index: usize,
    /// The base station; none where no route leads to one.
    pub station: Option<u16>,
    /// Hops to it.
    pub hops: Option<usize>,
}

/// Base stations, and what it takes to collect an object of every other node there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Who chose them.
    pub by: ChoiceBy,
    /// The base stations.
    pub stations: Vec<Station>,
    /// Nodes that reach one.
    pub reached: usize,
    /// Mean hops of their routes; none where there are no routes.
    pub mean_hops: Option<f64>,
    /// Time until the last object is there, base stations at work at the same time, in seconds.
    pub time_s: f64,
    /// Energy of all nodes but the base stations over that time, in joules.
    pub energy_j: f64,
    /// All other nodes.
    pub nodes: Vec<Assigned>,
}

/// Choices of base stations, side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaseStations {
    /// The network.
    pub testbed: String,
    /// The protocol, by name.
    pub protocol: &'static str,
    /// Bytes of each object.
    pub bytes: u64,
    /// The testbed's own base station, then the best one, the best two, and so on.
    pub choices: Vec<Choice>,
}

impl Network {
    /// Where one to `most` base stations stand best over `links`, beside the links' own.
    ///
    /// # Errors
    /// [`Error::Option`] where the network has no more nodes than that.
    pub fn base_stations(&self, most: usize, links: &LinkState) -> Result<BaseStations, Error> {
        let nodes = self.testbed().len();
        if most >= nodes {
            return Err(Error::Option {
                option: "base-stations",
                why: format!(
                    "{} has {nodes} nodes; give at most {}",
                    self.testbed().name,
                    nodes - 1
                ),
            });
        }
        let mut loads = Loads::new(self, links)?;
        let packets = loads.request().packets()?;
        let request = links.route_request(0, loads.request(), packets);
        let transmissions = Transmissions::over(links.links(), &request);
        let mut choices = vec![(ChoiceBy::Given, vec![links.sink()])];
        choices.extend((1..=most).map(|n| (ChoiceBy::Planner, transmissions.stations(n))));
        let choices = choices.into_iter().map(|(by, stations)| {
            let each = assigned(&transmissions, &mut loads, nodes, &stations);
            self.choice(by, &stations, &each, links)
        });
        let request = self.request_ref();
        Ok(BaseStations {
            testbed: self.testbed().name.clone(),
            protocol: request.protocol.name,
            bytes: request.object.bytes(),
            choices: choices.collect(),
        })
    }

    fn choice(
        &self,
        by: ChoiceBy,
        stations: &[usize],
        loads: &[(usize, Option<Load>)],
        links: &LinkState,
    ) -> Choice {
        let ids = &links.place().ids;
        let id = |index: usize| ids.get(index).map(|id| id.get());
        let reached = || loads.iter().filter_map(|(_, load)| load.as_ref());
        let listening_w = links.place().currents.listening_w();
        let round = Round::of(ids.len(), reached(), listening_w);
        let spent_j = loads.iter().map(|(node, _)| round.node_j(*node));
        let hops: usize = reached().map(|load| load.hops).sum();
        let count = reached().count();
        let station = |index: &usize| {
            let id = ids.get(*index)?;
            Some(Station {
                node: id.get(),
                label: self.testbed().label(*id).map(str::to_owned),
                index: *index,
                serves: reached().filter(|load| load.sink == *index).count(),
            })
        };
        let node = |(index, load): &(usize, Option<Load>)| {
            Some(Assigned {
                node: id(*index)?,
                index: *index,
                station: load.as_ref().and_then(|load| id(load.sink)),
                hops: load.as_ref().map(|load| load.hops),
            })
        };
        Choice {
            by,
            stations: stations.iter().filter_map(station).collect(),
            reached: count,
            mean_hops: (count > 0).then(|| hops as f64 / count as f64),
            time_s: round.time_s,
            energy_j: spent_j.sum(),
            nodes: loads.iter().filter_map(node).collect(),
        }
    }
}

/// Every node but the stations with its transfer to the nearest one that it has a route to.
fn assigned(
    transmissions: &Transmissions,
    loads: &mut Loads<'_>,
    nodes: usize,
    stations: &[usize],
) -> Vec<(usize, Option<Load>)> {
    let others = (0..nodes).filter(|node| !stations.contains(node));
    for station in stations {
        let is_near =
            |node: &usize| transmissions.nearest(*node, stations).first() == Some(station);
        let near: Vec<usize> = others.clone().filter(is_near).collect();
        loads.prepare(&near, *station);
    }
    let load = |node| {
        let mut near = transmissions.nearest(node, stations);
        // The planner may know a way where expected transmissions know none.
        near.extend(
            stations
                .iter()
                .filter(|s| !near.contains(s))
                .copied()
                .collect::<Vec<_>>(),
        );
        let load = near.into_iter().find_map(|to| loads.between(node, to));
        (node, load)
    };
    others.map(load).collect()
}
