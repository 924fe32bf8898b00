//! PIP: what distinguishes it from any other use of the [`pipeline`](crate::pipeline) engine.
//!
//! One path, a packet every other cycle, giving up after five failed tries of an exchange, and
//! optionally channel hopping or conditional transmission. See README.md for sources and deviations.

mod hopping;

pub use hopping::Hopper;

use crate::pipeline::{GiveUp, Lengths, Policy, Retry};
use thalweg_engine::Passing;
use thalweg_units::Duration;

/// Failed tries of an exchange after which the source gives up.
pub const TRIES: u8 = 5;

/// PIP's decisions, as P3's authors have it: on P3's code, with control frames as long as data.
pub const fn policy() -> Policy {
    Policy {
        give_up: GiveUp::AfterTries(TRIES),
        retry: Retry::AfterTrain,
        lengths: Lengths::Whole,
        passing: Passing::Copied,
        inactivity: Duration::from_secs(3),
        linger: Duration::from_secs(1),
        deadline: Duration::from_secs(600),
        patience_per_packet: Duration::ZERO,
    }
}

/// The same with channel hopping: every frame keeps to the grid of cycles.
pub const fn hopping_policy() -> Policy {
    Policy {
        lengths: Lengths::Equal,
        ..policy()
    }
}

/// The same with relays that hold each packet until the next comes in, and control frames as short as
/// can be.
pub const fn conditional_policy() -> Policy {
    Policy {
        passing: Passing::Conditional,
        lengths: Lengths::AsNeeded,
        ..policy()
    }
}
