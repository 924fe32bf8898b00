//! A node's seals, as who makes the node gives them to it and keeps what outlives its restarts. Tests: `tests/sealed.rs`.

use super::Mote;
use crate::object::ObjectStore;
use crate::seals::{Guard, Kept};

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// Gives it its seals, before it starts.
    pub fn set_guard(&mut self, guard: G)
    where
        G: Clone,
    {
        *self.pipeline.guard_mut() = guard.clone();
        *self.floods.guard_mut() = guard;
    }
    /// Its seals: what they keep must be in flash before a flood is acted on.
    pub const fn guard(&self) -> &G {
        self.floods.guard()
    }
    /// This node has restarted: it acts on no flood that it may have acted on before.
    pub fn restore(&mut self, kept: Kept) {
        if let Some(seals) = self.floods.guard_mut().seals() {
            seals.restore(kept);
        }
    }
}
