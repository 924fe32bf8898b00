//! The byte that the destination adds to its NACKs: a verdict on each group's chain, and whether a group moves to the
//! other's channel. Both ends and all nodes between read it alike. Time base: none. Tests: beside its readers.

use crate::pipeline::Beat;
use thalweg_units::Instant;

/// Packets of the first probe, and of one of a chain that has just taken over.
pub const PROBE: u16 = 16;
/// Packets of a probe after an inconclusive one.
pub const LONG_PROBE: u16 = 32;
/// Bytes of the note in a NACK: two bits for each group, the odd one's first, and a bit that marks them as verdicts.
pub const NOTE_BYTES: u8 = 1;
/// In the same byte: the odd group moves to the even one's channel; the next bit means the opposite.
pub(super) const MOVED_BIT: u8 = 0x20;

/// When the verdict on the first probe comes at the earliest: the request reaches the destination, `hops` away, a cycle
/// after the last packet.
pub(super) fn probe_end(beat: &Beat, hops: u8) -> Instant {
    beat.start + beat.cycle * u64::from(PROBE + u16::from(hops.max(1)) - 1)
}

/// The destination's verdict on a group's chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It delivers enough.
    Good,
    /// More packets are needed to tell.
    Inconclusive,
    /// Try the group's other chain.
    UseAlternate,
    /// End the transfer and start again over another path.
    Abort,
}

impl Verdict {
    const ALL: [Self; 4] = [
        Self::Good,
        Self::Inconclusive,
        Self::UseAlternate,
        Self::Abort,
    ];
    const VERDICT_BIT: u8 = 0x10;

    /// The verdicts on the odd and the even group, if the note has any.
    pub(super) fn read(note: &[u8]) -> Option<[Self; 2]> {
        let bits = note.first().filter(|bits| *bits & Self::VERDICT_BIT != 0)?;
        Some([bits, &(bits >> 2)].map(|bits| Self::ALL[usize::from(bits & 3)]))
    }
    /// The byte for the note.
    pub(super) fn write(verdicts: Option<[Self; 2]>) -> u8 {
        verdicts.map_or(0, |[odd, even]| {
            Self::VERDICT_BIT | odd as u8 | (even as u8) << 2
        })
    }
    /// Whether the note ends the transfer.
    pub(super) fn ends(note: &[u8]) -> bool {
        Self::read(note).is_some_and(|verdicts| verdicts.contains(&Self::Abort))
    }
    /// The length of the probe that follows these, if one does.
    pub(super) fn next_probe([odd, even]: [Self; 2]) -> Option<u16> {
        match (odd, even) {
            (Self::Abort, _) | (_, Self::Abort) | (Self::Good, Self::Good) => None,
            (Self::UseAlternate, _) | (_, Self::UseAlternate) => Some(PROBE),
            _ => Some(LONG_PROBE),
        }
    }
}
