//! Glossy floods over synchronous transmissions: one node's frame reaches all others within a few
//! frame times and gives everyone the same time reference (used by P3, sections II and IV-D).
//!
//! Owns: the state machine of one node, [`Flood`], and the arithmetic of slots. Time base: the
//! node's own clock; slots of air time plus the relay gap of frames of that length, counted by the header's
//! relay counter. Invariants: a flood starts at most once on a node; every wait ends; no counter
//! goes beyond `max_relay`. Not modelled: estimating the relay gap from what is measured.
//! README.md: what deviates. Tests: `tests.rs`.

mod flood;
#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

pub use flood::{Event, Flood, Insistence, Ring, TooLong, OPS};
pub use thalweg_wire::flood::{Ntx, MAX_CONTENT};

use thalweg_engine::{BoardTiming, Passing};
use thalweg_units::{Channel, Duration};
use thalweg_wire::flood::MAX_RELAY;
use thalweg_wire::phy;

/// What a relay does when nothing was heard in a slot in which its neighbours should have sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissedSlot {
    /// It waits for a later slot, as Glossy does: every relayed transmission is triggered by a
    /// reception.
    Wait,
    /// It sends in its own next slot by its own clock. Needs a clock whose steps are far below
    /// 0.5 us; makes floods on sparse networks survive more losses.
    ResendOnOwnClock,
}

/// What all nodes of a network agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The channel of all floods.
    pub channel: Channel,
    /// The highest relay counter ever sent, at most 31: a flood lives `max_relay + 1` slots.
    pub max_relay: u8,
    /// What a relay does about a missed slot.
    pub missed: MissedSlot,
}

impl Default for Config {
    /// Channel 26, which no Wi-Fi channel covers; room for ten hops and N_tx = 3 with some
    /// retries; relays that wait.
    fn default() -> Self {
        Self {
            channel: Channel::LAST,
            max_relay: 24,
            missed: MissedSlot::Wait,
        }
    }
}

impl Config {
    pub(crate) fn last_relay(&self) -> u8 {
        self.max_relay.min(MAX_RELAY)
    }
}

/// T_slot: from one transmission of a flood's frame of `mpdu_bytes` to the next hop's.
pub fn slot_time(mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
    phy::air_time(mpdu_bytes) + relay_gap(mpdu_bytes, timing)
}

/// Between the last byte of a flood's frame of `mpdu_bytes` and the first preamble symbol of the
/// next: the board's relay gap, or where nothing overlaps with the air what it takes to copy.
pub(crate) fn relay_gap(mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
    timing.relaying(mpdu_bytes, Passing::Copied).forth
}

/// From the first preamble symbol of a flood of frames of `mpdu_bytes` until the last node, `hops`
/// hops away, has sent it N_tx times, when nothing is lost: `hops + 2 (N_tx - 1) + 1` slots.
pub fn flood_time(mpdu_bytes: usize, hops: u8, n_tx: Ntx, timing: &BoardTiming) -> Duration {
    slot_time(mpdu_bytes, timing) * (u64::from(hops) + 2 * u64::from(n_tx.get() - 1) + 1)
}

/// From the beginning of one flood to the earliest good beginning of the next by the same
/// initiator: the second travels behind the first, three hops out of its interference.
pub fn flood_spacing(mpdu_bytes: usize, n_tx: Ntx, timing: &BoardTiming) -> Duration {
    slot_time(mpdu_bytes, timing) * (2 * u64::from(n_tx.get()) + 2)
}
