//! Two node-disjoint chains of single relays, one for each group, over the links that can be trusted on
//! the very channels that they get: the leanest plan of P3 (section IV-B asks for one relay per stage
//! and group; more of them beat at the next receiver).
//!
//! For every length and order of channels the cheapest chain is sought by dynamic programming over
//! (stage, node), then the other around it, in turns; the best pairs are judged as whole plans
//! ([`crate::interference`]) and improved relay by relay. Nothing is drawn. Tests: tests/chains.rs.

use crate::backups;
use crate::channels::{StageChannels, REUSE_DISTANCE};
use crate::interference::Stages;
use crate::link_model::Expected;
use crate::links::Hop;
use crate::predict::{predict, Patience, Prediction};
use crate::request::Transfer;
use thalweg_units::Channel;

/// A hop with less than this is no hop.
const LEAST: f64 = 0.3;
/// Turns in which each chain is sought anew around the other.
const TURNS: usize = 3;
/// Pairs of chains that are judged as whole plans.
const JUDGED: usize = 24;
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
/// The sink hears the even group on none of the channels of so many stages before it.
const APART: usize = 2;
/// What a second channel of the sink may cost, as a share of the expected time.
const COST: f64 = 2e-3;
/// How much likelier last hops may be degraded with it.
const RISKIER: f64 = 2e-3;
/// What the odd group's last hop delivers at least, should the group have to go on it.
const FAIR: f64 = 0.9;
/// How many hops more than the fewest possible are tried.
const MORE_HOPS: usize = 4;

