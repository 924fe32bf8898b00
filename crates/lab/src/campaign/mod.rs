//! Emptying a whole network: an object from every node, one transfer after the other (P3, section
//! IV-D3) or several at once into one or more base stations.
//!
//! Everything happens on one simulated time line, in one network, as the gateway's orders have it:
//! survey, collection, then waves of transfers (`run.rs`) planned by [`thalweg_planner::concurrent`]. What
//! is told of it: `report.rs`. Where base stations stand: `station.rs`. The gateway's own computing time is
//! not counted. Tests: `tests.rs`.

mod network;
mod report;
mod run;
mod station;
#[cfg(test)]
mod tests;

pub use network::Mode;
pub use report::{Campaign, NetworkRow, Part, TransferRow};
pub use run::{empty, Settings, Step};
pub use station::{equip, Equipped, Station};

use crate::transfer::SessionError;

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The network did not do what it should.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A loss on a link that is not there.
    #[error(transparent)]
    Loss(#[from] crate::testbed::LossError),
    /// Base stations cannot be put up where nobody knows where anything is.
    #[error("{testbed}: the places of its nodes are not known; name nodes as base stations")]
    NoPlaces {
        /// The testbed.
        testbed: String,
    },
    /// A node that the testbed does not have.
    #[error("{testbed}: has no node {node}")]
    UnknownNode {
        /// The testbed.
        testbed: String,
        /// The node named.
        node: thalweg_units::NodeId,
    },
    /// Nowhere to bring data to.
    #[error("a campaign needs at least one base station")]
    NoStation,
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}
