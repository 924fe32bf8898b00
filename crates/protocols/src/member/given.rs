//! What a member's mote is given by who makes and runs the node.

use super::{Member, Seat};
use crate::object::ObjectStore;
use crate::seals::Guard;
use thalweg_units::{BatteryLevel, Restarts};

impl<S: ObjectStore, T: Seat<S>, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Member<S, T, NEIGHBOURS, NODES, G>
{
    /// As [`crate::mote::Mote::set_guard`].
    pub fn set_guard(&mut self, guard: G)
    where
        G: Clone,
    {
        self.mote.set_guard(guard);
    }
    /// As [`crate::mote::Mote::set_idled`].
    pub const fn set_idled(&mut self) {
        self.mote.set_idled();
    }
    /// As [`crate::mote::Mote::upcoming`].
    pub fn upcoming(&self) -> Option<(u32, usize)> {
        self.mote.upcoming()
    }
    /// Where the objects are.
    pub fn store_mut(&mut self) -> &mut S {
        self.mote.store_mut()
    }
    /// As [`crate::mote::Mote::set_battery`].
    pub const fn set_battery(&mut self, level: BatteryLevel) {
        self.mote.set_battery(level);
    }
    /// As [`crate::mote::Mote::set_restarts`].
    pub const fn set_restarts(&mut self, restarts: Restarts) {
        self.mote.set_restarts(restarts);
    }
}
