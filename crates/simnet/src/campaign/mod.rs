//! Emptying a whole network: an object from every node, one transfer after the other (P3, section
//! IV-D3) or several at once into one or more base stations.
//!
//! Everything happens on one simulated time line, in one network, as the gateway's orders have it:
//! survey, collection, then waves of transfers (`run.rs`; who is left over at the end: `alone.rs`) planned by [`thalweg_planner::concurrent`]. What
//! is told of it: `report.rs`. Where base stations stand: [`thalweg_testbeds::equip`]. The gateway's own
//! computing time is not counted. Tests: `tests.rs`.

mod alone;
mod network;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use network::Mode;
pub use report::{Campaign, InWave, Part};
pub use run::spread;
pub use run::{empty, Settings, Sources, Turns};

use crate::motes::RunError;
use thalweg_testbeds::{SiteError, StationError};

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The network did not do what it should.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A loss on a link that is not there.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A base station cannot be had.
    #[error(transparent)]
    Station(#[from] StationError),
}
