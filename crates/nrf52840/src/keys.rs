//! A node's keys: a record in a flash page of its own ([`crate::layout`]), which `thalweg keys mote` and `thalweg
//! firmware` write. A node whose page is erased is one of an open network; one whose page is not right is none's.
//!
//! 64 bytes, little-endian: 16 of magic, version, generation, node (2), epoch (4), four zeros, the node's key (16), the
//! group's key (16), CRC-32 of all before it. Tests: at the end.

use crate::checksum::crc32;
use crate::Registers;
use core::fmt;
use thalweg_units::NodeId;
use thalweg_wire::seal::{Block, GroupKeys, Key, NodeKeys};
use zeroize::Zeroize;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;
/// What it begins with.
pub const MAGIC: [u8; 16] = *b"THALWEG-NODEKEYS";
const VERSION: u8 = 1;
const KEYS_AT: usize = 28;

/// What a node is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Whose it is.
    pub node: NodeId,
    /// Which mote at that address it is.
    pub generation: u8,
    /// Which group key it has.
    pub epoch: u32,
    /// Its own key.
    pub own: NodeKeys,
    /// That of all nodes.
    pub group: GroupKeys,
}

/// A page of keys is damaged, or another node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadKeys;

impl fmt::Display for BadKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the page of keys is damaged, or another node's")
    }
}
impl core::error::Error for BadKeys {}

impl KeyRecord {
    /// Reads the record of `node` at `address`, a multiple of four; none where flash is erased there.
    ///
    /// # Errors
    /// [`BadKeys`]. A caller does not start such a node.
    pub fn read(
        r: &mut impl Registers,
        address: u32,
        node: NodeId,
    ) -> Result<Option<Self>, BadKeys> {
        let mut bytes = [0; RECORD_BYTES];
        r.read_bytes(address, &mut bytes);
        if bytes.iter().all(|byte| *byte == 0xFF) {
            return Ok(None);
        }
        let record = Self::parse(&bytes).filter(|record| record.node == node);
        bytes.zeroize();
        record.map(Some).ok_or(BadKeys)
    }

    /// Reads a record; none where anything in it is wrong.
    pub fn parse(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (told, sum) = bytes.split_last_chunk::<4>()?;
        let (magic, rest) = told.split_first_chunk::<16>()?;
        let [version, generation, node0, node1, e0, e1, e2, e3, 0, 0, 0, 0, ..] = *rest else {
            return None;
        };
        let is_right = *magic == MAGIC && version == VERSION && crc32(told).to_le_bytes() == *sum;
        let key = |at: usize| -> Option<Key> {
            let bytes: &Block = told.get(at..)?.first_chunk()?;
            Some(Key::new(*bytes))
        };
        is_right.then_some(())?;
        Some(Self {
            node: NodeId::new(u16::from_le_bytes([node0, node1])).ok()?,
            generation,
            epoch: u32::from_le_bytes([e0, e1, e2, e3]),
            own: NodeKeys::new(key(KEYS_AT)?),
            group: GroupKeys::new(key(KEYS_AT + 16)?),
        })
    }

    /// The record.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..16].copy_from_slice(&MAGIC);
        [bytes[16], bytes[17]] = [VERSION, self.generation];
        bytes[18..20].copy_from_slice(&self.node.get().to_le_bytes());
        bytes[20..24].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[KEYS_AT..KEYS_AT + 16].copy_from_slice(self.own.key().expose());
        bytes[KEYS_AT + 16..KEYS_AT + 32].copy_from_slice(self.group.key().expose());
        let sum = crc32(&bytes[..RECORD_BYTES - 4]);
        bytes[RECORD_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_no_flipped_bit_is_another() {
        let record = KeyRecord {
            node: NodeId::new(17).unwrap(),
            generation: 2,
            epoch: 70_000,
            own: NodeKeys::new(Key::new([5; 16])),
            group: GroupKeys::new(Key::new([6; 16])),
        };
        let bytes = record.bytes();
        assert_eq!(KeyRecord::parse(&bytes), Some(record));
        for bit in 0..8 * RECORD_BYTES {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(KeyRecord::parse(&flipped), None, "bit {bit}");
        }
        assert_eq!(KeyRecord::parse(&[0xFF; RECORD_BYTES]), None);
    }
}
