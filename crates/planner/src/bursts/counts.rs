//! Beacons over strong links, counted by sender, receiver and channel, alone and by pairs. Tests: of what they tell, in `turns` and
//! `sweeps`.

use crate::links::{LinkQualities, LinkQuality};
use std::collections::BTreeMap;
use thalweg_units::Channel;

/// Of fewer beacons nothing is learned.
pub(super) const ENOUGH: f64 = 40.0;

/// What beacons of one kind of survey tell of bursts.
pub(super) struct Told {
    /// Share of all frames that are lost.
    pub(super) m1: f64,
    /// Share of pairs of frames at one receiver, at one time, of which both are.
    pub(super) m2: f64,
    /// How much likelier than that it is of pairs at two receivers: where one hears the other, and where both hear one sender.
    pub(super) two: [f64; 2],
}

/// On how many channels `to` hears `from`.
pub(super) fn hops(senders: &[Vec<Heard>], from: usize, to: usize) -> f64 {
    let heard = &senders[from];
    let place = heard.binary_search_by_key(&to, |heard| heard.by);
    place.map_or(0.0, |place| {
        let sent = heard[place].by_channel.iter();
        sent.filter(|[_, sent]| *sent > 0.0).count() as f64
    })
}

/// Pairs of beacons at two receivers that hear one sender, and where one hears the other.
#[derive(Default)]
pub(super) struct Two {
    along: Share,
    across: Share,
}

impl Two {
    /// Pairs, lost and sent, at two that have so many senders in common and so many hops between them.
    pub(super) fn add(&mut self, pairs: [f64; 2], senders: f64, hops: f64) {
        self.along.add(pairs.map(|n| n * hops));
        self.across.add(pairs.map(|n| n * senders));
    }
    /// How much likelier than `own`, of pairs of one receiver, it is that both are lost; `lost` tells that of pairs.
    pub(super) fn of(&self, own: f64, lost: impl Fn(&Share) -> f64) -> [f64; 2] {
        [&self.along, &self.across].map(|pairs| match own > 0.0 {
            true => lost(pairs) / own,
            false => 0.0,
        })
    }
}

/// So much of so much.
#[derive(Default)]
pub(super) struct Share {
    pub(super) lost: f64,
    pub(super) of: f64,
}

impl Share {
    pub(super) fn add(&mut self, [lost, of]: [f64; 2]) {
        self.lost += lost;
        self.of += of;
    }
    pub(super) fn share(&self) -> f64 {
        match self.of > 0.0 {
            true => self.lost / self.of,
            false => 0.0,
        }
    }
}

/// Beacons of a sender over a strong link, lost and sent.
pub(super) struct Heard {
    pub(super) by: usize,
    /// Whether all of them were sent in turns.
    pub(super) in_turns: bool,
    pub(super) all: [f64; 2],
    pub(super) by_channel: [[f64; 2]; Channel::COUNT],
}

impl Heard {
    /// Pairs of beacons, one at each of two receivers, on one channel.
    pub(super) fn together(&self, other: &Self) -> [f64; 2] {
        let channels = || self.by_channel.iter().zip(&other.by_channel);
        [0, 1].map(|n| channels().map(|(a, b)| a[n] * b[n]).sum())
    }
}

/// Who hears `from` over a strong link, lowest index first.
pub(super) fn heard(
    links: &LinkQualities,
    from: usize,
    strong: impl Fn(&LinkQuality) -> bool,
) -> Vec<Heard> {
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
