//! What the destination says in its NACKs beside the bits: a verdict on each group's chain, and whether a group goes on
//! the other's channel. Both ends, and all between them, read the same. Time base: none. Tests: those of who reads it.

use crate::pipeline::Beat;
use thalweg_units::Instant;

/// Packets of a first probe, and of one at a chain that has just taken over.
pub const PROBE: u16 = 16;
/// Packets of a probe that is to tell more.
pub const LONG_PROBE: u16 = 32;
/// Bytes that a NACK says: two bits for each group, the odd one's first, and a bit that they are verdicts.
pub const NOTE_BYTES: u8 = 1;
/// Beside verdicts in what a NACK says: the odd group goes on the even one's channel; the next bit says the opposite.
pub(super) const MOVED_BIT: u8 = 0x20;

/// From when on a verdict on the first probe may come: the request reaches the destination, `hops` away, a cycle after the
/// last packet.
pub(super) fn probe_end(beat: &Beat, hops: u8) -> Instant {
    beat.start + beat.cycle * u64::from(PROBE + u16::from(hops.max(1)) - 1)
}

/// What the destination thinks of a group's chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It brings enough.
    Good,
    /// More packets must tell.
    Inconclusive,
    /// The group's other chain is better tried.
    UseAlternate,
    /// It is better to begin anew over another way.
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

    /// Those on the odd, and on the even group, where a NACK says any.
    pub(super) fn read(note: &[u8]) -> Option<[Self; 2]> {
        let bits = note.first().filter(|bits| *bits & Self::VERDICT_BIT != 0)?;
        Some([bits, &(bits >> 2)].map(|bits| Self::ALL[usize::from(bits & 3)]))
    }
    /// The same as a byte.
    pub(super) fn write(verdicts: Option<[Self; 2]>) -> u8 {
        verdicts.map_or(0, |[odd, even]| {
            Self::VERDICT_BIT | odd as u8 | (even as u8) << 2
        })
    }
    /// Whether a NACK says that the transfer is to end.
    pub(super) fn ends(note: &[u8]) -> bool {
        Self::read(note).is_some_and(|verdicts| verdicts.contains(&Self::Abort))
    }
    /// How long the probe is that follows these, if one does.
    pub(super) fn next_probe([odd, even]: [Self; 2]) -> Option<u16> {
        match (odd, even) {
            (Self::Abort, _) | (_, Self::Abort) | (Self::Good, Self::Good) => None,
            (Self::UseAlternate, _) | (_, Self::UseAlternate) => Some(PROBE),
            _ => Some(LONG_PROBE),
        }
    }
}
