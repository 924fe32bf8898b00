//! Where all stages pause in a long round, so that the destination can confirm that packets arrive.
//!
//! A pause begins when the destination has had time for another [`Session::stretch`] packets and half as many are left.
//! Every stage then keeps the packet that it has. Packet number and stage say which one, because new packets follow one
//! another without gaps. Time base: packets. Tests: `tests/pause.rs`.

use super::session::Session;

/// What a stage knows about the pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pauses {
    /// Packets of the transfer; 0 before the first request.
    packets: u16,
    /// The first packet that was not here yet.
    next: u16,
}

impl Pauses {
    /// Those of a transfer of so many packets: none of 0.
    pub(super) const fn of(packets: u16) -> Self {
        Self { packets, next: 0 }
    }
    /// A request said how many packets there are.
    pub(super) fn set_packets(&mut self, packets: u16) {
        self.packets = packets;
    }
    /// Packet `number` is at this node's stage: whether it waits there through a pause that begins now.
    pub(super) fn begins(&mut self, session: &Session, number: u16) -> bool {
        if number < self.next {
            return false;
        }
        let stage = u16::from(session.stage());
        let pauses = self.sent(session) == Some(number.saturating_add(stage));
        self.next = number.saturating_add(1);
        pauses
    }
    /// How many packets the source has sent when all stages pause next, if they do.
    #[inline] // A relay asks within its gap.
    pub(super) fn sent(&self, session: &Session) -> Option<u16> {
        let (stretch, hops) = (session.stretch?, u16::from(session.hops));
        let before = self.next.saturating_add(session.stage().into());
        // The destination has had time for so many; all others are under way.
        let arrived = (before.saturating_sub(hops) / stretch + 1).saturating_mul(stretch.get());
        let is_long = arrived.saturating_add(stretch.get() / 2) <= self.packets;
        is_long.then(|| arrived + hops.saturating_sub(1))
    }
}
