//! What the destination makes of the arrangements that were tried: which to go on with, and what to do
//! next.
//!
//! Of each it counts what was sent and what came, in trials of 16 packets and in all rounds after them,
//! and goes on with the best estimate. A trial of 16 says little, so a long transfer is cut into
//! stretches, each twice as long as the last as long as all goes well: an arrangement that was lucky in
//! its trial is found out, and a channel that goes bad is left. Other orders of the channels are tried
//! only as long as what they might bring exceeds what the trial costs. Counts are those of whole
//! arrangements: a stage's yield depends on who of the stage before has the packet, which depends on
//! its channel, so that stages cannot be judged by themselves (docs/variants.md). Tests: at the end.

use super::arrangement::MAX_ARRANGEMENTS;
use super::directions::Stretch;
use super::tuning::MAX_ROTATIONS;

/// Packets of a round from which on it says something about its arrangement.
const LEAST: u16 = 16;
/// Rounds in a row that bring nothing from which on they count, however short: the channel may be dead, and
/// no longer round will come.
const VAIN: u8 = 2;
/// What is thought of an arrangement before it is tried: of so many packets (times 20), 95 % come.
const PRIOR_SENT: u64 = 160;
const PRIOR_CAME: u64 = 152;
/// Of one that nobody means to try: 60 %, in 256ths.
const UNTRIED: u32 = 154;
/// Counts of earlier rounds weigh no more than those of the last, or of so many packets.
const MEMORY: u16 = 64;
/// Packets of a further trial of an order, in what it loses and its exchange; twice, since at most half
/// of a loss is likely to go.
const ORDER_COSTS: u32 = 2 * 35;
/// Fewer packets to come need no further orders: their trials choose worse than they cost.
const ORDERS_FROM: u16 = 1_024;
/// By how much another has to be better than one that is known, in 65536ths: 0.8 %.
const MARGIN: u32 = 512;
/// The first stretch has 2 to this power packets.
const FIRST_STRETCH: u8 = 8;

/// What was sent and what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    sent: u16,
    came: u16,
}

impl Count {
    /// Whether nothing was sent.
    pub const fn is_empty(self) -> bool {
        self.sent == 0
    }
    /// Whether it is more than that of a trial.
    pub const fn is_known(self) -> bool {
        self.sent >= 1 << FIRST_STRETCH
    }
    /// What is thought of it, in 65536ths.
    pub fn estimate(self) -> u32 {
        if self.sent == 0 {
            return UNTRIED << 8;
        }
        let (sent, came) = (u64::from(self.sent) * 20, u64::from(self.came) * 20);
        ((came + PRIOR_CAME) * 0x1_0000 / (sent + PRIOR_SENT)) as u32
    }
    /// `sent` more packets, of which `came` came.
    pub fn add(&mut self, sent: u16, came: u16) {
        let most = sent.max(MEMORY);
        if self.sent > most {
            let scaled = u32::from(self.came) * u32::from(most) / u32::from(self.sent);
            (self.sent, self.came) = (most, scaled as u16);
        }
        self.sent = self.sent.saturating_add(sent);
        self.came = self.came.saturating_add(came.min(sent));
    }
}

/// What is known of the arrangements of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yields {
    /// Channels that are handed round, and orders of them.
    pool: u8,
    orders: u8,
    tried: u8,
    counts: [Count; MAX_ARRANGEMENTS],
    /// What came of each rotation in the trial under way.
    heard: [u8; MAX_ROTATIONS],
    best: u8,
    stretch: u8,
    /// Rounds in a row that brought nothing.
    vain: u8,
}

