//! What a survey tells of bursts: how much of the time a receiver is in one, what it loses then, and who is in it with it.
//!
//! Model: a receiver is in a burst or not. Outside it a strong link loses nothing, inside it each frame is lost with the same
//! probability. Two frames of a link at one time and two frames at neighbours then tell all three numbers by their moments
//! (below). The numbers are of all links of a survey: one link alone has too few beacons. Not modelled: how long a burst lasts; it
//! outlasts a node's turn of beacons, and a look. A sweep's few beacons are not sent in turns: of them only the outage
//! is known, and a burst is taken to take all. Tests: below.

use crate::links::{LinkQualities, LinkQuality};
use std::collections::BTreeMap;
use thalweg_units::Channel;

/// Of fewer beacons nothing is learned.
const ENOUGH: f64 = 40.0;
/// Beacons on a channel that are sent in a row, and so are in one burst or in none.
const TURN: u32 = 5;

/// Bursts of foreign traffic, as receivers meet them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Share of time in which a receiver is in one, 0..=1.
    pub share: f64,
    /// Share of frames that it loses then, 0..=1.
    pub hit: f64,
    /// Probability that a neighbour of one that is in a burst is in it, too, 0..=1.
    pub shared: f64,
}

impl Bursts {
    /// There are none.
    pub const NONE: Self = Self {
        share: 0.0,
        hit: 0.0,
        shared: 1.0,
    };

    /// Share of all frames that are lost to them.
    pub fn outage(&self) -> f64 {
        self.share * self.hit
    }

    /// What links of `surveys` that are `strong` lost; none where too few beacons were sent over these.
    ///
    /// Of one link's beacons, `m1 = share hit` are lost, and of pairs of them `m2 = share hit^2`. Of pairs of beacons of one
    /// sender at two neighbours, on two channels, `m11 = share shared hit^2`: beacons that both hear at once are one loss. A
    /// link of which nothing came through is not known of. Where no beacons were sent in turns there are no pairs.
    pub(crate) fn learned<'a>(
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
        strong: impl Fn(&LinkQuality) -> bool,
    ) -> Option<Self> {
        let (mut one, mut own, mut near) = <(Share, Share, Share)>::default();
        for links in surveys {
            let senders: Vec<Vec<Heard>> = (0..links.nodes())
                .map(|from| heard(links, from, &strong))
                .collect();
            for heard in &senders {
                for (at, a) in heard.iter().enumerate() {
                    one.add(a.all);
                    if !a.in_turns {
                        continue;
                    }
                    own.add([0, 1].map(|n| a.all[n].powi(2) - a.all[n]));
                    let neighbours = &senders[a.by];
                    let is_near =
                        |b: &&Heard| neighbours.binary_search_by_key(&b.by, |c| c.by).is_ok();
                    for b in heard[at + 1..].iter().filter(is_near) {
                        near.add([0, 1].map(|n| a.all[n] * b.all[n] - a.together(b)[n]));
                    }
                }
            }
        }
        if one.of < ENOUGH {
            return None;
        }
        let (m1, m2) = (one.share(), own.share());
        if own.of <= 0.0 {
            return Some(Self {
                share: m1,
                hit: 1.0,
                shared: m1,
            });
        }
        if m2 <= 0.0 {
            // Never two together: as good as never in one.
            return Some(Self {
                share: f64::from(u8::from(m1 > 0.0)),
                hit: m1,
                shared: 1.0,
            });
        }
        let share = (m1 * m1 / m2).clamp(0.0, 1.0);
        Some(Self {
            share,
            hit: (m1 / share).clamp(0.0, 1.0),
            shared: (near.share() / m2).clamp(share, 1.0),
        })
    }

    /// Probability that of so many stages, one after the other, 0, 1, 2, ... are in a burst at one time: each stage is the
    /// neighbour of the one before.
    pub(crate) fn together(&self, stages: usize) -> Vec<f64> {
        // Outside and inside, with so many inside up to here.
        let Self { share, shared, .. } = *self;
        let enters = match share < 1.0 {
            true => (share * (1.0 - shared) / (1.0 - share)).min(1.0),
            false => 1.0,
        };
        let mut by = match stages {
            0 => vec![[1.0, 0.0]],
            _ => vec![[1.0 - share, 0.0], [0.0, share]],
        };
        for stage in 1..stages {
            let mut next = vec![[0.0; 2]; stage + 2];
            for (count, [outside, inside]) in by.into_iter().enumerate() {
                next[count][0] += outside * (1.0 - enters) + inside * (1.0 - shared);
                next[count + 1][1] += outside * enters + inside * shared;
            }
            by = next;
        }
        by.iter()
            .map(|[outside, inside]| outside + inside)
            .collect()
    }
}

/// So much of so much.
#[derive(Default)]
struct Share {
    lost: f64,
    of: f64,
}

