//! A packet forwarded hop by hop along a route that its nodes know (CIT, section 5).
//!
//! Layout after the MAC header (whose sequence number is the packet number's low byte): dispatch,
//! previous hop (2), packet number (2), payload: eight bytes in front of the payload, as in the
//! paper. Who takes a packet on follows from the previous hop. Tests: `forward_tests.rs`.

use crate::buf::{Reader, WireError};
use crate::{dispatch, mac, phy, FrameBuf};
use thalweg_units::NodeId;

/// Bytes in front of the payload.
pub const HEADER_BYTES: usize = mac::HEADER_BYTES + 5;
/// The longest payload.
pub const MAX_PAYLOAD: usize = phy::MAX_MPDU - HEADER_BYTES;
/// Where a frame has protocol and previous hop.
pub const ORIGIN_AT: u8 = mac::HEADER_BYTES as u8;
/// Where that ends: a reader that got so far knows whose frame it is.
pub const ORIGIN_END: u8 = ORIGIN_AT + 3;

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Who sent this frame.
    pub previous: NodeId,
    /// The packet's number, from 0 on.
    pub number: u16,
    /// Bytes of the object.
    pub payload: &'a [u8],
}

/// The bytes at [`ORIGIN_AT`] of a packet that `previous` sends.
pub const fn origin(previous: NodeId) -> [u8; 3] {
    let [low, high] = previous.get().to_le_bytes();
    [dispatch::FORWARD, low, high]
}

impl<'a> Repr<'a> {
    /// Reads a frame, or the beginning of one: its first [`HEADER_BYTES`] at least.
    ///
    /// # Errors
    /// [`WireError`], also for one that is longer than a frame can be.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        // What no frame holds cannot be sent on.
        if mpdu.len() > phy::MAX_MPDU {
            return Err(WireError::Malformed);
        }
        let mut r = Reader::new(mpdu);
        let low = mac::parse(&mut r)?;
        r.expect(dispatch::FORWARD)?;
        let (previous, number) = (r.node()?, r.u16()?);
        if number.to_le_bytes()[0] != low {
            return Err(WireError::Malformed);
        }
        Ok(Self {
            previous,
            number,
            payload: r.rest(),
        })
    }
    /// The frame; [`WireError::NoRoom`] where the payload is longer than [`MAX_PAYLOAD`].
    pub fn frame(&self) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| {
            mac::emit(self.number.to_le_bytes()[0], w)?;
            w.bytes(&origin(self.previous))?.u16(self.number)?;
            w.bytes(self.payload).map(|_| ())
        })
    }
}

#[cfg(test)]
#[path = "forward_tests.rs"]
mod tests;
