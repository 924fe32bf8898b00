//! What a node of a forwarding route is to do.

use thalweg_engine::Cca;
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::forward::ORIGIN_END;

/// How frames get from the receive buffer into the transmit buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forwarding {
    /// Every packet is read out, written and then sent (CIT, section 3.2).
    Copying,
    /// No data moves: one frame is written once and sent again for every packet, and of what is
    /// received nothing is read but the few bytes that say whose it is, as for a condition (CIT,
    /// section 3). It measures what copying costs, and delivers nothing.
    Resending,
    /// Conditional immediate transmission: packet n - 1 waits in the transmit buffer and goes out
    /// when packet n has come in (CIT, section 4).
    Conditional,
}

/// What a node does with the packets that come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Hands them up: a route's ends.
    End,
    /// Sends them on.
    Relay,
}

/// The channels a node sends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exits {
    /// Always the same.
    One(Channel),
    /// By turns, a route each.
    Two(Channel, Channel),
}

impl Exits {
    /// The channel of packet `number`.
    pub const fn of(self, number: u16) -> Channel {
        match self {
            Self::One(channel) => channel,
            Self::Two(even, _) if number % 2 == 0 => even,
            Self::Two(_, odd) => odd,
        }
    }
}

/// A node's part in a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What it does with packets.
    pub role: Role,
    /// Whose packets it takes.
    pub previous: [Option<NodeId>; 2],
    /// Where it listens.
    pub listen: Channel,
    /// Where it sends.
    pub exits: Exits,
    /// How it forwards.
    pub forwarding: Forwarding,
    /// Whether it looks before it sends.
    pub cca: Cca,
    /// How long a frame waits for its condition before it is sent all the same. Longer by a few
    /// frames' time with each hop from the source on, else a relay sends on its own account while
    /// the one before it does.
    pub hold: Duration,
    /// Payload bytes of the frame that is sent again and again when [`Forwarding::Resending`].
    pub payload_bytes: u8,
}

impl Config {
    /// How many bytes of a frame it reads.
    pub(super) fn readout(&self) -> u8 {
        match self.forwarding {
            // No packets are for it.
            _ if self.previous == [None; 2] => 0,
            Forwarding::Resending => ORIGIN_END,
            Forwarding::Copying | Forwarding::Conditional => u8::MAX,
        }
    }
}

/// Orders to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Take this part from now on; what was under way is forgotten.
    Join(Config),
    /// Send packets of `payload_bytes` each, numbered from 0, one each `interval`.
    /// A packet that is due while another is under way waits.
    Send {
        /// How many.
        packets: u16,
        /// Payload bytes of each.
        payload_bytes: u8,
        /// How long from now to the first.
        after: Duration,
        /// From one to the next.
        interval: Duration,
    },
    /// Write a packet that goes out when the previous hop's next packet has come in (CIT, section
    /// 5.2).
    Arm {
        /// Its payload bytes.
        payload_bytes: u8,
    },
}

/// Events of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A route's end was handed a packet.
    Received {
        /// Its number; meaningless when [`Forwarding::Resending`].
        number: u16,
        /// Who sent it last.
        previous: NodeId,
    },
    /// A packet was not sent on.
    Dropped {
        /// Its number.
        number: u16,
        /// Why.
        why: Drop,
    },
    /// All packets of a [`Command::Send`] are on their way.
    SentAll,
}

/// Why a packet was not sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// Too many wait.
    QueueFull,
    /// The channel was busy, or the radio refused for another reason.
    Refused,
}
