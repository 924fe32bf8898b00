//! Cursors over bytes that never panic, and an owned frame of fixed capacity.

use crate::phy::MAX_MPDU;
use core::fmt;
use thalweg_units::NodeId;

/// Why bytes are not the frame they were taken for, or a frame does not fit its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// Fewer bytes than the fields need.
    Truncated,
    /// A field holds a value that it must not.
    Malformed,
    /// The buffer is too small for what is to be written.
    NoRoom,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "frame is too short",
            Self::Malformed => "frame has an impossible field",
            Self::NoRoom => "frame does not fit its buffer",
        })
    }
}
impl core::error::Error for WireError {}

/// Reads little-endian fields from the front of a slice. Where fewer bytes are left than asked for, a
/// method fails with [`WireError::Truncated`] and consumes nothing.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads from `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], WireError> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(head)
    }
    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(*head)
    }
    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.bytes(1)?[0])
    }
    /// The next two bytes, little-endian.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        let b = self.bytes(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }
    /// The next four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        let b = self.bytes(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    /// The next eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, WireError> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.bytes(8)?);
        Ok(u64::from_le_bytes(eight))
    }
    /// The next two bytes as a node's address; [`WireError::Malformed`] where they are none's.
    pub fn node(&mut self) -> Result<NodeId, WireError> {
        NodeId::new(self.u16()?).map_err(|_| WireError::Malformed)
    }
    /// Takes the next byte, which must be `byte`: [`WireError::Malformed`] where it is another.
    pub fn expect(&mut self, byte: u8) -> Result<(), WireError> {
        match self.u8()? == byte {
            true => Ok(()),
            false => Err(WireError::Malformed),
        }
    }
    /// Says that nothing may be left: [`WireError::Malformed`] where something is.
    pub fn end(self) -> Result<(), WireError> {
        match self.0 {
            [] => Ok(()),
            _ => Err(WireError::Malformed),
        }
    }
    /// Everything that is left.
    pub const fn rest(self) -> &'a [u8] {
        self.0
    }
    /// How many bytes are left.
    pub const fn remaining(&self) -> usize {
        self.0.len()
    }
}

/// Writes little-endian fields into a slice. What does not fit is not written: a method fails with
/// [`WireError::NoRoom`] then.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes into `bytes` from its beginning.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// Appends `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<&mut Self, WireError> {
        let end = self.at + bytes.len();
        self.bytes
            .get_mut(self.at..end)
            .ok_or(WireError::NoRoom)?
            .copy_from_slice(bytes);
        self.at = end;
        Ok(self)
    }
    /// Appends one byte.
    pub fn u8(&mut self, value: u8) -> Result<&mut Self, WireError> {
        self.bytes(&[value])
    }
    /// Appends two bytes, little-endian.
    pub fn u16(&mut self, value: u16) -> Result<&mut Self, WireError> {
        self.bytes(&value.to_le_bytes())
    }
    /// Appends four bytes, little-endian.
    pub fn u32(&mut self, value: u32) -> Result<&mut Self, WireError> {
        self.bytes(&value.to_le_bytes())
    }
    /// Appends eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) -> Result<&mut Self, WireError> {
        self.bytes(&value.to_le_bytes())
    }
    /// How many bytes were written.
    pub const fn len(&self) -> usize {
        self.at
    }
    /// Whether nothing was written yet.
    pub const fn is_empty(&self) -> bool {
        self.at == 0
    }
}

/// A MAC frame without FCS, owned: at most [`MAX_MPDU`] bytes; those after its end are 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameBuf {
    bytes: [u8; MAX_MPDU],
    len: u8,
}

impl FrameBuf {
    /// An empty frame.
    pub const EMPTY: Self = Self {
        bytes: [0; MAX_MPDU],
        len: 0,
    };

