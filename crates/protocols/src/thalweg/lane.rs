//! A node's place in a chain: on which channels it sends and listens for its group, and when it is free for another way.
//!
//! Where the last hop of its group is moved to the other group's channel, relays of the last stage do as NACKs say. Where a
//! transfer breaks, what ends it does not reach all of its nodes: who hears nothing for longer than an undisturbed transfer is
//! silent leaves before the next early meeting. Time base: the node's clock. Tests: `ends.rs`,
//! `../pipeline/tests/follow.rs`.

use super::follow::Early;
use super::said::{Verdict, MOVED_BIT};
use super::{EARLY, FREE};
use crate::pipeline::{Adaptation, Beat, End, Fixed, Heard, Retune};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::Route;

/// On which channels a node sends and listens for its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Those of its group.
    pub(super) fixed: Fixed,
    pub(super) group: Group,
    /// On which the sink hears the other group, where it is another.
    other: Option<Channel>,
    /// A NACK said that the transfer is to end.
    pub(super) gives_up: bool,
    /// Of an exchange, the longest, in microseconds.
    silence: u32,
    /// How many early meetings there may be still: none once a NACK says that none is needed.
    meetings: u8,
    /// The first of them after a silence, and from one to the next in microseconds.
    meeting: Instant,
    apart: u32,
}

impl Lane {
    /// That of `stage` and `group` in `route`, by the schedule of `beat`; other ways may follow at `early` meetings.
    pub fn new(
        route: &Route,
        (stage, group): (u8, Group),
        beat: &Beat,
        early: Option<Early>,
    ) -> Self {
        let channels = route.channels_of(group);
        let last = |group| route.channels_of(group).of(route.channels.hops());
        let fixed = Fixed { channels, stage };
        let micros = |time: Duration| u32::try_from(time.as_nanos() / 1_000).unwrap_or(u32::MAX);
        let mut lane = Self {
            fixed,
            group,
            other: (route.last_even.is_some()).then(|| last(group.other())),
            gives_up: false,
            silence: micros(beat.silence),
            meetings: early.map_or(0, |_| EARLY as u8),
            meeting: early.map_or(beat.start, |early| beat.start + early.first),
            apart: early.map_or(0, |early| micros(early.each)),
        };
        lane.hears(beat.start);
        lane
    }

    /// The longest silence of an undisturbed transfer.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_micros(self.silence.into())
    }
    /// Something of the transfer was heard at `at`, or is not to be before.
    pub(super) fn hears(&mut self, at: Instant) {
        let silent = at + self.silence() + FREE;
        while self.meetings > 0 && self.meeting < silent {
            self.meeting += Duration::from_micros(self.apart.into());
            self.meetings -= 1;
        }
    }
    /// No other way is to be called for at an early meeting.
    pub(super) fn goes_on(&mut self) {
        self.meetings = 0;
    }
    /// Whether that is so.
    pub(super) const fn is_settled(&self) -> bool {
        self.meetings == 0
    }
    /// When to leave where nothing more is heard: before the first early meeting after a silence that no undisturbed transfer
    /// has, since another way may be called for there.
    pub(super) fn free_by(&self) -> Option<Instant> {
        (self.meetings > 0).then(|| self.meeting.saturating_sub(FREE))
    }

    /// A NACK said so: whether its group goes on the other's channel from now on, and whether the transfer ends. The next
    /// packet is due at `due`.
    pub(super) fn said(&mut self, said: &[u8], due: Instant) {
        self.gives_up |= Verdict::ends(said);
        if let Some(verdicts) = Verdict::read(said) {
            let is_other = verdicts[self.group.index()] == Verdict::Other;
            match Verdict::next_look(verdicts) {
                None => self.goes_on(),
                // The look is at the group's other chain, whose packets this node leaves alone: they take no longer.
                Some(_) if is_other => self.hears(due + self.silence() * 2),
                Some(_) => {}
            }
        }
        let moved = said
            .first()
            .map(|said| said & MOVED_BIT << self.group.index());
        if let (Some(1..), Some(other)) = (moved, self.other) {
            self.fixed.channels = self.fixed.channels.ending_on(other);
        }
    }
}

impl Adaptation for Lane {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.fixed.listening()
    }
    fn told(&mut self, said: &[u8], due: Instant) -> Retune {
        self.said(said, due);
        Retune::Stay
    }
    fn gives_up(&self) -> bool {
        self.gives_up
    }
    fn heard(&mut self, _what: Heard, sfd: Instant) {
        self.hears(sfd);
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        self.free_by().map(|leaves| (leaves, End::NotCalled))
    }
}
