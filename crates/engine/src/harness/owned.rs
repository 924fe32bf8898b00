//! Operations as the test network keeps them: with bytes of their own.

use crate::{Cca, OpId, RadioOp, Refusal, Request, When};
use std::vec::Vec;
use thalweg_units::{Channel, Instant};

/// An answer that is due.
#[derive(Debug)]
pub(super) enum Answer {
    Done(OpId),
    Sent(OpId, Instant),
    Refused(OpId, Refusal),
}

/// Waits for a frame that has `bytes` at `offset`.
pub(super) struct Conditional {
    pub(super) op: OpId,
    pub(super) offset: u8,
    pub(super) bytes: Vec<u8>,
    pub(super) channel: Channel,
    pub(super) cca: Cca,
    pub(super) mpdu: Vec<u8>,
}

/// An operation that owns its bytes.
pub(super) enum Owned {
    Load(u8, Vec<u8>),
    Send {
        slot: u8,
        /// None for what is in the slot.
        mpdu: Option<Vec<u8>>,
        channel: Channel,
        when: When,
        cca: Cca,
    },
    Listen {
        channel: Channel,
        head_bytes: u8,
    },
    Conditional {
        offset: u8,
        condition: Vec<u8>,
        channel: Channel,
        cca: Cca,
    },
    Readout(usize),
    Answer,
    Sleep,
    Cancel,
    /// For a buffer or an ability that there is not.
    NoSuch,
}

impl From<Request<'_>> for Owned {
    fn from(request: Request<'_>) -> Self {
        match request.op {
            RadioOp::Load { slot, mpdu } => Self::Load(slot.0, mpdu.to_vec()),
            RadioOp::Transmit {
                slot,
                channel,
                when,
                cca,
            } => Self::Send {
                slot: slot.0,
                mpdu: None,
                channel,
                when,
                cca,
            },
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => Self::Send {
                slot: 0,
                mpdu: Some(mpdu.to_vec()),
                channel,
                when,
                cca,
            },
            RadioOp::Conditional { slot, .. } if slot.0 != 0 => Self::NoSuch,
            RadioOp::Conditional {
                slot: _,
                condition,
                channel,
                cca,
            } => Self::Conditional {
                offset: condition.offset,
                condition: condition.bytes.to_vec(),
                channel,
                cca,
            },
            RadioOp::Readout { bytes } => Self::Readout(usize::from(bytes)),
            RadioOp::Answer(_) => Self::Answer,
            RadioOp::Listen {
                channel,
                head_bytes,
            } => Self::Listen {
                channel,
                head_bytes,
            },
            // What this network's radios do not do.
            RadioOp::Sense
            | RadioOp::Assess(_)
            | RadioOp::Acknowledge { .. }
            | RadioOp::Hear(_)
            | RadioOp::Preamble { .. } => Self::NoSuch,
            RadioOp::Sleep => Self::Sleep,
            RadioOp::Cancel => Self::Cancel,
        }
    }
}
