//! What a pipeline wants of its radio and has not been polled for yet, and which answer is whose.
//!
//! Invariant: at most one mode change and one transmission wait at a time, and only the answer of
//! the last transmission ordered counts. Frames are streamed (P3, section IV-G: the copy into the
//! radio's memory runs along with the transmission), or loaded and held there until a frame comes in
//! that begins as asked (CIT, section 4).

use crate::radio;
use core::ops::{Deref, DerefMut, RangeInclusive};
use thalweg_engine::{Cca, Condition, OpId, RadioEvent, RadioOp, Refusal, Request, TxSlot, When};
use thalweg_units::{Channel, Instant};
use thalweg_wire::pipeline::{NACK_BODY_BYTES, SLIM_HEADER_BYTES};
use thalweg_wire::seal::frame::MIC_BYTES;
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
    /// And how many bytes of a frame's head to report.
    Listen(Channel, u8),
    Sleep,
}

/// What a reception must begin with to send what is held: these bytes, so far into the frame.
pub(super) type Trigger = (u8, [u8; 1]);

/// What is still to be ordered for a frame that will be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    Load(Channel, Trigger),
    Wait(Channel, Trigger),
}

/// A frame that goes out while another is kept: a NACK without a bit vector, with a note of one byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brief {
    bytes: [u8; SLIM_HEADER_BYTES + NACK_BODY_BYTES + 1 + MIC_BYTES as usize],
    len: u8,
}

impl Brief {
    /// A copy of `mpdu`; none where that is longer.
    pub(super) fn of(mpdu: &[u8]) -> Option<Self> {
        let mut brief = Self::EMPTY;
        brief.bytes.get_mut(..mpdu.len())?.copy_from_slice(mpdu);
        brief.len = mpdu.len() as u8;
        Some(brief)
    }
    const EMPTY: Self = Self {
        bytes: [0; SLIM_HEADER_BYTES + NACK_BODY_BYTES + 1 + MIC_BYTES as usize],
        len: 0,
    };
}

impl Deref for Brief {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl DerefMut for Brief {
    fn deref_mut(&mut self) -> &mut [u8] {
        (self.bytes.get_mut(..usize::from(self.len))).unwrap_or_default()
    }
}

/// Which frame is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    Frame,
    Brief,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// It is loaded, and goes out as soon as a frame comes in that meets the trigger.
    Hold(Channel, Trigger),
    /// It is streamed.
    Send(Channel, When),
}

/// Orders to the radio.
#[derive(Debug)]
pub(super) struct Air {
    mode: Option<Mode>,
    transmit: Option<(Channel, When)>,
    hold: Option<Hold>,
    /// What follows the frame that is held.
    next: Option<Order>,
    /// Of whichever was ordered or is to follow: there is one at a time, and the latest counts.
    frame: FrameBuf,
    /// What goes out while `frame` is kept.
    brief: Brief,
    /// Which of them is ordered.
    sends: Sends,
    last_id: OpId,
    current: Option<OpId>,
    held: Option<OpId>,
    trigger: [u8; 1],
}

impl Air {
    pub(super) const IDLE: Self = Self {
        mode: None,
        transmit: None,
        hold: None,
        next: None,
        frame: FrameBuf::EMPTY,
        brief: Brief::EMPTY,
        sends: Sends::Frame,
        last_id: OpId(0),
        current: None,
        held: None,
        trigger: [0],
    };

