//! A packet forwarded hop by hop along a route that its nodes know (CIT, section 5).
//!
//! Layout after the MAC header (whose sequence number is the packet number's low byte): dispatch,
//! previous hop (2), packet number (2), payload: eight bytes in front of the payload, as in the
//! paper. Who takes a packet on follows from the previous hop. Tests: at the end of this file.

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
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let repr = Repr {
            previous: NodeId::new(0x1234).unwrap(),
            number: 0x0507,
            payload: &[1, 2, 3],
        };
        let frame = repr.frame().unwrap();
        assert_eq!(frame.len(), HEADER_BYTES + 3);
        assert_eq!(Repr::parse(&frame), Ok(repr));
        let told = usize::from(ORIGIN_AT)..usize::from(ORIGIN_END);
        assert_eq!(frame[told], origin(repr.previous));
        let head = Repr::parse(&frame[..HEADER_BYTES]).unwrap();
        assert_eq!((head.number, head.payload.len()), (0x0507, 0));
        for short in 0..HEADER_BYTES {
            assert!(Repr::parse(&frame[..short]).is_err());
        }
    }

    #[test]
    fn other_frames_are_refused() {
        let frame = Repr {
            previous: NodeId::new(1).unwrap(),
            number: 7,
            payload: &[0; MAX_PAYLOAD],
        }
        .frame()
        .unwrap();
        for (at, byte) in [(3, dispatch::BEACON), (2, 8), (5, 0xff), (0, 0)] {
            let mut bytes: [u8; phy::MAX_MPDU] = frame[..].try_into().unwrap();
            bytes[at] = byte;
            assert_eq!(Repr::parse(&bytes).is_ok(), at == 5, "{at}");
        }
        let long = Repr {
            payload: &[0; MAX_PAYLOAD + 1],
            ..Repr::parse(&frame).unwrap()
        };
        assert_eq!(long.frame().err(), Some(WireError::NoRoom));
    }
}
