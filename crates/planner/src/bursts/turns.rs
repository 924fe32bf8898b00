//! Surveys in turns: a node sends all of its beacons in a row. A turn is short, but of several channels one after the other: a burst
//! may end between two beacons of it.

use super::counts::{hops, Heard, Share, Told, Two, ENOUGH};
use crate::rules;
use thalweg_units::{Channel, Duration};

/// Pairs of beacons that were sent in turns.
#[derive(Default)]
pub(super) struct Turns {
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
    /// Adds a survey's beacons of senders that `counts`, of each so far `apart`. A link of which nothing came through is not known
    /// of.
    pub(super) fn add(
        &mut self,
        senders: &[Vec<Heard>],
        counts: impl Fn(usize) -> bool,
        apart: Duration,
    ) {
        let mut channels = [false; Channel::COUNT];
        for heard in senders.iter().flatten() {
            for (channel, [_, sent]) in channels.iter_mut().zip(heard.by_channel) {
                *channel |= sent > 0.0;
            }
        }
        for (_, heard) in senders.iter().enumerate().filter(|(from, _)| counts(*from)) {
            for (at, a) in heard.iter().enumerate() {
                self.one.add(a.all);
                for (pairs, stays) in pairs(a, &channels, apart) {
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
    /// What they tell; none where they are too few, or such that no burst outlasts any two of them.
    pub(super) fn told(&self) -> Option<Told> {
        if self.one.of < ENOUGH || self.lasts.lost <= 0.0 {
            return None;
        }
        let m1 = self.one.share();
        // Where a burst ended between both, the second is in another or in none, as any other beacon is.
        let m2 = m1 * m1 + (self.own.share() - m1 * m1) / self.lasts.share();
        Some(Told {
            m1,
            m2,
            two: self.two.of(self.channels.share(), Share::share),
        })
    }
}

/// Pairs of beacons, so far `apart`, of a turn over `channels` at one receiver, lost and sent, and how likely a burst that is on at one is still on
/// at the other.
fn pairs(link: &Heard, channels: &[bool; Channel::COUNT], apart: Duration) -> Vec<([f64; 2], f64)> {
    let stays = |beacons: f64| libm::exp(-beacons * apart.as_secs_f64() / rules::BURST_S);
    let sent = (link.by_channel.iter().zip(channels)).filter(|(_, of_survey)| **of_survey);
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
