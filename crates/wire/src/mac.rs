//! The MAC header that every frame of ours begins with, and the frame check sequence.
//!
//! A data frame of frame version 2 without addresses (IEEE 802.15.4-2015, 7.2.1): the
//! protocol's own header says who is meant, and three bytes are all that a standard decoder needs.

use crate::buf::{Reader, WireError, Writer};

/// Bytes of the header: frame control and sequence number.
pub const HEADER_BYTES: usize = 3;

/// Frame control: type data (001), version 2 (10 at bits 12-13), no security, no addresses
/// (IEEE 802.15.4-2015, 7.2.1.1 to 7.2.1.9).
pub const FRAME_CONTROL: u16 = 0x2001;

/// Reads the header: its sequence number, where protocols put the low byte of their own number. The
/// protocol's own bytes are left in `r`.
pub fn parse(r: &mut Reader<'_>) -> Result<u8, WireError> {
    match r.u16()? {
        FRAME_CONTROL => r.u8(),
        _ => Err(WireError::Malformed),
    }
}

/// Writes the header.
pub fn emit(sequence: u8, w: &mut Writer<'_>) -> Result<(), WireError> {
    w.u16(FRAME_CONTROL)?.u8(sequence).map(|_| ())
}

/// The dispatch byte (see [`crate::dispatch`]) of a frame of ours.
pub fn dispatch(mpdu: &[u8]) -> Result<u8, WireError> {
    let mut r = Reader::new(mpdu);
    parse(&mut r)?;
    r.u8()
}

/// The frame check sequence of `mpdu`: the 16-bit ITU-T CRC, x^16 + x^12 + x^5 + 1, initial value
/// 0, bits in the order sent (IEEE 802.15.4-2006, 7.2.1.9).
pub fn fcs(mpdu: &[u8]) -> u16 {
    mpdu.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc: u16, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x8408 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameBuf;

    #[test]
    fn header_round_trips_and_refuses_others() {
        let frame = FrameBuf::build(|w| emit(7, w)).unwrap();
        assert_eq!(frame.len(), HEADER_BYTES);
        let parsed = |bytes: &[u8]| parse(&mut Reader::new(bytes));
        assert_eq!(parsed(&frame), Ok(7));
        assert_eq!(parsed(&[0x41, 0x88, 0]), Err(WireError::Malformed));
        assert_eq!(parsed(&[0x01]), Err(WireError::Truncated));
    }

    #[test]
    fn fcs_has_the_known_check_value_and_residue() {
        // The check value of CRC-16/KERMIT, which is this CRC.
        assert_eq!(fcs(b"123456789"), 0x2189);
        let crc = fcs(&[0x02, 0x00, 0x56]).to_le_bytes();
        assert_eq!(fcs(&[0x02, 0x00, 0x56, crc[0], crc[1]]), 0);
    }
}
