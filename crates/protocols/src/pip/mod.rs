//! PIP: what distinguishes it from any other use of the [`pipeline`](crate::pipeline) engine.
//!
//! One path, a packet every other cycle, giving up after five failed tries of an exchange, and
//! optionally channel hopping or conditional transmission. See README.md for sources and deviations.

mod hopping;

pub use hopping::Hopper;

use crate::pipeline::{GiveUp, Policy};
use thalweg_engine::Passing;
use thalweg_units::Duration;
use thalweg_wire::route::Hopping;

/// Failed tries of an exchange after which the source gives up.
pub const TRIES: u8 = 5;

/// With channel hopping all frames are as long as a data frame, so a request must fit into one.
pub const MIN_HOPPING_PAYLOAD: u8 = 32;

/// PIP's decisions, with relays that hold each packet until the next comes in.
pub const fn conditional() -> Policy {
    Policy {
        passing: Passing::Conditional,
        ..policy(Hopping::Fixed)
    }
}

/// PIP's decisions.
pub const fn policy(hopping: Hopping) -> Policy {
    Policy {
        give_up: GiveUp::AfterTries(TRIES),
        threshold: None,
        hopping,
        passing: Passing::Copied,
        inactivity: Duration::from_secs(3),
        linger: Duration::from_secs(1),
        deadline: Duration::from_secs(600),
        progress_every: 16,
    }
}
