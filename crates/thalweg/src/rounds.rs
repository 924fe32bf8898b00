//! The transfers of a round, one from every node, as the planner has them. Tests: `tests/all/whole_network.rs`.

use crate::{Error, Network};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;
use thalweg_host::link_state::{LinkState, PlanRequest};
use thalweg_planner::rounds::Load;
use thalweg_units::NodeId;

/// Plans transfers over the same links, each once.
pub(crate) struct Loads<'a> {
    links: &'a LinkState,
    request: PlanRequest,
    planned: BTreeMap<(usize, usize), Option<Load>>,
}

impl<'a> Loads<'a> {
    /// Transfers as `network` requests them, over `links`.
    pub(crate) fn new(network: &Network, links: &'a LinkState) -> Result<Self, Error> {
        let protocol = network.pipeline("plan")?;
        Ok(Self {
            links,
            request: network.request()?.plan_request(protocol),
            planned: BTreeMap::new(),
        })
    }
    /// The transfer from node to node, by index; none where there is no route, or where none is expected to end.
    pub(crate) fn between(&mut self, source: usize, sink: usize) -> Option<Load> {
        self.prepare(&[source], sink);
        self.planned.get(&(source, sink)).cloned().flatten()
    }
    /// Plans the transfers of `sources` to `sink`, by index, at the same time.
    pub(crate) fn prepare(&mut self, sources: &[usize], sink: usize) {
        let is_new = |source: &&usize| !self.planned.contains_key(&(**source, sink));
        let sources: Vec<usize> = sources.iter().filter(is_new).copied().collect();
        if sources.is_empty() {
            return;
        }
        let id = self.links.place().ids.get(sink);
        let Some(links) = id.and_then(|id| self.links.towards(*id).ok()) else {
            return;
        };
        let planned = loads(&links, &self.request, &sources);
        let keys = sources.into_iter().map(|source| (source, sink));
        self.planned.extend(keys.zip(planned));
    }
    /// The same of several sources to the links' own sink, without some nodes.
    pub(crate) fn without(&self, sources: &[usize], out: &[usize]) -> Vec<Option<Load>> {
        let ids = &self.links.place().ids;
        let out: Vec<NodeId> = (out.iter().filter_map(|n| ids.get(*n)).copied()).collect();
        loads(&self.links.without(&out), &self.request, sources)
    }
    /// The request, of any source.
    pub(crate) fn request(&self) -> &PlanRequest {
        &self.request
    }
}

/// The transfers of `sources`, in their order, planned on all cores.
fn loads(links: &LinkState, request: &PlanRequest, sources: &[usize]) -> Vec<Option<Load>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let part = sources.len().div_ceil(cores).max(1);
    let each = |sources: &[usize]| -> Vec<Option<Load>> {
        let loads = sources.iter().map(|source| load(links, request, *source));
        loads.collect()
    };
    thread::scope(|scope| {
        let parts = sources.chunks(part);
        let begun: Vec<_> = parts.map(|part| scope.spawn(move || each(part))).collect();
        let ended = begun.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .flat_map(|part| part.unwrap_or_else(|why| resume_unwind(why)))
            .collect()
    })
}

fn load(links: &LinkState, request: &PlanRequest, source: usize) -> Option<Load> {
    let from = links.place().ids.get(source).copied();
    let plan = links.plan(&PlanRequest { from, ..*request }).ok()?;
    Load::of(&plan, &links.place().currents)
}
