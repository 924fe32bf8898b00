//! A code in blocks that a mote can make: packets of an object in interleaved blocks of some tens, and
//! for each block repair symbols over GF(256) of which any one stands in for any packet of the block.
//!
//! Packet n is in block n mod B: a burst on the air strikes all blocks alike. B is odd, so that
//! consecutive packets of a block go through different groups of relays. A repair symbol is a
//! combination of its block's packets with the coefficients of a Cauchy matrix, every square part of
//! which can be inverted: as many symbols as the block has packets always do, with no surplus.
//! Making some takes their memory and a packet's, whatever the object's length; undoing is the gateway's
//! (`decoder.rs`). Tests: at the end of this file and of those beside it.

#[cfg(any(test, feature = "std"))]
mod decoder;
mod gf256;

#[cfg(any(test, feature = "std"))]
pub use decoder::recover;

use thalweg_wire::pipeline::{MAX_PACKETS, MAX_SLIM_PAYLOAD};
use thalweg_wire::route::BlockSymbols;

/// Elements of the field: rows and columns of the matrix together are no more.
const FIELD: u16 = 256;

/// The most repair symbols of a block that are made in one pass over its packets.
pub const BATCH: usize = 8;
/// A repair symbol; what is beyond a packet's length is without meaning.
pub type Symbol = [u8; MAX_SLIM_PAYLOAD];
/// Bytes of RAM that making repair symbols takes: a batch, and the packet that is read.
pub const ENCODER_BYTES: usize = (BATCH + 1) * size_of::<Symbol>();
/// Bytes of read-only memory for the field's tables.
pub const TABLE_BYTES: usize = gf256::TABLE_BYTES;
/// Both together are little beside the 10 kB of RAM and 48 kB of flash of a TelosB.
const _: () = assert!(ENCODER_BYTES <= 1100 && TABLE_BYTES <= 768);

/// How the packets of a transfer are divided into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    packets: u16,
    count: u16,
}

impl Blocks {
    /// `packets` packets, at most [`MAX_PACKETS`], in blocks of at most `most`.
    pub const fn new(packets: u16, most: BlockSymbols) -> Self {
        let least = packets.div_ceil(most.get() as u16);
        let count = if least % 2 == 0 { least + 1 } else { least };
        Self { packets, count }
    }
    /// B, odd.
    pub const fn count(&self) -> u16 {
        self.count
    }
    /// Packets of the transfer.
    pub const fn packets(&self) -> u16 {
        self.packets
    }
    /// In which block symbol `number` is.
    pub const fn block_of(&self, number: u16) -> u16 {
        match number.checked_sub(self.packets) {
            Some(repair) => repair % self.count,
            None => number % self.count,
        }
    }
    /// k: packets of block `block`; none of a block that there is not.
    pub const fn size(&self, block: u16) -> u16 {
        self.packets.saturating_sub(block).div_ceil(self.count)
    }
    /// Packets of the largest block.
    const fn rows(&self) -> u16 {
        self.packets.div_ceil(self.count)
    }
    /// Repair symbols that each block has.
    pub const fn repairs(&self) -> u16 {
        let of_field = FIELD - self.rows();
        let of_numbers = MAX_PACKETS.saturating_sub(self.packets) / self.count;
        if of_field < of_numbers {
            of_field
        } else {
            of_numbers
        }
    }
    /// Number of packet `row` of a block.
    pub const fn packet(&self, block: u16, row: u16) -> u16 {
        row * self.count + block
    }
    /// Number of repair symbol `row` of a block.
    pub const fn repair(&self, block: u16, row: u16) -> u16 {
        self.packets + row * self.count + block
    }
    /// The number of the `turn`-th symbol of a block that sends again what it has: its packets, then the
    /// first `rows` of its repair symbols, and so on.
    pub const fn again(&self, block: u16, turn: u16, rows: u16) -> u16 {
        let cycle = rows + self.size(block);
        let turn = if cycle == 0 { 0 } else { turn % cycle };
        match turn.checked_sub(self.size(block)) {
            Some(row) => self.repair(block, row),
            None => self.packet(block, turn),
        }
    }
    /// Which repair symbol of its block symbol `number` is; none of packets.
    pub const fn row_of(&self, number: u16) -> Option<u16> {
        match number.checked_sub(self.packets) {
            Some(repair) => Some(repair / self.count),
            None => None,
        }
    }
    /// The numbers of all symbols of a block.
    pub fn symbols(&self, block: u16) -> impl Iterator<Item = u16> {
        let blocks = *self;
        let own = (0..blocks.size(block)).map(move |row| blocks.packet(block, row));
        own.chain((0..blocks.repairs()).map(move |row| blocks.repair(block, row)))
    }
    /// With what packet `row` of a block goes into repair symbol `number`.
    fn coefficient(&self, number: u16, row: u16) -> u8 {
        let repair = (number.saturating_sub(self.packets) / self.count) % FIELD;
        // The rows count down from the field's end, the columns up from its beginning.
        let x = (FIELD - 1 - repair) as u8;
        gf256::inverse(x ^ row as u8)
    }
    /// Makes repair symbols `numbers` of one block in `into`, each of `len` bytes, at most
    /// [`MAX_SLIM_PAYLOAD`], of the block's packets, which `read` gives by number, padded, once each.
    pub fn encode(
        &self,
        numbers: &[u16],
        len: usize,
        mut read: impl FnMut(u16, &mut [u8]),
        into: &mut [Symbol],
    ) {
        let Some(first) = numbers.first() else {
            return;
        };
        let len = len.min(MAX_SLIM_PAYLOAD);
        let mut packet = [0; MAX_SLIM_PAYLOAD];
        into.iter_mut().for_each(|symbol| symbol.fill(0));
        let block = self.block_of(*first);
        for row in 0..self.size(block) {
            read(self.packet(block, row), &mut packet[..len]);
            for (number, symbol) in numbers.iter().zip(&mut *into) {
                let factor = self.coefficient(*number, row);
                gf256::add_scaled(&mut symbol[..len], &packet[..len], factor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn most(symbols: u8) -> BlockSymbols {
        BlockSymbols::new(symbols).unwrap()
    }

    #[test]
    fn five_hundred_packets_make_seventeen_blocks_of_thirty() {
        let blocks = Blocks::new(500, most(32));
        assert_eq!((blocks.count(), blocks.repairs()), (17, 226));
        assert_eq!(
            (blocks.size(0), blocks.size(16), blocks.size(17)),
            (30, 29, 29)
        );
        let again = [0, 1, 30, 31, 32].map(|turn| blocks.again(3, turn, 2));
        assert_eq!(again, [3, 20, 503, 520, 3]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_number_is_in_one_block(packets in 0..=MAX_PACKETS, symbols in 1..=128u8) {
            let blocks = Blocks::new(packets, most(symbols));
            let mut sum = 0;
            for block in 0..blocks.count() {
                prop_assert!(blocks.size(block) <= u16::from(symbols));
                sum += blocks.size(block);
            }
            prop_assert_eq!(sum, packets);
            let last = blocks.count() - 1;
            for block in [0, last / 2, last] {
                for number in blocks.symbols(block) {
                    prop_assert!(number < MAX_PACKETS);
                    prop_assert_eq!(blocks.block_of(number), block);
                }
            }
        }
    }
}
