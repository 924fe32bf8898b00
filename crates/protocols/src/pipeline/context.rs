//! What every role of a pipeline works with: the terms of the transfer, and the node's hands.

use super::air::Air;
use super::cadence::Cadence;
use super::events::{End, Events, Stats};
use super::packets::PacketSet;
use super::session::Session;
use crate::object::ObjectStore;
use crate::p3::Tuner;
use crate::pip::Hopper;
use core::ops::ControlFlow;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::phy::SYMBOL;
use thalweg_wire::pipeline::Tag;
use thalweg_wire::route::Place;

/// `Break` where the node's part is over.
pub(super) type Flow = ControlFlow<End>;

/// Borrowed from the engine for one call.
pub(super) struct Context<'a, S: ObjectStore> {
    pub(super) session: &'a Session,
    pub(super) cadence: &'a Cadence,
    pub(super) tag: Tag,
    pub(super) hopper: &'a mut Option<Hopper>,
    pub(super) tuner: &'a mut Option<Tuner>,
    pub(super) store: &'a mut S,
    pub(super) air: &'a mut Air,
    pub(super) packets: &'a mut PacketSet,
    pub(super) events: &'a mut Events,
    pub(super) stats: &'a mut Stats,
}

impl<S: ObjectStore> Context<'_, S> {
    /// On which channel `stage` hears a frame whose SFD is at `sfd`.
    pub(super) fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        match (&*self.hopper, &*self.tuner) {
            (Some(hopper), _) => hopper.channel(stage, hopper.cycle_at(sfd)),
            (None, Some(tuner)) => tuner.channel(stage, sfd),
            (None, None) => self.session.channels.of(stage),
        }
    }
    /// Listens on this node's channel, and aborts what is being received. Only relays look at the
    /// beginning of frames: source and destination have nothing better to receive.
    pub(super) fn listen(&mut self) {
        let head_bytes = match self.session.place {
            Place::Relay { .. } => self.session.format.head_bytes(),
            Place::Source | Place::Destination => 0,
        };
        let channel = match (&*self.hopper, &*self.tuner) {
            (Some(hopper), _) => hopper.own_channel(),
            (None, Some(tuner)) => tuner.own_channel(),
            (None, None) => self.session.channels.of(self.session.stage()),
        };
        self.air.listen(channel, head_bytes);
    }
    /// The beginning of a frame for this node's stage had its SFD at `sfd`.
    pub(super) fn neighbour_heard(&mut self, sfd: Instant) {
        if let Some(tuner) = self.tuner {
            tuner.heard(sfd);
        }
    }
    /// A good frame of this transfer had its SFD at `sfd`.
    pub(super) fn heard(&mut self, sfd: Instant) {
        self.neighbour_heard(sfd);
        if let Some(hopper) = self.hopper {
            hopper.heard(sfd);
        }
    }
    /// `sfd`, or with hopping the next SFD of the grid of cycles.
    pub(super) fn align(&self, sfd: Instant) -> Instant {
        self.hopper
            .as_ref()
            .map_or(sfd, |hopper| hopper.align(sfd, Duration::ZERO))
    }
    /// The same for an instant that was reckoned from another node's frame, which is off by what
    /// the two clocks drift apart in an exchange: some microseconds.
    pub(super) fn align_heard(&self, sfd: Instant) -> Instant {
        self.hopper
            .as_ref()
            .map_or(sfd, |hopper| hopper.align(sfd, SYMBOL))
    }
}
