//! Acknowledgements of frames that came in: by the radio, or loaded and sent by software once it has read
//! the frame (TinyOS 1.x on the CC2420 without address recognition, as IFRC needs).
//!
//! Time base: the node's clock. Invariant: whatever was begun ends, sent or refused. Not modelled: that a
//! read keeps the bus from a copy. Tests: `cc2420_tests.rs`.

use super::{ops, Acknowledgement};
use crate::radio;
use thalweg_engine::{Cca, RadioEvent, RadioOp, Request, TxSlot};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::addressed::{Ack, ACK_BYTES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    /// The radio is to acknowledge.
    Ask,
    /// Software reads the frame until then.
    Reading(Instant),
    /// The acknowledgement is to be copied to the radio.
    Load,
    Loading,
    /// It is to be sent from there.
    Send,
    /// It is asked for or on the air.
    Sending,
}

/// The acknowledgement that a node owes, one at a time.
#[derive(Debug)]
pub(super) struct Acks {
    by: Acknowledgement,
    bytes: [u8; ACK_BYTES],
    step: Step,
}

impl Acks {
    pub(super) const fn new(by: Acknowledgement) -> Self {
        Self {
            by,
            bytes: [0; ACK_BYTES],
            step: Step::Nothing,
        }
    }
    /// Whether one is owed or on the air.
    pub(super) fn is_busy(&self) -> bool {
        self.step != Step::Nothing
    }
    /// Whether it takes the transmit buffer.
    pub(super) const fn takes_buffer(&self) -> bool {
        matches!(self.by, Acknowledgement::Software { .. })
    }

    /// Answers a frame of `bytes` that was received by `now`.
    pub(super) fn acknowledge(&mut self, now: Instant, ack: Ack, bytes: usize) {
        self.bytes = ack.bytes();
        self.step = match self.by {
            Acknowledgement::Hardware => Step::Ask,
            Acknowledgement::Software { byte } => {
                let read = (byte * bytes as u64).max(Duration::from_nanos(1));
                Step::Reading(now + read)
            }
        };
    }

    pub(super) fn handle_radio(&mut self, event: &RadioEvent<'_>) {
        self.step = match (*event, self.step) {
            (RadioEvent::Done { op: ops::ACK_LOAD }, Step::Loading) => Step::Send,
            (
                RadioEvent::Sent { op: ops::ACK, .. }
                | RadioEvent::Refused { op: ops::ACK, .. }
                | RadioEvent::Refused {
                    op: ops::ACK_LOAD, ..
                },
                Step::Loading | Step::Sending,
            ) => Step::Nothing,
            (_, step) => step,
        };
    }
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.step {
            Step::Reading(until) => Some(until),
            _ => None,
        }
    }
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.step = Step::Load;
        }
    }
    #[inline]
    pub(super) fn poll_radio(&mut self, channel: Channel) -> Option<Request<'_>> {
        let mpdu = &self.bytes;
        let (step, id, op) = match self.step {
            Step::Ask => (Step::Sending, ops::ACK, RadioOp::Acknowledge { mpdu }),
            Step::Load => {
                let slot = TxSlot(0);
                (Step::Loading, ops::ACK_LOAD, RadioOp::Load { slot, mpdu })
            }
            Step::Send => (Step::Sending, ops::ACK, radio::transmit(channel, Cca::Skip)),
            Step::Nothing | Step::Reading(_) | Step::Loading | Step::Sending => return None,
        };
        self.step = step;
        Some(Request::new(id, op))
    }
}
