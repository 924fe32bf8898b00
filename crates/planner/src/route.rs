//! Route selection (P3, sections IV-C and IV-D): from links and a request to a plan.
//!
//! For each link rule in turn and for H from the shortest length up, node-distinct paths of exactly
//! H hops are sought until there are N of them; else the largest set found is taken, with a warning.
//! Then groups, extra relays, channels, speakers of the last stage, prediction. Lean chains are `chain_plan`'s.
//! The generator is drawn from in a fixed order: same links, request and generator, same plan.
//! Tests: tests/all/plans.rs.

mod doubts;
mod search;

use crate::chain_plan::plan_chains;
use crate::channels::{self, Assignment};
use crate::evidence::{Basis, Evidence};
use crate::groups::{random_halves, Draft, Group, Member};
use crate::hop_route::plan_hops;
use crate::interference::Stages;
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::own_paths::{check_paths, silent_hops};
use crate::paths::PathSet;
use crate::plan::{PipPlan, Plan, PlanError, Warning};
use crate::predict::{predict, Feed, Patience, Prediction};
use crate::protocol_constants;
use crate::request::{
    Backups, Diversity, Grouping, LastResort, LastStage, PipChoice, RouteRequest, Style,
};
use crate::topology::{LinkRule, Topology};
use doubts::{dead_groups, no_end, route_warnings, unmeasured};
use rand::Rng;
pub use search::count_paths;
use search::{find_route, keep_best};
use std::sync::Arc;
use thalweg_units::{Channel, ChannelSet};
use thalweg_wire::hop::Calls;

/// A set of paths, and the rule and length that led to it.
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
    if request.style == Style::Hops {
        return plan_hops(links, request, rng);
    }
    match request.backups {
        // Hops that were asked for are a pipeline's.
        Backups::Relays if request.hops.is_none() => {
            let (planned, links_used) = trusted(links, request, rng);
            let ranged = |plan: Plan| {
                let links = links_used.as_ref().unwrap_or(links);
                plan.with_range(links, &request.model, &request.transfer)
            };
            quicker(planned.map(ranged), links, request, rng)
        }
        Backups::None | Backups::Relays => {
            let planned = plan_pipeline(links, request, rng);
            planned.map(|plan| plan.with_range(links, &request.model, &request.transfer))
        }
    }
}

