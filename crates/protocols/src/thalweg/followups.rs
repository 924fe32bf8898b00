//! When something may have to follow a transfer, so that nodes which sleep through it listen: another way where it began
//! badly, and whatever is next when it is over. All nodes tell it from the wake-up alone.
//!
//! Time base: after the SFD of the source's first packet. Not modelled: rounds after the first, which are short.
//! Tests: at the end, `../mote/tests/rendezvous.rs`.

use super::pauses::STRETCH;
use super::report::{LONG_PROBE, PROBE};
use crate::pipeline::{Cadence, NackShape, Session};
use core::num::NonZeroU16;
use thalweg_units::Duration;
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::{Probe, Progress, Route};

/// From the end of a transfer to the next wake-up, at least: the sink tells it, and is told what is next.
const HANDOVER: Duration = Duration::from_millis(4);

/// Packets that were sent after a further probe, at most.
const PROBED_FROM: u16 = 4 * LONG_PROBE;

/// When probes are over that end a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    /// The first of them.
    pub first: Duration,
    /// What each further one takes, at most.
    pub each: Duration,
}

/// When something may have to follow a transfer: after the source's first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUps {
    /// A probe found too little, or nothing came to probe at, and all who take part have left; `None` where there is no probe.
    pub early: Option<Early>,
    /// One round has brought everything that was expected, and all who take part know; `None` where nobody knows what to
    /// expect.
    pub late: Option<Duration>,
}

/// When something may have to follow a transfer over `route`, in slots of `cadence`, as any of its nodes has it in its `session`.
pub fn follow_ups(route: &Route, session: &Session, cadence: &Cadence) -> FollowUps {
    let packets = route.expected.map_or(0, NonZeroU16::get);
    let period = cadence.data_period();
    // From the last packet before an exchange to the first after it.
    let exchange = |told: NackShape| {
        let frames = u64::from(told.segments) * u64::from(cadence.copies());
        cadence.exchange(cadence.nack_bytes(told.vector_bytes), frames)
    };
    // What a NACK tells, of so many packets that were sent.
    let told = |sent: u16| match route.progress {
        Progress::Fresh => cadence.nack_shape(sent.min(packets)),
        // Those that are expected may be any of a longer object.
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
        Probe::First => exchange(told(PROBE)).saturating_sub(period),
    };
    let pauses = session
        .stretch
        .map_or(0, |stretch| packets.saturating_sub(STRETCH / 2) / stretch);
    let late = route.expected.map(|packets| {
        let rounds = period * (u64::from(packets.get()) - 1) + exchange(nothing);
        let pauses = cadence.pause() * u64::from(pauses);
        probes + rounds + pauses + cadence.release() + HANDOVER
    });
    let probe = |sent| period * (u64::from(PROBE) - 1) + exchange(told(sent));
    FollowUps {
        early: (route.probe == Probe::First).then(|| Early {
            first: probe(PROBE) + cadence.release() + HANDOVER,
            each: probe(PROBED_FROM),
        }),
        late,
    }
}
