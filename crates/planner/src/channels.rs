//! Which reception channel each stage of a pipeline gets (P3, section IV-D2).
//!
//! The faithful rule counts a fixed list back from the sink; [`Assignment::Best`] chooses by measured
//! qualities. Invariant: two stages fewer than [`REUSE_DISTANCE`] hops apart differ in channel, so that
//! what they do in one cycle does not collide. Where there are fewer channels, see `needed`. Not modelled: how far
//! interference reaches.
//! Tests: `channels_tests.rs`.

use std::collections::BTreeMap;
use thalweg_units::Channel;

/// Hops after which a channel may be used again (P3 gets by on four channels on any route).
pub const REUSE_DISTANCE: usize = 4;
/// The same where there are but three channels: then a stage hears the next sender on its channel from two hops away.
const LEAST_REUSE_DISTANCE: usize = 3;

/// Hops after which a channel is used again where there are so many.
pub(crate) fn reuse_distance(channels: usize) -> usize {
    channels.clamp(LEAST_REUSE_DISTANCE, REUSE_DISTANCE)
}

/// How many channels a route of `hops` hops needs at least. With two groups all stages send in each cycle. One path's
/// send in alternate cycles, so that neighbouring stages may share a channel.
pub(crate) fn needed(hops: usize, paths: usize) -> usize {
    match (paths, hops) {
        (1, 0..=2) => 1,
        (1, _) => 2,
        _ => hops.min(LEAST_REUSE_DISTANCE),
    }
}

/// How channels are given to stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assignment {
    /// The request's channels in turn, the first to the sink, then back towards the source.
    #[default]
    CountedBack,
    /// For every stage the channel with the best measured qualities among those allowed: none twice
    /// within [`REUSE_DISTANCE`] stages, no two side by side in the band at neighbouring stages.
    Best,
}

/// On which channel each stage hears each group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageChannels<'a> {
    /// Of stages 0..=H.
    pub(crate) stages: &'a [Channel],
    /// Of the sink for the even group, where that is not the last of them.
    pub(crate) last_even: Option<Channel>,
}

impl StageChannels<'_> {
    /// H.
    pub(crate) fn hops(self) -> usize {
        self.stages.len().saturating_sub(1)
    }
    /// The channel on which a stage receives `group` (0: the odd one); none beyond the sink.
    pub(crate) fn of(self, group: usize, stage: usize) -> Option<Channel> {
        let all = self.stages.get(stage).copied();
        match self.last_even {
            Some(last) if group == 1 && stage == self.hops() => Some(last),
            _ => all,
        }
    }
}

impl<'a> From<&'a [Channel]> for StageChannels<'a> {
    /// Both groups on the same.
    fn from(stages: &'a [Channel]) -> Self {
        let last_even = None;
        Self { stages, last_even }
    }
}

/// Channels of stages 0..=`hops` (stage 0 is the source, which listens for NACKs), `channels` counted
/// back from the sink and repeated as needed. Empty where `channels` is.
pub fn counted_back(channels: &[Channel], hops: usize) -> Vec<Channel> {
    let mut stages: Vec<Channel> = channels.iter().copied().cycle().take(hops + 1).collect();
    stages.reverse();
    stages
}

/// The same for one path where two groups would need more channels: each serves two neighbouring stages.
pub(crate) fn counted_back_in_pairs(channels: &[Channel], hops: usize) -> Vec<Channel> {
    let pairs: Vec<Channel> = channels.iter().flat_map(|&c| [c, c]).collect();
    counted_back(&pairs, hops)
}

