//! The transfers of a round, one from every node, as the planner has them. Tests: `tests/whole_network.rs`.

use crate::{Error, Network};
use std::collections::BTreeMap;
use thalweg_host::link_state::{LinkState, PlanRequest};
use thalweg_planner::rounds::Load;
use thalweg_units::NodeId;

/// Plans transfers over the same links, each once.
pub(crate) struct Loads<'a> {
    links: &'a LinkState,
    request: PlanRequest,
    towards: BTreeMap<usize, LinkState>,
    planned: BTreeMap<(usize, usize), Option<Load>>,
}

impl<'a> Loads<'a> {
    /// Transfers as `network` requests them, over `links`.
    pub(crate) fn new(network: &Network, links: &'a LinkState) -> Result<Self, Error> {
        let protocol = network.pipeline("plan")?;
        Ok(Self {
            links,
            request: network.request()?.plan_request(protocol),
            towards: BTreeMap::new(),
            planned: BTreeMap::new(),
        })
    }
    /// The transfer from node to node, by index; none where there is no route, or where none is expected to end.
    pub(crate) fn between(&mut self, source: usize, sink: usize) -> Option<Load> {
        if let Some(load) = self.planned.get(&(source, sink)) {
            return load.clone();
        }
        let id = self.links.place().ids.get(sink).copied()?;
        if let std::collections::btree_map::Entry::Vacant(entry) = self.towards.entry(sink) {
            entry.insert(self.links.towards(id).ok()?);
        }
        let load = load(self.towards.get(&sink)?, &self.request, source);
        self.planned.insert((source, sink), load.clone());
        load
    }
    /// The same of several sources to the links' own sink, without some nodes.
    pub(crate) fn without(&self, sources: &[usize], out: &[usize]) -> Vec<Option<Load>> {
        let ids = &self.links.place().ids;
        let out: Vec<NodeId> = (out.iter().filter_map(|n| ids.get(*n)).copied()).collect();
        let links = self.links.without(&out);
        let each = sources.iter();
        each.map(|source| load(&links, &self.request, *source))
            .collect()
    }
    /// The request, of any source.
    pub(crate) fn request(&self) -> &PlanRequest {
        &self.request
    }
}

fn load(links: &LinkState, request: &PlanRequest, source: usize) -> Option<Load> {
    let from = links.place().ids.get(source).copied();
    let plan = links.plan(&PlanRequest { from, ..*request }).ok()?;
    Load::of(&plan, &links.place().currents)
}
