//! When something may have to follow a transfer, so that nodes which sleep through it listen: another way where it began
//! badly, and whatever is next when it is over. All nodes tell it from the wake-up alone.
//!
//! Time base: after the SFD of the source's first packet. Not modelled: rounds after the first, which are short.
//! Tests: at the end, `../mote/tests/meetings.rs`.

use super::pauses::next_stretch;
use super::said::LOOK;
use crate::pipeline::{Cadence, Session};
use core::num::NonZeroU16;
use thalweg_units::Duration;
use thalweg_wire::route::{Look, Progress, Route};

/// From the end of a transfer to the next wake-up, at least: the sink tells it, and is told what is next.
const HANDOVER: Duration = Duration::from_millis(4);

/// Bytes that tell what is missing after a further look: a run of a bit or two for each packet that was lost, and one of
/// all that were not sent.
const TOLD_BYTES: usize = 16;

/// When looks are over that end a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    /// The first of them.
    pub first: Duration,
    /// What each further one takes, at most.
    pub each: Duration,
}

/// When something may have to follow a transfer: after the source's first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// A look found too little, or nothing came to look at, and all who take part have left; `None` where there is no look.
    pub early: Option<Early>,
    /// One round has brought everything that was expected, and all who take part know; `None` where nobody knows what to
    /// expect.
    pub late: Option<Duration>,
}

/// When something may have to follow a transfer over `route`, in slots of `cadence`, as any of its nodes has it in its `session`.
pub fn follows(route: &Route, session: &Session, cadence: &Cadence) -> Follows {
    let packets = route.expected.map_or(0, NonZeroU16::get);
    let copies = u64::from(cadence.copies());
    let (shape, period) = (cadence.nack_shape(packets), cadence.data_period());
    // From the last packet before an exchange to the first after it.
    let exchange = |vector: usize| {
        let vector = vector.min(shape.vector_bytes);
        cadence.exchange(cadence.nack_bytes(vector), copies)
    };
    // With the pause, packets that are under way in it are looked at, too.
    let (pause, first) = match session.pause {
        Some(packets) => (cadence.pause(), session.sent_by(packets)),
        None => (Duration::ZERO, LOOK),
    };
    let looked = usize::from(first).div_ceil(8);
    let first_tells = match route.progress {
        Progress::Fresh => looked,
        Progress::Kept => TOLD_BYTES,
    };
    let look = period * (u64::from(first) - 1) + pause + exchange(first_tells) + cadence.release();
    let looks = match (route.look, session.pause) {
        (Look::None, _) => Duration::ZERO,
        (Look::First, Some(first)) => {
            let next = |at: &u16| match next_stretch(*at, packets) {
                0 => None,
                more => Some(at + more),
            };
            pause * core::iter::successors(Some(first), next).count() as u64
        }
        (Look::First, None) => exchange(looked).saturating_sub(period),
    };
    let late = route.expected.map(|packets| {
        let rounds = period * (u64::from(packets.get()) - 1) + exchange(0);
        looks + rounds + cadence.release() + HANDOVER
    });
    Follows {
        early: (route.look == Look::First).then(|| Early {
            first: look + HANDOVER,
            each: period * (u64::from(LOOK) - 1) + exchange(TOLD_BYTES),
        }),
        late,
    }
}
