//! What the source sends of a code in blocks: all packets, some repair symbols of every block blindly,
//! then of each block as many as the destination says that it misses, row after row over the blocks.
//!
//! Repair symbols are those that the store has, or where it has none those that are made when they are
//! due, as long as that takes less time than sending again what there is. `packets` of the context holds what is to be sent, as with rounds: numbers are in the order of
//! sending. A batch ends with everybody's last symbol, so that what turns out to be spare comes last.
//! Tests: at the end of this file.

use super::making::Maker;
use super::packets::PacketSet;
use crate::blocks::Blocks;
use crate::object::Coded;
use thalweg_units::Duration;
use thalweg_wire::route::Percent;

/// What the source knows of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockSupply {
    coded: Coded,
    blocks: Blocks,
    /// Repair symbols of each block, from the first on, that the store has.
    stored: u16,
    /// Row of every block's next repair symbol, and where the batch that is being put
    /// together ends.
    base: u16,
    end: u16,
    /// The same of what every block sends again ([`Blocks::again`]).
    repeat: u16,
    repeat_end: u16,
    sent: u32,
    /// What all blocks together miss, and what they missed when this round began.
    missed: Option<u16>,
    missed_before: Option<u16>,
    /// Both are the same: nothing that this round sent was new.
    is_stuck: bool,
    /// Nanoseconds that symbols had to be waited for, and that as many slots take.
    price: (u64, u64),
    /// Cycles that an exchange takes: asking again costs as much as so many packets.
    exchange: u16,
}

