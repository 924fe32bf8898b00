//! What a survey tells of bursts: how much of the time a receiver is in one, what it loses then, and who is in it with it.
//!
//! Model: a receiver is in a burst or not. Outside it a strong link loses nothing, inside it each frame is lost with the same
//! probability. Two frames at one time at a receiver, and at two of them, then tell all numbers by their moments: of all frames
//! `m1 = share hit` are lost, of pairs of a receiver `m2 = share hit^2`, of pairs at two `m11 = share along hit^2` where one hears the
//! other, as relays of a chain do, and `share across hit^2` where both hear one sender, as relays of two chains do. The
//! numbers are of all links of a survey: one link alone has too few beacons. Which beacons were at one time depends on how
//! they were sent: in turns ([`Turns`]), or in sweeps ([`Sweeps`]). A burst is taken to outlast a sweep of a channel: it ends between
//! one pair in seventeen, by which what plans foresee changes by less than a hundredth. Not modelled: turns whose beacons are farther
//! apart than [`rules::BEACONS_APART`]. Which receivers of a plan are in it: `together`. What it does to a transfer: `looks`. Tests:
//! below.

use crate::links::{LinkQualities, LinkQuality};
use crate::rules;
use std::collections::BTreeMap;
use thalweg_units::Channel;

/// Of fewer beacons nothing is learned.
const ENOUGH: f64 = 40.0;

/// Bursts of foreign traffic, as receivers meet them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Share of time in which a receiver is in one, 0..=1.
    pub share: f64,
    /// Share of frames that it loses then, 0..=1.
    pub hit: f64,
    /// Probability that who hears one that is in a burst is in it, too, 0..=1. A pair counts once for each channel on which
    /// it hears the other: chains have so many hops to choose from there.
    pub along: f64,
    /// The same of who hears the same sender, 0..=1.
    pub across: f64,
}

impl Bursts {
    /// There are none.
    pub const NONE: Self = Self {
        share: 0.0,
        hit: 0.0,
        along: 1.0,
        across: 1.0,
    };

    /// Share of all frames that are lost to them.
    pub fn outage(&self) -> f64 {
        self.share * self.hit
    }

    /// What links of `surveys` that are `strong` lost; none where too few beacons were sent over these. Where some of the
    /// surveys were sent in turns, these tell it.
    pub(crate) fn learned<'a>(
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
        strong: impl Fn(&LinkQuality) -> bool,
    ) -> Option<Self> {
        let (mut turns, mut sweeps) = <(Turns, Sweeps)>::default();
        for links in surveys {
            let heard: Vec<Vec<Heard>> = (0..links.nodes())
                .map(|from| heard(links, from, &strong))
                .collect();
            let is_swept = |heard: &Heard| !heard.in_turns;
            match heard.iter().flatten().any(is_swept) {
                true => sweeps.add(&heard),
                false => turns.add(&heard),
            }
        }
        turns.bursts().or_else(|| sweeps.bursts())
    }

    /// By the share of all frames that are lost, of pairs of a receiver's that both are, and how much likelier it is that
    /// one of each of two receivers' both are.
    fn of(m1: f64, m2: f64, [along, across]: [f64; 2]) -> Self {
        if m2 <= 0.0 {
            // Never two together: as good as never in one.
            return Self {
                share: f64::from(u8::from(m1 > 0.0)),
                hit: m1,
                along: 1.0,
                across: 1.0,
            };
        }
        let share = (m1 * m1 / m2).clamp(0.0, 1.0);
        Self {
            share,
            hit: (m1 / share).clamp(0.0, 1.0),
            along: along.clamp(share, 1.0),
            across: across.clamp(share, 1.0),
        }
    }

    /// Probability that a receiver is disturbed by what disturbs one that it hears, and one that hears the same: where it is not, both
    /// are in bursts by chance.
    pub(crate) fn kin(&self) -> [f64; 2] {
        [self.along, self.across].map(|both| match self.share < 1.0 {
            true => ((both - self.share) / (1.0 - self.share)).clamp(0.0, 1.0),
            false => 1.0,
        })
    }
}

