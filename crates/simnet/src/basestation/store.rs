//! The objects of a network with a base station: nodes offer theirs; bytes that reach the base station wait for the line
//! while there is room. Tests: at the end.

use std::sync::Arc;
use thalweg_host::object::{Memory, Proof};
use thalweg_protocols::object::{NoRoom, ObjectInfo, ObjectStore};

/// What the line is to carry of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Another one begins.
    Begin,
    /// Bytes of the object.
    Bytes {
        /// Where they are.
        offset: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// A node's object store.
#[derive(Debug)]
pub(super) enum StationStore {
    /// It offers an object.
    Offers(Memory),
    /// It is the base station.
    Spools {
        /// What was not taken yet.
        pieces: Vec<Piece>,
        /// Bytes on their way to the line, taken or not.
        used: usize,
        /// How many there may be.
        room: usize,
    },
}

impl StationStore {
    /// Objects are offered with this `proof`, if there is one.
    pub(super) fn offering(proof: Option<Proof>) -> Self {
        Self::Offers(Memory::proving(proof.unwrap_or_default()))
    }
    /// Offers `object` from now on; nothing where it is none, or at the base station.
    pub(super) fn offers(&mut self, object: Option<Arc<[u8]>>) {
        match (self, object) {
            (Self::Offers(memory), Some(object)) => memory.offer(object),
            (Self::Offers(memory), None) => memory.withdraw(),
            (Self::Spools { .. }, _) => {}
        }
    }
    pub(super) const fn spooling(room: usize) -> Self {
        Self::Spools {
            pieces: Vec::new(),
            used: 0,
            room,
        }
    }
    /// What came since the last time, in order.
    pub(super) fn take(&mut self) -> std::vec::IntoIter<Piece> {
        match self {
            Self::Offers(_) => Vec::new().into_iter(),
            Self::Spools { pieces, .. } => std::mem::take(pieces).into_iter(),
        }
    }
    /// Bytes that are not on the line yet.
    pub(super) const fn used(&self) -> usize {
        match self {
            Self::Offers(_) => 0,
            Self::Spools { used, .. } => *used,
        }
    }
    /// Notes that `bytes` are on the line.
    pub(super) fn gone(&mut self, bytes: usize) {
        if let Self::Spools { used, .. } = self {
            *used = used.saturating_sub(bytes);
        }
    }
    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        if let Self::Spools { pieces, used, .. } = self {
            pieces.clear();
            *used = 0;
        }
    }
}

impl ObjectStore for StationStore {
    fn info(&self) -> ObjectInfo {
        match self {
            Self::Offers(memory) => memory.info(),
            Self::Spools { .. } => Memory::default().info(),
        }
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        match self {
            Self::Offers(memory) => memory.read(offset, into),
            Self::Spools { .. } => into.fill(0),
        }
    }
    fn begin(&mut self) {
        match self {
            Self::Offers(memory) => memory.begin(),
            Self::Spools { pieces, .. } => pieces.push(Piece::Begin),
        }
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        match self {
            Self::Offers(memory) => memory.write(offset, bytes),
            Self::Spools { used, room, .. } if bytes.len() > *room - *used => Err(NoRoom),
            Self::Spools { pieces, used, .. } => {
                *used += bytes.len();
                let bytes = bytes.to_vec();
                pieces.push(Piece::Bytes { offset, bytes });
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_the_line_took_some() {
        let mut store = StationStore::spooling(5);
        store.begin();
        assert_eq!(store.write(0, &[1, 2, 3]), Ok(()));
        assert_eq!(store.write(3, &[4, 5, 6]), Err(NoRoom));
        assert_eq!(store.take().count(), 2);
        assert_eq!(store.write(3, &[4, 5, 6]), Err(NoRoom), "taken is not gone");
        store.gone(1);
        assert_eq!(store.write(3, &[4, 5, 6]), Ok(()));
        store.clear();
        assert_eq!(store.take().count(), 0);
        assert_eq!(store.write(0, &[0; 5]), Ok(()));
    }
}
