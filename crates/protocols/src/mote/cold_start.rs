//! How a sink that has restarted calls a network that may be asleep. It has lost the rendezvous, so it floods without a
//! pause for a whole period. A node that hears one of these floods in its window stays awake for what follows.
//!
//! Time base: the node's clock. Invariant: an order that waits for it is carried out or refused. Tests:
//! `tests/sleepers.rs`.

use super::rendezvous::{LISTEN, PERIOD};
use super::{Mote, Order, Others, Work};
use crate::floodnet;
use crate::glossy::Insistence;
use crate::object::ObjectStore;
use crate::seals::Guard;
use core::mem;
use thalweg_engine::{Engine, When};
use thalweg_units::Instant;
use thalweg_wire::FrameBuf;

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// The same node after a restart in a network that was in use: before its first order it wakes the sleepers, which
    /// takes 560 ms and a flood's time.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.others = Others::MaySleep;
        self
    }

    /// Whether the network must be roused before an order. Not once a wake-up was heard: it sets the rendezvous.
    pub(super) fn must_rouse(&self) -> bool {
        self.others == Others::MaySleep && self.schedule.is_none()
    }

    /// Begins to rouse the network, for `order`.
    pub(super) fn rouse(&mut self, now: Instant, order: Order<NODES>) {
        self.work = Work::Rousing(now + PERIOD + LISTEN, order);
        self.flood_nothing(now);
    }

    /// A flood of this sink is over; true where the next one or the order follows from its rousing.
    pub(super) fn goes_on_rousing(&mut self, now: Instant) -> bool {
        let Work::Rousing(until, _) = self.work else {
            return false;
        };
        match now < until {
            true => self.flood_nothing(now),
            false => self.carry_out_roused(now),
        }
        true
    }

    /// All are awake. An order takes much of the stack.
    #[inline(never)]
    fn carry_out_roused(&mut self, now: Instant) {
        if let Work::Rousing(_, order) = mem::replace(&mut self.work, Work::Nothing) {
            self.others = Others::InStep;
            self.carry_out(now, order);
        }
    }

    #[inline(never)]
    fn flood_nothing(&mut self, now: Instant) {
        let payload = FrameBuf::EMPTY;
        let flood = floodnet::Command::Flood {
            payload,
            insistence: Insistence::Begins,
            begin: When::Now,
        };
        self.floods.handle_command(now, flood);
    }
}
