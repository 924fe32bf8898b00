//! What a transfer's looks make of its chains: one that delivers so much, or one through a burst.
//!
//! The destination counts, and says that all is well, or that a longer look must tell. Where it says nothing the source asks; until
//! then what was under way has come as well, or not, and counts, too. Not modelled: bursts that end within a look, or begin in
//! one; where they last a second that is a twentieth. Tests: below.

use crate::losses::{Burst, Lost};
use crate::rules;
use crate::together::Inside;

/// Packets of a group that are looked at first, and how many of them must arrive (`thalweg_protocols::thalweg::Looker`).
pub const LOOK: (u32, u32) = (rules::LOOK / 2, 5);
/// Packets lost of these with which the destination says nothing, and of a longer look.
const SILENT: (u32, u32) = (LOOK.0 - LOOK.1 + 1, rules::BAD.0 * LONG / rules::BAD.1);
/// Packets of a group in a longer look, which follows where any of the first were lost.
const LONG: u32 = rules::LONG_LOOK / 2;

/// Packets lost of a longer look with which a group that has no other chain, or that one already, is better begun anew: a transfer
/// of 500 then misses so many that rounds take longer (`thalweg_protocols::thalweg::Looker`). Of the first packets it is as few as
/// call.
const HOPELESS: u32 = 6;

/// What is to be known of a group's chain to tell what a look makes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    /// Packets of it that are under way when the destination has counted the others.
    under_way: u32,
    has_spare: bool,
}

impl Chain {
    /// One whose group has another, and of which nothing else is known yet.
    pub(crate) const ANY: Self = Self {
        under_way: 0,
        has_spare: true,
    };

    /// Both of a plan of so many hops and `groups`; of one all is counted.
    pub(crate) fn both(hops: usize, groups: usize, has_spare: [bool; 2]) -> [Self; 2] {
        let under_way = match groups {
            2.. => hops.saturating_sub(1) as u32,
            _ => 0,
        };
        // The odd one has the first.
        [0, 1].map(|number| Self {
            under_way: (under_way + 1 - number) / 2,
            has_spare: has_spare[number as usize],
        })
    }
    /// Packets lost with which it is lame, of the first of them and those under way.
    fn first(self) -> u32 {
        (LOOK.0 + self.under_way).div_ceil(2)
    }
    /// The same of a longer look at so many.
    fn long(self, of: u32) -> u32 {
        match self.has_spare {
            true => (rules::BAD.0 * of).div_ceil(rules::BAD.1),
            false => HOPELESS,
        }
    }
}

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

    /// Of a `chain` that delivers so much.
    pub(crate) fn at(delivery: f64, chain: Chain) -> Self {
        let [few, many, under_way] =
            [LOOK.0, LONG, chain.under_way].map(|packets| lost_of(packets, delivery));
        // Asked for so many lost, and then found to have lost enough.
        let asked = |of: &ByLost, silent: u32, enough: u32| {
            let found = |lost: u32| at_least(&under_way, enough.saturating_sub(lost));
            let lost = (silent..).zip(&of[silent as usize..]);
            lost.map(|(lost, chance)| chance * found(lost)).sum::<f64>()
        };
        let first = asked(&few, SILENT.0, chain.first());
        let silent = at_least(&few, SILENT.0) - first;
        let some: f64 = few[1..SILENT.0 as usize].iter().sum();
        let long = asked(&many, SILENT.1, chain.long(LONG + chain.under_way));
        Self {
            again: some + silent,
            lame: first + some * long + silent * at_least(&many, chain.long(LONG)),
        }
    }

    /// The same where somebody stands by at its end who receives all, and sends it on once it missed enough of a window.
    pub(crate) fn stood_by(delivery: f64, chain: Chain) -> Self {
        let from = |lost: u32, after: &Beside| after.lost.iter().skip(lost as usize).sum::<f64>();
        let first = Beside::after(LOOK.0 + chain.under_way, delivery);
        let lame = from(chain.first(), &first);
        let again = 1.0 - lame - libm::pow(delivery, f64::from(LOOK.0));
        // Having begun to send on, it goes on.
        let of = LONG + chain.under_way;
        let lame_later = from(chain.long(of), &Beside::after(of, delivery));
        Self {
            again,
            lame: lame + (again - first.begun).max(0.0) * lame_later,
        }
    }
}

