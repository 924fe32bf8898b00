//! Loss maps of an experiment's transfers, and their sums.

use serde::Serialize;
use thalweg_simnet::explain::{LossMap, Totals};

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
        for ExplainedTransfer { protocol, map, .. } in &self.transfers {
            if !sums.iter().any(|(name, _)| name == protocol) {
                sums.push((protocol, Totals::default()));
            }
            let of_it = sums.iter_mut().filter(|(name, _)| name == protocol);
            of_it.for_each(|(_, totals)| totals.add(map));
        }
        sums
    }
}
