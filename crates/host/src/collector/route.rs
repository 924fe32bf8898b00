//! A route that surveys have not found yet: links that are dead for minutes come back.
//!
//! Time base: the network's. Tests: `tests/all/recovery.rs`.

use super::Collector;
use crate::job::{Failure, Progress, Watch};
use crate::link_state::{LinkState, PlanRequest};
use crate::network::Network;
use crate::recovery;
use crate::transfer::pipeline::Order;
use std::ops::ControlFlow;
use thalweg_planner::Plan;
use thalweg_protocols::mote::Event;
use thalweg_wire::route::Scheme;

/// How often links are measured for a node without a route: with pauses of an hour in all, and the surveys' own time.
/// Sixteen leave two of ten objects behind on rows of twelve with links of .4 on one channel, 64 leave six of 110, and
/// cost that much more where a node is off.
pub const SURVEYS: u32 = 64;

impl Collector {
    /// Measures links again until there is a route for `request`, from the node that it names, or until `most` surveys
    /// were `in_vain`, as this one is until its route brings something. The first has no pause before it, others one
    /// twice as long as the one before. `None` where no survey found a route.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn find_route<F>(
        &mut self,
        network: &mut F,
        (request, in_vain, most): (&PlanRequest, &mut u32, u32),
        watch: Watch<'_>,
    ) -> Result<Option<(LinkState, Plan)>, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let is_ours = matches!(request.protocol.scheme, Scheme::Thalweg | Scheme::HopByHop);
        let (true, Some(node), None) = (is_ours, request.from, request.hops) else {
            return Ok(None);
        };
        while *in_vain < most {
            let pause = recovery::pause_after(*in_vain);
            *in_vain += 1;
            let progress = Progress::OutOfReach {
                node,
                pause,
                survey: (*in_vain, most),
            };
            if watch(progress) == ControlFlow::Break(()) {
                return Err(Failure::Cancelled);
            }
            let resumed = network.now() + pause;
            recovery::wait(network, resumed)?;
            match self.survey(network, request.protocol, &[], watch) {
                Ok(surveyed) => {
                    let links = self.description.link_state(surveyed.links);
                    let links = links.measured_at(network.now());
                    if let Ok(plan) = links.plan(request) {
                        return Ok(Some((links, plan)));
                    }
                }
                Err(why @ (Failure::Cancelled | Failure::Network(_))) => return Err(why),
                // The next may end.
                Err(_) => {}
            }
        }
        Ok(None)
    }
}
