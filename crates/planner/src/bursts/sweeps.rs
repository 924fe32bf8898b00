//! Surveys in sweeps: all nodes send one beacon after the other, within a third of a second on a channel. The next sweep comes a
//! second later, in other bursts; a link's count does not say in which of them it lost a beacon.

use super::counts::{hops, Heard, Share, Told, Two, ENOUGH};
use crate::rules;
use thalweg_units::{Channel, Duration};

/// Pairs of beacons that were sent in sweeps.
#[derive(Default)]
pub(super) struct Sweeps {
    /// Of one beacon.
    one: Share,
    /// Beacons of a link on a channel, and links: how many sweeps there were.
    count: Share,
    /// Of two senders at one receiver, on one channel; and how likely it is that a burst that is on at one of two is still on
    /// at the other.
    own: Share,
    lasts: Share,
    /// Of two senders at two receivers, on one channel.
    two: Two,
}

impl Sweeps {
    /// Adds a survey's beacons of senders that `counts`, of which each sent so long after the one before it.
    pub(super) fn add(
        &mut self,
        senders: &[Vec<Heard>],
        counts: impl Fn(usize) -> bool,
        apart: Duration,
    ) {
        // By how many others sent between both; who was not heard at all was not asked.
        let of_senders = senders.iter().map(|heard| u32::from(!heard.is_empty()));
        let places: Vec<u32> = (of_senders)
            .scan(0, |sent, one| Some(std::mem::replace(sent, *sent + one)))
            .collect();
        let later = |between| libm::exp(-f64::from(between) * apart.as_secs_f64() / rules::BURST_S);
        let stays: Vec<f64> = (0..=senders.len() as u32).map(later).collect();
        let counted: Vec<(&Vec<Heard>, u32)> = (senders.iter().zip(places).enumerate())
            .filter(|(from, _)| counts(*from))
            .map(|(_, sender)| sender)
            .collect();
        for channel in Channel::all().map(Channel::index) {
            let on = |heard: &Heard| heard.by_channel[channel];
            // By receiver: of all senders, and of each that it heard so far.
            let mut at = vec![[0.0; 2]; senders.len()];
            let mut each: Vec<Vec<(u32, [f64; 2])>> = vec![Vec::new(); senders.len()];
            for &(heard, place) in &counted {
                for heard in heard.iter().filter(|heard| on(heard)[1] > 0.0) {
                    let count = on(heard);
                    self.one.add(count);
                    self.count.add([count[1], 1.0]);
                    for n in 0..2 {
                        at[heard.by][n] += count[n];
                    }
                    for (before, other) in &each[heard.by] {
                        let [lost, sent] = [0, 1].map(|n| count[n] * other[n]);
                        self.own.add([lost, sent]);
                        self.lasts
                            .add([sent * stays[(place - before) as usize], sent]);
                    }
                    each[heard.by].push((place, count));
                }
            }
            let mut common: Vec<(usize, usize, [f64; 2])> = Vec::new();
            for (heard, _) in &counted {
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
                let pairs = [0, 1].map(|n| at[a][n] * at[b][n] - once(n));
                self.two.add(pairs, of.len() as f64, hops(senders, a, b));
            }
        }
    }
    /// What they tell; none where they are too few, or such that no burst outlasts any two of them.
    pub(super) fn told(&self) -> Option<Told> {
        if self.one.of < ENOUGH || self.lasts.lost <= 0.0 {
            return None;
        }
        let (m1, sweeps) = (self.one.share(), self.count.share());
        // Of pairs one in so many is of one sweep.
        let of_one = |pairs: &Share| (sweeps * pairs.share() - (sweeps - 1.0) * m1 * m1).max(0.0);
        let own = of_one(&self.own);
        // Where a burst ended between both, the second is in another or in none, as any other beacon is.
        let m2 = m1 * m1 + (own - m1 * m1) / self.lasts.share();
        Some(Told {
            m1,
            m2,
            two: self.two.of(own, of_one),
        })
    }
}
