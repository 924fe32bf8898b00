//! What a node wants of its radios and has not been polled for yet.

use crate::radio;
use crate::ring::Fifo;
use thalweg_engine::{Answering, Cca, OpId, RadioId, RadioOp, Request, When};
use thalweg_units::Tuning;
use thalweg_wire::FrameBuf;

/// The radio of a band: 2.4 GHz first, 900 MHz second.
pub const fn radio_of(tuning: Tuning) -> RadioId {
    match tuning {
        Tuning::Ghz2_4(_) => RadioId(0),
        Tuning::Mhz900(_) => RadioId(1),
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Want {
    Listen(Tuning),
    Sleep(RadioId),
    Answer(RadioId, Answering),
    /// A frame, for the sender of that number.
    Send(u8, Tuning),
    /// The frame in the radio's buffer, for the sender of that number.
    Again(u8, Tuning),
}

/// Orders to the radios.
#[derive(Debug)]
pub(super) struct Orders {
    wants: Fifo<Want, 24>,
    frame: FrameBuf,
    last: u16,
}

impl Orders {
    pub(super) const NONE: Self = Self {
        wants: Fifo::EMPTY,
        frame: FrameBuf::EMPTY,
        last: 0,
    };
    pub(super) fn want(&mut self, want: Want) {
        // There is room: what one event leads to is a dozen at most.
        let _ = self.wants.push(want);
    }
    pub(super) fn answer(&mut self, tuning: Tuning, answering: Answering) {
        self.want(Want::Answer(radio_of(tuning), answering));
    }
    /// The next want, and the name of the operation that it will be.
    pub(super) fn next(&mut self) -> Option<(Want, OpId)> {
        let want = self.wants.pop()?;
        self.last = self.last.wrapping_add(1);
        Some((want, OpId(self.last)))
    }
    /// The operation of `want`; `frame` is what it sends.
    pub(super) fn request(&mut self, want: Want, id: OpId, frame: Option<FrameBuf>) -> Request<'_> {
        self.frame = frame.unwrap_or(FrameBuf::EMPTY);
        let (radio, op) = match want {
            Want::Listen(on) => (radio_of(on), radio::listen(on.place())),
            Want::Sleep(radio) => (radio, RadioOp::Sleep),
            Want::Answer(radio, answering) => (radio, RadioOp::Answer(answering)),
            Want::Send(_, on) => {
                let op = radio::stream(&self.frame, on.place(), When::Now);
                (radio_of(on), op)
            }
            Want::Again(_, on) => (radio_of(on), radio::transmit(on.place(), Cca::Skip)),
        };
        Request { radio, id, op }
    }
}
