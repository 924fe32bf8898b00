//! A route that surveys have not found yet: links that are dead for minutes come back.
//!
//! Time base: the network's. Tests: `tests/all/recovery.rs`.

use super::Collector;
use crate::job::{Failure, Progress, Watch};
use crate::link_state::{LinkState, PlanRequest};
use crate::network::Network;
use crate::recovery;
use crate::transfer::pipeline::{Order, SETTLING};
use std::ops::ControlFlow;
use thalweg_planner::Plan;
use thalweg_protocols::mote::Event;
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// How often links are measured for a node without a route: with pauses of thirteen minutes in all, and the surveys' own
/// time.
pub const SURVEYS: u32 = 16;
/// Pauses double up to this one.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

impl Collector {
    /// Measures links again until there is a route for `request`, from the node that it names, `most` times at most.
    /// The first survey has no pause before it, others one twice as long as the one before. `None` where no survey found
    /// a route.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn find_route<F>(
        &mut self,
        network: &mut F,
        (request, most): (&PlanRequest, u32),
        watch: Watch<'_>,
    ) -> Result<Option<(LinkState, Plan)>, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let is_ours = matches!(request.protocol.scheme, Scheme::Thalweg | Scheme::HopByHop);
        let (true, Some(node), None) = (is_ours, request.from, request.hops) else {
            return Ok(None);
        };
        let mut pause = Duration::ZERO;
        for survey in 1..=most {
            let progress = Progress::OutOfReach {
                node,
                pause,
                survey: (survey, most),
            };
            if watch(progress) == ControlFlow::Break(()) {
                return Err(Failure::Cancelled);
            }
            let resumed = network.now() + pause;
            recovery::wait(network, resumed)?;
            pause = (pause * 2).clamp(SETTLING, LONGEST_PAUSE);
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
