//! What a radio of the test network is doing, and what is to come.

use super::Fate;
use crate::{Abilities, Cca, OpId, RadioEvent};
use std::vec::Vec;
use thalweg_units::{Channel, Instant};
use thalweg_wire::FrameBuf;

pub(super) struct Pending {
    pub(super) op: OpId,
    pub(super) start: Instant,
    pub(super) channel: Channel,
    pub(super) mpdu: FrameBuf,
}

/// Waits for a frame that has `bytes` at `offset`.
pub(super) struct Conditional {
    pub(super) op: OpId,
    pub(super) offset: u8,
    pub(super) bytes: Vec<u8>,
    pub(super) channel: Channel,
    pub(super) cca: Cca,
    pub(super) mpdu: FrameBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Sleep,
    Listen {
        channel: Channel,
        head_bytes: u8,
        since: Instant,
    },
}

pub(super) struct Lock {
    pub(super) air: usize,
    pub(super) start: Instant,
    pub(super) fate: Fate,
    pub(super) collided: Option<Collision>,
}

/// Another frame came in between: not even the beginning can be read.
pub(super) struct Collision;

pub(super) struct Radio {
    pub(super) mode: Mode,
    pub(super) pending: Option<Pending>,
    pub(super) sending_until: Option<Instant>,
    /// From when the oscillator is stable; none while powered down.
    pub(super) awake_from: Option<Instant>,
    pub(super) slot: Option<FrameBuf>,
    pub(super) last_rx_end: Option<Instant>,
    pub(super) lock: Option<Lock>,
    pub(super) conditional: Option<Conditional>,
    /// How many bytes of a frame are handed over.
    pub(super) readout: usize,
    pub(super) timeout: Option<Instant>,
    /// What the engine named.
    pub(super) named: Abilities,
}

#[derive(Debug)]
pub(super) enum What {
    Answer {
        node: usize,
        answer: RadioEvent<'static>,
    },
    /// A receiver is on.
    On {
        node: usize,
        op: OpId,
    },
    TxStart {
        node: usize,
        start: Instant,
    },
    TxEnd {
        air: usize,
    },
    Head {
        node: usize,
        air: usize,
    },
}
