//! The plan of a bulk transfer: paths, stages, groups, channels, prediction (P3, sections IV-C, IV-D).
//!
//! Route selection: for each link rule in turn, for H from the shortest length up, node-distinct paths
//! of exactly H hops are sought until there are N of them; else the best met is taken, with a
//! warning. Invariants: no node is on two stages; stages 1..H-1 are never empty; there is a channel
//! for each stage 0..=H. Same links, request and generator: same plan. Tests: tests/plans.rs.

use crate::channels::{self, Assignment, REUSE_DISTANCE};
use crate::groups::{random_halves, Draft, Group, Member};
use crate::links::LinkQualities;
use crate::paths::{self, PathSet, Quest};
use crate::predict::{predict, Feed, Patience, Prediction};
use crate::request::{Diversity, Grouping, LastStage, PipChoice, RouteRequest};
use crate::topology::{LinkRule, Topology};
use rand::Rng;
use serde::{Serialize, Serializer};
use thalweg_units::Channel;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A node that is not in the table.
    #[error("node {node} is not one of the {nodes} nodes (0 to {last})", last = nodes.saturating_sub(1))]
    UnknownNode {
        /// The node named.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// Source and sink are the same.
    #[error("node {node} is both source and sink; a route needs two nodes")]
    SourceIsSink {
        /// The node named twice.
        node: usize,
    },
    /// Nothing was received on the routing channel.
    #[error("no link was measured on routing channel {channel} (channels with data: {measured})")]
    NoData {
        /// The routing channel.
        channel: Channel,
        /// The channels with data, as a list.
        measured: String,
    },
    /// No chain of links leads from source to sink.
    #[error("no route from node {source_node} to node {sink} on channel {channel}: node {source_node} reaches {reached} other nodes, at most {far} hops away, with {rule}")]
    Unreachable {
        /// The source.
        source_node: usize,
        /// The sink.
        sink: usize,
        /// The routing channel.
        channel: Channel,
        /// How many other nodes the source reaches.
        reached: usize,
        /// Hops to the farthest of them.
        far: usize,
        /// The weakest rule tried.
        rule: LinkRule,
    },
    /// Source and sink are linked, but not by paths of the length asked for.
    #[error("no path of exactly {hops} hops from node {source_node} to node {sink}: the shortest has {shortest}")]
    NoPath {
        /// The length asked for.
        hops: usize,
        /// The source.
        source_node: usize,
        /// The sink.
        sink: usize,
        /// The shortest length.
        shortest: usize,
    },
    /// Fewer channels than stages that must differ.
    #[error("{given} channel(s) given; a route of {hops} hops needs {needed} different ones")]
    TooFewChannels {
        /// Different channels given.
        given: usize,
        /// Channels needed.
        needed: usize,
        /// Hops of the route.
        hops: usize,
    },
    /// A channel is listed twice.
    #[error("channel {channel} is listed twice")]
    RepeatedChannel {
        /// The channel.
        channel: Channel,
    },
}

/// What to know about a plan before trusting it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// Fewer paths than wanted.
    FewPaths {
        /// Paths found.
        found: usize,
        /// Paths wanted, N.
        wanted: usize,
    },
    /// A weaker link rule than the one asked for was needed.
    WeakerRule,
    /// There are relays of one group only: the source sends in every other cycle, as in PIP.
    OneGroup,
    /// A group is unlikely to deliver at all.
    DeadGroup {
        /// The group.
        group: Group,
        /// Its predicted delivery.
        delivery: f64,
    },
    /// No link was measured on a channel that the plan uses.
    UnmeasuredChannel {
        /// Its number.
        channel: u8,
    },
    /// Too few channels were measured to choose among; the list counted back was taken.
    NoChoiceOfChannels,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FewPaths { found, wanted } => {
                write!(f, "only {found} of {wanted} node-distinct paths found")
            }
            Self::WeakerRule => f.write_str("routes needed a weaker link rule than asked for"),
            Self::OneGroup => {
                f.write_str("one group of relays only: the source sends in every other cycle")
            }
            Self::DeadGroup { group, delivery } => {
                let group = if *group == Group::Odd { "odd" } else { "even" };
                write!(
                    f,
                    "the {group} group is expected to deliver only {:.0} %",
                    delivery * 100.0
                )
            }
            Self::UnmeasuredChannel { channel } => {
                write!(f, "no link was measured on channel {channel}")
            }
            Self::NoChoiceOfChannels => {
                f.write_str("too few channels measured to choose among; took the list as given")
            }
        }
    }
}

