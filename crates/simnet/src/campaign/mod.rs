//! Emptying a whole network: an object from every node, one transfer after the other (P3, section
//! IV-D3) or several at once into one or more base stations.
//!
//! Everything happens on one simulated time line, in one network, by the host's orders: survey, collection, then waves of
//! transfers (`run.rs`) planned by [`thalweg_planner::concurrent`], then leftover sources one by one (`alone.rs`).
//! [`thalweg_testbeds::equip`] places base stations. The host's own computing time is not counted. Tests: `tests.rs`.

mod alone;
mod network;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use network::Mode;
pub use report::{Campaign, InWave, Phase};
pub use run::{empty, spread, Settings, Sources, Turns};

use crate::motes::RunError;
use thalweg_testbeds::{SiteError, StationError};

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The network did not do what it should.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A loss on a link that is not there.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// There is no such base station.
    #[error(transparent)]
    Station(#[from] StationError),
}