/// Pairs of beacons that were sent in turns. A turn is short, but of several channels one after the other: a burst may end
/// between two of them.
#[derive(Default)]
struct Turns {
    /// Of one beacon.
    one: Share,
    /// Of two of one link; and how likely it is that a burst that is on at one of two is still on at the other. As likely as
    /// that, so much a pair counts.
    own: Share,
    lasts: Share,
    /// Of two of one link, on two channels.
    channels: Share,
    /// Of two of one sender, one at each of two receivers, on two channels: what both hear at once is one loss.
    two: Two,
}

impl Turns {
    /// Adds a survey's beacons by sender. A link of which nothing came through is not known of.
    fn add(&mut self, senders: &[Vec<Heard>]) {
        let mut channels = [false; Channel::COUNT];
        for heard in senders.iter().flatten() {
            for (channel, [_, sent]) in channels.iter_mut().zip(heard.by_channel) {
                *channel |= sent > 0.0;
            }
        }
        for heard in senders {
            for (at, a) in heard.iter().enumerate() {
                self.one.add(a.all);
                for (pairs, stays) in a.pairs(&channels) {
                    self.own.add(pairs.map(|n| n * stays));
                    self.lasts.add([stays * stays, stays].map(|n| n * pairs[1]));
                }
                let apart = a.together(a);
                self.channels
                    .add([0, 1].map(|n| a.all[n] * a.all[n] - apart[n]));
                for b in &heard[at + 1..] {
                    let apart = a.together(b);
                    let pairs = [0, 1].map(|n| a.all[n] * b.all[n] - apart[n]);
                    self.two.add(pairs, 1.0, hops(senders, a.by, b.by));
                }
            }
        }
    }
    fn bursts(&self) -> Option<Bursts> {
        // Of few beacons, or such that no burst outlasts any two of, nothing is learned.
        if self.one.of < ENOUGH || self.lasts.lost <= 0.0 {
            return None;
        }
        let m1 = self.one.share();
        // Where a burst ended between both, the second is in another or in none, as any other beacon is.
        let m2 = m1 * m1 + (self.own.share() - m1 * m1) / self.lasts.share();
        let two = self.two.of(self.channels.share(), Share::share);
        Some(Bursts::of(m1, m2, two))
    }
}

/// The same of sweeps. In a sweep all nodes send one beacon after the other, within a third of a second on a channel. The next
/// comes a second later, in other bursts; a link's count does not say in which of them it lost a beacon.
#[derive(Default)]
struct Sweeps {
    one: Share,
    /// Beacons of a link on a channel, and links: how many sweeps there were.
    count: Share,
    /// Of two senders at one receiver, on one channel.
    own: Share,
    /// Of two senders at two receivers, on one channel.
    two: Two,
}

impl Sweeps {
    fn add(&mut self, senders: &[Vec<Heard>]) {
        for channel in Channel::all().map(Channel::index) {
            // By receiver: all senders, and the squares of each.
            let mut at = vec![[[0.0; 2]; 2]; senders.len()];
            let on = |heard: &Heard| heard.by_channel[channel];
            for heard in senders.iter().flatten() {
                let count = on(heard);
                if count[1] > 0.0 {
                    self.one.add(count);
                    self.count.add([count[1], 1.0]);
                }
                for n in 0..2 {
                    at[heard.by][0][n] += count[n];
                    at[heard.by][1][n] += count[n] * count[n];
                }
            }
            for [all, squares] in &at {
                self.own.add([0, 1].map(|n| all[n] * all[n] - squares[n]));
            }
            let mut common: Vec<(usize, usize, [f64; 2])> = Vec::new();
            for heard in senders {
                let heard: Vec<&Heard> = heard.iter().filter(|heard| on(heard)[1] > 0.0).collect();
                for (place, a) in heard.iter().enumerate() {
                    for b in &heard[place + 1..] {
                        common.push((a.by, b.by, [0, 1].map(|n| on(a)[n] * on(b)[n])));
                    }
                }
            }
            common.sort_unstable_by_key(|(a, b, _)| (*a, *b));
            for of in common.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
                let (a, b, _) = of[0];
                // One beacon at both is one loss.
                let once = |n: usize| of.iter().map(|(.., pairs)| pairs[n]).sum::<f64>();
                let pairs = [0, 1].map(|n| at[a][0][n] * at[b][0][n] - once(n));
                self.two.add(pairs, of.len() as f64, hops(senders, a, b));
            }
        }
    }
    fn bursts(&self) -> Option<Bursts> {
        if self.one.of < ENOUGH {
            return None;
        }
        let (m1, sweeps) = (self.one.share(), self.count.share());
        // Of pairs one in so many is of one sweep.
        let of_one = |pairs: &Share| (sweeps * pairs.share() - (sweeps - 1.0) * m1 * m1).max(0.0);
        let m2 = of_one(&self.own);
        let bursts = Bursts::of(m1, m2, self.two.of(m2, of_one));
        let hit = (bursts.hit * rules::EXPOSED).min(1.0);
        Some(Bursts { hit, ..bursts })
    }
}