impl Share {
    fn add(&mut self, [lost, of]: [f64; 2]) {
        self.lost += lost;
        self.of += of;
    }
    fn share(&self) -> f64 {
        match self.of > 0.0 {
            true => self.lost / self.of,
            false => 0.0,
        }
    }
}

/// Beacons of a sender over a strong link, lost and sent.
struct Heard {
    by: usize,
    /// Whether all of them were sent in turns.
    in_turns: bool,
    all: [f64; 2],
    by_channel: [[f64; 2]; Channel::COUNT],
}

impl Heard {
    /// Pairs of beacons, one at each of two receivers, on one channel.
    fn together(&self, other: &Self) -> [f64; 2] {
        let channels = || self.by_channel.iter().zip(&other.by_channel);
        [0, 1].map(|n| channels().map(|(a, b)| a[n] * b[n]).sum())
    }
}

/// Who hears `from` over a strong link, lowest index first.
fn heard(links: &LinkQualities, from: usize, strong: impl Fn(&LinkQuality) -> bool) -> Vec<Heard> {
    let mut found: BTreeMap<usize, Heard> = BTreeMap::new();
    for channel in Channel::all() {
        for (to, quality) in links.heard_from(from, channel) {
            let Some(sent) = quality.sent.filter(|_| strong(&quality)) else {
                continue;
            };
            let counts = [(1.0 - quality.prr) * f64::from(sent), f64::from(sent)];
            let heard = found.entry(to).or_insert_with(|| Heard {
                by: to,
                in_turns: true,
                all: [0.0; 2],
                by_channel: [[0.0; 2]; Channel::COUNT],
            });
            heard.in_turns &= sent >= TURN;
            for (n, count) in counts.into_iter().enumerate() {
                heard.all[n] += count;
                heard.by_channel[channel.index()][n] += count;
            }
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;
    use thalweg_units::Dbm;

    /// A survey of `beacons` on each of four channels, whose receivers stand on `floors` floors. Bursts hit a floor for a
    /// sender's turn in a `share` of all, and then a `hit` of the frames, at all receivers of the floor alike.
    fn survey(beacons: u32, floors: usize, share: f64, hit: f64) -> LinkQualities {
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let nodes = 100;
        let mut links = LinkQualities::new(nodes);
        for from in 0..nodes {
            let inside: Vec<bool> = (0..floors).map(|_| rng.random::<f64>() < share).collect();
            for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
                let lost: Vec<u32> = (inside.iter())
                    .map(|inside| {
                        (0..beacons)
                            .filter(|_| *inside && rng.random::<f64>() < hit)
                            .count() as u32
                    })
                    .collect();
                for to in (0..nodes).filter(|to| *to != from) {
                    let received = beacons - lost[to % floors];
                    (links.record(from, to, channel, received, beacons, Some(Dbm(-70.0)))).unwrap();
                }
            }
        }
        links
    }

    #[test]
    fn how_often_how_strong_and_how_wide_bursts_are_is_read_off_counts() {
        for (floors, share, hit, shared) in [
            (1, 0.3, 0.1, 1.0),
            (2, 0.2, 0.2, 0.6),
            (2, 0.2, 0.4, 0.6),
            (2, 0.2, 0.05, 0.6),
        ] {
            let links = survey(10, floors, share, hit);
            let bursts = Bursts::learned([&links], |_| true).unwrap();
            assert!((bursts.share / share - 1.0).abs() < 0.3, "{bursts:?}");
            assert!((bursts.hit / hit - 1.0).abs() < 0.2, "{bursts:?}");
            assert!((bursts.shared - shared).abs() < 0.1, "{bursts:?}");
        }
    }

    #[test]
    fn a_quiet_survey_knows_of_none_and_a_short_one_nothing() {
        let quiet = Bursts::learned([&survey(10, 1, 0.0, 0.1)], |_| true).unwrap();
        assert_eq!(quiet.outage(), 0.0);
        assert_eq!(quiet.together(3)[0], 1.0);
        assert_eq!(Bursts::learned([&LinkQualities::new(3)], |_| true), None);
    }

    #[test]
    fn beacons_that_are_not_sent_in_turns_tell_the_outage_alone() {
        let bursts = Bursts::learned([&survey(2, 2, 0.2, 0.2)], |_| true).unwrap();
        assert!((bursts.outage() - 0.04).abs() < 0.01, "{bursts:?}");
        assert_eq!((bursts.hit, bursts.shared), (1.0, bursts.share));
    }

    #[test]
    fn stages_are_in_a_burst_alone_or_together() {
        let of = |shared| Bursts {
            share: 0.1,
            hit: 0.2,
            shared,
        };
        let all = of(1.0).together(4);
        assert!(
            (all[0] - 0.9).abs() < 1e-12 && (all[4] - 0.1).abs() < 1e-12,
            "{all:?}"
        );
        // As many as share says: independent.
        let apart = of(0.1).together(4);
        assert!((apart[0] - 0.9f64.powi(4)).abs() < 1e-12, "{apart:?}");
        assert!((apart.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(of(0.5).together(0), [1.0]);
    }
}
