//! A radio outside of the network: it sends what it is given, whatever it hears.

use std::collections::VecDeque;
use thalweg_engine::{Abilities, Ability, Cca, OpId, RadioEvent, RadioOp, Request, Wants, When};
use thalweg_units::Channel;
use thalweg_wire::FrameBuf;

/// The outsider's radio.
#[derive(Debug)]
pub(crate) struct Outsider {
    queue: VecDeque<(FrameBuf, Channel)>,
    /// The frame that the radio is given, until the next.
    given: FrameBuf,
    is_sending: bool,
}

impl Default for Outsider {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            given: FrameBuf::EMPTY,
            is_sending: false,
        }
    }
}

impl Outsider {
    /// Sends `frame` on `channel`, after those before it.
    pub(crate) fn send(&mut self, frame: FrameBuf, channel: Channel) {
        self.queue.push_back((frame, channel));
    }
    pub(crate) fn wants() -> Wants {
        const NEEDS: Abilities = Abilities::of(&[Ability::Stream]);
        Wants {
            abilities: NEEDS,
            ..Wants::of(&[])
        }
    }
    pub(crate) fn handle_radio(&mut self, event: RadioEvent<'_>) {
        if event.answers().is_some() {
            self.is_sending = false;
        }
    }
    pub(crate) fn poll_radio(&mut self) -> Option<Request<'_>> {
        if self.is_sending {
            return None;
        }
        let (frame, channel) = self.queue.pop_front()?;
        (self.given, self.is_sending) = (frame, true);
        let op = RadioOp::Stream {
            mpdu: &self.given,
            channel,
            when: When::Now,
            cca: Cca::Skip,
        };
        Some(Request::new(OpId(1), op))
    }
}
