//! Plans over paths that are given. Tests: `crates/thalweg/tests/all/front_door.rs`, `crates/planner/tests/all/plans.rs`.

use super::request::longest;
use super::{LinkState, PlanRequest, PlanRequestError};
use thalweg_planner::{Assignment, Plan, Style};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::route::MAX_MEMBERS;

impl LinkState {
    /// The plan of `request` over `paths`, lists of nodes from a source to the sink, with its stages on `channels`, counted
    /// back from the sink, or as the protocol chooses them. Nothing is sought; what is unlikely to work is reported by the plan's
    /// warnings.
    ///
    /// # Errors
    /// [`PlanRequestError`].
    pub fn plan_over(
        &self,
        request: &PlanRequest,
        paths: &[Vec<NodeId>],
        channels: Option<&[Channel]>,
    ) -> Result<Plan, PlanRequestError> {
        if request.protocol.style == Style::Hops {
            let name = request.protocol.name;
            let why = format!("{name} takes one path of its own, hop by hop");
            return Err(PlanRequestError::Plan(why));
        }
        self.place.check_channels(channels)?;
        let index = |path: &Vec<NodeId>| path.iter().map(|id| self.place.index_of(*id)).collect();
        let paths: Vec<Vec<usize>> = paths.iter().map(index).collect::<Result<_, _>>()?;
        let first = paths.first();
        let (source, sink) = (first.and_then(|p| p.first()), first.and_then(|p| p.last()));
        if sink.is_some_and(|sink| *sink != self.sink) {
            let sink = self.place.name_of(self.sink);
            let why = format!("paths end at the base station, node {sink}");
            return Err(PlanRequestError::Plan(why));
        }
        let source = source.copied().unwrap_or(self.sink);
        let mut route = self.route_request(source, request, request.packets()?);
        if let Some(channels) = channels {
            (route.channels, route.assignment) = (channels.to_vec(), Assignment::CountedBack);
        }
        let ids = [source as u64, self.sink as u64];
        let mut rng = (self.draw)(self.seed, "plan", &ids);
        let plan = Plan::of_paths(&self.links, &route, &paths, &mut rng);
        let plan = plan.map_err(|why| self.named(&why, request.protocol.scheme))?;
        let (hops, longest) = (plan.hops, longest(plan.style));
        let relays: usize = plan.stages.iter().map(Vec::len).sum();
        match hops <= longest && relays <= MAX_MEMBERS {
            true => Ok(plan),
            false => Err(PlanRequestError::TooLong {
                from: self.place.name_of(source),
                hops,
                relays,
                longest,
            }),
        }
    }
}
