//! What holds back a node's queue hop by hop: the seam between a [`Stack`](super::Stack) and a congestion control
//! scheme.
//!
//! A discipline owns no packet and no frame. It sees what happens to the queue, on the air and at the channel, and says
//! when packets may enter, leave and at what priority. Every method has a default, which is best effort's. Time base:
//! the node's clock.

use super::Sighting;
use crate::csma::{Outcome, Priority};
use thalweg_engine::{Hear, Wants};
use thalweg_units::Instant;
use thalweg_wire::addressed::Congestion;
use thalweg_wire::tree::{Direction, Repr, Stamp};

/// How full a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Packets in it, the one that the MAC has among them.
    pub packets: u8,
    /// Packets that it can hold.
    pub limit: u8,
}

/// Where a frame that is heard goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// To this node, with a packet that it has had or not.
    Here(Sighting),
    /// To the parent of this node, which is a sink.
    Sink,
    /// To another node, or to all.
    Elsewhere,
}

/// A good frame of a neighbour's.
#[derive(Debug, Clone, Copy)]
pub struct Overheard<'a> {
    /// The frame.
    pub frame: &'a Repr<'a>,
    /// Whether the neighbour is this node's parent.
    pub by_parent: bool,
    /// Where the frame goes.
    pub hop: Hop,
    /// What its sender's discipline wrote at its end, [`Discipline::TAIL_BYTES`] of it.
    pub tail: &'a [u8],
    /// When its last byte ended.
    pub end: Instant,
}

/// Whether the packet that is next may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open,
    /// Not before then.
    Until(Instant),
    /// Not before something has happened.
    Held,
}

/// What a sample of the channel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelState {
    /// Somebody sends.
    Busy,
    /// No node does.
    Free,
}

/// A scheme against congestion.
pub trait Discipline {
    /// Bytes at the end of every frame that are its own, where a stamp is too little. All nodes of a network
    /// have as many.
    const TAIL_BYTES: usize = 0;

    /// What it wants of the radio beside what the stack does.
    fn wants(&self) -> Wants {
        Wants::of(&[])
    }
    /// Which frames it must overhear.
    fn hears(&self) -> Hear {
        Hear::Addressed
    }
    /// A frame of a neighbour's was heard; the queue has not changed because of it yet. Gives the
    /// instant before which a packet that waits for the channel must not be sent because of it.
    fn heard(&mut self, _now: Instant, _heard: &Overheard<'_>) -> Option<Instant> {
        None
    }
    /// A packet is about to enter the queue, which then holds `fill`; what relays note in it is written now.
    fn enters(&self, _way: Direction, _fill: Fill, _payload: &mut [u8]) {}
    /// A packet has entered or left the queue.
    fn queued(&mut self, _now: Instant, _fill: Fill) {}
    /// Whether the layer above may add a packet now; asked when it has one and there is room for it.
    fn admits(&mut self, _now: Instant, _way: Direction) -> bool {
        true
    }
    /// A packet of the layer above was added.
    fn admitted(&mut self, _way: Direction) {}
    /// The MAC is done with a packet, which has left the queue.
    fn sent(&mut self, _way: Direction, _outcome: Outcome) {}
    /// Whether the packet that is next may go to the MAC or, if the MAC has it, stay there.
    fn gate(&self, _now: Instant, _way: Direction) -> Gate {
        Gate::Open
    }
    /// How hard the node tries to win the channel.
    fn priority(&self) -> Priority {
        Priority::Normal
    }
    /// What every frame of the node says from now on.
    fn stamp(&self) -> Stamp {
        Stamp::default()
    }
    /// Writes what the last [`Discipline::TAIL_BYTES`] of every frame of the node say from now on.
    fn write_tail(&self, _tail: &mut [u8]) {}
    /// Whether a frame is to go to all that says what all the node's frames say; asked when the MAC
    /// has no frame, once for each.
    fn poll_notice(&mut self) -> bool {
        false
    }
    /// What its acknowledgements say from now on.
    fn answer(&self) -> Congestion {
        Congestion::Clear
    }
    /// The node has slept: what it knew about its neighbours is too old.
    fn forget(&mut self) {}
    /// When it wants [`Discipline::handle_timeout`].
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    /// That instant has come.
    fn handle_timeout(&mut self, _now: Instant) {}
    /// Whether it wants a sample of the channel now; asked once for each.
    fn poll_sample(&mut self) -> bool {
        false
    }
    /// The sample that it wanted.
    fn sampled(&mut self, _now: Instant, _channel: ChannelState) {}
}

/// Best effort: nothing is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Open;

impl Discipline for Open {}
