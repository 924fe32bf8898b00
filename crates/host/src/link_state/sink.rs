//! Which of several base stations an object goes to. Tests: `crates/daemon/tests/all/waves.rs`.

use super::{LinkState, PlanRequest, PlanRequestError};
use crate::transfer::account::expected;
use thalweg_planner::Plan;
use thalweg_units::NodeId;

impl LinkState {
    /// Data brought to that of `sinks` into which the object of `request` is expected to come the fastest, the first of equals,
    /// and its plan there. No route leads over another of them.
    ///
    /// # Errors
    /// [`PlanRequestError`]: the first sink's where there is no plan into any.
    pub fn towards_fastest(
        &self,
        sinks: &[NodeId],
        request: &PlanRequest,
    ) -> Result<(Self, Plan), PlanRequestError> {
        let mut fastest: Option<(f64, Self, Plan)> = None;
        let mut refused = None;
        for sink in sinks {
            let others: Vec<NodeId> = sinks.iter().filter(|of| *of != sink).copied().collect();
            let view = self.towards(*sink)?.without(&others);
            match view.plan(request) {
                Ok(plan) => {
                    let (hoped, _) = expected(&plan, request.protocol.over(&plan).scheme);
                    // What may never end is worth less.
                    let worth = hoped.goodput_kbps * hoped.completion;
                    if fastest.as_ref().is_none_or(|(most, ..)| worth > *most) {
                        fastest = Some((worth, view, plan));
                    }
                }
                Err(why) => {
                    refused.get_or_insert(why);
                }
            }
        }
        match (fastest, refused) {
            (Some((_, view, plan)), _) => Ok((view, plan)),
            (None, Some(why)) => Err(why),
            (None, None) => Ok((self.clone(), self.plan(request)?)),
        }
    }
}
