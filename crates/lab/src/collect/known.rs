//! What is known of a site before a transfer: its links, whoever measured them, and the choices that hold
//! for all its routes. Routes are planned here.

use super::error::CollectError;
use super::{index_of, packets_of, Request, LONGEST};
use crate::transfer::{carries_transfers, mean_pause};
use std::sync::Arc;
use thalweg_engine::BoardTiming;
use thalweg_medium::random::stream;
use thalweg_planner::channels::spread_order;
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::pairs::{best_channels, suggest_pairs, PairRequest};
use thalweg_planner::{plan, LinkQualities, LinkRule, Plan, PlanError, RouteRequest, Topology};
use thalweg_sim::Software;
use thalweg_testbeds::{Physics, Testbed};
use thalweg_units::{Channel, ChannelSet, Dbm, NodeId};
use thalweg_wire::route::MAX_MEMBERS;

/// The channels that P3 uses: those that Wi-Fi leaves alone (P3, section IV-D2).
pub const CLEAN_CHANNELS: [u8; 4] = [15, 20, 25, 26];

/// Beyond this P3's four channels come round a second time; no source is picked farther away.
const FAR: usize = 6;

/// A testbed with its links, and the choices that hold for all its routes.
#[derive(Debug, Clone)]
pub struct Known {
    testbed: Arc<Testbed>,
    links: LinkQualities,
    ends: Ends,
    /// Pipeline channels, counted back from the sink.
    channels: Vec<Channel>,
    routing_channel: Channel,
    rule: LinkRule,
    /// The costs of its board where they are not those of P3's code.
    timing: Option<BoardTiming>,
    seed: u64,
}

/// Where data goes, and whence it comes where nobody names a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) sink: usize,
    pub(super) source: Option<usize>,
}

impl Known {
    /// A testbed whose links are `links`, with the pipeline on `channels`; where none are named,
    /// on those that `links` show to link the network best.
    pub(super) fn new(
        testbed: Arc<Testbed>,
        links: LinkQualities,
        ends: Ends,
        channels: Option<Vec<Channel>>,
        seed: u64,
    ) -> Self {
        let mut links = links;
        // One id for each node: the table is this testbed's.
        let _ = links.set_ids(testbed.nodes.iter().map(|n| n.id.get()).collect());
        let floor = testbed.board.chip.noise_floor;
        let rule = LinkRule {
            floor,
            ..LinkRule::default()
        };
        let (channels, routing_channel) = choose_channels(&links, &rule, channels);
        let board = &testbed.board;
        let copies = carries_transfers(board) && board.timing.software != Software::Overlapped;
        let timing = copies.then_some(board.timing);
        Self {
            timing,
            testbed,
            links,
            ends,
            channels,
            routing_channel,
            rule,
            seed,
        }
    }

    /// A testbed of measured links as its file tells them, without a survey; `None` for others.
    /// Where neither end is named, the pair that the links support best is taken.
    ///
    /// # Errors
    /// [`CollectError`] for nodes and channels that the testbed does not have.
    pub fn of_measured(
        testbed: &Arc<Testbed>,
        from: Option<NodeId>,
        to: Option<NodeId>,
        channels: Option<&[Channel]>,
        seed: u64,
    ) -> Result<Option<Self>, CollectError> {
        let Physics::Measured(measured) = &testbed.physics else {
            return Ok(None);
        };
        check_channels(testbed, channels)?;
        let mut links = LinkQualities::new(testbed.len());
        for link in &measured.links {
            let (from, to) = (usize::from(link.from), usize::from(link.to));
            // The testbed's reader has checked nodes and ratios.
            let _ = links.record_prr(from, to, link.channel, link.prr, link.rssi_dbm.map(Dbm));
        }
        let sink = to.map_or(Ok(testbed.sink_index()), |node| index_of(testbed, node))?;
        let ends = Ends { sink, source: None };
        let channels = channels.map(<[Channel]>::to_vec);
        let mut known = Self::new(testbed.clone(), links, ends, channels, seed);
        if (from, to) == (None, None) {
            known.ends = known.best_ends();
        }
        Ok(Some(known))
    }

