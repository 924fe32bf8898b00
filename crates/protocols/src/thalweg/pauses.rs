//! After how many packets all stages of a long round pause, so that the destination can confirm that packets arrive:
//! otherwise nothing would notice a chain that degrades during a round. Time base: packets. Tests:
//! `../pipeline/tests/pause.rs`.

use core::num::NonZeroU16;
use thalweg_wire::pipeline::Format;
use thalweg_wire::route::{Groups, Probe, Progress, Route, Scheme};

/// Packets between two pauses.
pub(super) const STRETCH: u16 = 2_048;

/// Packets between two pauses of a transfer over `route`; none unless two chains take turns over relays, and the
/// probe's request announces how many packets there are. With packets kept from earlier, it is unknown which ones are
/// new.
pub fn stretch(route: &Route) -> Option<NonZeroU16> {
    let pauses = route.scheme == Scheme::Thalweg
        && (route.probe, route.progress) == (Probe::First, Progress::Fresh)
        && (route.groups(), route.format) == (Groups::Two, Format::Slim)
        && route.channels.hops() > 1;
    NonZeroU16::new(STRETCH).filter(|_| pauses)
}
