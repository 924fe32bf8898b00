//! Loss maps: where the packets of a transfer were lost, stage by stage, and why.
//!
//! [`fetch`] is [`Motes::fetch`] with a map beside the outcome; [`Recorder`] does the same
//! around any other way to run a transfer. Causes come from the medium's counterfactual redraws
//! of each reception and from who sent what, never from a model. How to read a map:
//! `docs/explain.md`. Does not cover wake-up floods. Tests: `tests.rs`.

mod attribute;
mod cause;
mod layout;
mod map;
mod picture;
mod record;
mod text;

pub use cause::{Cause, Causes};
pub use layout::SubGroup;
pub use map::{HopLoss, LossMap, MapNode, Receiver, RoundLoss, Sender, StageTotal, Totals};

use crate::field::{Motes, RunError, Transfer};
use attribute::Selective;
use layout::Layout;
use record::Log;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_gateway::carry::pipeline::Terms;
use thalweg_gateway::job::Watch;
use thalweg_planner::Plan;
use thalweg_wire::route::Scheme;

/// Records a transfer from [`Recorder::start`] to [`Recorder::finish`].
pub struct Recorder {
    log: Arc<Mutex<Log>>,
    protocol: Scheme,
    selective: Selective,
}

impl Recorder {
    /// Watches the nodes of `plan` that `protocol` uses from now on, in place of whoever watched
    /// the network before.
    pub fn start(session: &mut Motes, plan: &Plan, protocol: Scheme, terms: &Terms) -> Self {
        let layout = Layout::new(plan, protocol);
        let nodes = layout.nodes();
        let network = session.network();
        let log = Arc::new(Mutex::new(Log::new(layout, network.environment().clone())));
        let noted = log.clone();
        network.watch(
            &nodes,
            Box::new(move |air| {
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .note(air);
            }),
        );
        let selective = match (protocol, terms.threshold) {
            (Scheme::P3, Some(_)) => Selective::LastButOne,
            _ => Selective::Nobody,
        };
        Self {
            log,
            protocol,
            selective,
        }
    }

    /// Ends the watch and draws the map.
    pub fn finish(self, session: &mut Motes) -> LossMap {
        session.network().unwatch();
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = attribute::Terms {
            protocol: self.protocol,
            ids: session.field.ids(),
            power: session.board().tx_power,
            selective: self.selective,
        };
        attribute::Attribution::new(&log, &terms).map()
    }
}

/// [`Motes::fetch`], and where the packets were lost. The outcome is the same as without.
///
/// # Errors
/// [`RunError`] where nothing can be said of the transfer.
pub fn fetch(
    session: &mut Motes,
    plan: &Plan,
    protocol: Scheme,
    terms: &Terms,
    observer: Watch<'_>,
) -> Result<(Transfer, LossMap), RunError> {
    let recorder = Recorder::start(session, plan, protocol, terms);
    let fetched = session.fetch(plan, protocol, terms, observer);
    let map = recorder.finish(session);
    Ok((fetched?, map))
}

#[cfg(test)]
mod tests;