    /// The testbed.
    pub fn testbed(&self) -> &Testbed {
        &self.testbed
    }
    /// The links.
    pub fn links(&self) -> &LinkQualities {
        &self.links
    }
    /// The node that data goes to.
    pub fn sink(&self) -> NodeId {
        self.testbed.nodes[self.ends.sink].id
    }
    /// The channel on which routes are sought.
    pub fn routing_channel(&self) -> Channel {
        self.routing_channel
    }
    pub(super) fn ends(&self) -> Ends {
        self.ends
    }
    /// A node's id as text, for pictures and graphs.
    pub fn name_of(&self, index: usize) -> String {
        self.testbed
            .id_of(index)
            .map_or_else(|| index.to_string(), |id| id.to_string())
    }

    /// The request to the planner that `request` makes, for a source.
    pub fn route_request(&self, source: usize, request: &Request, packets: u32) -> RouteRequest {
        let faithful = self.faithful_request(source, request, packets);
        request.protocol.request(&faithful)
    }

    /// What the published protocols would ask.
    fn faithful_request(&self, source: usize, request: &Request, packets: u32) -> RouteRequest {
        let mut route = RouteRequest::new(source, self.ends.sink);
        route.channels.clone_from(&self.channels);
        route.routing_channel = self.routing_channel;
        route.rule = self.rule;
        route.fallback = self.rule.weaker();
        route.max_paths = request.paths.map(usize::from);
        route.hops = request.hops.map(usize::from);
        route.transfer.packets = packets;
        let payload_bytes = usize::from(request.payload.bytes());
        let published = route.transfer.cycle;
        // What copying costs on the boards that transfers run on, and elsewhere P3's own gap.
        let gap = self.timing.map_or(published.gap, |timing| {
            let bytes = published.header_bytes + payload_bytes;
            mean_pause(request.protocol.protocol(), bytes, &timing)
        });
        route.transfer.cycle = Cycle {
            payload_bytes,
            gap,
            ..published
        };
        route
    }

    /// Plans the route of `request`.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn plan(&self, request: &Request) -> Result<Plan, CollectError> {
        self.plan_attempt(request, 0)
    }

    /// The same, drawn anew for attempt `attempt`: other halves, other chains.
    pub(super) fn plan_attempt(
        &self,
        request: &Request,
        attempt: u64,
    ) -> Result<Plan, CollectError> {
        let source = match request.from {
            Some(node) => index_of(&self.testbed, node)?,
            None => self.far_source(request)?,
        };
        if source == self.ends.sink {
            return Err(CollectError::SourceIsSink(self.sink()));
        }
        let route = self.route_request(source, request, packets_of(request)?);
        let ids = [source as u64, self.ends.sink as u64, attempt];
        let ids = if attempt == 0 { &ids[..2] } else { &ids[..] };
        let seek = |route: &RouteRequest| {
            let mut rng = stream(self.seed, "plan", ids);
            plan(&self.links, route, &mut rng)
        };
        let longest = LONGEST;
        let found = match seek(&route) {
            // More paths lie beyond what a pipeline can be long: as many as there are within.
            Ok(p) if p.hops > longest && route.hops.is_none() => (p.shortest..=longest)
                .filter_map(|hops| {
                    seek(&RouteRequest {
                        hops: Some(hops),
                        ..route.clone()
                    })
                    .ok()
                })
                .max_by_key(|p| (p.path_count(), std::cmp::Reverse(p.hops)))
                .map_or(Ok(p), Ok),
            found => found,
        };
        let p = found.map_err(|why| self.named(&why))?;
        let relays: usize = p.stages.iter().map(Vec::len).sum();
        if p.hops > longest || relays > MAX_MEMBERS {
            let (hops, relays) = (p.hops, relays);
            return Err(CollectError::TooLong {
                from: self.name_of(source),
                hops,
                relays,
            });
        }
        Ok(p)
    }

    /// A node far from the sink that the network joins to it by enough paths; where it has not
    /// enough for any node, one with the most.
    fn far_source(&self, request: &Request) -> Result<usize, CollectError> {
        if let Some(source) = self.ends.source {
            return Ok(source);
        }
        let sink = self.ends.sink;
        let topology = Topology::new(&self.links, self.routing_channel, &self.rule);
        let hops = topology.hops_from(sink);
        let mut sources: Vec<(usize, usize)> = (0..hops.len())
            .filter(|n| *n != sink)
            .filter_map(|n| hops[n].map(|h| (h, n)))
            .collect();
        sources.sort_by_key(|(h, n)| (std::cmp::Reverse(*h), *n));
        let mut best: Option<(usize, usize)> = None;
        for (_, source) in &sources {
            // The same source for every variant.
            let mut route = self.faithful_request(*source, request, 1);
            route.fallback.clear();
            route.max_hops = FAR;
            let enough = route.min_paths;
            let mut rng = stream(self.seed, "source", &[*source as u64]);
            // One or two hops are no job for a pipeline, if there is anything else.
            let paths = match plan(&self.links, &route, &mut rng) {
                Ok(p) if (3..=FAR).contains(&p.hops) => p.path_count().min(enough),
                Ok(p) if p.hops == 2 => 1,
                _ => 0,
            };
            if best.is_none_or(|(most, _)| paths > most) {
                best = Some((paths, *source));
            }
            if paths == enough {
                break;
            }
        }
        best.map(|(_, n)| n).ok_or_else(|| CollectError::NoSource {
            testbed: self.testbed.name.clone(),
            sink: self.sink(),
        })
    }

    /// Source and sink, of all pairs at least three hops apart, with the most node-distinct paths,
    /// and of those the farthest apart; the testbed's sink where there is no such pair.
    fn best_ends(&self) -> Ends {
        let wanted = RouteRequest::new(0, 0).min_paths;
        let pair = (2..=wanted).rev().find_map(|min_paths| {
            let mut route = RouteRequest::new(0, 0);
            route.routing_channel = self.routing_channel;
            route.rule = self.rule;
            route.min_paths = min_paths;
            route.max_hops = FAR;
            let request = PairRequest {
                min_hops: 3,
                route,
                ..PairRequest::new(1)
            };
            let mut rng = stream(self.seed, "ends", &[min_paths as u64]);
            suggest_pairs(&self.links, &request, &mut rng)
                .first()
                .copied()
        });
        pair.map_or(self.ends, |p| Ends {
            sink: p.sink,
            source: Some(p.source),
        })
    }

    /// The planner's error in the testbed's names for nodes.
    fn named(&self, why: &PlanError) -> CollectError {
        let id = |n: &usize| self.name_of(*n);
        CollectError::Plan(match why {
            PlanError::Unreachable {
                source_node,
                sink,
                channel,
                reached,
                far,
                ..
            } => format!(
                "no route from node {} to node {} on channel {channel}: node {} reaches {reached} \
                 other nodes, at most {far} hops away",
                id(source_node),
                id(sink),
                id(source_node)
            ),
            PlanError::NoPath {
                hops,
                source_node,
                sink,
                shortest,
            } => format!(
                "no path of exactly {hops} hops from node {} to node {}: the shortest has \
                 {shortest}",
                id(source_node),
                id(sink)
            ),
            other => other.to_string(),
        })
    }
}

