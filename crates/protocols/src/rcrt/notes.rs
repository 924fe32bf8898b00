//! What relays note in packets of flows that pass them: the longest queue on the way, for sinks that let flows grow
//! which do not cross the bottleneck. Not in the paper (its section 5 leaves it to the future).

use crate::stack::{Discipline, Fill};
use thalweg_wire::rcrt::Met;
use thalweg_wire::tree::Direction;

/// Best effort, but for the note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notes;

impl Discipline for Notes {
    fn enters(&self, direction: Direction, fill: Fill, payload: &mut [u8]) {
        if direction == Direction::Up {
            Met::note(payload, fill.packets);
        }
    }
}
