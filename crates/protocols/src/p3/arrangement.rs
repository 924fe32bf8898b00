//! Arrangements of a route's channels over its stages (P3, section VI: "the best channel" is left to the
//! future).
//!
//! An arrangement hands the first four channels that a route uses round among them, so that stages that
//! differ go on differing: an order of the channels, and how far it is turned. The first four are the
//! rotations of the route's own order, and 0 is the route as it is. Of the six orders of four channels
//! three are used, in which ten of the twelve pairs of channels follow one another. Tests: at the end.

use thalweg_units::Channel;
use thalweg_wire::route::Channels;

/// The most channels that are handed round.
pub(super) const MAX_POOL: usize = 4;
/// The most arrangements.
pub(super) const MAX_ARRANGEMENTS: usize = MAX_POOL * ORDERS.len();

/// Orders of four channels that are no rotations of each other; of three, the first two.
const ORDERS: [[u8; MAX_POOL]; 3] = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1]];

/// The channels of a route that are handed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrangements {
    pool: [Channel; MAX_POOL],
    count: u8,
}

impl Arrangements {
    /// Those of a route of `channels`.
    pub fn of(channels: &Channels) -> Self {
        let mut all = Self {
            pool: [Channel::LAST; MAX_POOL],
            count: 0,
        };
        for (place, channel) in all.pool.iter_mut().zip(sequence(channels)) {
            *place = channel;
            all.count += 1;
        }
        all
    }
    /// How many channels are handed round, 1..=4.
    pub const fn pool(&self) -> u8 {
        self.count
    }
    /// How many orders of them there are, 1..=3.
    pub const fn orders(&self) -> u8 {
        match self.count {
            0..=2 => 1,
            3 => 2,
            _ => ORDERS.len() as u8,
        }
    }
    /// How many arrangements there are, 1..=12.
    pub const fn count(&self) -> u8 {
        self.orders() * self.count
    }

    /// The channel under `arrangement` of a stage that has `channel` on the route.
    pub fn channel(&self, channel: Channel, arrangement: u8) -> Channel {
        let pool = &self.pool[..usize::from(self.count)];
        let turned = || {
            let own = pool.iter().position(|c| *c == channel)?;
            let (order, turn) = (arrangement / self.count, arrangement % self.count);
            let at = (own + usize::from(turn)) % usize::from(self.count);
            let place = *ORDERS.get(usize::from(order))?.get(at)?;
            pool.get(usize::from(place)).copied()
        };
        turned().unwrap_or(channel)
    }
}

/// The different channels of a route, in order of first use.
pub(super) fn sequence(channels: &Channels) -> impl Iterator<Item = Channel> + '_ {
    let list = channels.as_slice();
    let new = move |i: &usize| !list[..*i].contains(&list[*i]);
    (0..list.len()).filter(new).map(move |i| list[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn of(list: &[u8]) -> (Channels, Arrangements) {
        let list: Vec<_> = list.iter().map(|c| Channel::new(*c).unwrap()).collect();
        let channels = Channels::new(&list).unwrap();
        (channels, Arrangements::of(&channels))
    }

    #[test]
    fn stages_that_differ_go_on_differing_and_arrangements_differ() {
        for (list, count) in [
            (&[26, 26][..], 1),
            (&[20, 26], 2),
            (&[25, 20, 26], 6),
            (&[15, 25, 20, 26], 12),
            (&[11, 12, 13, 14, 15, 11], 12),
        ] {
            let (channels, all) = of(list);
            assert_eq!(all.count(), count);
            let lists: BTreeSet<Vec<u8>> = (0..count)
                .map(|a| {
                    let channel = |c: &Channel| all.channel(*c, a).number();
                    channels.as_slice().iter().map(channel).collect()
                })
                .collect();
            assert_eq!(lists.len(), usize::from(count));
            assert_eq!(all.channel(channels.of(1), 0), channels.of(1));
            for arranged in lists {
                for (i, a) in arranged.iter().enumerate() {
                    for (j, b) in arranged.iter().enumerate() {
                        assert_eq!(a == b, list[i] == list[j], "{arranged:?}");
                    }
                }
            }
        }
    }
}
