//! Two node-disjoint chains of single relays, one for each group, over links that are strong on their channels. This is
//! the leanest plan of P3: section IV-B asks for one relay per stage and group, and the signals of more beat at the
//! next receiver.
//!
//! For every length and order of channels, dynamic programming over (stage, node) finds the cheapest chain, then the other
//! one around it, in turns. The best pairs are predicted as whole plans ([`crate::interference`]) and improved relay by
//! relay. No random numbers are drawn. Tests: tests/all/chains.rs.

mod bounds;

use crate::backups;
use crate::channels::{needed, reuse_distance, StageChannels};
use crate::interference::Stages;
use crate::link_model::Expected;
use crate::links::Hop;
use crate::predict::{predict, Patience, Prediction};
use crate::request::Transfer;
use bounds::{Bounds, Table};
use thalweg_units::Channel;

/// Least delivery of a hop.
const LEAST: f64 = 0.3;
/// How often one of the chains is sought again around the other.
const TURNS: usize = 3;
/// Pairs of chains that are predicted as whole plans.
const CANDIDATES: usize = 24;
/// Of them, how many are improved.
const IMPROVED: usize = 3;
/// Sweeps of improvement.
const SWEEPS: usize = 3;
/// A hop of a chain that delivers less than this may get a relay beside its own.
const THIN: f64 = 0.998;
/// What a relay beside a chain's own must save, as a share of the expected time.
const WORTH: f64 = 1e-3;
/// Most relays of one stage and group.
const MOST: usize = 3;
/// The sink's channel for the even group differs from those of so many stages before it.
const APART: usize = 2;
/// What a second channel of the sink may cost, as a share of the expected time.
const COST: f64 = 2e-3;
/// How much likelier last hops may be degraded with it.
const RISKIER: f64 = 2e-3;
/// What the odd group's last hop delivers at least, should the group have to go on it.
const FAIR: f64 = 0.9;
/// How many hops more than the fewest possible are tried.
const MORE_HOPS: usize = 4;

/// A search for chains.
pub(crate) struct Search<'a> {
    pub(crate) expected: &'a Expected,
    pub(crate) source: usize,
    pub(crate) sink: usize,
    /// Lengths tried.
    pub(crate) hops: std::ops::RangeInclusive<usize>,
    /// Channels to give to stages.
    pub(crate) channels: &'a [Channel],
    pub(crate) count: Count,
    pub(crate) transfer: &'a Transfer,
    /// What a loss on the way back costs against one on the way forth.
    pub(crate) reverse_cost: f64,
}

/// How many chains there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// One, of a single group: packets go in alternate cycles.
    One,
    /// One for each group.
    Two,
}

/// A pair of chains, and their channels.
#[derive(Debug, Clone)]
pub(crate) struct Chains {
    /// Odd, then even; each source to sink. The same where one is all there is: where source and
    /// sink are neighbours, and for [`Count::One`].
    pub(crate) groups: [Vec<usize>; 2],
    /// Reception channels of stages 0..=H.
    pub(crate) channels: Vec<Channel>,
    /// The sink's for the even group, where that is another.
    pub(crate) last_even: Option<Channel>,
}

impl Chains {
    pub(crate) fn hops(&self) -> usize {
        self.channels.len().saturating_sub(1)
    }
    pub(crate) fn stage_channels(&self) -> StageChannels<'_> {
        StageChannels {
            stages: &self.channels,
            last_even: self.last_even,
        }
    }
    /// The different ones.
    pub(crate) fn paths(&self) -> Vec<Vec<usize>> {
        let mut paths = self.groups.to_vec();
        paths.dedup();
        paths
    }
    /// As stages of one relay each.
    pub(crate) fn stages(&self) -> Vec<Stages> {
        let list = |chain: &Vec<usize>| chain.iter().map(|&node| vec![node]).collect();
        if self.groups[0] == self.groups[1] {
            return vec![list(&self.groups[0])];
        }
        self.groups.iter().map(list).collect()
    }
}

