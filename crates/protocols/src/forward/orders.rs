//! What a forwarder wants of its radio and has not been polled for yet, and which answer is whose.
//!
//! Invariant: one transmission at a time is under way, and only its answer counts; its frame stays
//! here until the next is loaded.

use crate::radio;
use crate::ring::Fifo;
use thalweg_engine::{Cca, Condition, OpId, RadioEvent, RadioOp, Request, TxSlot};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::{forward, FrameBuf};

#[derive(Debug, Clone, Copy)]
pub(super) enum Want {
    Listen(Channel),
    Readout(u8),
    /// The frame that is here, again or for the first time.
    Load,
    Send(Channel, Cca),
    /// What was loaded goes out when a packet of `origin` has come in.
    SendUpon(Channel, Cca),
    /// Ends the transmission under way; its answer still counts.
    Cancel,
}

/// The radio's answer to a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TxAnswer {
    Sent,
    Refused,
}

/// Orders to the radio.
#[derive(Debug)]
pub(super) struct Orders {
    wants: Fifo<Want, 8>,
    frame: FrameBuf,
    /// Protocol and previous hop of the frame that sets off the next.
    origin: [u8; 3],
    last: u16,
    current: Option<OpId>,
}

impl Orders {
    /// None yet.
    pub(super) const NONE: Self = Self {
        wants: Fifo::EMPTY,
        frame: FrameBuf::EMPTY,
        origin: [0; 3],
        last: 0,
        current: None,
    };

    pub(super) fn want(&mut self, want: Want) {
        // There is room: between two polls at most five are wanted.
        let _ = self.wants.push(want);
    }
    pub(super) fn load(&mut self, frame: FrameBuf) {
        self.frame = frame;
        self.want(Want::Load);
    }
    /// Sends what was loaded when a packet of `previous` has come in.
    pub(super) fn send_upon(&mut self, previous: NodeId, channel: Channel, cca: Cca) {
        self.origin = forward::origin(previous);
        self.want(Want::SendUpon(channel, cca));
    }
    /// Forgets what is under way and wanted.
    pub(super) fn cancel(&mut self) {
        self.wants = Fifo::EMPTY;
        self.current = None;
        self.want(Want::Cancel);
    }

    pub(super) fn poll(&mut self) -> Option<Request<'_>> {
        let want = self.wants.pop()?;
        self.last = self.last.wrapping_add(1);
        let id = OpId(self.last);
        let (slot, mpdu) = (TxSlot(0), &self.frame[..]);
        let op = match want {
            Want::Listen(channel) => radio::listen(channel),
            Want::Readout(bytes) => RadioOp::Readout { bytes },
            Want::Load => RadioOp::Load { slot, mpdu },
            Want::Cancel => RadioOp::Cancel,
            Want::Send(channel, cca) => {
                self.current = Some(id);
                radio::transmit(channel, cca)
            }
            Want::SendUpon(channel, cca) => {
                self.current = Some(id);
                let condition = Condition {
                    offset: forward::ORIGIN_AT,
                    bytes: &self.origin,
                };
                RadioOp::Conditional {
                    slot,
                    condition,
                    channel,
                    cca,
                }
            }
        };
        Some(Request::new(id, op))
    }

    /// The answer in `event` to the transmission under way.
    pub(super) fn answer(&mut self, event: &RadioEvent<'_>) -> Option<TxAnswer> {
        if event.answers().is_none() || event.answers() != self.current {
            return None;
        }
        self.current = None;
        match event {
            RadioEvent::Sent { .. } => Some(TxAnswer::Sent),
            _ => Some(TxAnswer::Refused),
        }
    }
}
