//! Bulk objects, as the engines see them: bytes at an offset, behind a trait, so that an engine
//! holds none of them. On a mote the store is flash or a sensor's buffer, at the gateway memory.

use crate::blocks::Blocks;

/// What is known of an object besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub len: u32,
    /// A digest of all its bytes. Engines carry it; whoever has the whole object compares it.
    pub digest: [u8; 8],
}

/// The bytes of an object that symbols of a fountain code are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Of the first byte.
    pub offset: u32,
    /// How many.
    pub len: u32,
}

/// What repair symbols in blocks are made of: only what agrees in all of it fits together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coded {
    /// The bytes.
    pub part: Part,
    /// How its packets are divided.
    pub blocks: Blocks,
    /// Bytes of a packet, and so of a symbol.
    pub symbol_bytes: u8,
}

/// Where the bytes of one object are.
pub trait ObjectStore {
    /// What the store holds. Asked of the source's store, when a transfer begins.
    fn info(&self) -> ObjectInfo;
    /// Fills `into` with the bytes from `offset`; bytes that the object has not are 0.
    fn read(&self, offset: u32, into: &mut [u8]);
    /// Keeps `bytes` at `offset`. They come in any order, each once. A destination learns the
    /// object's length only after the first round, so the last packet's padding may be among
    /// them: a store keeps what it has room for, and is cut to the length told on completion.
    fn write(&mut self, offset: u32, bytes: &[u8]);

    /// Whether the store can take symbols of codes, and make those of a fountain code; without that, what
    /// follows is never called. Decoding is the gateway's. Symbols of blocks are made by the engine, of
    /// what it reads.
    fn codes(&self) -> bool {
        false
    }
    /// Fills `into` with symbol `number` of `part`, which is cut into symbols of that length: the
    /// first ones are the bytes themselves, padded with zeros, those after them repair.
    fn symbol(&mut self, _part: Part, _number: u16, into: &mut [u8]) {
        into.fill(0);
    }
    /// Keeps a symbol. They come in any order, each once.
    fn keep(&mut self, _number: u16, _symbol: &[u8]) {}
    /// Whether what was kept, at least as many symbols as the part makes, is enough; if so the part
    /// is in the store as if it had been written.
    fn decode(&mut self, _part: Part) -> bool {
        false
    }
    /// The same where what was kept are symbols of `blocks`, and of each block enough.
    fn decode_blocks(&mut self, _part: Part, _blocks: &Blocks) -> bool {
        false
    }

    /// Keeps repair symbol `number`, which was made beforehand, beside the object that it was made of.
    /// A store without room does not.
    fn store_repair(&mut self, _of: &Coded, _number: u16, _symbol: &[u8]) {}
    /// How many repair symbols of each block, from the first on, are kept.
    fn stored_rows(&self, _of: &Coded) -> u16 {
        0
    }
    /// Fills `into` with repair symbol `number`, which is among those kept.
    fn read_repair(&self, _of: &Coded, _number: u16, into: &mut [u8]) {
        into.fill(0);
    }
}

/// For nodes that have no objects: relays.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObject;

impl ObjectStore for NoObject {
    fn info(&self) -> ObjectInfo {
        ObjectInfo {
            len: 0,
            digest: [0; 8],
        }
    }
    fn read(&self, _offset: u32, into: &mut [u8]) {
        into.fill(0);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) {}
}