impl Search<'_> {
    fn predict(&self, stages: &[Stages], channels: StageChannels<'_>) -> Prediction {
        let patience = Patience::Endless;
        predict(self.expected, stages, channels, patience, self.transfer)
    }
    /// Expected time of a plan, in seconds.
    fn time(&self, stages: &[Stages], channels: StageChannels<'_>) -> f64 {
        let prediction = self.predict(stages, channels);
        prediction.time_s.unwrap_or(f64::INFINITY)
    }

    /// The best pair of chains; none where no two disjoint ones join the two nodes.
    pub(crate) fn best(&self) -> Option<Chains> {
        let time = |chains: &Chains| self.time(&chains.stages(), chains.stage_channels());
        let candidates = self.candidates().into_iter();
        let mut timed: Vec<(f64, Chains)> = candidates
            .map(|(_, chains)| (time(&chains), chains))
            .collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        timed.truncate(IMPROVED);
        if self.count == Count::Two {
            for (time_s, chains) in &mut timed {
                self.improve(chains, time_s, &time);
            }
        }
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        timed.into_iter().next().map(|(_, chains)| chains)
    }

    /// The cheapest pairs over all lengths and orders of channels with their costs, cheapest first.
    fn candidates(&self) -> Vec<(f64, Chains)> {
        let table = Table::new(self);
        let mut bounds = Bounds::new(self);
        let mut found: Vec<(f64, Chains)> = Vec::with_capacity(CANDIDATES + 1);
        let mut fewest = None;
        for hops in self.hops.clone() {
            if fewest.is_some_and(|fewest| hops > fewest + MORE_HOPS) {
                break;
            }
            let length = 1e-3 * hops as f64;
            self.orders(hops, &mut Vec::with_capacity(hops + 1), &mut |order| {
                let least = 2.0 * bounds.of(&table, order) + length;
                let last = found.get(CANDIDATES - 1);
                // No order that cannot be among the cheapest is searched.
                if least.is_infinite() || last.is_some_and(|(last, _)| least > *last) {
                    return;
                }
                let Some((cost, groups)) = self.pair(&table, order) else {
                    return;
                };
                fewest.get_or_insert(hops);
                let cost = cost + length;
                let chains = Chains {
                    groups,
                    channels: order.iter().map(|&at| self.channels[at]).collect(),
                    last_even: None,
                };
                let at = found.partition_point(|(better, _)| *better <= cost);
                found.insert(at, (cost, chains));
                found.truncate(CANDIDATES);
            });
        }
        found
    }

    /// Gives the sink a channel of its own for one group, which becomes the even one, where last hops are as sure on it
    /// and no stage shortly before has it.
    pub(crate) fn separate_sink_channels(&self, chains: &mut Chains) {
        let hops = chains.hops();
        if hops < 2 || self.count == Count::One || chains.groups[0] == chains.groups[1] {
            return;
        }
        let most_time = self.time(&chains.stages(), chains.stage_channels()) * (1.0 + COST);
        let most_risk = self.risk_at_end(chains) + RISKIER;
        let near = &chains.channels[hops.saturating_sub(APART)..];
        let [odd, even] = &chains.groups;
        let pairs = [[odd, even], [even, odd]].map(|pair| pair.map(Vec::clone));
        let far = self.channels.iter().filter(|on| !near.contains(on));
        let candidates = far.flat_map(|&last| {
            pairs.clone().map(|groups| Chains {
                groups,
                channels: chains.channels.clone(),
                last_even: Some(last),
            })
        });
        let with_risk = candidates.map(|chains| (self.risk_at_end(&chains), chains));
        let sound = with_risk.filter(|(risk, chains)| {
            *risk <= most_risk
                && self.can_share_last(chains)
                && self.time(&chains.stages(), chains.stage_channels()) <= most_time
        });
        if let Some((_, best)) = sound.min_by(|a, b| a.0.total_cmp(&b.0)) {
            *chains = best;
        }
    }

    /// How likely the last hop of either group turns out to be bad.
    fn risk_at_end(&self, chains: &Chains) -> f64 {
        let hops = chains.hops();
        let bad = |group: usize| {
            let channel = chains.stage_channels().of(group, hops)?;
            let from = chains.groups[group][hops - 1];
            let to = self.sink;
            Some(backups::degraded(self.expected, Hop { from, to, channel }))
        };
        (0..chains.groups.len()).filter_map(bad).sum()
    }

    /// Whether the odd group could go on over the even group's channel to the sink.
    fn can_share_last(&self, chains: &Chains) -> bool {
        let (hops, Some(last)) = (chains.hops(), chains.last_even) else {
            return false;
        };
        let link = self
            .expected
            .link(chains.groups[0][hops - 1], self.sink, last);
        link.is_some_and(|link| link.delivery > FAIR)
    }

    /// The stages of `chains`, with relays beside the chains' own where a hop is thin and one more is
    /// expected to save time in spite of its beats.
    pub(crate) fn thickened(&self, chains: &Chains) -> Vec<Stages> {
        let mut stages = chains.stages();
        let mut used = vec![false; self.expected.nodes()];
        (stages.iter().flatten().flatten()).for_each(|&node| used[node] = true);
        if chains.hops() < 2 || self.count == Count::One {
            return stages;
        }
        let time = |stages: &[Stages]| self.time(stages, chains.stage_channels());
        let mut now = time(&stages);
        loop {
            let prediction = self.predict(&stages, chains.stage_channels());
            let mut best = (now * (1.0 - WORTH), None);
            for (group, hops) in prediction.hop_delivery.iter().enumerate() {
                // A thin hop may be mended at either end.
                let thin = |hop: usize| hops.get(hop).is_some_and(|&delivery| delivery < THIN);
                for stage in (1..chains.hops()).filter(|&stage| thin(stage - 1) || thin(stage)) {
                    if stages[group][stage].len() >= MOST {
                        continue;
                    }
                    for node in self.beside(
                        (group, &stages[group]),
                        stage,
                        chains.stage_channels(),
                        &used,
                    ) {
                        stages[group][stage].push(node);
                        let then = time(&stages);
                        stages[group][stage].pop();
                        if then < best.0 {
                            best = (then, Some((group, stage, node)));
                        }
                    }
                }
            }
            let (then, Some((group, stage, node))) = best else {
                return stages;
            };
            stages[group][stage].push(node);
            used[node] = true;
            now = then;
        }
    }

    /// Unused nodes that a member of the stage before reaches, and that reach one of the next.
    fn beside(
        &self,
        (group, stages): (usize, &Stages),
        stage: usize,
        channels: StageChannels<'_>,
        used: &[bool],
    ) -> Vec<usize> {
        let reaches = |from: usize, to: usize, stage: usize| {
            let channel = channels.of(group, stage);
            let link = channel.and_then(|channel| self.expected.link(from, to, channel));
            link.is_some_and(|link| link.delivery > LEAST)
        };
        let (before, here, after) = (stage - 1, stage, stage + 1);
        (0..self.expected.nodes())
            .filter(|&node| {
                !used[node]
                    && (stages[before].iter()).any(|&from| reaches(from, node, here))
                    && (stages[after].iter()).any(|&to| reaches(node, to, after))
            })
            .collect()
    }

    /// Calls `visit` with every order of channels (indices into the list) for stages 0..=`hops` in which
    /// none comes twice within the distance of reuse; of one chain over fewer channels, those that send in one cycle differ.
    fn orders(&self, hops: usize, order: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if order.len() == hops + 1 {
            return visit(order);
        }
        // The source listens for NACKs, the sink for data: they may share a channel.
        let first = usize::from(order.len() == hops);
        let (len, channels) = (order.len(), self.channels.len());
        let recent = first.max(len.saturating_sub(reuse_distance(channels) - 1));
        let paired = self.count == Count::One && channels < needed(hops, 2);
        for at in 0..channels {
            let near = match paired {
                true => &order[first.max(len.saturating_sub(2))..first.max(len.saturating_sub(1))],
                false => &order[recent..],
            };
            if !near.contains(&at) {
                order.push(at);
                self.orders(hops, order, visit);
                order.pop();
            }
        }
    }

    /// Two chains for one order of channels, and their cost.
    fn pair(&self, table: &Table, order: &[usize]) -> Option<(f64, [Vec<usize>; 2])> {
        let mut taken = vec![false; self.expected.nodes()];
        let first = self.chain(table, order, &taken)?;
        if order.len() == 2 || self.count == Count::One {
            return Some((2.0 * first.0, [first.1.clone(), first.1]));
        }
        mark(&mut taken, &first.1);
        let second = self.chain(table, order, &taken)?;
        let mut best = (first.0 + second.0, [first.1.clone(), second.1.clone()]);
        let mut pair = [first, second];
        for turn in 0..TURNS {
            let (at, kept) = (turn % 2, 1 - turn % 2);
            taken.fill(false);
            mark(&mut taken, &pair[kept].1);
            let Some(found) = self.chain(table, order, &taken) else {
                break;
            };
            pair[at] = found;
            let cost = pair[0].0 + pair[1].0;
            if cost < best.0 {
                best = (cost, [pair[0].1.clone(), pair[1].1.clone()]);
            }
        }
        Some(best)
    }

    /// The cheapest chain on `channels` whose relays are none of `taken`.
    pub(crate) fn another(&self, channels: &[Channel], taken: &[usize]) -> Option<Vec<usize>> {
        let place = |channel: &Channel| self.channels.iter().position(|c| c == channel);
        let order: Option<Vec<usize>> = channels.iter().map(place).collect();
        let mut is_taken = vec![false; self.expected.nodes()];
        taken.iter().for_each(|&node| is_taken[node] = true);
        is_taken[self.sink] = false;
        let (_, chain) = self.chain(&Table::new(self), &order?, &is_taken)?;
        Some(chain)
    }

    /// The cheapest chain whose relays are not `taken`.
    fn chain(&self, table: &Table, order: &[usize], taken: &[bool]) -> Option<(f64, Vec<usize>)> {
        let nodes = self.expected.nodes();
        let hops = order.len() - 1;
        let mut before: Vec<Vec<usize>> = vec![vec![usize::MAX; nodes]; hops];
        let mut cost = vec![f64::INFINITY; nodes];
        cost[self.source] = 0.0;
        for stage in 1..hops {
            let mut next = vec![f64::INFINITY; nodes];
            for from in (0..nodes).filter(|&from| cost[from].is_finite()) {
                for &(to, hop) in table.hops(order[stage], order[stage - 1], from) {
                    let total = cost[from] + hop;
                    // The cheap questions first.
                    if total < next[to]
                        && to != self.sink
                        && to != self.source
                        && !taken[to]
                        && !on_the_way(&before, stage - 1, from, to)
                    {
                        next[to] = total;
                        before[stage][to] = from;
                    }
                }
            }
            cost = next;
        }
        let (mut total, mut last) = (f64::INFINITY, self.sink);
        for from in (0..nodes).filter(|&from| cost[from].is_finite()) {
            let hop = table.hop(order[hops], order[hops - 1], from, self.sink);
            let there = cost[from] + hop.unwrap_or(f64::INFINITY);
            if there < total {
                (total, last) = (there, from);
            }
        }
        if !total.is_finite() {
            return None;
        }
        let mut chain = vec![self.sink; hops + 1];
        chain[hops - 1] = last;
        for stage in (1..hops).rev() {
            chain[stage - 1] = before[stage][chain[stage]];
        }
        Some((total, chain))
    }

    /// Changes one relay at a time as long as the whole plan gets faster than `time_s`.
    fn improve(&self, chains: &mut Chains, time_s: &mut f64, time: &impl Fn(&Chains) -> f64) {
        for _ in 0..SWEEPS {
            let before = *time_s;
            let stages = 1..chains.hops();
            for (group, stage) in (0..2).flat_map(|group| stages.clone().map(move |s| (group, s))) {
                let mut best = chains.groups[group][stage];
                for node in self.replacements(chains, group, stage) {
                    chains.groups[group][stage] = node;
                    let now = time(chains);
                    if now < *time_s - 1e-9 {
                        (*time_s, best) = (now, node);
                    }
                }
                chains.groups[group][stage] = best;
            }
            if *time_s > before - 1e-6 {
                break;
            }
        }
    }

    /// Unused nodes that could take the place of a relay.
    fn replacements(&self, chains: &Chains, group: usize, stage: usize) -> Vec<usize> {
        let chain = &chains.groups[group];
        let (before, after) = (chain[stage - 1], chain[stage + 1]);
        let reached = self.expected.reached(before, chains.channels[stage]).iter();
        let near = reached.filter(|(_, reach)| reach.delivery > LEAST);
        near.map(|&(node, _)| node)
            .filter(|&node| {
                let onward = self.expected.link(node, after, chains.channels[stage + 1]);
                onward.is_some_and(|onward| onward.delivery > LEAST)
                    && !chains.groups.iter().any(|chain| chain.contains(&node))
            })
            .collect()
    }
}

fn mark(taken: &mut [bool], chain: &[usize]) {
    let relays = chain.get(1..chain.len().saturating_sub(1));
    (relays.into_iter().flatten()).for_each(|&node| taken[node] = true);
}

/// Whether the cheapest chain to `node`, of `stage`, comes by `relay`.
fn on_the_way(before: &[Vec<usize>], stage: usize, mut node: usize, relay: usize) -> bool {
    for at in (1..=stage).rev() {
        if node == relay {
            return true;
        }
        node = before[at][node];
    }
    node == relay
}
