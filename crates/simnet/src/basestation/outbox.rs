//! What waits for the line. Tests: `tests/all/line/`.

use super::store::Piece;
use std::collections::VecDeque;
use thalweg_protocols::line::desk::{self, Waiting};
use thalweg_protocols::line::station::{Event, MAX_EVENT_BYTES};
use thalweg_units::Instant;
use thalweg_wire::Writer;

/// The queue for the line.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    items: VecDeque<Item>,
    /// Bytes of the front one that are gone.
    from: usize,
    /// Object bytes that are gone, until they are asked for.
    gone: usize,
}

#[derive(Debug)]
enum Item {
    Event(Instant, Vec<u8>),
    Piece(Piece),
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
    pub(super) fn add_event(&mut self, at: Instant, event: &Event) {
        let mut room = [0; MAX_EVENT_BYTES];
        let mut w = Writer::new(&mut room);
        // Every event is shorter than that.
        let len = event.emit(&mut w).map_or(0, |()| w.len());
        self.items.push_back(Item::Event(at, room[..len].to_vec()));
    }
    pub(super) fn add_pieces(&mut self, pieces: impl Iterator<Item = Piece>) {
        self.items.extend(pieces.map(Item::Piece));
    }
    /// Object bytes that are gone since the last call.
    pub(super) fn take_gone(&mut self) -> usize {
        std::mem::take(&mut self.gone)
    }
}

impl desk::Outbox for Outbox {
    fn front(&self) -> Option<Waiting<'_>> {
        Some(match self.items.front()? {
            Item::Event(at, bytes) => Waiting::Event(*at, bytes),
            Item::Piece(Piece::Begin) => Waiting::Begin,
            Item::Piece(Piece::Bytes { offset, bytes }) => {
                let rest = bytes.get(self.from..).unwrap_or(&[]);
                // An object has fewer bytes than that.
                Waiting::Bytes(offset.wrapping_add(self.from as u32), rest)
            }
        })
    }
    fn take(&mut self, bytes: usize) {
        if let Some(Item::Piece(Piece::Bytes { bytes: all, .. })) = self.items.front() {
            self.from += bytes;
            self.gone += bytes;
            if self.from < all.len() {
                return;
            }
        }
        self.from = 0;
        self.items.pop_front();
    }
}
