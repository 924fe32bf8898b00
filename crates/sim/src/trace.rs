//! What the simulator tells about itself: counts, and each reception with its cause of loss.

use thalweg_medium::Outcome;
use thalweg_units::{Channel, Dbm, SimTime};

/// What happened so far, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Events taken from the queue.
    pub events: u64,
    /// Frames sent.
    pub air_frames: u64,
    /// Frames received with a right FCS, over all receivers.
    pub receptions: u64,
    /// Frames received with a wrong FCS, over all receivers.
    pub corrupt: u64,
}

/// One frame at one receiver that had synchronised on it.
#[derive(Debug, Clone, Copy)]
pub struct ReceptionTrace<'a> {
    /// When its last symbol ended at the receiver.
    pub at: SimTime,
    /// The sender that the receiver synchronised on.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// The channel.
    pub channel: Channel,
    /// When the sender's first preamble symbol went out.
    pub start: SimTime,
    /// The frame as sent, without FCS.
    pub mpdu: &'a [u8],
    /// Whether it arrived right, and if not, why.
    pub outcome: Outcome,
    /// Received signal strength as the chip tells it.
    pub rssi: Dbm,
    /// Link quality as the chip tells it.
    pub lqi: u8,
    /// How many senders of the same frame the receiver heard at once.
    pub senders: u16,
}

/// What is called with each reception, in the order in which they end.
pub type TraceHook = Box<dyn FnMut(&ReceptionTrace<'_>) + Send>;
