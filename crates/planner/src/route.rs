//! Route selection (P3, sections IV-C and IV-D): from links and a request to a plan.
//!
//! For each link rule in turn and for H from the shortest length up, node-distinct paths of exactly
//! H hops are sought until there are N of them; else the most that were met are taken, with a warning.
//! Then groups, extra relays, channels, speakers of the last stage, prediction. The generator is drawn
//! from in a fixed order: same links, request and generator, same plan. Tests: tests/plans.rs.

use crate::backups;
use crate::chains::{self, Chains};
use crate::channels::{self, Assignment, REUSE_DISTANCE};
use crate::evidence::{Basis, Evidence};
use crate::groups::{random_halves, Draft, Group, Member};
use crate::interference::Layout;
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::pairs::best_channels;
use crate::paths::{self, PathSet, Quest};
use crate::plan::{PipPlan, Plan, PlanError, Warning};
use crate::predict::{predict, Feed, Patience};
use crate::request::{
    Backups, Diversity, Grouping, LastStage, PipChoice, RouteRequest, Style, Transfer,
};
use crate::topology::{LinkRule, Topology};
use rand::Rng;
use std::ops::RangeInclusive;
use std::sync::Arc;
use thalweg_units::{Channel, ChannelSet};

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
    if request.style == Style::Chains {
        let chained = chained(links, request, &Evidence::default(), |expected, chains| {
            let (paths, channels) = (chains.paths(), &chains.channels);
            pip(expected, request, &paths, channels, rng)
        });
        if let Some(mut plan) = chained {
            if request.backups == Backups::Relays {
                // Where lean chains fail again and again, many paths may do.
                plan.others.extend(over_paths(links, request, rng));
                let (links, request) = (links.clone(), request.clone());
                plan.basis = Some(Arc::new(Basis { links, request }));
            }
            return Ok(plan);
        }
    }
    over_paths(links, request, rng)
}

