//! What a NACK reports: a bit vector of the missing packets (P3, section IV-F), in parts that each fill a frame.
//!
//! Parts start at fixed packets; those without a missing packet are left out. All have one length, so a node that hears
//! one frame knows when the others come. Tests: `tests/nacks.rs`.

use super::cadence::Cadence;
use super::context::Packets;
use thalweg_wire::pipeline::MAX_SLIM_PAYLOAD;

/// The packets below `below` that are not `here`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing<'p> {
    pub(super) here: &'p Packets,
    pub(super) below: u16,
}

/// The frames of a NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// How many there are, one at least.
    pub(super) frames: u16,
    /// Bytes of each one's bit vector.
    pub(super) vector_bytes: u8,
}

impl Plan {
    /// Only sends the source on after a pause.
    pub(super) const GO_ON: Self = Self {
        frames: 1,
        vector_bytes: 0,
    };
}

/// A part that fills a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filled {
    /// The packet of its first bit.
    pub(super) first: u16,
    /// The first missing packet of the parts after it.
    pub(super) next: Option<u16>,
}

impl Missing<'_> {
    fn first_from(&self, from: u16) -> Option<u16> {
        self.here.missing(from, self.below).next()
    }

    /// Fills `room` with the part in which is the first missing packet from `from` on.
    pub(super) fn part(&self, from: u16, room: &mut [u8]) -> Filled {
        let Some(first) = self.first_from(from).filter(|_| !room.is_empty()) else {
            return Filled {
                first: 0,
                next: None,
            };
        };
        let at = usize::from(first) / 8 / room.len() * room.len();
        for (i, byte) in room.iter_mut().enumerate() {
            *byte = self.here.missing_byte(at + i, self.below);
        }
        let after = u16::try_from((at + room.len()) * 8).ok();
        Filled {
            first: (at * 8) as u16,
            next: after.and_then(|after| self.first_from(after)),
        }
    }

    /// The NACK that reports all of it, in a transfer of `packets`.
    pub(super) fn plan(&self, cadence: &Cadence, packets: u16) -> Plan {
        let most = cadence.nack_shape(packets).vector_bytes;
        let vector_bytes = match self.first_from(0) {
            // Nothing missing needs no vector.
            None if self.below == packets => 0,
            _ => most.min(usize::from(self.below).div_ceil(8)),
        };
        let mut room = [0; MAX_SLIM_PAYLOAD];
        let room = &mut room[..vector_bytes];
        let parts = core::iter::successors(Some(self.part(0, room)), |part| {
            part.next.map(|next| self.part(next, room))
        });
        Plan {
            frames: parts.count() as u16,
            vector_bytes: vector_bytes as u8,
        }
    }
}
