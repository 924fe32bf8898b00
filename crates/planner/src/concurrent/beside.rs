//! One more transfer beside those of a wave: relays and channels that they leave.

use super::by_stage;
use super::earshot::{free_links, without, Earshot};
use super::{expected, Obstacle, Refused, Reuse, Taken, Waves, THRIFT};
use crate::channels::{apart, counted_back, spread_order, REUSE_DISTANCE};
use crate::plan::{Plan, PlanError};
use crate::request::{RouteRequest, Style};
use crate::route::plan;
use rand::Rng;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use thalweg_units::{Channel, ChannelSet};

/// Orders of `wanted` channels, to be counted back from the sink: that of the best ones first, then all
/// others that leave a channel between those of neighbouring stages (relays of neighbouring stages
/// stand too close to each other for channels side by side).
fn orders(ranked: &[Channel], wanted: usize) -> Vec<Vec<Channel>> {
    /// Of so many channels all orders are looked at: 1680 of four.
    const MOST: usize = 8;
    let mut best: Vec<Channel> = Vec::with_capacity(wanted);
    for least in [2, 1] {
        for &channel in ranked {
            let clear = best.iter().all(|&c| apart(c, channel) >= least);
            if best.len() < wanted && clear {
                best.push(channel);
            }
        }
    }
    let mut all = match best.first() {
        Some(&first) => vec![spread_order(&best, first)],
        None => return Vec::new(),
    };
    let mut begun = vec![Vec::new()];
    for _ in 0..wanted {
        let longer = |order: Vec<Channel>| {
            ranked.iter().take(MOST).filter_map(move |&channel| {
                let clear = order.last().is_none_or(|&last| apart(last, channel) > 1);
                let fits = clear && !order.contains(&channel);
                fits.then(|| [&order[..], &[channel]].concat())
            })
        };
        begun = begun.into_iter().flat_map(longer).collect();
    }
    // The first follows the last where the route is longer.
    let closes = |order: &Vec<Channel>| match (order.first(), order.last()) {
        (Some(&first), Some(&last)) => order.len() < 2 || apart(first, last) > 1,
        _ => false,
    };
    all.extend(begun.into_iter().filter(closes));
    all
}

/// Sets of `size` of `channels`, the first ones first.
fn subsets(channels: &[Channel], size: usize) -> Vec<Vec<Channel>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let Some((&first, rest)) = channels.split_first() else {
        return Vec::new();
    };
    let with = subsets(rest, size - 1).into_iter();
    let with = with.map(|set| [&[first][..], &set].concat());
    with.chain(subsets(rest, size)).collect()
}