/// Probabilities that so many packets are lost, of at most as many as a longer look has.
type ByLost = [f64; LONG as usize + 1];

/// Of so many packets over a hop that delivers so much.
fn lost_of(packets: u32, delivery: f64) -> ByLost {
    let mut lost = [0.0; LONG as usize + 1];
    lost[0] = 1.0;
    for packet in 0..packets.min(LONG) as usize {
        for at in (0..=packet).rev() {
            lost[at + 1] += lost[at] * (1.0 - delivery);
            lost[at] *= delivery;
        }
    }
    lost
}

/// Probability that at least so many are.
fn at_least(losses: &ByLost, lost: u32) -> f64 {
    losses.iter().skip(lost as usize).sum()
}

/// Packets lost that are told apart: with as many a chain is lame in any look over 28 hops or fewer, and over more hops nobody who
/// stands by lets so many be lost.
const TOLD: usize = 12;
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

    /// Of a plan's one or two `chains`, stages of which are `inside` a burst that takes a share `hit` of the frames.
    pub(crate) fn of(hit: f64, inside: Inside, chains: &[Chain]) -> Self {
        let burst = Burst {
            hit,
            inside,
            groups: chains.len(),
        };
        // One that is not there loses nothing.
        let chain = |number: usize| chains.get(number).copied().unwrap_or(Chain::ANY);
        let lame_from = |of: fn(Chain) -> u32| [0, 1].map(|number| of(chain(number)) as usize);
        let first_from = lame_from(Chain::first);
        let [long_from, longer_from] = [
            lame_from(|chain| chain.long(LONG)),
            lame_from(|chain| chain.long(LONG + chain.under_way)),
        ];
        let [silent, silent_later, in_vain] = [SILENT.0, SILENT.1, HOPELESS].map(|n| n as usize);
        let under_way = chains.iter().map(|chain| chain.under_way).sum();
        let most = first_from.into_iter().chain(longer_from).chain([in_vain]);
        let most = most.max().unwrap_or(in_vain);
        // What is lost in a look, and then also of what was under way where the source must ask.
        let look = |packets: u32, silent: usize| {
            let mut losses = burst.begin(most);
            losses.send(packets);
            let lost = losses.lost();
            losses.keep_from(silent);
            losses.send(under_way);
            (lost, losses.lost())
        };
        let (lost, asked) = look(rules::LOOK, silent);
        let (long, asked_later) = look(rules::LONG_LOOK, silent_later);
        let first = asked.either(first_from);
        let few = lost.either([1; 2]) - lost.either([silent; 2]);
        let unsure = lost.either([silent; 2]) - first;
        let again = few + unsure;
        let lame = first + few * asked_later.either(longer_from) + unsure * long.either(long_from);
        let lame_of = [0, 1].map(|group| {
            asked.of_group(group, first_from[group])
                + few * asked_later.of_group(group, longer_from[group])
                + unsure * long.of_group(group, long_from[group])
        });
        let number: f64 = lame_of.iter().sum();
        let share_of = lame_of.map(|of| if number > 0.0 { of / number } else { 0.0 });
        let number = if lame > 0.0 { number / lame } else { 1.0 };
        // Those that have called are looked at again: one of the groups, or both.
        let one = |lost: &Lost, from: usize| {
            let of = [0, 1].map(|group| share_of[group] * lost.of_group(group, from));
            of.iter().sum()
        };
        let both = |lost: &Lost, from: usize| lost.either([from; 2]);
        let bad = |of: &dyn Fn(&Lost, usize) -> f64| {
            let first = of(&lost, silent);
            first + (of(&lost, 1) - first) * of(&long, in_vain)
        };
        let bad = (2.0 - number) * bad(&one) + (number - 1.0) * bad(&both);
        // One that lost a few of many before it called does not call any more then, and others are given up.
        let calls_for_few = (lame - first - again * long.either([in_vain; 2])).max(0.0);
        let hopeless = if lame > 0.0 {
            1.0 - calls_for_few / lame
        } else {
            1.0
        };
        Self {
            looked: Looked { again, lame },
            chains: number,
            calls: 1.0 - bad,
            hopeless: bad * hopeless,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::fewer_than;
    use crate::together::Foreign;
    use rand::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn a_longer_look_follows_chains_that_lose_a_few() {
        let of_all = Looked::at(1.0, Chain::ANY);
        assert!(of_all.again.abs() < 1e-12 && of_all.lame.abs() < 1e-12);
        let Looked { again, lame } = Looked::at(0.9, Chain::ANY);
        assert!(
            (0.5..0.6).contains(&again) && (0.1..0.15).contains(&lame),
            "{again} {lame}"
        );
        assert!(Looked::at(0.7, Chain::ANY).lame > 0.8 && Looked::at(0.1, Chain::ANY).lame > 0.999);
    }

    #[test]
    fn who_stands_by_takes_over_after_three_of_a_window() {
        let (dead, whole) = (
            Looked::stood_by(0.0, Chain::ANY),
            Looked::stood_by(1.0, Chain::ANY),
        );
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
        let told = Looked::stood_by(delivery, Chain::ANY);
        for (told, counted) in [(told.again, again), (told.lame, lame)] {
            let counted = counted as f64 / f64::from(of);
            assert!((told - counted).abs() < 0.012, "{told} {counted}");
        }
        assert!(told.lame < Looked::at(delivery, Chain::ANY).lame);
    }

    #[test]
    fn one_stage_in_a_burst_is_a_chain_that_loses_as_much() {
        let of_one = InBurst::of(0.1, Inside::one(1), &[Chain::ANY]);
        let (looked, chain) = (of_one.looked, Looked::at(0.9, Chain::ANY));
        assert!((looked.again - chain.again).abs() < 1e-12, "{looked:?}");
        assert!((looked.lame - chain.lame).abs() < 1e-12, "{looked:?}");
        assert!((of_one.chains - 1.0).abs() < 1e-12, "{of_one:?}");
        let long = fewer_than(LONG - HOPELESS + 1, LONG, 0.9);
        let bad = fewer_than(LOOK.1, LOOK.0, 0.9) + chain.again * long;
        assert!((of_one.calls - (1.0 - bad)).abs() < 1e-12, "{of_one:?}");
        let few = fewer_than(LONG - SILENT.1 + 1, LONG, 0.9) - long;
        let hopeless = bad * (1.0 - chain.again * few / chain.lame);
        assert!((of_one.hopeless - hopeless).abs() < 1e-12, "{of_one:?}");
        assert_eq!(
            InBurst::of(0.0, Inside::one(3), &[Chain::ANY; 2])
                .looked
                .lame,
            0.0
        );
    }

    /// What many draws of looks at two `chains` come to, and what is told of them.
    fn drawn_and_told(hit: f64, inside: Inside, chains: [Chain; 2]) -> (InBurst, [[f64; 2]; 4]) {
        let of = 20_000;
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let under_way = (chains[0].under_way + chains[1].under_way) as usize;
        // Of each group so many of the first, and of those under way, too.
        let mut lost = |first: u32| {
            let first = first as usize;
            let (packets, stages) = (first + under_way, inside.stages[0]);
            // Of both groups by turns: where all frames are at all stages, they have one list.
            let mut frames = || -> Vec<bool> {
                let cycles = 0..packets + stages;
                cycles.map(|_| rng.random::<f64>() < hit).collect()
            };
            let foreign: Vec<Vec<bool>> = match inside.foreign {
                Foreign::Common => vec![frames(); 2 * stages],
                Foreign::Apart => (0..2 * stages).map(|_| frames()).collect(),
            };
            let is_lost = |packet: &usize| {
                let group = packet % 2;
                (0..inside.stages[group])
                    .any(|stage| foreign[2 * stage + group][packet + stages - 1 - stage])
            };
            [first, packets].map(|packets| {
                [0, 1].map(|group| {
                    let packets = (0..packets).filter(|n| n % 2 == group);
                    packets.filter(is_lost).count() as u32
                })
            })
        };
        let (mut again, mut lame, mut either) = (0, 0, 0);
        let (mut lame_of, mut bad_of) = ([0; 2], [0; 2]);
        for _ in 0..of {
            let [[first, asked], [long, asked_later]] = [16, 32].map(&mut lost);
            let is_any = |lost: [u32; 2], from: u32| lost[0] >= from || lost[1] >= from;
            let called = |lost: [u32; 2], from: [u32; 2]| [0, 1].map(|n| lost[n] >= from[n]);
            let long_from = |more: bool| {
                chains.map(|chain| chain.long(LONG + if more { chain.under_way } else { 0 }))
            };
            let at_first = match is_any(first, 4) {
                true => called(asked, chains.map(Chain::first)),
                false => [false; 2],
            };
            let is_again = at_first == [false; 2] && is_any(first, 1);
            let later = match (is_any(first, 4), is_any(long, 3)) {
                (true, _) => called(long, long_from(false)),
                (false, true) => called(asked_later, long_from(true)),
                (false, false) => [false; 2],
            };
            let is_lame = [0, 1].map(|n| at_first[n] || is_again && later[n]);
            for group in 0..2 {
                let is_bad = first[group] > 3 || first[group] > 0 && long[group] > 5;
                lame_of[group] += usize::from(is_lame[group]);
                bad_of[group] += usize::from(is_bad);
            }
            again += usize::from(is_again);
            lame += usize::from(is_lame != [false; 2]);
            let is_bad = is_any(first, 4) || is_any(first, 1) && is_any(long, 6);
            either += usize::from(is_bad);
        }
        let burst = InBurst::of(hit, inside, &chains);
        let both = burst.chains - 1.0;
        let share = |count: usize| count as f64 / f64::from(of);
        // Of those that called.
        let called = lame_of[0] + lame_of[1];
        let one = [0, 1].map(|group| share(bad_of[group]) * lame_of[group] as f64 / called as f64);
        let bad = (1.0 - both) * (one[0] + one[1]) + both * share(either);
        let looked = burst.looked;
        let both = [
            [looked.again, share(again)],
            [looked.lame, share(lame)],
            [looked.lame * burst.chains, share(called)],
            [1.0 - burst.calls, bad],
        ];
        (burst, both)
    }

    #[test]
    fn a_foreign_frame_takes_a_packet_of_each_stage_that_it_disturbs() {
        let of = |stages, foreign| Inside { stages, foreign };
        let (common, apart) = (Foreign::Common, Foreign::Apart);
        for (hit, inside, chains) in [
            (0.05, of([4, 4], common), [Chain::ANY; 2]),
            (0.1, of([3, 1], common), Chain::both(4, 2, [true; 2])),
            (0.1, of([2, 0], common), Chain::both(5, 2, [true; 2])),
            (0.1, of([2, 2], apart), Chain::both(3, 2, [true, false])),
            (0.1, of([3, 1], apart), Chain::both(4, 2, [true; 2])),
        ] {
            let (burst, both) = drawn_and_told(hit, inside, chains);
            assert!(burst.hopeless < 1.0 - burst.calls, "{burst:?}");
            for [told, drawn] in both {
                let is_near = (told - drawn).abs() < 0.012;
                assert!(is_near, "{inside:?} {chains:?} {burst:?} {told} {drawn}");
            }
        }
    }

    #[test]
    fn what_is_under_way_must_be_lost_as_well_and_few_lost_do_without_another_chain() {
        let of = |hops, has_spare| {
            let [chain, _] = Chain::both(hops, 2, [has_spare; 2]);
            let inside = Inside::one(1);
            let looked = InBurst::of(0.1, inside, &[chain; 2]).looked;
            [Looked::at(0.9, chain), looked].map(|looked| looked.lame)
        };
        for (one, four) in of(1, true).into_iter().zip(of(4, true)) {
            assert!(four < 0.7 * one, "{four} {one}");
        }
        for (other, none) in of(4, true).into_iter().zip(of(4, false)) {
            assert!(none < 0.3 * other, "{none} {other}");
        }
        // One group alone is counted at its end.
        let [alone, _] = Chain::both(4, 1, [true; 2]);
        assert_eq!(Looked::at(0.9, alone), Looked::at(0.9, Chain::ANY));
    }

    #[test]
    fn groups_that_different_frames_disturb_are_lame_more_often() {
        let [common, apart] = [Foreign::Common, Foreign::Apart].map(|foreign| {
            let stages = [2, 2];
            InBurst::of(0.1, Inside { stages, foreign }, &[Chain::ANY; 2])
                .looked
                .lame
        });
        assert!(apart > 1.3 * common, "{common} {apart}");
        // A single packet at a time is for itself.
        let one = |foreign| {
            let stages = [1, 1];
            InBurst::of(0.1, Inside { stages, foreign }, &[Chain::ANY; 2])
                .looked
                .lame
        };
        let apart = one(Foreign::Apart) - one(Foreign::Common);
        assert!(apart.abs() < 1e-9, "{apart}");
    }
}
