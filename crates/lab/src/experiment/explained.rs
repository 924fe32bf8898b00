//! Loss maps of an experiment's transfers, and their sums.

use crate::explain::{LossMap, Totals};
use serde::Serialize;

/// Where the packets of one transfer of an experiment were lost.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedTransfer {
    /// The seed of its building.
    pub seed: u64,
    /// Which of its routes, from 1.
    pub route: usize,
    /// The variant's name.
    pub protocol: &'static str,
    /// Stage by stage.
    pub map: LossMap,
}

/// Loss maps of one variant's transfers.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Explained {
    /// Every transfer, by seed and route.
    pub transfers: Vec<ExplainedTransfer>,
}

impl Explained {
    /// The sums over the transfers of each protocol, in the order in which they first occur.
    pub fn totals(&self) -> Vec<(&'static str, Totals)> {
        let mut sums: Vec<(&'static str, Totals)> = Vec::new();
        for transfer in &self.transfers {
            let found = sums.iter().position(|(name, _)| *name == transfer.protocol);
            let at = found.unwrap_or_else(|| {
                sums.push((transfer.protocol, Totals::default()));
                sums.len() - 1
            });
            sums[at].1.add(&transfer.map);
        }
        sums
    }
}
