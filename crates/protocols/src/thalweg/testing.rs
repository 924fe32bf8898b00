//! What tests of this folder's adaptations share: a schedule, and routes without relays.

use crate::pipeline::Beat;
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::route::{Channels, Route, Scheme};

/// T_c of full frames on a TelosB.
pub(super) const CYCLE: Duration = Duration::from_micros(4_537);

pub(super) fn channel(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

pub(super) fn beat() -> Beat {
    Beat {
        start: Instant::from_nanos(50_000_000),
        cycle: CYCLE,
        ahead: Duration::from_micros(400),
        silence: CYCLE * 10,
    }
}

/// One whose stages receive on `numbers`.
pub(super) fn route(numbers: &[u8]) -> Route {
    let mut channels = [Channel::LAST; 11];
    for (into, number) in channels.iter_mut().zip(numbers) {
        *into = channel(*number);
    }
    let channels = Channels::new(&channels[..numbers.len()]).unwrap();
    let [source, sink] = [1, 2].map(|id| NodeId::new(id).unwrap());
    Route::new(1, source, sink, Scheme::Thalweg, channels)
}