/// PIP's route: one of the paths, the same channels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipPlan {
    /// The nodes, source and sink included.
    pub path: Vec<usize>,
    /// What to expect.
    pub prediction: Prediction,
}

/// Everything that the nodes of a transfer need to know, and what to expect of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The node that has the data.
    pub source: usize,
    /// The node that wants it.
    pub sink: usize,
    /// H.
    pub hops: usize,
    /// Hops of a shortest path under the rule used.
    pub shortest: usize,
    /// Node-distinct paths of H hops, source and sink included.
    pub paths: Vec<Vec<usize>>,
    /// No search could have found more paths than this.
    pub path_bound: usize,
    /// Relays of stages 1..=H-1 (stage k is `stages[k - 1]`).
    pub stages: Vec<Vec<Member>>,
    /// Reception channel of stages 0..=H.
    #[serde(serialize_with = "numbers")]
    pub channels: Vec<Channel>,
    /// The channel on which the route was sought.
    #[serde(serialize_with = "number")]
    pub routing_channel: Channel,
    /// Whether the source sends in every cycle.
    pub feed: Feed,
    /// The link rule under which the paths were found.
    pub rule_used: LinkRule,
    /// What to know before trusting it.
    pub warnings: Vec<Warning>,
    /// What to expect of P3.
    pub prediction: Prediction,
    /// The same pair with PIP.
    pub pip: PipPlan,
}

fn numbers<S: Serializer>(channels: &[Channel], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(channels.iter().map(|c| c.number()))
}
fn number<S: Serializer>(channel: &Channel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(channel.number())
}

impl Plan {
    /// Every node that takes part, with its stage (0 is the source, H the sink), stage by stage.
    pub fn active_nodes(&self) -> Vec<(usize, usize)> {
        let relays = (self.stages.iter().enumerate())
            .flat_map(|(at, stage)| stage.iter().map(move |member| (member.node, at + 1)));
        std::iter::once((self.source, 0))
            .chain(relays)
            .chain(std::iter::once((self.sink, self.hops)))
            .collect()
    }
    /// The group's relays of stage `stage` (1..H).
    pub fn relays(&self, stage: usize, group: Group) -> impl Iterator<Item = usize> + '_ {
        let stage = stage.checked_sub(1).and_then(|at| self.stages.get(at));
        stage
            .into_iter()
            .flatten()
            .filter(move |m| m.group == group)
            .map(|m| m.node)
    }
    /// M, the number of node-distinct paths.
    pub fn path_count(&self) -> usize {
        self.paths.len()
    }
}

/// A set of paths and how it came about.
struct Route {
    set: PathSet,
    hops: usize,
    shortest: usize,
    rule: LinkRule,
    topology: Topology,
    weaker: bool,
}

