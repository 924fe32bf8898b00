//! The content of a flood that musters a network for a session of RCRT: from when on its nodes run the tree's stack, and
//! which of them send.
//!
//! Layout: kind, milliseconds from the flood's reference to the beginning (2), then of each source its address (2) and the
//! rate that it wants (2), as in the order of `docs/line.md`. Of our own: the paper's motes run nothing else.

use crate::rcrt::Rate;
use crate::route::{MAX_SEGMENT_BYTES, SEGMENT_KIND};
use crate::{Reader, WireError, Writer};
use thalweg_units::{Duration, NodeId};

/// First byte, which distinguishes it from a segment of a wake-up.
const KIND: u8 = SEGMENT_KIND + 1;
/// Bytes of a source: its address, and the rate that it wants.
const SOURCE_BYTES: usize = 4;
/// The most sources that one flood names.
pub const MAX_SOURCES: usize = (MAX_SEGMENT_BYTES - 3) / SOURCE_BYTES;

/// The content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Muster<'a> {
    /// From the reference of its flood to the beginning, in whole milliseconds.
    pub until_start: Duration,
    /// The sources, as they are written. Without any there is no session, and one that runs is over.
    pub sources: &'a [u8],
}

impl<'a> Muster<'a> {
    /// Reads the content of a flood.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(content: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(content);
        r.expect(KIND)?;
        let until_start = Duration::from_millis(u64::from(r.u16()?));
        let sources = r.rest();
        let all = sources.chunks_exact(SOURCE_BYTES);
        if !all.remainder().is_empty() || all.len() > MAX_SOURCES {
            return Err(WireError::Malformed);
        }
        Ok(Self {
            until_start,
            sources,
        })
    }
    /// Writes it.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] where it is longer than 65 s until the beginning.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let ms = u16::try_from(self.until_start.as_micros() / 1_000);
        w.u8(KIND)?.u16(ms.map_err(|_| WireError::Malformed)?)?;
        w.bytes(self.sources).map(|_| ())
    }
    /// The rate that `node` wants, if it is a source.
    pub fn rate_of(sources: &[u8], node: NodeId) -> Option<Rate> {
        let mut all = sources.chunks_exact(SOURCE_BYTES).map(Reader::new);
        let own = all.find_map(|mut r| (r.node() == Ok(node)).then_some(r));
        own.and_then(|mut r| r.u16().ok()).map(Rate::from_wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameBuf;

    #[test]
    fn a_muster_round_trips_and_names_its_sources() {
        let sources = [3, 0, 0, 2, 9, 0, 1, 0];
        let muster = Muster {
            until_start: Duration::from_millis(250),
            sources: &sources,
        };
        let content = FrameBuf::build(|w| muster.emit(w)).unwrap();
        assert_eq!(Muster::parse(&content), Ok(muster));
        assert!(Muster::parse(&content[..content.len() - 1]).is_err());
        let rate = |n: u16| Muster::rate_of(&sources, NodeId::new(n).unwrap());
        let wants = [3, 9, 1].map(|n| rate(n).map(Rate::per_s));
        assert_eq!(wants, [Some(1.0), Some(1.0 / 512.0), None]);
        let many = [7; SOURCE_BYTES * (MAX_SOURCES + 1)];
        let (until_start, sources) = (Duration::ZERO, &many[..]);
        let muster = Muster {
            until_start,
            sources,
        };
        let content = FrameBuf::build(|w| muster.emit(w)).unwrap();
        assert!(Muster::parse(&content).is_err(), "no flood has so many");
    }
}
