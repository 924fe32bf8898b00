//! What a pipeline wants of its radio and has not been polled for yet, and which answer is whose.
//!
//! Invariant: at most one mode change and one transmission wait at a time, and only the answer of
//! the last transmission ordered counts. Frames are always streamed (P3, section IV-G: the copy
//! into the radio's memory runs along with the transmission).

use core::ops::RangeInclusive;
use thalweg_engine::{Cca, OpId, RadioEvent, RadioOp, Refusal, Request, When};
use thalweg_units::{Channel, Instant};
use thalweg_wire::FrameBuf;

/// The names of the operations of a pipeline, so that an answer to another engine of the same
/// node, which had the radio before, is not taken for an answer to this one.
pub const OPS: RangeInclusive<u16> = 0x8000..=u16::MAX;

/// The radio's answer to a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TxAnswer {
    /// Its SFD ended at.
    Sent(Instant),
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Listen { channel: Channel, head_bytes: u8 },
    Sleep,
}

/// Orders to the radio.
#[derive(Debug)]
pub(super) struct Air {
    mode: Option<Mode>,
    transmit: Option<(Channel, When)>,
    frame: FrameBuf,
    last_id: OpId,
    current: Option<OpId>,
}

impl Air {
    pub(super) const IDLE: Self = Self {
        mode: None,
        transmit: None,
        frame: FrameBuf::EMPTY,
        last_id: OpId(0),
        current: None,
    };

    pub(super) fn listen(&mut self, channel: Channel, head_bytes: u8) {
        self.mode = Some(Mode::Listen {
            channel,
            head_bytes,
        });
    }
    /// Puts the radio to sleep; a transmission ordered before is forgotten.
    pub(super) fn sleep(&mut self) {
        *self = Self {
            mode: Some(Mode::Sleep),
            last_id: self.last_id,
            ..Self::IDLE
        };
    }
    pub(super) fn transmit(&mut self, frame: FrameBuf, channel: Channel, when: When) {
        self.frame = frame;
        self.transmit = Some((channel, when));
        self.current = None;
    }

    pub(super) fn wants_radio(&self) -> bool {
        self.mode.is_some() || self.transmit.is_some()
    }

    pub(super) fn poll(&mut self) -> Option<Request<'_>> {
        let id = OpId(*OPS.start() | self.last_id.0.wrapping_add(1));
        if let Some(mode) = self.mode.take() {
            self.last_id = id;
            let op = match mode {
                Mode::Listen {
                    channel,
                    head_bytes,
                } => RadioOp::Listen {
                    channel,
                    head_bytes,
                },
                Mode::Sleep => RadioOp::Sleep,
            };
            return Some(Request::new(id, op));
        }
        let (channel, when) = self.transmit.take()?;
        (self.last_id, self.current) = (id, Some(id));
        let op = RadioOp::Stream {
            mpdu: &self.frame,
            channel,
            when,
            cca: Cca::Skip,
        };
        Some(Request::new(id, op))
    }

    /// The answer in `event` to the last transmission ordered.
    pub(super) fn answer(&mut self, event: &RadioEvent<'_>) -> Option<TxAnswer> {
        if event.answers().is_none() || event.answers() != self.current {
            return None;
        }
        let answer = match event {
            RadioEvent::Sent { sfd, .. } => TxAnswer::Sent(*sfd),
            RadioEvent::Refused { why, .. } => TxAnswer::Refused(*why),
            _ => return None,
        };
        self.current = None;
        Some(answer)
    }
}
