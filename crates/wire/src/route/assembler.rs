//! Segments of a wake-up message, and what puts them together. Tests: `tests.rs`.

use super::{Route, CHUNK, MAX_ENCODED, MAX_SEGMENTS, SEALED_SEGMENT_KIND, SEGMENT_KIND};
use crate::seal::frame::Sealing;
use crate::{Reader, WireError, Writer};
use thalweg_units::Duration;

/// Which of the wake-ups of several transfers that begin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUpTurn {
    /// The first, or the only one: it begins when all nodes listen.
    First,
    /// Another one: it follows as soon as the one before it has died down.
    Later,
}

pub(super) const LATER_BIT: u8 = 0x08;
const COUNT_BITS: u8 = 0x07;

/// What an [`Assembler`] makes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Of which transfer.
    pub transfer: u16,
    /// Its place among the route's segments, from 0.
    pub index: u8,
    /// Whether it is of the first wake-up.
    pub turn: WakeUpTurn,
    /// Whether it says that its transfer is sealed.
    pub sealing: Sealing,
    /// From the reference time of the flood that brought it to the first packet.
    pub until_start: Duration,
}

/// Collects the segments of a route. Segments of another transfer put away those of the last.
#[derive(Debug, Clone)]
pub struct Assembler {
    transfer: u16,
    sealing: Sealing,
    chunks: [[u8; CHUNK]; MAX_SEGMENTS],
    lens: [Option<u8>; MAX_SEGMENTS],
    count: u8,
}

impl Assembler {
    /// With nothing collected.
    pub const EMPTY: Self = Self {
        transfer: 0,
        sealing: Sealing::Open,
        chunks: [[0; CHUNK]; MAX_SEGMENTS],
        lens: [None; MAX_SEGMENTS],
        count: 0,
    };

    /// Takes a segment, in any order, any number of times.
    ///
    /// # Errors
    /// [`WireError`] where `content` is no segment of a route; nothing changes then.
    pub fn push(&mut self, content: &[u8]) -> Result<Segment, WireError> {
        let mut r = Reader::new(content);
        let sealing = match r.u8()? {
            SEGMENT_KIND => Sealing::Open,
            SEALED_SEGMENT_KIND => Sealing::Sealed,
            _ => return Err(WireError::Malformed),
        };
        let (transfer, place, ms) = (r.u16()?, r.u8()?, r.u16()?);
        let (index, count) = (usize::from(place >> 4), place & COUNT_BITS);
        let turn = match place & LATER_BIT {
            0 => WakeUpTurn::First,
            _ => WakeUpTurn::Later,
        };
        let chunk = r.rest();
        if usize::from(count) > MAX_SEGMENTS || index >= usize::from(count) || chunk.len() > CHUNK {
            return Err(WireError::Malformed);
        }
        if (transfer, count, sealing) != (self.transfer, self.count, self.sealing) {
            (self.transfer, self.count, self.sealing) = (transfer, count, sealing);
            self.lens = [None; MAX_SEGMENTS];
        }
        self.chunks[index][..chunk.len()].copy_from_slice(chunk);
        self.lens[index] = u8::try_from(chunk.len()).ok();
        Ok(Segment {
            transfer,
            index: place >> 4,
            turn,
            sealing,
            until_start: Duration::from_millis(u64::from(ms)),
        })
    }

    /// The route. Decoding takes twice its size on the stack, so this function is not inlined into its caller. It changes no
    /// decoded route: each change would be another copy.
    ///
    /// # Errors
    /// [`WireError::Truncated`] until all its segments are there; [`WireError::Malformed`] where they make no sense.
    #[inline(never)]
    pub fn route(&self) -> Result<Route, WireError> {
        let mut bytes = [0; MAX_ENCODED];
        let mut w = Writer::new(&mut bytes);
        let all = self.chunks.iter().zip(self.lens);
        for (chunk, len) in all.take(usize::from(self.count)) {
            let len = len.ok_or(WireError::Truncated)?;
            w.bytes(&chunk[..usize::from(len)])?;
        }
        let len = w.len();
        Route::decode((self.transfer, self.sealing), &bytes[..len])
    }
}