/// The chains that are best, and the links that they were chosen by where those are not `links`: where a chain would lose much if
/// its links were no better than such readings are on average, all links are taken for that. Where losses are foreseen even
/// then, the chains are those that are best without backup and alternate relays, for P3's rounds.
fn trusted(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> (Result<Plan, PlanError>, Option<LinkQualities>) {
    let planned = plan_pipeline(links, request, rng);
    let Ok(plan) = &planned else {
        return (planned, None);
    };
    let doubted = links.doubted(&request.model);
    if !plan.expects_losses() && !plan.over(&doubted, request).is_lossy() {
        return (planned, None);
    }
    let weak = |mut plan: Plan| {
        plan.warnings.push(Warning::WeakLinks);
        plan
    };
    let again = plan_pipeline(&doubted, request, rng).or(planned).map(weak);
    let bare = RouteRequest {
        backups: Backups::None,
        ..request.clone()
    };
    let goes_in_rounds =
        |plan: &Plan| request.last_resort == LastResort::Any && plan.expects_losses();
    let rounds = match again.as_ref().is_ok_and(goes_in_rounds) {
        true => plan_pipeline(&doubted, &bare, rng).map(weak).ok(),
        false => None,
    };
    let rounds = rounds.filter(Plan::expects_losses);
    (rounds.map_or(again, Ok), Some(doubted))
}

impl Plan {
    /// What is expected of it over other `links`.
    fn over(&self, links: &LinkQualities, request: &RouteRequest) -> Prediction {
        let group = |group: Group| -> Stages {
            let relays = (1..self.hops).map(|stage| self.relays(stage, group).collect());
            let ends = [vec![self.source]].into_iter().chain(relays);
            ends.chain([vec![self.sink]]).collect()
        };
        let groups: Vec<Stages> = match self.feed {
            Feed::EveryCycle if self.hops > 1 => Group::BOTH.map(group).to_vec(),
            Feed::EveryCycle | Feed::AlternateCycles => vec![group(Group::Odd)],
        };
        let set: ChannelSet = self
            .channels
            .iter()
            .chain(&self.last_even)
            .copied()
            .collect();
        predict(
            &Expected::new(links, set, &request.model),
            &groups,
            self.stage_channels(),
            Patience::Endless,
            &request.transfer,
        )
    }
}

/// `planned`, or one path hop by hop where no pipeline leads there or it would take longer.
fn quicker(
    planned: Result<Plan, PlanError>,
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    match planned {
        Ok(plan) if !plan.may_be_left() => Ok(plan),
        Ok(plan) => Ok(match plan_hops(links, request, rng) {
            Ok(hops) if is_quicker(&hops, &plan, links) => hops,
            Ok(hops) => plan.left_for(&hops),
            Err(_) => plan,
        }),
        Err(why) => plan_hops(links, request, rng).map_err(|_| why),
    }
}

/// Whether the path hop by hop `hops` is foreseen to be quicker than `plan` over links that stay as they were surveyed. What expects
/// losses is foreseen with what its links may lose.
fn is_quicker(hops: &Plan, plan: &Plan, links: &LinkQualities) -> bool {
    let least = match plan.expects_losses() {
        true => 1.0,
        false => certainty(plan, links),
    };
    plan.may_be_quicker_by_hops() && hops.steady_kbps() > plan.prediction.goodput_kbps * least
}

/// The share of packets that cross all hops of `plan` if its links lose as much as was counted on all their channels, and
/// half a frame more, and long frames so much more than beacons: few beacons cannot tell a good link from a fair one, and a
/// pipeline depends on all of them at once.
fn certainty(plan: &Plan, links: &LinkQualities) -> f64 {
    let (mut received, mut sent) = (0.0, 0.0);
    for hop in plan.paths.iter().flat_map(|path| path.windows(2)) {
        for (from, to) in [(hop[0], hop[1]), (hop[1], hop[0])] {
            for quality in Channel::all().filter_map(|on| links.quality(from, to, on)) {
                // A ratio of an unknown number of frames stands for many.
                let count = quality.sent.map_or(1e3, f64::from);
                received += quality.prr * count;
                sent += count;
            }
        }
    }
    let lost = protocol_constants::of_long_frames((sent - received + 0.5) / (sent + 1.0));
    (1.0 - lost).powi(plan.hops as i32)
}

/// A plan of lean chains where those are asked for and there are any, else of paths.
fn plan_pipeline(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    if request.style == Style::Chains {
        let chains = plan_chains(links, request, &Evidence::default(), |expected, chains| {
            let (paths, channels) = (chains.paths(), &chains.channels);
            pip(expected, request, &paths, channels, rng)
        });
        if let Some(mut plan) = chains {
            if request.backups == Backups::Relays {
                // Where lean chains fail again and again, many paths may do.
                plan.others.extend(plan_paths(links, request, rng));
                let (links, request) = (links.clone(), request.clone());
                plan.basis = Some(Arc::new(Basis { links, request }));
            }
            return Ok(plan);
        }
    }
    plan_paths(links, request, rng)
}

/// A plan of node-distinct paths.
fn plan_paths(
    links: &LinkQualities,
    request: &RouteRequest,
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    let mut route = find_route(links, request, rng)?;
    if let Some(most) = request.max_paths {
        let channel = request.routing_channel;
        keep_best(&mut route.set.paths, most.max(1), links, channel);
    }
    let warnings = route_warnings(&route, request);
    plan_route(links, request, (route, warnings), rng)
}

impl Plan {
    /// The plan of a transfer over `paths`, lists of nodes from a source to a sink, with groups, channels and prediction as
    /// `request` asks for them. Nothing is sought: ends and lengths are the paths' own. What is unlikely to work is told by
    /// the plan's warnings.
    ///
    /// # Errors
    /// [`PlanError`] where they are no node-distinct paths of one length between two nodes of `links`, or channels will not
    /// do.
    pub fn of_paths(
        links: &LinkQualities,
        request: &RouteRequest,
        paths: &[Vec<usize>],
        rng: &mut impl Rng,
    ) -> Result<Self, PlanError> {
        let (source, sink) = check_paths(links.nodes(), paths)?;
        let request = &RouteRequest {
            source,
            sink,
            style: Style::Paths,
            ..request.clone()
        };
        check(links, request)?;
        let topology = Topology::new(links, request.routing_channel, &request.rule);
        let hops = paths.first().map_or(0, |path| path.len() - 1);
        let shortest = topology.hops_from(source).get(sink).copied().flatten();
        let route = Route {
            set: PathSet {
                paths: paths.to_vec(),
                upper_bound: paths.len(),
            },
            hops,
            shortest: shortest.unwrap_or(hops),
            rule: request.rule,
            topology,
            weaker: false,
        };
        plan_route(links, request, (route, silent_hops(links, paths)), rng)
    }
}

/// The plan over the paths of a route.
fn plan_route(
    links: &LinkQualities,
    request: &RouteRequest,
    (route, mut warnings): (Route, Vec<Warning>),
    rng: &mut impl Rng,
) -> Result<Plan, PlanError> {
    let (hops, paths) = (route.hops, route.set.paths);
    let measured = links.channels();
    let expected = Expected::new(links, measured, &request.model);
    let mut draft = Draft {
        expected: &expected,
        source: request.source,
        sink: request.sink,
        stages: grouped_stages(&paths, hops, rng),
    };
    if let Diversity::FillTo(least) = request.diversity {
        draft.fill_to(&route.topology, least);
    }
    let size = (hops, paths.len());
    let channels = assign(&mut draft, request, measured, size, &mut warnings)?;
    if request.last_stage == LastStage::Best {
        draft.thin_last_stage(&channels);
    }
    let groups = draft.groups();
    let prediction = predict(
        &expected,
        &groups,
        channels[..].into(),
        Patience::Endless,
        &request.transfer,
    );
    let feed = Feed::of(groups.len(), hops);
    warnings.extend(unmeasured(&channels, measured));
    warnings.extend(dead_groups(feed, hops, &prediction));
    warnings.extend(no_end(&prediction));
    Ok(Plan {
        source: request.source,
        sink: request.sink,
        hops,
        packets: request.transfer.packets,
        shortest: route.shortest,
        style: Style::Paths,
        calls: Calls::Control,
        pip: pip(&expected, request, &paths, &channels, rng),
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
        backup_relays: Vec::new(),
        alternates: Vec::new(),
        others: Vec::new(),
        basis: None,
    })
}

/// The relays of stages 1..`hops`, each path's in a group drawn for it.
fn grouped_stages(paths: &[Vec<usize>], hops: usize, rng: &mut impl Rng) -> Vec<Vec<Member>> {
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
    (1..hops).map(members).collect()
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
    let (given, needed) = (request.channels.len(), channels::needed(hops, paths));
    if given < needed {
        return Err(PlanError::TooFewChannels {
            given,
            needed,
            hops,
        });
    }
    let channels = match given < channels::needed(hops, 2) {
        true => channels::counted_back_in_pairs(&request.channels, hops),
        false => channels::counted_back(&request.channels, hops),
    };
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
        let transfer = &request.transfer;
        PipPlan {
            path: path.to_vec(),
            prediction: predict(expected, &stages, channels.into(), patience, transfer),
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
