//! Loss maps of an experiment's transfers: the same transfers again, watched.

use super::Transfers;
use crate::experiment::explained::{Explained, ExplainedTransfer};
use crate::experiment::kind::Explains;
use crate::experiment::lab::Lab;
use crate::experiment::ExperimentError;

impl Explains for Transfers {
    /// The loss maps of the first cell's transfers.
    fn explain(&self, seed: u64, lab: &Lab<'_>) -> Result<Explained, ExperimentError> {
        let max_paths = self.first_cell().max_paths;
        let transfers = self.each_route(seed, lab, |drawn, route| {
            let mut maps = Vec::new();
            for &variant in &self.protocols {
                let Some(plan) = self.plan(drawn, route, variant, max_paths) else {
                    continue;
                };
                maps.push(ExplainedTransfer {
                    seed,
                    route: route + 1,
                    protocol: variant.name,
                    map: self.loss_map(drawn, route, &plan, variant)?,
                });
            }
            Ok(maps)
        })?;
        Ok(Explained { transfers })
    }
}
