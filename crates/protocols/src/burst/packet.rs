//! A packet of a burst: as many header bytes as FastForward's, so that both put the same on the air.

use thalweg_wire::addressed::{self, Header};
use thalweg_wire::{dispatch, phy, FrameBuf, Reader, WireError};

/// Bytes in front of the payload.
pub const HEADER_BYTES: usize = addressed::HEADER_BYTES + 5;
/// The longest payload.
pub const MAX_PAYLOAD: usize = phy::MAX_MPDU - HEADER_BYTES;

/// Whether the burst goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    Follows,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) link: Header,
    pub(super) more: More,
    pub(super) number: u16,
    pub(super) payload: &'a [u8],
}

impl<'a> Packet<'a> {
    pub(super) fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let link = Header::parse(&mut r)?;
        r.expect(dispatch::BURST)?;
        let more = match r.u16()? {
            0 => More::Last,
            1 => More::Follows,
            _ => return Err(WireError::Malformed),
        };
        Ok(Self {
            link,
            more,
            number: r.u16()?,
            payload: r.rest(),
        })
    }
    pub(super) fn frame(&self) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| {
            self.link.emit(w)?;
            let more = u16::from(self.more == More::Follows);
            w.u8(dispatch::BURST)?.u16(more)?.u16(self.number)?;
            w.bytes(self.payload)?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::NodeId;

    #[test]
    fn what_is_written_is_read() {
        let id = |n| NodeId::new(n).unwrap();
        for more in [More::Follows, More::Last] {
            let packet = Packet {
                link: Header {
                    sequence: 3,
                    to: Some(id(4)),
                    from: id(5),
                },
                more,
                number: 900,
                payload: &[7; MAX_PAYLOAD],
            };
            let frame = packet.frame().unwrap();
            assert_eq!(Packet::parse(&frame), Ok(packet));
            for short in 0..HEADER_BYTES {
                assert!(Packet::parse(&frame[..short]).is_err());
            }
        }
    }
}
