//! What decides when the nodes of a tree send. Time base: none.

use thalweg_protocols::fusion::{Fusion, Strategy};
use thalweg_protocols::ifrc::Ifrc;
use thalweg_protocols::rcrt::Notes;
use thalweg_protocols::stack::{Discipline, Open};

/// What in every node's stack decides when it sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// Carrier sense alone.
    Open,
    /// As [`Self::Open`]; packets also carry a note of the queues that they met ([`Notes`]).
    Notes,
    /// Fusion with this strategy.
    Fusion(Strategy),
    /// IFRC, and its longer queue.
    Ifrc,
}

/// A discipline that may give its node a rate.
pub(super) trait HasRate: Discipline {
    /// Packets per second that the node may send itself; none where a sink decides, or nothing does.
    fn rate(&self) -> Option<f64> {
        None
    }
}

impl HasRate for Open {}

impl HasRate for Fusion {}

impl HasRate for Notes {}

impl HasRate for Ifrc {
    fn rate(&self) -> Option<f64> {
        Some(f64::from(Self::rate(self)))
    }
}
