//! The state of a network's links before a transfer, with the choices that hold for all its routes. Routes are planned
//! here. Tests: `link_state/history_tests.rs`, `crates/simnet/src/collect/`.

mod channels;
mod given;
mod history;
mod planned;
mod source;

use channels::choose_channels;
use history::History;
pub use history::{hop_observations, HopObservation, PastSurvey, MAX_OBSERVATIONS, MAX_SURVEYS};
pub use planned::{Backups, Other, Pip, PlanSummary, Stage};

use crate::network::NetworkTime;
use crate::registry::Pipelined;
use crate::segments::LARGEST;
pub use crate::survey::CLEAN_CHANNELS;
use crate::transfer::pipeline::transfer;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use thalweg_engine::BoardTiming;
use thalweg_planner::{
    plan, Currents, LastResort, LinkModel, LinkQualities, LinkRule, PathFault, Plan, PlanError,
    RelayOrder, RouteRequest, Style,
};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, Named, NodeId};
use thalweg_wire::hop;
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::{PayloadSize, Scheme, MAX_MEMBERS};
use thalweg_wire::seal::frame::Sealing;

/// The longest route that is planned for an object, in hops: beyond, a wake-up's floods, which are
/// relayed a few times, no longer reach the source as a rule. A pipeline itself could be longer.
const LONGEST: usize = 10;

/// Why a request is refused, or cannot be planned. Nodes have the network's names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanRequestError {
    /// A node that the network does not have.
    #[error("{network}: has no node {node} (its lowest is {first}, its highest {last})")]
    UnknownNode {
        /// The network.
        network: String,
        /// The node named.
        node: NodeId,
        /// The network's first node.
        first: NodeId,
        /// Its last.
        last: NodeId,
    },
    /// Source and sink are the same.
    #[error("node {0} is both source and sink; an object travels between two nodes")]
    SourceIsSink(String),
    /// A channel that the network does not offer.
    #[error("{network}: channel {channel} is not available (available: {available})")]
    Channel {
        /// The network.
        network: String,
        /// The channel named.
        channel: Channel,
        /// Those it has.
        available: String,
    },
    /// The object makes too many packets.
    #[error("an object of {bytes} bytes; in packets of {payload} B at most {} can be sent so", u64::from(*.max) * u64::from(*.payload))]
    TooLarge {
        /// Bytes of the object.
        bytes: u64,
        /// Bytes of a packet.
        payload: u8,
        /// The most packets.
        max: u32,
    },
    /// The object is larger than what is taken of a node.
    #[error("an object of {bytes} bytes; at most {LARGEST} are taken")]
    Oversized {
        /// Bytes of the object.
        bytes: u64,
    },
    /// The object has no byte.
    #[error("the object is empty; there is nothing to send")]
    Empty,
    /// No node has a route to the sink.
    #[error("{network}: no node is linked to node {sink}: {heard}")]
    NoSource {
        /// The network.
        network: String,
        /// The sink.
        sink: String,
        /// What the sink hears, and who hears it.
        heard: String,
    },
    /// The route is longer, or has more relays, than a wake-up message holds.
    #[error("the route from node {from} has {hops} hops and {relays} relays; a transfer takes at most {longest} and {MAX_MEMBERS}{}", longer(*longest))]
    TooLong {
        /// The source.
        from: String,
        /// Its hops.
        hops: usize,
        /// Its relays.
        relays: usize,
        /// The most hops.
        longest: usize,
    },
    /// There is no route.
    #[error("{0}")]
    Plan(String),
}

impl PlanRequestError {
    /// Whether there may be a plan over other links.
    pub const fn is_of_links(&self) -> bool {
        matches!(
            self,
            Self::Plan(_) | Self::NoSource { .. } | Self::TooLong { .. }
        )
    }
}

/// The nodes of a network, and what its radios offer.
#[derive(Debug, Clone)]
pub struct Place {
    /// The network's name.
    pub name: String,
    /// Its nodes, by index.
    pub ids: Vec<NodeId>,
    /// What they are called beside their numbers, where they have names.
    pub labels: BTreeMap<NodeId, String>,
    /// The channels that it offers.
    pub channels: ChannelSet,
    /// Which relay a search of paths tries first: by places, where they are known.
    pub order: RelayOrder,
    /// The noise floor of its radios.
    pub floor: Dbm,
    /// The channel of floods and calls.
    pub control: Channel,
    /// The costs of its boards; those of P3's code where they are not known.
    pub timing: Option<BoardTiming>,
    /// What its boards draw.
    pub currents: Currents,
}

