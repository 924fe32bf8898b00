//! Where a source's packets come from, and where they stay until the sink has them (RCRT, section 3.3).
//!
//! Invariant: a packet that was made can be read again, unchanged, until it is released. Tests: `tests.rs`.

use thalweg_units::Instant;
use thalweg_wire::rcrt::{Flow, Proof};
use thalweg_wire::{FrameBuf, WireError, Writer};

/// Whether a flow has a next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// It has.
    Packet,
    /// Not yet; it is asked again then.
    At(Instant),
    /// The flow ends before it.
    End,
}

/// A node's packets, new and sent: a buffer in RAM ([`Ring`]), an object in flash, synthetic data.
pub trait Supply {
    /// Most packets of a flow that may be sent and not acknowledged, at least 1: how many can be read
    /// again. Less than 32,768, so that numbers on the air mean one packet each.
    fn room(&self) -> u16;
    /// Whether there is a packet `sequence`; asked in order, of new packets only. It stays until it is
    /// released.
    fn poll(&mut self, now: Instant, flow: Flow, sequence: u32) -> Ready;
    /// Writes packet `sequence`, which is there and was not released.
    ///
    /// # Errors
    /// Where it does not fit; it is never sent then.
    fn read(&mut self, flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError>;
    /// What the packets of `flow` are together, where they are an object.
    fn proof(&self, _flow: Flow) -> Option<Proof> {
        None
    }
    /// Everything before `sequence` has arrived at the sink.
    fn release(&mut self, _flow: Flow, _sequence: u32) {}
}

/// What makes packets, in order, each once.
pub trait Application {
    /// The next packet of `flow`; `None` once it ends.
    fn next(&mut self, now: Instant, flow: Flow) -> Option<Result<FrameBuf, Instant>>;
}

/// The packets of one flow in RAM: `N` of at most `BYTES` bytes.
#[derive(Debug, Clone)]
pub struct Ring<A, const N: usize, const BYTES: usize> {
    application: A,
    kept: [(u8, [u8; BYTES]); N],
    /// Packets that came in.
    made: u32,
}

impl<A: Application, const N: usize, const BYTES: usize> Ring<A, N, BYTES> {
    /// An empty buffer under `application`.
    pub const fn new(application: A) -> Self {
        Self {
            application,
            kept: [(0, [0; BYTES]); N],
            made: 0,
        }
    }
    fn place(sequence: u32) -> usize {
        sequence as usize % N.max(1)
    }
}

impl<A: Application, const N: usize, const BYTES: usize> Supply for Ring<A, N, BYTES> {
    fn room(&self) -> u16 {
        N as u16
    }
    fn poll(&mut self, now: Instant, flow: Flow, sequence: u32) -> Ready {
        if sequence < self.made {
            return Ready::Packet;
        }
        match self.application.next(now, flow) {
            None => Ready::End,
            Some(Err(later)) => Ready::At(later),
            Some(Ok(packet)) => {
                let bytes = packet.len().min(BYTES);
                if let Some((len, place)) = self.kept.get_mut(Self::place(sequence)) {
                    *len = bytes as u8;
                    if let (Some(to), Some(from)) = (place.get_mut(..bytes), packet.get(..bytes)) {
                        to.copy_from_slice(from);
                    }
                }
                self.made = sequence + 1;
                Ready::Packet
            }
        }
    }
    fn read(&mut self, _flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        let (len, bytes) = (self.kept.get(Self::place(sequence))).ok_or(WireError::Truncated)?;
        let bytes = bytes.get(..usize::from(*len));
        w.bytes(bytes.ok_or(WireError::Truncated)?).map(|_| ())
    }
}