/// A plan of node-distinct paths.
fn over_paths(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    let mut route = route(links, request, rng)?;
    if let Some(most) = request.max_paths {
        let channel = request.routing_channel;
        keep_best(&mut route.set.paths, most.max(1), links, channel);
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
    let members = |stage: usize| {
        let members = paths.iter().zip(&halves).enumerate();
        let member = |(at, (path, &group)): (usize, (&Vec<usize>, &Group))| Member {
            node: path[stage],
            group,
            path: Some(at),
        };
        members.map(member).collect()
    };
    let measured = links.channels();
    let expected = Expected::new(links, measured, &request.model);
    let mut draft = Draft {
        expected: &expected,
        source: request.source,
        sink: request.sink,
        stages: (1..hops).map(members).collect(),
    };
    if let Diversity::FillTo(least) = request.diversity {
        draft.fill_to(&route.topology, least);
    }
    let size = (hops, paths.len());
    let channels = assign(&mut draft, request, measured, size, &mut warnings)?;
    if request.last_stage == LastStage::Best {
        draft.thin_last_stage(&channels);
    }
    for channel in &channels {
        let unmeasured = Warning::UnmeasuredChannel {
            channel: channel.number(),
        };
        if !measured.contains(*channel) && !warnings.contains(&unmeasured) {
            warnings.push(unmeasured);
        }
    }

    let groups = draft.groups();
    let feed = chains::feed(groups.len(), hops);
    let prediction = chains::judged(&expected, &groups, channels[..].into(), &request.transfer);
    if feed == Feed::AlternateCycles {
        warnings.push(Warning::OneGroup);
    } else if hops > 1 {
        for (&group, &delivery) in Group::BOTH.iter().zip(&prediction.group_delivery) {
            if delivery < 0.2 {
                warnings.push(Warning::DeadGroup { group, delivery });
            }
        }
    }
    let pip = pip(&expected, request, &paths, &channels, rng);
    Ok(Plan {
        source: request.source,
        sink: request.sink,
        hops,
        packets: request.transfer.packets,
        shortest: route.shortest,
        paths,
        path_bound: route.set.upper_bound,
        stages: draft.stages,
        channels,
        last_even: None,
        routing_channel: request.routing_channel,
        feed,
        rule_used: route.rule,
        warnings,
        prediction,
        pip,
        backup_relays: Vec::new(),
        alternates: Vec::new(),
        others: Vec::new(),
        basis: None,
    })
}

/// What a loss on the way back costs against one on the way forth: NACKs are few, and go twice.
const BACK: f64 = 0.1;
/// The same where links may have changed: a transfer whose way back is dead ends.
const BACK_OF_STANDING: f64 = 0.4;

impl Plan {
    /// Lean chains between the same two nodes, after what was seen of links since this plan was made; none where there are
    /// none, or this plan is not of lean chains with backups.
    pub fn anew(&self, seen: &Evidence) -> Option<Self> {
        let Basis { links, request } = self.basis.as_deref()?;
        chained(links, request, seen, |_, _| self.pip.clone())
    }
}

/// Chains are sought for every order of their channels, which are too many of more channels than so many.
const MOST_CHANNELS: usize = 5;

/// The measured channels of `request`; the best of them where they are more than [`MOST_CHANNELS`].
fn to_give_out(links: &LinkQualities, request: &RouteRequest) -> Vec<Channel> {
    let measured = links.channels();
    let wanted = |channel: &Channel| request.channels.contains(channel);
    let channels = request.channels.iter().copied();
    let channels: Vec<Channel> = channels.filter(|&on| measured.contains(on)).collect();
    if channels.len() <= MOST_CHANNELS {
        return channels;
    }
    let best = best_channels(links, &request.rule, Channel::COUNT);
    best.into_iter()
        .filter(wanted)
        .take(MOST_CHANNELS)
        .collect()
}

/// A plan of two lean chains, or of one where no more paths are allowed; none where what was measured
/// allows none.
fn chained(
    links: &LinkQualities,
    request: &RouteRequest,
    seen: &Evidence,
    pip: impl FnOnce(&Expected, &Chains) -> PipPlan,
) -> Option<Plan> {
    let channels = to_give_out(links, request);
    let set: ChannelSet = channels.iter().copied().collect();
    let expected = seen.expected(links, set, request);
    let hops = match request.hops {
        Some(hops) => hops..=hops,
        None => 1..=request.max_hops,
    };
    let quest = chains::Quest {
        expected: &expected,
        source: request.source,
        sink: request.sink,
        hops,
        channels: &channels,
        count: match request.max_paths {
            Some(0 | 1) => chains::Count::One,
            _ => chains::Count::Two,
        },
        transfer: &request.transfer,
        back: match request.backups {
            Backups::None => BACK,
            Backups::Relays => BACK_OF_STANDING,
        },
    };
    let mut chains = quest.best()?;
    if request.backups == Backups::Relays {
        quest.part_ends(&mut chains);
    }
    let hops = chains.hops();
    let paths = chains.paths();
    // Relays beside a chain's own mend what is known to be thin. Where links are less trusted, all would be.
    let groups = match *seen == Evidence::default() {
        true => quest.thickened(&chains),
        false => chains.stages(),
    };
    let members = |stage: usize| -> Vec<Member> {
        let own = |group: usize| paths.get(group).and_then(|path| path.get(stage));
        let each = groups.iter().zip(Group::BOTH).enumerate();
        each.flat_map(|(at, (stages, group))| {
            stages[stage].iter().map(move |&node| Member {
                node,
                group,
                path: (own(at) == Some(&node)).then_some(at),
            })
        })
        .collect()
    };
    let feed = chains::feed(groups.len(), hops);
    let warnings = match feed {
        Feed::EveryCycle => Vec::new(),
        Feed::AlternateCycles => vec![Warning::OneGroup],
    };
    let prediction = chains::judged(&expected, &groups, chains.tuned(), &request.transfer);
    let pip = pip(&expected, &chains);
    let stages: Vec<Vec<Member>> = (1..hops).map(members).collect();
    let ends = (request.source, request.sink);
    let backup_relays = match request.backups {
        Backups::None => Vec::new(),
        Backups::Relays => backups::backup_relays(&expected, ends, &stages, chains.tuned()),
    };
    let plan = Plan {
        source: request.source,
        sink: request.sink,
        hops,
        packets: request.transfer.packets,
        shortest: hops,
        path_bound: paths.len(),
        paths,
        stages,
        channels: chains.channels,
        last_even: chains.last_even,
        routing_channel: request.routing_channel,
        feed,
        rule_used: request.rule,
        warnings,
        prediction,
        pip,
        backup_relays,
        alternates: Vec::new(),
        others: Vec::new(),
        basis: None,
    };
    if request.backups == Backups::None {
        return Some(plan);
    }
    let alternates = alternates(&quest, &plan);
    let count = |backups: &[Vec<Member>]| backups.iter().map(Vec::len).sum();
    let (stand, alternate) = (count(&plan.backup_relays), count(&alternates));
    let named = plan.active_nodes().len() + stand + alternate;
    let cycle = &request.transfer.cycle;
    let told = Transfer {
        wake_up: cycle.short_wake_up(hops as u64, named, links.nodes()),
        ..request.transfer
    };
    let prediction = chains::judged(&expected, &groups, plan.tuned(), &told);
    let prediction = prediction.with_backups((stand, alternate), &told);
    Some(Plan {
        alternates,
        prediction,
        ..plan
    })
}

/// Another chain for each group of `plan`, where there is one.
fn alternates(quest: &chains::Quest<'_>, plan: &Plan) -> Vec<Vec<Member>> {
    let mut alternates = vec![Vec::new(); plan.stages.len()];
    let mut taken: Vec<usize> = plan.active_nodes().into_iter().map(|(n, _)| n).collect();
    taken.extend(
        plan.backup_relays
            .iter()
            .flatten()
            .map(|member| member.node),
    );
    for (number, group) in Group::BOTH.into_iter().enumerate() {
        let channels = (0..=plan.hops).filter_map(|stage| plan.tuned().of(number, stage));
        let channels: Vec<Channel> = channels.collect();
        let chain = quest.another(&channels, &taken).unwrap_or_default();
        taken.extend(&chain);
        for (stage, &node) in alternates.iter_mut().zip(chain.iter().skip(1)) {
            stage.push(Member {
                node,
                group,
                path: None,
            });
        }
    }
    alternates
}

fn check(links: &LinkQualities, request: &RouteRequest) -> Result<(), PlanError> {
    let (nodes, node) = (links.nodes(), request.source);
    if let Some(node) = [node, request.sink].into_iter().find(|n| *n >= nodes) {
        return Err(PlanError::UnknownNode { node, nodes });
    }
    if node == request.sink {
        return Err(PlanError::SourceIsSink { node });
    }
    for (at, &channel) in request.channels.iter().enumerate() {
        if request.channels[..at].contains(&channel) {
            return Err(PlanError::RepeatedChannel { channel });
        }
    }
    let channel = request.routing_channel;
    if !links.channels().contains(channel) {
        let measured: Vec<String> = links.channels().iter().map(|c| c.to_string()).collect();
        let measured = match measured[..] {
            [] => "none".into(),
            _ => measured.join(" "),
        };
        return Err(PlanError::NoData { channel, measured });
    }
    Ok(())
}

/// The lengths at which paths are sought, in hops, where a shortest path has `shortest`.
fn lengths(request: &RouteRequest, shortest: usize) -> RangeInclusive<usize> {
    match request.hops {
        Some(hops) => hops..=hops,
        None => shortest..=request.max_hops.max(shortest + 3),
    }
}

/// How many node-distinct paths [`plan`] has to choose from for `request` in `topology`, counted up to its N, and their
/// hops; none where there is no path. Paths are sought as in P3, and drawn from `rng` as [`plan`] draws them.
pub fn count_paths(
    topology: &Topology,
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Option<(usize, usize)> {
    let (source, sink) = (request.source, request.sink);
    let (from, to) = (topology.hops_from(source), topology.hops_from(sink));
    let shortest = from[sink]?;
    let (channel, order) = (request.routing_channel, request.order);
    let ordered = paths::ordered_neighbours(topology, links, channel, (source, sink), order, rng);
    let wanted = request.min_paths.max(1);
    let mut best = None;
    for hops in lengths(request, shortest) {
        let quest = Quest {
            topology,
            source,
            sink,
            hops,
            from: &from,
            to: &to,
        };
        let found = paths::count(&quest, &ordered, wanted);
        if found > best.map_or(0, |(most, _)| most) {
            best = Some((found, hops));
        }
        if found >= wanted {
            break;
        }
    }
    best
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
    let rules = [&request.rule].into_iter().chain(&request.fallback);
    for (rank, rule) in rules.enumerate() {
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
        let (ends, order) = ((source, sink), request.order);
        let ordered = paths::ordered_neighbours(&topology, links, channel, ends, order, rng);
        let lengths = lengths(request, shortest);
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
        if (best.as_ref()).is_some_and(|best| best.set.paths.len() >= wanted) {
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
    measured: ChannelSet,
    (hops, paths): (usize, usize),
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Channel>, PlanError> {
    let balanced = request.grouping == Grouping::Balanced;
    if request.assignment == Assignment::Best {
        let measured: Vec<Channel> = (measured.iter())
            .filter(|&channel| request.choose_from.contains(channel))
            .collect();
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
    expected: &Expected,
    request: &RouteRequest,
    paths: &[Vec<usize>],
    channels: &[Channel],
    rng: &mut impl Rng,
) -> PipPlan {
    let patience = Patience::Tries(request.transfer.pip_tries);
    let on = |path: &[usize]| {
        let stages = [path.iter().map(|&node| vec![node]).collect()];
        let feed = chains::feed(1, path.len().saturating_sub(1));
        let transfer = &request.transfer;
        let layout = Layout::new(expected, &stages, channels.into());
        let prediction = predict(&layout, &stages, feed, patience, transfer);
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
