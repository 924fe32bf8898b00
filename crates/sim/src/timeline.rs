//! What radio, bus and microcontroller of each node do over time, for pictures of it.
//!
//! Spans are told when they end, or when their end is known; those of one node and row do not
//! overlap, but for receptions of frames that collide. Costs nothing unless somebody asks.

use crate::world::World;
use thalweg_engine::RadioId;
use thalweg_units::{Channel, SimTime};

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
    /// Microcontroller: tells the radio to send.
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

/// A stretch of time in which a node's radio or microcontroller did one thing.
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

/// What is called with each span.
pub type SpanHook = Box<dyn FnMut(&Span<'_>) + Send>;

impl World {
    pub(crate) fn span(
        &mut self,
        node: usize,
        from: SimTime,
        until: SimTime,
        activity: Activity,
        channel: Option<Channel>,
        mpdu: Option<&[u8]>,
    ) {
        let (radio, node) = (node / self.mcus.len().max(1), self.node_of(node));
        if let Some(hook) = &mut self.spans {
            hook(&Span {
                node,
                radio: RadioId(radio as u8),
                from,
                until,
                activity,
                channel,
                mpdu,
            });
        }
    }
}
