//! Which of two time-outs comes first; asked after every event of every node.

use thalweg_units::Instant;

/// The sooner of two instants, where there is one.
#[inline]
pub(crate) fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
