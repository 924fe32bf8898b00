//! The MAC header of frames over single links, and the acknowledgements that answer them:
//! IEEE 802.15.4-2006, 7.2.1 and 7.2.2.3, with short addresses and one PAN identifier.

use crate::buf::{Reader, WireError, Writer};
use thalweg_units::NodeId;

/// Bytes of [`Header`]: frame control, sequence number, PAN, destination, source.
pub const HEADER_BYTES: usize = 9;
/// Where a header's sequence number stands.
pub const SEQUENCE_AT: usize = 2;
/// Bytes of [`Ack`].
pub const ACK_BYTES: usize = 3;
/// The PAN that all frames belong to.
pub const PAN: u16 = 0x5457;
const BROADCAST: u16 = 0xffff;
/// Frame control: data, PAN compression, short addresses, version 0.
const DATA: u16 = 0x8841;
/// Frame control of acknowledgements.
const ACKNOWLEDGEMENT: u16 = 0x0002;
/// Bit 5 of the frame control: an acknowledgement is wanted.
const ACK_REQUEST: u16 = 1 << 5;
/// Bit 4 of the frame control: frame pending. In acknowledgements of ours: the receiver is
/// congested.
const PENDING: u16 = 1 << 4;

/// The MAC header of a data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Data sequence number.
    pub sequence: u8,
    /// The neighbour it is for; none for all. A frame for one neighbour wants an
    /// acknowledgement.
    pub to: Option<NodeId>,
    /// The neighbour that sends it.
    pub from: NodeId,
}

impl Header {
    const fn control(self) -> u16 {
        match self.to {
            Some(_) => DATA | ACK_REQUEST,
            None => DATA,
        }
    }
    /// Reads the header; what follows is left in `r`.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let control = r.u16()?;
        let (sequence, pan) = (r.u8()?, r.u16()?);
        let to = match r.clone().u16()? {
            BROADCAST => r.u16().map(|_| None)?,
            _ => Some(r.node()?),
        };
        let from = r.node()?;
        let header = Self { sequence, to, from };
        match control == header.control() && pan == PAN {
            true => Ok(header),
            false => Err(WireError::Malformed),
        }
    }
    /// Writes the header.
    pub fn emit(self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u16(self.control())?.u8(self.sequence)?.u16(PAN)?;
        w.u16(self.to.map_or(BROADCAST, NodeId::get))?
            .u16(self.from.get())?;
        Ok(())
    }
}

/// What a receiver says of itself in an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// It has room.
    #[default]
    Clear,
    /// It is congested.
    Congested,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Of the frame with this sequence number.
    pub sequence: u8,
    /// The receiver's state.
    pub congestion: Congestion,
}

impl Ack {
    /// Reads an acknowledgement.
    pub fn parse(mpdu: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let congestion = match r.u16()? {
            ACKNOWLEDGEMENT => Congestion::Clear,
            control if control == ACKNOWLEDGEMENT | PENDING => Congestion::Congested,
            _ => return Err(WireError::Malformed),
        };
        let sequence = r.u8()?;
        r.end()?;
        Ok(Self {
            sequence,
            congestion,
        })
    }
    /// Its bytes.
    pub const fn bytes(self) -> [u8; ACK_BYTES] {
        let control = match self.congestion {
            Congestion::Clear => ACKNOWLEDGEMENT,
            Congestion::Congested => ACKNOWLEDGEMENT | PENDING,
        };
        let [low, high] = control.to_le_bytes();
        [low, high, self.sequence]
    }
}

/// The address of a frame with a [`Header`]: none for all, or where it has no such header.
pub fn destination(mpdu: &[u8]) -> Option<NodeId> {
    Header::parse(&mut Reader::new(mpdu)).ok()?.to
}

#[cfg(test)]
#[path = "addressed_tests.rs"]
mod tests;