impl Place {
    /// The index of `node`.
    ///
    /// # Errors
    /// [`PlanRequestError::UnknownNode`].
    pub fn index_of(&self, node: NodeId) -> Result<usize, PlanRequestError> {
        let view = self.ids.iter().position(|id| *id == node);
        view.ok_or_else(|| PlanRequestError::UnknownNode {
            network: self.name.clone(),
            node,
            first: self.ids.iter().min().copied().unwrap_or(node),
            last: self.ids.iter().max().copied().unwrap_or(node),
        })
    }
    /// Whether all of `channels` are there.
    ///
    /// # Errors
    /// [`PlanRequestError::Channel`].
    pub fn check_channels(&self, channels: Option<&[Channel]>) -> Result<(), PlanRequestError> {
        let wanted: ChannelSet = channels.unwrap_or_default().iter().copied().collect();
        match wanted.iter().find(|c| !self.channels.contains(*c)) {
            None => Ok(()),
            Some(channel) => Err(PlanRequestError::Channel {
                network: self.name.clone(),
                channel,
                available: (self.channels.iter().map(|c| c.to_string()))
                    .collect::<Vec<_>>()
                    .join(" "),
            }),
        }
    }
    /// A node's name, for texts and pictures.
    pub fn name_of(&self, index: usize) -> String {
        let id = self.ids.get(index);
        id.map_or_else(|| index.to_string(), |id| self.named(*id))
    }
    /// Node `id` for people.
    pub fn named(&self, id: NodeId) -> String {
        let label = self.labels.get(&id).map(String::as_str);
        Named { id, label }.to_string()
    }
}

/// A request to the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanRequest {
    /// The source; the planner picks a far node where none is named.
    pub from: Option<NodeId>,
    /// Bytes of the object.
    pub bytes: u64,
    /// The protocol, and with it the kind of plan.
    pub protocol: Pipelined,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// At most this many paths.
    pub paths: Option<u8>,
    /// Exactly this many hops.
    pub hops: Option<u8>,
}

impl PlanRequest {
    /// Packets of the object, over all its segments.
    ///
    /// # Errors
    /// [`PlanRequestError::Empty`], [`PlanRequestError::Oversized`].
    pub fn packets(&self) -> Result<u32, PlanRequestError> {
        let bytes = self.bytes;
        if bytes > u64::from(LARGEST) {
            return Err(PlanRequestError::Oversized { bytes });
        }
        packets(self.bytes, self.payload.bytes(), u32::MAX)
    }
    /// The most bytes of one transfer: a longer object goes in segments. Never above what the baseline's frames hold.
    pub fn segment_bytes(&self) -> u32 {
        u32::from(MAX_PACKETS) * u32::from(self.payload.bytes())
    }
}

/// Packets of `payload` bytes that `bytes` bytes make, of at most `max`.
///
/// # Errors
/// [`PlanRequestError::Empty`], [`PlanRequestError::TooLarge`].
pub fn packets(bytes: u64, payload: u8, max: u32) -> Result<u32, PlanRequestError> {
    let packets = bytes.div_ceil(u64::from(payload.max(1)));
    match u32::try_from(packets) {
        Ok(0) => Err(PlanRequestError::Empty),
        Ok(n) if n <= max => Ok(n),
        _ => Err(PlanRequestError::TooLarge {
            bytes,
            payload,
            max,
        }),
    }
}

/// The longest route of a style, in hops.
fn longest(style: Style) -> usize {
    match style {
        Style::Hops => usize::from(hop::MAX_HOPS),
        Style::Paths | Style::Chains => LONGEST,
    }
}

/// What takes longer routes, where that is not what was asked.
fn longer(longest: usize) -> String {
    match longest {
        LONGEST => format!("; `thalweg` and `hop-by-hop` take {} hops", hop::MAX_HOPS),
        _ => String::new(),
    }
}

/// What takes weaker links, where that is not what was asked.
const fn weaker(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Thalweg | Scheme::HopByHop => "",
        _ => "; `thalweg` and `hop-by-hop` take weaker links too",
    }
}

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
        let history = History::of(surveys);
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
        if let Some(picture) = self.history.picture(now, self.place.floor) {
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
                "no route from node {} to node {} on channel {channel}: node {} reaches {reached} \
                 other nodes, at most {far} hops away{}",
                id(source_node),
                id(sink),
                id(source_node),
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
