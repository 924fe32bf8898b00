//! What a base station's radio leaves for its line: a ring of items, filled by interrupts.

use thalweg_protocols::line::desk::Waiting;
use thalweg_protocols::line::station::MAX_EVENT_BYTES;
use thalweg_protocols::object::NoRoom;
use thalweg_units::Instant;

/// Bytes of the largest packet's payload.
const PIECE: usize = 124;
/// Items of the ring, and how many of them object bytes may take: events have the rest.
const ITEMS: usize = 512;
const OBJECT_ITEMS: usize = 400;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub enum Item {
    /// An object begins.
    Begin,
    /// Bytes of it, from an offset on; the first `from` are gone.
    Bytes {
        /// Where the first byte was.
        offset: u32,
        /// Those that are gone.
        from: u8,
        /// Those that there were.
        len: u8,
        /// They themselves.
        bytes: [u8; PIECE],
    },
    /// An event.
    Event {
        /// The node's time.
        at: Instant,
        /// Its length.
        len: u8,
        /// Its encoding.
        bytes: [u8; MAX_EVENT_BYTES],
    },
}

impl Item {
    /// As the desk sees it.
    pub fn waiting(&self) -> Waiting<'_> {
        match self {
            Self::Begin => Waiting::Begin,
            Self::Bytes {
                offset,
                from,
                len,
                bytes,
            } => {
                let rest = bytes.get(usize::from(*from)..usize::from(*len));
                Waiting::Bytes(offset.wrapping_add(u32::from(*from)), rest.unwrap_or(&[]))
            }
            Self::Event { at, len, bytes } => {
                let bytes = bytes.get(..usize::from(*len));
                Waiting::Event(*at, bytes.unwrap_or(&[]))
            }
        }
    }
    /// What is left of it when `gone` bytes more have gone.
    pub fn without(mut self, gone: usize) -> Option<Self> {
        match &mut self {
            Self::Bytes { from, len, .. } => {
                *from = from.saturating_add(gone as u8);
                (*from < *len).then_some(self)
            }
            Self::Begin | Self::Event { .. } => None,
        }
    }
}

/// The ring.
#[derive(Debug)]
pub struct Queue {
    items: [Item; ITEMS],
    first: usize,
    len: usize,
    lost: u32,
}

impl Queue {
    /// Object bytes for which there is always room.
    pub const ROOM_BYTES: u32 = OBJECT_ITEMS as u32 * 100;

    /// With nothing in it.
    pub const fn new() -> Self {
        Self {
            items: [Item::Begin; ITEMS],
            first: 0,
            len: 0,
            lost: 0,
        }
    }
    /// The next object begins.
    pub fn begin(&mut self) {
        self.push(Item::Begin);
    }
    /// Bytes of it came.
    ///
    /// # Errors
    /// [`NoRoom`]: the host has to take some first.
    pub fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        if self.len >= OBJECT_ITEMS {
            return Err(NoRoom);
        }
        let mut room = [0; PIECE];
        let place = room.get_mut(..bytes.len()).ok_or(NoRoom)?;
        place.copy_from_slice(bytes);
        self.push(Item::Bytes {
            offset,
            from: 0,
            len: bytes.len() as u8,
            bytes: room,
        });
        Ok(())
    }
    /// An event of time `at`, which `emit` writes.
    pub fn event(&mut self, at: Instant, emit: impl FnOnce(&mut [u8]) -> usize) {
        let mut bytes = [0; MAX_EVENT_BYTES];
        let len = emit(&mut bytes) as u8;
        if len > 0 {
            self.push(Item::Event { at, len, bytes });
        }
    }
    fn push(&mut self, item: Item) {
        let place = self.items.get_mut((self.first + self.len) % ITEMS);
        match place {
            Some(place) if self.len < ITEMS => {
                *place = item;
                self.len += 1;
            }
            _ => self.lost = self.lost.saturating_add(1),
        }
    }
    /// What waits longest.
    pub fn pop(&mut self) -> Option<Item> {
        if self.len == 0 {
            return None;
        }
        let item = self.items.get(self.first).copied();
        self.first = (self.first + 1) % ITEMS;
        self.len -= 1;
        item
    }
    /// Drops everything: it is of an earlier host.
    pub fn clear(&mut self) {
        (self.first, self.len) = (0, 0);
    }
    /// Items that found no room.
    pub const fn lost(&self) -> u32 {
        self.lost
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}
