//! A network's measured links, with their age and the choices that hold for all routes over them. It plans the routes. Tests: `link_state/history_tests.rs`, `crates/simnet/src/collect/`.

mod channels;
mod given;
mod history;
mod place;
mod planned;
mod request;
mod sink;
mod source;

use channels::choose_channels;
use history::History;
pub use history::{hop_observations, HopObservation, PastSurvey, MAX_OBSERVATIONS, MAX_SURVEYS};
pub use planned::{Backups, Other, Pip, PlanSummary, Stage};

use crate::network::NetworkTime;
use crate::registry::Pipelined;
pub use crate::survey::CLEAN_CHANNELS;
use crate::transfer::pipeline::transfer;
pub use place::Place;
use rand_pcg::Pcg64Mcg;
use request::{longest, weaker};
pub use request::{packets, PlanRequest, PlanRequestError};
use thalweg_planner::{
    plan, reach, LastResort, LinkModel, LinkQualities, LinkRule, PathFault, Plan, PlanError,
    RouteRequest, Style,
};
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::route::{Scheme, MAX_MEMBERS};
use thalweg_wire::seal::frame::Sealing;

/// The longest route that is planned for an object, in hops: beyond, a wake-up's floods, which are
/// relayed a few times, no longer reach the source as a rule. A pipeline itself could be longer.
const LONGEST: usize = 10;

/// Draws the stream of random numbers of a purpose and ids under a seed.
pub type Draw = fn(u64, &str, &[u64]) -> Pcg64Mcg;

/// A network with its links, and the choices that hold for all its routes.
#[derive(Debug, Clone)]
pub struct LinkState {
    place: Place,
    links: LinkQualities,
    /// What they were fused from; empty where they were given.
    history: History,
    /// Their age when a plan is made; none where they were given.
    age: Option<Duration>,
    sink: usize,
    /// The channels that were requested.
    wanted: Option<Vec<Channel>>,
    /// Pipeline channels, counted back from the sink.
    channels: Vec<Channel>,
    routing_channel: Channel,
    rule: LinkRule,
    model: LinkModel,
    draw: Draw,
    seed: u64,
    last_resort: LastResort,
}

/// What may carry an object in a network that is secured, or open, as `sealing` says, where chains would lose much.
pub const fn last_resort(sealing: Sealing) -> LastResort {
    match sealing {
        Sealing::Open => LastResort::Any,
        Sealing::Sealed => LastResort::Hops,
    }
}

impl LinkState {
    /// `place` with the `links` that it has, and node `sink` to bring data to, with pipelines on `channels`;
    /// where none are named, on those that link the network best. `draw` and `seed` draw what is left to
    /// chance.
    pub fn new(
        place: Place,
        mut links: LinkQualities,
        sink: usize,
        channels: Option<Vec<Channel>>,
        (draw, seed): (Draw, u64),
    ) -> Self {
        // One id for each node: the table is this network's.
        let _ = links.set_ids(place.ids.iter().map(|id| id.get()).collect());
        let model = LinkModel::learned(&links, place.floor);
        let rule = RouteRequest::new(0, sink).trusting(model).rule;
        let wanted = channels.clone();
        let (channels, routing_channel) = choose_channels(&links, &rule, channels);
        Self {
            place,
            links,
            history: History::default(),
            age: None,
            sink,
            wanted,
            channels,
            routing_channel,
            rule,
            model,
            draw,
            seed,
            last_resort: LastResort::Any,
        }
    }

    /// The same in a network that is secured, or open, as `sealing` says: plans are made of what is sealed alone.
    #[must_use]
    pub const fn sealed(mut self, sealing: Sealing) -> Self {
        self.last_resort = last_resort(sealing);
        self
    }

