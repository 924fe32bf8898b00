//! What a NACK tells: the packets that are missing, in parts that each fill a frame.
//!
//! Parts of a bit vector have their places, and those in which nothing is missing are left out. Runs begin where the
//! part before ends. All frames of a NACK are as long as the first, so who hears one knows when the others come.

use super::cadence::Cadence;
use super::context::Packets;
use super::session::Tells;
use thalweg_wire::pipeline::{pack_runs, Telling, MAX_SLIM_PAYLOAD};

/// The packets below `below` that are not `here`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing<'p> {
    pub(super) here: &'p Packets,
    pub(super) below: u16,
}

/// The frames of a NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) telling: Telling,
    /// How many there are, one at least.
    pub(super) frames: u16,
    /// Bytes that each has for what is missing.
    pub(super) vector_bytes: u8,
}

impl Plan {
    /// Tells nothing: the adaptation's word is all.
    pub(super) const WORD: Self = Self {
        telling: Telling::Vector,
        frames: 1,
        vector_bytes: 0,
    };
}

/// A part that fills a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filled {
    /// The packet that it begins with.
    pub(super) first: u16,
    /// The first packet that is told in the next part.
    pub(super) next: Option<u16>,
    /// How many bytes of the room it takes.
    bytes: usize,
}

impl Missing<'_> {
    fn first_from(&self, from: u16) -> Option<u16> {
        self.here.missing(from, self.below).next()
    }

    /// Tells what is missing from packet `from` on in `room`, which holds zeros.
    pub(super) fn part(&self, telling: Telling, from: u16, room: &mut [u8]) -> Filled {
        let Some(first) = self.first_from(from).filter(|_| !room.is_empty()) else {
            let (first, next, bytes) = (0, None, 0);
            return Filled { first, next, bytes };
        };
        match telling {
            Telling::Vector => {
                let at = usize::from(first) / 8 / room.len() * room.len();
                for (i, byte) in room.iter_mut().enumerate() {
                    *byte = self.here.missing_byte(at + i, self.below);
                }
                let after = u16::try_from((at + room.len()) * 8).ok();
                Filled {
                    first: (at * 8) as u16,
                    next: after.and_then(|after| self.first_from(after)),
                    bytes: room.len(),
                }
            }
            Telling::Runs => {
                let packed = pack_runs(self.here.missing(first, self.below), room).ok();
                Filled {
                    first,
                    next: packed.and_then(|packed| packed.next),
                    bytes: packed.map_or(0, |packed| packed.bytes),
                }
            }
        }
    }

    /// How a NACK tells it all, of a transfer of `packets`.
    pub(super) fn plan(&self, tells: Tells, cadence: &Cadence, packets: u16) -> Plan {
        let most = cadence.nack_shape(packets).vector_bytes;
        let all = usize::from(self.below).div_ceil(8);
        let vector = match self.first_from(0) {
            // Nothing missing needs no vector.
            None if self.below == packets => self.frames(Telling::Vector, 0),
            _ => self.frames(Telling::Vector, most.min(all)),
        };
        match tells {
            Tells::Vector => vector,
            Tells::Shortest => {
                let runs = self.frames(Telling::Runs, most);
                let air = |plan: &Plan| {
                    let bytes = cadence.nack_bytes(plan.vector_bytes.into());
                    cadence.slot(bytes) * u64::from(plan.frames)
                };
                match air(&runs) < air(&vector) {
                    true => runs,
                    false => vector,
                }
            }
        }
    }

    /// The frames that it takes, of so many bytes each: a single one of runs is as short as it can be.
    fn frames(&self, telling: Telling, most: usize) -> Plan {
        let mut room = [0; MAX_SLIM_PAYLOAD];
        let room = &mut room[..most];
        let mut part = self.part(telling, 0, room);
        let mut plan = Plan {
            telling,
            frames: 1,
            vector_bytes: match telling {
                Telling::Vector => most,
                Telling::Runs => part.bytes,
            } as u8,
        };
        while let Some(next) = part.next {
            room.fill(0);
            part = self.part(telling, next, room);
            (plan.frames, plan.vector_bytes) = (plan.frames + 1, most as u8);
        }
        plan
    }
}
