//! Configuration, orders and events of a node of FastForward.

use thalweg_units::{Channel, Channel900, Duration, NodeId, Tuning};
use thalweg_wire::stream::Call;

/// The most packets that a node's queue can be made to hold.
pub const MAX_QUEUE: usize = 32;

/// Constants of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Packets that its queue holds.
    pub queue: usize,
    /// How long it waits for an acknowledgement (section IV-B: 1 ms).
    pub ack_timeout: Duration,
    /// How often a packet is sent before it is dropped. The paper says "several". It has to outlast
    /// a full queue at the next hop, which withholds acknowledgements as long.
    pub attempts: u8,
    /// A stream is given up after so many packets in a row that were dropped unacknowledged.
    pub give_up: u8,
    /// A stream that was silent for so long is over.
    pub silence: Duration,
    /// On what nodes sleep and are called; no stream is to use it.
    pub calling: Tuning,
    /// How often a sleeping node listens on it.
    pub wake_interval: Duration,
    /// For how long.
    pub wake_time: Duration,
    /// How often a call is tried, in wake intervals.
    pub call_intervals: u8,
}

impl Config {
    /// The highest channel of the 900 MHz radio, which draws less when it listens.
    pub const CALLING: Tuning = match Channel900::new(10) {
        Some(channel) => Tuning::Mhz900(channel),
        None => Tuning::Ghz2_4(Channel::LAST),
    };
}

impl Default for Config {
    /// Queues of 12; 1 ms; 30 attempts; a neighbour is lost after 3 packets; a stream after 1 s of
    /// silence; calls on [`Config::CALLING`], eight wake-ups a second, each long enough for two calls
    /// of the longest path.
    fn default() -> Self {
        Self {
            queue: 12,
            ack_timeout: Duration::from_millis(1),
            attempts: 30,
            give_up: 3,
            silence: Duration::from_secs(1),
            calling: Self::CALLING,
            wake_interval: Duration::from_millis(125),
            wake_time: Duration::from_millis(14),
            call_intervals: 8,
        }
    }
}

/// Orders to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Leave the radios off but for wake-ups on the calling channel.
    Sleep,
    /// This node is the sink of the call's path: set it up, from here to the source.
    Open(Call),
    /// Leave the stream of that name.
    Close(u8),
}

/// Why a stream ended at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its last packet was passed on, or arrived.
    Complete,
    /// The previous hop fell silent.
    Silent,
    /// The next hop does not acknowledge any more, or does not answer the call.
    Broken {
        /// Who.
        neighbour: NodeId,
    },
    /// It was ordered to leave.
    Closed,
}

/// Events of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The source begins: the path is set up.
    Begun {
        /// The stream.
        stream: u8,
        /// Packets to come.
        packets: u32,
    },
    /// The sink was given a packet that it had not.
    Received {
        /// The stream.
        stream: u8,
        /// The packet.
        number: u16,
        /// Its payload bytes.
        bytes: u8,
    },
    /// A stream ended here.
    Ended {
        /// The stream.
        stream: u8,
        /// Why.
        why: End,
        /// How many packets the source has, where that is known.
        packets: Option<u16>,
    },
    /// The call does not fit: no such place, no room for another stream, or it is under way.
    Refused {
        /// The stream.
        stream: u8,
    },
}

/// What happened on a stream at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets handed to the radio, each once.
    pub sent: u32,
    /// And again.
    pub retransmissions: u32,
    /// Packets that the next hop never acknowledged.
    pub unacknowledged: u32,
    /// Packets lost because the queue was full.
    pub overflows: u32,
    /// Packets not taken, and not acknowledged, because the queue was full.
    pub withheld: u32,
    /// Packets received again.
    pub duplicates: u32,
    /// Most packets in the queue at once.
    pub queue_peak: u16,
    /// Sum over packets taken in of the queue's length after it, and how many: its mean length.
    pub queue_sum: u32,
    /// Packets taken in.
    pub taken: u32,
}

impl Counts {
    /// What happened then and now.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            sent: self.sent + more.sent,
            retransmissions: self.retransmissions + more.retransmissions,
            unacknowledged: self.unacknowledged + more.unacknowledged,
            overflows: self.overflows + more.overflows,
            withheld: self.withheld + more.withheld,
            duplicates: self.duplicates + more.duplicates,
            queue_peak: self.queue_peak.max(more.queue_peak),
            queue_sum: self.queue_sum + more.queue_sum,
            taken: self.taken + more.taken,
        }
    }
}
