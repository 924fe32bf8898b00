//! When something may follow a transfer, so that nodes that sleep through it wake up for it: another path after a bad
//! start, or the next transfer after the end. Every node computes these times from the wake-up alone.
//!
//! Time base: after the SFD of the source's first packet. Not modelled: rounds after the first, which are short.
//! Tests: `../mote/tests/rendezvous.rs`, `../pipeline/tests/follow.rs`.

use super::pauses::STRETCH;
use super::report::{LONG_PROBE, PROBE};
use crate::pipeline::{Cadence, NackShape, Session};
use core::num::NonZeroU16;
use thalweg_units::Duration;
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::{Probe, Progress, Route};

/// The least from the end of a transfer to the next wake-up: the sink reports it and gets its next order.
const HANDOVER: Duration = Duration::from_millis(4);

/// The most packets sent by the end of a further probe.
const PROBED_FROM: u16 = 4 * LONG_PROBE;

/// When a transfer that a probe ends is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    /// After the first probe.
    pub first: Duration,
    /// The most that each further probe takes.
    pub each: Duration,
}

/// When something may have to follow a transfer: after the source's first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUps {
    /// A probe failed, or no packet arrived, and all nodes of the route have left; `None` without a probe.
    pub early: Option<Early>,
    /// One round has brought all expected packets, and all nodes of the route know it; `None` if their number is
    /// unknown.
    pub late: Option<Duration>,
}

/// When something may have to follow a transfer over `route`, in slots of `cadence`; any node's `session` will do.
pub fn follow_ups(route: &Route, session: &Session, cadence: &Cadence) -> FollowUps {
    let packets = route.expected.map_or(0, NonZeroU16::get);
    let period = cadence.data_period();
    // From the last packet before an exchange to the first after it.
    let exchange = |nack: NackShape| {
        let frames = u64::from(nack.segments) * u64::from(cadence.copies());
        cadence.exchange(cadence.nack_bytes(nack.vector_bytes), frames)
    };
    // The NACK on so many packets sent.
    let nack = |sent: u16| match route.progress {
        Progress::Fresh => cadence.nack_shape(sent.min(packets)),
        // The expected packets may be any of a longer object.
        Progress::Kept => NackShape {
            vector_bytes: cadence.nack_shape(MAX_PACKETS).vector_bytes,
            ..cadence.nack_shape(packets)
        },
    };
    let nothing = NackShape {
        vector_bytes: 0,
        segments: 1,
    };
    let probes = match route.probe {
        Probe::None => Duration::ZERO,
        Probe::First => exchange(nack(PROBE)).saturating_sub(period),
    };
    let pauses = session
        .stretch
        .map_or(0, |stretch| packets.saturating_sub(STRETCH / 2) / stretch);
    let late = route.expected.map(|packets| {
        let rounds = period * (u64::from(packets.get()) - 1) + exchange(nothing);
        let pauses = cadence.pause() * u64::from(pauses);
        probes + rounds + pauses + cadence.release() + HANDOVER
    });
    let probe = |sent| period * (u64::from(PROBE) - 1) + exchange(nack(sent));
    FollowUps {
        early: (route.probe == Probe::First).then(|| Early {
            first: probe(PROBE) + cadence.release() + HANDOVER,
            each: probe(PROBED_FROM),
        }),
        late,
    }
}
