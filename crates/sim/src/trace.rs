//! What the simulator tells about itself: counts, and each reception with its cause of loss.

use thalweg_medium::{LossCause, Outcome, Standing};
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
    /// Frames lost because a receive buffer had no room left, over all receivers.
    pub overflows: u64,
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

/// What the end of a frame brought to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was synchronised on the frame and got all of it right.
    Good,
    /// It was synchronised on the frame and got something wrong, in the header or after it.
    Lost {
        /// Why.
        cause: LossCause,
        /// Whose frame was the strongest other one on the channel.
        interferer: Option<usize>,
    },
    /// It was not synchronised on this copy of the frame.
    Other(Standing),
}

/// When something is told of a frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment<'a> {
    /// It begins: how each watched receiver but the sender's stands to it.
    Begins(&'a [(usize, Standing)]),
    /// It ends: what each watched receiver but the sender's has of it.
    Ends(&'a [(usize, Ending)]),
}

/// A frame on the air, seen from the receivers that are watched.
#[derive(Debug, Clone, Copy)]
pub struct AirTrace<'a> {
    /// The present.
    pub at: SimTime,
    /// The sender.
    pub from: usize,
    /// The channel.
    pub channel: Channel,
    /// When the first preamble symbol went out.
    pub start: SimTime,
    /// The frame as sent, without FCS.
    pub mpdu: &'a [u8],
    /// Beginning or end, and the receivers.
    pub moment: Moment<'a>,
}

/// What is called with the beginning and the end of each frame, in order of time.
pub type AirHook = Box<dyn FnMut(&AirTrace<'_>) + Send>;

/// Receivers that are watched.
pub(crate) struct Watch {
    pub(crate) nodes: Vec<usize>,
    pub(crate) hook: AirHook,
    pub(crate) begins: Vec<(usize, Standing)>,
    pub(crate) ends: Vec<(usize, Ending)>,
}
