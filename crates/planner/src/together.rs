//! Which receivers of a plan's chains are in bursts at one time.
//!
//! Model: what disturbs a receiver disturbs the one before it in its chain, too, or only others; and so it is, less often, with the
//! receiver of the other chain at its stage. How often is what a survey tells of those that hear each other, and of those that hear the
//! same sender ([`Bursts::kin`]). Not modelled: a chain that comes back to where it was. Tests: below.

use crate::bursts::Bursts;
use std::collections::BTreeMap;

/// Whose frames disturb the receivers that are in a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Foreign {
    /// Those of one place: each frame is at all of the receivers.
    Common,
    /// Those of several places, each with its own frames.
    Apart,
}

/// Receivers that are in bursts at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Inside {
    /// How many stages of each of two chains, the one with more of them first.
    pub(crate) stages: [usize; 2],
    pub(crate) foreign: Foreign,
}

impl Inside {
    /// So many stages of each chain, all in one place.
    pub(crate) const fn one(stages: usize) -> Self {
        Self {
            stages: [stages; 2],
            foreign: Foreign::Common,
        }
    }
    pub(crate) fn is_none(&self) -> bool {
        self.stages == [0; 2]
    }
    /// Share of the packets that such bursts take, each a share `hit` of the frames: either of two chains carries half of them.
    pub(crate) fn lost(&self, hit: f64) -> f64 {
        let lost = self
            .stages
            .map(|stages| 1.0 - libm::pow(1.0 - hit, stages as f64));
        (lost[0] + lost[1]) / 2.0
    }
    /// With a receiver of these chains.
    fn with(mut self, receiver: Receiver, chains: &[usize]) -> Self {
        if receiver.is_inside {
            if receiver.is_elsewhere && !self.is_none() {
                self.foreign = Foreign::Apart;
            }
            chains.iter().for_each(|chain| self.stages[*chain] += 1);
        }
        self
    }
}

#[derive(Debug, Clone, Copy)]
struct Receiver {
    is_inside: bool,
    /// Whether what disturbs it disturbs none of the others.
    is_elsewhere: bool,
}

/// What a receiver may be, and how likely, with probability `kin` like one that `is_inside` a burst or not.
fn beside(kin: f64, is_inside: bool, share: f64) -> [(Receiver, f64); 3] {
    let receiver = |is_inside, is_elsewhere| Receiver {
        is_inside,
        is_elsewhere,
    };
    let elsewhere = 1.0 - kin;
    [
        (receiver(is_inside, false), kin),
        (receiver(true, true), elsewhere * share),
        (receiver(false, true), elsewhere * (1.0 - share)),
    ]
}

/// What the receivers so far are: those in bursts, and whether the last of each chain is.
type Chances = BTreeMap<(Inside, [bool; 2]), f64>;

