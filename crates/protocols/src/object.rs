//! Bulk objects, as the engines see them: bytes at an offset, behind a trait, so that an engine
//! holds none of them. On a mote the store is flash or a sensor's buffer, at the gateway memory.
//! How an object is cut into packets is the same for all engines: [`Pieces`].

use thalweg_units::NodeId;
use thalweg_wire::route::ObjectRange;

/// What is known of an object besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub len: u32,
    /// A digest of all its bytes. Engines carry it, on the air mixed with the source's address; the owner of the whole
    /// object compares it.
    pub digest: [u8; 8],
}

impl ObjectInfo {
    /// What a store without an object says. An object of no bytes has another digest.
    pub const NONE: Self = Self {
        len: 0,
        digest: [0; 8],
    };

    /// Whether there is no object.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// What `source` sends of it, and what a sink that asked `source` makes of that: the digest is mixed with the
    /// address. So a node that was called by mistake, after an error in the call, delivers no object of the other's.
    #[must_use]
    pub(crate) fn named_by(self, source: NodeId) -> Self {
        let mut named = self;
        for (byte, of) in named.digest.iter_mut().zip(source.get().to_le_bytes()) {
            *byte ^= of;
        }
        named
    }
}

/// Where the bytes of one object are.
pub trait ObjectStore {
    /// What the store holds. Asked of the source's store, when a transfer begins.
    fn info(&self) -> ObjectInfo;
    /// Fills `into` with the bytes from `offset`; bytes that the object has not are 0.
    fn read(&self, offset: u32, into: &mut [u8]);
    /// A transfer to this store begins: what an earlier one brought is of no use any more.
    fn begin(&mut self) {}
    /// Keeps `bytes` at `offset` of what the transfer brings: of its first byte it is 0, wherever in the object that
    /// is. They come in any order, each once unless they were refused. A destination learns the object's length only
    /// after the first round, so the last packet's padding may be among them: what is received is cut to the length
    /// reported on completion.
    ///
    /// # Errors
    /// [`NoRoom`] where they cannot be kept at present. The packet stays missing, and comes again.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom>;
}

/// A store has no room at present: what it holds has not gone on yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// A store whose present object can be read beside it, while another layer has the store.
pub trait Lends: ObjectStore {
    /// What reads it.
    type Loan: ObjectStore;
    /// The object that it holds now.
    fn lend(&self) -> Self::Loan;
}

/// For nodes that have no objects: relays.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObject;

impl ObjectStore for NoObject {
    fn info(&self) -> ObjectInfo {
        ObjectInfo::NONE
    }
    fn read(&self, _offset: u32, into: &mut [u8]) {
        into.fill(0);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        Ok(())
    }
}

/// How an object, or a range of one, is cut into packets: number n has the bytes from n times the
/// payload's length on. The last one is padded with zeros, not with what follows the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    range: ObjectRange,
    bytes: u8,
}

impl Pieces {
    /// All of an object in packets of `bytes` bytes of payload.
    pub const fn of(bytes: u8) -> Self {
        Self::of_range(ObjectRange::ALL, bytes)
    }
    /// The same of a range.
    pub const fn of_range(range: ObjectRange, bytes: u8) -> Self {
        Self { range, bytes }
    }
    /// How many packets an object of `object_len` bytes makes; none of no bytes.
    pub fn count(self, object_len: u32) -> u32 {
        match self.bytes {
            0 => 0,
            bytes => self.range.within(object_len).div_ceil(u32::from(bytes)),
        }
    }
    /// Where packet `number` is in the range, and how many of its first `bytes` are in it; the object
    /// has `object_len` bytes, as far as that is known.
    fn place(self, number: u16, bytes: usize, object_len: Option<u32>) -> (u32, usize) {
        let at = u32::from(number) * u32::from(self.bytes);
        let within = self.range.within(object_len.unwrap_or(u32::MAX));
        let left = usize::try_from(within.saturating_sub(at)).unwrap_or(usize::MAX);
        (at, left.min(bytes))
    }
    /// Packet `number` of what `store` has, in `room`; `None` where that is too small.
    pub fn read<'r>(
        self,
        number: u16,
        store: &dyn ObjectStore,
        object_len: Option<u32>,
        room: &'r mut [u8],
    ) -> Option<&'r [u8]> {
        let payload = room.get_mut(..usize::from(self.bytes))?;
        let (at, filled) = self.place(number, payload.len(), object_len);
        let (object, padding) = payload.split_at_mut(filled);
        store.read(self.range.offset.saturating_add(at), object);
        padding.fill(0);
        Some(payload)
    }
    /// Keeps the `payload` of packet `number` in `store`.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn write(
        self,
        number: u16,
        payload: &[u8],
        object_len: Option<u32>,
        store: &mut dyn ObjectStore,
    ) -> Result<(), NoRoom> {
        let (at, kept) = self.place(number, payload.len(), object_len);
        store.write(at, &payload[..kept])
    }
}
