//! One run of an experiment: routes settle, flows begin, incidents happen, until every flow has ended.

use super::mote::Synthetic;
use super::outcome::Outcome;
use super::setup::Setup;
use super::trees::{instant, Paced, Trees};
use super::upper::Sinks;
use crate::convergecast::RunError;
use std::ops::ControlFlow::Continue;
use thalweg_protocols::rcrt::Handed;
use thalweg_sim::Capture;
use thalweg_testbeds::Site;
use thalweg_units::{NodeId, SimTime};

/// Runs `setup` at `site` with `discipline` in every node's stack, whose queue has room for `QUEUE`; writes frames to
/// `capture`.
///
/// # Errors
/// Where the simulation fails, or nodes and boards do not suit each other.
pub fn run<D: Paced, const QUEUE: usize>(
    site: &Site,
    setup: &Setup,
    discipline: impl Fn(NodeId) -> D,
    seed: u64,
    capture: Option<Box<dyn Capture>>,
) -> Result<Outcome, RunError> {
    let bytes = usize::from(setup.payload_bytes);
    let supply =
        |n: usize, id: NodeId| Synthetic::new(id, setup.packets_of(n), bytes, setup.buffer);
    let nodes = (discipline, supply);
    let mut trees = Trees::<D, _, QUEUE>::open(site, setup.clone(), nodes, seed, capture)?;
    let _ = trees.settle(|_, _| Continue(()))?;
    let mut upper = Sinks::of(setup);
    let ends = trees.now() + setup.limit;
    while trees.now() < ends && !trees.outcome.is_over() {
        let due = upper.poll_timeout();
        let due = due.map_or(ends, |at| SimTime::from_nanos(at.as_nanos()));
        let incoming = trees.next(due.min(ends), &upper.sinks)?;
        let now = instant(trees.now());
        if let Some((
            base,
            Handed::Packet {
                origin, message, ..
            },
        )) = incoming
        {
            upper.receive(now, base, origin, &message);
        }
        if upper.poll_timeout().is_some_and(|at| at <= now) {
            upper.handle_timeout(now);
        }
        while let Some((base, send)) = upper.poll_message(now) {
            trees.send(base, send);
        }
        upper.tell(now, &mut trees.outcome);
    }
    Ok(trees.finish(&upper.sinks)?)
}
