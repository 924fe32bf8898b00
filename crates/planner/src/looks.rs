//! What a transfer's looks make of its chains: one that delivers so much, or one through a burst.
//!
//! In a cycle every stage receives, each another packet. So a foreign frame takes a packet of each stage that is in the burst,
//! and those follow each other: half of them are of each group. Losses come together, and both groups have the same. Not
//! modelled: bursts that end within a look, or begin in one; where they last a second that is a twentieth. Tests: below.

use crate::expect::fewer_than;
use crate::rules;

/// Packets of a group that are looked at first, and how many of them must arrive (`thalweg_protocols::thalweg::Looker`).
pub const LOOK: (u32, u32) = (rules::LOOK / 2, 5);
/// The same of a longer look, which follows where any of the first were lost.
const LONG_LOOK: (u32, u32) = (rules::LONG_LOOK / 2, 14);

/// What looks come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Looked {
    /// Probability that a longer look follows.
    pub(crate) again: f64,
    /// Probability that the chain, or one of two, is lame.
    pub(crate) lame: f64,
}

impl Looked {
    /// Of a chain that delivers so much.
    pub(crate) fn at(delivery: f64) -> Self {
        let ((first, enough), (long, most)) = (LOOK, LONG_LOOK);
        let lame = fewer_than(enough, first, delivery);
        let again = 1.0 - lame - libm::pow(delivery, f64::from(first));
        Self {
            again,
            lame: lame + again * fewer_than(most, long, delivery),
        }
    }

    /// Of one or two `groups`, `stages` of which are in a burst that takes a share `hit` of the frames.
    pub(crate) fn in_burst(hit: f64, stages: usize, groups: usize) -> Self {
        let lame_from = |(of, enough): (u32, u32)| (of - enough + 1) as usize;
        let (of_first, of_long) = (lame_from(LOOK), lame_from(LONG_LOOK));
        let burst = Burst {
            hit,
            stages,
            groups,
        };
        let lost = burst.lost(rules::LOOK, of_first);
        let lame = lost.at_least(of_first);
        let again = lost.at_least(1) - lame;
        let lost = burst.lost(rules::LONG_LOOK, of_long);
        Self {
            again,
            lame: lame + again * lost.at_least(of_long),
        }
    }
}

/// Stages that follow each other, in a burst that takes a share of the frames.
struct Burst {
    hit: f64,
    stages: usize,
    groups: usize,
}

impl Burst {
    /// What of `packets`, one a cycle, is lost, counted up to `most`. A packet is where a foreign frame is in any of as many
    /// cycles as there are stages.
    fn lost(&self, packets: u32, most: usize) -> Lost {
        let Self {
            hit,
            stages,
            groups,
        } = *self;
        // By cycles since the last foreign frame; in the last place it is too long ago for any packet.
        let mut by = vec![Lost::never(most); stages + 1];
        by[stages] = Lost::nothing(most);
        for cycle in 1..stages + packets as usize {
            let now = Lost::sum(&by, hit);
            let long_ago = by[stages].clone();
            by.rotate_right(1);
            by[stages].add(&long_ago, 1.0);
            by.iter_mut().for_each(|since| since.scale(1.0 - hit));
            by[0] = now;
            // Both groups send in turn.
            let group = cycle.checked_sub(stages).map(|packet| packet % 2);
            if let Some(group) = group.filter(|group| *group < groups) {
                by[..stages].iter_mut().for_each(|since| since.lose(group));
            }
        }
        Lost::sum(&by, 1.0)
    }
}

/// Probabilities that so many packets of each of two groups are lost, the last being so many or more.
#[derive(Clone)]
struct Lost {
    most: usize,
    /// By packets of one group, and of the other.
    chances: Vec<f64>,
}