/// Plans a transfer.
///
/// # Errors
/// [`PlanError`] where the request names nodes or channels that will not do, or no route exists.
pub fn plan(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    check(links, request)?;
    let mut route = route(links, request, rng)?;
    if let Some(most) = request.max_paths {
        keep_best(
            &mut route.set.paths,
            most.max(1),
            links,
            request.routing_channel,
        );
    }
    let (hops, paths) = (route.hops, route.set.paths);
    let mut warnings = Vec::new();
    if route.weaker {
        warnings.push(Warning::WeakerRule);
    }
    if paths.len() < request.min_paths {
        warnings.push(Warning::FewPaths {
            found: paths.len(),
            wanted: request.min_paths,
        });
    }

    let halves = random_halves(paths.len(), rng);
    let stages = (1..hops)
        .map(|stage| {
            let members = paths.iter().zip(&halves).enumerate();
            members
                .map(|(at, (path, &group))| Member {
                    node: path[stage],
                    group,
                    path: Some(at),
                })
                .collect()
        })
        .collect();
    let mut draft = Draft {
        links,
        source: request.source,
        sink: request.sink,
        stages,
    };
    if let Diversity::FillTo(least) = request.diversity {
        draft.fill_to(&route.topology, least);
    }
    let channels = assign(&mut draft, request, hops, paths.len(), &mut warnings)?;
    if request.last_stage == LastStage::Best {
        draft.thin_last_stage(&channels);
    }
    for channel in &channels {
        let unmeasured = Warning::UnmeasuredChannel {
            channel: channel.number(),
        };
        if !links.channels().contains(*channel) && !warnings.contains(&unmeasured) {
            warnings.push(unmeasured);
        }
    }

    let groups = draft.groups();
    let feed = if groups.len() == 2 || hops == 1 {
        Feed::EveryCycle
    } else {
        Feed::AlternateCycles
    };
    let prediction = predict(
        links,
        &groups,
        &channels,
        feed,
        Patience::Endless,
        &request.transfer,
    );
    if feed == Feed::AlternateCycles {
        warnings.push(Warning::OneGroup);
    } else if hops > 1 {
        for (&group, &delivery) in Group::BOTH.iter().zip(&prediction.group_delivery) {
            if delivery < 0.2 {
                warnings.push(Warning::DeadGroup { group, delivery });
            }
        }
    }
    let pip = pip(links, request, &paths, &channels, rng);
    Ok(Plan {
        source: request.source,
        sink: request.sink,
        hops,
        shortest: route.shortest,
        paths,
        path_bound: route.set.upper_bound,
        stages: draft.stages,
        channels,
        routing_channel: request.routing_channel,
        feed,
        rule_used: route.rule,
        warnings,
        prediction,
        pip,
    })
}

fn check(links: &LinkQualities, request: &RouteRequest) -> Result<(), PlanError> {
    for node in [request.source, request.sink] {
        if node >= links.nodes() {
            return Err(PlanError::UnknownNode {
                node,
                nodes: links.nodes(),
            });
        }
    }
    if request.source == request.sink {
        return Err(PlanError::SourceIsSink {
            node: request.source,
        });
    }
    for (at, &channel) in request.channels.iter().enumerate() {
        if request.channels[..at].contains(&channel) {
            return Err(PlanError::RepeatedChannel { channel });
        }
    }
    if !links.channels().contains(request.routing_channel) {
        let measured: Vec<String> = links.channels().iter().map(|c| c.to_string()).collect();
        let measured = if measured.is_empty() {
            "none".into()
        } else {
            measured.join(" ")
        };
        return Err(PlanError::NoData {
            channel: request.routing_channel,
            measured,
        });
    }
    Ok(())
}