/// The pipeline's channels, counted back from the sink, and the one on which routes are sought:
/// 26 where it is among them, as in P3, else the one that links the network best.
fn choose_channels(
    links: &LinkQualities,
    rule: &LinkRule,
    wanted: Option<Vec<Channel>>,
) -> (Vec<Channel>, Channel) {
    let best = |count| best_channels(links, rule, count);
    let Some(list) = wanted else {
        let best = best(CLEAN_CHANNELS.len());
        let routing = best.first().copied().unwrap_or(Channel::LAST);
        return (best, routing);
    };
    let of_list = |c: &Channel| list.contains(c);
    let routing = if of_list(&Channel::LAST) {
        Channel::LAST
    } else {
        let by_support = best(Channel::COUNT).into_iter().find(of_list);
        by_support
            .or(list.first().copied())
            .unwrap_or(Channel::LAST)
    };
    (spread_order(&list, routing), routing)
}

/// P3's channels, where a site that is not measured has them all.
pub(super) fn clean_channels(testbed: &Testbed) -> Option<Vec<Channel>> {
    let clean: Vec<Channel> = CLEAN_CHANNELS
        .iter()
        .filter_map(|c| Channel::new(*c).ok())
        .collect();
    let all = clean.iter().all(|c| testbed.channels.contains(*c));
    (all && !matches!(testbed.physics, Physics::Measured(_))).then_some(clean)
}

pub(super) fn check_channels(
    testbed: &Testbed,
    channels: Option<&[Channel]>,
) -> Result<(), CollectError> {
    let wanted: ChannelSet = channels.unwrap_or_default().iter().copied().collect();
    match wanted.iter().find(|c| !testbed.channels.contains(*c)) {
        None => Ok(()),
        Some(channel) => Err(CollectError::Channel {
            testbed: testbed.name.clone(),
            channel,
            available: testbed
                .channels
                .iter()
                .map(|c| c.to_string())
                .collect::<Vec<_>>()
                .join(" "),
        }),
    }
}