impl BlockSupply {
    /// Puts the packets and `spare` percent of repair symbols into `set`. Of `coded`, `stored` repair
    /// symbols of each block are in the store.
    pub(super) fn new(
        coded: Coded,
        stored: u16,
        spare: Percent,
        exchange: u16,
        set: &mut PacketSet,
    ) -> Self {
        let blocks = coded.blocks;
        set.fill_to(blocks.packets());
        let symbols = u32::from(blocks.packets()) * u32::from(spare.get());
        let rows = symbols.div_ceil(100 * u32::from(blocks.count()));
        let rows = u16::try_from(rows)
            .unwrap_or(u16::MAX)
            .min(blocks.repairs());
        for row in 0..rows {
            (0..blocks.count())
                .filter(|block| blocks.size(*block) > 0)
                .for_each(|block| {
                    set.insert(blocks.repair(block, row));
                });
        }
        Self {
            coded,
            blocks,
            stored,
            base: rows,
            end: rows,
            repeat: 0,
            repeat_end: 0,
            sent: 0,
            missed: None,
            missed_before: None,
            is_stuck: false,
            price: (0, 0),
            exchange,
        }
    }
    /// What symbols are made of.
    pub(super) const fn coded(&self) -> &Coded {
        &self.coded
    }
    /// Whether `number` can be sent: a packet, or a symbol that was made.
    pub(super) fn is_ready(&self, maker: &Maker, number: u16) -> bool {
        let row = self.blocks.row_of(number);
        row.is_none_or(|row| row < self.stored) || maker.symbol(number).is_some()
    }
    /// The lowest number of `set` that is not below `from` and can be sent.
    pub(super) fn first_ready(&self, set: &PacketSet, maker: &Maker, from: u16) -> Option<u16> {
        let mut number = set.first_from(from)?;
        while !self.is_ready(maker, number) {
            number = set.first_from(number + 1)?;
        }
        Some(number)
    }
    /// A symbol was sent.
    pub(super) fn sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }
    /// A round begins: the next batch goes on where this one ends.
    pub(super) fn round_begins(&mut self) {
        (self.base, self.repeat) = (self.end, self.repeat_end);
        self.missed_before = self.missed;
    }

    /// The host had to be waited for so long until `symbols` symbols were made; a slot takes `slot`.
    pub(super) fn waited(&mut self, time: Duration, symbols: u16, slot: Duration) {
        self.price.0 += time.as_nanos();
        self.price.1 += slot.as_nanos() * u64::from(symbols);
    }

    /// Sends again what there is, in place of symbols that have still to be made, where that is sooner now
    /// that their price is known.
    pub(super) fn reconsider(&mut self, maker: &Maker, set: &mut PacketSet) {
        let all = self.missed.unwrap_or(0);
        let rows = self.rows(all);
        if rows == self.blocks.repairs() {
            return;
        }
        for block in 0..self.blocks.count() {
            let mut unmade = 0u16;
            for row in 0..self.blocks.repairs() {
                let number = self.blocks.repair(block, row);
                if set.contains(number) && !self.is_ready(maker, number) {
                    set.remove(number);
                    unmade += 1;
                }
            }
            let end = self.send_again(block, unmade, rows, all, set);
            self.repeat_end = self.repeat_end.max(end);
        }
    }

    /// Puts as much of what a block has into `set` as is worth `left` new symbols; where that ends.
    fn send_again(&self, block: u16, left: u16, rows: u16, all: u16, set: &mut PacketSet) -> u16 {
        let again = self.repeats(block, left, rows, all);
        for turn in (0..again).map(|k| self.repeat.saturating_add(k)) {
            set.insert(self.blocks.again(block, turn, rows));
        }
        self.repeat.saturating_add(again)
    }

    /// Puts what makes up for what `missing` says, block by block, into `set`, where `all` are missing
    /// altogether. How many of them were not known before.
    pub(super) fn missing(
        &mut self,
        missing: impl Iterator<Item = (u16, u16)> + Clone,
        all: u16,
        set: &mut PacketSet,
    ) -> u16 {
        self.missed = Some(all);
        self.is_stuck = self.missed_before == self.missed;
        let waiting = |set: &PacketSet, block: u16| {
            let waits = self.blocks.symbols(block).filter(|k| set.contains(*k));
            u16::try_from(waits.count()).unwrap_or(u16::MAX)
        };
        let struck = missing.clone().count();
        let missing = missing.filter(|(block, _)| *block < self.blocks.count());
        // What waits to be sent, after a trial, is made up for when it is lost.
        let more = |set: &PacketSet, block: u16, missing: u16| match missing
            .saturating_sub(waiting(set, block))
        {
            0 => (0, 0),
            new => (new, self.batch(new, all, struck)),
        };
        let width = missing
            .clone()
            .map(|(block, m)| more(set, block, m).1)
            .max();
        let width = width.unwrap_or(0);
        let rows = self.rows(all);
        let (mut known, mut repeat_end) = (0u16, self.repeat_end);
        for (block, missing) in missing {
            let (new, mut left) = more(set, block, missing);
            known = known.saturating_add(new);
            let first = self.base.saturating_add(width - left);
            for row in first..rows {
                if left == 0 {
                    break;
                }
                left -= u16::from(set.insert(self.blocks.repair(block, row)));
            }
            let end = self.send_again(block, left, rows.min(first), all, set);
            repeat_end = repeat_end.max(end);
        }
        self.end = self.end.max(self.base.saturating_add(width));
        self.repeat_end = repeat_end;
        known
    }

    /// How many rows of repair symbols blocks have to send: those in the store. Where there are none, or
    /// nothing that was sent again was new, as many as can be made, unless what is there already is new
    /// sooner than they are made.
    fn rows(&self, all: u16) -> u16 {
        let (sent, arrived) = self.arrivals(all);
        let (waited, slots) = self.price;
        let made = waited.saturating_add(slots);
        let is_sooner =
            made.saturating_mul(u64::from(sent - arrived)) <= slots.saturating_mul(u64::from(sent));
        match self.stored {
            _ if self.is_stuck => self.blocks.repairs(),
            0 if is_sooner => self.blocks.repairs(),
            stored => stored.min(self.blocks.repairs()),
        }
    }

    /// How many packets and symbols to send again for `left` new ones of a block that has `rows`
    /// repair symbols: one in so many is new, as far as anybody knows.
    fn repeats(&self, block: u16, left: u16, rows: u16, all: u16) -> u16 {
        let (sent, arrived) = self.arrivals(all);
        let lost = (sent - arrived).max(1);
        let again = u64::from(left) * u64::from(sent) / u64::from(lost);
        let everything = self.blocks.size(block).saturating_add(rows);
        u16::try_from(again).unwrap_or(u16::MAX).min(everything)
    }

    /// What was sent, and how much of it arrived where `all` are missing; rather too little than nothing.
    fn arrivals(&self, all: u16) -> (u32, u32) {
        let sent = self.sent.max(1);
        let arrived = u32::from(self.blocks.packets().saturating_sub(all));
        (sent, arrived.clamp(sent.div_ceil(4), sent))
    }

    /// How many symbols to send for `missing` of one block, of `struck` blocks that miss `all`.
    fn batch(&self, missing: u16, all: u16, struck: usize) -> u16 {
        let (sent, arrived) = self.arrivals(all);
        let mean = u32::from(missing) * sent / arrived;
        // One more for each block where that takes no longer than to ask again.
        let more = u32::from(struck <= usize::from(self.exchange));
        let most = self.blocks.size(0) + self.blocks.repairs();
        u16::try_from(mean + more)
            .unwrap_or(u16::MAX)
            .clamp(missing, most.max(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Part;
    use std::vec::Vec;
    use thalweg_wire::route::BlockSymbols;

    fn supply(packets: u16, most: u8, spare: u8, exchange: u16) -> (BlockSupply, PacketSet) {
        supply_with(0, packets, most, spare, exchange)
    }
    /// Of each block, `stored` symbols are in the store.
    fn supply_with(
        stored: u16,
        packets: u16,
        most: u8,
        spare: u8,
        exchange: u16,
    ) -> (BlockSupply, PacketSet) {
        let mut set = PacketSet::EMPTY;
        let blocks = Blocks::new(packets, BlockSymbols::new(most).unwrap());
        let spare = Percent::new(spare).unwrap();
        let coded = Coded {
            part: Part { offset: 0, len: 0 },
            blocks,
            symbol_bytes: 118,
        };
        let supply = BlockSupply::new(coded, stored, spare, exchange, &mut set);
        (supply, set)
    }
    fn drain(supply: &mut BlockSupply, set: &mut PacketSet) -> Vec<u16> {
        let mut sent = Vec::new();
        while let Some(number) = set.first_from(0) {
            set.remove(number);
            supply.sent();
            sent.push(number);
        }
        sent
    }

    #[test]
    fn packets_come_first_then_a_row_of_every_block() {
        let (mut supply, mut set) = supply(100, 32, 5, 8);
        assert_eq!(supply.blocks.count(), 5);
        assert_eq!(drain(&mut supply, &mut set), (0..105).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_missing_is_made_up_for_by_symbols_that_were_not_sent() {
        let (mut supply, mut set) = supply(100, 32, 0, 0);
        drain(&mut supply, &mut set);
        let missing = [(1u16, 3u16), (4, 1)];
        let told = |supply: &mut BlockSupply, set: &mut PacketSet| {
            supply.missing(missing.iter().copied(), 4, set)
        };
        assert_eq!(told(&mut supply, &mut set), 4);
        // The second copy of the NACK tells nothing new.
        assert_eq!(told(&mut supply, &mut set), 0);
        supply.round_begins();
        assert_eq!(drain(&mut supply, &mut set), [101, 106, 111, 114]);
        assert_eq!(told(&mut supply, &mut set), 4);
        supply.round_begins();
        assert_eq!(drain(&mut supply, &mut set), [116, 121, 126, 129]);
    }

    #[test]
    fn numbers_begin_again_and_blocks_that_there_are_not_want_nothing() {
        let (mut supply, mut set) = supply(3, 1, 0, 8);
        drain(&mut supply, &mut set);
        for _ in 0..1000 {
            assert_eq!(supply.missing([(2, 1), (7, 9)].into_iter(), 1, &mut set), 1);
            supply.round_begins();
            let sent = drain(&mut supply, &mut set);
            assert!(!sent.is_empty() && sent.iter().all(|k| supply.blocks.block_of(*k) == 2));
        }
    }

    #[test]
    fn symbols_in_the_store_are_sent_once_and_then_everything_again() {
        // Five blocks of 20; half of what is sent is lost.
        let (mut supply, mut set) = supply_with(2, 100, 32, 0, 0);
        drain(&mut supply, &mut set);
        let missing = || [(3u16, 2u16)].into_iter();
        assert_eq!(supply.missing(missing(), 50, &mut set), 2);
        supply.round_begins();
        // Four for two; symbols 2 and 3 of the block there are not, so twice as many packets go again.
        let sent = drain(&mut supply, &mut set);
        assert_eq!(sent, [3, 8, 13, 18, 103, 108]);
        assert_eq!(supply.missing(missing(), 49, &mut set), 2);
        supply.round_begins();
        let sent = drain(&mut supply, &mut set);
        assert_eq!(sent.first(), Some(&23), "it goes on where it was");
        assert!(
            sent.iter().all(|k| *k < 100 || [103, 108].contains(k)),
            "{sent:?}"
        );
        // Nothing was new: what comes next was never sent.
        assert_eq!(supply.missing(missing(), 49, &mut set), 2);
        let made = drain(&mut supply, &mut set);
        assert!(made.iter().all(|k| *k > 108), "{made:?}");
    }

    #[test]
    fn symbols_are_made_where_that_is_sooner_than_sending_again() {
        let slot = Duration::from_millis(4);
        let sent = |all: u16| {
            let (mut supply, mut set) = supply(100, 32, 0, 0);
            drain(&mut supply, &mut set);
            // A symbol costs ten slots.
            supply.waited(slot * 18, 2, slot);
            supply.missing([(3, 1)].into_iter(), all, &mut set);
            drain(&mut supply, &mut set)
        };
        // One in twenty is lost: sending again brings something new every twentieth time.
        assert_eq!(sent(5), [103]);
        // One in five.
        assert!(sent(20).iter().all(|k| *k < 100));
        assert_eq!(sent(20).len(), 5);
    }

    #[test]
    fn what_turns_out_to_be_dear_is_not_made_after_all() {
        let (mut supply, mut set) = supply(100, 32, 0, 0);
        drain(&mut supply, &mut set);
        supply.missing([(3, 4)].into_iter(), 20, &mut set);
        supply.round_begins();
        let slot = Duration::from_millis(4);
        let made = Maker::IDLE;
        supply.waited(slot, 1, slot);
        supply.reconsider(&made, &mut set);
        assert!(
            set.first_from(100).is_some(),
            "two slots for a symbol are not dear"
        );
        supply.waited(slot * 200, 1, slot);
        supply.reconsider(&made, &mut set);
        assert_eq!(set.first_from(100), None);
        assert_eq!(drain(&mut supply, &mut set).len(), 20, "all of the block");
    }
}