    pub(super) fn listen(&mut self, channel: Channel, head_bytes: u8) {
        self.mode = Some(Mode::Listen(channel, head_bytes));
    }
    /// Lets the radio sleep until it is to listen again.
    pub(super) fn rest(&mut self) {
        self.mode = Some(Mode::Sleep);
    }
    /// Puts the radio to sleep; a transmission ordered before is forgotten.
    pub(super) fn sleep(&mut self) {
        *self = Self {
            mode: Some(Mode::Sleep),
            last_id: self.last_id,
            ..Self::IDLE
        };
    }
    /// The frame of the next order, to be written in place: a copy counts within a gap.
    pub(super) fn frame_mut(&mut self) -> &mut FrameBuf {
        &mut self.frame
    }
    /// Sends the frame that was written.
    pub(super) fn transmit(&mut self, channel: Channel, when: When) {
        self.next = None;
        self.send(Sends::Frame, channel, when);
    }
    fn send(&mut self, sends: Sends, channel: Channel, when: When) {
        self.sends = sends;
        self.transmit = Some((channel, when));
        self.current = None;
    }
    /// Gives the frame that was written to the radio.
    pub(super) fn order(&mut self, order: Order) {
        self.keep(order);
        self.go_on();
    }
    /// Keeps the frame that was written until [`Air::go_on`].
    pub(super) fn keep(&mut self, order: Order) {
        self.next = Some(order);
    }
    /// Sends `brief` on `channel`, whatever is kept.
    pub(super) fn send_beside(&mut self, brief: Brief, channel: Channel, when: When) {
        self.brief = brief;
        self.send(Sends::Brief, channel, when);
    }
    /// What is kept.
    pub(super) const fn kept(&self) -> Option<Order> {
        self.next
    }
    /// Gives the radio what is kept.
    pub(super) fn go_on(&mut self) {
        match self.next.take() {
            Some(Order::Send(channel, when)) => self.send(Sends::Frame, channel, when),
            Some(Order::Hold(channel, trigger)) => {
                self.hold = Some(Hold::Load(channel, trigger));
                self.held = None;
            }
            None => {}
        }
    }

    pub(super) fn wants_radio(&self) -> bool {
        self.mode.is_some() || self.transmit.is_some() || self.hold.is_some()
    }

    pub(super) fn poll(&mut self) -> Option<Request<'_>> {
        let id = OpId(*OPS.start() | self.last_id.0.wrapping_add(1));
        if let Some(mode) = self.mode.take() {
            self.last_id = id;
            let op = match mode {
                Mode::Listen(channel, head_bytes) => RadioOp::Listen {
                    channel,
                    head_bytes,
                },
                Mode::Sleep => RadioOp::Sleep,
            };
            return Some(Request::new(id, op));
        }
        let slot = TxSlot(0);
        match self.hold.take() {
            Some(Hold::Load(channel, trigger)) => {
                self.last_id = id;
                self.hold = Some(Hold::Wait(channel, trigger));
                let mpdu = &self.frame;
                return Some(Request::new(id, RadioOp::Load { slot, mpdu }));
            }
            Some(Hold::Wait(channel, (offset, bytes))) => {
                (self.last_id, self.held) = (id, Some(id));
                self.trigger = bytes;
                let bytes = &self.trigger;
                let op = RadioOp::Conditional {
                    slot,
                    condition: Condition { offset, bytes },
                    channel,
                    cca: Cca::Skip,
                };
                return Some(Request::new(id, op));
            }
            None => {}
        }
        let (channel, when) = self.transmit.take()?;
        (self.last_id, self.current) = (id, Some(id));
        let mpdu = match self.sends {
            Sends::Frame => &self.frame[..],
            Sends::Brief => &self.brief[..],
        };
        Some(Request::new(id, radio::stream(mpdu, channel, when)))
    }

    /// The answer in `event` to the last transmission ordered.
    pub(super) fn answer(&mut self, event: &RadioEvent<'_>) -> Option<TxAnswer> {
        answered(&mut self.current, event)
    }
    /// The answer in `event` to the frame that was held last.
    pub(super) fn held_answer(&mut self, event: &RadioEvent<'_>) -> Option<TxAnswer> {
        answered(&mut self.held, event)
    }
}

/// What `event` says of the operation `of`, which is then over.
fn answered(of: &mut Option<OpId>, event: &RadioEvent<'_>) -> Option<TxAnswer> {
    if event.answers().is_none() || event.answers() != *of {
        return None;
    }
    let answer = match event {
        RadioEvent::Sent { sfd, .. } => TxAnswer::Sent(*sfd),
        RadioEvent::Refused { why, .. } => TxAnswer::Refused(*why),
        _ => return None,
    };
    *of = None;
    Some(answer)
}
