//! Reports of a sweep that no flood brought: their nodes are asked for them hop by hop.
//!
//! Time base: the network's. Invariant: a node is asked only where others heard it, so nodes that are off cost nothing.

use crate::job::{run, Failure};
use crate::network::Network;
use crate::survey::SurveyOutcome;
use crate::transfer::hops::ReportFetch;
use crate::transfer::pipeline::Order;
use rand_pcg::Pcg64Mcg;
use std::ops::ControlFlow;
use thalweg_planner::{plan, LinkModel, Plan, RouteRequest, Style, Topology};
use thalweg_protocols::mote;
use thalweg_units::{Channel, ChannelSet, Dbm, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// How reports are fetched hop by hop that no flood brought.
pub struct Reports<'a> {
    /// The network's nodes, by index.
    pub ids: &'a [NodeId],
    /// The base station.
    pub sink: NodeId,
    /// The noise floor of its radios.
    pub floor: Dbm,
    /// The channel of floods and calls.
    pub control: Channel,
    /// The channels that are measured.
    pub measured: ChannelSet,
    /// Whether the network is secured.
    pub sealing: Sealing,
    /// The next number of a transfer.
    pub number: &'a mut dyn FnMut() -> u16,
}

impl Reports<'_> {
    /// Asks the nodes that `surveyed` lacks and others heard, and were not `missed` before, for what they received of
    /// `beacons` beacons on each channel; what they heard may lead to more of them.
    pub(super) fn fetch<F>(
        &mut self,
        network: &mut F,
        surveyed: &mut SurveyOutcome,
        (missed, beacons): (&[NodeId], u32),
    ) -> Result<(), Failure>
    where
        F: Network<Order = Order, Event = mote::Event>,
    {
        let began = network.now();
        let mut open: Vec<NodeId> = surveyed.missing.clone();
        open.retain(|node| !missed.contains(node));
        // Nearer ones first: each is asked once, and again when another has been found since.
        while let Some(found) = self.fetch_one(network, surveyed, &open, beacons)? {
            surveyed.missing.retain(|node| *node != found);
            open.retain(|node| *node != found);
        }
        surveyed.collecting += network.now().since(began);
        Ok(())
    }

    /// The first of the nodes `open` whose report comes, added to `surveyed`.
    fn fetch_one<F>(
        &mut self,
        network: &mut F,
        surveyed: &mut SurveyOutcome,
        open: &[NodeId],
        beacons: u32,
    ) -> Result<Option<NodeId>, Failure>
    where
        F: Network<Order = Order, Event = mote::Event>,
    {
        let mut plans: Vec<(NodeId, Plan)> = open
            .iter()
            .filter_map(|node| Some((*node, self.plan(surveyed, *node)?)))
            .collect();
        plans.sort_by_key(|(_, plan)| plan.hops);
        for (node, plan) in plans {
            let mut job = ReportFetch::new(&plan, self.ids, (self.number)(), self.sealing)?;
            let links = match run(network, &mut job, &mut |_| ControlFlow::Continue(())) {
                Ok(links) => links,
                Err(Failure::NoEnd(_) | Failure::Refused(_)) => continue,
                Err(why) => return Err(why),
            };
            let index = |id: NodeId| self.ids.iter().position(|of| *of == id);
            for link in &links {
                if let (Some(from), Some(to)) = (index(link.from), index(link.to)) {
                    let received = u32::from(link.received).min(beacons);
                    let rssi = Some(link.rssi);
                    // Both nodes are in the table, and no more is received than was sent.
                    let table = &mut surveyed.links;
                    let _ = table.record(from, to, link.channel, received, beacons, rssi);
                }
            }
            if !links.is_empty() {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// Whether `surveyed` has a link from `node`.
    pub(super) fn is_heard(&self, surveyed: &SurveyOutcome, node: NodeId) -> bool {
        let links = &surveyed.links;
        let index = self.ids.iter().position(|id| *id == node);
        index.is_some_and(|from| {
            let mut channels = links.channels().iter();
            channels.any(|channel| links.heard_from(from, channel).next().is_some())
        })
    }

    /// The nodes that `surveyed` lacks, or to which no chain of links leads, in whatever direction they were heard: all
    /// their links may have been bad for those seconds.
    pub(super) fn lacking(&self, surveyed: &SurveyOutcome) -> Vec<NodeId> {
        let links = &surveyed.links;
        let edges = links.channels().iter().flat_map(|channel| {
            (0..links.nodes()).flat_map(move |from| {
                let heard = links.heard_from(from, channel);
                heard.map(move |(to, _)| (from, to))
            })
        });
        let topology = Topology::from_edges(links.nodes(), edges);
        let sink = self.ids.iter().position(|id| *id == self.sink);
        let hops = topology.hops_from(sink.unwrap_or(0));
        let is_linked = |at: usize| hops.get(at).is_some_and(Option::is_some);
        let lacks = |(at, id): &(usize, &NodeId)| !is_linked(*at) || surveyed.missing.contains(id);
        let lacking = self.ids.iter().enumerate().filter(lacks);
        lacking.map(|(_, id)| *id).collect()
    }

    /// The path from `node` to the base station, over links that were heard in one direction at least.
    fn plan(&self, surveyed: &SurveyOutcome, node: NodeId) -> Option<Plan> {
        let index = |id: NodeId| self.ids.iter().position(|of| *of == id);
        let channels: Vec<Channel> = surveyed.links.channels().iter().collect();
        let request = RouteRequest {
            style: Style::Hops,
            control: Some(self.control),
            measured: self.measured,
            routing_channel: *channels.first()?,
            channels,
            ..RouteRequest::new(index(node)?, index(self.sink)?)
        };
        let model = LinkModel::learned(&surveyed.links, self.floor);
        let request = request.trusting(model);
        // Nothing is left to chance: a number is needed all the same.
        plan(&surveyed.links, &request, &mut Pcg64Mcg::new(1)).ok()
    }
}
