//! P3: what distinguishes it from any other use of the [`pipeline`](crate::pipeline) engine.
//!
//! Two groups of relays at every stage, a packet in every cycle, several synchronous senders, no
//! giving up by count. See README.md for where each section of the paper is.

mod threshold;

pub use threshold::Selective;

use crate::pipeline::{GiveUp, Lengths, Policy, Retry};
use thalweg_engine::Passing;
use thalweg_units::Duration;

/// P3's decisions: control frames as long as data (section IV-G). It goes on as long as anything is heard
/// within three seconds, ten minutes in all.
pub const fn policy() -> Policy {
    Policy {
        give_up: GiveUp::OnInactivity,
        retry: Retry::AfterTrain,
        lengths: Lengths::Whole,
        passing: Passing::Copied,
        inactivity: Duration::from_secs(3),
        linger: Duration::from_secs(1),
        deadline: Duration::from_secs(600),
        patience_per_packet: Duration::ZERO,
    }
}

/// The same where control is [`Control::Compact`](thalweg_wire::route::Control): faster than published.
pub const fn compact_policy() -> Policy {
    Policy {
        lengths: Lengths::AsNeeded,
        ..policy()
    }
}
