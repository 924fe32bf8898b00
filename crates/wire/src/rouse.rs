//! A frame of the train that rouses nodes which sleep: it says how many more follow, so that all who send in one slot
//! send the same bytes.
//!
//! Layout after the MAC header (whose sequence number is the train's): dispatch, slots left (2).

use crate::buf::{Reader, WireError, Writer};
use crate::{dispatch, mac};

/// Bytes of the frame.
pub const BYTES: usize = mac::HEADER_BYTES + 3;

/// A frame of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rouse {
    /// The train's number, modulo 256.
    pub train: u8,
    /// How many slots the train goes on after this one.
    pub left: u16,
}

impl Rouse {
    /// Reads a whole frame.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(mpdu: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let train = mac::parse(&mut r)?;
        r.expect(dispatch::ROUSE)?;
        let left = r.u16()?;
        r.end()?;
        Ok(Self { train, left })
    }
    /// Writes the frame.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        mac::emit(self.train, w)?;
        w.u8(dispatch::ROUSE)?.u16(self.left).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameBuf;

    #[test]
    fn a_frame_round_trips_and_others_are_refused() {
        let rouse = Rouse {
            train: 7,
            left: 2_801,
        };
        let frame = FrameBuf::build(|w| rouse.emit(w)).unwrap();
        assert_eq!((frame.len(), Rouse::parse(&frame)), (BYTES, Ok(rouse)));
        assert!(Rouse::parse(&frame[..BYTES - 1]).is_err());
        let mut longer = frame.to_vec();
        longer.push(0);
        assert!(Rouse::parse(&longer).is_err());
        longer[3] = dispatch::FLOOD;
        assert!(Rouse::parse(&longer[..BYTES]).is_err());
    }
}