impl Waves {
    /// The plan of `source` into sink number `at` with nothing beside it.
    pub(super) fn plan_alone(
        &mut self,
        source: usize,
        at: usize,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, PlanError> {
        let nothing = Taken {
            plans: &[],
            nodes: vec![false; self.links.nodes()],
            earshot: Earshot::default(),
        };
        let plan = match self.try_one(source, at, &nothing, rng) {
            Ok(plan) => plan,
            Err(Refused::Plan(why)) => return Err(why),
            Err(Refused::Channels { given, needed }) => {
                return Err(PlanError::TooFewChannels {
                    given,
                    needed,
                    hops: needed,
                })
            }
        };
        self.goodput_alone.insert(source, expected(&plan));
        Ok(plan)
    }

    /// One more transfer beside `plans`, and the number of its sink.
    pub(super) fn plan_beside(
        &mut self,
        plans: &[Plan],
        pending: &[usize],
        sinks: &[usize],
        rng: &mut (impl Rng + Clone),
    ) -> Result<(Plan, usize), Obstacle> {
        let mut nodes = vec![false; self.links.nodes()];
        for (node, _) in plans.iter().flat_map(Plan::active_nodes) {
            nodes[node] = true;
        }
        let earshot = Earshot::new(&self.expected, &self.request.channels, plans);
        let taken = Taken {
            plans,
            nodes,
            earshot,
        };
        // Sources whose nearest sink is free first, then by distance, the farthest first.
        let all: Vec<usize> = (0..self.request.sinks.len()).collect();
        let candidate = |&node: &usize| {
            let (hops, at) = self.nearest(node, sinks)?;
            let (least, _) = self.nearest(node, &all)?;
            Some((hops - least, Reverse(hops), node, at))
        };
        let free = pending.iter().filter(|&&node| !taken.nodes[node]);
        let mut candidates: Vec<_> = free.filter_map(candidate).collect();
        candidates.sort_unstable();
        let mut tried: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut hindered: BTreeMap<Obstacle, usize> = BTreeMap::new();
        for (detour, Reverse(hops), source, at) in candidates {
            let tries = tried.entry((detour, hops)).or_default();
            *tries += 1;
            if *tries > self.request.tries {
                continue;
            }
            let why = match self.try_one(source, at, &taken, rng) {
                Ok(plan) => {
                    let alone = match self.goodput_alone.get(&source) {
                        Some(alone) => *alone,
                        None => self
                            .plan_alone(source, at, rng)
                            .map_or(0.0, |p| expected(&p)),
                    };
                    if expected(&plan) >= self.request.least_share * alone {
                        return Ok((plan, at));
                    }
                    Obstacle::Goodput
                }
                Err(Refused::Channels { .. }) => Obstacle::Channels,
                Err(Refused::Plan(_)) => Obstacle::Relays,
            };
            *hindered.entry(why).or_default() += 1;
        }
        let most = hindered.into_iter().max_by_key(|&(_, count)| count);
        Err(most.map_or(Obstacle::Sources, |(why, _)| why))
    }

    /// A plan from `source` into sink number `at` without nodes and channels that are taken.
    fn try_one(
        &self,
        source: usize,
        at: usize,
        taken: &Taken<'_>,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, Refused> {
        if self.request.route.style == Style::Chains {
            return self.try_chains(source, at, taken, rng);
        }
        let sink = self.request.sinks[at];
        let others =
            |node: usize| taken.nodes[node] || (node != sink && self.request.sinks.contains(&node));
        let routing = self.request.route.routing_channel;
        let route = RouteRequest {
            source,
            sink,
            ..self.request.route.clone()
        };
        // Which relays there are does not depend on the pipeline's channels: those come after.
        let free = without(&self.links, &[routing], others);
        let draft = RouteRequest {
            channels: (self.request.channels.iter().copied().take(REUSE_DISTANCE)).collect(),
            ..route.clone()
        };
        let draft = plan(&free, &draft, &mut rng.clone()).map_err(Refused::Plan)?;
        let needed = draft.hops.min(REUSE_DISTANCE);
        // Where there are other sinks, a route takes no more channels than it needs.
        let wanted = match self.request.sinks[..] {
            [_, _, ..] => needed,
            _ => REUSE_DISTANCE.min(self.request.channels.len()),
        };
        let orders = orders(&self.request.channels, wanted);
        let given = orders.first().map_or(0, Vec::len);
        let fits = |order: &&Vec<Channel>| {
            let channels = counted_back(order, draft.hops);
            let mut others = taken.plans.iter();
            others.all(|other| self.keep_apart(&draft, &channels, other))
        };
        let mut long = orders.iter().filter(|order| order.len() >= needed);
        let Some(order) = long.find(fits) else {
            return Err(Refused::Channels { given, needed });
        };
        let mut measured = order.clone();
        measured.push(routing);
        let free = without(&self.links, &measured, others);
        let route = RouteRequest {
            channels: order.clone(),
            ..route
        };
        plan(&free, &route, rng).map_err(Refused::Plan)
    }

    /// The same for lean chains, which are sought on the channels that they get: over hops that disturb no transfer of
    /// the wave and that none disturbs, on as few channels as will do where others may need the rest.
    fn try_chains(
        &self,
        source: usize,
        at: usize,
        taken: &Taken<'_>,
        rng: &mut (impl Rng + Clone),
    ) -> Result<Plan, Refused> {
        let sink = self.request.sinks[at];
        let used = |c: &Channel| taken.plans.iter().any(|plan| plan.channels.contains(c));
        let open = |c: &Channel| self.request.reuse == Reuse::OutOfEarshot || !used(c);
        let mut channels: Vec<Channel> = self.request.channels.clone();
        channels.retain(open);
        // Best first, but unused ones before all others.
        channels.sort_by_key(used);
        channels.truncate(REUSE_DISTANCE);
        if channels.is_empty() {
            let (given, needed) = (0, 1);
            return Err(Refused::Channels { given, needed });
        }
        let others =
            |node: usize| taken.nodes[node] || (node != sink && self.request.sinks.contains(&node));
        let routing = self.request.route.routing_channel;
        let mut measured = channels.clone();
        measured.push(routing);
        let free = free_links(&self.links, &measured, others, |from, to, channel| {
            taken.earshot.disturbs(from, to, channel)
        });
        let on = |channels: Vec<Channel>| {
            let route = RouteRequest {
                source,
                sink,
                // Where no chains exist there is no room for more than chains beside others.
                fallback: Vec::new(),
                channels,
                ..self.request.route.clone()
            };
            plan(&free, &route, &mut rng.clone())
        };
        let full = on(channels.clone()).map_err(Refused::Plan)?;
        if self.request.sinks.len() == 1 {
            return Ok(full);
        }
        let count = |plan: &Plan| plan.channels.iter().copied().collect::<ChannelSet>().len();
        let enough = THRIFT * expected(&full);
        for size in full.hops.min(channels.len())..count(&full) {
            let thrifty = subsets(&channels, size).into_iter().map(&on);
            let best = (thrifty.flatten().filter(|plan| expected(plan) >= enough))
                .max_by(|a, b| expected(a).total_cmp(&expected(b)));
            if let Some(plan) = best {
                return Ok(plan);
            }
        }
        Ok(full)
    }

    /// Whether the relays of `draft`, receiving on `channels`, and those of `other` leave each
    /// other's frames alone.
    fn keep_apart(&self, draft: &Plan, channels: &[Channel], other: &Plan) -> bool {
        let shared = |channel: &Channel| other.channels.contains(channel);
        if self.request.reuse == Reuse::Never {
            return !channels.iter().any(shared);
        }
        let (here, there) = (by_stage(draft), by_stage(other));
        // The listeners of a stage must not hear the senders of data to a stage of the other transfer on
        // the same channel. NACKs are short and few.
        let disturbed = |channel: Channel, listeners: &[usize], senders: Option<&Vec<usize>>| {
            senders.into_iter().flatten().any(|&from| {
                let heard = |&to: &usize| self.links.prr(from, to, channel) > 0.0;
                listeners.iter().any(heard)
            })
        };
        channels.iter().enumerate().all(|(a, &channel)| {
            other.channels.iter().enumerate().all(|(b, &used)| {
                used != channel
                    || !(disturbed(channel, &here[a], b.checked_sub(1).map(|b| &there[b]))
                        || disturbed(channel, &there[b], a.checked_sub(1).map(|a| &here[a])))
            })
        })
    }
}