/// An order for a set of channels, to be counted back from the sink: the routing channel first if it
/// is there, then so that channels of neighbouring stages lie far apart in the band (the smallest
/// distance between neighbours on the ring is largest; of equals, the one that stays nearest to the
/// first channel longest). 15, 20, 25, 26 become 26, 20, 25, 15. Repeated channels are dropped.
pub fn spread_order(channels: &[Channel], routing: Channel) -> Vec<Channel> {
    let mut set = channels.to_vec();
    set.sort_unstable();
    set.dedup();
    let Some(&last) = set.last() else { return set };
    let wanted = set.contains(&routing);
    let first = if wanted { routing } else { last };
    set.retain(|&channel| channel != first);
    // Nearest to the first channel first, so that of equal rings the wanted one is met first.
    set.sort_by_key(|&channel| (apart(channel, first), channel));
    if set.len() > 7 {
        // Too many to try all rings: from the two halves of the band in turn.
        let (low, high) = set.split_at(set.len() / 2);
        let mut order = vec![first];
        for at in 0..high.len() {
            order.extend(high.get(at));
            order.extend(low.get(at));
        }
        return order;
    }
    let mut best = (0, set.clone());
    permute(&mut set.clone(), 0, &mut |ring| {
        let closed = ring.iter().chain([&first]);
        let steps = std::iter::once(&first).chain(ring).zip(closed);
        let least = steps.map(|(a, b)| apart(*a, *b)).min().unwrap_or(0);
        if least > best.0 || (least == best.0 && nearer(ring, &best.1, first)) {
            best = (least, ring.to_vec());
        }
    });
    std::iter::once(first).chain(best.1).collect()
}

/// Distance in the band, in channels.
pub(crate) fn apart(a: Channel, b: Channel) -> usize {
    a.index().abs_diff(b.index())
}

fn nearer(ring: &[Channel], other: &[Channel], first: Channel) -> bool {
    let distance = |c: &Channel| apart(*c, first);
    ring.iter().map(distance).lt(other.iter().map(distance))
}

fn permute(items: &mut [Channel], from: usize, visit: &mut impl FnMut(&[Channel])) {
    if from + 1 >= items.len() {
        visit(items);
        return;
    }
    for at in from..items.len() {
        items.swap(from, at);
        permute(items, from + 1, visit);
        items.swap(from, at);
    }
}

/// The assignment that maximises the sum of `worth(stage, channel)` over stages 1..=`hops` under
/// the rules of [`Assignment::Best`], the source's channel included; none where `candidates` are too few.
pub(crate) fn best(
    candidates: &[Channel],
    hops: usize,
    worth: impl Fn(usize, Channel) -> f64,
) -> Option<Vec<Channel>> {
    /// Channels of the last stages, the latest first.
    type Recent = Vec<Channel>;
    let fits = |recent: &Recent, channel: Channel| {
        !recent.contains(&channel) && recent.first().is_none_or(|&last| apart(last, channel) > 1)
    };
    // Best total per recent channels, with the whole assignment; sorted, so that ties fall the same way.
    let mut states = BTreeMap::from([(Recent::new(), (0.0, Vec::new()))]);
    for stage in 0..=hops {
        let gains: Vec<f64> = candidates.iter().map(|&c| worth(stage, c)).collect();
        let mut onward: BTreeMap<Recent, (f64, Vec<Channel>)> = BTreeMap::new();
        for (recent, (total, so_far)) in &states {
            for (&channel, gain) in candidates.iter().zip(&gains) {
                if !fits(recent, channel) {
                    continue;
                }
                let mut now: Recent = vec![channel];
                now.extend(recent.iter().take(REUSE_DISTANCE - 2));
                let total = total + gain;
                if onward.get(&now).is_none_or(|(best, _)| total > *best) {
                    let mut all = so_far.clone();
                    all.push(channel);
                    onward.insert(now, (total, all));
                }
            }
        }
        states = onward;
    }
    // Of equals the first.
    let better = |a: (f64, Vec<Channel>), b: (f64, Vec<Channel>)| if b.0 > a.0 { b } else { a };
    states.into_values().reduce(better).map(|(_, all)| all)
}

#[cfg(test)]
#[path = "channels_tests.rs"]
mod tests;