impl Lost {
    fn never(most: usize) -> Self {
        let chances = vec![0.0; (most + 1) * (most + 1)];
        Self { most, chances }
    }
    fn nothing(most: usize) -> Self {
        let mut nothing = Self::never(most);
        nothing.chances[0] = 1.0;
        nothing
    }
    /// So much of all of these.
    fn sum(all: &[Self], weight: f64) -> Self {
        let mut sum = Self::never(all.first().map_or(0, |one| one.most));
        all.iter().for_each(|one| sum.add(one, weight));
        sum
    }
    fn scale(&mut self, by: f64) {
        self.chances.iter_mut().for_each(|chance| *chance *= by);
    }
    fn add(&mut self, other: &Self, weight: f64) {
        for (to, from) in self.chances.iter_mut().zip(&other.chances) {
            *to += weight * from;
        }
    }
    /// One more of a group.
    fn lose(&mut self, group: usize) {
        let places = self.most + 1;
        let before = core::mem::take(&mut self.chances);
        let mut after: Vec<f64> = vec![0.0; places * places];
        for (at, chance) in before.iter().enumerate() {
            let mut lost = [at / places, at % places];
            lost[group] = (lost[group] + 1).min(self.most);
            after[lost[0] * places + lost[1]] += chance;
        }
        self.chances = after;
    }
    /// Probability that either group has lost so many.
    fn at_least(&self, lost: usize) -> f64 {
        let places = self.most + 1;
        let chances = self.chances.iter().enumerate();
        let have = |at: usize| at / places >= lost || at % places >= lost;
        chances
            .filter(|(at, _)| have(*at))
            .map(|(_, chance)| chance)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn a_longer_look_follows_chains_that_lose_a_few() {
        let of_all = Looked::at(1.0);
        assert!(of_all.again.abs() < 1e-12 && of_all.lame.abs() < 1e-12);
        let Looked { again, lame } = Looked::at(0.9);
        assert!(
            (0.5..0.6).contains(&again) && (0.1..0.15).contains(&lame),
            "{again} {lame}"
        );
        assert!(Looked::at(0.7).lame > 0.8 && Looked::at(0.1).lame > 0.999);
    }

    #[test]
    fn one_stage_in_a_burst_is_a_chain_that_loses_as_much() {
        let looked = Looked::in_burst(0.1, 1, 1);
        let chain = Looked::at(0.9);
        assert!((looked.again - chain.again).abs() < 1e-12, "{looked:?}");
        assert!((looked.lame - chain.lame).abs() < 1e-12, "{looked:?}");
        assert_eq!(Looked::in_burst(0.0, 3, 2).lame, 0.0);
    }

    #[test]
    fn a_foreign_frame_takes_a_packet_of_each_stage() {
        let (hit, stages) = (0.05, 4);
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let mut lost = |packets: usize| {
            let foreign: Vec<bool> = (0..packets + stages)
                .map(|_| rng.random::<f64>() < hit)
                .collect();
            let is_lost = |packet: &usize| foreign[*packet..packet + stages].contains(&true);
            [0, 1].map(|group| {
                (0..packets)
                    .filter(|n| n % 2 == group)
                    .filter(is_lost)
                    .count()
            })
        };
        let (mut again, mut lame) = (0, 0);
        let of = 20_000;
        for _ in 0..of {
            let [first, long] =
                [16, 32].map(|packets| lost(packets).into_iter().max().unwrap_or(0));
            again += i32::from((1..4).contains(&first));
            lame += i32::from(first >= 4 || (first >= 1 && long >= 3));
        }
        let looked = Looked::in_burst(hit, stages, 2);
        let measured = [again, lame].map(|count| f64::from(count) / f64::from(of));
        assert!(
            (looked.again - measured[0]).abs() < 0.01,
            "{looked:?} {measured:?}"
        );
        assert!(
            (looked.lame - measured[1]).abs() < 0.01,
            "{looked:?} {measured:?}"
        );
        // As many losses, each for itself, are told more often.
        assert!(Looked::at(libm::pow(1.0 - hit, 4.0)).lame > looked.lame);
    }
}
