//! Loss maps: where the packets of a transfer were lost, stage by stage, and why.
//!
//! [`fetch`] is [`Motes::fetch`] with a map beside the outcome; [`Recorder`] does the same
//! around any other transfer. Causes come from the medium's counterfactual redraws of each
//! reception and from the frames that were sent, never from a model. How to read a map:
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
pub use map::{
    HopLoss, LaterRoute, LossMap, MapNode, Receiver, RoundLoss, RouteMap, Sender, StageTotal,
    Totals,
};

use crate::motes::{Motes, RunError, SimNetwork};
use attribute::Selective;
use layout::Layout;
use record::Log;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_host::collector::Transfer;
use thalweg_host::job::{Failure, Watch};
use thalweg_host::registry::Pipelined;
use thalweg_host::transfer::pipeline::{route, Node, Order, TransferTerms};
use thalweg_planner::Plan;
use thalweg_sim::Network;
use thalweg_units::Dbm;
use thalweg_wire::route::Scheme;

/// Records a transfer from [`Recorder::start`] to [`Recorder::finish`].
pub struct Recorder {
    log: Arc<Mutex<Log>>,
    protocol: Scheme,
    selective: Selective,
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows `log` the frames of all its nodes.
fn watch(network: &mut Network<Node>, log: &Arc<Mutex<Log>>) {
    let (nodes, noted) = (lock(log).nodes(), log.clone());
    network.watch(&nodes, Box::new(move |air| lock(&noted).note(air)));
}

impl Recorder {
    /// Watches the nodes of each attempt at the transfer of `plan` from its order on. It replaces other watchers of the
    /// network and its orders.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where the plan does not fit a wake-up.
    pub fn start(
        nodes: &mut SimNetwork<Node>,
        plan: &Plan,
        protocol: Scheme,
        terms: &TransferTerms,
    ) -> Result<Self, Failure> {
        let ids = nodes.ids().to_vec();
        let planned = route(plan, protocol, terms, &ids, 0)?;
        let environment = nodes.net.environment().clone();
        let log = Log::new(Layout::new(&planned, &ids), environment);
        let log = Arc::new(Mutex::new(log));
        let noted = log.clone();
        // Each order has the route of its attempt; the plan only that of the first.
        let hook = move |network: &mut Network<Node>, order: &Order| {
            let (Order::Fetch(route) | Order::FetchTogether { route, .. }) = order else {
                return;
            };
            if (route.source, route.sink) == (planned.source, planned.sink) {
                lock(&noted).ordered(route.transfer, Layout::new(route, &ids));
                watch(network, &noted);
            }
        };
        nodes.watch_orders(Some(Box::new(hook)));
        let selective = match (protocol, terms.threshold) {
            (Scheme::P3, Some(_)) => Selective::LastButOne,
            _ => Selective::None,
        };
        Ok(Self {
            log,
            protocol,
            selective,
        })
    }

    /// Ends the watch and draws the map of nodes that send with `power`.
    pub fn finish(self, nodes: &mut SimNetwork<Node>, power: Dbm) -> LossMap {
        nodes.watch_orders(None);
        nodes.net.unwatch();
        let log = lock(&self.log);
        let terms = attribute::Terms {
            protocol: self.protocol,
            ids: nodes.ids(),
            power,
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
    terms: &TransferTerms,
    observer: Watch<'_>,
) -> Result<(Transfer, LossMap), RunError> {
    // As the transfer, which may be another protocol's.
    let carried_by = Pipelined::plain(protocol).over(plan).scheme;
    let recorder = Recorder::start(&mut session.nodes, plan, carried_by, terms)?;
    let fetched = session.fetch(plan, protocol, terms, observer);
    let power = session.board().tx_power;
    let map = recorder.finish(&mut session.nodes, power);
    Ok((fetched?, map))
}

#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests;
