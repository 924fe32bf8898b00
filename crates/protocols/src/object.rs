//! Bulk objects, as the engines see them: bytes at an offset, behind a trait, so that an engine
//! holds none of them. On a mote the store is flash or a sensor's buffer, at the gateway memory.

/// What is known of an object besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub len: u32,
    /// A digest of all its bytes. Engines carry it; whoever has the whole object compares it.
    pub digest: [u8; 8],
}

/// Where the bytes of one object are.
pub trait ObjectStore {
    /// What the store holds. Asked of the source's store, when a transfer begins.
    fn info(&self) -> ObjectInfo;
    /// Fills `into` with the bytes from `offset`; bytes that the object has not are 0.
    fn read(&self, offset: u32, into: &mut [u8]);
    /// A transfer to this store begins: what an earlier one brought is of no use any more.
    fn begin(&mut self) {}
    /// Keeps `bytes` at `offset`. They come in any order, each once. A destination learns the
    /// object's length only after the first round, so the last packet's padding may be among
    /// them: a store keeps what it has room for, and is cut to the length told on completion.
    fn write(&mut self, offset: u32, bytes: &[u8]);
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
