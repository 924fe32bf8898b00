//! Which reception channel each stage of a pipeline gets (P3, section IV-D2).
//!
//! The faithful rule counts a fixed list back from the sink; [`Assignment::Best`] chooses by measured
//! qualities. Invariant: two stages fewer than [`REUSE_DISTANCE`] hops apart differ in channel, so that
//! what they do in one cycle does not collide. Not modelled: how far interference reaches.
//! Tests: below.

use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_units::Channel;

/// Hops after which a channel may be used again (P3 gets by on four channels on any route).
pub const REUSE_DISTANCE: usize = 4;

/// How channels are given to stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "kebab-case")]
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
    /// The channel of a stage for `group`, 0 for the odd one; none beyond the sink.
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
mod tests {
    use super::*;

    fn channels(numbers: &[u8]) -> Vec<Channel> {
        numbers.iter().map(|&n| Channel::new(n).unwrap()).collect()
    }

    #[test]
    fn the_sink_gets_the_first_and_the_source_follows_the_same_rule() {
        let list = channels(&[26, 20, 25, 15]);
        assert_eq!(counted_back(&list, 3), channels(&[15, 25, 20, 26]));
        assert_eq!(counted_back(&list, 5), channels(&[20, 26, 15, 25, 20, 26]));
        assert!(counted_back(&[], 3).is_empty());
    }

    #[test]
    fn spreading_the_papers_channels() {
        let order = spread_order(&channels(&[15, 20, 25, 26]), Channel::LAST);
        assert_eq!(order, channels(&[26, 20, 25, 15]));
        let twice = spread_order(&channels(&[25, 25]), Channel::LAST);
        assert_eq!(twice, channels(&[25]));
        let all: Vec<Channel> = Channel::all().collect();
        let mut order = spread_order(&all, Channel::LAST);
        assert!(order.windows(2).all(|pair| apart(pair[0], pair[1]) > 2));
        order.sort_unstable();
        assert_eq!(order, all);
    }

    #[test]
    fn the_best_assignment_keeps_its_distance() {
        let all: Vec<Channel> = Channel::all().collect();
        // Everybody wants 26, then 25.
        let stages = best(&all, 8, |_, channel| channel.index() as f64).unwrap();
        assert_eq!(stages.len(), 9);
        for (at, &channel) in stages.iter().enumerate() {
            let mut near = stages[at + 1..].iter().take(REUSE_DISTANCE - 1);
            assert!(!near.any(|&c| c == channel));
        }
        assert!(stages.windows(2).all(|pair| apart(pair[0], pair[1]) > 1));
        // On stage 5 a certain channel is worth most.
        let wanted = Channel::new(17).unwrap();
        let worth = |stage, channel| f64::from(stage == 5 && channel == wanted);
        assert_eq!(best(&all, 8, worth).unwrap()[5], wanted);
        assert_eq!(best(&channels(&[25, 26]), 4, |_, _| 0.0), None);
    }
}
