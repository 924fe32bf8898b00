//! What a protocol may change while a pipeline runs: channels, which relays are silent, and what NACKs carry besides
//! the missing packets. The engine asks; protocols answer ([`crate::p3`], [`crate::pip`], [`crate::thalweg`]).
//!
//! Time base: the node's clock; a frame's instant is the end of its SFD. Invariant: all nodes of a transfer that heard
//! the same answer the same, so neighbours meet on one channel and the relays of a stage send the same bytes. Tests:
//! beside the adaptations, `tests/`.

use super::end::End;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::{Group, Purpose};
use thalweg_wire::route::Channels;

/// What a node received of its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// Relay: the beginning of a frame of a neighbouring stage, for whichever group. Destination: that of one for it.
    Neighbour,
    /// Relay and destination: a whole packet for this node.
    Packet,
    /// Relay: the same, and it calls alternate relays.
    Call,
    /// Relay: a packet for this node began, and its end was lost.
    Broken,
    /// Relay and destination: a whole request, or NACK, for this node.
    Control,
    /// Relay: a request into which the relays of a chain write their counts.
    Count,
    /// Backup relay: the beginning of a packet that a relay of its own stage and group forwards.
    Peer,
}

/// Whether the node must retune to what [`Adaptation::listening`] says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Retune {
    /// It listens on.
    Stay,
    /// It retunes; what is being received is lost.
    Now,
}

/// Which of its chains carries a group's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// The relays of the plan.
    Planned,
    /// Those, and the alternate relays beside them.
    Alternate,
}

/// What the destination has at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Different packets that are there.
    pub received: u16,
    /// Those that are not.
    pub missing: u16,
    /// The most that the source can have sent in the round: it may have heard only some frames of the last NACK.
    pub sent: u16,
}

/// What adapts a pipeline. One lives for one transfer.
pub trait Adaptation {
    /// On which channel `stage` hears a frame whose SFD is at `sfd`.
    fn channel(&self, stage: u8, sfd: Instant) -> Channel;
    /// The channel on which this node listens at present; none while it sleeps.
    fn listening(&self) -> Option<Channel>;
    /// The first instant from `sfd` on at which a frame may begin; one that is up to `_tolerance`
    /// earlier will do.
    fn align(&self, sfd: Instant, _tolerance: Duration) -> Instant {
        sfd
    }
    /// After how many packets round `_round` of a transfer of `_packets` stops for a report; none if it does not.
    fn stops_after(&self, _round: u16, _packets: u16) -> Option<u16> {
        None
    }
    /// Destination: all stages pause, and the next packet is due at `_due`. Whether enough came since the last request
    /// or pause for the source to go on without a request.
    fn goes_on(&mut self, _due: Instant) -> bool {
        false
    }
    /// Source: whether packets of `_group` call its alternate relays.
    fn calls(&self, _group: Group) -> bool {
        false
    }
    /// When this node leaves the transfer unless it is needed before, and how its part ends then.
    fn leaves(&self) -> Option<(Instant, End)> {
        None
    }
    /// Relay: whether it forwards the packet or control frame that it has just received.
    fn passes_on(&self, _reception: Reception) -> bool {
        true
    }
    /// Destination: a packet of `_group` came.
    fn on_packet(&mut self, _group: Group) {}
    /// Destination: which chain of the odd and of the even group delivered too little of the last round.
    fn degraded(&self) -> [Option<Chain>; 2] {
        [None; 2]
    }
    /// Source: the purpose of its request at the end of `_round`.
    fn request_purpose(&self, _round: u16) -> Purpose {
        Purpose::Report
    }
    /// Whether the transfer does so badly that it must end: the destination decides, and its NACK says so.
    fn gives_up(&self) -> bool {
        false
    }
    /// Destination: whether it wants the heads of frames, and aborts those that are for others.
    fn wants_heads(&self) -> bool {
        false
    }
    /// A frame had its SFD at `_sfd`.
    fn on_reception(&mut self, _reception: Reception, _sfd: Instant) {}
    /// A request announced the end of a round: the destination has a tally of it, relays have none.
    fn on_round_end(&mut self, _round: u16, _tally: Option<Tally>) {}
    /// Destination: another copy of the request that it has just heard, over the other group, has its SFD at `_sfd`.
    fn expect_copy(&mut self, _sfd: Instant) {}
    /// Destination: writes the note of [`super::Session::note_bytes`] that precedes a NACK's bit vector. The next
    /// packet is due here at `_due`; none is if nothing is missing.
    fn write_note(&mut self, _into: &mut [u8], _due: Option<Instant>) {}
    /// Relay and source: a NACK came with this note. The next packet is due here at `_due`, or to be sent then.
    fn on_nack(&mut self, _note: &[u8], _due: Instant) -> Retune {
        Retune::Stay
    }
    /// When it wants [`Adaptation::advance`].
    fn next(&self) -> Option<Instant> {
        None
    }
    /// Does what is due at `_at`.
    fn advance(&mut self, _at: Instant) -> Retune {
        Retune::Stay
    }
}

/// Nothing adapts: every stage keeps its channel, and every relay sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    /// The stages' channels.
    pub channels: Channels,
    /// This node's stage.
    pub stage: u8,
}

impl Adaptation for Fixed {
    fn channel(&self, stage: u8, _sfd: Instant) -> Channel {
        self.channels.of(stage)
    }
    fn listening(&self) -> Option<Channel> {
        Some(self.channels.of(self.stage))
    }
}

/// What an adaptation must know of a node's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// SFD of the source's first packet.
    pub start: Instant,
    /// T_c, from one cycle of the source to the next.
    pub cycle: Duration,
    /// How long before an SFD to retune: after the last byte of the frame before, and soon enough.
    pub ahead: Duration,
    /// The longest silence of an undisturbed transfer.
    pub silence: Duration,
}
