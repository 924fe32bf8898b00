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

/// Packets of a longer look with fewer of which a group that has called already is better begun anew: a transfer of 500 then
/// misses so many that rounds take longer (`thalweg_protocols::thalweg::Looker`). Of the first packets it is as few as call.
const HOPELESS: u32 = 11;

/// What looks come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Looked {
    /// Probability that a longer look follows.
    pub(crate) again: f64,
    /// Probability that the chain, or one of two, is lame.
    pub(crate) lame: f64,
}

/// The same in a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InBurst {
    pub(crate) looked: Looked,
    /// Of two chains so many are lame where one is, 1..=2.
    pub(crate) chains: f64,
    /// Probability that these call to the end.
    pub(crate) calls: f64,
    /// Probability that a further look finds that nothing helps, where the burst goes on.
    pub(crate) hopeless: f64,
}

impl Looked {
    /// All is well.
    pub(crate) const GOOD: Self = Self {
        again: 0.0,
        lame: 0.0,
    };

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

    /// The same where somebody stands by at its end who receives all, and sends it on once it missed enough of a window.
    pub(crate) fn stood_by(delivery: f64) -> Self {
        let lost_from = |(of, enough): (u32, u32)| (of - enough + 1) as usize;
        let first = Beside::after(LOOK.0, delivery);
        let lame: f64 = first.lost[lost_from(LOOK)..].iter().sum();
        let again = 1.0 - lame - first.lost[0];
        // Having begun to send on, it goes on.
        let long = Beside::after(LONG_LOOK.0, delivery);
        let lame_later: f64 = long.lost[lost_from(LONG_LOOK)..].iter().sum();
        Self {
            again,
            lame: lame + (again - first.begun) * lame_later,
        }
    }
}

/// Packets lost that are told apart: of a look, with more a chain is lame.
const TOLD: usize = (LOOK.0 - LOOK.1 + 2) as usize;
const WINDOW: usize = rules::IN_WINDOW as usize;

/// What becomes of packets over a hop at whose end somebody stands by.
struct Beside {
    /// Probabilities that so many are lost, the last being so many or more.
    lost: [f64; TOLD],
    /// Probability that who stands by has begun to send on.
    begun: f64,
}

impl Beside {
    fn after(packets: u32, delivery: f64) -> Self {
        let missed = 1.0 - delivery;
        // In the window by packets sent on and missed, and after it by packets lost.
        let mut open = [[0.0; WINDOW]; WINDOW];
        open[0][0] = 1.0;
        let mut closed = [0.0; TOLD];
        let mut begun = 0.0;
        for _ in 0..packets {
            let mut after = [0.0; TOLD];
            for (lost, chance) in closed.into_iter().enumerate() {
                after[lost] += chance * delivery;
                after[(lost + 1).min(TOLD - 1)] += chance * missed;
            }
            closed = after;
            let mut next = [[0.0; WINDOW]; WINDOW];
            for (on, row) in open.into_iter().enumerate() {
                for (off, chance) in row.into_iter().enumerate() {
                    match next.get_mut(on + 1) {
                        Some(row) => row[off] += chance * delivery,
                        None => closed[off] += chance * delivery,
                    }
                    match next[on].get_mut(off + 1) {
                        Some(place) => *place += chance * missed,
                        None => begun += chance * missed,
                    }
                }
            }
            open = next;
        }
        let mut lost = closed;
        lost[WINDOW] += begun;
        for row in open {
            row.into_iter()
                .zip(&mut lost)
                .for_each(|(chance, lost)| *lost += chance);
        }
        Self { lost, begun }
    }
}

impl InBurst {
    /// Nobody looks.
    pub(crate) const UNSEEN: Self = Self {
        looked: Looked::GOOD,
        chains: 1.0,
        calls: 1.0,
        hopeless: 0.0,
    };