    /// The same with `nodes` neither source nor relay; channels and link model stay those of all nodes.
    #[must_use]
    pub fn without(&self, nodes: &[NodeId]) -> Self {
        let index = |node: &NodeId| self.place.ids.iter().position(|id| id == node);
        let out: Vec<usize> = nodes.iter().filter_map(index).collect();
        Self {
            links: self.links.without(&out),
            ..self.clone()
        }
    }
    /// The same with data brought to node `sink`.
    ///
    /// # Errors
    /// [`PlanRequestError::UnknownNode`].
    pub fn towards(&self, sink: NodeId) -> Result<Self, PlanRequestError> {
        let sink = self.place.index_of(sink)?;
        Ok(Self {
            sink,
            ..self.clone()
        })
    }
    /// The same with its links as measured at `at`.
    #[must_use]
    pub fn measured_at(self, at: NetworkTime) -> Self {
        self.with_history(Vec::new(), at)
    }
    /// The same, its links measured at `at` and fused with the `earlier` surveys.
    #[must_use]
    pub fn with_history(self, earlier: Vec<PastSurvey>, at: NetworkTime) -> Self {
        let links = self.links.clone();
        let mut surveys = vec![PastSurvey { links, at }];
        surveys.extend(earlier);
        let history = History::of(surveys, self.place.floor);
        Self { history, ..self }.as_of(at)
    }
    /// The same with the observations of transfers in `before`.
    #[must_use]
    pub fn with_observations_of(mut self, before: &Self) -> Self {
        self.history.copy_observations(&before.history);
        self
    }
    /// Adds observations of transfers: each counts as if a survey had measured the hop then.
    pub fn observe(&mut self, hops: &[HopObservation]) {
        self.history.observe(hops);
    }
    /// The same for plans made at `now`: links and trust in them at their age by then.
    #[must_use]
    pub fn as_of(&self, now: NetworkTime) -> Self {
        let mut view = self.clone();
        view.age = self.history.age(now);
        if let Some(picture) = self.history.picture(now) {
            let rule = RouteRequest::new(0, self.sink).trusting(picture.model).rule;
            let wanted = self.wanted.clone();
            let (channels, routing) = choose_channels(&picture.links, &rule, wanted);
            (view.channels, view.routing_channel) = (channels, routing);
            (view.links, view.model, view.rule) = (picture.links, picture.model, rule);
        }
        view
    }
    /// The age of its links for plans; none where they were given.
    pub const fn age(&self) -> Option<Duration> {
        self.age
    }
    /// The seed that draws what is left to chance.
    pub const fn seed(&self) -> u64 {
        self.seed
    }
    /// Its nodes and radios.
    pub fn place(&self) -> &Place {
        &self.place
    }
    /// The links.
    pub fn links(&self) -> &LinkQualities {
        &self.links
    }
    /// Where data goes, by index.
    pub fn sink(&self) -> usize {
        self.sink
    }
    /// The channel on which routes are sought.
    pub fn routing_channel(&self) -> Channel {
        self.routing_channel
    }

    /// The planner's request for `request`, from a source.
    pub fn route_request(
        &self,
        source: usize,
        request: &PlanRequest,
        packets: u32,
    ) -> RouteRequest {
        let faithful = self.faithful_request(source, request, packets);
        request.protocol.request(&faithful)
    }

    /// The request of the published protocols.
    fn faithful_request(&self, source: usize, request: &PlanRequest, packets: u32) -> RouteRequest {
        let mut route = RouteRequest::new(source, self.sink).trusting(self.model);
        route.order = self.place.order;
        route.last_resort = self.last_resort;
        route.channels.clone_from(&self.channels);
        route.routing_channel = self.routing_channel;
        route.control = Some(self.place.control);
        route.measured = match &self.wanted {
            Some(list) => list.iter().copied().collect(),
            None => self.place.channels,
        };
        if self.wanted.is_none() {
            let others = self.links.channels().iter();
            let others = others.filter(|channel| !self.channels.contains(channel));
            route.other_channels = others.collect();
        }
        route.max_paths = request.paths.map(usize::from);
        route.hops = request.hops.map(usize::from);
        let (scheme, size) = (request.protocol.scheme, (packets, request.payload));
        let timing = self.place.timing.as_ref();
        route.transfer = transfer(route.transfer, scheme, size, timing);
        route.transfer.currents = self.place.currents;
        route
    }

