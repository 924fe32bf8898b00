//! Surveys in sweeps: all nodes send one beacon after the other, within a third of a second on a channel. The next sweep comes a
//! second later, in other bursts; a link's count does not say in which of them it lost a beacon.

use super::counts::{hops, Heard, Share, Told, Two, ENOUGH};
use thalweg_units::Channel;

/// Pairs of beacons that were sent in sweeps.
#[derive(Default)]
pub(super) struct Sweeps {
    /// Of one beacon.
    one: Share,
    /// Beacons of a link on a channel, and links: how many sweeps there were.
    count: Share,
    /// Of two senders at one receiver, on one channel.
    own: Share,
    /// Of two senders at two receivers, on one channel.
    two: Two,
}

impl Sweeps {
    /// Adds a survey's beacons by sender.
    pub(super) fn add(&mut self, senders: &[Vec<Heard>]) {
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
    /// What they tell; none where they are too few.
    pub(super) fn told(&self) -> Option<Told> {
        if self.one.of < ENOUGH {
            return None;
        }
        let (m1, sweeps) = (self.one.share(), self.count.share());
        // Of pairs one in so many is of one sweep.
        let of_one = |pairs: &Share| (sweeps * pairs.share() - (sweeps - 1.0) * m1 * m1).max(0.0);
        let m2 = of_one(&self.own);
        Some(Told {
            m1,
            m2,
            two: self.two.of(m2, of_one),
        })
    }
}
