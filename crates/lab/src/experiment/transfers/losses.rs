//! Loss maps of an experiment's transfers: the same transfers again, watched.

use super::Transfers;
use crate::experiment::sites::Sites;
use crate::experiment::{in_order, ExperimentError, Ticker};
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

impl Transfers {
    /// The loss maps of the first cell's transfers.
    pub(in crate::experiment) fn explain(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Explained, ExperimentError> {
        let max_paths = self.first_cell().max_paths;
        let transfers = in_order(seeds, |seed| {
            let drawn = self.draw(*seed, sites, ticker)?;
            let routes: Vec<usize> = (0..drawn.pairs.len()).collect();
            let maps = in_order(&routes, |&route| {
                ticker.go_on()?;
                let mut maps = Vec::new();
                for &variant in &self.protocols {
                    let Some(plan) = self.plan(&drawn, route, variant, max_paths) else {
                        continue;
                    };
                    maps.push(ExplainedTransfer {
                        seed: *seed,
                        route: route + 1,
                        protocol: variant.name,
                        map: self.loss_map(&drawn, route, &plan, variant)?,
                    });
                }
                ticker.tick(1);
                Ok(maps)
            })?;
            ticker.tick(self.parts().saturating_sub(routes.len() as u64));
            Ok(maps.concat())
        })?;
        Ok(Explained {
            transfers: transfers.concat(),
        })
    }
}