/// On how many channels `to` hears `from`.
fn hops(senders: &[Vec<Heard>], from: usize, to: usize) -> f64 {
    let heard = &senders[from];
    let place = heard.binary_search_by_key(&to, |heard| heard.by);
    place.map_or(0.0, |place| {
        let sent = heard[place].by_channel.iter();
        sent.filter(|[_, sent]| *sent > 0.0).count() as f64
    })
}

/// Pairs of beacons at two receivers that hear one sender, and where one hears the other.
#[derive(Default)]
struct Two {
    along: Share,
    across: Share,
}

impl Two {
    /// Pairs, lost and sent, at two that have so many senders in common and so many hops between them.
    fn add(&mut self, pairs: [f64; 2], senders: f64, hops: f64) {
        self.along.add(pairs.map(|n| n * hops));
        self.across.add(pairs.map(|n| n * senders));
    }
    /// How much likelier than `own`, of pairs of one receiver, it is that both are lost; `lost` tells that of pairs.
    fn of(&self, own: f64, lost: impl Fn(&Share) -> f64) -> [f64; 2] {
        [&self.along, &self.across].map(|pairs| match own > 0.0 {
            true => lost(pairs) / own,
            false => 0.0,
        })
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
    /// Pairs of beacons of a turn over `channels`, lost and sent, and how likely a burst that is on at one is still on at the other.
    fn pairs(&self, channels: &[bool; Channel::COUNT]) -> Vec<([f64; 2], f64)> {
        let stays = |beacons: f64| {
            let apart_s = beacons * rules::BEACONS_APART.as_secs_f64();
            libm::exp(-apart_s / rules::BURST_S)
        };
        let sent = (self.by_channel.iter().zip(channels)).filter(|(_, of_survey)| **of_survey);
        let sent: Vec<[f64; 2]> = sent.map(|(sent, _)| *sent).collect();
        let mut pairs = Vec::new();
        for (at, first) in sent.iter().enumerate() {
            // Two of so many in a row are on average a third of them apart.
            let own = first.map(|n| n * (n - 1.0));
            pairs.push((own, stays((first[1] + 1.0) / 3.0)));
            for (later, second) in sent.iter().enumerate().skip(at + 1) {
                let both = [0, 1].map(|n| 2.0 * first[n] * second[n]);
                pairs.push((both, stays((later - at) as f64 * first[1])));
            }
        }
        pairs
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
            heard.in_turns &= !quality.is_swept();
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

    /// A survey of ten beacons on each of four channels, whose receivers stand on `floors` floors, and hear those of other floors on
    /// some channels. Each floor is in a burst for a `share` of the time, which takes a `hit` of the frames, at all its receivers alike.
    fn survey(
        rng: &mut Pcg64Mcg,
        (floors, between): (usize, &[u8]),
        share: f64,
        hit: f64,
    ) -> LinkQualities {
        let beacons = 10;
        let nodes = 100;
        let mut links = LinkQualities::new(nodes);
        let stays = libm::exp(-rules::BEACONS_APART.as_secs_f64() / rules::BURST_S);
        let mut inside: Vec<bool> = (0..floors).map(|_| rng.random::<f64>() < share).collect();
        for from in 0..nodes {
            for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
                let mut lost = vec![0; floors];
                for _ in 0..beacons {
                    for (inside, lost) in inside.iter_mut().zip(&mut lost) {
                        if rng.random::<f64>() >= stays {
                            *inside = rng.random::<f64>() < share;
                        }
                        *lost += u32::from(*inside && rng.random::<f64>() < hit);
                    }
                }
                for to in heard_on(from, nodes, (floors, between), channel) {
                    let received = beacons - lost[to % floors];
                    (links.record(from, to, channel, received, beacons, Some(Dbm(-70.0)))).unwrap();
                }
            }
        }
        links
    }

    /// Who hears `from`.
    fn heard_on(
        from: usize,
        nodes: usize,
        (floors, between): (usize, &[u8]),
        channel: Channel,
    ) -> impl Iterator<Item = usize> {
        let is_between = between.contains(&channel.number());
        (0..nodes).filter(move |to| *to != from && (is_between || to % floors == from % floors))
    }

    const ALL: &[u8] = &[15, 20, 25, 26];

    #[test]
    fn how_often_how_strong_and_how_wide_bursts_are_is_read_off_counts() {
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        // Where floors hear each other on one channel of four, .89 of the hops are on one, and .66 of the pairs that hear one sender.
        for (floors, share, hit, [along, across]) in [
            ((1, ALL), 0.3, 0.1, [1.0; 2]),
            ((2, ALL), 0.2, 0.2, [0.6; 2]),
            ((2, ALL), 0.2, 0.4, [0.6; 2]),
            ((2, ALL), 0.2, 0.05, [0.6; 2]),
            ((2, &[26]), 0.2, 0.2, [0.91, 0.73]),
        ] {
            let surveys: Vec<_> = (0..24)
                .map(|_| survey(&mut rng, floors, share, hit))
                .collect();
            let bursts = Bursts::learned(&surveys, |_| true).unwrap();
            assert!((bursts.share / share - 1.0).abs() < 0.3, "{bursts:?}");
            // As counted it is a tenth less: bursts end between beacons of a turn.
            assert!((bursts.hit / hit - 1.0).abs() < 0.1, "{bursts:?}");
            assert!((bursts.along - along).abs() < 0.1, "{bursts:?}");
            assert!((bursts.across - across).abs() < 0.1, "{bursts:?}");
        }
    }

    #[test]
    fn a_quiet_survey_knows_of_none_and_a_short_one_nothing() {
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let quiet = Bursts::learned([&survey(&mut rng, (1, ALL), 0.0, 0.1)], |_| true).unwrap();
        assert_eq!(quiet.outage(), 0.0);
        assert_eq!(Bursts::learned([&LinkQualities::new(3)], |_| true), None);
        let mut long = LinkQualities::new(2);
        let (channel, rssi) = (Channel::new(26).unwrap(), Some(Dbm(-70.0)));
        (long.record(0, 1, channel, u32::MAX - 9, u32::MAX, rssi)).unwrap();
        assert_eq!(Bursts::learned([&long], |_| true), None);
    }

    /// Two sweeps over four channels, each of which a burst may take on each of two floors: a `share` of them, and then a `hit`
    /// of the beacons.
    fn swept(rng: &mut Pcg64Mcg, between: &[u8], share: f64, hit: f64) -> LinkQualities {
        let nodes = 20;
        let mut links = LinkQualities::new(nodes);
        for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
            let inside = [[(); 2]; 2].map(|floors| floors.map(|()| rng.random::<f64>() < share));
            for from in 0..nodes {
                // What takes a beacon takes it on a whole floor.
                let taken = inside.map(|floors| floors.map(|on| on && rng.random::<f64>() < hit));
                for to in heard_on(from, nodes, (2, between), channel) {
                    let received = taken.iter().filter(|floors| !floors[to % 2]).count() as u32;
                    (links.record(from, to, channel, received, 2, Some(Dbm(-70.0)))).unwrap();
                }
            }
        }
        links
    }

    #[test]
    fn sweeps_tell_them_by_their_senders() {
        let mut rng = Pcg64Mcg::seed_from_u64(12);
        for (between, share, hit, [along, across]) in [
            (ALL, 0.1, 0.05, [0.5; 2]),
            (ALL, 0.05, 0.1, [0.5; 2]),
            (ALL, 0.2, 0.2, [0.58; 2]),
            (&[26], 0.2, 0.2, [0.88, 0.63]),
        ] {
            let surveys: Vec<_> = (0..300)
                .map(|_| swept(&mut rng, between, share, hit))
                .collect();
            let bursts = Bursts::learned(&surveys, |_| true).unwrap();
            assert!((bursts.share / share - 1.0).abs() < 0.3, "{bursts:?}");
            let hit = hit * rules::EXPOSED;
            assert!((bursts.hit / hit - 1.0).abs() < 0.2, "{bursts:?}");
            assert!((bursts.along - along).abs() < 0.15, "{bursts:?}");
            assert!((bursts.across - across).abs() < 0.15, "{bursts:?}");
        }
    }
}