    /// Plans the route of `request`.
    ///
    /// # Errors
    /// [`PlanRequestError`].
    pub fn plan(&self, request: &PlanRequest) -> Result<Plan, PlanRequestError> {
        self.plan_attempt(request, 0)
    }

    /// The same for attempt `attempt`, which draws other halves and other chains.
    pub fn plan_attempt(
        &self,
        request: &PlanRequest,
        attempt: u64,
    ) -> Result<Plan, PlanRequestError> {
        let source = match request.from {
            Some(node) => self.place.index_of(node)?,
            None => self.far_source(request)?,
        };
        if source == self.sink {
            return Err(PlanRequestError::SourceIsSink(self.place.name_of(source)));
        }
        let mut route = self.route_request(source, request, request.packets()?);
        route.detour = attempt as f64;
        let ids = [source as u64, self.sink as u64, attempt];
        let ids = if attempt == 0 { &ids[..2] } else { &ids[..] };
        let p = self
            .seek(route, ids)
            .map_err(|why| self.named(&why, request.protocol.scheme))?;
        let relays: usize = p.stages.iter().map(Vec::len).sum();
        if p.hops <= longest(p.style) && relays <= MAX_MEMBERS {
            return Ok(p);
        }
        if request.protocol.scheme == Scheme::Thalweg && p.style != Style::Hops {
            let hops = PlanRequest {
                from: Some(self.id(source)),
                protocol: Pipelined::HOP_BY_HOP,
                ..*request
            };
            return self.plan_attempt(&hops, attempt);
        }
        let (from, hops, longest) = (self.place.name_of(source), p.hops, longest(p.style));
        Err(PlanRequestError::TooLong {
            from,
            hops,
            relays,
            longest,
        })
    }

    /// The plan for `route`; `ids` draw what is left to chance. Where it is longer than a pipeline takes, the one of those
    /// that are not has the most paths.
    fn seek(&self, mut route: RouteRequest, ids: &[u64]) -> Result<Plan, PlanError> {
        let seek = |route: &RouteRequest| {
            let mut rng = (self.draw)(self.seed, "plan", ids);
            plan(&self.links, route, &mut rng)
        };
        let mut sought = seek(&route);
        if matches!(sought, Err(PlanError::TooFewChannels { .. })) {
            // One path needs fewer channels than two groups.
            route.max_paths = Some(1);
            sought = seek(&route);
        }
        let p = sought?;
        let longest = longest(p.style);
        if p.hops <= longest || route.hops.is_some() {
            return Ok(p);
        }
        let of_length = |hops: usize| {
            let hops = Some(hops);
            let shorter = seek(&RouteRequest {
                hops,
                ..route.clone()
            });
            shorter.ok().filter(|shorter| shorter.style == p.style)
        };
        let shorter = (p.shortest..=longest).filter_map(of_length);
        let best = shorter.max_by_key(|p| (p.path_count(), std::cmp::Reverse(p.hops)));
        Ok(best.unwrap_or(p))
    }

    fn id(&self, index: usize) -> NodeId {
        self.place.ids.get(index).copied().unwrap_or(NodeId::MAX)
    }

    /// The planner's error in the testbed's names for nodes.
    fn named(&self, why: &PlanError, scheme: Scheme) -> PlanRequestError {
        let id = |n: &usize| self.place.name_of(*n);
        PlanRequestError::Plan(match why {
            PlanError::Unreachable {
                source_node,
                sink,
                channel,
                reached,
                far,
                ..
            } => format!(
                "no route from node {} to node {} on channel {channel}: node {} {}{}",
                id(source_node),
                id(sink),
                id(source_node),
                reach(*reached, *far),
                weaker(scheme)
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
            PlanError::Path {
                path,
                why: PathFault::Shared(node),
            } => {
                let node = id(node);
                format!("path {path}: node {node} is there already; a node relays for one path, on one stage")
            }
            PlanError::SourceIsSink { node } => {
                format!(
                    "node {} is both source and sink; a route needs two nodes",
                    id(node)
                )
            }
            other => other.to_string(),
        })
    }
}