    /// The frame that `write` writes, or its error.
    pub fn build(
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) -> Result<Self, WireError> {
        let mut frame = Self::EMPTY;
        frame.rebuild(write).map(|()| frame)
    }
    /// Makes it the frame that `write` writes, in place.
    ///
    /// # Errors
    /// That of `write`; it is empty then.
    #[inline]
    pub fn rebuild(
        &mut self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let old = usize::from(self.len);
        let mut writer = Writer::new(&mut self.bytes);
        let written = write(&mut writer);
        // One that failed may have written beyond what it was.
        let (len, end) = match written {
            Ok(()) => (writer.len(), old),
            Err(_) => (0, MAX_MPDU),
        };
        self.len = len as u8;
        if let Some(left) = self.bytes.get_mut(len..end) {
            left.fill(0);
        }
        written
    }
    /// A copy of `bytes`; [`WireError::NoRoom`] beyond [`MAX_MPDU`] of them.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, WireError> {
        Self::build(|w| w.bytes(bytes).map(|_| ()))
    }
    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] beyond [`MAX_MPDU`] bytes in all; nothing changes then.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let (from, len) = (usize::from(self.len), usize::from(self.len) + bytes.len());
        let room = self.bytes.get_mut(from..len);
        room.ok_or(WireError::NoRoom)?.copy_from_slice(bytes);
        self.len = len as u8;
        Ok(())
    }
    /// Makes it a copy of `bytes`, in place: within a relay's gap another copy counts.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] beyond [`MAX_MPDU`] bytes; nothing changes then.
    pub fn copy_from(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let (old, new) = (usize::from(self.len), bytes.len());
        let room = self.bytes.get_mut(..new);
        room.ok_or(WireError::NoRoom)?.copy_from_slice(bytes);
        if new < old {
            self.bytes.get_mut(new..old).unwrap_or_default().fill(0);
        }
        self.len = bytes.len() as u8;
        Ok(())
    }
}
impl core::ops::Deref for FrameBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
impl core::ops::DerefMut for FrameBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }
}
impl fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameBuf({:02x?})", &**self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let frame = FrameBuf::build(|w| {
            w.u8(1)?.u16(0x0302)?.u32(0x0706_0504)?.bytes(&[8, 9])?;
            Ok(())
        })
        .unwrap();
        assert_eq!(&*frame, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let mut r = Reader::new(&frame);
        let read = (r.u8(), r.u16(), r.u32());
        assert_eq!(read, (Ok(1), Ok(0x0302), Ok(0x0706_0504)));
        assert_eq!(r.rest(), &[8, 9]);
    }

    #[test]
    fn too_little_and_too_much_are_errors() {
        assert_eq!(Reader::new(&[1]).u16(), Err(WireError::Truncated));
        assert_eq!(FrameBuf::from_slice(&[0; 126]), Err(WireError::NoRoom));
        let mut frame = FrameBuf::from_slice(&[1, 2, 3]).unwrap();
        assert_eq!(frame.copy_from(&[0; 126]), Err(WireError::NoRoom));
        assert_eq!(&*frame, &[1, 2, 3]);
        frame.copy_from(&[4]).unwrap();
        assert_eq!(frame, FrameBuf::from_slice(&[4]).unwrap());
        assert_eq!(frame.append(&[0; 125]), Err(WireError::NoRoom));
        frame.append(&[5]).unwrap();
        assert_eq!(&*frame, &[4, 5]);
        frame.rebuild(|w| w.u16(0x0706).map(|_| ())).unwrap();
        assert_eq!(frame, FrameBuf::from_slice(&[6, 7]).unwrap());
        frame.rebuild(|w| w.u8(1).map(|_| ())).unwrap();
        assert_eq!(frame, FrameBuf::from_slice(&[1]).unwrap());
        let failed = frame.rebuild(|w| w.u16(9)?.bytes(&[9; 124]).map(|_| ()));
        assert_eq!((failed, frame), (Err(WireError::NoRoom), FrameBuf::EMPTY));
        assert!(FrameBuf::from_slice(&[0; 125]).is_ok());
    }
}