/// What may be at one time over one or two `chains` of so many `hops`, and how likely. Both end at the sink. One chain counts as two
/// that are the same.
pub(crate) fn together(bursts: &Bursts, hops: usize, chains: usize) -> Vec<(Inside, f64)> {
    let ([along, across], share) = (bursts.kin(), bursts.share);
    let none = (Inside::one(0), [false; 2]);
    let mut now = Chances::from([(none, 1.0)]);
    for stage in 1..hops {
        // Nobody is before the first.
        let keeps = if stage > 1 { along } else { 0.0 };
        let mut next = Chances::new();
        for ((inside, last), chance) in now {
            let mut add = |receivers: [Receiver; 2], part: f64| {
                let [a, b] = receivers;
                let inside = match chains {
                    1 => inside.with(a, &[0, 1]),
                    _ => inside.with(a, &[0]).with(b, &[1]),
                };
                let last = [a.is_inside, b.is_inside];
                *next.entry((inside, last)).or_default() += chance * part;
            };
            if chains == 1 {
                for (a, part) in beside(keeps, last[0], share) {
                    add([a; 2], part);
                }
                continue;
            }
            let kept = last.map(|is_inside| beside(1.0, is_inside, share)[0].0);
            add(kept, keeps * keeps);
            // One that is not like the receiver before it may be like the other chain's.
            for (a, part) in beside(across, last[1], share) {
                add([a, kept[1]], (1.0 - keeps) * keeps * part);
            }
            for (b, part) in beside(across, last[0], share) {
                add([kept[0], b], (1.0 - keeps) * keeps * part);
            }
            for (a, part) in beside(0.0, false, share) {
                for (b, also) in beside(across, a.is_inside, share) {
                    add([a, b], (1.0 - keeps) * (1.0 - keeps) * part * also);
                }
            }
        }
        now = next;
    }
    // The sink is like one of the last relays, and as often like either as these are like those before them.
    let keeps = match (hops, chains) {
        (..=1, _) => 0.0,
        (_, 1) => along,
        _ => (2.0 * along / (1.0 + across)).min(1.0),
    };
    let mut found = BTreeMap::<Inside, f64>::new();
    for ((inside, last), chance) in now {
        for is_inside in last {
            for (sink, part) in beside(keeps, is_inside, share) {
                let mut inside = inside.with(sink, &[0, 1]);
                inside.stages.sort_unstable_by(|a, b| b.cmp(a));
                *found.entry(inside).or_default() += chance * part / 2.0;
            }
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(share: f64, [along, across]: [f64; 2]) -> Bursts {
        Bursts {
            share,
            hit: 0.1,
            along,
            across,
        }
    }

    #[test]
    fn all_receivers_are_in_one_burst_or_each_in_its_own() {
        let all = together(&of(0.1, [1.0; 2]), 4, 2);
        let likely: Vec<_> = all.iter().filter(|(_, chance)| *chance > 0.0).collect();
        let [(none, outside), (every, inside)] = likely[..] else {
            panic!("{likely:?}");
        };
        assert_eq!((*none, *every), (Inside::one(0), Inside::one(4)));
        assert!((outside - 0.9).abs() < 1e-12 && (inside - 0.1).abs() < 1e-12);
        // As many as share says: independent, three relays of each chain and the sink.
        for (chains, receivers) in [(1, 4), (2, 7)] {
            let apart = together(&of(0.1, [0.1; 2]), 4, chains);
            let outside = apart[0].1 - libm::pow(0.9, f64::from(receivers));
            assert!(apart[0].0.is_none() && outside.abs() < 1e-12, "{apart:?}");
            let sum: f64 = apart.iter().map(|(_, chance)| chance).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
        assert_eq!(together(&Bursts::NONE, 3, 2)[0].1, 1.0);
    }

    #[test]
    fn neighbours_are_in_bursts_together_as_often_as_is_known() {
        let (share, shared) = (0.2, 0.6);
        let two = together(&of(share, [shared, 0.3]), 2, 1);
        let with = |stages| {
            let of = two
                .iter()
                .filter(|(inside, _)| inside.stages == [stages; 2]);
            of.map(|(_, chance)| chance).sum::<f64>()
        };
        assert!((with(2) - share * shared).abs() < 1e-12, "{two:?}");
        assert!((with(1) - 2.0 * share * (1.0 - shared)).abs() < 1e-12);
        // Every receiver is in one for its share of the time, however many there are.
        for (hops, chains) in [(1, 2), (3, 1), (3, 2), (6, 2)] {
            let all = together(&of(share, [shared, 0.3]), hops, chains);
            let mean = |(inside, chance): &(Inside, f64)| {
                chance * (inside.stages[0] + inside.stages[1]) as f64 / 2.0
            };
            let mean: f64 = all.iter().map(mean).sum();
            assert!((mean - share * hops as f64).abs() < 1e-9, "{hops} {mean}");
        }
    }

    #[test]
    fn both_chains_are_in_a_burst_as_often_as_receivers_of_one_sender() {
        let (share, along, across) = (0.2, 0.7, 0.4);
        let bursts = of(share, [along, across]);
        let all = together(&bursts, 2, 2);
        let of = all
            .iter()
            .filter(|(inside, _)| inside.stages == [2; 2])
            .map(|(_, chance)| chance);
        // Both relays, and the sink, which is like one of them.
        let [along, across_by_kin] = bursts.kin();
        let like = 2.0 * along / (1.0 + across_by_kin);
        let sink = like + (1.0 - like) * share;
        assert!((of.sum::<f64>() - share * across * sink).abs() < 1e-12);
        // At later stages it is the same.
        let later = together(&bursts, 6, 2);
        let both: f64 = later
            .iter()
            .filter(|(inside, _)| inside.stages == [6; 2])
            .map(|(_, chance)| chance)
            .sum();
        let stays = along * along + (1.0 - along * along) * across_by_kin;
        assert!(
            both > share * across * sink * libm::pow(stays, 4.0),
            "{both}"
        );
    }

    #[test]
    fn receivers_that_are_no_kin_are_disturbed_apart() {
        let chance = |shared, foreign| {
            let all = together(&of(0.5, [shared; 2]), 3, 2).into_iter();
            let of = all.filter(|(inside, _)| inside.foreign == foreign);
            of.map(|(_, chance)| chance).sum::<f64>()
        };
        assert!(chance(1.0, Foreign::Apart) < 1e-12);
        let some = chance(0.75, Foreign::Apart);
        assert!(chance(0.5, Foreign::Apart) > some && some > 0.1, "{some}");
    }
}