/// The first route, by rule and then by length, that has enough paths; else the one with most.
fn route(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Route, PlanError> {
    let (source, sink, channel) = (request.source, request.sink, request.routing_channel);
    let wanted = request.min_paths.max(1);
    let mut best: Option<Route> = None;
    let mut failure = None;
    for (rank, rule) in std::iter::once(&request.rule)
        .chain(&request.fallback)
        .enumerate()
    {
        let topology = Topology::new(links, channel, rule);
        let (from, to) = (topology.hops_from(source), topology.hops_from(sink));
        let Some(shortest) = from[sink] else {
            let reached = from.iter().flatten().filter(|&&hops| hops > 0);
            failure = Some(PlanError::Unreachable {
                source_node: source,
                sink,
                channel,
                reached: reached.clone().count(),
                far: reached.max().copied().unwrap_or(0),
                rule: *rule,
            });
            continue;
        };
        let ordered = paths::ordered_neighbours(
            &topology,
            links,
            channel,
            (source, sink),
            request.order,
            rng,
        );
        let lengths = match request.hops {
            Some(hops) => hops..=hops,
            None => shortest..=request.max_hops.max(shortest + 3),
        };
        failure = Some(PlanError::NoPath {
            hops: *lengths.start(),
            source_node: source,
            sink,
            shortest,
        });
        for hops in lengths {
            let quest = Quest {
                topology: &topology,
                source,
                sink,
                hops,
                from: &from,
                to: &to,
            };
            let set = paths::find(&quest, &ordered, request.search, rng);
            let found = set.paths.len();
            if found > best.as_ref().map_or(0, |best| best.set.paths.len()) {
                let (rule, topology) = (*rule, topology.clone());
                best = Some(Route {
                    set,
                    hops,
                    shortest,
                    rule,
                    topology,
                    weaker: rank > 0,
                });
            }
            if found >= wanted {
                break;
            }
        }
        if best
            .as_ref()
            .is_some_and(|best| best.set.paths.len() >= wanted)
        {
            break;
        }
    }
    best.ok_or_else(|| {
        failure.unwrap_or(PlanError::NoPath {
            hops: 0,
            source_node: source,
            sink,
            shortest: 0,
        })
    })
}

/// Keeps the `most` paths whose weakest link is best, in the order they were in.
fn keep_best(paths: &mut Vec<Vec<usize>>, most: usize, links: &LinkQualities, channel: Channel) {
    let weakest = |path: &[usize]| {
        let mut least = (1.0f64, f64::INFINITY);
        for hop in path.windows(2) {
            for (a, b) in [(hop[0], hop[1]), (hop[1], hop[0])] {
                if let Some(quality) = links.quality(a, b, channel) {
                    least.0 = least.0.min(quality.prr);
                    least.1 = least.1.min(quality.rssi.map_or(f64::INFINITY, |r| r.0));
                }
            }
        }
        least
    };
    let mut ranked: Vec<usize> = (0..paths.len()).collect();
    ranked.sort_by(|&a, &b| {
        let (a, b) = (weakest(&paths[a]), weakest(&paths[b]));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let keep = &ranked[..most.min(ranked.len())];
    let mut at = 0..;
    paths.retain(|_| at.next().is_some_and(|at| keep.contains(&at)));
}

/// Gives stages their channels and, if asked to, relays their groups to suit.
fn assign(
    draft: &mut Draft<'_>,
    request: &RouteRequest,
    hops: usize,
    paths: usize,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Channel>, PlanError> {
    let balanced = request.grouping == Grouping::Balanced;
    if request.assignment == Assignment::Best {
        let measured: Vec<Channel> = draft.links.channels().iter().collect();
        let mut chosen = None;
        // Channels and groups depend on each other: twice round settles them.
        for _ in 0..if balanced { 2 } else { 1 } {
            let worth = |stage, channel| draft.channel_worth(stage, channel);
            chosen = channels::best(&measured, hops, worth);
            if let (Some(channels), true) = (&chosen, balanced) {
                draft.balance(paths, channels);
            }
        }
        match chosen {
            Some(channels) => return Ok(channels),
            None => warnings.push(Warning::NoChoiceOfChannels),
        }
    }
    let needed = hops.min(REUSE_DISTANCE);
    if request.channels.len() < needed {
        return Err(PlanError::TooFewChannels {
            given: request.channels.len(),
            needed,
            hops,
        });
    }
    let channels = channels::counted_back(&request.channels, hops);
    if balanced {
        draft.balance(paths, &channels);
    }
    Ok(channels)
}

fn pip(
    links: &LinkQualities,
    request: &RouteRequest,
    paths: &[Vec<usize>],
    channels: &[Channel],
    rng: &mut impl Rng,
) -> PipPlan {
    let patience = Patience::Tries(request.transfer.pip_tries);
    let on = |path: &[usize]| {
        let stages = [path.iter().map(|&node| vec![node]).collect()];
        let (feed, transfer) = (Feed::AlternateCycles, &request.transfer);
        let prediction = predict(links, &stages, channels, feed, patience, transfer);
        PipPlan {
            path: path.to_vec(),
            prediction,
        }
    };
    // Drawn in any case, so that the choice shifts nothing else.
    let chosen = rng.random_range(0..paths.len().max(1));
    let mut pip = on(&paths[chosen]);
    if request.pip == PipChoice::Best {
        let worth = |plan: &PipPlan| plan.prediction.completion * plan.prediction.goodput_kbps;
        for path in paths {
            let other = on(path);
            if worth(&other) > worth(&pip) {
                pip = other;
            }
        }
    }
    pip
}
