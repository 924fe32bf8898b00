//! Answers to operations that no event of the radio gives: in order, but for those that wait for the receiver.

use crate::clock::{duration, span};
use thalweg_engine::{OpId, Refusal, MAX_OPS_PER_DRAIN};
use thalweg_units::Duration;

/// As many as one drain may bring, and those that were open before: one pending, one conditional, one assessment.
const ROOM: usize = MAX_OPS_PER_DRAIN + 8;

/// What is to be answered, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    /// Done when the receiver is on.
    WhenOn,
    /// A reading of the channel's power, when the receiver is on.
    Reading,
    /// So many ticks too late.
    Late(u32),
    ChannelBusy,
    Empty,
    Superseded,
    BadLength,
    NoSuch,
}

impl Answer {
    const fn waits_for_receiver(self) -> bool {
        matches!(self, Self::WhenOn | Self::Reading)
    }
    /// The refusal that it is.
    pub(super) const fn refusal(self) -> Option<Refusal> {
        Some(match self {
            Self::Done | Self::WhenOn | Self::Reading => return None,
            Self::Late(ticks) => Refusal::Late {
                by: duration(ticks as u64),
            },
            Self::ChannelBusy => Refusal::ChannelBusy,
            Self::Empty => Refusal::Empty,
            Self::Superseded => Refusal::Superseded,
            Self::BadLength => Refusal::BadLength,
            Self::NoSuch => Refusal::NoSuch,
        })
    }
    pub(super) fn late(by: Duration) -> Self {
        Self::Late(u32::try_from(span(by)).unwrap_or(u32::MAX))
    }
}

/// Whether the receiver is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    On,
    Off,
}

/// The answers.
#[derive(Debug)]
pub(super) struct Answers {
    kept: [(OpId, Answer); ROOM],
    len: usize,
    lost: u32,
}

impl Answers {
    pub(super) const NONE: Self = Self {
        kept: [(OpId(0), Answer::Done); ROOM],
        len: 0,
        lost: 0,
    };

    /// Where an engine asks for more than its contract allows, the answer is lost, and counted.
    pub(super) fn push(&mut self, op: OpId, answer: Answer) {
        match self.kept.get_mut(self.len) {
            Some(place) => {
                *place = (op, answer);
                self.len += 1;
            }
            None => self.lost = self.lost.saturating_add(1),
        }
    }

    /// Whether none waits.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next that can be given.
    pub(super) fn pop(&mut self, receiver: Receiver) -> Option<(OpId, Answer)> {
        let waiting = self.kept.get(..self.len)?;
        let is_ripe = |a: &(OpId, Answer)| receiver == Receiver::On || !a.1.waits_for_receiver();
        let at = waiting.iter().position(is_ripe)?;
        let found = waiting.get(at).copied();
        self.kept.copy_within(at + 1..self.len, at);
        self.len -= 1;
        found
    }

    /// Whether some wait for nothing.
    pub(super) fn has_ripe(&self) -> bool {
        let kept = self.kept.get(..self.len).unwrap_or_default();
        kept.iter().any(|(_, answer)| !answer.waits_for_receiver())
    }

    /// Whether some wait for the receiver.
    pub(super) fn wait_for_receiver(&self) -> bool {
        let kept = self.kept.get(..self.len).unwrap_or_default();
        kept.iter().any(|(_, answer)| answer.waits_for_receiver())
    }

    /// The receiver will not be on: what waits for it is refused.
    pub(super) fn supersede(&mut self) {
        let kept = self.kept.get_mut(..self.len).unwrap_or_default();
        for (_, answer) in kept.iter_mut().filter(|(_, a)| a.waits_for_receiver()) {
            *answer = Answer::Superseded;
        }
    }

    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }
}
