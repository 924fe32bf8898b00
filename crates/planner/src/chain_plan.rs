//! From links and a request to a plan of lean chains: the chains, relays beside them, backups and alternates.
//!
//! Plans are made again from what a transfer found out about its links ([`Plan::replan`]). Nothing is drawn.
//! Tests: tests/all/chains.rs, tests/all/backups.rs.

use crate::backups;
use crate::chains::{Chains, Count, Search};
use crate::evidence::{Basis, Evidence};
use crate::groups::{Group, Member};
use crate::interference::Stages;
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::pairs::best_channels;
use crate::plan::{PipPlan, Plan, Warning};
use crate::predict::{predict, Feed, Patience};
use crate::request::{Backups, RouteRequest, Style, Transfer};
use thalweg_units::{Channel, ChannelSet};
use thalweg_wire::hop::Calls;

/// Chains are sought for every order of their channels; more channels than this have too many orders.
const MOST_CHANNELS: usize = 5;
/// What a loss on the way back costs against one on the way forth: NACKs are few, and go twice.
const REVERSE_COST: f64 = 0.1;
/// The same where links may have changed: a transfer whose way back is dead ends.
const REVERSE_COST_WITH_BACKUPS: f64 = 0.4;

impl Plan {
    /// Lean chains between the same two nodes, by what is known of their links since this plan was made; none where there
    /// are none, or this plan is not of lean chains with backups.
    pub fn replan(&self, evidence: &Evidence) -> Option<Self> {
        let Basis { links, request } = self.basis.as_deref()?;
        plan_chains(links, request, evidence, |_, _| self.pip.clone())
    }
}

fn one_group(feed: Feed) -> Vec<Warning> {
    match feed {
        Feed::EveryCycle => Vec::new(),
        Feed::AlternateCycles => vec![Warning::OneGroup],
    }
}

/// A plan of two lean chains, or of one where no more paths are allowed; none where what was measured
/// allows none.
pub(crate) fn plan_chains(
    links: &LinkQualities,
    request: &RouteRequest,
    evidence: &Evidence,
    pip: impl FnOnce(&Expected, &Chains) -> PipPlan,
) -> Option<Plan> {
    let channels = chain_channels(links, request);
    let set: ChannelSet = channels.iter().copied().collect();
    let expected = evidence.expected(links, set, request);
    let search = search(&expected, request, &channels);
    let mut chains = search.best()?;
    if request.backups == Backups::Relays {
        search.separate_sink_channels(&mut chains);
    }
    // Relays beside a chain's own mend links that the survey shows to be thin. Where links are less trusted, all would be.
    let groups = match *evidence == Evidence::default() {
        true => search.thickened(&chains),
        false => chains.stages(),
    };
    let prediction = predict(
        &expected,
        &groups,
        chains.stage_channels(),
        Patience::Endless,
        &request.transfer,
    );
    let hops = chains.hops();
    let feed = Feed::of(groups.len(), hops);
    let paths = chains.paths();
    let plan = Plan {
        source: request.source,
        sink: request.sink,
        hops,
        packets: request.transfer.packets,
        shortest: hops,
        style: Style::Chains,
        calls: Calls::Control,
        path_bound: paths.len(),
        stages: (1..hops)
            .map(|stage| members(&groups, &paths, stage))
            .collect(),
        paths,
        pip: pip(&expected, &chains),
        channels: chains.channels,
        last_even: chains.last_even,
        routing_channel: request.routing_channel,
        feed,
        rule_used: request.rule,
        warnings: one_group(feed),
        prediction,
        backup_relays: Vec::new(),
        alternates: Vec::new(),
        others: Vec::new(),
        basis: None,
    };
    Some(match request.backups {
        Backups::None => plan,
        Backups::Relays => with_backups(plan, &search, &groups, links.nodes()),
    })
}

/// The measured channels of `request`; the best of them where they are more than [`MOST_CHANNELS`].
fn chain_channels(links: &LinkQualities, request: &RouteRequest) -> Vec<Channel> {
    let measured = links.channels();
    let channels = request.channels.iter().copied();
    let channels: Vec<Channel> = channels.filter(|&on| measured.contains(on)).collect();
    if channels.len() <= MOST_CHANNELS {
        return channels;
    }
    let best = best_channels(links, &request.rule, Channel::COUNT).into_iter();
    let best = best.filter(|channel| request.channels.contains(channel));
    best.take(MOST_CHANNELS).collect()
}

fn search<'a>(
    expected: &'a Expected,
    request: &'a RouteRequest,
    channels: &'a [Channel],
) -> Search<'a> {
    Search {
        expected,
        source: request.source,
        sink: request.sink,
        hops: match request.hops {
            Some(hops) => hops..=hops,
            None => 1..=request.max_hops,
        },
        channels,
        count: match request.max_paths {
            Some(0 | 1) => Count::One,
            _ => Count::Two,
        },
        transfer: &request.transfer,
        reverse_cost: match request.backups {
            Backups::None => REVERSE_COST,
            Backups::Relays => REVERSE_COST_WITH_BACKUPS,
        },
    }
}

/// The relays of `stage` in all groups.
fn members(groups: &[Stages], paths: &[Vec<usize>], stage: usize) -> Vec<Member> {
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
}

/// `plan` with backup relays and alternate chains, and what they cost in its prediction.
fn with_backups(plan: Plan, search: &Search<'_>, groups: &[Stages], nodes: usize) -> Plan {
    let ends = (plan.source, plan.sink);
    let backup_relays =
        backups::backup_relays(search.expected, ends, &plan.stages, plan.stage_channels());
    let plan = Plan {
        backup_relays,
        ..plan
    };
    let alternates = alternates(search, &plan);
    let count = |relays: &[Vec<Member>]| relays.iter().map(Vec::len).sum();
    let counts: (usize, usize) = (count(&plan.backup_relays), count(&alternates));
    let active = plan.active_nodes().len() + counts.0 + counts.1;
    let cycle = &search.transfer.cycle;
    let transfer = Transfer {
        wake_up: cycle.short_wake_up(plan.hops as u64, active, nodes),
        ..*search.transfer
    };
    let prediction = predict(
        search.expected,
        groups,
        plan.stage_channels(),
        Patience::Endless,
        &transfer,
    );
    Plan {
        alternates,
        prediction: prediction.with_backups(counts, &transfer),
        ..plan
    }
}

/// Another chain for each group of `plan`, where there is one.
fn alternates(search: &Search<'_>, plan: &Plan) -> Vec<Vec<Member>> {
    let mut alternates = vec![Vec::new(); plan.stages.len()];
    let mut taken: Vec<usize> = plan.active_nodes().into_iter().map(|(n, _)| n).collect();
    taken.extend(plan.backup_relays.iter().flatten().map(|m| m.node));
    for (number, group) in Group::BOTH.into_iter().enumerate() {
        let stage_channels = plan.stage_channels();
        let channels = (0..=plan.hops).filter_map(|stage| stage_channels.of(number, stage));
        let channels: Vec<Channel> = channels.collect();
        let chain = search.another(&channels, &taken).unwrap_or_default();
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
