//! When all stages of a transfer pause, so that the destination can say how its packets come. Time base: packets. Tests:
//! `../pipeline/tests/pause.rs`.

use super::said::LOOK;
use thalweg_wire::pipeline::Format;
use thalweg_wire::route::{Groups, Look, Progress, Route, Scheme};

/// Packets between two pauses of a long round, in which the source would hear nothing otherwise.
const STRETCH: u16 = 2_048;

/// Packets after a pause until the next, in a transfer of which so many are `expected`: 0 where there is none.
pub(super) fn next_stretch(pause: u16, expected: u16) -> u16 {
    match expected.saturating_sub(pause) > STRETCH + STRETCH / 2 {
        true => STRETCH,
        false => 0,
    }
}

/// When all stages first pause for the destination's word on the first packets: where chains alternate over relays, and these are
/// looked at. Of a transfer that keeps earlier packets nobody knows which are the first.
pub fn pause(route: &Route) -> Option<u16> {
    let pauses = route.scheme == Scheme::Thalweg
        && (route.look, route.progress) == (Look::First, Progress::Fresh)
        && (route.groups(), route.format) == (Groups::Two, Format::Slim)
        && route.channels.hops() > 1;
    pauses.then_some(LOOK)
}
