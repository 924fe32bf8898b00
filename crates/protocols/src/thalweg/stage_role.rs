//! A node's place in a chain: the channels on which it sends and receives for its group, and when it is free for
//! another path. When NACKs move its group's last hop to the other group's channel, relays of the last stage follow.
//!
//! Time base: the node's clock. Tests: `dual_channel_sink_tests.rs`, `../pipeline/tests/follow.rs`.

use super::followups::Early;
use super::rendezvous::Rendezvous;
use super::report::{Verdict, MOVED_BIT};
use crate::pipeline::{Adaptation, Beat, End, Fixed, Reception, Retune};
use thalweg_units::{Channel, Instant};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::Route;

/// A node's place in the chain of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainRole {
    /// The group's channels and the node's stage.
    pub(super) fixed: Fixed,
    pub(super) group: Group,
    /// The sink's channel for the other group, if it differs.
    other: Option<Channel>,
    /// A NACK has ended the transfer.
    pub(super) gives_up: bool,
    /// When it is free for another path.
    pub(super) rendezvous: Rendezvous,
}

impl ChainRole {
    /// For `stage` and `group` of `route` on the schedule `beat`; other paths may follow at `early` rendezvous.
    pub fn new(
        route: &Route,
        (stage, group): (u8, Group),
        beat: &Beat,
        early: Option<Early>,
    ) -> Self {
        let channels = route.channels_of(group);
        let last = |group| route.channels_of(group).of(route.channels.hops());
        let fixed = Fixed { channels, stage };
        Self {
            fixed,
            group,
            other: (route.last_even.is_some()).then(|| last(group.other())),
            gives_up: false,
            rendezvous: Rendezvous::new(beat, early),
        }
    }

    /// Carries out the note of a NACK: its group may move to the other's channel, and the transfer may end.
    pub(super) fn follow_note(&mut self, note: &[u8]) {
        self.gives_up |= Verdict::ends(note);
        if let Some(verdicts) = Verdict::read(note) {
            if Verdict::next_probe(verdicts).is_none() {
                self.rendezvous.settle();
            }
        }
        let moved = note
            .first()
            .map(|note| note & MOVED_BIT << self.group.index());
        if let (Some(1..), Some(other)) = (moved, self.other) {
            self.fixed.channels = self.fixed.channels.ending_on(other);
        }
    }
}

impl Adaptation for ChainRole {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.fixed.listening()
    }
    fn on_nack(&mut self, note: &[u8], _due: Instant) -> Retune {
        self.follow_note(note);
        Retune::Stay
    }
    fn gives_up(&self) -> bool {
        self.gives_up
    }
    fn on_reception(&mut self, _reception: Reception, sfd: Instant) {
        self.rendezvous.hold_until(sfd);
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        self.rendezvous
            .free_by()
            .map(|leaves| (leaves, End::NotCalled))
    }
}
