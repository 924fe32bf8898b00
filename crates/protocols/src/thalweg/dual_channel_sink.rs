//! The sink's two channels: each group may have its own for the last hop, so that a channel that goes bad costs half of
//! the packets and not all. [`DualChannelSink`] switches the radio between them, cycle by cycle. When a round shows
//! that one channel no longer delivers, NACKs move its group to the other, and relays of the last stage follow
//! ([`super::ChainRole`]).
//!
//! Time base: the node's clock; the sink takes the beat of the pipeline from the packets that it receives. Tests:
//! `dual_channel_sink_tests.rs`, `../pipeline/tests/ends.rs`.

use super::duration32::Short;
use super::report::MOVED_BIT;
use crate::pipeline::{Beat, Reception, Retune, Session};
use crate::timer::sooner;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::Route;

/// Cycles without a packet after which the sink takes the round to be over.
const QUIET: u8 = 4;

/// The sink's radio, which listens on two channels in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualChannelSink {
    /// Those of the odd and the even group.
    channels: [Channel; 2],
    cycle: Short,
    silence: Short,
    ahead: Short,
    /// The group whose channel it listens on.
    at: Group,
    /// The group of the last whole frame.
    last: Group,
    next_turn: NextTurn,
    /// When the other copy of a request that it has heard has its SFD.
    copy: Option<Instant>,
    /// The group that was moved to the other's channel.
    moved: Option<Group>,
}

/// When it switches to the other channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextTurn {
    /// With the cycles, after the frame that had its SFD then.
    With(Instant),
    /// A packet is due then, after so many that were not heard. If it does not begin, the radio switches at once: a
    /// request's second copy comes before the next packet.
    Awaited(Instant, u8),
    /// In time for the first packet of a round, or after a pause: one of that group, with its SFD then.
    For(Instant, Group),
    /// Nothing is heard: then, if nothing comes before.
    Slowly(Instant),
    /// The object is complete.
    Never,
}

impl DualChannelSink {
    /// For a transfer over `route` on the schedule `beat`; none if both groups share a channel.
    pub fn new(route: &Route, beat: &Beat) -> Option<Self> {
        let hops = route.channels.hops();
        let channels = [Group::Odd, Group::Even].map(|group| route.channels_of(group).of(hops));
        let first = beat.start + beat.cycle * u64::from(hops.saturating_sub(1));
        (channels[0] != channels[1]).then_some(Self {
            channels,
            cycle: beat.cycle.into(),
            silence: beat.silence.into(),
            ahead: beat.ahead.into(),
            at: Group::Odd,
            last: Group::Odd,
            next_turn: NextTurn::Awaited(first, 0),
            copy: None,
            moved: None,
        })
    }

    fn cycle(&self) -> Duration {
        self.cycle.into()
    }
    fn silence(&self) -> Duration {
        self.silence.into()
    }
    fn ahead(&self) -> Duration {
        self.ahead.into()
    }
    /// The channel that it listens on.
    pub(super) fn listening(&self) -> Channel {
        let at = match self.moved {
            Some(group) => group.other(),
            None => self.at,
        };
        self.channels[at.index()]
    }
    /// A frame with its SFD at `sfd` began, or came in whole.
    pub(super) fn on_reception(&mut self, reception: Reception, sfd: Instant) {
        match reception {
            Reception::Neighbour => self.next_turn = NextTurn::With(sfd),
            // A bad channel may bring beginnings alone.
            _ => self.last = self.at,
        }
    }
    /// Round `round` is over and the first packet of the next is `due` then; none is if nothing is missing.
    pub(super) fn round_after(&mut self, round: u16, due: Option<Instant>) {
        let group = Session::first_of_two(round.wrapping_add(1));
        self.next_turn = due.map_or(NextTurn::Never, |due| NextTurn::For(due, group));
    }
    /// The next packet is one of `group`, `due` then.
    pub(super) fn expect_packet(&mut self, group: Group, due: Instant) {
        self.next_turn = NextTurn::For(due, group);
    }
    /// The other copy of a request, over the other group, has its SFD then.
    pub(super) fn expect_copy(&mut self, sfd: Instant) {
        self.copy = Some(sfd);
    }
    /// When it switches.
    pub(super) fn next(&self) -> Option<Instant> {
        let copy = self.copy.map(|sfd| sfd.saturating_sub(self.ahead()));
        sooner(copy, self.turns_at()).filter(|_| self.moved.is_none())
    }
    fn turns_at(&self) -> Option<Instant> {
        match self.next_turn {
            NextTurn::With(sfd) => Some((sfd + self.cycle()).saturating_sub(self.ahead())),
            // By then its beginning was read.
            NextTurn::Awaited(sfd, _) => Some(sfd + self.ahead() + self.ahead() / 2),
            NextTurn::For(sfd, _) => Some(sfd.saturating_sub(self.ahead())),
            NextTurn::Slowly(then) => Some(then),
            NextTurn::Never => None,
        }
    }
    pub(super) fn advance(&mut self, at: Instant) -> Retune {
        let before = self.listening();
        let ahead = self.ahead();
        let is_due = |sfd: &mut Instant| sfd.saturating_sub(ahead) <= at;
        if self.copy.take_if(is_due).is_some() {
            self.at = self.at.other();
        }
        while self.next().is_some_and(|next| next <= at) {
            (self.at, self.next_turn) = match self.next_turn {
                NextTurn::Awaited(_, QUIET..) => (self.last, NextTurn::Slowly(at + self.silence())),
                NextTurn::Awaited(sfd, quiet) => {
                    let next = NextTurn::Awaited(sfd + self.cycle(), quiet + 1);
                    (self.at.other(), next)
                }
                NextTurn::With(sfd) => (self.at.other(), NextTurn::Awaited(sfd + self.cycle(), 0)),
                NextTurn::For(sfd, group) => (group, NextTurn::Awaited(sfd, 0)),
                NextTurn::Slowly(_) => (self.at.other(), NextTurn::Slowly(at + self.silence())),
                NextTurn::Never => break,
            };
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }

    /// Only packets of `group` came at the end of a round: moves the other group to its channel. Whether that was new.
    pub(super) fn move_other(&mut self, group: Group) -> bool {
        let is_moved = self.moved.is_none();
        self.moved.get_or_insert(group.other());
        is_moved
    }
    /// The bits that announce the move in NACKs.
    pub(super) fn moved_bits(&self) -> u8 {
        self.moved.map_or(0, |group| MOVED_BIT << group.index())
    }
}

#[cfg(test)]
#[path = "dual_channel_sink_tests.rs"]
mod tests;
