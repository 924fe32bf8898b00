//! Packets that were received lately, so that one whose acknowledgement was lost is not forwarded
//! twice.

use thalweg_units::NodeId;

/// So many packets are remembered.
const REMEMBERED: usize = 32;

/// The packets.
#[derive(Debug)]
pub(super) struct Recent {
    keys: [u32; REMEMBERED],
    count: usize,
}

impl Recent {
    pub(super) const fn new() -> Self {
        Self {
            keys: [0; REMEMBERED],
            count: 0,
        }
    }
    /// Whether the packet was not received lately; it is remembered from now on.
    pub(super) fn is_new(&mut self, origin: NodeId, number: u16) -> bool {
        let key = u32::from(origin.get()) << 16 | u32::from(number);
        if self.keys.iter().take(self.count).any(|known| *known == key) {
            return false;
        }
        if let Some(slot) = self.keys.get_mut(self.count % REMEMBERED) {
            *slot = key;
        }
        self.count += 1;
        true
    }
}
