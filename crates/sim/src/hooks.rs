//! Reports of the simulator: counts, frames on the air, receptions, spans of time.
//!
//! An [`Observer`] sees the events of engines and each frame that ends, without dynamic dispatch. The
//! other hooks are boxed and cost nothing where they are not set. Nodes, not radios, are named.

use std::ops::ControlFlow;
use thalweg_engine::RadioId;
use thalweg_medium::{Cause, EarStatus, Outcome};
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

/// Sees what happens in a network.
pub trait Observer<V> {
    /// An engine's event for the layer above: when, by which node. The run ends where it breaks.
    fn event(&mut self, at: SimTime, node: usize, event: V) -> ControlFlow<()>;
    /// A node has restarted: with a new engine, its clock from zero. The run ends where it breaks.
    fn started(&mut self, _at: SimTime, _node: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A frame has ended.
    fn aired(&mut self, _frame: &Aired<'_>) {}
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything but acknowledgements.
    Data,
    /// An acknowledgement.
    Acknowledgement,
}

/// A frame that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Aired<'a> {
    /// When its first symbol was sent.
    pub start: SimTime,
    /// When its last was.
    pub end: SimTime,
    /// Its sender.
    pub from: usize,
    /// Its destination, where that is one node whose engine gave an address.
    pub to: Option<usize>,
    /// On which channel.
    pub channel: Channel,
    /// What it is.
    pub kind: Kind,
    /// The frame, without FCS.
    pub mpdu: &'a [u8],
    /// Why it did not arrive where it was meant to, where it did not.
    pub lost: Option<Cause>,
}

/// One frame at one receiver that had locked on it.
#[derive(Debug, Clone, Copy)]
pub struct ReceptionTrace<'a> {
    /// When its last symbol ended at the receiver.
    pub at: SimTime,
    /// The sender that the receiver locked on.
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
    /// Received signal strength as the chip reports it.
    pub rssi: Dbm,
    /// Link quality as the chip reports it.
    pub lqi: u8,
    /// How many senders of the same frame the receiver heard at once.
    pub senders: u16,
}

/// What is called with each reception, in the order in which they end.
pub type TraceHook = Box<dyn FnMut(&ReceptionTrace<'_>) + Send>;

/// How a frame ended at a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was locked on the frame and got all of it right.
    Good,
    /// It was locked on the frame and got something wrong, in the header or after it.
    Lost {
        /// Why.
        cause: Cause,
        /// Whose frame was the strongest other one on the channel.
        interferer: Option<usize>,
    },
    /// It was not locked on this copy of the frame.
    Other(EarStatus),
}

/// When a frame on the air is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment<'a> {
    /// It begins: how each watched receiver but the sender's stands to it.
    Begins(&'a [(usize, EarStatus)]),
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
    pub(crate) begins: Vec<(usize, EarStatus)>,
    pub(crate) ends: Vec<(usize, Ending)>,
}

/// What a part of a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Radio: turns to receiving or sending, or to another channel.
    Calibrate,
    /// Radio: sends.
    Transmit,
    /// Radio: receives a frame, whose check sequence is right.
    Receive,
    /// Radio: receives a frame and gets something wrong.
    Corrupt,
    /// Microcontroller and bus: interrupt entry, and a look at a frame's first bytes.
    Interrupt,
    /// Microcontroller and bus: a frame out of the receive buffer.
    Read,
    /// Microcontroller and bus: a frame into the transmit buffer.
    Load,
    /// Microcontroller: commands the radio to send.
    Strobe,
    /// Microcontroller and bus: another channel.
    Retune,
    /// Microcontroller: operating system.
    Os,
    /// Microcontroller: work that waits for everything else.
    Background,
}

impl Activity {
    /// Whether it is the radio that does it.
    pub const fn is_radio(self) -> bool {
        matches!(
            self,
            Self::Calibrate | Self::Transmit | Self::Receive | Self::Corrupt
        )
    }
    /// Whether it keeps the bus between microcontroller and radio.
    pub const fn takes_bus(self) -> bool {
        matches!(
            self,
            Self::Interrupt | Self::Read | Self::Load | Self::Retune
        )
    }
}

/// A stretch of time in which a node's radio or microcontroller did one thing. Those of one node and
/// row do not overlap, but for receptions of frames that collide.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    /// The node.
    pub node: usize,
    /// Which of its radios it has to do with.
    pub radio: RadioId,
    /// Its beginning.
    pub from: SimTime,
    /// Its end.
    pub until: SimTime,
    /// What was done.
    pub activity: Activity,
    /// On which channel, where it was on the air.
    pub channel: Option<Channel>,
    /// With which frame, where it was one.
    pub mpdu: Option<&'a [u8]>,
}

/// What is called with each span, when it ends or when its end is known.
pub type SpanHook = Box<dyn FnMut(&Span<'_>) + Send>;
