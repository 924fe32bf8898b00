//! What may differ from one pipeline to another while it runs: channels, who is silent, what NACKs say
//! besides what is missing. The engine asks; protocols answer ([`crate::p3`], [`crate::pip`]).
//!
//! Time base: the node's clock; instants of frames are those at which their SFD ends. Invariant: all
//! nodes of a transfer that heard the same answer the same, so that neighbours meet on one channel and
//! the relays of a stage send the same bytes. Tests: beside the adaptations, `tests/`.

use super::end::End;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::{Group, Purpose};
use thalweg_wire::route::Channels;

/// Something that a node heard of its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// Relay: the beginning of a frame of a neighbouring stage, for whichever group. Destination: that of one for it.
    Neighbour,
    /// Relay and destination: a whole packet for this node.
    Packet,
    /// Relay: the same that calls who is alternate.
    Call,
    /// Relay: a packet for this node began, and its end was lost.
    Broken,
    /// Relay and destination: a whole request, or NACK, for this node.
    Control,
    /// Relay: a request into which the relays of a chain write what they counted.
    Count,
    /// Who stands by: the beginning of a packet that a relay of its own stage and group sends on.
    Peer,
}

/// Whether the node is to listen anew, on what [`Adaptation::listening`] says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Retune {
    /// It listens on.
    Stay,
    /// It turns to the channel; what is being received is lost.
    Now,
}

/// By which of its chains a group's packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// The relays of the plan.
    Planned,
    /// These, and the alternate ones beside them.
    Alternate,
}

/// What the destination has at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Different packets that are there.
    pub received: u16,
    /// Those that are not.
    pub missing: u16,
    /// The most that the source can have sent in the round: of a NACK of several frames it may have heard a few.
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
    /// Packets after which round `_round` of a transfer of `_packets` is over, so that the source learns how they came;
    /// none where it has no such end.
    fn stops_after(&self, _round: u16, _packets: u16) -> Option<u16> {
        None
    }
    /// Destination: all stages pause, and the next packet is due at `_due`. Whether enough came since it was last asked, or
    /// they paused, for the source to go on without asking.
    fn goes_on(&mut self, _due: Instant) -> bool {
        false
    }
    /// Source: whether packets of `_group` call its alternate relays.
    fn calls(&self, _group: Group) -> bool {
        false
    }
    /// When this node leaves the transfer, in which it has no part, and how it ends then.
    fn leaves(&self) -> Option<(Instant, End)> {
        None
    }
    /// Relay: whether it sends on the packet, or the control frame, that it has just heard.
    fn passes_on(&self, _reception: Reception) -> bool {
        true
    }
    /// Destination: a packet of `_group` came.
    fn on_packet(&mut self, _group: Group) {}
    /// Destination: by which chain the odd, and the even group brought too little of the round that has just been tallied.
    fn degraded(&self) -> [Option<Chain>; 2] {
        [None; 2]
    }
    /// Source: what its request at the end of `_round` asks for.
    fn request_purpose(&self, _round: u16) -> Purpose {
        Purpose::Report
    }
    /// Whether the transfer is to end, since it does badly: the destination says so, and all others are told.
    fn gives_up(&self) -> bool {
        false
    }
    /// Destination: whether it is to be told of the beginnings of frames, and receives nothing that is for others.
    fn wants_heads(&self) -> bool {
        false
    }
    /// A frame had its SFD at `_sfd`.
    fn on_reception(&mut self, _reception: Reception, _sfd: Instant) {}
    /// A request said that a round is over: the destination has a tally of it, relays have none.
    fn on_round_end(&mut self, _round: u16, _tally: Option<Tally>) {}
    /// Destination: another copy of the request that it has just heard, over the other group, has its SFD at `_sfd`.
    fn expect_copy(&mut self, _sfd: Instant) {}
    /// Destination: fills the [`super::Session::note_bytes`] that stand in a NACK before its bit vector.
    /// The next packet is due here at `_due`; none is where nothing is missing.
    fn write_note(&mut self, _into: &mut [u8], _due: Option<Instant>) {}
    /// Relay and source: a NACK said so. The next packet is due here at `_due`, or to be sent then.
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