/// What chains are sought for.
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
        let table = Table::new(self);
        let mut found: Vec<(f64, Chains)> = Vec::new();
        let mut fewest = None;
        let mut bounds = Bounds::new(self);
        // Costs of the best so far, best first: what cannot be among them is not sought.
        let mut leading: Vec<f64> = Vec::with_capacity(JUDGED + 1);
        for hops in self.hops.clone() {
            if fewest.is_some_and(|fewest| hops > fewest + MORE_HOPS) {
                break;
            }
            let mut order = Vec::with_capacity(hops + 1);
            self.orders(hops, &mut order, &mut |order| {
                let length = 1e-3 * hops as f64;
                let least = 2.0 * bounds.of(&table, order) + length;
                let judged = leading.get(JUDGED - 1);
                if least.is_infinite() || judged.is_some_and(|&last| least > last) {
                    return;
                }
                if let Some((cost, groups)) = self.pair(&table, order) {
                    let (cost, channels) = (cost + length, order.iter());
                    let channels = channels.map(|&at| self.channels[at]).collect();
                    let place = leading.partition_point(|&better| better <= cost);
                    leading.insert(place, cost);
                    leading.truncate(JUDGED);
                    let chains = Chains {
                        groups,
                        channels,
                        last_even: None,
                    };
                    found.push((cost, chains));
                    fewest.get_or_insert(hops);
                }
            });
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let time = |chains: &Chains| self.time(&chains.stages(), chains.stage_channels());
        let mut judged: Vec<(f64, Chains)> = (found.into_iter().take(JUDGED))
            .map(|(_, chains)| (time(&chains), chains))
            .collect();
        judged.sort_by(|a, b| a.0.total_cmp(&b.0));
        judged.truncate(IMPROVED);
        if self.count == Count::Two {
            for (worth, chains) in &mut judged {
                self.improve(chains, worth, &time);
            }
        }
        judged.sort_by(|a, b| a.0.total_cmp(&b.0));
        judged.into_iter().next().map(|(_, chains)| chains)
    }

    /// Has the sink hear one group, which is the even one from then on, on a channel of its own, where last hops are as sure on it
    /// and it is far enough from those of the stages before.
    pub(crate) fn separate_sink_channels(&self, chains: &mut Chains) {
        let hops = chains.hops();
        if hops < 2 || self.count == Count::One || chains.groups[0] == chains.groups[1] {
            return;
        }
        let most = self.time(&chains.stages(), chains.stage_channels()) * (1.0 + COST);
        let risk = self.risk_at_end(chains) + RISKIER;
        let near = &chains.channels[hops.saturating_sub(APART)..];
        let [odd, even] = &chains.groups;
        let pairs = [[odd, even], [even, odd]].map(|pair| pair.map(Vec::clone));
        let far = self.channels.iter();
        let far = far.filter(|channel| !near.contains(channel));
        let parted = far.flat_map(|&last| {
            pairs.clone().map(|groups| Chains {
                groups,
                channels: chains.channels.clone(),
                last_even: Some(last),
            })
        });
        let risks = parted.map(|parted| (self.risk_at_end(&parted), parted));
        let sound = risks.filter(|(of_parted, parted)| {
            *of_parted <= risk
                && self.goes_on(parted)
                && self.time(&parted.stages(), parted.stage_channels()) <= most
        });
        if let Some((_, parted)) = sound.min_by(|a, b| a.0.total_cmp(&b.0)) {
            *chains = parted;
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

    /// Whether the odd group would do on the even group's channel as well.
    fn goes_on(&self, chains: &Chains) -> bool {
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

    /// Calls `visit` with every order of channels (places in the list) for stages 0..=`hops` in which
    /// none comes twice within the distance of reuse.
    fn orders(&self, hops: usize, order: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if order.len() == hops + 1 {
            return visit(order);
        }
        // The source listens for NACKs, the sink for data: they may share a channel.
        let first = usize::from(order.len() == hops);
        let recent = first.max(order.len().saturating_sub(REUSE_DISTANCE - 1));
        for at in 0..self.channels.len() {
            if !order[recent..].contains(&at) {
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
            let (at, other) = (turn % 2, 1 - turn % 2);
            taken.fill(false);
            mark(&mut taken, &pair[other].1);
            let Some(anew) = self.chain(table, order, &taken) else {
                break;
            };
            pair[at] = anew;
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
        let mut before: Vec<Vec<usize>> = vec![vec![usize::MAX; nodes]; hops + 1];
        let mut cost = vec![f64::INFINITY; nodes];
        cost[self.source] = 0.0;
        for stage in 1..=hops {
            let mut next = vec![f64::INFINITY; nodes];
            for from in (0..nodes).filter(|&from| cost[from].is_finite()) {
                for &(to, hop) in table.hops(order[stage], order[stage - 1], from) {
                    let last = stage == hops;
                    if (to == self.sink) != last || to == self.source || taken[to] {
                        continue;
                    }
                    let total = cost[from] + hop;
                    if total < next[to] && !on_the_way(&before, stage - 1, from, to) {
                        next[to] = total;
                        before[stage][to] = from;
                    }
                }
            }
            cost = next;
        }
        let total = cost[self.sink];
        if !total.is_finite() {
            return None;
        }
        let mut chain = vec![self.sink; hops + 1];
        for stage in (1..=hops).rev() {
            chain[stage - 1] = before[stage][chain[stage]];
        }
        Some((total, chain))
    }

    /// Changes one relay at a time as long as the whole plan gets better.
    fn improve(&self, chains: &mut Chains, worth: &mut f64, time: &impl Fn(&Chains) -> f64) {
        for _ in 0..SWEEPS {
            let before = *worth;
            for group in 0..2 {
                for stage in 1..chains.hops() {
                    let chain = &chains.groups[group];
                    let (prev, mut best, next) = (chain[stage - 1], chain[stage], chain[stage + 1]);
                    for (node, reach) in self.expected.reached(prev, chains.channels[stage]) {
                        let onward = self.expected.link(*node, next, chains.channels[stage + 1]);
                        let good = reach.delivery > LEAST
                            && onward.is_some_and(|onward| onward.delivery > LEAST);
                        let used = chains.groups.iter().any(|chain| chain.contains(node));
                        if !good || used {
                            continue;
                        }
                        chains.groups[group][stage] = *node;
                        let now = time(chains);
                        if now < *worth - 1e-9 {
                            (*worth, best) = (now, *node);
                        }
                    }
                    chains.groups[group][stage] = best;
                }
            }
            if *worth > before - 1e-6 {
                break;
            }
        }
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

/// What a chain costs at least on an order of channels: that of the cheapest walk, which may come by a node twice. Orders
/// come in turn, so most begin as the one before did.
struct Bounds {
    source: usize,
    sink: usize,
    /// The order before this one.
    order: Vec<usize>,
    /// Per stage, what it costs at least to be at each node there; of no stage but those before the sink.
    costs: Vec<Vec<f64>>,
}

impl Bounds {
    fn new(search: &Search<'_>) -> Self {
        let mut at_source = vec![f64::INFINITY; search.expected.nodes()];
        at_source[search.source] = 0.0;
        Self {
            source: search.source,
            sink: search.sink,
            order: Vec::new(),
            costs: vec![at_source],
        }
    }

    /// No chain on `order` costs less, in sums of doubles as they are.
    fn of(&mut self, table: &Table, order: &[usize]) -> f64 {
        let hops = order.len() - 1;
        let same = order.iter().zip(&self.order).take_while(|(a, b)| a == b);
        self.costs.truncate(same.count().clamp(1, hops));
        for stage in self.costs.len()..hops {
            let before = &self.costs[stage - 1];
            let mut costs = vec![f64::INFINITY; before.len()];
            for (from, &cost) in before.iter().enumerate().filter(|(_, c)| c.is_finite()) {
                for &(to, hop) in table.hops(order[stage], order[stage - 1], from) {
                    costs[to] = costs[to].min(cost + hop);
                }
            }
            costs[self.source] = f64::INFINITY;
            costs[self.sink] = f64::INFINITY;
            self.costs.push(costs);
        }
        self.order.clear();
        self.order.extend_from_slice(&order[..hops]);
        let mut least = f64::INFINITY;
        for (from, &cost) in self.costs[hops - 1].iter().enumerate() {
            let row = table.hops(order[hops], order[hops - 1], from);
            let last = row.binary_search_by_key(&self.sink, |&(to, _)| to);
            if let Ok(at) = last {
                least = least.min(cost + row[at].1);
            }
        }
        least
    }
}

/// What hops cost: minus the logarithm of their delivery forth, and a little of that back, per
/// pair of channels (places in the list) forth and back.
struct Table {
    channels: usize,
    rows: Vec<Vec<Vec<(usize, f64)>>>,
}

impl Table {
    fn new(search: &Search<'_>) -> Self {
        let &Search {
            expected,
            channels,
            reverse_cost,
            ..
        } = search;
        let hop = |from: usize, forth: Channel, back: Channel| {
            let reached = expected.reached(from, forth).iter();
            reached
                .filter(|(_, reach)| reach.delivery > LEAST)
                .map(|&(to, reach)| {
                    let back = expected.link(to, from, back).map_or(0.0, |r| r.delivery);
                    let cost = -libm::log(reach.delivery.min(1.0))
                        - reverse_cost * libm::log(back.clamp(1e-3, 1.0));
                    (to, cost)
                })
                .collect()
        };
        let mut rows = Vec::new();
        for &forth in channels {
            for &back in channels {
                rows.push((0..expected.nodes()).map(|n| hop(n, forth, back)).collect());
            }
        }
        Self {
            channels: channels.len(),
            rows,
        }
    }
    fn hops(&self, forth: usize, back: usize, from: usize) -> &[(usize, f64)] {
        &self.rows[forth * self.channels + back][from]
    }
}