impl Yields {
    /// Nothing known of `orders` orders of `pool` channels.
    pub fn new(pool: u8, orders: u8) -> Self {
        Self {
            pool: pool.max(1),
            orders,
            tried: 0,
            counts: [Count::default(); MAX_ARRANGEMENTS],
            heard: [0; MAX_ROTATIONS],
            best: 0,
            stretch: FIRST_STRETCH,
            vain: 0,
        }
    }
    /// A packet of a trial arrived under `arrangement`.
    pub fn heard(&mut self, arrangement: u8) {
        if let Some(heard) = self.heard.get_mut(usize::from(arrangement % self.pool)) {
            *heard = heard.saturating_add(1);
        }
    }
    /// A trial of `order` is over, of `sent` packets, `run` for each rotation.
    pub fn trial_over(&mut self, order: u8, sent: u16, run: u8) {
        let heard = core::mem::take(&mut self.heard);
        for (rotation, came) in (0..self.pool).zip(heard) {
            // Rotations count down.
            let before = u16::from(self.pool - 1 - rotation) * u16::from(run);
            let sent = sent.saturating_sub(before).min(u16::from(run));
            let at = usize::from(order) * usize::from(self.pool) + usize::from(rotation);
            if let Some(count) = self.counts.get_mut(at) {
                count.add(sent, u16::from(came));
            }
        }
        self.tried = self.tried.max(order + 1);
        self.choose();
    }
    /// A round of `sent` packets under `arrangement` is over, of which `came` came.
    pub fn round_over(&mut self, arrangement: u8, sent: u16, came: u16) {
        self.heard = [0; MAX_ROTATIONS];
        self.vain = match came {
            0 => self.vain.saturating_add(1),
            _ => 0,
        };
        if sent < LEAST && self.vain < VAIN {
            return;
        }
        if let Some(count) = self.counts.get_mut(usize::from(arrangement)) {
            count.add(sent.max(LEAST), came);
        }
        let before = self.best;
        self.choose();
        self.stretch = if self.best == before || self.count().is_known() {
            self.stretch.saturating_add(1)
        } else {
            FIRST_STRETCH
        };
    }
    /// The same of a round in which only those spoke who were chosen: only where much is lost, it may be
    /// the channel.
    pub fn round_of_others(&mut self, arrangement: u8, sent: u16, came: u16) {
        if u32::from(came) * 3 < u32::from(sent) * 2 {
            self.round_over(arrangement, sent, came);
        } else {
            self.stretch = self.stretch.saturating_add(1);
        }
    }
    fn choose(&mut self) {
        let estimate = |a: u8| self.counts.get(usize::from(a)).map_or(0, |c| c.estimate());
        let mut best = 0;
        for arrangement in 1..self.pool * self.orders {
            if estimate(arrangement) > estimate(best) {
                best = arrangement;
            }
        }
        let margin = if self.count().is_known() { MARGIN } else { 0 };
        if estimate(best) > estimate(self.best) + margin {
            self.best = best;
        }
    }
    /// The best arrangement; the lowest of several.
    pub const fn best(&self) -> u8 {
        self.best
    }
    /// How many of `missing` packets `count` can be thought to lose.
    pub fn loses(count: Count, missing: u16) -> u32 {
        // Below 2 to the 31: an estimate is a share, and there are at most 16,384 packets.
        0x1_0000u32.saturating_sub(count.estimate()) * u32::from(missing) / 0x1_0000
    }
    /// What is known of the best.
    pub fn count(&self) -> Count {
        self.count_of(self.best)
    }
    /// What is known of `arrangement`.
    pub fn count_of(&self, arrangement: u8) -> Count {
        let count = self.counts.get(usize::from(arrangement));
        count.copied().unwrap_or_default()
    }
    /// What to send next of `missing` packets.
    pub fn next(&self, missing: u16) -> Stretch {
        let more = self.tried > 0 && self.tried < self.orders;
        if more && missing >= ORDERS_FROM && Self::loses(self.count(), missing) > ORDER_COSTS {
            return Stretch::Order(self.tried);
        }
        // The last stretch may be twice as long as it would be.
        let twice = 2u16
            .checked_shl(u32::from(self.stretch))
            .unwrap_or(u16::MAX);
        if missing > twice && self.stretch < 13 {
            Stretch::Packets(self.stretch)
        } else {
            Stretch::All
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a trial of 16 each in which so many came, the last rotation first.
    fn tried(came: [u8; 4]) -> Yields {
        let mut yields = Yields::new(4, 3);
        for (rotation, came) in [3, 2, 1, 0].into_iter().zip(came) {
            (0..came).for_each(|_| yields.heard(rotation));
        }
        yields.trial_over(0, 64, 16);
        yields
    }

    #[test]
    fn the_best_of_a_trial_is_kept_as_long_as_it_holds() {
        let mut yields = tried([9, 15, 16, 14]);
        assert_eq!(yields.best(), 1);
        assert_eq!(yields.next(436), Stretch::All);
        yields.round_over(1, 436, 410);
        assert_eq!(
            yields.best(),
            1,
            "the second best has lost as much of its sixteen"
        );
        yields.round_over(1, 26, 3);
        assert_eq!(yields.best(), 2, "the channel has gone bad");
        yields.round_over(2, 15, 0);
        assert_eq!(yields.best(), 2, "too few to say anything");
        yields.round_over(2, 15, 0);
        assert_eq!(yields.best(), 0, "but not again and again");
    }

    #[test]
    fn long_transfers_are_cut_into_stretches_that_grow() {
        let mut yields = tried([16, 16, 16, 16]);
        yields.tried = yields.orders;
        let mut missing = 8_000;
        let mut stretches = std::vec::Vec::new();
        while let Stretch::Packets(power) = yields.next(missing) {
            stretches.push(power);
            missing -= 1 << power;
            yields.round_over(yields.best(), 1 << power, 1 << power);
        }
        assert_eq!(stretches, [8, 9, 10, 11]);
        assert!(yields.count().estimate() > 65_000, "{:?}", yields.count());
        // What was only lucky is left, and the next is watched as closely.
        yields.round_over(0, 4_096, 3_000);
        assert_eq!(
            (yields.best(), yields.next(3_000)),
            (1, Stretch::Packets(8))
        );
    }

    #[test]
    fn further_orders_are_tried_only_where_much_can_be_won() {
        let mut yields = tried([12, 12, 13, 12]);
        assert_eq!(yields.next(400), Stretch::All);
        assert_eq!(yields.next(2_000), Stretch::Order(1));
        for _ in 0..16 {
            yields.heard(6);
        }
        yields.trial_over(1, 64, 16);
        assert_eq!(yields.best(), 6);
        assert_eq!(yields.next(2_000), Stretch::Packets(8));
        assert_eq!(tried([16, 12, 13, 12]).next(2_000), Stretch::Packets(8));
    }
}
