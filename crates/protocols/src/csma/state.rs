//! What a [`super::Mac`] is about: where its frame is, and what the radio is to do for it.

use thalweg_units::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    /// Until the end of a backoff.
    Backoff {
        /// Since when it is counted down.
        since: Instant,
        until: Instant,
    },
    /// A backoff of which so much is left when the reception in progress is over, at the latest at
    /// `until`.
    Frozen {
        left: Duration,
        until: Instant,
    },
    /// Stopped by the layer above.
    Held,
    /// A frame waits for the sleeping radio, not beyond `until`.
    Waking {
        until: Instant,
    },
    Loading,
    /// It assesses the channel.
    Sensing {
        since: Instant,
    },
    /// The frame is asked for or on the air.
    Sending,
    AwaitAck {
        until: Instant,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Load,
    Sense,
    Send,
}

/// Which windows a backoff is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Initial,
    Congestion,
}