    /// Of one or two `groups`, `stages` of which are in a burst that takes a share `hit` of the frames.
    pub(crate) fn of(hit: f64, stages: usize, groups: usize) -> Self {
        let lost_from = |of: u32, enough: u32| (of - enough + 1) as usize;
        let of_first = lost_from(LOOK.0, LOOK.1);
        let of_long = lost_from(LONG_LOOK.0, LONG_LOOK.1);
        let in_vain = lost_from(LONG_LOOK.0, HOPELESS);
        let burst = Burst {
            hit,
            stages,
            groups,
        };
        let lost = burst.lost(rules::LOOK, of_first);
        let long = burst.lost(rules::LONG_LOOK, in_vain);
        let first = lost.at_least(of_first);
        let again = lost.at_least(1) - first;
        let lame = first + again * long.at_least(of_long);
        let chains = lost.groups_with(of_first) + again * long.groups_with(of_long);
        let chains = if lame > 0.0 { chains / lame } else { 1.0 };
        // Those that have called are looked at again: one of the groups, or both.
        let one = |lost: &Lost, most: usize| lost.groups_with(most) / groups as f64;
        let both = |lost: &Lost, most: usize| lost.at_least(most);
        let bad = |of: &dyn Fn(&Lost, usize) -> f64| {
            let first = of(&lost, of_first);
            first + (of(&lost, 1) - first) * of(&long, in_vain)
        };
        let bad = (2.0 - chains) * bad(&one) + (chains - 1.0) * bad(&both);
        // One that lost a few of many before it called does not call any more then, and others are given up.
        let few = again * (long.at_least(of_long) - long.at_least(in_vain));
        let hopeless = if lame > 0.0 { 1.0 - few / lame } else { 1.0 };
        Self {
            looked: Looked { again, lame },
            chains,
            calls: 1.0 - bad,
            hopeless: bad * hopeless,
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
        self.mean(|[one, other]| f64::from(u8::from(one >= lost || other >= lost)))
    }
    /// How many groups have lost so many, on average.
    fn groups_with(&self, lost: usize) -> f64 {
        self.mean(|counts| counts.iter().filter(|count| **count >= lost).count() as f64)
    }
    fn mean(&self, of: impl Fn([usize; 2]) -> f64) -> f64 {
        let places = self.most + 1;
        let chances = self.chances.iter().enumerate();
        chances
            .map(|(at, chance)| chance * of([at / places, at % places]))
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
    fn who_stands_by_takes_over_after_three_of_a_window() {
        let (dead, whole) = (Looked::stood_by(0.0), Looked::stood_by(1.0));
        assert!(dead.lame < 1e-12 && (dead.again - 1.0).abs() < 1e-12);
        assert!(whole.lame.abs() < 1e-12 && whole.again.abs() < 1e-12);
        let (delivery, of) = (0.6, 20_000);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut look = |packets: usize, mut helps: bool| {
            let (mut sent_on, mut missed, mut lost) = (0, 0, 0);
            for _ in 0..packets {
                let arrives = rng.random::<f64>() < delivery;
                lost += usize::from(!arrives && !helps);
                if sent_on < 3 && !helps {
                    sent_on += usize::from(arrives);
                    missed += usize::from(!arrives);
                    helps = missed == 3;
                }
            }
            (lost, helps)
        };
        let (mut again, mut lame) = (0, 0);
        for _ in 0..of {
            let (lost, helps) = look(8, false);
            let is_again = (1..4).contains(&lost);
            again += usize::from(is_again);
            lame += usize::from(lost > 3 || is_again && look(16, helps).0 > 2);
        }
        let told = Looked::stood_by(delivery);
        for (told, counted) in [(told.again, again), (told.lame, lame)] {
            let counted = counted as f64 / f64::from(of);
            assert!((told - counted).abs() < 0.012, "{told} {counted}");
        }
        assert!(told.lame < Looked::at(delivery).lame);
    }

    #[test]
    fn one_stage_in_a_burst_is_a_chain_that_loses_as_much() {
        let of_one = InBurst::of(0.1, 1, 1);
        let (looked, chain) = (of_one.looked, Looked::at(0.9));
        assert!((looked.again - chain.again).abs() < 1e-12, "{looked:?}");
        assert!((looked.lame - chain.lame).abs() < 1e-12, "{looked:?}");
        assert!((of_one.chains - 1.0).abs() < 1e-12, "{of_one:?}");
        let long = fewer_than(HOPELESS, LONG_LOOK.0, 0.9);
        let bad = fewer_than(LOOK.1, LOOK.0, 0.9) + chain.again * long;
        assert!((of_one.calls - (1.0 - bad)).abs() < 1e-12, "{of_one:?}");
        let few = fewer_than(LONG_LOOK.1, LONG_LOOK.0, 0.9) - long;
        let hopeless = bad * (1.0 - chain.again * few / chain.lame);
        assert!((of_one.hopeless - hopeless).abs() < 1e-12, "{of_one:?}");
        assert_eq!(InBurst::of(0.0, 3, 2).looked.lame, 0.0);
    }

    #[test]
    fn a_foreign_frame_takes_a_packet_of_each_stage() {
        let (hit, stages, of) = (0.05, 4, 20_000);
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
        let (mut again, mut lame, mut chains) = (0, 0, 0);
        // Of one group, and of either.
        let mut bad = [0; 2];
        for _ in 0..of {
            let [first, long] = [16, 32].map(&mut lost);
            let with = |lost: [usize; 2], most: usize| lost.iter().filter(|n| **n >= most).count();
            let is_again = with(first, 4) == 0 && with(first, 1) > 0;
            let now = with(first, 4) + usize::from(is_again) * with(long, 3);
            again += usize::from(is_again);
            lame += usize::from(now > 0);
            chains += now;
            let one = first[0] > 3 || first[0] > 0 && long[0] > 5;
            let either = with(first, 4) > 0 || is_again && with(long, 6) > 0;
            bad[0] += usize::from(one);
            bad[1] += usize::from(either);
        }
        let burst = InBurst::of(hit, stages, 2);
        let looked = burst.looked;
        let told = [looked.again, looked.lame, looked.lame * burst.chains];
        let [one, either] = bad.map(|count| count as f64 / f64::from(of));
        let both = burst.chains - 1.0;
        let apart = 1.0 - burst.calls - ((1.0 - both) * one + both * either);
        assert!(apart.abs() < 0.012, "{burst:?} {bad:?}");
        assert!(burst.hopeless < 1.0 - burst.calls, "{burst:?}");
        for (told, counted) in told.into_iter().zip([again, lame, chains]) {
            let counted = counted as f64 / f64::from(of);
            assert!((told - counted).abs() < 0.012, "{burst:?} {told} {counted}");
        }
        // As many losses, each for itself, are told more often.
        assert!(Looked::at(libm::pow(1.0 - hit, 4.0)).lame > looked.lame);
    }
}
