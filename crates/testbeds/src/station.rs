//! Base stations: where the data goes. One radio receives one transfer at a time, so a base station
//! for several has several radios, each a node of its own, a metre apart from the next. Tests:
//! `station_tests.rs`.

use crate::testbed::{Node, Physics, Testbed};
use thalweg_medium::{Placement, Position};
use thalweg_units::NodeId;

/// From one radio of a base station to the next, along the building, in metres.
const APART_M: f64 = 1.0;

/// Why a station cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StationError {
    /// Base stations need a testbed whose places are known.
    #[error("{0}: the places of its nodes are not known; name nodes as base stations")]
    NoPlaces(String),
    /// A testbed, and a node that it does not have.
    #[error("{0}: has no node {1}")]
    UnknownNode(String, NodeId),
    /// Nowhere to bring data to.
    #[error("a campaign needs at least one base station")]
    NoStation,
}

/// A base station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Station {
    /// A node of the testbed; it has nothing to send then.
    Node(NodeId),
    /// Put up for the purpose, on the middle floor and in the middle of the building's width.
    PutUp {
        /// How far along the building, 0..=1.
        along: f64,
        /// How many radios.
        radios: u16,
    },
}

impl Station {
    /// How many radios it has.
    pub const fn radios(&self) -> usize {
        match self {
            Self::Node(_) => 1,
            Self::PutUp { radios, .. } => *radios as usize,
        }
    }
}

/// A testbed with its base stations.
#[derive(Debug, Clone)]
pub struct Equipped {
    /// The testbed, radios that were put up included, after its own nodes.
    pub testbed: Testbed,
    /// The sinks' indices.
    pub sinks: Vec<usize>,
    /// The indices of the nodes that have something to send.
    pub sources: Vec<usize>,
}

/// `testbed` as `seed` draws it, with `stations`. The testbed's own nodes and their links are the same
/// whatever stations there are.
///
/// # Errors
/// [`StationError`] where a station cannot be had.
pub fn equip(testbed: &Testbed, stations: &[Station], seed: u64) -> Result<Equipped, StationError> {
    let mut equipped = Equipped {
        testbed: testbed.clone(),
        sinks: Vec::new(),
        sources: Vec::new(),
    };
    let puts_up = |s: &Station| matches!(s, Station::PutUp { .. });
    if stations.iter().any(puts_up) {
        settle(&mut equipped.testbed, seed)?;
    }
    for station in stations {
        match *station {
            Station::Node(node) => {
                let unknown = StationError::UnknownNode(testbed.name.clone(), node);
                let index = equipped.testbed.index_of(node).ok_or(unknown)?;
                if !equipped.sinks.contains(&index) {
                    equipped.sinks.push(index);
                }
            }
            Station::PutUp { along, radios } => {
                let own = testbed.nodes.len();
                let base = middle(&equipped.testbed.nodes[..own], along);
                for radio in 0..radios {
                    let mut placement = base;
                    // Into the building from either end.
                    let step = if along > 0.5 { -APART_M } else { APART_M };
                    placement.position.x_m += step * f64::from(radio);
                    equipped.sinks.push(equipped.testbed.nodes.len());
                    let (id, placement) = (next_id(&equipped.testbed), Some(placement));
                    equipped.testbed.nodes.push(Node { id, placement });
                }
            }
        }
    }
    let own = 0..testbed.nodes.len();
    equipped.sources = own.filter(|n| !equipped.sinks.contains(n)).collect();
    if equipped.sinks.is_empty() {
        return Err(StationError::NoStation);
    }
    Ok(equipped)
}

/// Fixes the places that the seed would draw.
fn settle(testbed: &mut Testbed, seed: u64) -> Result<(), StationError> {
    let no_places = || StationError::NoPlaces(testbed.name.clone());
    let model = testbed.model().ok_or_else(no_places)?.clone();
    let places = testbed.places(seed);
    for (node, place) in testbed.nodes.iter_mut().zip(places) {
        node.placement = place;
    }
    testbed.physics = Physics::Placed { model };
    Ok(())
}

/// `along` the extent of `nodes`, on their middle floor.
fn middle(nodes: &[Node], along: f64) -> Placement {
    let placements: Vec<Placement> = nodes.iter().filter_map(|n| n.placement).collect();
    let extent = |of: fn(&Position) -> f64| {
        let all = placements.iter().map(|p| of(&p.position));
        let low = all.clone().fold(f64::INFINITY, f64::min);
        (low, all.fold(f64::NEG_INFINITY, f64::max))
    };
    let (west, east) = extent(|p| p.x_m);
    let (south, north) = extent(|p| p.y_m);
    let top = placements.iter().map(|p| p.floor).max().unwrap_or(0);
    let floor = top / 2;
    let height = placements.iter().find(|p| p.floor == floor);
    Placement {
        position: Position {
            x_m: west + (east - west) * along.clamp(0.0, 1.0),
            y_m: (south + north) / 2.0,
            z_m: height.map_or(0.0, |p| p.position.z_m),
        },
        floor,
    }
}

/// An id that no node has.
fn next_id(testbed: &Testbed) -> NodeId {
    let highest = testbed.nodes.iter().map(|n| n.id.get()).max().unwrap_or(0);
    NodeId::new(highest.saturating_add(1)).unwrap_or(NodeId::MAX)
}

#[cfg(test)]
#[path = "station_tests.rs"]
mod tests;
